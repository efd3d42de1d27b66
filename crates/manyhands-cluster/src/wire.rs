//! What driver and workers say to each other, and how it becomes bytes.
//!
//! A message is a frame: its length as four bytes, little end first, then the message in the format of `postcard`.
//! What comes in is judged before it is believed: a frame that is too long is refused before there is room for it, and one
//! that ends early, has bytes left over or is no message is an error.

mod limited;

use crate::caught::caught;
use limited::{Limits, Message};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use std::{
    cell::RefCell,
    fmt,
    io::{self, ErrorKind, Read, Write},
    ops::Range,
    sync::Arc,
};

/// The version of these messages. The first message has it before everything that may change.
pub(crate) const PROTOCOL: u32 = 4;

/// One call of a driver. A driver gives each number once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct JobId(pub(crate) u64);

/// One handing out of one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) job: JobId,
    /// The chunk's place among the chunks of its job.
    pub(crate) chunk: u32,
    /// From 1.
    pub(crate) number: u32,
}

/// From the driver; several go in one frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum ToWorker {
    /// The worker may have work.
    Welcome,
    /// It never gets any.
    Refused { reason: String },
    /// What a job's function has captured; before the job's first chunk.
    Captures {
        job: JobId,
        function: String,
        bytes: Bytes,
        /// The broadcast values in it, which were sent before.
        values: Vec<u64>,
    },
    /// A broadcast value.
    Value { id: u64, bytes: Bytes },
    /// A broadcast value is not used any more.
    Drop { id: u64 },
    /// A chunk of work.
    Run { attempt: Attempt, range: Range<u64> },
    /// The job has ended: its captures and chunks are of no use any more.
    Forget { job: JobId },
}

#[cfg(any(unix, feature = "nats"))]
impl ToWorker {
    /// About how long it is, where that may be much.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Captures { bytes, .. } | Self::Value { bytes, .. } => bytes.0.len(),
            Self::Welcome
            | Self::Refused { .. }
            | Self::Drop { .. }
            | Self::Run { .. }
            | Self::Forget { .. } => 0,
        }
    }

    /// What it counts as where elements are counted.
    pub(crate) fn elements(&self) -> usize {
        match self {
            Self::Captures { values, .. } => 1 + values.len(),
            _ => 1,
        }
    }
}

/// Bytes that messages to many workers share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Bytes(pub(crate) Arc<Vec<u8>>);

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Arc::new(bytes))
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde_bytes::deserialize(deserializer).map(|bytes: Vec<u8>| bytes.into())
    }
}

/// From a worker.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum FromWorker {
    /// The first message, and again until there is an answer.
    Hello(Hello),
    /// It has a chunk of the job, and not what the function captured.
    NeedsCaptures { job: JobId },
    /// The results of a chunk.
    Done {
        attempt: Attempt,
        /// How long the bodies took.
        took_nanos: u64,
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// A chunk has no results, and would not have any elsewhere.
    Failed { attempt: Attempt, failure: Failure },
    /// It is there, and holds these chunks.
    Beat { held: Vec<Attempt> },
}

/// Who a worker is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) protocol: u32,
    pub(crate) build: String,
    pub(crate) host: String,
    /// The name of the worker that has died in its place, where workers have names.
    pub(crate) replaces: Option<String>,
}

/// Why a chunk has no results.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Failure {
    /// A body panicked, at one of these indices.
    Panicked { range: Range<u64>, message: String },
    /// The worker's program has no function of this name.
    UnknownFunction { id: String },
    /// The captured values cannot be read.
    Captures { reason: String },
    /// The results cannot be written.
    Results { reason: String },
    /// The results are more than one message holds.
    TooLarge { bytes: u64 },
}

impl Failure {
    /// The same of this chunk: a panic at no index of it was at one that is not known.
    pub(crate) fn within(mut self, chunk: &Range<u64>) -> Self {
        if let Self::Panicked { range, .. } = &mut self
            && (range.is_empty() || range.start < chunk.start || range.end > chunk.end)
        {
            range.clone_from(chunk);
        }
        self
    }
}

/// Why bytes are no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WireError {
    /// The connection broke.
    Connection(ErrorKind),
    /// It ended inside of a frame.
    Truncated,
    /// A frame claims to be longer than any may be.
    TooLarge { bytes: u64 },
    /// Too many long messages are on their way already.
    #[cfg(feature = "nats")]
    NoRoom { bytes: u64 },
    /// The bytes are no message of ours.
    Malformed(String),
}

