//! What a chart shows, as plain data. Knows neither a drawing library nor an experiment.

/// A sheet of panels under one headline.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartSpec {
    /// Headline.
    pub title: String,
    /// Lines below it, each shortened to fit; the machine is one of them.
    pub notes: Vec<String>,
    /// What the chart says, for those who cannot see it.
    pub description: String,
    /// Panels side by side. With one column, lines are named at their ends; with more, a legend is shared by all panels.
    pub columns: usize,
    /// Row by row, from the left.
    pub panels: Vec<Panel>,
}

/// One set of axes and what is drawn on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What the values are and in which unit; written above the panel.
    pub caption: String,
    /// Height of the area between the axes, in pixels.
    pub height: u32,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Measured or modelled values.
    pub series: Vec<Series>,
    /// Lines to compare the series with.
    pub references: Vec<Reference>,
    /// Ranges of x to mark.
    pub bands: Vec<Band>,
    /// Texts at points.
    pub labels: Vec<Label>,
}

impl Panel {
    /// These series between two axes, with nothing to compare them with.
    pub(super) fn new(
        caption: impl Into<String>,
        height: u32,
        (x, y): (Axis, Axis),
        series: Vec<Series>,
    ) -> Self {
        Self {
            caption: caption.into(),
            height,
            x,
            y,
            series,
            references: Vec::new(),
            bands: Vec::new(),
            labels: Vec::new(),
        }
    }
}

/// One axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Name with the unit; empty for none.
    pub title: String,
    /// How values become places.
    pub scale: Scale,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Where rules are drawn and what is written at them.
    pub ticks: Vec<Tick>,
}

/// How values become places on an axis. The base of the logarithm shows in the ticks only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long.
    Log,
}

/// A value with a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// The value.
    pub at: f64,
    /// Its text; empty for a rule alone.
    pub label: String,
}

/// One line or row of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name in the legend; empty for none.
    pub name: String,
    /// Which colour and marker; the same number looks the same in all panels. Numbers from eight on begin again.
    pub family: usize,
    /// How it is drawn.
    pub form: Form,
    /// The points by ascending x.
    pub points: Vec<Mark>,
    /// Written at the end of the line; empty for none.
    pub end_label: String,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Markers joined by lines.
    Line,
    /// Lines without markers, where there are many points.
    Curve,
    /// Markers alone.
    Dots,
    /// Each value holds until the next x; the area below is filled.
    Steps,
}

/// A point with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// Place.
    pub x: f64,
    /// Value.
    pub y: f64,
    /// Ends of the error bar.
    pub interval: Option<(f64, f64)>,
    /// Whether to mark it as one not to rely on.
    pub is_doubtful: bool,
}

impl Mark {
    /// A value without an interval.
    pub(super) fn at(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            interval: None,
            is_doubtful: false,
        }
    }
}

/// A line to compare with.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// Name; empty if it needs none.
    pub name: String,
    /// How it is drawn.
    pub stroke: Stroke,
    /// Its corners.
    pub points: Vec<(f64, f64)>,
}

/// How a reference line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// Unbroken, in the colour of the axes.
    Solid,
    /// Long dashes.
    Dashed,
    /// Short dashes.
    Dotted,
}

/// A range of x.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// Left end.
    pub from: f64,
    /// Right end.
    pub to: f64,
    /// The series it belongs to, by its family.
    pub family: usize,
    /// Written beside it; empty for none.
    pub label: String,
}

/// A text above a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// Place.
    pub x: f64,
    /// Value.
    pub y: f64,
    /// The text.
    pub text: String,
}
