//! One panel on the sheet: axes, bands, references, series.

use super::{
    marks,
    sheet::{
        AXIS, Align, Area, FINE, GREY, INK, RULE, Sheet, TEXT, dashes, fill, fitted, line,
        width_of, write,
    },
    spec::{Axis, Band, Form, Panel, Reference, Scale, Series, Stroke},
};
use crate::LabError;
use plotters::{
    coord::{
        combinators::{IntoLogRange, LogCoord},
        ranged1d::Ranged,
        types::RangedCoordf64,
    },
    element::Polygon,
    style::Color,
};

/// A panel with its place.
pub(super) struct Placed<'sheet, 'svg> {
    pub(super) sheet: &'sheet Sheet<'svg>,
    pub(super) area: Area,
    pub(super) panel: &'sheet Panel,
}

impl Placed<'_, '_> {
    /// Draws everything but the names at the ends of lines.
    pub(super) fn draw(&self) -> Result<(), LabError> {
        self.caption()?;
        for band in &self.panel.bands {
            self.band(band)?;
        }
        self.rules()?;
        self.band_labels()?;
        let series = || self.panel.series.iter();
        for areas in series().filter(|one| one.form == Form::Steps) {
            self.steps(areas)?;
        }
        for reference in &self.panel.references {
            self.reference(reference)?;
        }
        for points in series().filter(|one| one.form != Form::Steps) {
            self.points(points)?;
        }
        self.labels()?;
        self.tick_texts()
    }

    /// Sheet pixel of a point.
    pub(super) fn at(&self, x: f64, y: f64) -> (i32, i32) {
        (self.column(x), self.row(y))
    }

    fn column(&self, x: f64) -> i32 {
        let [left, _, right, _] = self.area.corners();
        place(&self.panel.x, x, (left, right))
    }

    fn row(&self, y: f64) -> i32 {
        // Pixels count downwards, values upwards.
        let [_, top, _, bottom] = self.area.corners();
        place(&self.panel.y, y, (bottom, top))
    }

    /// What the values are, above the panel.
    fn caption(&self) -> Result<(), LabError> {
        let at = (self.area.left * FINE, (self.area.top - 12) * FINE);
        let width = self.area.right - self.area.left;
        let text = fitted(self.sheet, &self.panel.caption, TEXT, width)?;
        write(self.sheet, &text, at, (TEXT, INK), Align::Left)
    }

    /// Light lines at the ticks and the two axes.
    fn rules(&self) -> Result<(), LabError> {
        let [left, top, right, bottom] = self.area.corners();
        for tick in &self.panel.x.ticks {
            let x = self.column(tick.at);
            line(self.sheet, &[(x, top), (x, bottom)], RULE, 3)?;
        }
        for tick in &self.panel.y.ticks {
            let y = self.row(tick.at);
            line(self.sheet, &[(left, y), (right, y)], RULE, 3)?;
        }
        let axes = [(left, top), (left, bottom), (right, bottom)];
        line(self.sheet, &axes, AXIS, 4)
    }

    fn tick_texts(&self) -> Result<(), LabError> {
        let [left, _, right, bottom] = self.area.corners();
        let pen = (TEXT, GREY);
        for tick in &self.panel.y.ticks {
            let at = (left - 7 * FINE, self.row(tick.at));
            write(self.sheet, &tick.label, at, pen, Align::Right)?;
        }
        let mut free_from = i32::MIN;
        for tick in &self.panel.x.ticks {
            let x = self.column(tick.at);
            let half = width_of(self.sheet, &tick.label, TEXT)? / 2;
            // A text that would touch the one before it is left out; its rule stays.
            if x - half < free_from {
                continue;
            }
            free_from = x + half + 5 * FINE;
            let at = (x, bottom + 14 * FINE);
            write(self.sheet, &tick.label, at, pen, Align::Center)?;
        }
        let at = (i32::midpoint(left, right), bottom + 35 * FINE);
        let (title, pen) = (&self.panel.x.title, (TEXT, INK));
        write(self.sheet, title, at, pen, Align::Center)
    }

    fn band(&self, band: &Band) -> Result<(), LabError> {
        let [_, top, _, bottom] = self.area.corners();
        let (left, right) = self.band_columns(band);
        let tint = marks::color(band.family).mix(0.2).filled();
        fill(self.sheet, [(left, top), (right, bottom)], tint)
    }

