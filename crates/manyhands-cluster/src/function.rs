//! The table of remote functions: `remote!` enters each at link time, and a worker finds it there by its name.
//!
//! What comes over the network is a name and captured values; it can call what the program has registered, and nothing
//! else.
#![expect(
    private_interfaces,
    unnameable_types,
    reason = "the trait of inputs is sealed: only this crate calls what is in it"
)]

use crate::{
    ClusterError,
    broadcast::{Received, with_received},
    caught::caught,
    run::{self, Stop},
    wire::{self, Bytes, FRAME_BYTES_MAX, Failure},
};
use manyhands::cancel::Token;
use serde::{Serialize, de::DeserializeOwned};
use std::{
    any::type_name,
    collections::HashSet,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    mem,
    ops::Range,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// What goes to another process and comes back: captured values, results. It is implemented for all types that can.
///
/// # Examples
/// ```
/// fn can_be_sent<T: manyhands_cluster::Value>() {}
/// can_be_sent::<(Vec<String>, Option<u64>)>();
/// ```
pub trait Value: Serialize + DeserializeOwned + Send + Sync + 'static {}
impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Value for T {}

/// What a remote function captures: values of its own, and lent ones. It is implemented for all types that can be written.
///
/// # Examples
/// ```
/// fn can_be_captured<T: manyhands_cluster::Captured>(_: T) {}
/// let name = "hands".to_owned();
/// can_be_captured((&name, 7));
/// ```
pub trait Captured: Serialize + Send + Sync {}
impl<T: Serialize + Send + Sync> Captured for T {}

/// What the body of a remote function is given: `u64`, the index of an item; `Range<u64>`, all indices of a chunk; or
/// nothing. Sealed.
///
/// # Examples
/// ```
/// use manyhands_cluster::{Cluster, remote};
/// use std::ops::Range;
///
/// let cluster = Cluster::local();
/// let each = cluster.map(0..3, remote!([] |i| -> u64 { i * 10 }))?;
/// let all = cluster.query(0..3, remote!([] |part: Range<u64>| -> Vec<u64> { part.map(|i| i * 10).collect() }))?;
/// let one = cluster.call(remote!([] || -> Vec<u64> { vec![0, 10, 20] }))?;
/// assert!(each == all && all == one);
/// # Ok::<(), manyhands_cluster::ClusterError>(())
/// ```
pub trait Input: sealed::Input {}
impl Input for u64 {}
impl Input for Range<u64> {}
impl Input for () {}

mod sealed {
    use super::{Stop, Token, Value};
    use std::ops::Range;

    pub trait Input: Sized + 'static {
        /// Runs the body over a chunk; the results as bytes.
        fn run<C: Value, R: Value>(
            captures: &C,
            range: Range<u64>,
            body: fn(&C, Self) -> R,
            token: &Token,
        ) -> Result<Vec<u8>, Stop>;
    }
}

impl sealed::Input for u64 {
    fn run<C: Value, R: Value>(
        captures: &C,
        range: Range<u64>,
        body: fn(&C, Self) -> R,
        token: &Token,
    ) -> Result<Vec<u8>, Stop> {
        results(&run::items(range, |i| body(captures, i), token)?)
    }
}

impl sealed::Input for Range<u64> {
    fn run<C: Value, R: Value>(
        captures: &C,
        range: Range<u64>,
        body: fn(&C, Self) -> R,
        token: &Token,
    ) -> Result<Vec<u8>, Stop> {
        results(&run::whole(
            &range,
            || body(captures, range.clone()),
            token,
        )?)
    }
}

impl sealed::Input for () {
    fn run<C: Value, R: Value>(
        captures: &C,
        range: Range<u64>,
        body: fn(&C, Self) -> R,
        token: &Token,
    ) -> Result<Vec<u8>, Stop> {
        results(&run::whole(&range, || body(captures, ()), token)?)
    }
}

