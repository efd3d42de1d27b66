//! Colours and markers of the families.

use super::sheet::{FINE, INK, Sheet};
use crate::LabError;
use plotters::{
    element::{Circle, PathElement, Polygon},
    style::{Color, RGBColor, WHITE},
};

/// Colour of a family: Okabe and Ito's, told apart by colour-blind readers too; the yellow is
/// left out because it does not show on white.
pub(super) fn color(family: usize) -> RGBColor {
    COLORS[family % COLORS.len()]
}

/// The family's colour, dark enough for text on white.
pub(super) fn text_color(family: usize) -> RGBColor {
    let RGBColor(red, green, blue) = color(family);
    let darker = |part: u8| part - part / 4 - part / 16;
    RGBColor(darker(red), darker(green), darker(blue))
}

const COLORS: [RGBColor; 8] = [
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x33, 0x33, 0x33),
    RGBColor(0x99, 0x99, 0x99),
];

/// Draws the family's marker, so that families differ without colour too.
pub(super) fn marker(sheet: &Sheet<'_>, at: (i32, i32), family: usize) -> Result<(), LabError> {
    let color = color(family);
    let circle = |radius: i32, color: RGBColor| {
        let circle = Circle::new(at, radius, color.filled());
        sheet.draw(&circle).map_err(LabError::chart)
    };
    let polygon = |corners: &[(i32, i32)], color: RGBColor| {
        let corners: Vec<_> = corners.iter().map(|(x, y)| (at.0 + x, at.1 + y)).collect();
        let polygon = Polygon::new(corners, color.filled());
        sheet.draw(&polygon).map_err(LabError::chart)
    };
    match family % COLORS.len() {
        0 => circle(RADIUS + 4, color).and_then(|()| circle(RADIUS - 2, WHITE)),
        1 => circle(RADIUS, color),
        2 => polygon(&square(RADIUS), color),
        3 => polygon(&triangle(RADIUS + 3), color),
        4 => polygon(&diamond(RADIUS + 4), color),
        5 => polygon(&square(RADIUS + 3), color).and_then(|()| polygon(&square(RADIUS - 3), WHITE)),
        6 => cross(sheet, at, color, RADIUS),
        _ => {
            polygon(&diamond(RADIUS + 7), color).and_then(|()| polygon(&diamond(RADIUS - 1), WHITE))
        }
    }
}

fn square(half: i32) -> [(i32, i32); 4] {
    [(-half, -half), (half, -half), (half, half), (-half, half)]
}

fn triangle(half: i32) -> [(i32, i32); 3] {
    [(0, -half), (half, half - 3), (-half, half - 3)]
}

fn diamond(half: i32) -> [(i32, i32); 4] {
    [(0, -half), (half, 0), (0, half), (-half, 0)]
}

/// Draws a cross over a marker, larger than it: the point is not to be relied on.
pub(super) fn cross_out(sheet: &Sheet<'_>, at: (i32, i32)) -> Result<(), LabError> {
    cross(sheet, at, INK, 2 * RADIUS)
}

fn cross(
    sheet: &Sheet<'_>,
    (x, y): (i32, i32),
    color: RGBColor,
    half: i32,
) -> Result<(), LabError> {
    for rise in [-half, half] {
        let ends = vec![(x - half, y - rise), (x + half, y + rise)];
        let stroke = PathElement::new(ends, color.stroke_width(7));
        sheet.draw(&stroke).map_err(LabError::chart)?;
    }
    Ok(())
}

/// Half the size of a marker in sheet pixels.
const RADIUS: i32 = 3 * FINE;
