//! What the cluster's chunks cost: an example that measures itself, in release, with its own `nats-server`.

use crate::command::Invocation;
use crate::failure::Failure;

pub(crate) fn run() -> Result<(), Failure> {
    let example = "-p manyhands-cluster --features nats --example costs";
    // Built before it runs, so that one may stop what else the machine does in between.
    Invocation::cargo(&format!("build --release {example}")).run()?;
    Invocation::cargo(&format!("run --release --quiet {example}")).run()
}
