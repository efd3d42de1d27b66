//! How the programs here are measured, with rayon's own core and with the façade: by turns, each time in a process of its own
//! (`manyhands_lab::contest`). The times of a process differ by half of them from one to the next.
//!
//! `cargo xtask compat speed` builds them twice: `PROGRAM ORIGINAL ROUNDS`, where this is the build with the façade.

#![forbid(unsafe_code)]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use manyhands_lab::contest::{
    self, Arm, Build, CaseResult, Contest, Lifetime, Request, Sample, Verdict, end_with_parent,
};

/// How often a program is measured in a process, after it has run once.
const TIMES: usize = 5;
/// What the façade may take, as a multiple of the original's time.
const ALLOWED: f64 = 1.05;
const SEED: u64 = 7;

const ORIGINAL: &str = "original";
const OURS: &str = "ours";
/// The original once more: how far two processes of the same program differ.
const CONTROL: &str = "control";
const ARMS: [Arm; 3] = [
    arm(ORIGINAL, Build::Other),
    arm(OURS, Build::This),
    arm(CONTROL, Build::Other),
];

const fn arm(label: &'static str, build: Build) -> Arm {
    Arm {
        build,
        ..Arm::base(label, "speed")
    }
}

/// The programs, of which the one that is wanted is measured.
#[derive(Debug, Default)]
pub struct Programs {
    wanted: Option<String>,
    names: Vec<String>,
    sample: Option<Sample>,
}

impl Programs {
    /// Measures this one, if it is wanted. Both cores must have the same result.
    pub fn measure<R: Hash>(&mut self, name: &str, program: impl Fn() -> R) {
        self.measure_with(name, || (), |()| program());
    }

    /// As [`measure`](Self::measure), of `program` on what `prepare` makes. The time to make it, and to drop it, does not count.
    pub fn measure_with<T, R: Hash>(
        &mut self,
        name: &str,
        prepare: impl Fn() -> T,
        program: impl Fn(&mut T) -> R,
    ) {
        self.names.push(name.to_owned());
        if self.wanted.as_deref() != Some(name) {
            return;
        }
        let mut times = [Duration::ZERO; TIMES];
        let mut checksum = 0;
        for time in 0..=TIMES {
            let mut input = black_box(prepare());
            let (elapsed, result) = timed(|| program(&mut input));
            checksum = digest(&result);
            if let Some(time) = time.checked_sub(1) {
                times[time] = elapsed;
            }
        }
        times.sort_unstable();
        let values = vec![times[TIMES / 2].as_nanos() as f64];
        self.sample = Some(Sample { checksum, values });
    }
}

/// The whole of such a program, or the child's side of its contest.
pub fn main(list: impl Fn(&mut Programs)) -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match (words.as_slice(), words.get(1).map(|rounds| rounds.parse())) {
        (["child", ..], _) => {
            end_with_parent();
            contest::serve(|request| sample(&list, &request.case));
            ExitCode::SUCCESS
        }
        ([original, _], Some(Ok(rounds))) => compare(&list, original, rounds),
        _ => {
            eprintln!("usage: PROGRAM ORIGINAL ROUNDS");
            ExitCode::from(2)
        }
    }
}

fn sample(list: impl Fn(&mut Programs), name: &str) -> Result<Sample, String> {
    let mut programs = Programs {
        wanted: Some(name.to_owned()),
        ..Programs::default()
    };
    list(&mut programs);
    programs
        .sample
        .ok_or_else(|| format!("there is no `{name}`"))
}

fn compare(list: impl Fn(&mut Programs), original: &str, rounds: usize) -> ExitCode {
    let mut programs = Programs::default();
    list(&mut programs);
    let contest = Contest::new("speed", &ARMS, Lifetime::PerMeasurement, SEED);
    let mut contest = contest.against(Some(original.into()));
    println!("| program | original | ours | ours / original | control | |");
    println!("|---|--:|--:|--:|--:|---|");
    let mut code = ExitCode::SUCCESS;
    for case in programs.names {
        let window = Duration::ZERO;
        let result = contest.run(&Request { case, window }, rounds);
        println!("{}", row(&result));
        for (arm, verdict) in &result.arms {
            if let Verdict::Failed(why) | Verdict::Absent(why) = verdict {
                eprintln!("{}, {}: {why}", result.case, arm.label);
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

/// A line of the table.
fn row(result: &CaseResult) -> String {
    let time = |label| result.median(label, 0).map(contest::time);
    let ratio = |label| result.ratio(label, ORIGINAL, 0);
    let verdict = ratio(OURS).and_then(|ratio| ratio.interval).map(verdict);
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    format!(
        "| {} | {} | {} | {} | {} | {} |",
        result.case,
        or_none(time(ORIGINAL)),
        or_none(time(OURS)),
        or_none(ratio(OURS).map(|ratio| ratio.to_string())),
        or_none(ratio(CONTROL).map(|ratio| ratio.to_string())),
        verdict.unwrap_or_default()
    )
}

fn verdict((low, high): (f64, f64)) -> &'static str {
    match (low > ALLOWED, high < 1.0, high <= ALLOWED) {
        (true, ..) => "**slower**",
        (_, true, _) => "faster",
        (.., true) => "alike",
        _ => "undecided",
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "to read the clock is what this program is for"
)]
fn timed<R>(program: impl FnOnce() -> R) -> (Duration, R) {
    let since = Instant::now();
    let result = black_box(program());
    (since.elapsed(), result)
}

/// The same in each process.
fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::{ARMS, CaseResult, Sample, Verdict, digest, row, sample, verdict};

    #[test]
    fn a_digest_says_whether_results_differ() {
        assert_eq!(digest(&[1, 2]), digest(&[1, 2]));
        assert_ne!(digest(&[1, 2]), digest(&[2, 1]));
    }

    #[test]
    fn only_what_is_wanted_is_measured() {
        let measured = sample(
            |programs| {
                programs.measure("a", || -> u32 { panic!("nobody wants it") });
                programs.measure_with("b", || 4, |number| *number + 1);
            },
            "b",
        );
        assert_eq!(measured.unwrap().checksum, digest(&5));
        assert!(sample(|_| {}, "c").is_err());
    }

    #[test]
    fn ratios_are_those_within_a_round_and_a_failure_has_none() {
        let measured = |nanos: f64| {
            let sample = |round: u8| Sample {
                checksum: 1,
                values: vec![nanos * f64::from(round)],
            };
            Verdict::Measured((1..=9).map(sample).collect())
        };
        let arms = ARMS.into_iter();
        let verdicts = [2e6, 3e6, 2e6].map(measured);
        let mut result = CaseResult {
            case: "a, b".to_owned(),
            arms: arms.zip(verdicts).collect(),
        };
        let ratios = "| 1.50 (1.50 … 1.50) | 1.00 (1.00 … 1.00) | **slower** |";
        assert!(row(&result).ends_with(ratios), "{}", row(&result));
        result.arms[1].1 = Verdict::Failed("it is another one".to_owned());
        assert!(
            row(&result).ends_with("| – | – | 1.00 (1.00 … 1.00) |  |"),
            "{}",
            row(&result)
        );
    }

    #[test]
    fn verdicts_follow_the_interval() {
        assert_eq!(verdict((1.06, 1.2)), "**slower**");
        assert_eq!(verdict((0.8, 0.99)), "faster");
        assert_eq!(verdict((0.8, 1.05)), "alike");
        assert_eq!(verdict((0.8, 1.2)), "undecided");
    }
}
