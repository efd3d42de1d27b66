//! Each crate builds from its own archive, as those who download it get it: nothing that it needs is left
//! out, such as a template, a font or a licence.

use crate::command::Invocation;
use crate::failure::Failure;

pub(crate) fn run() -> Result<(), Failure> {
    // By hand it also says whether what is not committed yet would build.
    let mut invocation = Invocation::cargo("package --locked --allow-dirty");
    for name in CRATES {
        invocation = invocation.arg("--package").arg(name);
    }
    invocation.run()
}

/// The crates that are published, each after those it depends on.
const CRATES: [&str; 6] = [
    "manyhands",
    "manyhands-lab",
    "manyhands-inspect",
    "manyhands-fleet",
    "manyhands-cluster",
    "manyhands-cli",
];