fn results<R: Serialize + ?Sized>(results: &R) -> Result<Vec<u8>, Stop> {
    let bytes = wire::encode(results).map_err(|reason| Failure::Results { reason });
    let bytes = bytes.map_err(Stop::Failed)?;
    if bytes.len() > RESULT_BYTES_MAX {
        let bytes = bytes.len() as u64;
        return Err(Stop::Failed(Failure::TooLarge { bytes }));
    }
    Ok(bytes)
}

/// A registered function. `remote!` makes it.
#[derive(Debug)]
pub struct Function {
    place: &'static str,
    types: fn() -> &'static str,
    prepare: fn(&[u8]) -> Result<Prepared, String>,
}

inventory::collect!(Function);

impl Function {
    /// For `remote!`.
    #[must_use]
    pub const fn new(
        place: &'static str,
        types: fn() -> &'static str,
        prepare: fn(&[u8]) -> Result<Prepared, String>,
    ) -> Self {
        Self {
            place,
            types,
            prepare,
        }
    }
}

/// For `remote!`: the types that a body takes and returns.
pub fn types_of<C, I, R>(_: fn(&C, I) -> R) -> &'static str {
    type_name::<(C, I, R)>()
}

/// The name of a function: its place in the source, and a digest of its types. What a function of other types has captured is
/// not read, also where unequal programs are said to be the same build.
pub(crate) fn id(place: &str, types: &str) -> String {
    let mut hasher = DefaultHasher::new();
    types.hash(&mut hasher);
    format!("{place}:{:016x}", hasher.finish())
}

/// A function with its captured values: it can run chunks. A panic of what drops them is caught.
#[derive(Clone)]
pub struct Prepared(Option<Arc<dyn RunChunk>>);

trait RunChunk: Send + Sync {
    fn run(&self, range: Range<u64>, token: &Token) -> Result<Vec<u8>, Stop>;
}

impl Prepared {
    fn new(function: impl RunChunk + 'static) -> Self {
        Self(Some(Arc::new(function)))
    }

    /// Not only bodies may panic: so may what drops their results, or the captured values, of which this may be the last.
    pub(crate) fn run(mut self, range: Range<u64>, token: &Token) -> Result<Vec<u8>, Stop> {
        // It is there until this is dropped.
        let function = self.0.take().ok_or(Stop::Cancelled)?;
        run::within(&range.clone(), move || function.run(range, token)).flatten()
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        let function = self.0.take();
        let _ = caught(|| drop(function));
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Prepared")
    }
}

struct Bodies<C, I, R> {
    captures: C,
    body: fn(&C, I) -> R,
}

impl<C: Value, I: Input, R: Value> RunChunk for Bodies<C, I, R> {
    fn run(&self, range: Range<u64>, token: &Token) -> Result<Vec<u8>, Stop> {
        I::run(&self.captures, range, self.body, token)
    }
}

struct Combining<C, R> {
    captures: C,
    map: fn(&C, u64) -> R,
    combine: fn(R, R) -> R,
}

impl<C: Value, R: Value> RunChunk for Combining<C, R> {
    fn run(&self, range: Range<u64>, token: &Token) -> Result<Vec<u8>, Stop> {
        let map = |i| (self.map)(&self.captures, i);
        results(&run::combined(range, map, self.combine, token)?)
    }
}

/// For `remote!`: a body with the captured values that these bytes are.
///
/// # Errors
/// If they are not.
pub fn prepare<C: Value, I: Input, R: Value>(
    bytes: &[u8],
    body: fn(&C, I) -> R,
) -> Result<Prepared, String> {
    let captures = wire::decode(bytes)?;
    Ok(Prepared::new(Bodies { captures, body }))
}

/// For `remote!`: as [`prepare`], for a body whose results are combined.
///
/// # Errors
/// If the bytes are not the captured values.
pub fn prepare_combining<C: Value, R: Value>(
    bytes: &[u8],
    map: fn(&C, u64) -> R,
    combine: fn(R, R) -> R,
) -> Result<Prepared, String> {
    let captures = wire::decode(bytes)?;
    Ok(Prepared::new(Combining {
        captures,
        map,
        combine,
    }))
}

