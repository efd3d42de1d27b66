//! The library, with what it asks of the system, for Linux on aarch64, on whatever processor this runs: lints with all features, and
//! under an emulator of that processor the unit tests and the tests of what `inspect` shows, among them those that follow stacks.
//!
//! It needs the target, and a linker, a C library and the emulator. Nothing is skipped where they are not there.
//!
//! The emulator keeps the memory orders of the processor that it runs on, so this says nothing about those of aarch64.
//! Whatever is not run stands in [`EXCEPTIONS`], with its reason.

use anyhow::{Result, ensure};

use crate::command::{Invocation, is_on_the_path};
use crate::workspace;

const TARGET: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: &str = "qemu-aarch64";
/// With the place where the packages put the C library.
const RUNNER: &str = "qemu-aarch64 -L /usr/aarch64-linux-gnu";
/// Debian's names.
const PACKAGES: &str = "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user";
/// How many stacks the longest test copies; 300 elsewhere.
const CAPTURES: &str = "20";

/// The tests that are not run under the emulator, modules with the colons behind their names, and why.
const EXCEPTIONS: &[(&[&str], &str)] = &[
    (
        &[
            "engine::sharing::tests::a_loop_that_has_spent_too_little_ends_the_process",
            "engine::sharing::tests::positions_that_are_dropped_end_the_process",
            "parallel::map::tests::a_vector_with_an_entry_that_was_not_written_ends_the_process",
            "parallel::map::tests::first_entries_one_of_which_was_not_written_end_the_process",
            "parallel::sort::stable::tests::a_pass_that_has_not_written_every_item_ends_the_process",
            "parallel::ordered_collect::tests::runs_with_more_items_than_their_buffer_end_the_process",
            "environment::",
            "stacks::a_program_that_handles_the_signal_itself_keeps_its_handler_and_says_so",
            "starvation::the_watchdog_reports_a_starved_runtime_once_on_standard_error",
            "users::a_process_of_another_user_that_can_open_the_socket_is_refused",
        ],
        "they start their own program anew, which the emulator leaves to the system, and that cannot run it",
    ),
    (
        &[
            "stack_signal::tests::a_thread_that_ends_while_it_is_asked_is_copied_or_not_and_nobody_waits_for_it",
            "thread_state::tests::a_thread_s_clock_runs_while_it_computes_and_ends_with_it",
        ],
        "a thread that has ended and was joined is there for another moment, which the emulator needs to end",
    ),
    (
        &["loops::"],
        "they expect what loops decide by measured nanoseconds, and an emulated body takes many times as long",
    ),
    (
        &[
            "engine::tests::many_cores::",
            "query::hash::",
            "query::source::text::",
        ],
        "they compute for ten seconds to two minutes here, in code that is the same for all processors",
    ),
    (
        &[
            "deadlocks::a_busy_ring_of_tasks_that_pass_a_token_is_no_deadlock",
            "deadlocks::scopes_and_groups_that_come_and_go_are_no_deadlock",
            "tasks::nothing_is_left_of_many_tasks_that_come_and_go_while_snapshots_are_taken",
        ],
        "they look on for ten seconds and more at tasks that come and go, which says nothing about a processor",
    ),
];

pub(crate) fn run() -> Result<()> {
    ensure!(
        [LINKER, EMULATOR].into_iter().all(is_on_the_path),
        "aarch64 takes `rustup target add {TARGET}` and `apt-get install {PACKAGES}`"
    );
    cargo("clippy", "").words("-- -D warnings").run()?;
    cargo("test", "--no-run").run()?;
    let test = cargo("test", "").args(&["--", "--quiet"]);
    let skipped = EXCEPTIONS.iter().flat_map(|exception| exception.0);
    let outcome = skipped
        .fold(test, |test, name| test.args(&["--skip", name]))
        .run();
    println!("Not run under the emulator:");
    for (tests, reason) in EXCEPTIONS {
        println!("  {reason}:\n    {}", tests.join("\n    "));
    }
    outcome
}

fn cargo(verb: &str, more: &str) -> Invocation {
    Invocation::cargo(&format!(
        "{verb} -p manyhands -p manyhands-system --all-features --lib --test inspect --target {TARGET} {more}"
    ))
    .arg("--target-dir")
    .arg(workspace::target_subdir("aarch64"))
    .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
    .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", RUNNER)
    .env("MANYHANDS_CAPTURES", CAPTURES)
    // Naming the functions of a panic takes the emulator seconds.
    .env("RUST_BACKTRACE", "0")
}

#[cfg(test)]
mod tests {
    use super::EXCEPTIONS;
    use crate::workspace;
    use std::fs;

    #[test]
    fn an_exception_is_a_test_or_a_module_that_exists() {
        let crates = workspace::root().join("crates");
        let folders = "manyhands/src manyhands/tests/inspect manyhands-system/src";
        for name in EXCEPTIONS.iter().flat_map(|exception| exception.0) {
            let (modules, test) = name.rsplit_once("::").unwrap();
            let path = modules.trim_end_matches("::tests").replace("::", "/");
            let places = folders
                .split(' ')
                .map(|folder| crates.join(folder).join(&path));
            let files = places.flat_map(|place| {
                let inner = ["mod.rs", "tests.rs"].map(|file| place.join(file));
                inner.into_iter().chain([place.with_extension("rs")])
            });
            let texts = files.filter_map(|file| fs::read_to_string(file).ok());
            let texts: Vec<String> = texts.collect();
            let head = format!("fn {test}(");
            let is_there = !texts.is_empty()
                && (test.is_empty() || texts.iter().any(|text| text.contains(&head)));
            assert!(is_there, "{name} names no test and no module");
        }
    }
}