impl fmt::Display for WireError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(kind) => write!(formatter, "the connection broke: {kind}"),
            Self::Truncated => formatter.write_str("the connection ended inside of a message"),
            Self::TooLarge { bytes } => {
                write!(
                    formatter,
                    "a message of {bytes} bytes; at most {FRAME_BYTES_MAX} are read"
                )
            }
            #[cfg(feature = "nats")]
            Self::NoRoom { bytes } => {
                write!(formatter, "no room for a message of {bytes} bytes")
            }
            Self::Malformed(reason) => write!(formatter, "no message: {reason}"),
        }
    }
}

/// The bytes of a value, without a length. A panic of its own code is an error as any other.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, String> {
    its_own(|| postcard::to_stdvec(value).map_err(|error| error.to_string()))
}

/// The value that these bytes are, all of them. It may refer to them. A panic of its own code is an error as any other.
pub(crate) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    read_within(bytes, &Limits::of(bytes, 0))
}

/// As [`decode`], for what driver and workers say.
pub(crate) fn decode_message<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    read_within(bytes, &Limits::of_message())
}

/// As [`decode`], for a vector of this many values.
pub(crate) fn decode_items<'a, T: Deserialize<'a>>(
    bytes: &'a [u8],
    count: u64,
) -> Result<Vec<T>, String> {
    // Those that take no bytes are made as often as is claimed.
    match postcard::take_from_bytes::<u64>(bytes) {
        Ok((claimed, _)) if claimed != count => Err(format!("{claimed} values, and not {count}")),
        _ => read_within(bytes, &Limits::of(bytes, count)),
    }
}

fn read_within<'a, T: Deserialize<'a>>(bytes: &'a [u8], limits: &Limits) -> Result<T, String> {
    its_own(|| {
        let failed = |error: postcard::Error| error.to_string();
        let mut reader = postcard::Deserializer::from_flavor(Message::new(bytes));
        let value = T::deserialize(limits.around(&mut reader)).map_err(failed)?;
        match reader.finalize().map_err(failed)? {
            [] => Ok(value),
            // Here the value is dropped, which may panic too.
            rest => Err(format!("{} bytes are left over", rest.len())),
        }
    })
}

/// Runs code of a value's own.
fn its_own<R>(code: impl FnOnce() -> Result<R, String>) -> Result<R, String> {
    let outcome = caught(code);
    let said = SAID.take();
    match outcome {
        Ok(outcome) => outcome.map_err(|error| said.unwrap_or(error)),
        Err(message) => Err(format!("it panicked: {message}")),
    }
}

/// Keeps what an error of this crate's own says for [`encode`] and [`decode`]; `postcard` forgets it.
pub(crate) fn said(text: &str) -> &str {
    SAID.set(Some(text.to_owned()));
    text
}

