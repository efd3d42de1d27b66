//! Drawing a [`TimeChart`] as SVG.

use super::{
    Band, TimeChart,
    frame::{
        AXIS, Align, Area, BLUE, FINE, GREEN, GREY, INK, LOWER, RULE, Sheet, UPPER, VERMILLION,
        fill, fitted, line, on_sheet, write,
    },
};
use crate::{LabError, report};
use plotters::{
    coord::{
        Shift,
        combinators::{IntoLogRange, LogCoord},
        ranged1d::Ranged,
    },
    prelude::{Cartesian2d, Circle, DrawingArea, SVGBackend},
    style::{Color, RGBColor},
};

/// Draws the chart. The same description gives the same text.
///
/// # Errors
/// [`LabError::Chart`] if there is nothing to draw or the drawing library refuses.
pub fn svg(chart: &TimeChart) -> Result<String, LabError> {
    let scales = Scales::of(chart).ok_or_else(|| LabError::chart("it has no points"))?;
    on_sheet(|sheet| {
        heading(sheet, chart)?;
        let upper = Panel::new(sheet, UPPER, &scales.size, &scales.nanos);
        let lower = Panel::new(sheet, LOWER, &scales.size, &scales.ratio);
        upper.rules(&decades(&scales.size), &decades(&scales.nanos))?;
        lower.rules(&decades(&scales.size), &ratio_ticks(&scales.ratio))?;
        if let Some(band) = &chart.band {
            upper.band(band)?;
            lower.band(band)?;
            upper.band_label(band)?;
        }
        times(&upper, chart)?;
        ratios(&lower, chart)?;
        upper.value_labels(&decades(&scales.nanos), report_nanos)?;
        lower.value_labels(&ratio_ticks(&scales.ratio), |ratio| format!("{ratio}×"))?;
        lower.size_labels(&decades(&scales.size), &chart.size_axis)
    })
}

/// Ends of the axes.
struct Scales {
    size: Span,
    nanos: Span,
    ratio: Span,
}

/// A range of positive numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    low: f64,
    high: f64,
}

impl Span {
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let widen = |span: Option<Self>, value: f64| match span {
            None => Some(Self {
                low: value,
                high: value,
            }),
            Some(span) => Some(Self {
                low: span.low.min(value),
                high: span.high.max(value),
            }),
        };
        values.fold(None, widen)
    }

    /// Room on both sides, as a factor.
    fn with_room(self, factor: f64) -> Self {
        Self {
            low: self.low / factor,
            high: self.high * factor,
        }
    }

    fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

impl Scales {
    fn of(chart: &TimeChart) -> Option<Self> {
        let curves = || chart.baseline.points.iter().chain(&chart.challenger.points);
        let ratios = chart
            .speed_up
            .iter()
            .flat_map(|point| [point.low, point.high]);
        Some(Self {
            size: Span::of(curves().map(|(n, _)| *n as f64))?.with_room(1.35),
            nanos: Span::of(curves().map(|(_, nanos)| *nanos))?.with_room(1.6),
            // Always wide enough to see where 1 is, and that below 1 would be a loss.
            ratio: Span::of(ratios.chain([0.85, 1.35]))?.with_room(1.04),
        })
    }
}

/// Powers of ten within a range.
fn decades(span: &Span) -> Vec<f64> {
    let all = (-3..16).map(|exponent| 10_f64.powi(exponent));
    all.filter(|tick| span.contains(*tick)).collect()
}

/// Ratios worth a label: quarters while the range is small, powers of two when it is not.
fn ratio_ticks(span: &Span) -> Vec<f64> {
    let within = |ticks: &[f64]| -> Vec<f64> {
        ticks
            .iter()
            .copied()
            .filter(|tick| span.contains(*tick))
            .collect()
    };
    if span.high / span.low < 3.5 {
        within(&[0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0])
    } else {
        let all: Vec<f64> = (-6..12).map(|exponent| 2_f64.powi(exponent)).collect();
        within(&all)
    }
}

/// 1 µs, 10 ms: a power of ten without decimals.
fn report_nanos(nanos: f64) -> String {
    report::nanos(nanos)
        .replace(".00 ", " ")
        .replace(".0 ", " ")
}

fn heading(sheet: &Sheet<'_>, chart: &TimeChart) -> Result<(), LabError> {
    let title = fitted(sheet, &chart.title, 17, 752)?;
    write(
        sheet,
        &title,
        (24 * FINE, 28 * FINE),
        (17, INK),
        Align::Left,
    )?;
    let mut top = 50;
    for note in &chart.notes {
        let note = fitted(sheet, note, 12, 752)?;
        write(
            sheet,
            &note,
            (24 * FINE, top * FINE),
            (12, GREY),
            Align::Left,
        )?;
        top += 17;
    }
    Ok(())
}

