//! Showing what a running program does.

use crate::meant::Inspect;
use crate::output::Failure;
#[cfg(unix)]
use manyhands_inspect::stacks::Frames;
use manyhands_lab::console::{Ending, Printing};

/// Shows the program as was meant.
#[cfg(unix)]
pub(crate) fn run(inspect: &Inspect, printing: Printing) -> Result<Ending, Failure> {
    use crate::meant::View;

    let socket = match &inspect.socket {
        Some(socket) => socket.clone(),
        None => manyhands_inspect::only_path().map_err(Failure::Inspect)?,
    };
    let tasks_max = inspect.tasks_max;
    match inspect.view.clone() {
        View::Once(form) => print_once(&socket, tasks_max, form)?,
        View::Stacks(frames, form) => show_stacks(&socket, frames, form)?,
        View::PolledTask(task, frames, form) => show_polled_task(&socket, &task, frames, form)?,
        View::Timeline { file, length } => {
            let trace =
                manyhands_inspect::record_timeline(socket, tasks_max, length, TIMELINE_EVERY)
                    .map_err(Failure::Inspect)?;
            let path = file.clone();
            std::fs::write(&file, trace).map_err(|source| Failure::Files { path, source })?;
            let shown = file.display();
            printing.remark(&format!("wrote {shown}; Perfetto's page opens it\n"))?;
        }
        #[cfg(feature = "page")]
        View::Page {
            port,
            every,
            control,
        } => {
            let settings = manyhands_inspect::PageSettings {
                port,
                every,
                tasks_max,
                control,
            };
            serve_page(socket, &settings)?;
        }
        #[cfg(feature = "top")]
        View::Top(every) => show_in_terminal(socket, tasks_max, every)?,
    }
    Ok(Ending::Good)
}

/// Asks the program once, and prints what it says.
#[cfg(unix)]
fn print_once(
    socket: &std::path::Path,
    tasks_max: usize,
    form: crate::meant::Form,
) -> Result<(), Failure> {
    use crate::meant::Form;
    use crate::output;

    let mut client = manyhands_inspect::Client::connect(socket).map_err(Failure::Inspect)?;
    match form {
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
    Ok(())
}

/// Serves the page until the program is interrupted. What is urgent is also said here.
#[cfg(all(feature = "page", unix))]
fn serve_page(
    socket: std::path::PathBuf,
    settings: &manyhands_inspect::PageSettings,
) -> Result<(), Failure> {
    let announce = |address: &str, first: &manyhands_inspect::View| {
        let alarms: String = first.alarms().map(|text| format!("{text}\n\n")).collect();
        // Who redirects the output reads it there.
        let _ = crate::output::print(&format!("{alarms}open {address}\n"));
    };
    manyhands_inspect::serve_page(socket, settings, announce).map_err(Failure::Inspect)
}

#[cfg(all(feature = "top", unix))]
fn show_in_terminal(
    socket: std::path::PathBuf,
    tasks_max: usize,
    every: std::time::Duration,
) -> Result<(), Failure> {
    use std::io::IsTerminal;

    if !std::io::stdout().is_terminal() {
        let complaint = "'manyhands top' needs a terminal; 'manyhands inspect --text' does not";
        return Err(Failure::Arguments(complaint.to_owned()));
    }
    let in_color = match anstream::ColorChoice::global() {
        anstream::ColorChoice::Always => Some(true),
        anstream::ColorChoice::Never => Some(false),
        _ => None,
    };
    let settings = manyhands_inspect::TopSettings {
        every,
        tasks_max,
        in_color,
    };
    manyhands_inspect::top(socket, &settings).map_err(Failure::Inspect)
}

/// Asks the program once for its stacks, and prints them, thread by thread and merged.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
fn show_stacks(
    socket: &std::path::Path,
    frames: Frames,
    form: crate::meant::Form,
) -> Result<(), Failure> {
    use crate::meant::Form;
    use manyhands_inspect::stacks::{Resolver, merged_text, stacks_json, stacks_text};

    let mut client = manyhands_inspect::Client::connect(socket).map_err(Failure::Inspect)?;
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
    Ok(())
}

/// Has the program poll the task once, and prints where it waits.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
fn show_polled_task(
    socket: &std::path::Path,
    task: &str,
    frames: Frames,
    form: crate::meant::Form,
) -> Result<(), Failure> {
    use crate::meant::Form;
    use manyhands_inspect::stacks::{Resolver, polled_task_json, polled_task_text};

    let mut client = manyhands_inspect::Client::connect(socket).map_err(Failure::Inspect)?;
    let raw = client.poll_task(task).map_err(Failure::Inspect)?;
    let polled = Resolver::new().resolve_task(&raw);
    let text = match form {
        Form::Text => polled_task_text(&polled, frames),
        Form::Json => format!("{}\n", polled_task_json(&polled)),
    };
    crate::output::print(&text)?;
    Ok(())
}

/// Nothing gets here, because no stacks are meant.
#[cfg(all(
    unix,
    not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ))
))]
fn show_polled_task(
    _: &std::path::Path,
    _: &str,
    _: Frames,
    _: crate::meant::Form,
) -> Result<(), Failure> {
    unreachable!("`mean` refuses the option")
}

/// Nothing gets here, because no stacks are meant.
#[cfg(all(
    unix,
    not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ))
))]
fn show_stacks(_: &std::path::Path, _: Frames, _: crate::meant::Form) -> Result<(), Failure> {
    unreachable!("`mean` refuses the option")
}

/// Nothing gets here, because no path is meant.
#[cfg(not(unix))]
pub(crate) fn run(_: &Inspect, _: Printing) -> Result<Ending, Failure> {
    unreachable!("`mean` refuses the command")
}

/// Between two looks of a timeline.
#[cfg(unix)]
const TIMELINE_EVERY: std::time::Duration = std::time::Duration::from_millis(20);
