//! Showing what a running program does.

use crate::meant::Inspect;
use crate::output::Failure;
use manyhands_lab::console::Ending;

/// Asks the program once, and prints what it says.
#[cfg(unix)]
pub(crate) fn run(inspect: &Inspect) -> Result<Ending, Failure> {
    use crate::meant::Form;
    use crate::output;
    use manyhands_inspect::Client;

    let socket = match &inspect.socket {
        Some(socket) => socket.clone(),
        None => manyhands_inspect::only_path().map_err(Failure::Inspect)?,
    };
    let mut client = Client::connect(&socket).map_err(Failure::Inspect)?;
    match inspect.form {
        Form::Text => {
            let view = client.view(inspect.tasks_max).map_err(Failure::Inspect)?;
            output::print(&manyhands_inspect::text(&view))?;
        }
        Form::Json => {
            // Not printed before all is there: a part would look like the whole.
            let mut lines = String::new();
            let copied = client.copy(inspect.tasks_max, |line| {
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

/// Nothing gets here, because no path is meant.
#[cfg(not(unix))]
pub(crate) fn run(_: &Inspect) -> Result<Ending, Failure> {
    unreachable!("`mean` refuses the command")
}
