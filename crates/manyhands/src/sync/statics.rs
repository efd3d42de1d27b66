//! Statics, and what is never freed.
//!
//! Under a controlled scheduler both last for one schedule; here they are what they say.

/// Declares a static.
macro_rules! global {
    ($(#[$attribute:meta])* static $name:ident: $type:ty = $value:expr;) => {
        $(#[$attribute])*
        static $name: $type = $value;
    };
}
pub(crate) use global;

/// Keeps a value for as long as the process lives.
pub(crate) fn leak<T: 'static>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}
