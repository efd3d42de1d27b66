//! Messages that are longer than a NATS server takes, in pieces.

use crate::wire::{self, FRAME_BYTES_MAX, WireError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// A part of a message.
#[derive(Debug, Serialize, Deserialize)]
struct Piece<'a> {
    from: &'a str,
    /// Which of its sender's messages.
    frame: u64,
    place: u32,
    count: u32,
    #[serde(with = "serde_bytes")]
    bytes: &'a [u8],
}

/// A message as pieces.
pub(super) fn cut(from: &str, frame: u64, message: &[u8]) -> Vec<Vec<u8>> {
    let parts: Vec<&[u8]> = if message.is_empty() {
        vec![message]
    } else {
        message.chunks(PIECE_BYTES).collect()
    };
    let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    let piece = |(place, bytes)| {
        let piece = Piece {
            from,
            frame,
            place,
            count,
            bytes,
        };
        wire::encode(&piece).ok()
    };
    (0..).zip(parts).filter_map(piece).collect()
}

/// Messages of which pieces are missing.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    parts: HashMap<(String, u64), Parts>,
    /// The oldest first: messages whose pieces were lost are dropped at last.
    order: VecDeque<(String, u64)>,
}

type Parts = BTreeMap<u32, Vec<u8>>;

impl Pieces {
    /// Takes a piece; returns the sender, and the message if it was the last one.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(String, Option<Vec<u8>>), WireError> {
        let piece: Piece<'_> = wire::decode(bytes).map_err(WireError::Malformed)?;
        let whole = u64::from(piece.count) * PIECE_BYTES as u64;
        if whole > u64::from(FRAME_BYTES_MAX) + PIECE_BYTES as u64 {
            return Err(WireError::TooLarge { bytes: whole });
        }
        if piece.place >= piece.count || piece.bytes.len() > PIECE_BYTES {
            return Err(WireError::Malformed("a piece of no message".to_owned()));
        }
        if piece.count == 1 {
            return Ok((piece.from.to_owned(), Some(piece.bytes.to_vec())));
        }
        let key = (piece.from.to_owned(), piece.frame);
        if !self.parts.contains_key(&key) {
            self.order.push_back(key.clone());
            if self.order.len() > UNFINISHED_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.parts.remove(&oldest);
            }
        }
        let parts = self.parts.entry(key.clone()).or_default();
        parts.insert(piece.place, piece.bytes.to_vec());
        if parts.len() < piece.count as usize {
            return Ok((key.0, None));
        }
        let parts = self.parts.remove(&key).unwrap_or_default();
        self.order.retain(|other| *other != key);
        Ok((key.0, Some(parts.into_values().flatten().collect())))
    }
}

/// Half of what a server takes that is not configured otherwise.
const PIECE_BYTES: usize = 512 << 10;
const UNFINISHED_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_together_in_whatever_order_its_pieces_come() {
        for len in [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 5 * PIECE_BYTES / 2] {
            let message: Vec<u8> = (0..len).map(|i| u8::try_from(i % 251).unwrap()).collect();
            let cut = cut("a", 7, &message);
            let mut pieces = Pieces::default();
            let (last, first) = cut.split_first().unwrap();
            for piece in first.iter().rev() {
                for _ in 0..2 {
                    // Twice is once.
                    assert_eq!(pieces.take(piece), Ok(("a".to_owned(), None)));
                }
            }
            let whole = Ok(("a".to_owned(), Some(message)));
            assert_eq!(pieces.take(last), whole);
        }
    }

    #[test]
    fn senseless_pieces_are_errors() {
        let mut pieces = Pieces::default();
        let of = |place, count| {
            let (from, frame, bytes) = ("a", 1, [0; 3].as_slice());
            let piece = Piece {
                from,
                frame,
                place,
                count,
                bytes,
            };
            wire::encode(&piece).unwrap()
        };
        let refused = pieces.take(&of(0, 100_000));
        assert!(
            matches!(refused, Err(WireError::TooLarge { .. })),
            "{refused:?}"
        );
        for bytes in [of(1, 1), of(0, 0), vec![1, 2], Vec::new()] {
            let refused = pieces.take(&bytes);
            assert!(
                matches!(refused, Err(WireError::Malformed(_))),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn messages_that_never_come_together_do_not_pile_up() {
        let mut pieces = Pieces::default();
        let message = vec![0; PIECE_BYTES + 1];
        for frame in 0..200 {
            let taken = pieces.take(&cut("a", frame, &message)[0]);
            assert_eq!(taken, Ok(("a".to_owned(), None)));
        }
        assert_eq!(pieces.parts.len(), UNFINISHED_MAX);
        assert_eq!(pieces.order.len(), UNFINISHED_MAX);
    }
}
