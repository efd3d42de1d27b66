//! Remote functions: a body, the values that it captured, and the name by which a worker finds the body.

use crate::function::{Input, Value};
use std::fmt;

/// What a closure does with what it captured and an input.
pub(crate) type Body<C, I, R> = fn(&C, I) -> R;
/// How two adjacent results become one.
pub(crate) type Combine<R> = fn(R, R) -> R;

/// A closure that can run in another process; made by [`remote!`](crate::remote!).
///
/// Example: see [`remote!`](crate::remote!).
#[must_use = "a remote function does nothing until it is given to a cluster"]
pub struct Remote<C, I, R> {
    id: &'static str,
    captures: C,
    body: fn(&C, I) -> R,
}

/// A remote function whose results are combined; made by [`remote!`](crate::remote!) with two closures.
///
/// # Examples
/// ```
/// use manyhands_cluster::{Cluster, RemoteReduce, remote};
///
/// let factor = 3;
/// let sum: RemoteReduce<(u64,), u64> = remote!([factor: u64] |i| -> u64 { i * factor }, |a, b| { a + b });
/// assert_eq!(Cluster::local().map_reduce(0..5, sum)?, Some(30));
/// # Ok::<(), manyhands_cluster::ClusterError>(())
/// ```
#[must_use = "a remote function does nothing until it is given to a cluster"]
pub struct RemoteReduce<C, R> {
    map: Remote<C, u64, R>,
    combine: fn(R, R) -> R,
}

impl<C: Value, I: Input, R: Value> Remote<C, I, R> {
    /// For `remote!`.
    #[doc(hidden)]
    pub fn new(id: &'static str, captures: C, body: fn(&C, I) -> R) -> Self {
        Self { id, captures, body }
    }
}

impl<C, I, R> Remote<C, I, R> {
    /// Its name, what it captured, and its body.
    pub(crate) fn into_parts(self) -> (&'static str, C, Body<C, I, R>) {
        (self.id, self.captures, self.body)
    }
}

impl<C: Value, R: Value> RemoteReduce<C, R> {
    /// For `remote!`.
    #[doc(hidden)]
    pub fn new(map: Remote<C, u64, R>, combine: fn(R, R) -> R) -> Self {
        Self { map, combine }
    }
}

impl<C, R> RemoteReduce<C, R> {
    /// The body for an index, and the one that combines results.
    pub(crate) fn into_parts(self) -> (Remote<C, u64, R>, Combine<R>) {
        (self.map, self.combine)
    }
}

impl<C, I, R> fmt::Debug for Remote<C, I, R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Remote");
        shown.field("id", &self.id).finish_non_exhaustive()
    }
}

impl<C, R> fmt::Debug for RemoteReduce<C, R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("RemoteReduce");
        shown.field("id", &self.map.id).finish_non_exhaustive()
    }
}

