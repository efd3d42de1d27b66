//! The library's stress test, integration tests and small programs under AddressSanitizer, which includes a search
//! for leaks, and ThreadSanitizer. Needs a nightly toolchain, so it is not part of `ci`. The tests see
//! `cfg(sanitized)` and do less; `sanitize` is a name the compiler keeps for itself.
//!
//! The standard library is instrumented, too: otherwise ThreadSanitizer does not see its locks, and reports races on
//! whatever they guard. It also knows nothing of fences, so code ordered by one needs another form under `cfg(sanitized)`.
//!
//! Whatever is kept from a sanitizer stands in [`EXCEPTIONS`], with its reason.

use anyhow::{Context, Result};

use crate::command::Invocation;
use crate::workspace;

/// The test programs, cheapest first.
const PROGRAMS: &[&str] = &["pool", "query", "it", "stress"];

/// The instrumented test programs take longer to optimise than they then save.
const BUILD: [&str; 2] = [
    "profile.release.package.manyhands.opt-level=0",
    "profile.release.package.manyhands.codegen-units=16",
];

/// What the sanitizers do not look at, or look at in another form.
const EXCEPTIONS: &[Exception] = &[
    Exception {
        by: &[ADDRESS, THREAD],
        what: "blocks of small cells (job/block.rs) are not used again",
        tests: &[],
        reason: "a use after free does not show once another cell lives in the block. So each cell is a box of its own; \
                 the magazines of blocks are tested under Miri",
    },
    Exception {
        by: &[ADDRESS, THREAD],
        what: "a loop over more than 2³¹ positions",
        tests: &["range::a_loop_driven_in_several_goes_runs_every_index"],
        reason: "it takes minutes without optimisation, and handles no memory but what other loops do",
    },
    Exception {
        by: &[THREAD],
        what: "threads that have ended and were not joined (report_thread_leaks)",
        tests: &[],
        reason: "the default runtime lives as long as the process, and may keep the last threads that have ended",
    },
    Exception {
        by: &[ADDRESS],
        what: "leaks of the tests in tests/it/survival.rs (xtask/sanitize/leaks.txt)",
        tests: &[],
        reason: "their values panic each time when they are dropped. The tests and the library forget those on purpose",
    },
];

/// Something that is kept from sanitizers.
struct Exception {
    by: &'static [&'static str],
    what: &'static str,
    /// Tests that are not run, by their full names.
    tests: &'static [&'static str],
    reason: &'static str,
}

/// Their names to rustc.
const ADDRESS: &str = "address";
const THREAD: &str = "thread";

pub(crate) fn run() -> Result<()> {
    let host = Invocation::new("rustup run nightly rustc --print host-tuple")
        .stdout()
        .context("the sanitizers take `rustup toolchain install nightly --component rust-src`")?;
    let host = host.trim();
    let outcome = test(ADDRESS, host).and_then(|()| test(THREAD, host));
    println!("Kept from the sanitizers:");
    for it in EXCEPTIONS {
        let (by, tests) = (it.by.join(" and "), it.tests.join(", "));
        println!("  {by}: {}: {} {tests}", it.what, it.reason);
    }
    outcome
}

/// Runs the test programs under one sanitizer.
fn test(sanitizer: &str, host: &str) -> Result<()> {
    PROGRAMS.iter().try_for_each(|name| {
        let test = program(sanitizer, host, name).args(&["--", "--exact"]);
        let kept = EXCEPTIONS.iter().filter(|it| it.by.contains(&sanitizer));
        let skipped = kept.flat_map(|it| it.tests);
        skipped
            .fold(test, |test, name| test.args(&["--skip", name]))
            .run()
    })
}

fn program(sanitizer: &str, host: &str, name: &str) -> Invocation {
    let leaks = workspace::root().join("xtask/sanitize/leaks.txt");
    // `--target`, though it names the host, keeps the flags away from build scripts.
    let test = Invocation::new("rustup run nightly cargo test -Zbuild-std -p manyhands --release");
    BUILD
        .iter()
        .fold(test, |test, setting| test.args(&["--config", setting]))
        .args(&["--test", name, "--target", host, "--target-dir"])
        .arg(workspace::target_subdir(&format!("sanitize-{sanitizer}")))
        .env(
            "RUSTFLAGS",
            format!("-Zsanitizer={sanitizer} --cfg sanitized"),
        )
        .env("LSAN_OPTIONS", format!("suppressions={}", leaks.display()))
        // Complete stacks, by which leaks are recognised.
        .env("ASAN_OPTIONS", "fast_unwind_on_malloc=0")
        .env("TSAN_OPTIONS", "report_thread_leaks=0")
}
