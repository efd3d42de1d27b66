//! Charts: a plain description, one drawing of it as SVG, and the PNG made from that SVG.
//!
//! The description knows no drawing library and the drawing knows no experiment, so either can be
//! replaced. The only font is the bundled DejaVu Sans; no font of the system is read.

mod describe;
mod draw;
mod frame;
mod raster;

pub use describe::describe;
pub use draw::svg;
pub use raster::png;

/// Two arms over sizes on logarithmic axes: times above, their ratio below.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeChart {
    /// Headline.
    pub title: String,
    /// Lines below it, each shortened to fit.
    pub notes: Vec<String>,
    /// What n counts.
    pub size_axis: String,
    /// The arm the other is compared with.
    pub baseline: Curve,
    /// The other arm.
    pub challenger: Curve,
    /// Ratio of the two times.
    pub speed_up: Vec<RatioPoint>,
    /// The break-even bracket.
    pub band: Option<Band>,
}

/// One arm.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Name, written at the end of the line.
    pub label: String,
    /// Size and nanoseconds, by ascending size.
    pub points: Vec<(usize, f64)>,
}

/// A ratio with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioPoint {
    /// Size.
    pub n: usize,
    /// Median.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// A range of sizes to mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Band {
    /// Smallest size of the band.
    pub lower: usize,
    /// Largest size of the band.
    pub upper: usize,
    /// Written beside it, one entry a line.
    pub label: Vec<String>,
}

/// Width of every chart in pixels of the SVG; the PNG has twice as many.
pub const WIDTH: u32 = 800;
/// Height of every chart in pixels of the SVG; the PNG has twice as many.
pub const HEIGHT: u32 = 620;

const FONT: &[u8] = include_bytes!("../../assets/DejaVuSans.ttf");
/// The font's own name, by which both libraries know it.
const FONT_NAME: &str = "DejaVu Sans";