/// What the function of a call has captured. The program's own code reads it and drops it, and may take its time.
#[derive(Debug)]
pub(crate) struct Captures {
    unread: Mutex<(String, Bytes, Received)>,
    prepared: OnceLock<Result<Prepared, Failure>>,
}

impl Captures {
    pub(crate) fn new(function: String, bytes: Bytes, values: Received) -> Arc<Self> {
        Arc::new(Self {
            unread: Mutex::new((function, bytes, values)),
            prepared: OnceLock::new(),
        })
    }

    /// The function with its captured values, which are read the first time.
    pub(crate) fn prepared(&self) -> Result<Prepared, Failure> {
        let prepared = self.prepared.get_or_init(|| {
            let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
            // The bytes are not needed any more.
            let (name, bytes, values) = mem::take(&mut *unread);
            find(&name, &bytes.0, &values)
        });
        prepared.clone()
    }
}

/// The function of this name with its captured values.
fn find(name: &str, captures: &[u8], received: &Received) -> Result<Prepared, Failure> {
    let mut table = inventory::iter::<Function>.into_iter();
    // The digest is made for the one at this place only.
    let found = table.find(|function| {
        name.starts_with(function.place) && id(function.place, (function.types)()) == name
    });
    let function = found.ok_or_else(|| Failure::UnknownFunction {
        id: name.to_owned(),
    })?;
    let prepared = with_received(received, || (function.prepare)(captures));
    prepared.map_err(|reason| Failure::Captures { reason })
}

/// Whether each function of this program has a name of its own.
pub(crate) fn check() -> Result<(), ClusterError> {
    let table = inventory::iter::<Function>.into_iter();
    check_ids(table.map(|function| function.place))
}

fn check_ids(ids: impl Iterator<Item = &'static str>) -> Result<(), ClusterError> {
    let mut seen = HashSet::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(ClusterError::DuplicateFunction { id: id.to_owned() });
        }
    }
    Ok(())
}

/// Room is left for what stands around the results.
const RESULT_BYTES_MAX: usize = FRAME_BYTES_MAX as usize - 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote;

    #[test]
    fn a_function_is_found_by_its_name_and_runs_with_what_it_captured() {
        let factor = 10;
        let function = remote!([factor: u64] |i| -> u64 { factor * i });
        let (id, captures, _) = function.into_parts();
        let captures = wire::encode(&captures).unwrap();
        let found = find(&id, &captures, &Received::new()).unwrap();
        let bytes = found.run(2..5, &Token::never()).unwrap();
        assert_eq!(wire::decode::<Vec<u64>>(&bytes).unwrap(), [20, 30, 40]);
    }

    #[test]
    fn an_unknown_name_and_captures_of_another_type_are_failures() {
        let id = "nowhere:1:1".to_owned();
        let unknown = find(&id, &[], &Received::new()).unwrap_err();
        assert_eq!(unknown, Failure::UnknownFunction { id });
        let function = remote!([] |i| -> u64 { i });
        let id = function.into_parts().0;
        let wrong = find(&id, &[1, 2, 3], &Received::new()).unwrap_err();
        assert!(matches!(wrong, Failure::Captures { .. }), "{wrong:?}");
        // At this place stood a function of other types, in another program.
        let place = id.rsplit_once(':').unwrap().0;
        let other = super::id(place, types_of(|_: &(u8,), i: u64| i));
        let unknown = find(&other, &[1, 2, 3], &Received::new()).unwrap_err();
        assert_eq!(unknown, Failure::UnknownFunction { id: other });
    }

    #[test]
    fn two_functions_at_one_place_are_refused() {
        assert_eq!(check_ids(["a:1:1", "a:1:2"].into_iter()), Ok(()));
        let id = "a:1:1".to_owned();
        let twice = check_ids(["a:1:1", "b:1:1", "a:1:1"].into_iter());
        assert_eq!(twice, Err(ClusterError::DuplicateFunction { id }));
    }

    #[test]
    fn the_functions_of_this_program_have_names_of_their_own() {
        assert_eq!(check(), Ok(()));
    }
}
