//! oxipng and image: a picture made smaller, computed, and written.

use image::{DynamicImage, ImageBuffer, ImageFormat, Luma, Rgb};
use oxipng::{BitDepth, ColorType, Options, RawImage};
use std::io::Cursor;

/// Pixels in a row, and rows.
const SIZE: u32 = 384;

/// What oxipng shall make smaller.
pub(crate) fn raw() -> RawImage {
    let mut bytes = Vec::new();
    for y in 0..SIZE {
        for x in 0..SIZE {
            bytes.extend([escapes(x, y), (x ^ y) as u8, (x + y) as u8]);
        }
    }
    let color = ColorType::RGB {
        transparent_color: None,
    };
    let raw = RawImage::new(SIZE, SIZE, color, BitDepth::Eight, bytes);
    raw.expect("three bytes for each pixel")
}

/// The smallest file that oxipng finds.
pub(crate) fn smaller(raw: &RawImage) -> Vec<u8> {
    let options = Options::from_preset(2);
    let png = raw.create_optimized_png(&options);
    png.expect("the picture can be written")
}

/// Each pixel computed, by image's own loop over them.
pub(crate) fn pixels() -> Vec<u8> {
    let picture = ImageBuffer::from_par_fn(SIZE, SIZE, |x, y| Luma([escapes(x, y)]));
    picture.into_raw()
}

/// A picture of floating-point numbers.
pub(crate) fn exr() -> DynamicImage {
    let picture = ImageBuffer::from_fn(SIZE, SIZE, |x, y| {
        let value = f32::from(escapes(x, y)) / 255.0;
        Rgb([value, value * 0.5, 1.0 - value])
    });
    DynamicImage::ImageRgb32F(picture)
}

/// The picture as a file; returns its length.
pub(crate) fn written(picture: &DynamicImage) -> usize {
    let mut file = Cursor::new(Vec::new());
    let written = picture.write_to(&mut file, ImageFormat::OpenExr);
    written.expect("the picture can be written");
    file.into_inner().len()
}

/// Steps until the point's sequence leaves a circle: Mandelbrot's set.
fn escapes(x: u32, y: u32) -> u8 {
    let at = |pixel: u32| f64::from(pixel) / f64::from(SIZE) * 3.0 - 2.0;
    let (re, im) = (at(x), at(y) + 0.5);
    let (mut a, mut b) = (0.0, 0.0);
    for step in 0..=u8::MAX {
        if a * a + b * b > 4.0 {
            return step;
        }
        (a, b) = (a * a - b * b + re, 2.0 * a * b + im);
    }
    u8::MAX
}