/// The two curves with their names at the ends.
fn times(panel: &Panel<'_, '_>, chart: &TimeChart) -> Result<(), LabError> {
    panel.caption("time per call")?;
    let mut ends = Vec::new();
    let curves = [
        (&chart.baseline, VERMILLION, Marker::Ring),
        (&chart.challenger, BLUE, Marker::Dot),
    ];
    for (curve, color, marker) in curves {
        let points: Vec<(i32, i32)> = curve
            .points
            .iter()
            .map(|(n, nanos)| panel.at(*n, *nanos))
            .collect();
        line(panel.sheet, &points, color, 7)?;
        for point in &points {
            marker.draw(panel.sheet, *point, color)?;
        }
        if let (Some((_, y)), Some((_, nanos))) = (points.last(), curve.points.last()) {
            ends.push((
                *y,
                format!("{} {}", curve.label, report::nanos(*nanos)),
                color,
            ));
        }
    }
    ends.sort_by_key(|(y, _, _)| *y);
    let rows = apart(&ends.iter().map(|(y, _, _)| *y).collect::<Vec<_>>());
    for ((_, text, color), y) in ends.into_iter().zip(rows) {
        let text = fitted(panel.sheet, &text, 12, 138)?;
        write(
            panel.sheet,
            &text,
            (panel.label_column(), y),
            (12, color),
            Align::Left,
        )?;
    }
    Ok(())
}

/// The ratio with its intervals; 1 is drawn as a line.
fn ratios(panel: &Panel<'_, '_>, chart: &TimeChart) -> Result<(), LabError> {
    let caption = format!(
        "speed-up: {} ÷ {}, with 95 % intervals",
        chart.baseline.label, chart.challenger.label
    );
    panel.caption(&caption)?;
    let one = panel.row(1.0);
    let Area { left, right, .. } = panel.area;
    line(
        panel.sheet,
        &[(left * FINE, one), (right * FINE, one)],
        AXIS,
        5,
    )?;
    let points: Vec<(i32, i32)> = chart
        .speed_up
        .iter()
        .map(|point| panel.at(point.n, point.median))
        .collect();
    line(panel.sheet, &points, BLUE, 5)?;
    for (point, at) in chart.speed_up.iter().zip(&points) {
        let (x, low) = panel.at(point.n, point.low);
        line(
            panel.sheet,
            &[(x, low), (x, panel.row(point.high))],
            BLUE,
            5,
        )?;
        Marker::Dot.draw(panel.sheet, *at, BLUE)?;
    }
    if let (Some(point), Some((_, y))) = (chart.speed_up.last(), points.last()) {
        let text = report::ratio(point.median);
        write(
            panel.sheet,
            &text,
            (panel.label_column(), *y),
            (12, BLUE),
            Align::Left,
        )?;
    }
    Ok(())
}

/// How a point looks, so that arms differ without colour too.
#[derive(Clone, Copy)]
enum Marker {
    Ring,
    Dot,
}

impl Marker {
    fn draw(self, sheet: &Sheet<'_>, at: (i32, i32), color: RGBColor) -> Result<(), LabError> {
        let circle = |radius: i32, color: RGBColor| {
            let circle = Circle::new(at, radius, color.filled());
            sheet.draw(&circle).map_err(LabError::chart)
        };
        match self {
            Self::Ring => {
                circle(19, color)?;
                circle(13, plotters::style::WHITE)
            }
            Self::Dot => circle(11, color),
        }
    }
}

type Axes = Cartesian2d<LogCoord<f64>, LogCoord<f64>>;

/// One set of axes on the sheet.
struct Panel<'sheet, 'svg> {
    sheet: &'sheet Sheet<'svg>,
    area: Area,
    axes: DrawingArea<SVGBackend<'svg>, Axes>,
}

impl<'sheet, 'svg> Panel<'sheet, 'svg> {
    fn new(sheet: &'sheet Sheet<'svg>, area: Area, size: &Span, value: &Span) -> Self {
        let width = (area.right - area.left) * FINE;
        let height = (area.bottom - area.top) * FINE;
        let part: DrawingArea<SVGBackend<'svg>, Shift> = sheet
            .clone()
            .shrink((area.left * FINE, area.top * FINE), (width, height));
        let (columns, rows) = part.get_pixel_range();
        let axes = Cartesian2d::new(
            (size.low..size.high).log_scale(),
            (value.low..value.high).log_scale(),
            (columns, rows),
        );
        Self {
            sheet,
            area,
            axes: part.apply_coord_spec(axes),
        }
    }

