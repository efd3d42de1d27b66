//! A copy of a thread's registers and stack, which the thread itself makes in a signal handler.
//!
//! The handler copies the registers with which an unwinder begins, and the stack from the stack pointer upwards, at most
//! [`WORDS_MAX`] words of it, to a place that is always there. It does nothing else: it takes no lock, allocates nothing,
//! unwinds nothing, and all it asks the system is the number of its thread. So it may come in the middle of an allocation,
//! a panic or an unwinder. Where the copied return addresses lead is found out elsewhere.
//!
//! The signal is `SIGURG`. Go's runtime interrupts its threads by it too, for the same reasons: a program has to expect
//! it at any time, one that does not handle it ignores it, the C library does not use it, and debuggers pass it on. It
//! does not queue, so a thread that blocks it does not collect any. If the program handles it, it stays the program's.
//!
//! # Threads
//! One thread at a time asks, under a lock, and another one, which may run anything, is interrupted and answers. Anybody
//! may send the signal to any thread: a thread that is not asked does nothing.
//!
//! # States
//! Of the word `REQUEST`, with the number of the thread that is asked:
//! - `FREE`: nobody is asked. The place is the asking thread's.
//! - `ASKED`: the thread is to answer. The place is nobody's.
//! - `COPYING`: the place is the answering thread's.
//! - `COPIED`: the place is the asking thread's.
//!
//! The asking thread goes from `FREE`, or `COPIED` where an answer has come too late, to `ASKED`, back if it gives up, and from
//! `COPIED` to `FREE`; the handler goes from `ASKED` to `COPYING` if the number is its thread's, and on to `COPIED`. A handler
//! that comes late finds another state, or another number, and does nothing.
//!
//! Unsafe: a signal handler, the stack of what it has interrupted, and calls of the C library.

use crate::clock;
use crate::stack_copy::{NoCopies, NotCopied, Registers, StackCopy};
use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Notes where the calling thread's stack is. Of a thread that has not called this only the registers are copied.
pub fn note_own_stack() {
    let Some((low, high)) = own_stack() else {
        return;
    };
    OWN_STACK_HIGH.set(high);
    // Release, for the compiler: a handler on this very thread that sees `low` also sees `high`.
    compiler_fence(Ordering::Release);
    OWN_STACK_LOW.set(low);
}

/// Asks the thread of this process with this number for a copy. Takes at most half a second, mostly some microseconds.
///
/// # Errors
/// If the thread has ended, or does not answer.
pub fn copy_of(thread: i32) -> Result<StackCopy, NotCopied> {
    let _asking = begin_asking();
    let thread = u64::from(thread.cast_unsigned());
    let deadline = clock::now() + ANSWER_LIMIT;
    // An answer may have come too late. Acquire: what was copied then comes before what the next handler copies.
    let seen = REQUEST.load(Ordering::Acquire);
    if seen != FREE && !wait_for(COPIED | seen & THREAD_BITS, deadline) {
        return Err(NotCopied::Silent);
    }
    // Release: what this thread has read from the place comes before what the handler writes there; pairs with the
    // Acquire there.
    REQUEST.store(ASKED | thread, Ordering::Release);
    let is_sent = send(thread);
    let answered = is_sent && wait_for(COPIED | thread, deadline);
    // Relaxed: nothing has been written, and if it has, `wait_for` acquires it.
    let (asked, relaxed) = (ASKED | thread, Ordering::Relaxed);
    if !answered
        && REQUEST
            .compare_exchange(asked, FREE, relaxed, relaxed)
            .is_ok()
    {
        return Err(if is_sent {
            NotCopied::Silent
        } else {
            NotCopied::Ended
        });
    }
    // Begun, if not ended: it takes as long as its thread waits for a processor.
    if !wait_for(COPIED | thread, deadline + ANSWER_LIMIT) {
        return Err(NotCopied::Silent);
    }
    // SAFETY: in this state only the holder of the lock uses the place.
    let copied = unsafe { &*PLACE.0.get() };
    let copy = StackCopy {
        registers: copied.registers,
        words: copied.words[..copied.len].to_vec(),
        is_cut: copied.is_cut,
    };
    // Relaxed: only this thread leaves this state, and the handler acquires from the next `ASKED`.
    REQUEST.store(FREE, Ordering::Relaxed);
    Ok(copy)
}

/// A copy of the calling thread's own.
///
/// # Errors
/// As of [`copy_of`].
pub fn copy_of_own() -> Result<StackCopy, NotCopied> {
    // SAFETY: takes nothing, returns a number.
    copy_of(unsafe { libc::gettid() })
}