/// Makes a closure that can run in another process.
///
/// In brackets stands what it captures, each value with its type. The values are moved in, and the body sees references
/// to them. Captured values and results go through `serde`. After that comes the closure, with the type of its result:
///
/// | closure | for |
/// |---|---|
/// | `\|i\| -> R { … }`, where `i` is a `u64` | [`Cluster::map`](crate::Cluster::map), [`for_each`](crate::Cluster::for_each) |
/// | `\|i\| -> R { … }, \|a, b\| { … }`, the second without captured values | [`Cluster::map_reduce`](crate::Cluster::map_reduce) |
/// | `\|part: Range<u64>\| -> R { … }` | [`Cluster::query`](crate::Cluster::query) |
/// | `\|\| -> R { … }` | [`Cluster::call`](crate::Cluster::call), [`Cluster::spawn`](crate::Cluster::spawn) |
///
/// The name by which a worker finds it is its place in the source: module, line and column.
///
/// # Examples
/// ```
/// use manyhands_cluster::{Cluster, remote};
///
/// let names = vec!["many".to_owned(), "hands".to_owned()];
/// let suffix = '!';
/// let loud = remote!([names: Vec<String>, suffix: char] |i| -> String {
///     let name = &names[usize::try_from(i).unwrap()];
///     format!("{name}{suffix}")
/// });
/// assert_eq!(Cluster::local().map(0..2, loud)?, ["many!", "hands!"]);
/// # Ok::<(), manyhands_cluster::ClusterError>(())
/// ```
///
/// What is not listed cannot be used, because another process does not have it:
/// ```compile_fail,E0434
/// let factor = 3;
/// let _ = manyhands_cluster::remote!([] |i| -> u64 { i * factor });
/// ```
///
/// Nothing is written to what was captured; return a value instead:
/// ```compile_fail,E0594
/// let count = 0;
/// let _ = manyhands_cluster::remote!([count: u64] |i| -> u64 { *count += i; i });
/// ```
#[macro_export]
macro_rules! remote {
    ([$($captures:tt)*] || -> $result:ty $body:block) => {
        $crate::__remote!([$($captures)*] ($result) (_: ()) $body)
    };
    ([$($captures:tt)*] |$item:tt| -> $result:ty $body:block) => {
        $crate::__remote!([$($captures)*] ($result) ($item: u64) $body)
    };
    ([$($captures:tt)*] |$item:tt : $input:ty| -> $result:ty $body:block) => {
        $crate::__remote!([$($captures)*] ($result) ($item: $input) $body)
    };
    ([$($captures:tt)*] |$item:tt| -> $result:ty $body:block, |$first:tt, $second:tt| $combine:block) => {
        $crate::__remote!([$($captures)*] ($result) ($item: u64) $body ($first $second) $combine)
    };
}

/// The forms of `remote!`, taken apart.
#[doc(hidden)]
#[macro_export]
macro_rules! __remote {
    ([$($name:ident : $type:ty),* $(,)?] ($result:ty) ($item:tt : $input:ty) $body:block) => {{
        fn remote_body(captures: &($($type,)*), $item: $input) -> $result {
            let ($($name,)*) = captures;
            $body
        }
        fn remote_prepare(
            bytes: &[u8],
        ) -> ::core::result::Result<$crate::__private::Prepared, ::std::string::String> {
            $crate::__private::prepare(bytes, remote_body)
        }
        $crate::__private::inventory::submit! {
            $crate::__private::Function::new(
                ::core::concat!(
                    ::core::module_path!(), ":", ::core::line!(), ":", ::core::column!()
                ),
                remote_prepare,
            )
        }
        $crate::Remote::new(
            ::core::concat!(
                ::core::module_path!(), ":", ::core::line!(), ":", ::core::column!()
            ),
            ($($name,)*),
            remote_body,
        )
    }};
    (
        [$($name:ident : $type:ty),* $(,)?] ($result:ty) ($item:tt : $input:ty) $body:block
        ($first:tt $second:tt) $combine:block
    ) => {{
        fn remote_body(captures: &($($type,)*), $item: $input) -> $result {
            let ($($name,)*) = captures;
            $body
        }
        fn remote_combine($first: $result, $second: $result) -> $result {
            $combine
        }
        fn remote_prepare(
            bytes: &[u8],
        ) -> ::core::result::Result<$crate::__private::Prepared, ::std::string::String> {
            $crate::__private::prepare_combining(bytes, remote_body, remote_combine)
        }
        $crate::__private::inventory::submit! {
            $crate::__private::Function::new(
                ::core::concat!(
                    ::core::module_path!(), ":", ::core::line!(), ":", ::core::column!()
                ),
                remote_prepare,
            )
        }
        $crate::RemoteReduce::new(
            $crate::Remote::new(
                ::core::concat!(
                    ::core::module_path!(), ":", ::core::line!(), ":", ::core::column!()
                ),
                ($($name,)*),
                remote_body,
            ),
            remote_combine,
        )
    }};
}
