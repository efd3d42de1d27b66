//! From the SVG to the PNG, with the bundled font only.

use super::{FONT, FONT_NAME};
use crate::LabError;
use resvg::{
    render,
    tiny_skia::{Pixmap, Transform},
    usvg::{Options, Tree},
};

/// Pixels of the PNG per pixel of the SVG: sharp on fine screens, readable at half its width.
const SCALE: f32 = 2.0;

/// Renders an SVG made by [`svg`](super::svg).
///
/// # Errors
/// [`LabError::Chart`] if the text is not such an SVG.
pub fn png(svg: &str) -> Result<Vec<u8>, LabError> {
    let mut options = Options {
        font_family: FONT_NAME.to_owned(),
        ..Options::default()
    };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FONT_NAME);
    let tree = Tree::from_str(svg, &options).map_err(LabError::chart)?;
    let size = tree.size().to_int_size().scale_by(SCALE);
    let mut pixels = size
        .and_then(|size| Pixmap::new(size.width(), size.height()))
        .ok_or_else(|| LabError::chart("the picture is empty"))?;
    let scaled = Transform::from_scale(SCALE, SCALE);
    render(&tree, scaled, &mut pixels.as_mut());
    pixels.encode_png().map_err(LabError::chart)
}
