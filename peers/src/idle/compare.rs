//! The parent's side: starts all contenders, lets them idle together, and prints what they used.

use std::time::Duration;

use manyhands_lab::contest::{Conditions, Peer, Request, Role, Sample};

use crate::cli::Settings;
use crate::idle::ARMS;
use crate::report::{Outcome, Report};

/// The measurement, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    if settings.rounds.is_some() || !settings.cases.is_empty() || settings.seed.is_some() {
        return Err("idle has no rounds, cases or seed".to_owned());
    }
    let window = if settings.quick {
        Duration::from_secs(2)
    } else {
        Duration::from_secs(10)
    };
    let request = Request {
        case: "idle".to_owned(),
        window,
    };
    let command = settings.command("idle", None);
    let conditions = Conditions::here(None, 0, window, command);
    report.line(&format!("## Idle\n\n{conditions}\n"));
    report.line(&format!(
        "Milliseconds of CPU time in {} idle seconds after 200 ms of work, and threads of the process.\n",
        window.as_secs()
    ));
    let selected = ARMS.iter().filter(|arm| {
        debug_assert_eq!(arm.role, Role::Contender, "idle has no base");
        settings.selects(arm.contender)
    });
    let mut peers: Vec<(&str, Result<Peer, String>)> = selected
        .map(|arm| (arm.label, Peer::start(None, "idle", arm.contender)))
        .collect();
    for (_, peer) in &mut peers {
        ask(peer, &request);
    }
    let mut outcome = Outcome::Agreed;
    let mut rows = Vec::new();
    for (label, peer) in &mut peers {
        rows.push(match peer {
            Err(reason) => without_values(label, format!("absent: {reason}")),
            Ok(peer) => match peer.receive() {
                Ok(sample) => row(label, &sample),
                Err(message) => {
                    outcome = Outcome::Failed;
                    without_values(label, format!("FAILED: {message}"))
                }
            },
        });
    }
    let header = [
        "".to_owned(),
        format!("first {} ms", window.as_millis() / 10),
        "the rest".to_owned(),
        format!("{} s after it", window.as_secs_f64() / 5.0),
        "threads before".to_owned(),
        "threads after".to_owned(),
    ];
    report.table(&header, rows);
    Ok(outcome)
}

/// A send that fails leaves a dead process, which the answer then reports.
fn ask(peer: &mut Result<Peer, String>, request: &Request) {
    if let Ok(peer) = peer {
        let _ = peer.send(request);
    }
}

/// A row that says why it has no values.
fn without_values(label: &str, why: String) -> Vec<String> {
    let values = std::iter::repeat_n("·".to_owned(), 4);
    [label.to_owned(), why].into_iter().chain(values).collect()
}

fn row(label: &str, sample: &Sample) -> Vec<String> {
    let (times, threads) = sample.values.split_at(3);
    let times = times.iter().map(|value| format!("{value:.2} ms"));
    let threads = threads.iter().map(|value| format!("{value:.0}"));
    std::iter::once(label.to_owned())
        .chain(times)
        .chain(threads)
        .collect()
}
