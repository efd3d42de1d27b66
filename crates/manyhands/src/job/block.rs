//! Memory for small cells that one thread allocates and another frees, millions of times a second.
//!
//! Blocks of some sizes, from a quarter of a cache line to two of them, move between threads in magazines of
//! one size. A thread allocates from its own magazine and frees into it. Once in [`MAGAZINE_LEN`] operations it
//! exchanges a full or an empty one at the depot, which all threads share. A magazine lists addresses, so that
//! taking a block does not touch it, and a later block can be prefetched.
//!
//! Not a general allocator: a few sizes; blocks are kept for reuse and never returned to the system.
//!
//! After Bonwick and Adams, "Magazines and Vmem", USENIX 2001.
//!
//! # Threads
//! Each thread has a magazine of each size; locks guard the depots.
//!
//! Unsafe: hands out raw memory.

use crate::job::OnDrop;
use crate::sync::{Mutex, lock_or_end, prefetch_for_writing};
use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::NonNull;

/// Sizes of blocks. Above a cache line each multiple of a word: most futures that wait are that large, a program may
/// have millions of them, and the system's allocator would add 8 or 16 bytes to each.
const SIZES: [usize; 11] = [16, 32, 64, 72, 80, 88, 96, 104, 112, 120, 128];

/// The alignment of blocks of a size: blocks follow each other.
const fn alignment_of(size: usize) -> usize {
    1 << size.trailing_zeros()
}

/// Whether freed blocks are used again. A block that one schedule of the controlled scheduler freed must not be used by
/// another one, and a leak must show. A sanitizer and Miri do not notice a use after free once another cell lives in the
/// block. The unit tests below use blocks under Miri, too.
const REUSES: bool = cfg!(all(not(shuttle), any(test, not(any(sanitized, miri)))));

/// An index into [`SIZES`].
type Class = usize;

/// The smallest blocks that a `T` fits in, if any.
const fn class_of<T>() -> Option<Class> {
    if !REUSES {
        return None;
    }
    let mut class = 0;
    while class < SIZES.len() {
        if size_of::<T>() <= SIZES[class] && align_of::<T>() <= alignment_of(SIZES[class]) {
            return Some(class);
        }
        class += 1;
    }
    None
}

/// Moves `value` to the heap: into a block if it fits, else into a box.
pub(crate) fn allocate<T>(value: T) -> NonNull<T> {
    let Some(class) = class_of::<T>() else {
        return NonNull::from(Box::leak(Box::new(value)));
    };
    let place = take_block(class).cast::<T>();
    // SAFETY: a block is large and aligned enough for `T`, and no other thread has it.
    unsafe { place.write(value) };
    place
}

/// Moves the value out and frees its memory.
///
/// # Safety
/// `place` came from [`allocate`], and is not used again.
pub(crate) unsafe fn free<T>(place: NonNull<T>) -> T {
    let Some(class) = class_of::<T>() else {
        // SAFETY: leaked from a box by `allocate`.
        return *unsafe { Box::from_raw(place.as_ptr()) };
    };
    // SAFETY: written by `allocate`, and not used again.
    let value = unsafe { place.read() };
    give_block(class, place.cast());
    value
}

/// Drops the value where it is and frees its memory, also when the drop panics. Cheaper than [`free`],
/// which copies all of it.
///
/// # Safety
/// `place` came from [`allocate`], and is not used again.
pub(crate) unsafe fn dispose<T>(place: NonNull<T>) {
    let Some(class) = class_of::<T>() else {
        // SAFETY: leaked from a box by `allocate`.
        drop(unsafe { Box::from_raw(place.as_ptr()) });
        return;
    };
    let _given = OnDrop(|| give_block(class, place.cast()));
    // SAFETY: written by `allocate`, and not used again.
    unsafe { place.drop_in_place() };
}

/// Addresses of free blocks of one size.
struct Magazine {
    len: usize,
    blocks: [NonNull<u8>; MAGAZINE_LEN],
}

// SAFETY: the pointers forbid it; a free block belongs to the thread that has its magazine.
unsafe impl Send for Magazine {}

/// A thread's magazines, by class; they go to the depots when the thread ends.
struct Own([Cell<Option<Box<Magazine>>>; SIZES.len()]);

crate::sync::thread_local! {
    static OWN: Own = const { Own([const { Cell::new(None) }; SIZES.len()]) };
}

/// Magazines that no thread has, by class.
static DEPOTS: [Mutex<Depot>; SIZES.len()] = [const { Mutex::new(Depot::EMPTY) }; SIZES.len()];

#[expect(
    clippy::vec_box,
    reason = "a magazine is moved by its address, not by its kilobyte"
)]
struct Depot {
    /// Each has at least one block.
    full: Vec<Box<Magazine>>,
    empty: Vec<Box<Magazine>>,
}

impl Depot {
    const EMPTY: Self = Self {
        full: Vec::new(),
        empty: Vec::new(),
    };
}

fn take_block(class: Class) -> NonNull<u8> {
    let mut magazine = match OWN.try_with(|own| own.0[class].take()).ok().flatten() {
        Some(magazine) if magazine.len > 0 => magazine,
        empty => exchange_for_full(class, empty),
    };
    magazine.len -= 1;
    let block = magazine.blocks[magazine.len];
    if let Some(ahead) = magazine.len.checked_sub(FETCHED_AHEAD) {
        prefetch_for_writing(magazine.blocks[ahead].as_ptr());
    }
    keep(class, magazine);
    block
}