    /// Sheet pixel of a size and a value.
    fn at(&self, n: usize, value: f64) -> (i32, i32) {
        (self.column(n as f64), self.row(value))
    }

    /// Where texts at the ends of lines begin.
    fn label_column(&self) -> i32 {
        (self.area.right + 6) * FINE
    }

    fn column(&self, size: f64) -> i32 {
        let (columns, _) = self.axes.get_pixel_range();
        let limits = (columns.start, columns.end);
        self.axes.as_coord_spec().x_spec().map(&size, limits)
    }

    fn row(&self, value: f64) -> i32 {
        // Pixels count downwards, values upwards.
        let (_, rows) = self.axes.get_pixel_range();
        self.axes
            .as_coord_spec()
            .y_spec()
            .map(&value, (rows.end, rows.start))
    }

    /// Light lines at the ticks and the two axes.
    fn rules(&self, sizes: &[f64], values: &[f64]) -> Result<(), LabError> {
        let [left, top, right, bottom] = self.corners();
        for size in sizes {
            let x = self.column(*size);
            line(self.sheet, &[(x, top), (x, bottom)], RULE, 3)?;
        }
        for value in values {
            let y = self.row(*value);
            line(self.sheet, &[(left, y), (right, y)], RULE, 3)?;
        }
        line(
            self.sheet,
            &[(left, top), (left, bottom), (right, bottom)],
            AXIS,
            4,
        )
    }

    /// Labels left of the value axis.
    fn value_labels(&self, values: &[f64], text: impl Fn(f64) -> String) -> Result<(), LabError> {
        for value in values {
            let at = ((self.area.left - 8) * FINE, self.row(*value));
            write(self.sheet, &text(*value), at, (12, GREY), Align::Right)?;
        }
        Ok(())
    }

    /// Labels below the size axis and its name.
    fn size_labels(&self, sizes: &[f64], name: &str) -> Result<(), LabError> {
        let [left, _, right, bottom] = self.corners();
        for size in sizes {
            let x = self.column(*size);
            let text = power_of_ten(*size);
            write(
                self.sheet,
                &text,
                (x, bottom + 15 * FINE),
                (12, GREY),
                Align::Center,
            )?;
        }
        let at = (i32::midpoint(left, right), bottom + 40 * FINE);
        write(self.sheet, name, at, (12, INK), Align::Center)
    }

    /// What the values are, above the panel.
    fn caption(&self, text: &str) -> Result<(), LabError> {
        let at = (self.area.left * FINE, (self.area.top - 13) * FINE);
        write(self.sheet, text, at, (12, INK), Align::Left)
    }

    fn band(&self, band: &Band) -> Result<(), LabError> {
        let [_, top, _, bottom] = self.corners();
        let (left, right) = self.band_columns(band);
        fill(
            self.sheet,
            [(left, top), (right, bottom)],
            GREEN.mix(0.24).filled(),
        )
    }

    /// Beside the band, where the rising curves are not: above them on the left half, below them
    /// on the right half.
    fn band_label(&self, band: &Band) -> Result<(), LabError> {
        let [start, top, end, bottom] = self.corners();
        let (left, right) = self.band_columns(band);
        let lines = i32::try_from(band.label.len()).unwrap_or(i32::MAX);
        let (x, mut y, align) = if i32::midpoint(left, right) < i32::midpoint(start, end) {
            (right + 8 * FINE, top + 14 * FINE, Align::Left)
        } else {
            let above_axis = 14 * FINE + (lines - 1) * LINE;
            (left - 8 * FINE, bottom - above_axis, Align::Right)
        };
        for text in &band.label {
            write(self.sheet, text, (x, y), (12, DARK_GREEN), align)?;
            y += LINE;
        }
        Ok(())
    }

    /// At least three shown pixels wide, or a narrow bracket would not be seen.
    fn band_columns(&self, band: &Band) -> (i32, i32) {
        let left = self.column(band.lower as f64);
        let right = self.column(band.upper as f64);
        let missing = (3 * FINE - (right - left)).max(0);
        (left - missing / 2, right + missing / 2)
    }

    fn corners(&self) -> [i32; 4] {
        let Area {
            left,
            top,
            right,
            bottom,
        } = self.area;
        [left, top, right, bottom].map(|edge| edge * FINE)
    }
}

