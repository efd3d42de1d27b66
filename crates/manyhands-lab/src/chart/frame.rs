//! Where things stand on the sheet, and the pens they are drawn with.
//!
//! The drawing library rounds to whole pixels, so the sheet is drawn [`FINE`] times as large and
//! the root element of the SVG gives the size it is shown at.

use super::{FONT, FONT_NAME, HEIGHT, WIDTH};
use crate::LabError;
use plotters::{
    coord::Shift,
    prelude::{DrawingArea, IntoDrawingArea, PathElement, RGBColor, Rectangle, SVGBackend},
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
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub(super) left: i32,
    pub(super) top: i32,
    pub(super) right: i32,
    pub(super) bottom: i32,
}

/// Times.
pub(super) const UPPER: Area = Area {
    left: 76,
    top: 104,
    right: 648,
    bottom: 396,
};
/// Ratios.
pub(super) const LOWER: Area = Area {
    left: 76,
    top: 446,
    right: 648,
    bottom: 552,
};

/// Okabe and Ito's colours, told apart by colour-blind readers too.
pub(super) const VERMILLION: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
pub(super) const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xb2);
pub(super) const GREEN: RGBColor = RGBColor(0x00, 0x9e, 0x73);
pub(super) const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
pub(super) const GREY: RGBColor = RGBColor(0x5a, 0x5a, 0x5a);
pub(super) const RULE: RGBColor = RGBColor(0xe2, 0xe2, 0xe2);
pub(super) const AXIS: RGBColor = RGBColor(0x8c, 0x8c, 0x8c);

/// Which side of a text its point is on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Align {
    Left,
    Center,
    Right,
}

/// Runs `paint` on an empty white sheet and returns the SVG.
pub(super) fn on_sheet(
    paint: impl FnOnce(&Sheet<'_>) -> Result<(), LabError>,
) -> Result<String, LabError> {
    register_font(FONT_NAME, FontStyle::Normal, FONT)
        .map_err(|_| LabError::chart("the bundled font cannot be read"))?;
    let fine = FINE.unsigned_abs();
    let size = (WIDTH * fine, HEIGHT * fine);
    let mut svg = String::new();
    {
        let sheet = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        sheet
            .fill(&plotters::style::WHITE)
            .map_err(LabError::chart)?;
        paint(&sheet)?;
        sheet.present().map_err(LabError::chart)?;
    }
    let drawn = format!("<svg width=\"{}\" height=\"{}\"", size.0, size.1);
    let shown = format!("<svg width=\"{WIDTH}\" height=\"{HEIGHT}\"");
    // A viewer without the font takes one of nearly the same widths.
    let family = format!("font-family=\"{FONT_NAME}\"");
    let families = format!("font-family=\"{FONT_NAME}, Verdana, sans-serif\"");
    Ok(svg.replacen(&drawn, &shown, 1).replace(&family, &families))
}

/// Writes a text whose point, in sheet pixels, is at half its height.
pub(super) fn write(
    sheet: &Sheet<'_>,
    text: &str,
    at: (i32, i32),
    pen: (i32, RGBColor),
    align: Align,
) -> Result<(), LabError> {
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

/// Shortens a text until it fits a width in shown pixels.
pub(super) fn fitted(
    sheet: &Sheet<'_>,
    text: &str,
    size: i32,
    width: i32,
) -> Result<String, LabError> {
    let style = text_style(size);
    let too_wide = |text: &str| {
        let (taken, _) = sheet
            .estimate_text_size(text, &style)
            .map_err(LabError::chart)?;
        Ok::<_, LabError>(taken > (width * FINE).unsigned_abs())
    };
    let mut fitted = text.to_owned();
    let mut kept: Vec<char> = text.chars().collect();
    while too_wide(&fitted)? && kept.pop().is_some() {
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
