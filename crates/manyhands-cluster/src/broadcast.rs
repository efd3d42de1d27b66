//! Values that many calls capture: each worker is sent one once, and keeps it as long as the driver does.
//!
//! Written among what a call captured, such a value is its number. While a thread writes a call's captured values, it notes
//! which are among them; while one reads them, it looks them up among those that were received.

use crate::{
    Value,
    caught::caught,
    wire::{self, Bytes},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};
use std::{
    any::Any,
    cell::RefCell,
    collections::BTreeMap,
    fmt,
    ops::Deref,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// A value that calls capture again and again: it is sent to each worker once, and not with each call. Clones are the same
/// value, which workers drop some time after the last of them.
///
/// It can only be captured; in results, and inside of another one, it is an error.
///
/// # Examples
/// ```
/// use manyhands_cluster::{Broadcast, Cluster, remote};
///
/// let cluster = Cluster::local();
/// let table = Broadcast::new((0..1_000).map(|i| i * i).collect::<Vec<u64>>());
/// for round in 0..3 {
///     let squares = cluster.map(0..1_000, remote!([round: u64, &table: Broadcast<Vec<u64>>] |i| -> u64 {
///         table[usize::try_from(i).unwrap()] + round
///     }))?;
///     assert_eq!(squares[30], 900 + round);
/// }
/// # Ok::<(), manyhands_cluster::ClusterError>(())
/// ```
pub struct Broadcast<T> {
    value: Arc<T>,
    sent: Arc<Sent>,
}

/// What of it goes to workers.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) id: u64,
    /// Made when it is needed first.
    bytes: OnceLock<Bytes>,
}

impl Sent {
    fn new(id: u64) -> Arc<Self> {
        let bytes = OnceLock::new();
        Arc::new(Self { id, bytes })
    }

    /// Who has this has written it.
    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes.get().cloned().unwrap_or_default()
    }
}

impl<T: Value> Broadcast<T> {
    /// One more value.
    ///
    /// Example: see [`Broadcast`].
    #[must_use]
    pub fn new(value: T) -> Self {
        // Relaxed: the number is only to be another one each time.
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            value: Arc::new(value),
            sent: Sent::new(id),
        }
    }
}

impl<T> Clone for Broadcast<T> {
    fn clone(&self) -> Self {
        Self {
            value: Arc::clone(&self.value),
            sent: Arc::clone(&self.sent),
        }
    }
}

impl<T> Deref for Broadcast<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Broadcast<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Broadcast")
            .field(&*self.value)
            .finish()
    }
}

impl<T: Value> Serialize for Broadcast<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let error = |text: &str| S::Error::custom(wire::said(text));
        let Some(mut captured) = CAPTURED.take() else {
            return Err(error("a broadcast value can only be captured"));
        };
        if self.sent.bytes.get().is_none() {
            let bytes = wire::encode(&*self.value).map_err(|text| error(&text))?;
            self.sent.bytes.get_or_init(|| Bytes::from(bytes));
        }
        captured.push(Arc::clone(&self.sent));
        CAPTURED.set(Some(captured));
        serializer.serialize_u64(self.sent.id)
    }
}

impl<'de, T: Value> Deserialize<'de> for Broadcast<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let error = |text: &str| D::Error::custom(wire::said(text));
        let id = u64::deserialize(deserializer)?;
        let received = RECEIVED.with_borrow(|received| received.get(&id).cloned());
        let received = received.ok_or_else(|| error("no such broadcast value"))?;
        Ok(Self {
            value: received.read().map_err(|text| error(&text))?,
            sent: Sent::new(id),
        })
    }
}

/// Writes what a call has captured; the values in it are returned beside it.
pub(crate) fn captured<C: Serialize>(captures: &C) -> Result<(Bytes, Vec<Arc<Sent>>), String> {
    // Code of theirs may make a call of its own.
    let outer = CAPTURED.replace(Some(Vec::new()));
    let bytes = wire::encode(captures);
    let values = CAPTURED.replace(outer).unwrap_or_default();
    Ok((Bytes::from(bytes?), values))
}

/// What a worker has received, by number.
pub(crate) type Received = BTreeMap<u64, Arc<One>>;

/// Reads with these values.
pub(crate) fn with_received<R>(received: &Received, read: impl FnOnce() -> R) -> R {
    let outer = RECEIVED.replace(received.clone());
    let read = read();
    RECEIVED.set(outer);
    read
}

