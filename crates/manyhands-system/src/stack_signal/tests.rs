//! Unit tests of `stack_signal.rs`: threads that are copied, that block the signal, that end meanwhile, and whose stacks are not
//! their own.

use super::{SIGNAL, copy_of, note_own_stack, prepare};
use crate::clock;
use crate::stack_copy::{NotCopied, StackCopy};
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);
/// No address of anything.
const MARK: u64 = 0x5ca1_ab1e_0ddb_a11f;

fn own_number() -> i32 {
    // SAFETY: takes nothing, returns a number.
    unsafe { libc::gettid() }
}

/// Asks until there is an answer: on a busy machine a thread may not get a processor in time.
fn copy_in_time(thread: i32) -> StackCopy {
    let deadline = clock::now() + LIMIT;
    loop {
        match copy_of(thread) {
            Ok(copy) => return copy,
            Err(reason) => assert_eq!(reason, NotCopied::Silent),
        }
        assert!(clock::now() < deadline, "no answer");
    }
}

/// A thread that has noted its stack, has a mark on it, and runs until it is stopped.
fn marked() -> (i32, impl FnOnce()) {
    let stop = Arc::new(AtomicBool::new(false));
    let (say, said) = mpsc::channel();
    let seen = Arc::clone(&stop);
    let thread = thread::spawn(move || {
        note_own_stack();
        let mark = black_box([MARK; 4]);
        say.send(own_number()).unwrap();
        while !seen.load(Ordering::Relaxed) {
            black_box(&mark);
        }
    });
    let number = said.recv_timeout(LIMIT).unwrap();
    let end = move || {
        stop.store(true, Ordering::Relaxed);
        thread.join().unwrap();
    };
    (number, end)
}

#[test]
fn a_copy_has_what_lies_above_the_stack_pointer_of_the_thread_that_is_asked() {
    prepare().unwrap();
    let (first, end_first) = marked();
    let (second, end_second) = marked();
    for _ in 0..20 {
        let copies = [first, second].map(copy_in_time);
        for copy in &copies {
            let marks = copy.words.iter().filter(|word| **word == MARK).count();
            assert!(marks >= 4, "{:?}", copy.registers);
            assert_eq!(copy.registers.stack % 8, 0);
        }
        let [one, other] = copies.map(|copy| copy.registers.stack);
        assert_ne!(one, other, "each thread has its own");
    }
    end_first();
    end_second();
}

#[test]
fn a_thread_copies_its_own_stack() {
    prepare().unwrap();
    let copy = thread::spawn(|| {
        note_own_stack();
        let mark = black_box([MARK; 4]);
        let copy = super::copy_of_own().unwrap();
        black_box(mark);
        copy
    });
    let copy = copy.join().unwrap();
    let marks = copy.words.iter().filter(|word| **word == MARK).count();
    assert!(marks >= 4 && !copy.is_cut, "{:?}", copy.registers);
}

#[test]
fn a_thread_that_blocks_the_signal_is_silent_and_answers_when_it_does_no_longer() {
    prepare().unwrap();
    let (say, said) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let change = |how: c_int| {
            let mut signals = MaybeUninit::<libc::sigset_t>::zeroed();
            // SAFETY: the pointer is to a local.
            unsafe { libc::sigemptyset(signals.as_mut_ptr()) };
            // SAFETY: the pointer is to a local, which was filled in above.
            unsafe { libc::sigaddset(signals.as_mut_ptr(), SIGNAL) };
            // SAFETY: as above; changes what this thread blocks.
            unsafe { libc::pthread_sigmask(how, signals.as_ptr(), ptr::null_mut()) };
        };
        note_own_stack();
        change(libc::SIG_BLOCK);
        say.send(own_number()).unwrap();
        gate.recv_timeout(LIMIT).unwrap();
        change(libc::SIG_UNBLOCK);
        say.send(own_number()).unwrap();
        gate.recv_timeout(LIMIT).unwrap();
    });
    let number = said.recv_timeout(LIMIT).unwrap();
    for _ in 0..2 {
        assert_eq!(copy_of(number).unwrap_err(), NotCopied::Silent);
    }
    let (other, end) = marked();
    assert!(copy_in_time(other).words.contains(&MARK));
    end();
    go.send(()).unwrap();
    said.recv_timeout(LIMIT).unwrap();
    assert!(!copy_in_time(number).words.is_empty());
    go.send(()).unwrap();
    thread.join().unwrap();
}

