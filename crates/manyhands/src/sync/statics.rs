//! Statics, and values that are never freed.
//!
//! Under a controlled scheduler both last for one schedule; here they last for the process.

/// Declares statics.
macro_rules! global {
    ($($(#[$attribute:meta])* static $name:ident: $type:ty = $value:expr;)*) => {
        $($(#[$attribute])* static $name: $type = $value;)*
    };
}
pub(crate) use global;

/// Keeps a value until the process ends.
pub(crate) fn leak<T: 'static>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}
