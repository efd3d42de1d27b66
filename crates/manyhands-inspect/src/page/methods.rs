//! The functions that threads or tasks are in, each with its picture, for the page to choose from.

use crate::graph::{Graph, Members};
use crate::stacks::method_view::{MethodView, Walk, method_views};
use crate::stacks::{Frames, Stacks};
use crate::svg;
use crate::task_walks::task_walks;
use crate::view::View;
use serde::Serialize;

/// What there is to choose from.
#[derive(Debug, Default, Serialize)]
pub(super) struct Methods {
    /// That with the most threads or tasks first.
    methods: Vec<Method>,
    methods_left_out: usize,
}

/// A function in the middle.
#[derive(Debug, Serialize)]
struct Method {
    function: String,
    /// Threads or tasks that are in it.
    count: usize,
    graph: String,
}

impl Methods {
    /// Of what threads run.
    pub(super) fn of_threads(stacks: &Stacks) -> Self {
        let calls = stacks.calls(Frames::OfProgram);
        let walk = |calls| Walk {
            count: 1,
            stacks: vec![calls],
            ..Walk::default()
        };
        let functions = calls
            .iter()
            .map(|calls| calls.iter().map(|call| call.function.as_str()).collect());
        let walks: Vec<Walk<'_>> = functions.map(walk).collect();
        Self::of(&walks, Members::Threads)
    }

    /// Of what tasks wait for, and in which of their parts.
    pub(super) fn of_tasks(view: &View) -> Self {
        Self::of(&task_walks(view), Members::Tasks)
    }

    fn of(walks: &[Walk<'_>], members: Members) -> Self {
        let views = method_views(walks);
        let method = |view: &MethodView<'_>| Method {
            function: view.function.to_owned(),
            count: view.count,
            graph: svg::draw(&Graph::of_method(view, members)),
        };
        Self {
            methods: views.iter().take(METHODS_MAX).map(method).collect(),
            methods_left_out: views.len().saturating_sub(METHODS_MAX),
        }
    }
}

/// Functions of which there is a picture.
const METHODS_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::{METHODS_MAX, Methods};
    use crate::graph::tests::task;
    use crate::stacks::Stacks;
    use crate::thread_graph::tests::thread;
    use crate::view::View;

    fn listed(methods: &Methods) -> Vec<(&str, usize)> {
        let methods = methods.methods.iter();
        methods
            .map(|method| (method.function.as_str(), method.count))
            .collect()
    }

    #[test]
    fn functions_of_threads_and_of_tasks_are_listed_with_their_pictures() {
        let threads = vec![thread(0, &["file", "work"]), thread(1, &["work"])];
        let methods = Methods::of_threads(&Stacks { threads });
        assert_eq!(listed(&methods), [("work", 2), ("file", 1)]);
        assert!(methods.methods[0].graph.contains("2 threads"));
        let view = View {
            tasks: vec![task(1, "a", &["@7"]), task(2, "a", &["1"])],
            ..View::default()
        };
        let methods = Methods::of_tasks(&view);
        assert_eq!(listed(&methods), [("office::clerk", 2), ("sends", 1)]);
        let picture = &methods.methods[0].graph;
        assert!(
            picture.contains("node method") && picture.contains("1 task&#10;sends"),
            "{picture}"
        );
    }

    #[test]
    fn too_many_functions_are_counted() {
        let tasks = (0..METHODS_MAX + 5).map(|number| {
            let mut task = task(number, "a", &[]);
            task.type_name = format!("office::clerk{number:03}");
            task
        });
        let methods = Methods::of_tasks(&View {
            tasks: tasks.collect(),
            ..View::default()
        });
        // What they do, `runs`, is one more.
        let (listed, left_out) = (listed(&methods), methods.methods_left_out);
        assert_eq!((listed.len(), left_out), (METHODS_MAX, 6));
        assert_eq!(listed[0], ("runs", METHODS_MAX + 5));
    }
}
