//! What threads run, as a graph to draw: boxes of functions, each above the one that has called it.
//!
//! Not here: how stacks are merged (`stacks/graph.rs`), and where the boxes are drawn (`svg.rs`).

use crate::graph::{Edge, Graph, Members, Node, NodeKind, Subject};
use crate::method_graph::counted;
use crate::stacks::{Frames, Method, Segment, Stacks, ThreadStack};
use std::collections::{BTreeMap, HashSet};

impl Graph {
    /// The stacks of threads, merged. The outermost functions are at the bottom.
    pub(crate) fn of_stacks(stacks: &Stacks) -> Self {
        let merged = stacks.graph(Frames::OfProgram);
        let locks = stacks.threads.iter().map(ThreadStack::waits_for_lock);
        let locks: Vec<Option<String>> = locks.collect();
        let shown = merged.segments.len().min(SEGMENTS_MAX);
        let segments = &merged.segments[..shown];
        // A parent is before its children, so those of shown segments are shown.
        let called = segments.iter().enumerate().filter_map(|(at, segment)| {
            segment.parent.map(|parent| Edge {
                from: at,
                to: parent,
                count: segment.stacks,
                is_deadlocked: false,
            })
        });
        Self {
            subject: Subject::Calls,
            nodes: segments
                .iter()
                .enumerate()
                .map(|(at, segment)| node(segment, &locks_at(at, &merged.segments, &locks), stacks))
                .collect(),
            edges: called.collect(),
            left_out: merged.segments.len() - shown + merged.segments_left_out,
        }
    }
}

/// The locks of other crates that threads wait for whose stacks end in this segment, with how many there are of each.
fn locks_at(at: usize, segments: &[Segment], locks: &[Option<String>]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    if segments[at].ends == 0 {
        return counts;
    }
    let inner = segments.iter().filter(|other| other.parent == Some(at));
    let going_on: HashSet<usize> = inner.flat_map(|inner| &inner.members).copied().collect();
    let ending = segments[at].members.iter();
    for lock in ending.filter(|member| !going_on.contains(member)) {
        if let Some(lock) = &locks[*lock] {
            *counts.entry(lock.clone()).or_default() += 1;
        }
    }
    counts
}

fn node(segment: &Segment, locks: &BTreeMap<String, usize>, stacks: &Stacks) -> Node {
    let names = segment.members.iter().take(NAMES_MAX);
    let mut names: Vec<String> = names
        .map(|member| stacks.threads[*member].label())
        .collect();
    if segment.stacks > names.len() {
        names.push("…".to_owned());
    }
    let mut lines = vec![format!(
        "{} · {}",
        counted(segment.stacks, Members::Threads),
        names.join(", ")
    )];
    for (lock, count) in locks {
        lines.push(match count {
            1 => format!("waits for {lock}"),
            _ => format!("{count} wait for {lock}"),
        });
    }
    // The innermost function is at the top, as on a stack.
    let methods = segment.methods.iter().rev();
    lines.extend(methods.take(METHODS_MAX).map(method_line));
    match segment.methods.len() {
        0 => lines.extend(idle_lines(segment, stacks)),
        all if all > METHODS_MAX => lines.push(format!("and {} more calls", all - METHODS_MAX)),
        _ => {}
    }
    Node {
        kind: NodeKind::Threads,
        count: segment.stacks,
        lines,
        is_deadlocked: false,
        tasks: None,
    }
}

/// What is said of threads that are in no function of the program.
fn idle_lines(segment: &Segment, stacks: &Stacks) -> Vec<String> {
    let members = segment.members.iter();
    let idle = members.filter(|member| stacks.threads[**member].is_idle());
    match idle.count() {
        0 => vec!["no function of the program is known".to_owned()],
        idle if idle == segment.members.len() => vec!["idle".to_owned()],
        idle => {
            let others = segment.members.len() - idle;
            vec![
                format!("{idle} idle"),
                format!("{others} in no known function of the program"),
            ]
        }
    }
}

fn method_line(method: &Method) -> String {
    let places = method.places.iter().filter_map(|place| place.at.as_deref());
    let names: Vec<&str> = places
        .take(PLACES_MAX)
        .map(|at| at.rsplit('/').next().unwrap_or(at))
        .collect();
    match names.as_slice() {
        [] => method.function.clone(),
        names => format!("{} at {}", method.function, names.join(", ")),
    }
}

/// More boxes than these would not be read.
const SEGMENTS_MAX: usize = 200;
/// Functions in a box.
const METHODS_MAX: usize = 24;
/// Threads that are named in a box.
const NAMES_MAX: usize = 3;
/// Lines of one function in a box.
const PLACES_MAX: usize = 2;

#[cfg(test)]
pub(crate) mod tests {
    use super::{METHODS_MAX, SEGMENTS_MAX};
    use crate::graph::Graph;
    use crate::stacks::{Frame, FrameKind, Stacks, ThreadStack};
    use crate::svg::draw;

