//! Rule: some things stand in a few files only, or not in some, because arguments elsewhere rest on that.
//!
//! A model calls the library's steps and does not write them again: a copy goes on to hold when the step it was made from is
//! changed. What gives a copy away is that it names a memory ordering, an atomic type or operation, or a fence: the steps
//! of every protocol do, and threads, a property and a bound need none. What a model counts or notes for its property goes
//! through the helpers in `models/mod.rs`, which order nothing.

use std::sync::LazyLock;

use regex::RegexSet;

use super::finding::Finding;
use super::tree::{LIBRARY, Tree};

/// A pattern, the files and folders in which it is looked for, those that may have it all the same, and the claim that rests on
/// that. Where no files are named, it is looked for in all but models and `sync`.
type Limit = [&'static str; 4];

const LIMITS: &[Limit] = &[
    [r"\.park\(", "", PARKING, PARKS],
    [r"\.park_timeout\(", "", PARKING, PARKS],
    [r"\.poll_park\(", "", "runtime/io/poller.rs", PARKS],
    [
        r"detected_blocked\.mark\(",
        "",
        "runtime/monitor/blocked.rs",
        "only the monitor's sweep flags a thread as blocked",
    ],
    [
        r"RunPermit::new\(",
        "",
        "runtime/current.rs runtime/ending.rs runtime/enqueue.rs runtime/fork_join/scope.rs \
         runtime/fork_join/wait.rs runtime/simulator.rs runtime/worker/run_loop.rs",
        "a thread that counts as searching has no permit: one is made where a thread's life begins, or below code of the user",
    ],
    [
        r"WorkerSlot::take\(",
        "",
        "runtime/inner/slots.rs",
        "a runtime's slots are taken and given back by its shared part, so none is occupied after its end",
    ],
    [
        r"unsafe \{ [\w.]+\.occupy\(",
        "",
        "runtime/current.rs runtime/worker/slot.rs",
        "a thread occupies a slot through a guard that leaves it, or while it has borrowed it to wait",
    ],
    [
        r"\.give_external_slot_back\(",
        "",
        "runtime/current.rs",
        "only the thread in a slot touches what is the occupant's: an external thread gives its slot back when its call has ended",
    ],
    [
        r"Box::from_raw\(",
        "",
        "task/joiner.rs job/block.rs queue/deque.rs",
        "worker slots, task registries and timers of a slot are never freed: only wakers, cells and slots of deques are, by pointer",
    ],
    [
        r": \[?SharedCounter\b",
        "",
        "queue/task_queue.rs runtime/monitor/changes.rs runtime/inner.rs",
        "what is counted by read-modify-write is counted on paths that are slow anyway",
    ],
    [
        r"Moment::now\(\)",
        "",
        "runtime/sleep/clock.rs runtime/sleep/timers.rs timer/moment.rs",
        "whatever reads the clock for its meaning asks `runtime::timers::now`",
    ],
    [
        ALLOCATES,
        "timer/entry.rs time/sleep.rs time/timeout.rs",
        "",
        "a timer allocates nothing",
    ],
    [
        ALLOCATES,
        "runtime/sleep/waking.rs runtime/fork_join/executions.rs runtime/worker/run_loop.rs",
        "",
        "finding a job and performing it allocates nothing",
    ],
    [
        r"\b(Ordering\b|fence\b|spin_loop\b|Atomic|fetch_|compare_exchange|store\(|swap\()",
        "models/",
        "models/mod.rs",
        "a model calls the library's own step, or a helper of `models/mod.rs`",
    ],
    // An ordering of a helper could stand in for one that a step lacks.
    [
        r"\bOrdering::(Acq|Release|Seq|\{|\*)\w*",
        "models/mod.rs",
        "",
        "a helper orders nothing",
    ],
];
const ALLOCATES: &str = r"Box::|Vec::|vec!|Arc::new|format!|collect\(|to_owned\(|String";

/// Files that park a thread: a worker's sleep and a wait, a thread that waits in a channel or for a runtime's end and says so,
/// and the monitor and the driver, on which no job runs.
const PARKING: &str = "channel/thread.rs runtime/owner.rs runtime/monitor/thread.rs runtime/worker/refused_starts.rs \
                       runtime/fork_join/wait.rs runtime/worker/run_loop.rs runtime/sleep/waking.rs \
                       integrations/tokio_driver/driver.rs";
const PARKS: &str = "who parks has said to the idle protocol that it sleeps";

static PATTERNS: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = LIMITS.iter().map(|limit| limit[0]);
    RegexSet::new(patterns).expect("they are well formed")
});

