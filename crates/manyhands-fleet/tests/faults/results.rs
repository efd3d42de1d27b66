//! What must hold of the results, whatever happened on the way.

use manyhands_fleet::{
    export,
    page::{Page, Setup},
    price::Prices,
    server::Database,
};
use manyhands_lab::{
    console, findings,
    run::Interrupt,
    store::{self, Damage},
};
use std::{
    collections::HashSet,
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    thread,
    time::Duration,
};

/// Every job of every plan has one run, and every sample of it is exported once.
pub(crate) fn check(database: &Path, out: &Path, plans: usize, jobs: u64) {
    let path = database;
    let database = Database::open_to_read(path).unwrap();
    let all = database.plans().unwrap();
    assert_eq!(all.len(), plans);
    for plan in all {
        assert_eq!(
            (plan.jobs, plan.done, plan.failed),
            (jobs, jobs, 0),
            "{plan:?}"
        );
        check_plan(&database, &plan.id, out);
        check_page(path, &plan.id, &out.join(&plan.id));
    }
}

/// The page of a plan has the lists that were exported, and a report of each agent.
fn check_page(database: &Path, plan: &str, out: &Path) {
    let files = ["", "runs.csv", "samples.json"];
    let [shown, runs, samples] = asked(database, None, plan, files);
    assert!(shown.contains(".html\">"), "no report of an agent: {shown}");
    // All agents of these tests are on this machine.
    assert!(shown.contains("There are no charts over CPUs"), "{shown}");
    let exported = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    assert_eq!(runs, exported("runs.csv"));
    assert_eq!(samples, exported("samples.json"));
}

/// What a page answers when it is asked for these files of a plan.
pub(crate) fn asked<const N: usize>(
    database: &Path,
    prices: Option<Prices>,
    plan: &str,
    files: [&str; N],
) -> [String; N] {
    let setup = Setup {
        database: database.to_owned(),
        names: Vec::new(),
        token: None,
        prices,
        companion: console::alone,
    };
    let page = Page::bind("127.0.0.1:0".parse().unwrap(), setup).unwrap();
    let (address, stop) = (page.address(), Interrupt::default());
    let path = |file: &str| {
        format!("/plan/{plan}/{file}")
            .trim_end_matches('/')
            .to_owned()
    };
    let paths = files.map(path);
    thread::scope(|scope| {
        let serving = scope.spawn(|| page.run(&stop));
        let asking = scope.spawn(|| paths.map(|path| answer(address, &path)));
        let answers = asking.join();
        stop.set();
        serving.join().unwrap().unwrap();
        answers.unwrap()
    })
}

/// What the page answers, without its head.
fn answer(address: SocketAddr, path: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(DEADLINE)).unwrap();
    // This version of the protocol has no pieces in its answers.
    write!(connection, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(" 200 "), "{path}: {head}");
    body.to_owned()
}

/// All runs that count are of these agents.
pub(crate) fn check_agents(database: &Path, agents: &[&str]) {
    let database = Database::open_to_read(database).unwrap();
    for plan in database.plans().unwrap() {
        for job in database.jobs(&plan.id).unwrap() {
            let agent = job.run.unwrap().agent;
            assert!(agents.contains(&agent.as_str()), "{agent}");
        }
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
    let exported = export::export(database, plan, out, None, console::alone).unwrap();
    assert_eq!(exported.runs, runs);
    let table = fs::read_to_string(out.join("samples.csv")).unwrap();
    let mut seen = HashSet::new();
    for line in table.lines().skip(1) {
        // Up to the name of the arm a line says which sample it is.
        let which: Vec<&str> = line.split(',').take(9).collect();
        assert!(seen.insert(which.join(",")), "twice: {line}");
    }
    assert_eq!(seen.len(), exported.samples);
    let (mut blocks, mut is_quiet) = (0, true);
    for folder in &exported.folders {
        let recording = store::read(folder, Damage::Refuse).unwrap();
        let findings = findings::analyse(&recording.head, &recording.events);
        assert!(findings.failures.is_empty(), "{:?}", findings.failures);
        assert!(findings.left_out.is_empty(), "{:?}", findings.left_out);
        blocks += findings.blocks;
        is_quiet &= findings.quiet;
        assert!(folder.join("report.html").exists());
    }
    assert_eq!(exported.is_quiet, is_quiet);
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

const DEADLINE: Duration = Duration::from_secs(60);
