//! The sheet a chart is drawn on, and the pens.
//!
//! The drawing library rounds to whole pixels, so the sheet is drawn [`FINE`] times as large and
//! the root element of the SVG gives the size it is shown at.

use super::{FONT, FONT_NAME, WIDTH, spec::ChartSpec};
use crate::LabError;
use plotters::{
    coord::Shift,
    element::{DashedPathElement, PathElement, Rectangle},
    prelude::{DrawingArea, IntoDrawingArea, RGBColor, SVGBackend},
    style::{
        Color, FontStyle, IntoFont, ShapeStyle, TextStyle, register_font,
        text_anchor::{HPos, Pos, VPos},
    },
};

/// The sheet everything is drawn on.
pub(super) type Sheet<'svg> = DrawingArea<SVGBackend<'svg>, Shift>;

/// Sheet pixels per shown pixel.
pub(super) const FINE: i32 = 4;

/// A rectangle in shown pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) left: i32,
    pub(super) top: i32,
    pub(super) right: i32,
    pub(super) bottom: i32,
}

impl Area {
    /// Left, top, right and bottom in sheet pixels.
    pub(super) fn corners(self) -> [i32; 4] {
        [self.left, self.top, self.right, self.bottom].map(|edge| edge * FINE)
    }
}

/// Text.
pub(super) const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
/// Text of less weight, and reference lines.
pub(super) const GREY: RGBColor = RGBColor(0x5a, 0x5a, 0x5a);
/// Rules behind the data.
pub(super) const RULE: RGBColor = RGBColor(0xe2, 0xe2, 0xe2);
/// Axes.
pub(super) const AXIS: RGBColor = RGBColor(0x8c, 0x8c, 0x8c);

/// Size of all text but the headline, in shown pixels.
pub(super) const TEXT: i32 = 12;

/// Which side of a text its point is on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Align {
    Left,
    Center,
    Right,
}

/// Runs `paint` on an empty white sheet of a height in shown pixels and returns the SVG.
pub(super) fn on_sheet(
    chart: &ChartSpec,
    height: u32,
    paint: impl FnOnce(&Sheet<'_>) -> Result<(), LabError>,
) -> Result<String, LabError> {
    register_font(FONT_NAME, FontStyle::Normal, FONT)
        .map_err(|_| LabError::chart("the bundled font cannot be read"))?;
    let fine = FINE.unsigned_abs();
    let size = (WIDTH * fine, height * fine);
    let mut svg = String::new();
    {
        let sheet = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        sheet
            .fill(&plotters::style::WHITE)
            .map_err(LabError::chart)?;
        paint(&sheet)?;
        sheet.present().map_err(LabError::chart)?;
    }
    Ok(finished(&svg, chart, height))
}

/// Gives the root element its shown size and its words for those who cannot see it.
fn finished(svg: &str, chart: &ChartSpec, height: u32) -> String {
    let fine = FINE.unsigned_abs();
    let (fine_width, fine_height) = (WIDTH * fine, height * fine);
    let drawn = format!("<svg width=\"{fine_width}\" height=\"{fine_height}\"");
    let shown = format!("<svg role=\"img\" width=\"{WIDTH}\" height=\"{height}\"");
    // A viewer without the font takes one of nearly the same widths.
    let family = format!("font-family=\"{FONT_NAME}\"");
    let families = format!("font-family=\"{FONT_NAME}, Verdana, sans-serif\"");
    let words = format!(
        ">\n<title>{}</title>\n<desc>{}</desc>\n",
        escaped(&chart.title),
        escaped(&chart.description)
    );
    svg.replacen(&drawn, &shown, 1)
        .replacen(">\n", &words, 1)
        .replace(&family, &families)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Writes a text whose point, in sheet pixels, is at half its height. An empty text leaves nothing.
pub(super) fn write(
    sheet: &Sheet<'_>,
    text: &str,
    at: (i32, i32),
    pen: (i32, RGBColor),
    align: Align,
) -> Result<(), LabError> {
    if text.is_empty() {
        return Ok(());
    }
    let (size, color) = pen;
    let horizontal = match align {
        Align::Left => HPos::Left,
        Align::Center => HPos::Center,
        Align::Right => HPos::Right,
    };
    let style = text_style(size)
        .color(&color)
        .pos(Pos::new(horizontal, VPos::Center));
    sheet.draw_text(text, &style, at).map_err(LabError::chart)
}

/// Width of a text in sheet pixels.
pub(super) fn width_of(sheet: &Sheet<'_>, text: &str, size: i32) -> Result<i32, LabError> {
    let (width, _) = sheet
        .estimate_text_size(text, &text_style(size))
        .map_err(LabError::chart)?;
    Ok(width.cast_signed())
}

/// Shortens a text until it fits a width in shown pixels.
pub(super) fn fitted(
    sheet: &Sheet<'_>,
    text: &str,
    size: i32,
    width: i32,
) -> Result<String, LabError> {
    let mut fitted = text.to_owned();
    let mut kept: Vec<char> = text.chars().collect();
    while width_of(sheet, &fitted, size)? > width * FINE && kept.pop().is_some() {
        fitted = kept.iter().collect::<String>().trim_end().to_owned() + "…";
    }
    Ok(fitted)
}

/// Draws a line through points in sheet pixels; the width is in quarters of a shown pixel.
pub(super) fn line(
    sheet: &Sheet<'_>,
    points: &[(i32, i32)],
    color: RGBColor,
    width: u32,
) -> Result<(), LabError> {
    let style = color.stroke_width(width);
    sheet
        .draw(&PathElement::new(points.to_vec(), style))
        .map_err(LabError::chart)
}

/// Draws a broken line; lengths of dashes and gaps are in shown pixels.
pub(super) fn dashes(
    sheet: &Sheet<'_>,
    points: &[(i32, i32)],
    color: RGBColor,
    (dash, gap): (i32, i32),
) -> Result<(), LabError> {
    let style = color.stroke_width(5);
    let dashed = DashedPathElement::new(points.to_vec(), dash * FINE, gap * FINE, style);
    sheet.draw(&dashed).map_err(LabError::chart)
}

/// Fills a rectangle between two corners in sheet pixels.
pub(super) fn fill(
    sheet: &Sheet<'_>,
    corners: [(i32, i32); 2],
    style: impl Into<ShapeStyle>,
) -> Result<(), LabError> {
    sheet
        .draw(&Rectangle::new(corners, style))
        .map_err(LabError::chart)
}

fn text_style(size: i32) -> TextStyle<'static> {
    // The library divides sizes by this before it writes them.
    let asked = f64::from(size * FINE) * 1.24;
    TextStyle::from((FONT_NAME, asked).into_font())
}