    /// One under the other at the top: right of all bands if they are on the left, else left of them, and from the left
    /// edge on where neither has room; the curves rise to the right and are not there.
    fn band_labels(&self) -> Result<(), LabError> {
        let [start, top, end, _] = self.area.corners();
        let columns = self.panel.bands.iter().map(|band| self.band_columns(band));
        let (left, right) = columns.fold((end, start), |(left, right), (from, to)| {
            (left.min(from), right.max(to))
        });
        let on_the_left = i32::midpoint(left, right) - start < (end - start) * 45 / 100;
        let room = (end - start) * 2 / 5;
        let (x, align) = if on_the_left && end - right > room {
            (right + 7 * FINE, Align::Left)
        } else if !on_the_left && left - start > room {
            (left - 7 * FINE, Align::Right)
        } else {
            (start + 7 * FINE, Align::Left)
        };
        let mut y = top + 12 * FINE;
        for band in &self.panel.bands {
            let pen = (TEXT, marks::text_color(band.family));
            for text in band.label.lines() {
                write(self.sheet, text, (x, y), pen, align)?;
                y += 16 * FINE;
            }
        }
        Ok(())
    }

    /// At least three shown pixels wide, or a narrow band would not be seen.
    fn band_columns(&self, band: &Band) -> (i32, i32) {
        let (left, right) = (self.column(band.from), self.column(band.to));
        let missing = (3 * FINE - (right - left)).max(0);
        (left - missing / 2, right + missing / 2)
    }

    fn reference(&self, reference: &Reference) -> Result<(), LabError> {
        let corners = reference.points.iter().map(|(x, y)| self.at(*x, *y));
        stroke(self.sheet, &corners.collect::<Vec<_>>(), reference.stroke)
    }

    fn points(&self, series: &Series) -> Result<(), LabError> {
        let color = marks::color(series.family);
        let points = || series.points.iter();
        if matches!(series.form, Form::Line | Form::Curve) {
            let corners: Vec<_> = points().map(|one| self.at(one.x, one.y)).collect();
            line(self.sheet, &corners, color, 7)?;
        }
        for one in points() {
            let (x, y) = self.at(one.x, one.y);
            if let Some((low, high)) = one.interval {
                let axis = &self.panel.y;
                let is_shown = |end: &f64| (axis.low..=axis.high).contains(end);
                let ends = [low, high].into_iter().filter(is_shown);
                let ends: Vec<i32> = ends.map(|end| self.row(end)).collect();
                let bar = [(x, self.row(low)), (x, self.row(high))];
                line(self.sheet, &bar, color, 5)?;
                // A bar that is cut at the edge has no end there.
                for end in ends {
                    line(self.sheet, &[(x - CAP, end), (x + CAP, end)], color, 5)?;
                }
            }
            if series.form != Form::Curve {
                marks::marker(self.sheet, (x, y), series.family)?;
            }
            if one.is_doubtful {
                marks::cross_out(self.sheet, (x, y))?;
            }
        }
        Ok(())
    }

    /// Above their points, but within the panel.
    fn labels(&self) -> Result<(), LabError> {
        let [left, top, right, _] = self.area.corners();
        for label in &self.panel.labels {
            let half = width_of(self.sheet, &label.text, TEXT)? / 2;
            let (x, y) = self.at(label.x, label.y);
            let x = x.min(right - half).max(left + half);
            let at = (x, (y - 12 * FINE).max(top + 7 * FINE));
            write(self.sheet, &label.text, at, (TEXT, GREY), Align::Center)?;
        }
        Ok(())
    }

    /// One outline, so that no seams show: each value up to the next x, the last to the edge.
    fn steps(&self, series: &Series) -> Result<(), LabError> {
        let [start, _, end, bottom] = self.area.corners();
        let ends = series.points.iter().skip(1).map(|next| self.column(next.x));
        let mut outline = vec![(start, bottom)];
        for (one, right) in series.points.iter().zip(ends.chain([end])) {
            let (left, top) = self.at(one.x, one.y);
            outline.extend([(left, top), (right, top)]);
        }
        outline.push((end, bottom));
        outline.dedup();
        let color = marks::color(series.family).filled();
        let drawn = self.sheet.draw(&Polygon::new(outline, color));
        drawn.map_err(LabError::chart)
    }
}

/// Draws a reference line through sheet pixels.
pub(super) fn stroke(
    sheet: &Sheet<'_>,
    corners: &[(i32, i32)],
    stroke: Stroke,
) -> Result<(), LabError> {
    match stroke {
        Stroke::Solid => line(sheet, corners, AXIS, 5),
        Stroke::Dashed => dashes(sheet, corners, GREY, (7, 4)),
        Stroke::Dotted => dashes(sheet, corners, GREY, (2, 3)),
    }
}

/// Sheet pixel of a value; what lies beyond an axis is drawn at its end.
fn place(axis: &Axis, value: f64, limits: (i32, i32)) -> i32 {
    let value = value.clamp(axis.low, axis.high);
    let ends = axis.low..axis.high;
    match axis.scale {
        Scale::Linear => RangedCoordf64::from(ends).map(&value, limits),
        Scale::Log => LogCoord::from(ends.log_scale()).map(&value, limits),
    }
}

/// Half the width of the ends of an error bar, in sheet pixels.
const CAP: i32 = 2 * FINE + 2;
