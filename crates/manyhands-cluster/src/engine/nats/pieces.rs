//! Messages that are longer than a NATS server takes, in pieces.

use crate::wire::{self, FRAME_BYTES_MAX, WireError};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

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

/// Messages of which pieces are missing. What they announce to be is never more than [`UNFINISHED_BYTES_MAX`].
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// The oldest first.
    unfinished: Vec<Unfinished>,
}

#[derive(Debug)]
struct Unfinished {
    from: String,
    frame: u64,
    count: u32,
    parts: BTreeMap<u32, Vec<u8>>,
    /// When the last piece came.
    heard: Duration,
}

impl Unfinished {
    /// How long it may become.
    fn bytes(&self) -> u64 {
        whole(self.count)
    }
}

impl Pieces {
    /// Takes a piece; returns the sender, and the message if it was the last one. `now` never goes back.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        now: Duration,
    ) -> Result<(String, Option<Vec<u8>>), WireError> {
        let piece: Piece<'_> = wire::decode(bytes).map_err(WireError::Malformed)?;
        if whole(piece.count) > MESSAGE_BYTES_MAX {
            let bytes = whole(piece.count);
            return Err(WireError::TooLarge { bytes });
        }
        let no_piece = || WireError::Malformed("a piece of no message".to_owned());
        if piece.place >= piece.count || bytes.len() > PIECE_WHOLE_BYTES_MAX {
            return Err(no_piece());
        }
        if piece.count == 1 {
            return Ok((piece.from.to_owned(), Some(piece.bytes.to_vec())));
        }
        let at = self.place_of(&piece, now)?;
        let one = self.unfinished.get_mut(at);
        let one = one.filter(|one| one.count == piece.count);
        let one = one.ok_or_else(no_piece)?;
        one.heard = now;
        // What has come stays: another one of this place is the same, or a lie.
        let part = one.parts.entry(piece.place);
        part.or_insert_with(|| piece.bytes.to_vec());
        if one.parts.len() < one.count as usize {
            return Ok((one.from.clone(), None));
        }
        let one = self.unfinished.remove(at);
        Ok((one.from, Some(one.parts.into_values().flatten().collect())))
    }

    /// Where the message of a piece is; makes room for a new one.
    fn place_of(&mut self, piece: &Piece<'_>, now: Duration) -> Result<usize, WireError> {
        let is_of = |one: &Unfinished| one.frame == piece.frame && one.from == piece.from;
        if let Some(at) = self.unfinished.iter().position(is_of) {
            return Ok(at);
        }
        let new = whole(piece.count);
        // What its own sender has not finished gives way.
        while new + self.bytes(|one| one.from == piece.from) > MESSAGE_BYTES_MAX {
            let mut unfinished = self.unfinished.iter();
            let Some(oldest) = unfinished.position(|one| one.from == piece.from) else {
                break;
            };
            self.unfinished.remove(oldest);
        }
        // That of others does if no more of it comes.
        while new + self.bytes(|_| true) > UNFINISHED_BYTES_MAX {
            let is_quiet = |one: &Unfinished| now.saturating_sub(one.heard) > QUIET_MAX;
            let Some(at) = self.unfinished.iter().position(is_quiet) else {
                return Err(WireError::NoRoom { bytes: new });
            };
            self.unfinished.remove(at);
        }
        self.unfinished.push(Unfinished {
            from: piece.from.to_owned(),
            frame: piece.frame,
            count: piece.count,
            parts: BTreeMap::new(),
            heard: now,
        });
        Ok(self.unfinished.len() - 1)
    }

    fn bytes(&self, which: impl Fn(&Unfinished) -> bool) -> u64 {
        let unfinished = self.unfinished.iter();
        unfinished
            .filter(|one| which(one))
            .map(Unfinished::bytes)
            .sum()
    }
}

/// How long a message of this many pieces may be.
fn whole(count: u32) -> u64 {
    u64::from(count) * PIECE_BYTES as u64
}