/// Whether a list of files and folders has this one.
fn has(files: &str, inside: &str) -> bool {
    let is_it = |file: &str| inside == file || (file.ends_with('/') && inside.starts_with(file));
    files.split(' ').any(is_it)
}

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.library() {
        let inside = path.strip_prefix(LIBRARY).unwrap_or(path);
        let is_model = has("models/", inside);
        for line in source
            .lines()
            .iter()
            .filter(|line| is_model || !line.is_test)
        {
            for found in PATTERNS.matches(&line.code) {
                let [what, within, but, claim] = LIMITS[found];
                let is_within = match within {
                    "" => !has("models/ sync/", inside),
                    within => has(within, inside),
                };
                if is_within && !has(but, inside) {
                    let message = format!("`{what}` does not belong here: {claim}");
                    findings.push(Finding::on_line(path, line.number, message));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(inside: &str, text: &str) -> usize {
        check(&Tree::of_library_file(inside, text)).len()
    }

    #[test]
    fn a_call_from_elsewhere_is_found() {
        for text in [
            "fn f() { self.parker.park(); }",
            "fn f() { parker.park_timeout(limit); }",
            "fn f() { shared.idle.detected_blocked.mark(&seat.detected_blocked); }",
            "fn f() { let seat = WorkerSlot::take(shared); }",
            "fn f() { let now = Moment::now(); }",
            "fn f() { let slot = unsafe { slot.occupy() }; }",
        ] {
            assert_eq!(count("task/group.rs", text), 1, "{text}");
        }
    }

    #[test]
    fn the_files_that_may_and_tests_pass() {
        let text = "fn f() { shared.idle.detected_blocked.mark(&m); }";
        assert_eq!(count("runtime/monitor/blocked.rs", text), 0);
        let text = "fn f() { sleeper.park(); }";
        assert_eq!(count("runtime/sleep/waking.rs", text), 0);
        let text = "#[cfg(test)]\nmod tests { fn f() { idle.detected_blocked.mark(&mark); } }";
        assert_eq!(count("runtime/sleep/idle.rs", text), 0);
    }

    #[test]
    fn an_allocation_where_there_is_to_be_none_is_found() {
        let text = "fn f() { let kept = Box::new(waker); }";
        assert_eq!(count("time/sleep.rs", text), 1);
        assert_eq!(count("time/interval.rs", text), 0);
    }

    #[test]
    fn what_a_step_is_made_of_is_found() {
        for text in [
            "fn f(a: &A) { a.0.load(Ordering::Relaxed); }",
            "use crate::sync::atomic::{AtomicU32, Mutex};",
            "fn f() { self.word.fetch_add(1, o); }",
            "fn f() { word.compare_exchange_weak(a, b, o, o); }",
            "fn f() { self.is_taken.swap(true, o) }",
            "fn f() { self.id.store(0, o) }",
            "use crate::sync::fence;",
            "fn f() { spin_loop(); }",
        ] {
            assert_eq!(count("models/timer.rs", text), 1, "{text}");
            assert_eq!(count("models/task/future.rs", text), 1, "{text}");
        }
        let ordering_helper = "a.swap(true, Ordering::AcqRel); b.load(Ordering::Relaxed);";
        assert_eq!(count("models/mod.rs", ordering_helper), 1);
    }

    #[test]
    fn calls_helpers_comments_and_other_files_pass() {
        for (inside, text) in [
            ("models/timer.rs", "waking::sleep(pool, 0, worker);"),
            (
                "models/timer.rs",
                "// Ordering: `fetch_add`, F1, the fence.",
            ),
            ("models/timer.rs", "self.restore(1); self.defence();"),
            ("models/mod.rs", "a.fetch_add(1, Ordering::Relaxed);"),
            ("runtime/sleep/idle.rs", "a.load(Ordering::Relaxed);"),
        ] {
            assert_eq!(count(inside, text), 0, "{text}");
        }
    }

    #[test]
    fn who_may_does() {
        let tree = Tree::load(&crate::workspace::root()).unwrap();
        for [what, within, but, claim] in LIMITS {
            for inside in but.split_whitespace().filter(|_| within.is_empty()) {
                let text = tree.text(&format!("{LIBRARY}{inside}")).unwrap_or("");
                let found = PATTERNS.matches(text);
                let is_needed = found.iter().any(|found| LIMITS[found][3] == *claim);
                assert!(is_needed, "{inside} has no `{what}`");
            }
        }
    }
}
