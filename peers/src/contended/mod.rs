//! Parallel loops whose bodies slow each other down, and loops whose items differ so much that they look as if they did.
//!
//! The contenders are those of the loops. Calls come back to back.

mod case;
mod compare;

use manyhands_lab::contest::{Arm, Request, Sample};

use crate::loops::{self, Loops, Manyhands, OpenMp, Orx, Rayon, Sequential};
use crate::window;
use case::Case;

pub(crate) use compare::compare;

/// The rows of the tables; the first is the base of the ratios, the second its control.
pub(crate) const ARMS: [Arm; 6] = [
    Arm::base("sequential", "sequential"),
    Arm::base("sequential again", "sequential"),
    Arm::contender("manyhands"),
    Arm::contender("rayon"),
    Arm::contender("orx-parallel"),
    Arm::contender("openmp"),
];

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "sequential" => serve_as::<Sequential>(),
        "manyhands" => serve_as::<Manyhands>(),
        "rayon" => serve_as::<Rayon>(),
        "orx-parallel" => serve_as::<Orx>(),
        "openmp" => serve_as::<OpenMp>(),
        _ => return false,
    }
    true
}

fn serve_as<C: Loops>() {
    let mut known: Option<(Case, f64)> = None;
    loops::serve_with::<C>(|contender, request| answer(contender, request, &mut known));
}

fn answer<C: Loops>(
    contender: &mut C,
    request: &Request,
    known: &mut Option<(Case, f64)>,
) -> Result<Sample, String> {
    let case = Case::parse(&request.case).ok_or_else(|| format!("no case '{}'", request.case))?;
    let known_nanos = known.filter(|(of, _)| *of == case).map(|(_, nanos)| nanos);
    // Every call gives the same number, so a wrong one anywhere shows in the maximum.
    let mut checksum = 0;
    let nanos = window::back_to_back(request.window, known_nanos, || {
        checksum = checksum.max(case.run(contender));
    });
    *known = Some((case, nanos));
    Ok(Sample {
        checksum,
        values: vec![nanos],
    })
}