/// Handles the signal from now on, for as long as the process lives, unless the program does.
///
/// # Errors
/// If the program does, or the system does not let it.
pub fn prepare() -> Result<(), NoCopies> {
    let _asking = begin_asking();
    let handler = copy_own_stack as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
    let handler = handler as libc::sighandler_t;
    let handled_by = |found: &libc::sigaction| match found.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => None,
        other => Some(other),
    };
    match handled_by(&exchange_action(None)?) {
        Some(other) if other == handler => return Ok(()),
        Some(_) => return Err(NoCopies::SignalInUse),
        None => {}
    }
    let mut action = no_action();
    action.sa_sigaction = handler;
    // On the alternate stack, where there is one: the thread may be near the end of its own.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: the pointer is to a local.
    unsafe { libc::sigfillset(&raw mut action.sa_mask) };
    let before = exchange_action(Some(&action))?;
    if handled_by(&before).is_some_and(|other| other != handler) {
        // Another thread has been faster.
        exchange_action(Some(&before))?;
        return Err(NoCopies::SignalInUse);
    }
    Ok(())
}

/// Nobody panics who holds the lock, so poison carries no information.
fn begin_asking() -> MutexGuard<'static, ()> {
    ASKING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets what is done at the signal, if anything is given; returns what was done before.
fn exchange_action(action: Option<&libc::sigaction>) -> Result<libc::sigaction, NoCopies> {
    let mut before = no_action();
    let action = action.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: null or a pointer to an action, and one to a local. The handler, ours or one that was there before, is a
    // function of the type that the flags say.
    let failed = unsafe { libc::sigaction(SIGNAL, action, &raw mut before) };
    if failed == 0 {
        Ok(before)
    } else {
        Err(NoCopies::Unsupported)
    }
}

fn no_action() -> libc::sigaction {
    // SAFETY: numbers, a set of bits and an optional function, for all of which zero is a value.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Sends the signal to a thread; false if there is no such thread.
fn send(thread: u64) -> bool {
    let process = libc::c_long::from(std::process::id());
    let thread = libc::c_long::try_from(thread).unwrap_or(0);
    let signal = libc::c_long::from(SIGNAL);
    // SAFETY: takes numbers only, and the signal has a handler or is ignored.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) == 0 }
}

#[expect(
    clippy::disallowed_methods,
    reason = "no more than politeness: the answer needs the processor"
)]
fn wait_for(state: u64, deadline: Instant) -> bool {
    let mut looks = 0_u32;
    loop {
        // Acquire: pairs with the Release of the handler, so what it has copied is read whole.
        if REQUEST.load(Ordering::Acquire) == state {
            return true;
        }
        if clock::now() >= deadline {
            return false;
        }
        looks += 1;
        if looks < LOOKS_AWAKE {
            thread::yield_now();
        } else {
            thread::sleep(PAUSE);
        }
    }
}

/// The handler: answers if this thread is asked.
extern "C" fn copy_own_stack(
    _signal: c_int,
    _info: *mut libc::siginfo_t,
    interrupted: *mut c_void,
) {
    // SAFETY: takes nothing, returns a number, and cannot fail, so `errno` stays as it is.
    let own = unsafe { libc::gettid() };
    let own = u64::from(own.cast_unsigned());
    // Acquire on success: the place has been read, pairs with the Release of the thread that asks. Relaxed on failure: nothing is done.
    let (asked, copying) = (ASKED | own, COPYING | own);
    let begun = REQUEST.compare_exchange(asked, copying, Ordering::Acquire, Ordering::Relaxed);
    if begun.is_err() {
        return;
    }
    // SAFETY: the system passes what it has saved of the interrupted thread, because of `SA_SIGINFO`.
    let registers = unsafe { registers_in(interrupted.cast()) };
    let (low, high) = (OWN_STACK_LOW.get(), OWN_STACK_HIGH.get());
    let is_inside = low != 0 && (low..high).contains(&registers.stack);
    let above = if is_inside {
        usize::try_from((high - registers.stack) / 8).unwrap_or(0)
    } else {
        0
    };
    let len = above.min(WORDS_MAX);
    let place = PLACE.0.get();
    // SAFETY: in this state only the thread that has set it uses the place.
    let copied = unsafe { &mut *place };
    copied.registers = registers;
    copied.len = len;
    copied.is_cut = len < above;
    let to = copied.words.as_mut_ptr();
    // SAFETY:
    // 1. The words lie between the stack pointer and the upper end of this thread's stack, all of which is in use.
    // 2. `len` is at most the length of `words`, which is borrowed here.
    unsafe { copy_words(registers.stack, to, len) };
    // Release: what was copied is read after this; pairs with the Acquire of the thread that asks.
    REQUEST.store(COPIED | own, Ordering::Release);
}

