//! JSON text sequences (RFC 7464): each message is a record separator, JSON and a line feed.
//!
//! The program that is measured may print what it likes on the same stream; what lies outside messages is passed on.

use serde::{Serialize, de::DeserializeOwned};
use std::io::{self, BufRead, Write};

/// Writes one message in one piece and flushes it.
pub(crate) fn write(output: &mut dyn Write, message: &impl Serialize) -> io::Result<()> {
    let mut bytes = vec![RECORD_SEPARATOR];
    serde_json::to_writer(&mut bytes, message)?;
    bytes.push(LINE_FEED);
    output.write_all(&bytes)?;
    output.flush()
}

/// What comes next.
#[derive(Debug, PartialEq)]
pub(crate) enum Received<T> {
    /// A message.
    Message(T),
    /// Something that began like a message and was none.
    Nonsense(String),
    /// The end of the stream, also if it came within a message.
    End,
}

/// Reads up to the end of the next message; what comes before it goes to `noise`.
pub(crate) fn read<T: DeserializeOwned>(
    input: &mut impl BufRead,
    noise: &mut dyn Write,
) -> io::Result<Received<T>> {
    if !skip_to_message(input, noise)? {
        return Ok(Received::End);
    }
    let mut text = Vec::new();
    let mut limited = io::Read::take(&mut *input, MESSAGE_BYTES_MAX);
    limited.read_until(LINE_FEED, &mut text)?;
    let is_cut = text.last() != Some(&LINE_FEED);
    if is_cut && limited.limit() > 0 {
        return Ok(Received::End);
    }
    Ok(serde_json::from_slice(&text).map_or_else(|_| Received::nonsense(&text), Received::Message))
}

/// Passes on what comes before the next record separator and reads that; `false` at the end.
fn skip_to_message(input: &mut impl BufRead, noise: &mut dyn Write) -> io::Result<bool> {
    loop {
        let bytes = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if bytes.is_empty() {
            return Ok(false);
        }
        let separator = bytes.iter().position(|byte| *byte == RECORD_SEPARATOR);
        let before = separator.unwrap_or(bytes.len());
        // Nobody to tell if the noise cannot be passed on.
        let _ = noise
            .write_all(&bytes[..before])
            .and_then(|()| noise.flush());
        input.consume(before + usize::from(separator.is_some()));
        if separator.is_some() {
            return Ok(true);
        }
    }
}

impl<T> Received<T> {
    fn nonsense(text: &[u8]) -> Self {
        let shown = &text[..text.len().min(SHOWN_BYTES_MAX)];
        Self::Nonsense(String::from_utf8_lossy(shown).trim_end().to_owned())
    }
}

const RECORD_SEPARATOR: u8 = 0x1e;
const LINE_FEED: u8 = b'\n';
/// A block of a hundred arms has some 40 kB.
const MESSAGE_BYTES_MAX: u64 = 1 << 20;
/// What is shown of nonsense.
const SHOWN_BYTES_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn all(stream: &[u8]) -> (Vec<Received<u32>>, String) {
        // A buffer of three bytes shows every way a stream can be cut.
        let mut input = io::BufReader::with_capacity(3, stream);
        let mut noise = Vec::new();
        let mut received = Vec::new();
        loop {
            received.push(read(&mut input, &mut noise).unwrap());
            if received.last() == Some(&Received::End) {
                received.pop();
                return (received, String::from_utf8(noise).unwrap());
            }
        }
    }

    #[test]
    fn what_is_written_is_read_and_the_rest_is_passed_on() {
        let mut stream = b"hello\n".to_vec();
        write(&mut stream, &1).unwrap();
        stream.extend(b"no line end");
        write(&mut stream, &23).unwrap();
        stream.extend(b"bye");
        let (received, noise) = all(&stream);
        assert_eq!(received, [Received::Message(1), Received::Message(23)]);
        assert_eq!(noise, "hello\nno line endbye");
    }

    #[test]
    fn what_is_no_message_is_called_nonsense_and_the_next_one_is_read() {
        let (received, _) = all(b"\x1e\"x\"\n\x1e7\n");
        let nonsense = Received::Nonsense("\"x\"".to_owned());
        assert_eq!(received, [nonsense, Received::Message(7)]);
    }

    #[test]
    fn a_message_cut_by_the_end_is_the_end() {
        assert_eq!(all(b"\x1e12").0, []);
    }

    #[test]
    fn a_message_without_end_is_nonsense() {
        let mut stream = vec![RECORD_SEPARATOR];
        stream.resize(3 << 20, b'1');
        assert!(matches!(all(&stream).0[..], [Received::Nonsense(_)]));
    }
}
