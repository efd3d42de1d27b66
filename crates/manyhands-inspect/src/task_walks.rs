//! Tasks as they go through functions: their type, the annotated frames that they are in, and what they wait for there.
//!
//! Not here: what is counted of it (`stacks/method_view.rs`).

use crate::graph::{sentence, work};
use crate::stacks::method_view::Walk;
use crate::view::View;
use crate::words::{frames_around, innermost_frames};
use manyhands_wire::{Group, Task};
use std::collections::HashMap;

/// A walk of each task, or of each group if the program has sent these because it has more tasks than were asked for.
pub(crate) fn task_walks(view: &View) -> Vec<Walk<'_>> {
    if !view.groups.is_empty() {
        return view.groups.iter().map(of_group).collect();
    }
    let outermost = |task| (outermost_of(task), task);
    let tasks = view.tasks.iter().map(outermost);
    let types: HashMap<&str, &str> = tasks
        .map(|(function, task)| (task.number.as_str(), function))
        .collect();
    let walk = |task| of_task(task, &types);
    view.tasks.iter().map(walk).collect()
}

fn outermost_of(task: &Task) -> &str {
    work(&task.kind, &task.type_name)
}

/// The walk of a task, with the outermost function of each task by its number.
fn of_task<'view>(task: &'view Task, types: &HashMap<&str, &'view str>) -> Walk<'view> {
    let mut walk = Walk {
        count: 1,
        ..Walk::default()
    };
    for wait in &task.waits {
        let mut stack = stack_to(task, wait.frame);
        let owner = wait.owner.as_deref();
        match owner.and_then(|number| types.get(number)) {
            Some(awaited) => {
                let waiting = stack[stack.len() - 1];
                walk.awaits.push((waiting, *awaited));
            }
            None => stack.push(sentence(&wait.kind)),
        }
        walk.stacks.push(stack);
    }
    if task.waits.is_empty() {
        let innermost = innermost_frames(task);
        walk.stacks = innermost.map(|place| stack_to(task, Some(place))).collect();
        if walk.stacks.is_empty() {
            walk.stacks.push(stack_to(task, None));
        }
        for stack in &mut walk.stacks {
            stack.push(without_waits(&task.state));
        }
    }
    walk
}

/// The functions of a task from its type to this frame.
fn stack_to(task: &Task, innermost: Option<usize>) -> Vec<&str> {
    let mut stack = vec![outermost_of(task)];
    stack.extend(frames_around(task, innermost));
    stack
}

fn of_group(group: &Group) -> Walk<'_> {
    let frames = group.frames.iter().map(|frame| frame.name.as_str());
    let mut stack = vec![work(&group.kind, &group.type_name)];
    stack.extend(frames);
    stack.push(match &group.waits_for {
        Some(kind) => sentence(kind),
        None => without_waits(&group.state),
    });
    Walk {
        count: group.tasks,
        stacks: vec![stack],
        awaits: Vec::new(),
    }
}

