//! A vector of items whose positions are not known before. Each runner gathers its items in one buffer, and the
//! longest buffer becomes the vector: the others' items are moved between its own.
//!
//! The first runner's buffer begins with room for all items if their number has a limit. So no more memory is touched than
//! the vector and the other buffers need: pages that are new to the process cost more than the items in them.
//!
//! Unsafe: moves items within a vector and between vectors.

use crate::engine::Consumer;
use crate::parallel::append::{ROOM_BYTES_MAX, append, give_back_room};
use crate::parallel::map::check_written;
use crate::parallel::one_or_many::OneOrMany;
use crate::parallel::runs::Runs;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, get_mut, into_inner, lock};
use std::ops::Range;
use std::ptr;

/// Gathers items in order.
pub(crate) struct OrderedCollect<T> {
    /// For how many items the buffer of the first runner has room, whose items are not moved.
    room: AtomicUsize,
    buffers: Mutex<OneOrMany<Buffer<T>>>,
}

/// The items that a runner has gathered.
pub(crate) struct Buffer<T> {
    items: Vec<T>,
    runs: Runs<u64>,
    /// The position after the last run.
    next: u64,
}

impl<T> OrderedCollect<T> {
    /// There are this many positions, if that is known.
    pub(crate) fn new(positions: Option<u64>) -> Self {
        let positions = positions.and_then(|count| usize::try_from(count).ok());
        let room = ROOM_BYTES_MAX / size_of::<T>().max(1);
        Self {
            room: AtomicUsize::new(room.min(positions.unwrap_or(0))),
            buffers: Mutex::new(OneOrMany::new()),
        }
    }

    /// All items, in the order of their positions.
    pub(crate) fn into_vec(self) -> Vec<T> {
        let mut items = match into_inner(self.buffers).into_one() {
            Ok(buffer) if buffer.is_in_order() => buffer.items,
            Ok(buffer) => ordered_collect(vec![buffer]),
            Err(buffers) => ordered_collect(buffers.into_vec()),
        };
        give_back_room(&mut items);
        items
    }
}

impl<T: Send> Consumer<T> for OrderedCollect<T> {
    type Runner = Buffer<T>;

    #[inline]
    fn start(&self) -> Buffer<T> {
        // Relaxed, both: a hint; at worst two runners take the room.
        let room = self.room.load(Ordering::Relaxed);
        // Relaxed: as above.
        self.room.store(0, Ordering::Relaxed);
        Buffer::new(room)
    }

    #[inline]
    fn consume<I: Iterator<Item = T>>(
        &self,
        buffer: &mut Buffer<T>,
        positions: Range<u64>,
        items: I,
    ) {
        append(buffer.block(&positions), items);
    }

    fn finish(&self, buffer: Buffer<T>) {
        lock(&self.buffers).push(buffer);
    }

    #[inline]
    fn finish_only(&mut self, buffer: Buffer<T>) {
        get_mut(&mut self.buffers).push(buffer);
    }
}

impl<T> Buffer<T> {
    fn new(room: usize) -> Self {
        Self {
            items: Vec::with_capacity(room),
            runs: Runs::default(),
            next: 0,
        }
    }

    /// Where the items of the block at `positions` go.
    #[inline]
    pub(crate) fn block(&mut self, positions: &Range<u64>) -> &mut Vec<T> {
        if self.next != positions.start {
            self.runs.begin(positions.start, self.items.len());
        }
        self.next = positions.end;
        &mut self.items
    }

    /// Whether its runs follow each other in the order of their positions.
    fn is_in_order(&self) -> bool {
        self.runs.starts().is_sorted_by_key(|run| run.position)
    }

    /// Its items that are to be moved, by the positions of their runs; `base` is where they begin.
    fn pieces(&self, base: *const T) -> impl Iterator<Item = (u64, *const [T])> {
        let ranges = self.runs.ranges(self.items.len());
        ranges.map(move |(position, range)| {
            let first = base.wrapping_add(range.start);
            (position, ptr::slice_from_raw_parts(first, range.len()))
        })
    }
}

