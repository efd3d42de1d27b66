//! Parallel loops: the same five bodies run by each contender in its natural form.
//!
//! - `sha`: SHA-512 of the 11 bytes "Hello World", the digest dropped: about 230 ns an item.
//! - `saxpy`: `y[i] = a * x[i] + y[i]` over `f32`: about 0.3 ns an item.
//! - `skewed`: about 200 ns an item, but the middle one 1,000 × that.
//! - `sum`: of a slice of `u64`, bound by memory when it is big.
//! - `atomic`: every item adds to one shared `AtomicU64`; no contender can win it.
//!
//! The pool is *hot* (calls back to back), *parked* (2 ms of sleep before each call) or *busy*
//! (another thread of the process keeps a loop running on the same pool).

mod body;
mod busy;
mod case;
mod chili;
mod compare;
mod forte;
mod manyhands;
#[cfg_attr(not(openmp), path = "openmp_absent.rs")]
mod openmp;
mod orx;
mod paralight;
mod rayon;
mod rayon_min_len;
mod sequential;
mod stage;
mod verdict;

use manyhands_lab::contest::{self, Arm, Request, Sample};

pub(crate) use body::sha512;
pub(crate) use chili::Chili;
pub(crate) use compare::compare;
pub(crate) use forte::Forte;
pub(crate) use manyhands::Manyhands;
pub(crate) use openmp::OpenMp;
pub(crate) use orx::Orx;
pub(crate) use paralight::Paralight;
pub(crate) use rayon::Rayon;
pub(crate) use sequential::Sequential;

/// What a contender of this problem can do. Static calls throughout, so that bodies are inlined.
pub(crate) trait Loops: Sized {
    /// Runs the other loop of the busy state: the contender itself but for the sequential arm.
    type Background: Loops;

    /// Makes or finds the pool; the error says why the contender does not exist here.
    fn new() -> Result<Self, String>;

    /// Calls `body` for every index below `len`. Only a contender that is tuned by hand may use
    /// `grain`, the number of items that are about 15 µs of work.
    fn for_range<B: Fn(usize) + Send + Sync>(&mut self, len: usize, grain: usize, body: B);

    /// `y[i] = scale * x[i] + y[i]`.
    fn saxpy(&mut self, scale: f32, x: &[f32], y: &mut [f32]);

    /// The sum of all values.
    fn sum(&mut self, values: &[u64]) -> u64;
}

/// The rows of the tables; the first is the base of the ratios, the second its control.
pub(crate) const ARMS: [Arm; 14] = [
    Arm::base("sequential", "sequential"),
    Arm::base("sequential again", "sequential"),
    Arm::contender("manyhands"),
    Arm::contender("rayon"),
    Arm::contender("rayon-min-len"),
    Arm::contender("chili"),
    Arm::contender("forte"),
    Arm::contender("orx-parallel"),
    Arm::contender("paralight"),
    Arm::contender("openmp"),
    Arm::contender("dotnet-sequential"),
    Arm::contender("dotnet-for"),
    Arm::contender("dotnet-ranges"),
    Arm::contender("dotnet-plinq"),
];

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "sequential" => serve_as::<Sequential>(),
        "manyhands" => serve_as::<Manyhands>(),
        "rayon" => serve_as::<Rayon>(),
        "rayon-min-len" => serve_as::<rayon_min_len::RayonMinLen>(),
        "chili" => serve_as::<Chili>(),
        "forte" => serve_as::<Forte>(),
        "orx-parallel" => serve_as::<Orx>(),
        "paralight" => serve_as::<Paralight>(),
        "openmp" => serve_as::<OpenMp>(),
        _ => return false,
    }
    true
}

fn serve_as<C: Loops>() {
    let mut stage = None;
    serve_with::<C>(|contender, request| stage::answer(contender, &mut stage, request));
}

/// Answers requests by a contender of this problem, or says why it does not exist here.
pub(crate) fn serve_with<C: Loops>(
    mut answer: impl FnMut(&mut C, &Request) -> Result<Sample, String>,
) {
    match C::new() {
        Ok(mut contender) => contest::serve(|request| answer(&mut contender, request)),
        Err(reason) => contest::say_absent(&reason),
    }
}
