//! Remote functions: a body, the values that it captured, and the name by which a worker finds the body.

use crate::function::{self, Captured, Input, Value, types_of};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, ops::Deref};

/// What a closure does with what it captured and an input.
pub(crate) type Body<C, I, R> = fn(&C, I) -> R;
/// How two adjacent results become one.
pub(crate) type Combine<R> = fn(R, R) -> R;

/// A closure that can run in another process; made by [`remote!`](crate::remote!).
///
/// Example: see [`remote!`](crate::remote!).
#[must_use = "a remote function does nothing until it is given to a cluster"]
pub struct Remote<C, I, R> {
    place: &'static str,
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

impl<C: Captured, I: Input, R: Value> Remote<C, I, R> {
    /// For `remote!`.
    #[doc(hidden)]
    pub fn new(place: &'static str, captures: C, body: fn(&C, I) -> R) -> Self {
        Self {
            place,
            captures,
            body,
        }
    }
}

impl<C, I, R> Remote<C, I, R> {
    /// Its name, what it captured, and its body.
    pub(crate) fn into_parts(self) -> (String, C, Body<C, I, R>) {
        let id = function::id(self.place, types_of(self.body));
        (id, self.captures, self.body)
    }
}

impl<C: Captured, R: Value> RemoteReduce<C, R> {
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
        shown.field("place", &self.place).finish_non_exhaustive()
    }
}

impl<C, R> fmt::Debug for RemoteReduce<C, R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("RemoteReduce");
        shown
            .field("place", &self.map.place)
            .finish_non_exhaustive()
    }
}

/// A captured value that is lent: its owner's, or where it was read its own.
#[derive(Debug)]
pub enum Lent<'a, T> {
    /// Where the call is made.
    Of(&'a T),
    /// At a worker.
    Read(T),
}

impl<T> Deref for Lent<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Of(value) => value,
            Self::Read(value) => value,
        }
    }
}

impl<T: Serialize> Serialize for Lent<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lent<'_, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::Read)
    }
}

/// Makes a closure that can run in another process.
///
/// In brackets stands what it captures, each value with its type. The values are moved in, and behind them may stand others
/// that are lent, each with a `&`: `[factor: u64, &table: Vec<u64>]`. The body sees references to all of them. What many
/// calls capture may be a [`Broadcast`](crate::Broadcast), which is sent once. Captured values and results go through `serde`. After that comes the closure, with the type of its result:
///
/// | closure | for |
/// |---|---|
/// | `\|i\| -> R { … }`, where `i` is a `u64` | [`Cluster::map`](crate::Cluster::map), [`for_each`](crate::Cluster::for_each) |
/// | `\|i\| -> R { … }, \|a, b\| { … }`, the second without captured values | [`Cluster::map_reduce`](crate::Cluster::map_reduce) |
/// | `\|part: Range<u64>\| -> R { … }` | [`Cluster::query`](crate::Cluster::query) |
/// | `\|\| -> R { … }` | [`Cluster::call`](crate::Cluster::call), [`Cluster::spawn`](crate::Cluster::spawn) |
///
/// The name by which a worker finds it is its place in the source, module, line and column, with a digest of its types.
///
/// [`Cluster::spawn`](crate::Cluster::spawn) does not wait, so nothing is lent to it.
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
/// A lent value is there for the next call:
/// ```
/// use manyhands_cluster::{Cluster, remote};
///
/// let table = vec![10, 20, 30];
/// for round in 0..2 {
///     let lines = remote!([round: u64, &table: Vec<u64>] |i| -> u64 { table[usize::try_from(i).unwrap()] + round });
///     assert_eq!(Cluster::local().map(0..3, lines)?, [10 + round, 20 + round, 30 + round]);
/// }
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
        $crate::__remote!([$($captures)*,] ($result) (_: ()) $body)
    };
    ([$($captures:tt)*] |$item:tt| -> $result:ty $body:block) => {
        $crate::__remote!([$($captures)*,] ($result) ($item: u64) $body)
    };
    ([$($captures:tt)*] |$item:tt : $input:ty| -> $result:ty $body:block) => {
        $crate::__remote!([$($captures)*,] ($result) ($item: $input) $body)
    };
    ([$($captures:tt)*] |$item:tt| -> $result:ty $body:block, |$first:tt, $second:tt| $combine:block) => {
        $crate::__remote!([$($captures)*,] ($result) ($item: u64) $body ($first $second) $combine)
    };
}

/// The forms of `remote!`, taken apart. Behind the captured values stand one comma or two.
#[doc(hidden)]
#[macro_export]
macro_rules! __remote {
    (
        [$($name:ident : $type:ty,)* $(& $lent:ident : $lent_type:ty,)* $(,)?]
        ($result:ty) ($item:tt : $input:ty) $body:block $(($first:tt $second:tt) $combine:block)?
    ) => {{
        fn remote_body(
            captures: &($($type,)* $($crate::__private::Lent<'_, $lent_type>,)*),
            $item: $input,
        ) -> $result {
            let ($($name,)* $($lent,)*) = captures;
            $(let $lent: &$lent_type = $lent;)*
            $body
        }
        fn remote_types() -> &'static str {
            $crate::__private::types_of(remote_body)
        }
        $(
            fn remote_combine($first: $result, $second: $result) -> $result {
                $combine
            }
        )?
        fn remote_prepare(
            bytes: &[u8],
        ) -> ::core::result::Result<$crate::__private::Prepared, ::std::string::String> {
            $crate::__remote_prepare!(bytes, remote_body $(, remote_combine, $combine)?)
        }
        $crate::__private::inventory::submit! {
            $crate::__private::Function::new(
                ::core::concat!(
                    ::core::module_path!(), ":", ::core::line!(), ":", ::core::column!()
                ),
                remote_types,
                remote_prepare,
            )
        }
        let remote = $crate::Remote::new(
            ::core::concat!(
                ::core::module_path!(), ":", ::core::line!(), ":", ::core::column!()
            ),
            ($($name,)* $($crate::__private::Lent::Of(&$lent),)*),
            remote_body,
        );
        $crate::__remote_made!(remote $(, remote_combine, $combine)?)
    }};
}

/// How a worker makes it of bytes.
#[doc(hidden)]
#[macro_export]
macro_rules! __remote_prepare {
    ($bytes:ident, $body:ident) => {
        $crate::__private::prepare($bytes, $body)
    };
    ($bytes:ident, $body:ident, $combine:ident, $_block:block) => {
        $crate::__private::prepare_combining($bytes, $body, $combine)
    };
}

/// What a call takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __remote_made {
    ($remote:ident) => {
        $remote
    };
    ($remote:ident, $combine:ident, $_block:block) => {
        $crate::RemoteReduce::new($remote, $combine)
    };
}
