//! Showing what a running program does.

use crate::meant::{Form, Inspect, View};
use crate::output::{self, Failure};
use manyhands_inspect::{Client, stacks::Frames};
use manyhands_lab::console::{Ending, Printing};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// Shows the program as was meant.
pub(crate) fn run(inspect: &Inspect, printing: Printing) -> Result<Ending, Failure> {
    let socket = match &inspect.socket {
        Some(socket) => socket.clone(),
        None => manyhands_inspect::only_path()?,
    };
    let tasks_max = inspect.tasks_max;
    match inspect.view.clone() {
        View::Once(form) => print_once(&socket, tasks_max, form)?,
        View::Stacks(frames, form) => show_stacks(&socket, None, frames, form)?,
        View::PolledTask(task, frames, form) => show_stacks(&socket, Some(&task), frames, form)?,
        View::Timeline { file, length } => {
            let path = file.clone();
            let not_written = move |source| Failure::Files { path, source };
            // Before anything is recorded: what is found out afterwards would cost the record.
            let opened = File::options().append(true).create(true).open(&file);
            opened.map_err(not_written.clone())?;
            let trace =
                manyhands_inspect::record_timeline(socket, tasks_max, length, TIMELINE_EVERY)?;
            std::fs::write(&file, trace).map_err(not_written)?;
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
fn print_once(socket: &Path, tasks_max: usize, form: Form) -> Result<(), Failure> {
    let mut client = Client::connect(socket)?;
    match form {
        Form::Text => {
            let view = client.view(tasks_max)?;
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
            copied?;
            output::print(&lines)?;
        }
    }
    Ok(())
}

/// Serves the page until the program is interrupted. What is urgent is also said here.
#[cfg(feature = "page")]
fn serve_page(
    socket: std::path::PathBuf,
    settings: &manyhands_inspect::PageSettings,
) -> Result<(), Failure> {
    let announce = |address: &str, first: &manyhands_inspect::View| {
        let alarms: String = first.alarms().map(|text| format!("{text}\n\n")).collect();
        // Who redirects the output reads it there.
        let _ = output::print(&format!("{alarms}open {address}\n"));
    };
    Ok(manyhands_inspect::serve_page(socket, settings, announce)?)
}

#[cfg(feature = "top")]
fn show_in_terminal(
    socket: std::path::PathBuf,
    tasks_max: usize,
    every: Duration,
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
    Ok(manyhands_inspect::top(socket, &settings)?)
}

/// Asks the program once for its stacks, and prints them, thread by thread and merged; or has it poll this task once, and
/// prints where it waits.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
fn show_stacks(
    socket: &Path,
    task: Option<&str>,
    frames: Frames,
    form: Form,
) -> Result<(), Failure> {
    use manyhands_inspect::stacks::{self, Resolver, merged_text};

    let mut client = Client::connect(socket)?;
    let mut resolver = Resolver::new();
    let text = if let Some(task) = task {
        let polled = resolver.resolve_task(&client.poll_task(task)?);
        match form {
            Form::Text => stacks::polled_task_text(&polled, frames),
            Form::Json => format!("{}\n", stacks::polled_task_json(&polled)),
        }
    } else {
        let raw = client.raw_stacks()?;
        let tasks = client.groups()?;
        let threads = resolver.resolve(&raw);
        match form {
            Form::Text => {
                let label = |member: usize| threads.threads[member].label();
                let merged = merged_text(&threads.graph(frames), "threads", label);
                let label = |group: usize| tasks.groups[group].label();
                let of_tasks = merged_text(&tasks.graph(), "tasks", label);
                let each = stacks::stacks_text(&threads, frames);
                format!("{each}\n{merged}\n{of_tasks}")
            }
            Form::Json => format!("{}\n", stacks::stacks_json(&threads, &tasks, frames)),
        }
    };
    Ok(output::print(&text)?)
}

/// Nothing gets here, because no stacks are meant.
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
fn show_stacks(_: &Path, _: Option<&str>, _: Frames, _: Form) -> Result<(), Failure> {
    unreachable!("`mean` refuses the option")
}

/// Between two looks of a timeline.
const TIMELINE_EVERY: Duration = Duration::from_millis(20);