#[test]
fn a_thread_that_ends_while_it_is_asked_is_copied_or_not_and_nobody_waits_for_it() {
    prepare().unwrap();
    for _ in 0..100 {
        let (say, said) = mpsc::channel();
        let thread = thread::spawn(move || {
            note_own_stack();
            say.send(own_number()).unwrap();
        });
        let number = said.recv_timeout(LIMIT).unwrap();
        let _ = copy_of(number);
        thread.join().unwrap();
        // A thread that joins another goes on before the system has forgotten its number.
        let begun = clock::now();
        while copy_of(number).unwrap_err() != NotCopied::Ended {
            assert!(
                clock::now() - begun < LIMIT,
                "thread {number} has not ended"
            );
        }
    }
    assert_eq!(copy_of(0).unwrap_err(), NotCopied::Ended);
}

static SMALL: AtomicI32 = AtomicI32::new(0);
static SMALL_MAY_END: AtomicBool = AtomicBool::new(false);

/// The first function of a thread that the standard library has not started, so it has no alternate stack.
extern "C" fn on_small_stack(_: *mut c_void) -> *mut c_void {
    note_own_stack();
    let mark = black_box([MARK; 4]);
    SMALL.store(own_number(), Ordering::Release);
    while !SMALL_MAY_END.load(Ordering::Acquire) {
        black_box(&mark);
    }
    ptr::null_mut()
}

#[test]
fn a_thread_with_a_small_stack_and_no_alternate_one_is_copied_to_its_end() {
    prepare().unwrap();
    // On aarch64 the least that is allowed is more.
    let bytes = libc::PTHREAD_STACK_MIN.max(48 << 10);
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the pointer is to a local.
    unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) };
    // SAFETY: the pointer is to a local, which was filled in above.
    let failed = unsafe { libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), bytes) };
    assert_eq!(failed, 0);
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: the pointers are to locals, and the function is of the type that is called.
    let failed = unsafe {
        libc::pthread_create(
            thread.as_mut_ptr(),
            attributes.as_ptr(),
            on_small_stack,
            ptr::null_mut(),
        )
    };
    assert_eq!(failed, 0);
    let deadline = clock::now() + LIMIT;
    while SMALL.load(Ordering::Acquire) == 0 {
        assert!(clock::now() < deadline);
    }
    for _ in 0..20 {
        let copy = copy_in_time(SMALL.load(Ordering::Acquire));
        assert!(copy.words.contains(&MARK) && copy.words.len() * 8 <= bytes);
        assert!(!copy.is_cut);
    }
    SMALL_MAY_END.store(true, Ordering::Release);
    // SAFETY: filled in by `pthread_create`.
    let thread = unsafe { thread.assume_init() };
    // SAFETY: the thread was started above, and is joined once.
    unsafe { libc::pthread_join(thread, ptr::null_mut()) };
}

static IN_HANDLER: AtomicI32 = AtomicI32::new(0);
static HANDLER_MAY_END: AtomicBool = AtomicBool::new(false);

extern "C" fn stay_in_handler(_: c_int) {
    IN_HANDLER.store(own_number(), Ordering::Release);
    while !HANDLER_MAY_END.load(Ordering::Acquire) {
        std::hint::spin_loop();
    }
}

#[test]
fn of_a_thread_on_another_stack_than_its_own_the_registers_are_copied_and_no_stack() {
    prepare().unwrap();
    let thread = thread::spawn(|| {
        note_own_stack();
        let mut memory = vec![0_u8; 256 << 10];
        let alternate = libc::stack_t {
            ss_sp: memory.as_mut_ptr().cast(),
            ss_flags: 0,
            ss_size: memory.len(),
        };
        let mut before = alternate;
        // SAFETY: the memory lives until the alternate stack is set back.
        unsafe { libc::sigaltstack(&raw const alternate, &raw mut before) };
        let mut action = super::no_action();
        action.sa_sigaction = stay_in_handler as extern "C" fn(c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_ONSTACK;
        // SAFETY: the pointer is to a local; the handler only uses atomics. No other test uses this signal.
        unsafe { libc::sigaction(libc::SIGUSR2, &raw const action, ptr::null_mut()) };
        // SAFETY: the signal has a handler.
        unsafe { libc::raise(libc::SIGUSR2) };
        // SAFETY: what was set before.
        unsafe { libc::sigaltstack(&raw const before, ptr::null_mut()) };
    });
    let deadline = clock::now() + LIMIT;
    while IN_HANDLER.load(Ordering::Acquire) == 0 {
        assert!(clock::now() < deadline);
    }
    let copy = copy_in_time(IN_HANDLER.load(Ordering::Acquire));
    assert!(copy.words.is_empty() && copy.registers.instruction != 0);
    HANDLER_MAY_END.store(true, Ordering::Release);
    thread.join().unwrap();
}

#[test]
fn a_signal_that_nobody_has_sent_for_a_copy_changes_nothing() {
    prepare().unwrap();
    let (number, end) = marked();
    for _ in 0..20 {
        super::send(u64::from(number.cast_unsigned()));
        // SAFETY: the signal has a handler.
        unsafe { libc::raise(SIGNAL) };
    }
    assert!(copy_in_time(number).words.contains(&MARK));
    end();
}