/// From one line of text to the next.
const LINE: i32 = 17 * FINE;
/// The band's green, dark enough for text.
const DARK_GREEN: RGBColor = RGBColor(0x00, 0x6b, 0x4e);

/// "1,000" for 1e3.
fn power_of_ten(value: f64) -> String {
    let digits = format!("{value:.0}");
    digits.parse().map_or(digits, report::count)
}

/// Moves rows, ascending, so that texts on them do not touch.
fn apart(rows: &[i32]) -> Vec<i32> {
    let gap = 16 * FINE;
    let mut rows = rows.to_vec();
    for index in 1..rows.len() {
        let missing = gap - (rows[index] - rows[index - 1]);
        if missing > 0 {
            rows[index - 1] -= missing / 2;
            rows[index] = rows[index - 1] + gap;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Curve, RatioPoint};

    fn chart() -> TimeChart {
        let points = |item: f64| vec![(1, item), (1_000, 1e3 * item), (1_000_000, 1e6 * item)];
        let curve = |label: &str, item| Curve {
            label: label.to_owned(),
            points: points(item),
        };
        let ratio = |n| RatioPoint {
            n,
            median: 1.5,
            low: 1.4,
            high: 1.6,
        };
        TimeChart {
            title: "SHA-512 of \"Hello World\" <n> times".to_owned(),
            notes: vec![
                "a machine of very many words ".repeat(20),
                "seed 1".to_owned(),
            ],
            size_axis: "n, items per call".to_owned(),
            baseline: curve("sequential", 231.0),
            challenger: curve("for_each", 154.0),
            speed_up: [1, 1_000, 1_000_000].map(ratio).to_vec(),
            band: Some(Band {
                lower: 90,
                upper: 110,
                label: vec!["break-even".to_owned()],
            }),
        }
    }

    #[test]
    fn the_drawing_names_both_arms_the_band_and_the_ticks() {
        let drawn = svg(&chart()).unwrap();
        for part in [
            "sequential 231 ms",
            "for_each 154 ms",
            "break-even",
            "1,000,000",
            "10 µs",
            "1.50×",
            "…",
            "&lt;n&gt;",
        ] {
            assert!(drawn.contains(part), "'{part}' is missing");
        }
        assert_eq!(svg(&chart()).unwrap(), drawn);
    }

    #[test]
    fn everything_drawn_stays_on_the_sheet() {
        let drawn = svg(&chart()).unwrap();
        let mut seen = 0;
        for (name, limit) in [
            (" x=\"", super::super::WIDTH),
            (" y=\"", super::super::HEIGHT),
        ] {
            for part in drawn.split(name).skip(1) {
                let value: i32 = part.split('"').next().unwrap().parse().unwrap();
                assert!(
                    (0..=limit.cast_signed() * FINE).contains(&value),
                    "{name}{value}"
                );
                seen += 1;
            }
        }
        assert!(seen > 40, "{seen}");
    }

    #[test]
    fn the_picture_has_twice_the_pixels_and_a_chart_without_points_is_refused() {
        let picture = crate::chart::png(&svg(&chart()).unwrap()).unwrap();
        // Width and height follow the PNG's signature and the name of its first chunk.
        assert_eq!(picture[16..24], [0, 0, 6, 64, 0, 0, 4, 216]);
        let mut empty = chart();
        empty.baseline.points.clear();
        empty.challenger.points.clear();
        assert!(svg(&empty).is_err());
    }

    #[test]
    fn ticks_lie_within_the_axis() {
        let span = Span {
            low: 0.8,
            high: 1.2e6,
        };
        assert_eq!(decades(&span).len(), 7);
        let narrow = Span {
            low: 0.9,
            high: 2.1,
        };
        assert_eq!(ratio_ticks(&narrow), [1.0, 1.25, 1.5, 2.0]);
        let wide = Span {
            low: 0.4,
            high: 70.0,
        };
        assert_eq!(
            ratio_ticks(&wide),
            [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
        );
    }

    #[test]
    fn labels_are_moved_apart() {
        assert_eq!(apart(&[0, 100]), [0, 100]);
        assert_eq!(apart(&[100, 100]), [68, 132]);
    }

    #[test]
    fn tick_labels_have_no_needless_decimals() {
        assert_eq!(report_nanos(1e3), "1 µs");
        assert_eq!(report_nanos(1e4), "10 µs");
        assert_eq!(report_nanos(1e5), "100 µs");
        assert_eq!(power_of_ten(1e6), "1,000,000");
    }
}
