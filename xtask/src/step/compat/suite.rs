//! One package's tests: built together, each test program run with a limit of time, and counted.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use super::published::Package;
use super::{Part, build_folder};
use crate::command::Invocation;
use crate::step::test_programs::{self, Program};

/// For one test program, or all examples of one package's documentation.
const LIMIT: Duration = Duration::from_secs(900);

/// What the table calls the tests inside a package's code.
const UNIT_TESTS: &str = "unit tests";
/// What it calls those in its documentation.
pub(super) const EXAMPLES: &str = "examples in its documentation";
/// And where these are of what bounds must refuse.
const REFUSED: &str = "programs that must not compile";
/// It searches for half a minute of processor time, with either core.
const LONG: &str = "octillion";

/// What became of some tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) passed: usize,
    pub(crate) ignored: usize,
    pub(crate) failed: Vec<String>,
}

impl Count {
    pub(crate) fn add(&mut self, more: &Self) {
        self.passed += more.passed;
        self.ignored += more.ignored;
        self.failed.extend_from_slice(&more.failed);
    }

    /// How many tests there are, and how many of them passed, failed and were ignored.
    pub(crate) fn cells(&self) -> [String; 4] {
        let (passed, failed, ignored) = (self.passed, self.failed.len(), self.ignored);
        [passed + failed + ignored, passed, failed, ignored].map(|count| count.to_string())
    }
}

/// Builds and runs the package's tests; its integration tests are counted together.
pub(crate) fn run_all(package: &Package, part: Part) -> Result<Vec<(String, Count)>> {
    let cargo_test = |options: &str| {
        Invocation::cargo(&format!("test {options}"))
            .build_of(package.folder.join("Cargo.toml"), build_folder())
    };
    let name = package.name;
    let built = cargo_test("--quiet --lib --tests --no-run --message-format=json").stdout()?;
    let programs = test_programs::programs(&built);
    ensure!(
        !programs.is_empty(),
        "no test programs of {name} were built"
    );
    let (mut unit, mut integration, mut suites) = (Count::default(), Count::default(), 0);
    for program in programs {
        let suite = suite_name(&program.path, name);
        if part == Part::Short && suite == LONG {
            continue;
        }
        let is_unit = suite == UNIT_TESTS;
        let module = package.module.filter(|_| is_unit);
        let count = run_program(&program, module.as_slice())?;
        suites += usize::from(!is_unit && count != Count::default());
        let sum = if is_unit { &mut unit } else { &mut integration };
        sum.add(&count);
    }
    let suites = format!("{suites} integration tests");
    let mut counts = vec![(UNIT_TESTS, unit), (&*suites, integration)];
    if package.module.is_some() || part == Part::Suites {
        let examples = cargo_test("--quiet --doc").arg("--");
        let examples = package.module.into_iter().fold(examples, Invocation::arg);
        let (text, ended) = examples.stdout_even_if_it_fails()?;
        let suite = package.module.map_or(EXAMPLES, |_| REFUSED);
        counts.push((suite, count(&text, ended)?));
    }
    let counts = counts.into_iter();
    Ok(counts
        .map(|(suite, count)| (format!("{name}, {suite}"), count))
        .collect())
}

/// Runs a test program in its package's folder, or those of its tests that `options` choose.
pub(super) fn run_program(program: &Program, options: &[&str]) -> Result<Count> {
    let invocation = Invocation::program(&program.path)
        .args(options)
        .folder(&program.folder)
        // To print the stack of each expected panic takes long.
        .env("RUST_BACKTRACE", "0")
        .limit(LIMIT);
    let (text, ended) = invocation.stdout_even_if_it_fails()?;
    count(&text, ended)
}

/// `octillion` for `…/octillion-0a1b2c`; the package's own name is that of its unit tests.
pub(super) fn suite_name(program: &Path, package: &str) -> String {
    let file = program.file_stem().unwrap_or_default();
    let file = file.to_string_lossy();
    let name = file.rsplit_once('-').map_or(&*file, |(name, _)| name);
    if name == package.replace('-', "_") {
        UNIT_TESTS.to_owned()
    } else {
        name.to_owned()
    }
}

/// Counts what the test harness has printed. A program that ended without a result fails.
pub(super) fn count(text: &str, ended: Result<()>) -> Result<Count> {
    let mut count = Count::default();
    let mut has_result = false;
    for line in text.lines() {
        if let Some(name) = line
            .strip_prefix("test ")
            .and_then(|line| line.strip_suffix(" ... FAILED"))
            // With fewer words the harness names them only in its list.
            .or_else(|| line.strip_prefix("---- ")?.strip_suffix(" stdout ----"))
        {
            count.failed.push(name.to_owned());
        } else if let Some(result) = line.strip_prefix("test result: ") {
            has_result = true;
            count.passed += number_before(result, " passed");
            count.ignored += number_before(result, " ignored");
        }
    }
    count.failed.sort_unstable();
    count.failed.dedup();
    if !has_result || (ended.is_err() && count.failed.is_empty()) {
        ended?;
        bail!("a test program has printed no result");
    }
    Ok(count)
}

fn number_before(text: &str, word: &str) -> usize {
    let before = text.split(word).next().unwrap_or_default();
    let digits = before.rsplit(' ').next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn a_suite_has_the_name_of_its_program() {
        let name = |program| suite_name(Path::new(program), "rayon-core");
        assert_eq!(name("/t/cross_pool-3c"), "cross_pool");
        assert_eq!(name("/t/rayon_core-12ab"), "unit tests");
    }

    #[test]
    fn results_are_counted_and_failures_named() {
        let text = "test a ... ok\ntest b ... FAILED\n---- b stdout ----\n\
                    test result: FAILED. 1 passed; 1 failed; 2 ignored; 0 measured\n";
        let expected = Count {
            passed: 1,
            ignored: 2,
            failed: vec!["b".to_owned()],
        };
        assert_eq!(count(text, Err(anyhow!("exit 101"))).unwrap(), expected);
    }

    #[test]
    fn a_program_that_ends_early_is_a_failure() {
        let cut = "running 3 tests\ntest a ... ok\n";
        let killed = count(cut, Err(anyhow!("signal 9"))).unwrap_err();
        assert_eq!(killed.to_string(), "signal 9");
        assert!(count(cut, Ok(())).is_err());
    }
}
