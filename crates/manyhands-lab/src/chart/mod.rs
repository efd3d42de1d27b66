//! Charts: a plain description, one drawing of it as SVG, and the PNG made from that SVG.
//!
//! The description knows no drawing library and the drawing knows no experiment, so either can be
//! replaced. The only font is the bundled DejaVu Sans; no font of the system is read.

mod axis;
mod cores;
#[cfg(feature = "charts")]
mod draw;
mod items;
#[cfg(feature = "charts")]
mod labels;
#[cfg(feature = "charts")]
mod layout;
#[cfg(feature = "charts")]
mod marks;
mod named;
mod over_cpus;
#[cfg(feature = "charts")]
mod panel;
#[cfg(feature = "png")]
mod raster;
mod scaling;
#[cfg(feature = "charts")]
mod sheet;
mod sizes;
mod spec;
mod speed_ups;
#[cfg(not(feature = "charts"))]
mod undrawn;

pub use cores::cores;
#[cfg(feature = "charts")]
pub use draw::svg;
pub use items::items;
pub use named::{Named, all};
pub use over_cpus::over_cpus;
#[cfg(feature = "png")]
pub use raster::png;
pub use scaling::{Contender, Facet, Scaling, ScalingPoint, scaling};
pub use sizes::over_sizes;
pub use spec::{
    Axis, Band, ChartSpec, Form, Label, Mark, Panel, Reference, Scale, Series, Stroke, Tick,
};
pub use speed_ups::speed_ups_by_case;
#[cfg(not(feature = "charts"))]
pub use undrawn::svg;

/// Width of every chart in pixels of the SVG; the PNG has twice as many.
pub const WIDTH: u32 = 800;

#[cfg(feature = "charts")]
const FONT: &[u8] = include_bytes!("../../assets/DejaVuSans.ttf");
/// The font's own name, by which both libraries know it.
#[cfg(feature = "charts")]
const FONT_NAME: &str = "DejaVu Sans";