/// What a task in this state does that waits for nothing that is recorded.
fn without_waits(state: &str) -> &str {
    match state {
        "running" => "runs",
        "queued" => "is queued",
        "blocked" => "blocks its thread",
        "waiting" => "waits for what is not recorded",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::task_walks;
    use crate::graph::Graph;
    use crate::graph::tests::{group, task};
    use crate::groups::Groups;
    use crate::stacks::method_view::{Walk, method_views};
    use crate::view::View;
    use manyhands_wire::{Frame, GroupFrame, Task};

    fn walks(view: &View) -> Vec<(usize, Vec<String>, Vec<String>)> {
        let line = |walk: Walk<'_>| {
            let stacks = walk.stacks.iter().map(|stack| stack.join(" > ")).collect();
            let awaits = walk.awaits.iter();
            let awaits = awaits.map(|(one, other)| format!("{one} > {other}"));
            (walk.count, stacks, awaits.collect())
        };
        task_walks(view).into_iter().map(line).collect()
    }

    fn of_type(mut task: Task, type_name: &str) -> Task {
        task.type_name = type_name.to_owned();
        task
    }

    fn with_frames(mut task: Task, frames: &[(&str, Option<usize>)]) -> Task {
        let frame = |(name, outer): &(&str, Option<usize>)| Frame {
            name: (*name).to_owned(),
            at: "src/office.rs:4:5".to_owned(),
            outer: *outer,
        };
        task.frames = frames.iter().map(frame).collect();
        task
    }

    #[test]
    fn a_task_goes_from_its_type_through_its_frames_to_each_of_its_waits() {
        let frames = [
            ("serve", None),
            ("fetch", Some(0)),
            ("log", Some(0)),
            ("odd", Some(3)),
        ];
        let mut clerk = with_frames(task(1, "a", &["@7", "@8", "@9", "@6"]), &frames);
        for (wait, frame) in clerk
            .waits
            .iter_mut()
            .zip([Some(1), None, Some(3), Some(9)])
        {
            wait.frame = frame;
        }
        let view = View {
            tasks: vec![clerk],
            ..View::default()
        };
        let stacks = [
            "office::clerk > serve > fetch > sends",
            "office::clerk > sends",
            "office::clerk > odd > sends",
            "office::clerk > sends",
        ];
        assert_eq!(
            walks(&view),
            [(1, stacks.map(str::to_owned).to_vec(), Vec::new())]
        );
    }

    #[test]
    fn a_wait_for_a_task_leads_to_the_type_of_that_task_if_it_is_known() {
        let mut boss = with_frames(task(1, "a", &["2", "77"]), &[("ask", None)]);
        boss.waits[0].frame = Some(0);
        let view = View {
            tasks: vec![of_type(boss, "office::boss"), task(2, "b", &[])],
            ..View::default()
        };
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        assert_eq!(
            walks(&view),
            [
                (
                    1,
                    lines(&["office::boss > ask", "office::boss > awaits a task"]),
                    lines(&["ask > office::clerk"])
                ),
                (1, lines(&["office::clerk > runs"]), lines(&[])),
            ]
        );
    }

    #[test]
    fn a_task_without_a_wait_is_in_its_innermost_frames() {
        let mut queued = with_frames(
            task(1, "a", &[]),
            &[("serve", None), ("fetch", Some(0)), ("log", Some(0))],
        );
        queued.state = "queued".to_owned();
        let view = View {
            tasks: vec![queued],
            ..View::default()
        };
        let stacks = ["fetch", "log"];
        let stacks = stacks.map(|name| format!("office::clerk > serve > {name} > is queued"));
        assert_eq!(walks(&view), [(1, stacks.to_vec(), Vec::new())]);
    }

    #[test]
    fn groups_stand_for_their_tasks() {
        let mut clerks = group(1_000_000, "src/a.rs:1:1");
        clerks.frames = vec![GroupFrame {
            name: "serve".to_owned(),
            at: "src/office.rs:4:5".to_owned(),
        }];
        let view = View {
            tasks: vec![task(1, "a", &[])],
            groups: vec![clerks],
            ..View::default()
        };
        let stack = "office::clerk > serve > awaits a task".to_owned();
        assert_eq!(walks(&view), [(1_000_000, vec![stack], Vec::new())]);
    }

    #[test]
    fn numbers_that_no_program_has_are_added_up_to_as_many_as_can_be() {
        let of_all = |place: &str| group(usize::MAX, place);
        let group = || of_all("src/a.rs:1:1");
        let groups = vec![group(), group()];
        let view = View {
            groups: groups.clone(),
            groups_left_out: usize::MAX,
            tasks_left_out: usize::MAX,
            ..View::default()
        };
        let views = method_views(&task_walks(&view));
        assert!(views.iter().all(|method| method.count == usize::MAX));
        let graph = Groups {
            groups,
            groups_left_out: 0,
        };
        assert_eq!(graph.graph().stacks, usize::MAX);
        // More than are drawn.
        let places = (0..1_000).map(|line| format!("src/b.rs:{line}:1"));
        let nodes = places.map(|place| of_all(&place));
        let view = View {
            groups: nodes.chain([group(), group()]).collect(),
            ..view
        };
        assert_eq!(Graph::of(&view).left_out, usize::MAX);
    }
}