thread_local! {
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The frame of a message.
pub(crate) fn frame<M: Serialize>(message: &M) -> Result<Vec<u8>, WireError> {
    let frame = postcard::to_extend(message, vec![0; LEN_BYTES]);
    let mut frame = frame.map_err(|error| WireError::Malformed(error.to_string()))?;
    let bytes = (frame.len() - LEN_BYTES) as u64;
    let len = u32::try_from(bytes).ok();
    let len = len.filter(|len| *len <= FRAME_BYTES_MAX);
    let len = len.ok_or(WireError::TooLarge { bytes })?;
    frame[..LEN_BYTES].copy_from_slice(&len.to_le_bytes());
    Ok(frame)
}

/// The next message of a connection; `None` at its end.
pub(crate) fn read<M: DeserializeOwned>(from: &mut impl Read) -> Result<Option<M>, WireError> {
    let mut len = [0; LEN_BYTES];
    match read_up_to(from, &mut len)? {
        0 => return Ok(None),
        LEN_BYTES => {}
        _ => return Err(WireError::Truncated),
    }
    let len = u32::from_le_bytes(len);
    if len > FRAME_BYTES_MAX {
        return Err(WireError::TooLarge { bytes: len.into() });
    }
    // The buffer grows with what comes, not with what was announced.
    let mut body = Vec::new();
    from.take(len.into())
        .read_to_end(&mut body)
        .map_err(|error| WireError::Connection(error.kind()))?;
    if body.len() < len as usize {
        return Err(WireError::Truncated);
    }
    decode_message(&body)
        .map(Some)
        .map_err(WireError::Malformed)
}

/// Writes a message.
pub(crate) fn write<M: Serialize>(to: &mut impl Write, message: &M) -> Result<(), WireError> {
    let broke = |error: io::Error| WireError::Connection(error.kind());
    to.write_all(&frame(message)?).map_err(broke)?;
    to.flush().map_err(broke)
}

fn read_up_to(from: &mut impl Read, buffer: &mut [u8]) -> Result<usize, WireError> {
    let mut count = 0;
    while count < buffer.len() {
        match from.read(&mut buffer[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(WireError::Connection(error.kind())),
        }
    }
    Ok(count)
}

/// How long the length is.
const LEN_BYTES: usize = 4;
/// The longest message without its length: a quarter of a gigabyte.
pub(crate) const FRAME_BYTES_MAX: u32 = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn messages() -> Vec<FromWorker> {
        let attempt = Attempt {
            job: JobId(7),
            chunk: 1,
            number: 2,
        };
        vec![
            FromWorker::Hello(Hello {
                protocol: PROTOCOL,
                build: "b".to_owned(),
                host: "h".to_owned(),
                replaces: None,
            }),
            FromWorker::Done {
                attempt,
                took_nanos: u64::MAX,
                bytes: vec![0, 255],
            },
            FromWorker::Failed {
                attempt,
                failure: Failure::Panicked {
                    range: 1..2,
                    message: "no".to_owned(),
                },
            },
            FromWorker::Beat {
                held: vec![attempt],
            },
        ]
    }

    #[test]
    fn messages_come_as_they_went() {
        let mut bytes = Vec::new();
        for message in messages() {
            write(&mut bytes, &message).unwrap();
        }
        let mut rest = bytes.as_slice();
        for message in messages() {
            assert_eq!(read(&mut rest), Ok(Some(message)));
        }
        assert_eq!(read::<FromWorker>(&mut rest), Ok(None));
    }

    #[test]
    fn a_frame_that_is_cut_anywhere_is_an_error() {
        for message in messages() {
            let whole = frame(&message).unwrap();
            for len in 1..whole.len() {
                let cut = read::<FromWorker>(&mut &whole[..len]);
                assert_eq!(cut, Err(WireError::Truncated), "{len} of {message:?}");
            }
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_before_it_is_read() {
        let mut bytes = (FRAME_BYTES_MAX + 1).to_le_bytes().to_vec();
        bytes.extend([0; 8]);
        let mut rest = bytes.as_slice();
        let refused = read::<FromWorker>(&mut rest);
        let bytes = u64::from(FRAME_BYTES_MAX) + 1;
        assert_eq!(refused, Err(WireError::TooLarge { bytes }));
        assert_eq!(rest.len(), 8, "only the length was read");
    }

    #[test]
    fn bytes_that_are_no_message_or_too_many_are_errors() {
        let mut strange = 3_u32.to_le_bytes().to_vec();
        strange.extend([99, 0, 0]);
        let wrong = read::<FromWorker>(&mut strange.as_slice());
        assert!(matches!(wrong, Err(WireError::Malformed(_))), "{wrong:?}");
        let mut longer = encode(&ToWorker::Welcome).unwrap();
        assert_eq!(decode::<ToWorker>(&longer), Ok(ToWorker::Welcome));
        longer.push(0);
        assert_eq!(
            decode::<ToWorker>(&longer),
            Err("1 bytes are left over".to_owned())
        );
    }

    #[test]
    fn no_bytes_make_the_reader_panic() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..if cfg!(miri) { 50 } else { 20_000 } {
            let len = random.usize(0..40);
            let mut bytes: Vec<u8> = (0..len).map(|_| random.u8(..)).collect();
            if let Some(high) = bytes.get_mut(1..4) {
                // Most lengths are small, so that the messages are looked at.
                high.fill(0);
            }
            drop(read::<FromWorker>(&mut bytes.as_slice()));
            drop(read::<ToWorker>(&mut bytes.as_slice()));
        }
    }

    #[test]
    fn a_message_of_many_elements_that_take_few_bytes_is_an_error() {
        let welcomes = |count| encode(&vec![ToWorker::Welcome; count]).unwrap();
        assert!(decode_message::<Vec<ToWorker>>(&welcomes(10_000)).is_ok());
        let refused = decode_message::<Vec<ToWorker>>(&welcomes(100_000));
        let error = "more elements than a message may have";
        assert_eq!(refused, Err(error.to_owned()));
        let attempt = Attempt {
            job: JobId(0),
            chunk: 0,
            number: 0,
        };
        let held = vec![attempt; 100_000];
        let beat = encode(&FromWorker::Beat { held }).unwrap();
        assert_eq!(decode_message::<FromWorker>(&beat), Err(error.to_owned()));
    }

    /// Cannot be dropped.
    #[derive(Debug, Deserialize)]
    struct Sticky(#[expect(dead_code, reason = "it is only read")] u8);

    impl Drop for Sticky {
        fn drop(&mut self) {
            panic!("sticky");
        }
    }

    #[test]
    fn a_value_with_bytes_behind_it_that_panics_when_it_is_dropped_is_an_error() {
        let error = decode::<Sticky>(&[7, 0]).unwrap_err();
        assert_eq!(error, "it panicked: sticky");
    }
}