/// Half of what a server takes that is not configured otherwise.
const PIECE_BYTES: usize = 512 << 10;
/// What stands around a piece's bytes: its numbers, and its sender's name.
const AROUND_BYTES_MAX: usize = 1024;
/// A piece with what stands around its bytes.
pub(super) const PIECE_WHOLE_BYTES_MAX: usize = PIECE_BYTES + AROUND_BYTES_MAX;
/// The longest message, in whole pieces. All that one sender has not finished is no longer either.
const MESSAGE_BYTES_MAX: u64 = FRAME_BYTES_MAX as u64 + PIECE_BYTES as u64;
const UNFINISHED_BYTES_MAX: u64 = 8 * MESSAGE_BYTES_MAX;
/// A message of which nothing has come for so long may be dropped for another sender's.
const QUIET_MAX: Duration = Duration::from_secs(10);

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
                    assert_eq!(pieces.take(piece, NOW), Ok(("a".to_owned(), None)));
                }
            }
            let whole = Ok(("a".to_owned(), Some(message)));
            assert_eq!(pieces.take(last, NOW), whole);
        }
    }

    #[test]
    fn senseless_pieces_are_errors() {
        let mut pieces = Pieces::default();
        let of = |place, count| piece("a", 1, (place, count), &[0; 3]);
        let refused = pieces.take(&of(0, 100_000), NOW);
        assert!(
            matches!(refused, Err(WireError::TooLarge { .. })),
            "{refused:?}"
        );
        for bytes in [of(1, 1), of(0, 0), vec![1, 2], Vec::new()] {
            let refused = pieces.take(&bytes, NOW);
            assert!(
                matches!(refused, Err(WireError::Malformed(_))),
                "{refused:?}"
            );
        }
    }

    fn piece(from: &str, frame: u64, (place, count): (u32, u32), bytes: &[u8]) -> Vec<u8> {
        let piece = Piece {
            from,
            frame,
            place,
            count,
            bytes,
        };
        wire::encode(&piece).unwrap()
    }

    /// One byte of a message that claims to have this many pieces.
    fn begin(from: &str, frame: u64, count: u32) -> Vec<u8> {
        piece(from, frame, (0, count), &[0])
    }

    /// The pieces of the longest message.
    const LONGEST: u32 = FRAME_BYTES_MAX / (512 << 10);

    #[test]
    fn a_sender_pushes_out_its_own_messages_only() {
        let mut pieces = Pieces::default();
        let message = vec![7; PIECE_BYTES + 1];
        let honest = cut("honest", 1, &message);
        assert_eq!(
            pieces.take(&honest[0], NOW),
            Ok(("honest".to_owned(), None))
        );
        for frame in 0..2_000 {
            // Short ones and long ones, of which the last stay.
            let count = if frame % 2 == 0 { 2 } else { LONGEST };
            let taken = pieces.take(&begin("hostile", frame, count), NOW);
            assert_eq!(taken, Ok(("hostile".to_owned(), None)));
            assert!(pieces.bytes(|one| one.from == "hostile") <= MESSAGE_BYTES_MAX);
        }
        let whole = Ok(("honest".to_owned(), Some(message)));
        assert_eq!(pieces.take(&honest[1], NOW), whole);
    }

    #[test]
    fn many_names_together_have_as_much_as_all_may_have_and_push_out_nobody() {
        let mut pieces = Pieces::default();
        let message = vec![7; PIECE_BYTES + 1];
        let honest = cut("honest", 1, &message);
        assert_eq!(
            pieces.take(&honest[0], NOW),
            Ok(("honest".to_owned(), None))
        );
        let mut refused = 0;
        for name in 0..100 {
            let taken = pieces.take(&begin(&name.to_string(), 1, LONGEST), NOW);
            refused += usize::from(matches!(taken, Err(WireError::NoRoom { .. })));
            assert!(pieces.bytes(|_| true) <= UNFINISHED_BYTES_MAX);
        }
        assert_eq!(refused, 92, "eight of the longest have room");
        let whole = Ok(("honest".to_owned(), Some(message)));
        assert_eq!(pieces.take(&honest[1], NOW), whole);
        // Of the names nothing more comes: they give way.
        let later = NOW + 2 * QUIET_MAX;
        let taken = pieces.take(&begin("honest", 2, LONGEST), later);
        assert_eq!(taken, Ok(("honest".to_owned(), None)));
        assert!(pieces.bytes(|_| true) <= UNFINISHED_BYTES_MAX);
    }

    #[test]
    fn a_message_has_no_more_pieces_than_it_began_with() {
        let mut pieces = Pieces::default();
        assert!(pieces.take(&begin("a", 1, 2), NOW).is_ok());
        let refused = pieces.take(&begin("a", 1, LONGEST), NOW);
        assert!(
            matches!(refused, Err(WireError::Malformed(_))),
            "{refused:?}"
        );
        let name = "a".repeat(PIECE_BYTES + AROUND_BYTES_MAX);
        let refused = pieces.take(&begin(&name, 1, 2), NOW);
        assert!(
            matches!(refused, Err(WireError::Malformed(_))),
            "{refused:?}"
        );
    }

    #[test]
    fn a_piece_that_has_come_is_not_replaced_by_another_one_of_its_place() {
        let message = vec![7; 2 * PIECE_BYTES];
        let cut = cut("a", 1, &message);
        let mut pieces = Pieces::default();
        let nothing = Ok(("a".to_owned(), None));
        for part in [&cut[0], &begin("a", 1, 2), &piece("a", 1, (0, 2), &[])] {
            assert_eq!(pieces.take(part, NOW), nothing);
        }
        assert_eq!(
            pieces.take(&cut[1], NOW),
            Ok(("a".to_owned(), Some(message)))
        );
    }

    const NOW: Duration = Duration::from_secs(60);
}
