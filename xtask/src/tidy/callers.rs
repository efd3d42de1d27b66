//! Rule: some functions are called in a few files only, because arguments elsewhere rest on that.
//!
//! Each line names what is called, the files that may, and the claim that rests on it.

use super::finding::Finding;
use super::tree::{LIBRARY, Tree};

/// A rule: what is called, the files that may, and the claim.
type Limit = (&'static str, &'static str, &'static str);

const LIMITS: &[Limit] = &[
    (".park(", PARKING, PARKS),
    (".park_timeout(", PARKING, PARKS),
    (
        ".park_until_timer(",
        "runtime/fork_join/wait.rs runtime/io/poller.rs",
        PARKS,
    ),
    (".sleep_until_timer(", "runtime/worker/run_loop.rs", PARKS),
    (".poll_park(", "runtime/io/poller.rs", PARKS),
    (
        "idle.mark(",
        "runtime/monitor/blocked.rs",
        "only the monitor's sweep flags a thread as blocked",
    ),
    (
        "RunPermit::new(",
        "runtime/current.rs runtime/ending.rs runtime/enqueue.rs runtime/fork_join/scope.rs \
         runtime/fork_join/wait.rs runtime/simulator.rs runtime/worker/run_loop.rs",
        "a thread that counts as searching has no permit: one is made where a thread's life begins, or below code of the user",
    ),
    (
        "WorkerSlot::take(",
        "runtime/inner.rs",
        "a runtime's slots are taken and given back by its shared part, so none is occupied after its end",
    ),
    (
        ".occupy()",
        "runtime/current.rs runtime/worker/slot_pool.rs",
        "a thread occupies a slot through a guard that leaves it, or while it has borrowed it to wait",
    ),
    (
        ".give_external_slot_back(",
        "runtime/current.rs",
        "only the thread in a slot touches what is the occupant's: an external thread gives its slot back when its call has ended",
    ),
    (
        "Box::from_raw(",
        "task/joiner.rs job/block.rs queue/deque.rs",
        "worker slots, task registries and timers of a slot are never freed: only wakers, cells and slots of deques are, by pointer",
    ),
    (
        "SharedCounter::default(",
        "queue/task_queue.rs runtime/monitor/changes.rs runtime/inner.rs",
        "what is counted by read-modify-write is counted on paths that are slow anyway",
    ),
    (
        "Moment::now()",
        "runtime/sleep/clock.rs runtime/sleep/timers.rs timer/moment.rs",
        "whatever reads the clock for its meaning asks `runtime::timers::now`",
    ),
];

/// Files in which nothing is allocated, with the claim that rests on it.
const WITHOUT_ALLOCATION: &[(&str, &str)] = &[
    (
        "timer/entry.rs time/sleep.rs time/timeout.rs",
        "a timer allocates nothing",
    ),
    (
        "runtime/sleep/waking.rs runtime/fork_join/executions.rs runtime/worker/run_loop.rs",
        "finding a job and performing it allocates nothing",
    ),
];
const ALLOCATES: &str = "Box:: Vec:: vec! Arc::new format! collect( to_owned( String";

/// Files that park a thread: a worker's sleep and a wait, a thread that waits in a channel and says so, and the
/// monitor and the driver, on which no job runs.
const PARKING: &str = "channel/thread.rs runtime/inner.rs runtime/monitor/thread.rs runtime/worker/refused_starts.rs \
                       runtime/sleep/timers.rs runtime/sleep/waking.rs integrations/tokio_driver/driver.rs";
const PARKS: &str = "who parks has said to the idle protocol that it sleeps";

/// Whether a list of files has this one.
fn has(files: &str, inside: &str) -> bool {
    files.split(' ').any(|file| file == inside)
}

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.library() {
        let inside = path.strip_prefix(LIBRARY).unwrap_or(path);
        if inside.starts_with("models/") || inside.starts_with("sync/") {
            continue;
        }
        for line in source.shipped() {
            for (called, by, claim) in LIMITS {
                if line.code.contains(called) && !has(by, inside) {
                    let message = format!("`{called}` is called elsewhere only: {claim}");
                    findings.push(Finding::on_line(path, line.number, message));
                }
            }
            for (_, claim) in WITHOUT_ALLOCATION
                .iter()
                .filter(|(files, _)| has(files, inside))
            {
                for word in ALLOCATES.split(' ').filter(|word| line.code.contains(word)) {
                    let message = format!("`{word}` allocates: {claim}");
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
            "fn f() { shared.idle.mark(&seat.detected_blocked); }",
            "fn f() { let seat = WorkerSlot::take(shared); }",
            "fn f() { let now = Moment::now(); }",
            "fn f() { let slot = unsafe { slot.occupy() }; }",
        ] {
            assert_eq!(count("task/group.rs", text), 1, "{text}");
        }
    }

    #[test]
    fn the_files_that_may_and_tests_pass() {
        let text = "fn f() { shared.idle.mark(&m); }";
        assert_eq!(count("runtime/monitor/blocked.rs", text), 0);
        let text = "fn f() { sleeper.park(); }";
        assert_eq!(count("runtime/sleep/waking.rs", text), 0);
        let text = "#[cfg(test)]\nmod tests { fn f() { idle.mark(&mark); } }";
        assert_eq!(count("runtime/sleep/idle.rs", text), 0);
    }

    #[test]
    fn an_allocation_where_there_is_to_be_none_is_found() {
        let text = "fn f() { let kept = Box::new(waker); }";
        assert_eq!(count("time/sleep.rs", text), 1);
        assert_eq!(count("time/interval.rs", text), 0);
    }

    #[test]
    fn who_may_does() {
        let tree = Tree::load(&crate::workspace::root()).unwrap();
        for (called, by, claim) in LIMITS {
            for inside in by.split(' ') {
                let path = format!("{LIBRARY}{inside}");
                let text = tree.text(&path).unwrap_or("");
                let calls = LIMITS
                    .iter()
                    .filter(|(_, _, other)| other == claim)
                    .any(|(called, ..)| text.contains(called));
                assert!(calls, "{inside} does not call `{called}`");
            }
        }
    }
}
