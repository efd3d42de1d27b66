//! All steps, with the time of each; stops at the first that fails.
//!
//! Three processes run them, each its own in order, because most steps cannot fill two processors: cargo waits for
//! one crate, a test for another process. What one of them builds, the others do not need. The first has the
//! seconds, then what finds most. As soon as it has built the tests it starts those of the tools, which mostly wait for
//! processes and for a server. The library's tests come last, when the others have ended and what they said is printed: what
//! looks at time, or at what runs when, wants the processors for itself.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::clock::Stopwatch;
use crate::command::Running;
use crate::step::compat::Part;
use crate::step::{
    self, commands, explore::Extent, loom::PREEMPTIONS_DEFAULT, miri::SEEDS_DEFAULT,
};
use crate::tidy;
use crate::workspace;

type Step = (&'static str, fn() -> Result<()>);

const STEPS: &[Step] = &[
    ("format", commands::format),
    ("tidy", tidy::run),
    ("clippy", commands::clippy),
    ("test build", step::test_programs::build),
];

const STEPS_AFTER_BUILD: &[Step] = &[
    ("docs", commands::docs),
    ("surface", step::surface::run),
    ("depends", step::dependencies::run),
    ("package", step::package::run),
    ("examples", step::examples::run),
    ("cluster", step::examples::run_of_cluster),
    ("mpi", step::mpi::run),
];

const STEPS_ALONE: &[Step] = &[("test", step::test_programs::run_of_library)];

const STEPS_OF_MODELS: &[Step] = &[
    ("peers", commands::peers),
    ("compat", || step::compat::run(&[Part::Short])),
    ("loom", || step::loom::run(PREEMPTIONS_DEFAULT)),
    ("miri", || step::miri::run(SEEDS_DEFAULT)),
    ("explore", || step::explore::run(&Extent::default())),
];

const STEPS_OF_TOOLS: &[Step] = &[("test tools", step::test_programs::run_of_tools)];

/// What processes run beside the first, by name.
const LANES: [(&str, &[Step]); 2] = [("models", STEPS_OF_MODELS), ("tools", STEPS_OF_TOOLS)];

/// Prints the steps of each process, in their order.
pub(crate) fn list() -> Result<()> {
    let first = [("first", STEPS), ("then", STEPS_AFTER_BUILD)];
    for (name, steps) in first.iter().chain(&LANES).chain(&[("alone", STEPS_ALONE)]) {
        let names: Vec<&str> = steps.iter().map(|step| step.0).collect();
        println!("{name:8}{}", names.join(", "));
    }
    Ok(())
}

/// The steps of a process beside the first.
pub(crate) fn run_lane(name: &str) -> Result<()> {
    let lane = LANES.iter().find(|lane| lane.0 == name);
    run_in_order(
        lane.with_context(|| format!("there is no lane `{name}`"))?
            .1,
    )
}

/// The steps of the first process, with the others beside it, and then those that want the machine for themselves.
pub(crate) fn run() -> Result<()> {
    let watch = Stopwatch::start();
    let models = Beside::start("models")?;
    run_in_order(STEPS)?;
    let tools = Beside::start("tools")?;
    run_in_order(STEPS_AFTER_BUILD)?;
    tools.finish()?;
    models.finish()?;
    let outcome = run_in_order(STEPS_ALONE);
    println!("all steps in {:.1} s", watch.elapsed().as_secs_f64());
    outcome
}

/// Another process. One that is dropped before it has finished is killed; what its step has started may go on
/// to the end of that step.
struct Beside {
    process: Running,
    log: PathBuf,
    lane: &'static str,
}

impl Beside {
    fn start(lane: &'static str) -> Result<Self> {
        let log = workspace::target_subdir(&format!("ci-{lane}.log"));
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let process = Command::new(std::env::current_exe()?)
            .args(["ci", "--lane", lane])
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .context("cannot start the steps beside")?;
        println!("more steps run beside, into {}", log.display());
        Ok(Self {
            process: Running(process),
            log,
            lane,
        })
    }

    /// Waits for it, and prints what it said.
    fn finish(mut self) -> Result<()> {
        let ended = self.process.0.wait();
        let status = ended.context("cannot end the steps beside")?;
        println!("{}", workspace::read(&self.log)?);
        let lane = self.lane;
        ensure!(status.success(), "a step of the {lane} failed: {status}");
        Ok(())
    }
}

/// Runs steps until one fails.
fn run_in_order(steps: &[Step]) -> Result<()> {
    for (idx, (name, run)) in steps.iter().enumerate() {
        println!("\n==> {name} ({} of {})", idx + 1, steps.len());
        let watch = Stopwatch::start();
        run().with_context(|| format!("step `{name}`"))?;
        println!(
            "<== {name}: passed in {:.1} s",
            watch.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BROKEN: &[Step] = &[
        ("good", || Ok(())),
        ("bad", || anyhow::bail!("the lamp is out")),
        ("never", || panic!("started after a failure")),
    ];

    #[test]
    fn the_first_failure_stops_the_run_and_is_named() {
        let failure = run_in_order(BROKEN).unwrap_err();
        assert_eq!(format!("{failure:#}"), "step `bad`: the lamp is out");
        assert!(run_in_order(&BROKEN[..1]).is_ok());
    }
}