/// What was interrupted where.
///
/// # Safety
/// `interrupted` is what a handler has been passed, and it has not returned.
#[cfg(target_arch = "x86_64")]
unsafe fn registers_in(interrupted: *const libc::ucontext_t) -> Registers {
    // SAFETY: by the caller's promise; the registers are a copy.
    let registers = unsafe { (*interrupted).uc_mcontext.gregs };
    let of = |register: c_int| registers[register as usize].cast_unsigned();
    Registers {
        instruction: of(libc::REG_RIP),
        stack: of(libc::REG_RSP),
        frame: of(libc::REG_RBP),
        link: 0,
    }
}

/// What was interrupted where.
///
/// # Safety
/// `interrupted` is what a handler has been passed, and it has not returned.
#[cfg(target_arch = "aarch64")]
unsafe fn registers_in(interrupted: *const libc::ucontext_t) -> Registers {
    // SAFETY: by the caller's promise; the registers are copies.
    let general = unsafe { (*interrupted).uc_mcontext.regs };
    // SAFETY: as above.
    let instruction = unsafe { (*interrupted).uc_mcontext.pc };
    // SAFETY: as above.
    let stack = unsafe { (*interrupted).uc_mcontext.sp };
    Registers {
        instruction,
        stack,
        frame: general[29],
        link: general[30],
    }
}

/// Copies words that other functions may be using. Not by the compiler's means: for these, what lies in the frames of
/// other functions may be nothing, and sanitizers forbid to look at it.
///
/// # Safety
/// 1. The process may read `count` words from the address `from` on.
/// 2. It may write `count` words at `to`, and nobody else uses them.
unsafe fn copy_words(from: u64, to: *mut u64, count: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: copies words upwards, because the direction flag is clear. 1. and 2. by the caller's promises.
    unsafe {
        std::arch::asm!(
            "rep movsq",
            inout("rcx") count => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags)
        );
    };
    #[cfg(target_arch = "aarch64")]
    // SAFETY: copies one word after the other. 1. and 2. by the caller's promises.
    unsafe {
        std::arch::asm!(
            "2:",
            "cbz {count}, 3f",
            "ldr {word}, [{from}], #8",
            "str {word}, [{to}], #8",
            "sub {count}, {count}, #1",
            "b 2b",
            "3:",
            count = inout(reg) count => _,
            from = inout(reg) from => _,
            to = inout(reg) to => _,
            word = out(reg) _,
            options(nostack, preserves_flags)
        );
    };
}

/// The lower and the upper end of the calling thread's stack.
fn own_stack() -> Option<(u64, u64)> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: takes nothing, returns a handle of the calling thread.
    let thread = unsafe { libc::pthread_self() };
    // SAFETY: the handle is of a running thread, the pointer to a local.
    let failed = unsafe { libc::pthread_getattr_np(thread, attributes.as_mut_ptr()) };
    if failed != 0 {
        return None;
    }
    let (mut low, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the attributes were filled in above, and the pointers are to locals.
    let failed =
        unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut low, &raw mut size) };
    // SAFETY: the attributes were filled in above, and are not used again.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    let low = u64::try_from(low.addr()).ok()?;
    let high = low.checked_add(u64::try_from(size).ok()?)?;
    (failed == 0).then_some((low, high))
}

/// Where a thread copies to.
struct Place(UnsafeCell<Copied>);

struct Copied {
    registers: Registers,
    words: [u64; WORDS_MAX],
    len: usize,
    is_cut: bool,
}

// SAFETY: one thread at a time uses the place, by the states of `REQUEST`, whose changes acquire and release.
unsafe impl Sync for Place {}

static PLACE: Place = Place(UnsafeCell::new(Copied {
    registers: Registers {
        instruction: 0,
        stack: 0,
        frame: 0,
        link: 0,
    },
    words: [0; WORDS_MAX],
    len: 0,
    is_cut: false,
}));

/// See the top of the file.
static REQUEST: AtomicU64 = AtomicU64::new(FREE);
/// Held by the thread that asks.
static ASKING: Mutex<()> = Mutex::new(());

// A handler reads them: without a destructor, and with a constant for a beginning, they are plain words of the thread.
thread_local! {
    /// 0 if it is not known.
    static OWN_STACK_LOW: Cell<u64> = const { Cell::new(0) };
    static OWN_STACK_HIGH: Cell<u64> = const { Cell::new(0) };
}

const SIGNAL: c_int = libc::SIGURG;
/// 64 KiB: frames of more than a hundred functions.
const WORDS_MAX: usize = 8 << 10;

const FREE: u64 = 0;
const ASKED: u64 = 1 << 32;
const COPYING: u64 = 2 << 32;
const COPIED: u64 = 3 << 32;
const THREAD_BITS: u64 = (1 << 32) - 1;

/// How long a thread that does not answer is waited for. One that runs has to get a processor.
const ANSWER_LIMIT: Duration = Duration::from_millis(200);
/// How often the asking thread looks for the answer before it sleeps in between.
const LOOKS_AWAKE: u32 = 20;
const PAUSE: Duration = Duration::from_micros(50);

#[cfg(test)]
mod tests;
