//! An allocator that counts, for programs that want allocations in their measurements.
//!
//! Each of the first [`OWNED`] threads has counters of its own, which it alone writes; later
//! threads share some. Counters outlive their threads, so nothing is to be done when one ends.
//!
//! # Ordering
//! Everything is Relaxed: the counts order nothing, and a reader who has waited for the work he
//! counts (a join, a scope's end) sees all of it through that wait.
//!
//! Unsafe: implements `GlobalAlloc` by passing every call on.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
};

/// Passes everything on to another allocator and counts allocations and bytes, all threads together; [`allocations`] tells the
/// counts. A reallocation counts as an allocation of its new size: a list that grows by doubling has asked for all its buffers.
///
/// # Cost
/// Two additions to counters of the thread's own, some nanoseconds per allocation; freeing costs
/// nothing. From the 257th thread of a process on, counters are shared and cost more.
///
/// # Examples
/// ```
/// use manyhands_lab::{CountingAllocator, meter};
///
/// #[global_allocator]
/// static ALLOCATOR: CountingAllocator = CountingAllocator::new();
///
/// let before = meter::allocations().expect("installed above");
/// let list: Vec<u64> = Vec::with_capacity(1_000);
/// let after = meter::allocations().expect("installed above");
/// assert!(after.0 > before.0);
/// assert!(after.1 - before.1 >= 8_000);
/// # drop(list);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct CountingAllocator<A = System> {
    inner: A,
}

impl CountingAllocator {
    /// Counts in front of the system's allocator.
    #[must_use]
    pub const fn new() -> Self {
        Self::around(System)
    }
}

impl<A> CountingAllocator<A> {
    /// Counts in front of this allocator.
    #[must_use]
    pub const fn around(inner: A) -> Self {
        Self { inner }
    }
}

/// Allocations and allocated bytes of this process so far, all threads; `None` if the program did
/// not install a [`CountingAllocator`].
///
/// # Cost
/// Reads some hundred counters, about a microsecond.
#[must_use]
pub fn allocations() -> Option<(u64, u64)> {
    let mut sums = (0_u64, 0_u64);
    for shard in &SHARDS {
        // Relaxed: see the header.
        sums.0 += shard.allocations.load(Ordering::Relaxed);
        // Relaxed: see the header.
        sums.1 += shard.bytes.load(Ordering::Relaxed);
    }
    // The standard library allocates before `main`, so an installed allocator has counted.
    (sums.0 > 0).then_some(sums)
}

// SAFETY: every block comes from the inner allocator and goes back to it with the caller's own
// layout. Counting neither allocates nor panics: the thread's cell is a constant without
// destructor, and where it is gone already the first shard is used.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are those of the inner allocator.
        unsafe { self.inner.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are those of the inner allocator.
        unsafe { self.inner.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size);
        // SAFETY: the block came from the inner allocator; the rest the caller promises.
        unsafe { self.inner.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from the inner allocator; the rest the caller promises.
        unsafe { self.inner.dealloc(block, layout) }
    }
}

/// Counters of one thread or of several, on cache lines of their own.
#[repr(align(128))]
struct Shard {
    allocations: AtomicU64,
    bytes: AtomicU64,
}

/// Shards with one thread each; as many as the largest machines have hardware threads.
const OWNED: usize = 256;
/// Shards for all later threads.
const SHARED: usize = 64;

static SHARDS: [Shard; OWNED + SHARED] = [const {
    Shard {
        allocations: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
    }
}; OWNED + SHARED];

/// Threads that have allocated so far.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Number of this thread; `usize::MAX` before its first allocation.
    static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
}

fn count(bytes: usize) {
    // A thread that cannot tell its number any more is counted with the late ones.
    let number = NUMBER.try_with(number_of_thread).unwrap_or(OWNED);
    let bytes = bytes as u64;
    if let Some(shard) = SHARDS[..OWNED].get(number) {
        add_alone(&shard.allocations, 1);
        add_alone(&shard.bytes, bytes);
    } else {
        let shard = &SHARDS[OWNED + number % SHARED];
        // Relaxed: see the header.
        shard.allocations.fetch_add(1, Ordering::Relaxed);
        // Relaxed: see the header.
        shard.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Adds to a counter that no other thread writes, which saves a locked instruction.
fn add_alone(counter: &AtomicU64, amount: u64) {
    // Relaxed: reads what this thread wrote.
    let sum = counter.load(Ordering::Relaxed).wrapping_add(amount);
    // Relaxed: see the header.
    counter.store(sum, Ordering::Relaxed);
}

fn number_of_thread(cell: &Cell<usize>) -> usize {
    if cell.get() == usize::MAX {
        // Relaxed: only that each thread gets another number matters.
        cell.set(THREADS.fetch_add(1, Ordering::Relaxed));
    }
    cell.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{hint, thread};

    #[global_allocator]
    static ALLOCATOR: CountingAllocator = CountingAllocator::new();

    /// Other tests allocate at the same time, so counts are lower bounds.
    fn counted(work: impl FnOnce()) -> (u64, u64) {
        let before = allocations().expect("the tests install it");
        work();
        let after = allocations().expect("the tests install it");
        (after.0 - before.0, after.1 - before.1)
    }

    #[test]
    fn blocks_of_all_kinds_are_counted_with_their_bytes() {
        const MEBIBYTE: usize = 1 << 20;
        let (count, bytes) = counted(|| {
            drop(hint::black_box(Vec::<u8>::with_capacity(64 * MEBIBYTE)));
            drop(hint::black_box(vec![0_u8; 64 * MEBIBYTE]));
            let mut grown = Vec::<u8>::with_capacity(8);
            grown.reserve_exact(64 * MEBIBYTE);
            drop(hint::black_box(grown));
        });
        assert!(count >= 4, "{count}");
        assert!(bytes >= 192 * MEBIBYTE as u64, "{bytes}");
    }

    #[test]
    fn every_thread_is_counted_after_it_has_ended() {
        // Enough that some share counters, whatever other tests have started.
        const THREADS: u64 = 300;
        const BLOCKS: u64 = 1_000;
        let (count, _) = counted(|| {
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| {
                        for _ in 0..BLOCKS {
                            drop(hint::black_box(Box::new(1_u8)));
                        }
                    });
                }
            });
        });
        assert!(count >= THREADS * BLOCKS, "{count}");
    }

    #[test]
    fn zeroed_memory_is_zero_and_moved_memory_keeps_its_bytes() {
        let mut bytes = vec![0_u8; 4_096];
        assert!(bytes.iter().all(|byte| *byte == 0));
        bytes.fill(7);
        bytes.reserve_exact(1 << 20);
        assert!(bytes.iter().all(|byte| *byte == 7));
    }
}
