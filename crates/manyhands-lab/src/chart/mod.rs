//! Charts: a plain description, one drawing of it as SVG, and the PNG made from that SVG.
//!
//! The description knows no drawing library and the drawing knows no experiment, so either can be
//! replaced. The only font is the bundled DejaVu Sans; no font of the system is read.

mod axis;
mod cores;
mod draw;
mod labels;
mod layout;
mod marks;
mod named;
mod panel;
mod raster;
mod scaling;
mod sheet;
mod sizes;
mod spec;
mod speed_ups;

pub use cores::cores;
pub use draw::svg;
pub use named::{Named, all};
pub use raster::png;
pub use scaling::{Contender, Facet, Scaling, ScalingPoint, scaling, scaling_over_bound};
pub use sizes::over_sizes;
pub use spec::{Axis, Band, ChartSpec, Form, Mark, Panel, Reference, Scale, Series, Stroke, Tick};
pub use speed_ups::speed_ups_by_case;

/// Width of every chart in pixels of the SVG; the PNG has twice as many.
pub const WIDTH: u32 = 800;

const FONT: &[u8] = include_bytes!("../../assets/DejaVuSans.ttf");
/// The font's own name, by which both libraries know it.
const FONT_NAME: &str = "DejaVu Sans";
