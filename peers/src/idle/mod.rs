//! CPU time that a pool uses while nobody asks it for anything, right after it worked.
//!
//! `manyhands-blocked` has slept before in 64 tasks at once, for which its pool has started threads.
//!
//! Each contender works for 200 ms in a process of its own and then idles; all idle at the same
//! time, which the CPU time of a process does not notice.

mod compare;

use std::fs;
use std::hint::black_box;
use std::thread;
use std::time::Duration;

use manyhands::task;

use manyhands_lab::clock::Stopwatch;
use manyhands_lab::contest::{self, Arm, Request, Sample};

use crate::items::{Items, Tokio};
use crate::loops::{self, Loops};

pub(crate) use compare::compare;

/// The rows of the table.
pub(crate) const ARMS: [Arm; 10] = [
    Arm::contender("manyhands"),
    Arm::contender("manyhands-blocked"),
    Arm::contender("rayon"),
    Arm::contender("chili"),
    Arm::contender("chili-scope-kept"),
    Arm::contender("forte"),
    Arm::contender("orx-parallel"),
    Arm::contender("paralight"),
    Arm::contender("openmp"),
    Arm::contender("tokio"),
];

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "manyhands" => serve_loops::<loops::Manyhands>(),
        "manyhands-blocked" => serve_work(block_many),
        "rayon" => serve_loops::<loops::Rayon>(),
        "chili" => serve_chili(),
        "chili-scope-kept" => serve_loops::<loops::Chili>(),
        "forte" => serve_loops::<loops::Forte>(),
        "orx-parallel" => serve_loops::<loops::Orx>(),
        "paralight" => serve_loops::<loops::Paralight>(),
        "openmp" => serve_loops::<loops::OpenMp>(),
        "tokio" => serve_tokio(),
        _ => return false,
    }
    true
}

/// The pool, and chili's scope, stay while the process idles.
fn serve_loops<C: Loops>() {
    match C::new() {
        Ok(mut contender) => serve_work(|| work_loop(&mut contender)),
        Err(reason) => contest::say_absent(&reason),
    }
}

/// chili's heartbeat runs while a scope exists; here each call makes its own.
fn serve_chili() {
    serve_work(|| {
        if let Ok(mut contender) = loops::Chili::new() {
            work_loop(&mut contender);
        }
    });
}

fn serve_tokio() {
    match Tokio::new() {
        Ok(mut contender) => serve_work(|| contender.outside(TASKS)),
        Err(reason) => contest::say_absent(&reason),
    }
}

/// Tasks that sleep without a word: the pool starts threads for them, and must come back from that.
fn block_many() {
    let sleeps: Vec<_> = (0..SLEEPS)
        .map(|_| task::run(|| thread::sleep(SLEEP)))
        .collect();
    for sleep in sleeps {
        sleep.join().expect("a sleep does not panic");
    }
}

fn work_loop<C: Loops>(contender: &mut C) {
    contender.for_range(LOOP_ITEMS, LOOP_GRAIN, |_| {
        black_box(loops::sha512());
    });
}

fn serve_work(mut work: impl FnMut()) {
    contest::serve(|request| answer(request, &mut work));
}

/// Works, idles for the window and a fifth of it more, and answers with the milliseconds of CPU time used in
/// the window's first tenth, in the rest of it, and in the fifth after it, and with the number of threads
/// before and after all that.
fn answer(request: &Request, work: &mut impl FnMut()) -> Result<Sample, String> {
    let start = Stopwatch::start();
    while start.elapsed() < WORK {
        work();
    }
    let threads = threads();
    let before = contest::cpu_time()?;
    thread::sleep(request.window / 10);
    let first = contest::cpu_time()?;
    thread::sleep(request.window - request.window / 10);
    let last = contest::cpu_time()?;
    thread::sleep(request.window / 5);
    let after = contest::cpu_time()?;
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    Ok(Sample {
        checksum: 0,
        values: vec![
            millis(first - before),
            millis(last - first),
            millis(after - last),
            threads,
            self::threads(),
        ],
    })
}

/// Threads of this process; not a number where the system does not tell.
fn threads() -> f64 {
    fs::read_dir("/proc/self/task").map_or(f64::NAN, |threads| threads.count() as f64)
}

const WORK: Duration = Duration::from_millis(200);
/// About 2.3 ms of SHA-512 for one thread.
const LOOP_ITEMS: usize = 10_000;
const LOOP_GRAIN: usize = 64;
const TASKS: usize = 1_000;
const SLEEPS: usize = 64;
const SLEEP: Duration = Duration::from_millis(50);