/// A value that a worker has received. It is read when it is needed first, because only who needs it knows its type.
pub(crate) struct One {
    bytes: Mutex<Bytes>,
    value: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl One {
    pub(crate) fn new(bytes: Bytes) -> Arc<Self> {
        Arc::new(Self {
            bytes: Mutex::new(bytes),
            value: OnceLock::new(),
        })
    }

    fn read<T: Value>(&self) -> Result<Arc<T>, String> {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        if self.value.get().is_none() {
            let value: T = wire::decode(&bytes.0)?;
            self.value.get_or_init(|| Arc::new(value));
            // They are not needed any more.
            *bytes = Bytes::default();
        }
        let value = self.value.get().cloned();
        let value = value.and_then(|value| value.downcast().ok());
        value.ok_or_else(|| "a broadcast value of another type".to_owned())
    }
}

/// A panic of the value's own code is caught.
impl Drop for One {
    fn drop(&mut self) {
        let value = self.value.take();
        let _ = caught(|| drop(value));
    }
}

impl fmt::Debug for One {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("One")
    }
}

static NEXT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The values in what is being written, if that is a call's.
    static CAPTURED: RefCell<Option<Vec<Arc<Sent>>>> = const { RefCell::new(None) };
    /// The values for what is being read.
    static RECEIVED: RefCell<Received> = const { RefCell::new(BTreeMap::new()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_once_and_read_once_however_often_it_is_captured() {
        let table = Broadcast::new(vec![7_u64; 100]);
        let (bytes, values) = captured(&(&table, 3_u8, &table)).unwrap();
        assert!(bytes.0.len() < 20, "only its number");
        assert_eq!(values.len(), 2);
        let received = BTreeMap::from([(values[0].id, One::new(values[0].bytes()))]);
        let read = || wire::decode::<(Broadcast<Vec<u64>>, u8, Broadcast<Vec<u64>>)>(&bytes.0);
        let (first, _, again) = with_received(&received, read).unwrap();
        assert_eq!(*first, *table);
        assert!(Arc::ptr_eq(&first.value, &again.value));
        assert!(read().is_err(), "elsewhere there is none");
        let wrong = || wire::decode::<(Broadcast<String>, u8, Broadcast<String>)>(&bytes.0);
        assert!(with_received(&received, wrong).is_err());
    }

    #[test]
    fn it_can_only_be_captured() {
        let table = Broadcast::new(1_u8);
        assert!(wire::encode(&table).is_err());
        assert!(captured(&Broadcast::new(table)).is_err(), "in another one");
        assert!(captured(&7_u8).is_ok(), "and then nothing is left over");
    }

    /// Makes a call of its own while it is written, and reads while it is read.
    struct Calls;

    impl Serialize for Calls {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let (_, values) = captured(&Broadcast::new(1_u8)).unwrap();
            assert_eq!(values.len(), 1);
            serializer.serialize_unit()
        }
    }

    impl<'de> Deserialize<'de> for Calls {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            with_received(&Received::new(), || ());
            <()>::deserialize(deserializer).map(|()| Self)
        }
    }

    #[test]
    fn calls_inside_of_what_is_written_and_read_change_nothing_around_them() {
        let table = Broadcast::new(7_u8);
        let (bytes, values) = captured(&(&table, Calls, &table)).unwrap();
        assert!(values.iter().all(|value| value.id == table.sent.id) && values.len() == 2);
        let received = BTreeMap::from([(values[0].id, One::new(values[0].bytes()))]);
        let read = || wire::decode::<(Broadcast<u8>, Calls, Broadcast<u8>)>(&bytes.0);
        let (first, _, again) = with_received(&received, read).unwrap();
        assert_eq!((*first, *again), (7, 7));
    }

    /// Cannot be written, and cannot be dropped where it was read.
    #[derive(Deserialize)]
    struct Hostile(u8);

    impl Serialize for Hostile {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("not me");
        }
    }

    impl Drop for Hostile {
        fn drop(&mut self) {
            assert!(self.0 == 0, "it stays");
        }
    }

    #[test]
    fn what_is_wrong_with_a_broadcast_value_is_said() {
        let written = captured(&Broadcast::new(Hostile(0))).unwrap_err();
        assert_eq!(written, "it panicked: not me");
        let in_a_result = wire::encode(&Broadcast::new(1_u8)).unwrap_err();
        assert_eq!(in_a_result, "a broadcast value can only be captured");
        let (bytes, values) = captured(&Broadcast::new(1_u8)).unwrap();
        let read = || wire::decode::<Broadcast<String>>(&bytes.0).map(drop);
        assert_eq!(read(), Err("no such broadcast value".to_owned()));
        let cut = One::new(Bytes::from(vec![9]));
        let received = BTreeMap::from([(values[0].id, cut)]);
        let error = with_received(&received, read).unwrap_err();
        assert_eq!(error, wire::decode::<String>(&[9]).unwrap_err());
    }

    #[test]
    fn a_received_value_that_panics_when_it_is_dropped_does_not_pass_that_on() {
        let one = One::new(Bytes::from(vec![1]));
        drop(one.read::<Hostile>().unwrap());
        drop(one);
    }
}
