//! A method view as a graph to draw: one function, who calls it above, and what it calls below, of threads or of tasks.
//!
//! Not here: what is counted (`stacks/method_view.rs`), and where the boxes are drawn (`svg.rs`).

use crate::graph::{Edge, Graph, Members, Node, NodeKind, Subject};
use crate::stacks::method_view::MethodView;

impl Graph {
    /// A function in the middle, above it who calls it, or waits for tasks that begin with it, below it what it calls and
    /// the tasks that it waits for. A function that calls itself has a call that leads back.
    pub(crate) fn of_method(view: &MethodView<'_>, members: Members) -> Self {
        let mut graph = Self {
            subject: Subject::Method(members),
            nodes: vec![method_node(view, members)],
            ..Self::default()
        };
        for (above, note) in [
            (&view.callers, None),
            (&view.awaited_by, Some("awaits such a task")),
        ] {
            for called in graph.shown(above) {
                if called.0 != view.function {
                    graph.add(*called, note, members, |new| (new, 0));
                }
            }
        }
        for (below, note) in [(&view.callees, None), (&view.awaits, Some("is awaited"))] {
            for called in graph.shown(below) {
                if called.0 == view.function {
                    graph.edges.push(edge(0, 0, called.1));
                } else {
                    graph.add(*called, note, members, |new| (0, new));
                }
            }
        }
        graph
    }

    /// As many of these as are drawn. Counts the others.
    fn shown<'view, 'text>(
        &mut self,
        around: &'view [(&'text str, usize)],
    ) -> &'view [(&'text str, usize)] {
        let shown = around.len().min(AROUND_MAX);
        self.left_out += around.len() - shown;
        &around[..shown]
    }

    /// Adds a function, and the edge that leads from the first to the second of these boxes.
    fn add(
        &mut self,
        (function, count): (&str, usize),
        note: Option<&str>,
        members: Members,
        of: impl Fn(usize) -> (usize, usize),
    ) {
        let (from, to) = of(self.nodes.len());
        self.edges.push(edge(from, to, count));
        let mut lines = vec![counted(count, members), function.to_owned()];
        lines.extend(note.map(str::to_owned));
        self.nodes.push(Node {
            kind: match members {
                Members::Threads => NodeKind::Threads,
                Members::Tasks => NodeKind::Tasks,
            },
            count,
            lines,
            is_deadlocked: false,
            tasks: None,
        });
    }
}

/// `1 thread`, or `7 tasks`.
pub(crate) fn counted(count: usize, members: Members) -> String {
    let noun = match members {
        Members::Threads => "thread",
        Members::Tasks => "task",
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

fn edge(from: usize, to: usize, count: usize) -> Edge {
    Edge {
        from,
        to,
        count,
        is_deadlocked: false,
    }
}

fn method_node(view: &MethodView<'_>, members: Members) -> Node {
    let mut lines = vec![counted(view.count, members), view.function.to_owned()];
    if view.ends > 0 {
        lines.push(format!("{} in it now", view.ends));
    }
    Node {
        kind: NodeKind::Method,
        count: view.count,
        lines,
        is_deadlocked: false,
        tasks: None,
    }
}

/// Functions of each kind around one.
const AROUND_MAX: usize = 30;

#[cfg(test)]
mod tests {
    use super::AROUND_MAX;
    use crate::graph::{Graph, Members, NodeKind};
    use crate::stacks::method_view::{MethodView, Walk, method_views};
    use crate::svg;

    fn view(function: &str) -> MethodView<'_> {
        MethodView {
            function,
            count: 3,
            ends: 0,
            callers: Vec::new(),
            callees: Vec::new(),
            awaited_by: Vec::new(),
            awaits: Vec::new(),
        }
    }

    /// What is written in each box, and the edges with their counts.
    fn seen(graph: &Graph) -> (Vec<String>, Vec<(usize, usize, usize)>) {
        let boxes = graph.nodes.iter().map(|node| node.lines.join("|"));
        let edges = graph.edges.iter();
        let edges = edges.map(|edge| (edge.from, edge.to, edge.count));
        (boxes.collect(), edges.collect())
    }

    /// Where a box is in a picture.
    fn y_of(drawn: &str, label: &str) -> usize {
        let from = drawn.find(&format!("aria-label=\"{label}")).unwrap();
        let y = drawn[from..].split(" y=\"").nth(1).unwrap();
        y.split('"').next().unwrap().parse().unwrap()
    }

    #[test]
    fn a_function_is_below_its_callers_and_above_what_it_calls() {
        let walk = |stack: [&'static str; 3]| Walk {
            count: 1,
            stacks: vec![stack.to_vec()],
            awaits: Vec::new(),
        };
        let walks = [
            walk(["serve", "work", "file"]),
            walk(["serve", "work", "copy"]),
            walk(["main", "work", "work"]),
        ];
        let views = method_views(&walks);
        assert_eq!(views[0].function, "work");
        let graph = Graph::of_method(&views[0], Members::Threads);
        let (boxes, edges) = seen(&graph);
        assert_eq!(
            boxes,
            [
                "3 threads|work|1 in it now",
                "2 threads|serve",
                "1 thread|main",
                "1 thread|copy",
                "1 thread|file",
            ]
        );
        assert_eq!(graph.nodes[0].kind, NodeKind::Method);
        assert_eq!(
            edges,
            [(1, 0, 2), (2, 0, 1), (0, 3, 1), (0, 4, 1), (0, 0, 1)]
        );
        let drawn = svg::draw(&graph);
        assert!(y_of(&drawn, "2 threads&#10;serve") < y_of(&drawn, "3 threads&#10;work"));
        assert!(y_of(&drawn, "3 threads&#10;work") < y_of(&drawn, "1 thread&#10;file"));
    }

    #[test]
    fn who_awaits_tasks_is_above_and_what_tasks_await_is_below() {
        let graph = Graph::of_method(
            &MethodView {
                awaited_by: vec![("boss", 2), ("clerk", 1)],
                awaits: vec![("printer", 3), ("clerk", 1)],
                ..view("clerk")
            },
            Members::Tasks,
        );
        let (boxes, edges) = seen(&graph);
        assert_eq!(
            boxes,
            [
                "3 tasks|clerk",
                "2 tasks|boss|awaits such a task",
                "3 tasks|printer|is awaited"
            ]
        );
        assert_eq!(edges, [(1, 0, 2), (0, 2, 3), (0, 0, 1)]);
        let drawn = svg::draw(&graph);
        assert!(y_of(&drawn, "2 tasks&#10;boss") < y_of(&drawn, "3 tasks&#10;clerk"));
        assert!(y_of(&drawn, "3 tasks&#10;clerk") < y_of(&drawn, "3 tasks&#10;printer"));
    }

    #[test]
    fn too_many_callers_are_counted_and_not_drawn() {
        let names: Vec<String> = (0..AROUND_MAX + 3).map(|n| format!("f{n}")).collect();
        let callers = names.iter().map(|name| (name.as_str(), 1)).collect();
        let view = MethodView {
            callers,
            ..view("work")
        };
        let graph = Graph::of_method(&view, Members::Threads);
        assert_eq!((graph.nodes.len(), graph.left_out), (AROUND_MAX + 1, 3));
    }
}