/// All items of the buffers, in the order of their positions.
#[cold]
fn ordered_collect<T>(mut buffers: Vec<Buffer<T>>) -> Vec<T> {
    let in_order = (0..buffers.len()).filter(|&number| buffers[number].is_in_order());
    let longest = in_order.max_by_key(|&number| buffers[number].items.len());
    let mut whole = longest.map_or_else(|| Buffer::new(0), |number| buffers.swap_remove(number));
    let more: usize = buffers.iter().map(|buffer| buffer.items.len()).sum();
    let len = whole.items.len() + more;
    whole.items.reserve_exact(more);
    let base = whole.items.as_mut_ptr();
    let mut pieces: Vec<_> = whole.pieces(base).collect();
    for buffer in &buffers {
        pieces.extend(buffer.pieces(buffer.items.as_ptr()));
    }
    check_written(pieces.iter().map(|(_, piece)| piece.len()).sum(), len);
    pieces.sort_unstable_by_key(|(position, _)| *position);
    let mut items = whole.items;
    let others = buffers.iter_mut().map(|buffer| &mut buffer.items);
    for vector in others.chain([&mut items]) {
        // SAFETY: none of its items is the vector's any more; they are moved to the whole below.
        unsafe { vector.set_len(0) };
    }
    let mut end = len;
    for (_, piece) in pieces.into_iter().rev() {
        end -= piece.len();
        let (from, to) = (piece.cast::<T>(), base.wrapping_add(end));
        // SAFETY: there is room for `len` items. The last pieces are moved first, and those of the whole itself are in
        // order, so that none lies behind its destination, and none is overwritten before.
        unsafe { ptr::copy(from, to, piece.len()) };
    }
    debug_assert_eq!(end, 0, "the pieces fill the vector");
    // SAFETY: all pieces together have `len` items, as was checked, and fill the vector from 0 on.
    unsafe { items.set_len(len) };
    items
}

#[cfg(test)]
mod tests {
    use super::{Buffer, OrderedCollect, ordered_collect};
    use crate::engine::consumer::Consumer;
    use crate::engine::ending::assert_ends_process;
    use crate::parallel::runs::Runs;
    use std::ops::Range;

    /// The numbers as texts, each given by the runner that has its block; some blocks give nothing.
    fn collected(runners: &[&[Range<u64>]]) -> Vec<String> {
        let collecting = OrderedCollect::new(None);
        for blocks in runners {
            let mut buffer = collecting.start();
            for block in *blocks {
                let kept = block.clone().filter(|number| number % 10 != 9);
                collecting.consume(&mut buffer, block.clone(), kept.map(|n| n.to_string()));
            }
            collecting.finish(buffer);
        }
        collecting.into_vec()
    }

    fn check(runners: &[&[Range<u64>]], len: u64) {
        let kept = (0..len).filter(|number| number % 10 != 9);
        let expected: Vec<_> = kept.map(|number| number.to_string()).collect();
        assert_eq!(collected(runners), expected, "{runners:?}");
    }

    #[test]
    fn items_are_in_order_for_every_division_among_runners() {
        check(&[], 0);
        check(&[&[0..5, 5..9, 9..10, 10..30]], 30);
        check(&[&[0..20, 60..80], &[20..60, 80..90]], 90);
        check(&[&[20..60, 80..90], &[0..10, 10..20, 60..80]], 90);
    }

    #[test]
    fn a_runner_may_take_over_what_lies_before_its_own() {
        check(&[&[20..40, 0..20]], 40);
        check(&[&[40..90, 0..10], &[20..40, 10..20]], 90);
        check(&[&[40..90, 0..10], &[10..30, 30..40]], 90);
        check(
            &[&[29..30, 40..41], &[30..40, 19..20], &[0..19, 20..29]],
            41,
        );
    }

    #[test]
    fn the_first_runner_has_room_for_all_and_gives_back_what_it_does_not_need() {
        for (len, capacities) in [(1_000, 1_000..=1_000), (10, 10..=40)] {
            for runners in [1, 2] {
                let collecting = OrderedCollect::new(Some(1_000));
                let mut buffers = [collecting.start(), collecting.start()];
                assert_eq!(buffers.each_ref().map(|it| it.items.capacity()), [1_000, 0]);
                collecting.consume(&mut buffers[0], 0..1_000, 0..len);
                for buffer in buffers.into_iter().take(runners) {
                    collecting.finish(buffer);
                }
                let items = collecting.into_vec();
                let why = format!("{runners} runners: {} for {len}", items.capacity());
                assert!(capacities.contains(&items.capacity()), "{why}");
                assert!(items.into_iter().eq(0..len));
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "starts a process")]
    fn runs_with_more_items_than_their_buffer_end_the_process() {
        assert_ends_process(
            "parallel::ordered_collect::tests::runs_with_more_items_than_their_buffer_end_the_process",
            "memory that it has not written",
            || {
                let mut runs = Runs::default();
                runs.begin(7, 3);
                let buffer = Buffer {
                    items: vec![1, 2],
                    runs,
                    next: 9,
                };
                assert_eq!(ordered_collect(vec![buffer]).len(), 2);
            },
        );
    }
}
