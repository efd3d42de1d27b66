//! Options of a run as typed on a command line, and what they mean.

use crate::{
    machine::PinError,
    plain::is_harmful,
    record::{PoolState, Scale, Settings},
    store::Existing,
    system,
};
use clap::Args;
use std::{path::PathBuf, time::Duration};

/// Options that every measuring command takes.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own on the command line"
)]
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct Options {
    /// Small sizes and few blocks: an answer within minutes
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,

    /// All published sizes, also those whose calls take many seconds
    #[arg(long)]
    pub full: bool,

    /// Time for all measurements together, such as 90s, 2m or 1h30m [default: as long as it takes]
    #[arg(long, value_name = "TIME", value_parser = parse_budget, allow_negative_numbers = true)]
    pub budget: Option<Duration>,

    /// Number that fixes the order of the arms and the resamples [default: drawn and printed]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Folder for the results
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Replace an earlier run in that folder, with all files that were made of it
    #[arg(long)]
    pub replace: bool,

    /// Whether the pool's threads are awake, asleep or not started yet when a call begins [default: warm]
    #[arg(long, value_name = "STATE")]
    pub pool: Option<PoolState>,

    /// Workers of the pool [default: one per CPU]
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,

    /// Numbers of CPUs that every arm is confined to, one after the other, such as 1,2,4; pools are as large
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub cpus: Vec<usize>,

    /// Numbers of copies of each call that run at once, contending for as many CPUs, such as 1,2,4
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub copies: Vec<usize>,

    /// A program with the same experiments, given twice or more: each arm is paired with its namesakes in the others
    #[arg(long = "build", value_name = "PROGRAM")]
    pub builds: Vec<PathBuf>,

    /// Fresh processes per case, 3 to 64
    #[arg(long, value_name = "N")]
    pub launches: Option<u32>,

    /// Also measure the peak memory of each arm, at up to three sizes and three times each, in processes of their own
    #[arg(long)]
    pub memory: bool,

    /// Also record how busy each core is while an arm runs at the largest size
    #[arg(long)]
    pub cores: bool,

    /// Measure also on battery
    #[arg(long)]
    pub force: bool,
}

impl Options {
    /// The settings these options mean, or one line that says why there are none.
    ///
    /// # Errors
    /// A text that names the option and the value that make no sense.
    pub fn settings(&self) -> Result<Settings, String> {
        let scale = match (self.quick, self.full) {
            (true, _) => Scale::Quick,
            (_, true) => Scale::Full,
            _ => Scale::Standard,
        };
        let seed = self.seed.unwrap_or_else(Settings::drawn_seed);
        let mut settings = Settings::new(scale, seed);
        if let Some(launches) = self.launches {
            if !(LAUNCHES_MIN..=LAUNCHES_MAX).contains(&launches) {
                return Err(format!(
                    "'--launches {launches}' is not between {LAUNCHES_MIN} and {LAUNCHES_MAX}"
                ));
            }
            settings.launches = launches;
        }
        if self
            .workers
            .is_some_and(|n| !(1..=WORKERS_MAX).contains(&n))
        {
            return Err(format!("'--workers' is not between 1 and {WORKERS_MAX}"));
        }
        settings.workers = self.workers;
        settings.cpus = cpus("--cpus", &self.cpus)?;
        settings.copies = cpus("--copies", &self.copies)?;
        settings.builds = builds(&self.builds)?;
        settings.budget = self.budget;
        settings.pool = self.pool.unwrap_or(PoolState::Warm);
        settings.memory = self.memory;
        settings.cores = self.cores;
        Ok(settings)
    }

    /// What to do with a run that is in the folder already.
    #[must_use]
    pub fn existing(&self) -> Existing {
        if self.replace {
            Existing::Replace
        } else {
            Existing::Keep
        }
    }

    /// The folder for the results.
    ///
    /// # Errors
    /// A text, if it is a file or has no name.
    pub fn folder(&self, default: &str) -> Result<PathBuf, String> {
        let out = self.out.clone().unwrap_or_else(|| default.into());
        if out.as_os_str().is_empty() {
            return Err("'--out' needs the name of a folder".to_owned());
        }
        if out.exists() && !out.is_dir() {
            return Err(format!("'--out {}' is a file, not a folder", out.display()));
        }
        Ok(out)
    }
}

/// Programs to compare: none, or two and more that are there, each of another name or folder.
fn builds(asked: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    if asked.len() == 1 {
        return Err("'--build' is given once for each program, at least twice".to_owned());
    }
    let found = asked.iter().enumerate().map(|(place, build)| {
        let shown = build.display();
        if asked[..place].contains(build) {
            return Err(format!("'--build {shown}' is given twice"));
        }
        let unusable = |error| format!("'--build {shown}' cannot be used: {error}");
        let build = build.canonicalize().map_err(unusable)?;
        match build.to_str() {
            Some(name) if !name.chars().any(is_harmful) => Ok(build),
            _ => Err(format!(
                "'--build {shown}' has characters that no report can show"
            )),
        }
    });
    found.collect()
}

