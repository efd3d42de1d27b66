//! Drawing a [`ChartSpec`] as SVG: heading, legend, panels, names at the ends of lines.

use super::{
    labels::apart,
    layout::Layout,
    marks,
    panel::{Placed, stroke},
    sheet::{
        AXIS, Align, FINE, GREY, INK, Sheet, TEXT, fill, fitted, line, on_sheet, width_of, write,
    },
    spec::{ChartSpec, Form, Stroke},
};
use crate::LabError;
use plotters::style::Color;

/// Draws the chart. The same description gives the same text.
///
/// # Errors
/// [`LabError::Chart`] if there is nothing to draw or the drawing library refuses.
pub fn svg(chart: &ChartSpec) -> Result<String, LabError> {
    let has_points = |panel: &super::Panel| panel.series.iter().any(|one| !one.points.is_empty());
    if !chart.panels.iter().any(has_points) {
        return Err(LabError::chart("it has no points"));
    }
    let notes = i32::try_from(chart.notes.len()).unwrap_or(i32::MAX);
    let legend_top = NOTES_TOP + notes * NOTE + 6;
    let entries = legend_entries(chart);
    // Widths of texts are only known on a sheet, the height of the sheet only with them.
    let legend_rows = rows_needed(chart, &entries)?;
    let layout = Layout::below(legend_top + legend_rows * LEGEND_ROW - 8, chart);
    on_sheet(chart, layout.height, |sheet| {
        heading(sheet, chart)?;
        legend(sheet, &entries, legend_top)?;
        let shown = |(panel, _): &(&super::Panel, _)| !panel.series.is_empty();
        for (panel, area) in chart.panels.iter().zip(&layout.areas).filter(shown) {
            let placed = Placed {
                sheet,
                area: *area,
                panel,
            };
            placed.draw()?;
            if chart.names_line_ends() {
                names_at_ends(&placed)?;
            }
        }
        Ok(())
    })
}

fn heading(sheet: &Sheet<'_>, chart: &ChartSpec) -> Result<(), LabError> {
    let title = fitted(sheet, &chart.title, 17, TEXT_WIDTH)?;
    let left = LEFT * FINE;
    write(sheet, &title, (left, 28 * FINE), (17, INK), Align::Left)?;
    let mut top = NOTES_TOP;
    for note in &chart.notes {
        let note = fitted(sheet, note, TEXT, TEXT_WIDTH)?;
        write(sheet, &note, (left, top * FINE), (TEXT, GREY), Align::Left)?;
        top += NOTE;
    }
    Ok(())
}

/// One sample and its name.
struct Entry<'chart> {
    name: &'chart str,
    sample: Sample,
}

#[derive(Clone, Copy, PartialEq)]
enum Sample {
    Family(usize, Form),
    Reference(Stroke),
}

/// What the legend names: nothing if lines are named at their ends.
fn legend_entries(chart: &ChartSpec) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    if chart.names_line_ends() {
        return entries;
    }
    let mut add = |name, sample| {
        if !str::is_empty(name) && entries.iter().all(|entry| entry.name != name) {
            entries.push(Entry { name, sample });
        }
    };
    for panel in &chart.panels {
        for series in &panel.series {
            add(&series.name, Sample::Family(series.family, series.form));
        }
    }
    for reference in chart.panels.iter().flat_map(|panel| &panel.references) {
        add(&reference.name, Sample::Reference(reference.stroke));
    }
    entries
}

fn rows_needed(chart: &ChartSpec, entries: &[Entry<'_>]) -> Result<i32, LabError> {
    let mut rows = 0;
    on_sheet(chart, 1, |sheet| {
        rows = places(sheet, entries)?.last().map_or(0, |(_, row)| row + 1);
        Ok(())
    })?;
    Ok(rows)
}

/// Left edge in shown pixels and row of each entry.
fn places(sheet: &Sheet<'_>, entries: &[Entry<'_>]) -> Result<Vec<(i32, i32)>, LabError> {
    let (mut left, mut row) = (LEFT, 0);
    let mut places = Vec::with_capacity(entries.len());
    for entry in entries {
        let width = SAMPLE + 6 + width_of(sheet, entry.name, TEXT)? / FINE + 18;
        if left + width > LEFT + TEXT_WIDTH && left > LEFT {
            (left, row) = (LEFT, row + 1);
        }
        places.push((left, row));
        left += width;
    }
    Ok(places)
}

fn legend(sheet: &Sheet<'_>, entries: &[Entry<'_>], top: i32) -> Result<(), LabError> {
    for (entry, (left, row)) in entries.iter().zip(places(sheet, entries)?) {
        let y = (top + row * LEGEND_ROW) * FINE;
        let (from, to) = (left * FINE, (left + SAMPLE) * FINE);
        match entry.sample {
            Sample::Reference(style) => stroke(sheet, &[(from, y), (to, y)], style)?,
            Sample::Family(family, Form::Steps) => {
                let corners = [(from, y - 5 * FINE), (to, y + 5 * FINE)];
                fill(sheet, corners, marks::color(family).filled())?;
            }
            Sample::Family(family, form) => {
                if form != Form::Dots {
                    line(sheet, &[(from, y), (to, y)], marks::color(family), 7)?;
                }
                if form != Form::Curve {
                    marks::marker(sheet, (i32::midpoint(from, to), y), family)?;
                }
            }
        }
        let at = (to + 6 * FINE, y);
        write(sheet, entry.name, at, (TEXT, INK), Align::Left)?;
    }
    Ok(())
}

/// Names of series and references where they end, moved apart, with a thin line to the end of a
/// line whose name had to move far.
fn names_at_ends(placed: &Placed<'_, '_>) -> Result<(), LabError> {
    let series = placed.panel.series.iter().filter_map(|one| {
        let (last, color) = (one.points.last()?, marks::text_color(one.family));
        Some((last.x, last.y, &one.end_label, color))
    });
    let references = placed.panel.references.iter().filter_map(|one| {
        let (x, y) = one.points.last()?;
        Some((*x, *y, &one.name, GREY))
    });
    let named = series.chain(references).filter(|one| !one.2.is_empty());
    let placed_names = named.map(|(x, y, name, color)| (placed.at(x, y), name, color));
    let mut names: Vec<_> = placed_names.collect();
    names.sort_by_key(|((_, y), _, _)| *y);
    let ends: Vec<i32> = names.iter().map(|((_, y), _, _)| *y).collect();
    let [_, top, right, bottom] = placed.area.corners();
    let rows = apart(&ends, 15 * FINE, (top, bottom));
    for (((x, end), name, color), row) in names.into_iter().zip(rows) {
        let sheet = placed.sheet;
        if (row - end).abs() > 6 * FINE {
            let ends = [(x + 5 * FINE, end), (right + 8 * FINE, row)];
            line(sheet, &ends, AXIS, 2)?;
        }
        let text = fitted(sheet, name, TEXT, NAME_WIDTH)?;
        let at = (right + 10 * FINE, row);
        write(sheet, &text, at, (TEXT, color), Align::Left)?;
    }
    Ok(())
}

/// Left edge of all text above the panels.
const LEFT: i32 = 24;
/// Width of all text above the panels.
const TEXT_WIDTH: i32 = 752;
/// Middle of the first line below the headline.
const NOTES_TOP: i32 = 50;
/// From one of those lines to the next.
const NOTE: i32 = 17;
/// From one row of the legend to the next.
const LEGEND_ROW: i32 = 18;
/// Width of a sample in the legend.
const SAMPLE: i32 = 26;
/// Width of a name at the end of a line.
const NAME_WIDTH: i32 = 172;
