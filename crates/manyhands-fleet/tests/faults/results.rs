//! What must hold of the results, whatever happened on the way.

use manyhands_fleet::{export, server::Database};
use manyhands_lab::{
    console, findings,
    store::{self, Damage},
};
use std::{collections::HashSet, fs, path::Path};

/// Every job of every plan has one run, and every sample of it is exported once.
pub(crate) fn check(database: &Path, out: &Path, plans: usize, jobs: u64) {
    let database = Database::open_to_read(database).unwrap();
    let all = database.plans().unwrap();
    assert_eq!(all.len(), plans);
    for plan in all {
        assert_eq!(
            (plan.jobs, plan.done, plan.failed),
            (jobs, jobs, 0),
            "{plan:?}"
        );
        check_plan(&database, &plan.id, out);
    }
}

/// Every run of a plan has the lines that its agent had, and every sample of it is exported once.
pub(crate) fn check_plan(database: &Database, plan: &str, out: &Path) {
    let jobs = database.jobs(plan).unwrap().into_iter();
    let runs: Vec<_> = jobs.filter_map(|job| job.run).collect();
    for run in &runs {
        let lines = database.lines(&run.id).unwrap();
        assert_eq!(lines.len() as u64, run.lines);
        // The agent made the digest from its own disk; these are the rows as they are now.
        let digest = sha256(&lines);
        assert_eq!(digest, run.sha256, "run {} of {}", run.id, run.agent);
    }
    let samples = check_export(database, plan, &out.join(plan), runs.len());
    println!("  {} runs, {samples} samples, each once", runs.len());
}

/// The number of samples.
fn check_export(database: &Database, plan: &str, out: &Path, runs: usize) -> usize {
    let exported = export::export(database, plan, out, console::alone).unwrap();
    assert_eq!(exported.runs, runs);
    let table = fs::read_to_string(out.join("samples.csv")).unwrap();
    let mut seen = HashSet::new();
    for line in table.lines().skip(1) {
        // Up to the name of the arm a line says which sample it is.
        let which: Vec<&str> = line.split(',').take(9).collect();
        assert!(seen.insert(which.join(",")), "twice: {line}");
    }
    assert_eq!(seen.len(), exported.samples);
    let mut blocks = 0;
    for folder in &exported.folders {
        let recording = store::read(folder, Damage::Refuse).unwrap();
        let findings = findings::analyse(&recording.head, &recording.events);
        assert!(findings.failures.is_empty(), "{:?}", findings.failures);
        assert!(findings.left_out.is_empty(), "{:?}", findings.left_out);
        blocks += findings.blocks;
        assert!(folder.join("report.html").exists());
    }
    // A block has both arms, and the baseline once more.
    assert_eq!(blocks * 3, exported.samples);
    exported.samples
}

fn sha256(lines: &[String]) -> String {
    use sha2::{Digest, Sha256};
    let mut digest = Sha256::new();
    for line in lines {
        digest.update(line);
        digest.update("\n");
    }
    let bytes = digest.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
