//! Where the panels stand and how high the sheet is.

use super::{
    WIDTH,
    sheet::Area,
    spec::{ChartSpec, Panel},
};

/// Places on the sheet, in shown pixels.
#[derive(Debug)]
pub(super) struct Layout {
    /// Height of the sheet.
    pub(super) height: u32,
    /// The areas between the axes, one per panel.
    pub(super) areas: Vec<Area>,
}

impl Layout {
    /// Below a heading that ends at a row, the panels in their columns.
    pub(super) fn below(heading: i32, chart: &ChartSpec) -> Self {
        let columns = chart.columns.max(1);
        let mut areas = Vec::with_capacity(chart.panels.len());
        let mut top = heading;
        for row in chart.panels.chunks(columns) {
            let has_caption = row.iter().any(|panel| !panel.caption.is_empty());
            top += if has_caption { CAPTION } else { GAP };
            let height = row.iter().map(|panel| panel.height).max().unwrap_or(0);
            let bottom = top + height.cast_signed();
            areas.extend((0..row.len()).map(|column| {
                let (left, right) = edges(column, columns, chart);
                Area {
                    left,
                    top,
                    right,
                    bottom,
                }
            }));
            top = bottom + row.iter().map(below).max().unwrap_or(0);
        }
        Self {
            height: (top + BOTTOM).unsigned_abs(),
            areas,
        }
    }
}

/// Left and right edge of a column.
fn edges(column: usize, columns: usize, chart: &ChartSpec) -> (i32, i32) {
    let (column, columns) = (small(column), small(columns));
    let right_end = WIDTH.cast_signed() - if chart.names_line_ends() { NAMES } else { EDGE };
    let width = (right_end - VALUES - (columns - 1) * (VALUES - EDGE / 2)) / columns;
    let left = VALUES + column * (width + VALUES - EDGE / 2);
    (left, left + width)
}

fn small(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Room for what is written below a panel.
fn below(panel: &Panel) -> i32 {
    let has_text = panel.x.ticks.iter().any(|tick| !tick.label.is_empty());
    let ticks = if has_text { 22 } else { 0 };
    let title = if panel.x.title.is_empty() { 0 } else { 22 };
    ticks + title
}

impl ChartSpec {
    /// Whether lines are named where they end; otherwise a legend names them.
    pub(super) fn names_line_ends(&self) -> bool {
        let mut series = self.panels.iter().flat_map(|panel| &panel.series);
        self.columns <= 1 && series.any(|one| !one.end_label.is_empty())
    }
}

/// Room for a panel's caption above it.
const CAPTION: i32 = 30;
/// Room between panels without captions.
const GAP: i32 = 6;
/// Room for the texts of the values left of a panel.
const VALUES: i32 = 76;
/// Room for names at the ends of lines.
const NAMES: i32 = 188;
/// Room where nothing is written.
const EDGE: i32 = 24;
/// Room below the lowest panel.
const BOTTOM: i32 = 10;