fn give_block(class: Class, block: NonNull<u8>) {
    let mut magazine = match OWN.try_with(|own| own.0[class].take()).ok().flatten() {
        Some(magazine) if magazine.len < MAGAZINE_LEN => magazine,
        full => exchange_for_empty(class, full),
    };
    magazine.blocks[magazine.len] = block;
    magazine.len += 1;
    keep(class, magazine);
}

/// Stores the magazine as this thread's own; a thread that is ending leaves it to the depot.
fn keep(class: Class, magazine: Box<Magazine>) {
    let mut magazine = Some(magazine);
    let _ = OWN.try_with(|own| own.0[class].set(magazine.take()));
    if let Some(magazine) = magazine {
        put_away(class, magazine);
    }
}

fn put_away(class: Class, magazine: Box<Magazine>) {
    let mut depot = lock_or_end(&DEPOTS[class]);
    if magazine.len == 0 {
        depot.empty.push(magazine);
    } else {
        depot.full.push(magazine);
    }
}

#[cold]
fn exchange_for_full(class: Class, empty: Option<Box<Magazine>>) -> Box<Magazine> {
    let mut depot = lock_or_end(&DEPOTS[class]);
    if let Some(full) = depot.full.pop() {
        depot.empty.extend(empty);
        return full;
    }
    let unused = empty.or_else(|| depot.empty.pop());
    drop(depot);
    let mut magazine = unused.unwrap_or_else(new_magazine);
    fill(class, &mut magazine);
    magazine
}

#[cold]
fn exchange_for_empty(class: Class, full: Option<Box<Magazine>>) -> Box<Magazine> {
    let mut depot = lock_or_end(&DEPOTS[class]);
    depot.full.extend(full);
    depot.empty.pop().unwrap_or_else(new_magazine)
}

fn new_magazine() -> Box<Magazine> {
    Box::new(Magazine {
        len: 0,
        blocks: [NonNull::dangling(); MAGAZINE_LEN],
    })
}

/// Fills an empty magazine with new blocks, which follow each other in memory.
fn fill(class: Class, magazine: &mut Magazine) {
    let size = SIZES[class];
    let layout = Layout::from_size_align(size * MAGAZINE_LEN, alignment_of(size))
        .expect("a small power of two");
    // SAFETY: the layout has a size.
    let start = unsafe { std::alloc::alloc(layout) };
    let Some(start) = NonNull::new(start) else {
        std::alloc::handle_alloc_error(layout)
    };
    // Blocks are taken from the back, so the lowest address comes last.
    for (index, block) in magazine.blocks.iter_mut().rev().enumerate() {
        // SAFETY: within the allocation of MAGAZINE_LEN blocks.
        *block = unsafe { start.add(index * size) };
    }
    magazine.len = MAGAZINE_LEN;
}

impl Drop for Own {
    fn drop(&mut self) {
        for (class, own) in self.0.iter().enumerate() {
            if let Some(magazine) = own.take() {
                put_away(class, magazine);
            }
        }
    }
}

/// Blocks in a magazine: the cost of a lock is spread over this number of operations.
const MAGAZINE_LEN: usize = 128;
/// How many allocations ahead a block is prefetched: so that its line has come from another core by then.
const FETCHED_AHEAD: usize = 4;

#[cfg(test)]
mod tests {
    use super::{MAGAZINE_LEN, SIZES, allocate, class_of, free};
    use std::collections::HashSet;

    #[test]
    fn values_survive_the_way_to_another_thread_and_back() {
        check_way_and_back::<1>();
        // A size that is no multiple of its neighbours' alignment.
        check_way_and_back::<13>();
    }

    fn check_way_and_back<const WORDS: usize>() {
        let many = MAGAZINE_LEN * 5 / 2;
        for _ in 0..3 {
            let places: Vec<_> = (0..many)
                .map(|value| allocate([value as u64; WORDS]).as_ptr())
                .map(<*mut _>::expose_provenance)
                .collect();
            assert_eq!(
                places.iter().collect::<HashSet<_>>().len(),
                many,
                "no block is given twice"
            );
            std::thread::spawn(move || {
                for (value, place) in places.into_iter().enumerate() {
                    let place = std::ptr::with_exposed_provenance_mut::<[u64; WORDS]>(place);
                    // SAFETY: from `allocate` above, once.
                    let found = unsafe { free(std::ptr::NonNull::new(place).unwrap()) };
                    assert_eq!(found, [value as u64; WORDS]);
                }
            })
            .join()
            .unwrap();
        }
    }

    #[test]
    fn a_value_lives_in_the_smallest_block_it_fits() {
        #[repr(align(64))]
        struct Line(#[expect(dead_code, reason = "only its alignment matters")] u8);
        let size_for = |class: Option<usize>| class.map(|class| SIZES[class]);
        assert_eq!(size_for(class_of::<[u8; 16]>()), Some(16));
        assert_eq!(size_for(class_of::<[u8; 17]>()), Some(32));
        assert_eq!(size_for(class_of::<[u8; 33]>()), Some(64));
        assert_eq!(size_for(class_of::<Line>()), Some(64));
        assert_eq!(size_for(class_of::<[u8; 65]>()), Some(72));
        assert_eq!(size_for(class_of::<[u64; 13]>()), Some(104));
        assert_eq!(size_for(class_of::<[u128; 6]>()), Some(96));
        assert_eq!(size_for(class_of::<[Line; 2]>()), Some(128));
        assert_eq!(class_of::<[u8; 129]>(), None);
    }

    #[test]
    fn values_that_do_not_fit_a_block_are_boxed() {
        let place = allocate([7_u8; 1000]);
        // SAFETY: from `allocate` above, once.
        assert_eq!(unsafe { free(place) }, [7; 1000]);
    }
}
