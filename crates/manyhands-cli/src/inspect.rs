//! Showing what a running program does.

use crate::meant::Inspect;
use crate::output::Failure;
#[cfg(unix)]
use manyhands_inspect::stacks::Frames;
use manyhands_lab::console::Ending;

/// Asks the program once, and prints what it says.
#[cfg(unix)]
pub(crate) fn run(inspect: &Inspect) -> Result<Ending, Failure> {
    use crate::meant::{Form, Subject};
    use crate::output;
    use manyhands_inspect::Client;

    let socket = match &inspect.socket {
        Some(socket) => socket.clone(),
        None => manyhands_inspect::only_path().map_err(Failure::Inspect)?,
    };
    let mut client = Client::connect(&socket).map_err(Failure::Inspect)?;
    let tasks_max = match inspect.subject {
        Subject::Tasks(max) => max,
        Subject::Stacks(frames) => return show_stacks(&mut client, frames, inspect.form),
    };
    match inspect.form {
        Form::Text => {
            let view = client.view(tasks_max).map_err(Failure::Inspect)?;
            output::print(&manyhands_inspect::text(&view))?;
        }
        Form::Json => {
            // Not printed before all is there: a part would look like the whole.
            let mut lines = String::new();
            let copied = client.copy(tasks_max, |line| {
                lines.push_str(line);
                lines.push('\n');
                Ok(())
            });
            copied.map_err(Failure::Inspect)?;
            output::print(&lines)?;
        }
    }
    Ok(Ending::Good)
}

/// Asks the program once for its stacks, and prints them, thread by thread and merged.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
fn show_stacks(
    client: &mut manyhands_inspect::Client,
    frames: Frames,
    form: crate::meant::Form,
) -> Result<Ending, Failure> {
    use crate::meant::Form;
    use manyhands_inspect::stacks::{Resolver, merged_text, stacks_json, stacks_text};

    let raw = client.raw_stacks().map_err(Failure::Inspect)?;
    let tasks = client.groups().map_err(Failure::Inspect)?;
    let stacks = Resolver::new().resolve(&raw);
    let text = match form {
        Form::Text => {
            let graph = stacks.graph(frames);
            let merged = merged_text(&graph, "threads", |member| stacks.threads[member].label());
            let of_tasks =
                merged_text(&tasks.graph(), "tasks", |group| tasks.groups[group].label());
            format!("{}\n{merged}\n{of_tasks}", stacks_text(&stacks, frames))
        }
        Form::Json => format!("{}\n", stacks_json(&stacks, &tasks, frames)),
    };
    crate::output::print(&text)?;
    Ok(Ending::Good)
}

/// Nothing gets here, because no stacks are meant.
#[cfg(all(
    unix,
    not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ))
))]
fn show_stacks(
    _: &mut manyhands_inspect::Client,
    _: Frames,
    _: crate::meant::Form,
) -> Result<Ending, Failure> {
    unreachable!("`mean` refuses the option")
}

/// Nothing gets here, because no path is meant.
#[cfg(not(unix))]
pub(crate) fn run(_: &Inspect) -> Result<Ending, Failure> {
    unreachable!("`mean` refuses the command")
}
