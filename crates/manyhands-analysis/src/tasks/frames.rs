//! The annotated frames of one task, which refer to each other by address.
//!
//! Not here: when they are recorded (`recording/enabled/waits/frame_mark.rs` of the library).

use std::panic::Location;

/// The frames of one task, those polled later behind those polled before.
#[derive(Debug, Clone, Default)]
pub struct Frames {
    list: Vec<Frame>,
    /// Frames that were not kept.
    pub left_out: u32,
}

/// One frame of a task.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// Where its mark is.
    pub address: usize,
    /// Where that of the frame around it is, or 0.
    pub outer: usize,
    /// Its name.
    pub name: &'static str,
    /// Its line.
    pub at: &'static Location<'static>,
}

impl Frames {
    /// Adds a frame, and says whether it is kept; one of the same future takes the place of the earlier one.
    #[must_use]
    pub fn enter(&mut self, frame: Frame) -> bool {
        let mut list = self.list.iter_mut();
        if let Some(known) = list.find(|known| known.address == frame.address) {
            *known = frame;
        } else if self.list.len() < FRAMES_MAX {
            self.list.push(frame);
        } else {
            self.left_out += 1;
            return false;
        }
        true
    }

    /// Takes a frame out. Those inside it are then inside the one around it.
    #[inline]
    pub fn remove(&mut self, address: usize) {
        let Some(place) = self.list.iter().position(|frame| frame.address == address) else {
            return;
        };
        let outer = self.list.remove(place).outer;
        let inner = self.list.iter_mut().filter(|frame| frame.outer == address);
        inner.for_each(|frame| frame.outer = outer);
    }

    /// Forgets all frames but this one and those around it: in it is a call that blocks its thread. 0: all.
    #[inline]
    pub fn forget(&mut self, around: usize) {
        let kept = self.chain(around);
        self.list.clear();
        self.list.extend(kept);
        self.left_out = 0;
    }

    /// For a call in this frame that blocks its thread: it and those around it.
    #[must_use]
    pub fn around(&self, address: usize) -> Option<Box<Self>> {
        let (list, left_out) = (self.chain(address), 0);
        (!list.is_empty()).then(|| Box::new(Self { list, left_out }))
    }

    /// The frame at this address and those around it, the outermost first.
    pub(crate) fn chain(&self, address: usize) -> Vec<Frame> {
        let mut chain = Vec::new();
        let mut next = address;
        while let Some(frame) = self.list.iter().find(|frame| frame.address == next) {
            // Frames that share their future by a cell may be in each other.
            if chain.len() == self.list.len() {
                break;
            }
            chain.push(*frame);
            next = frame.outer;
        }
        chain.reverse();
        chain
    }

    /// As [`chain`](Self::chain), of the frame that was polled last.
    pub(crate) fn last_chain(&self) -> Vec<Frame> {
        let last = self.list.last();
        last.map_or_else(Vec::new, |frame| self.chain(frame.address))
    }

    /// The frames with no other inside them.
    pub(crate) fn innermost(&self) -> impl Iterator<Item = &Frame> {
        let is_outer = |address| self.list.iter().any(|frame| frame.outer == address);
        let frames = self.list.iter();
        frames.filter(move |frame| !is_outer(frame.address))
    }

    /// All frames, each behind the one around it, with the place of that one.
    pub(crate) fn in_order(&self) -> Vec<(Frame, Option<usize>)> {
        let mut ordered: Vec<(Frame, Option<usize>)> = Vec::with_capacity(self.list.len());
        for frame in &self.list {
            let mut outer = None;
            for frame in self.chain(frame.address) {
                let place = Self::place_in(&ordered, frame.address).unwrap_or_else(|| {
                    ordered.push((frame, outer));
                    ordered.len() - 1
                });
                outer = Some(place);
            }
        }
        ordered
    }

    /// The place of a frame in [`in_order`](Self::in_order).
    pub(crate) fn place_in(ordered: &[(Frame, Option<usize>)], address: usize) -> Option<usize> {
        let is_same = |(frame, _): &(Frame, _)| frame.address == address;
        ordered.iter().position(is_same)
    }
}

/// Frames of one task that are kept.
const FRAMES_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::{FRAMES_MAX, Frame, Frames};
    use std::panic::Location;

    fn frame(address: usize, outer: usize) -> Frame {
        Frame {
            address,
            outer,
            name: "",
            at: Location::caller(),
        }
    }

    /// With these frames, each given by its address and that of the one around it.
    fn frames(of: &[(usize, usize)]) -> Frames {
        let mut frames = Frames::default();
        for (address, outer) in of {
            assert!(frames.enter(frame(*address, *outer)));
        }
        frames
    }

    fn addresses(chain: &[Frame]) -> Vec<usize> {
        chain.iter().map(|frame| frame.address).collect()
    }

    fn order(frames: &Frames) -> Vec<(usize, Option<usize>)> {
        let ordered = frames.in_order().into_iter();
        ordered
            .map(|(frame, outer)| (frame.address, outer))
            .collect()
    }

    #[test]
    fn each_frame_stands_behind_the_one_around_it_even_if_it_was_polled_before_it() {
        let mut frames = frames(&[(1, 0), (2, 1), (3, 1), (4, 0)]);
        assert_eq!(
            order(&frames),
            [(1, None), (2, Some(0)), (3, Some(0)), (4, None)]
        );
        assert!(frames.enter(frame(2, 4)), "polled again inside another one");
        assert_eq!(
            order(&frames),
            [(1, None), (4, None), (2, Some(1)), (3, Some(0))]
        );
        assert_eq!(addresses(&frames.chain(2)), [4, 2]);
        assert_eq!(addresses(&frames.last_chain()), [4]);
    }

    #[test]
    fn a_frame_that_is_taken_out_leaves_those_inside_it_to_the_one_around_it() {
        let mut frames = frames(&[(1, 0), (2, 1), (3, 2)]);
        frames.remove(2);
        assert_eq!(addresses(&frames.chain(3)), [1, 3]);
        frames.remove(9);
        frames.remove(1);
        assert_eq!(addresses(&frames.chain(3)), [3]);
    }

    #[test]
    fn frames_around_a_call_that_blocks_stay_until_they_are_taken_out() {
        let outside = frames(&[(1, 0), (7, 0), (2, 1)]);
        let mut inside = outside.around(2).unwrap();
        assert!(inside.enter(frame(3, 2)));
        inside.forget(2);
        assert_eq!(addresses(&inside.chain(2)), [1, 2]);
        assert!(inside.chain(3).is_empty());
        inside.remove(1);
        assert!(inside.enter(frame(3, 2)));
        inside.forget(2);
        assert_eq!(addresses(&inside.chain(2)), [2]);
        assert!(inside.chain(3).is_empty() && outside.around(0).is_none());
    }

    #[test]
    fn frames_beyond_the_limit_are_counted_and_a_ring_of_them_ends() {
        let mut frames = Frames::default();
        for address in 1..=FRAMES_MAX + 2 {
            let is_kept = frames.enter(frame(address, address - 1));
            assert_eq!(is_kept, address <= FRAMES_MAX);
        }
        assert_eq!((frames.list.len(), frames.left_out), (FRAMES_MAX, 2));
        frames.forget(0);
        assert_eq!((frames.list.len(), frames.left_out), (0, 0));
        assert!(frames.enter(frame(1, 2)) && frames.enter(frame(2, 1)));
        assert_eq!(frames.chain(1).len(), 2);
        assert_eq!(frames.in_order().len(), 2);
    }
}