    /// A worker with these functions, the innermost first.
    pub(crate) fn thread(worker: usize, functions: &[&str]) -> ThreadStack {
        let frame = |function: &&str| Frame {
            function: (*function).to_owned(),
            file: Some("/src/office.rs".to_owned()),
            line: Some(7),
            module: "office".to_owned(),
            inlined: false,
            kind: FrameKind::Program,
        };
        ThreadStack {
            runtime: 1,
            worker: Some(worker),
            thread: 70,
            name: "office".to_owned(),
            state: "running".to_owned(),
            task_spawned_at: None,
            missing: None,
            frames: functions.iter().map(frame).collect(),
            cut: false,
        }
    }

    #[test]
    fn functions_stand_above_their_callers_and_common_ones_are_one_box() {
        let threads = vec![
            thread(0, &["file", "work", "serve"]),
            thread(1, &["copy", "work", "serve"]),
            thread(2, &["file", "work", "serve"]),
            thread(3, &[]),
        ];
        let graph = Graph::of_stacks(&Stacks { threads });
        let boxes: Vec<String> = graph
            .nodes
            .iter()
            .map(|node| node.lines.join("|"))
            .collect();
        assert_eq!(
            boxes,
            [
                "1 thread · worker 3|no function of the program is known",
                "3 threads · worker 0, worker 1, worker 2|work at office.rs:7|serve at office.rs:7",
                "2 threads · worker 0, worker 2|file at office.rs:7",
                "1 thread · worker 1|copy at office.rs:7",
            ]
        );
        let edges = graph.edges.iter();
        let edges: Vec<_> = edges.map(|edge| (edge.from, edge.to, edge.count)).collect();
        assert_eq!(edges, [(2, 1, 2), (3, 1, 1)]);
    }

    #[test]
    fn idle_workers_are_shown_without_what_the_library_does_in_them() {
        let mut idle = thread(0, &["<impl FnOnce for F>::call_once", "clone_of_a_thread"]);
        idle.state = "idle".to_owned();
        let of = |threads| {
            let graph = Graph::of_stacks(&Stacks { threads });
            graph.nodes[0].lines.join("|")
        };
        assert_eq!(of(vec![idle.clone()]), "1 thread · worker 0|idle");
        let both = vec![idle, thread(1, &[])];
        assert_eq!(
            of(both.clone()),
            "2 threads · worker 0, worker 1|1 idle|1 in no known function of the program"
        );
        let drawn = draw(&Graph::of_stacks(&Stacks { threads: both }));
        assert!(!drawn.contains('…'), "a line is cut: {drawn}");
    }

    /// A worker that waits for a mutex, called by these functions, the innermost first.
    pub(crate) fn waiting(worker: usize, functions: &[&str]) -> ThreadStack {
        let mut waiting = thread(worker, functions);
        let system = [
            "syscall",
            "std::sys::sync::mutex::futex::Mutex::lock_contended",
        ];
        let system = system.map(|function| Frame {
            function: function.to_owned(),
            kind: FrameKind::System,
            ..waiting.frames[0].clone()
        });
        waiting.frames.splice(0..0, system);
        waiting
    }

    #[test]
    fn a_box_says_how_many_wait_for_locks_where_their_stacks_end() {
        let threads = vec![
            waiting(0, &["file", "work"]),
            waiting(1, &["file", "work"]),
            thread(2, &["file", "work"]),
            waiting(3, &["serve"]),
        ];
        let graph = Graph::of_stacks(&Stacks { threads });
        let boxes: Vec<String> = graph
            .nodes
            .iter()
            .map(|node| node.lines.join("|"))
            .collect();
        let lock = "std::sys::sync::mutex::futex::Mutex::lock_contended at office.rs:7";
        assert_eq!(
            boxes,
            [
                "3 threads · worker 0, worker 1, worker 2|file at office.rs:7|work at office.rs:7"
                    .to_owned(),
                format!("2 threads · worker 0, worker 1|2 wait for a mutex of std|{lock}"),
                format!("1 thread · worker 3|waits for a mutex of std|{lock}|serve at office.rs:7"),
            ]
        );
    }

    #[test]
    fn many_boxes_and_calls_are_cut_and_counted() {
        let deep = vec!["again"; METHODS_MAX + 3];
        let graph = Graph::of_stacks(&Stacks {
            threads: vec![thread(0, &deep)],
        });
        assert_eq!(graph.nodes[0].lines.len(), METHODS_MAX + 2);
        assert_eq!(graph.nodes[0].lines[METHODS_MAX + 1], "and 3 more calls");
        let names: Vec<String> = (0..SEGMENTS_MAX + 4).map(|n| format!("f{n}")).collect();
        let threads = names.iter().enumerate().map(|(n, name)| thread(n, &[name]));
        let graph = Graph::of_stacks(&Stacks {
            threads: threads.collect(),
        });
        assert_eq!((graph.nodes.len(), graph.left_out), (SEGMENTS_MAX, 4));
    }
}