/// Numbers of CPUs, ascending, that a process may be confined to here.
fn cpus(option: &str, asked: &[usize]) -> Result<Vec<usize>, String> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let Some(allowed) = system::allowed_cpus().map(|cpus| cpus.len()) else {
        return Err(format!("'{option}': {}", PinError::NotSupported));
    };
    let mut cpus = asked.to_vec();
    cpus.sort_unstable();
    cpus.dedup();
    let possible = 1..=allowed;
    match cpus.iter().find(|cpus| !possible.contains(cpus)) {
        Some(impossible) => Err(format!(
            "'{option} {impossible}': this process may use 1 to {allowed} CPUs"
        )),
        None => Ok(cpus),
    }
}

/// Reads a time; a plain number is seconds.
///
/// # Errors
/// A text, unless it lies between a second and a week.
pub fn parse_budget(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok();
    let budget = match seconds {
        Some(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?,
        None => humantime::parse_duration(text).map_err(|error| error.to_string())?,
    };
    if (BUDGET_MIN..=BUDGET_MAX).contains(&budget) {
        Ok(budget)
    } else {
        Err("a budget lies between one second and a week".to_owned())
    }
}

const LAUNCHES_MIN: u32 = 3;
const LAUNCHES_MAX: u32 = 64;
const WORKERS_MAX: usize = 1_024;
const BUDGET_MIN: Duration = Duration::from_secs(1);
const BUDGET_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_numbers_of_seconds_or_have_units() {
        fn check(text: &str, seconds: f64) {
            let expected = Duration::from_secs_f64(seconds);
            assert_eq!(parse_budget(text), Ok(expected), "{text}");
        }
        check("40", 40.0);
        check("2.5", 2.5);
        check("90s", 90.0);
        check("2m", 120.0);
        check("1h30m", 5_400.0);
        for text in ["", "soon", "0", "-5", "0.5", "NaN", "inf", "1e9", "3w"] {
            assert!(parse_budget(text).is_err(), "{text}");
        }
    }

    #[test]
    fn options_fill_the_settings() {
        let options = Options {
            quick: true,
            seed: Some(7),
            launches: Some(5),
            pool: Some(PoolState::Parked),
            workers: Some(3),
            ..Options::default()
        };
        let settings = options.settings().unwrap();
        assert_eq!(settings.scale, Scale::Quick);
        assert_eq!((settings.seed, settings.launches), (7, 5));
        assert_eq!(settings.pool, PoolState::Parked);
        assert_eq!(settings.workers, Some(3));
        assert_eq!(
            Options::default().settings().unwrap().scale,
            Scale::Standard
        );
    }

    #[test]
    fn impossible_numbers_are_refused_in_one_line() {
        fn check(options: &Options, culprit: &str) {
            let complaint = options.settings().unwrap_err();
            assert!(complaint.contains(culprit), "{complaint}");
            assert!(!complaint.contains('\n'));
        }
        for launches in [0, 1, 2, 65] {
            let launches = Some(launches);
            let options = Options {
                launches,
                ..Options::default()
            };
            check(&options, "--launches");
        }
        for workers in [0, 1_025] {
            let workers = Some(workers);
            let options = Options {
                workers,
                ..Options::default()
            };
            check(&options, "--workers");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn cpus_are_sorted_and_more_than_there_are_are_refused() {
        let options = |cpus: &[usize]| Options {
            cpus: cpus.to_vec(),
            ..Options::default()
        };
        assert_eq!(options(&[1, 1]).settings().unwrap().cpus, [1]);
        for impossible in [0, 100_000] {
            let complaint = options(&[1, impossible]).settings().unwrap_err();
            assert!(complaint.contains(&impossible.to_string()), "{complaint}");
        }
    }

    #[test]
    fn one_build_alone_or_one_that_is_missing_is_refused() {
        let complaint = |builds: &[&str]| {
            let builds = builds.iter().map(PathBuf::from).collect();
            let options = Options {
                builds,
                ..Options::default()
            };
            options.settings().unwrap_err()
        };
        assert!(complaint(&["Cargo.toml"]).contains("at least twice"));
        assert!(complaint(&["Cargo.toml", "Cargo.toml"]).contains("given twice"));
        assert!(complaint(&["Cargo.toml", "no-such"]).contains("no-such"));
    }

    #[test]
    fn a_file_is_no_folder() {
        let folder = |out: &str| {
            let out = Some(out.into());
            Options {
                out,
                ..Options::default()
            }
            .folder("results")
        };
        assert!(folder("").is_err());
        assert!(folder("Cargo.toml").unwrap_err().contains("Cargo.toml"));
        assert_eq!(
            Options::default().folder("results").unwrap(),
            PathBuf::from("results")
        );
    }
}
