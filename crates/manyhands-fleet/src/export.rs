//! A plan's results as files: in `agents` one folder for each, as `manyhands lab run` leaves it, and beside them lists of
//! runs, samples and commands, and charts over machines of several sizes, each with a list of its numbers.
//!
//! Only runs that count are exported, so a sample that was measured twice is in the files once.

use crate::{
    FleetError,
    charts::{self, OnMachine, OverMachines},
    measured::Measured,
    price::Prices,
    server::Database,
};
use manyhands_lab::{
    chart::{self, ChartSpec},
    console::{self, Companion},
    findings,
    plain::{cell, plain},
    record::{Event, ExperimentCard, Head},
    report::{self, Width},
    store::{Existing, Store},
};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    time::Duration,
};

/// What an export wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// Runs that count.
    pub runs: usize,
    /// Their samples: one arm timed once.
    pub samples: usize,
    /// Folders that `manyhands lab report` and `manyhands lab compare` read.
    pub folders: Vec<PathBuf>,
    /// Whether every agent's machine was quiet enough to rely on the numbers.
    pub is_quiet: bool,
    /// Why there are no charts over machines, as a sentence, if there could be some.
    pub no_charts: Option<String>,
    /// What could not be read or drawn and is left out, in a line each.
    pub left_out: Vec<String>,
}

/// Writes a plan's results into a folder, in place of an earlier export and of nothing else. With prices there are charts
/// of dollars.
///
/// # Errors
/// [`FleetError::UnknownPlan`] if the database has no such plan, [`FleetError::Occupied`] if the folder or one in it that
/// would be replaced has other files, those of the laboratory's store, and [`FleetError::File`] if a file cannot be
/// written.
///
/// # Examples
/// ```
/// use manyhands_fleet::{FleetError, export, server::Database};
/// use manyhands_lab::console;
///
/// let folder = tempfile::tempdir()?;
/// let database = Database::open(&folder.path().join("fleet.sqlite"))?;
/// let error = export::export(&database, "none", folder.path(), None, console::alone).unwrap_err();
/// assert!(matches!(error, FleetError::UnknownPlan { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn export(
    database: &Database,
    plan: &str,
    folder: &Path,
    prices: Option<&Prices>,
    companion: Companion,
) -> Result<Exported, FleetError> {
    let mut results = Results::read(database, plan)?;
    claim(folder)?;
    // An agent may be called as one of the files.
    let agents = folder.join(AGENTS);
    remove_earlier(folder, &agents, &results.names())?;
    let (mut folders, mut is_quiet) = (Vec::new(), true);
    for (name, group) in results.machines() {
        let folder = agents.join(name);
        claim(&folder)?;
        is_quiet &= write_folder(&folder, &group, companion)?;
        folders.push(folder);
    }
    let mut files = results.tables()?;
    for chart in results.over_machines(prices)? {
        for name in chart.names() {
            match chart.file(&name) {
                Ok(bytes) => files.extend(bytes.map(|bytes| (name, bytes))),
                Err(error) => results.left_out.push(format!("{name}: {error}")),
            }
        }
    }
    let names: String = files.iter().map(|(name, _)| format!("{name}\n")).collect();
    let mark = folder.join(MARK);
    fs::write(&mark, names).map_err(FleetError::file("write", &mark))?;
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(FleetError::file("write", &path))?;
    }
    Ok(Exported {
        runs: results.tables.runs.len(),
        samples: results.tables.samples.len(),
        folders,
        is_quiet,
        no_charts: results.why_no_charts(),
        left_out: results.left_out,
    })
}

/// Makes a folder into one of an export's.
fn claim(folder: &Path) -> Result<(), FleetError> {
    check_folder(folder)?;
    fs::create_dir_all(folder).map_err(FleetError::file("create", folder))?;
    let mark = folder.join(MARK);
    let marked = File::options().create(true).append(true).open(&mark);
    marked.map(drop).map_err(FleetError::file("write", &mark))
}

/// Removes what an earlier export has written: a job that was done anew may have been another agent's, or brings less.
fn remove_earlier(folder: &Path, agents: &Path, names: &[String]) -> Result<(), FleetError> {
    let mark = folder.join(MARK);
    let listed = fs::read_to_string(&mark).map_err(FleetError::file("read", &mark))?;
    let is_name = |line: &&str| Path::new(line).file_name() == Some(OsStr::new(line));
    for path in listed.lines().filter(is_name).map(|name| folder.join(name)) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(FleetError::file("remove", &path)(error));
            }
            _ => {}
        }
    }
    for found in fs::read_dir(agents).into_iter().flatten() {
        let folder = found.map_err(FleetError::file("read", agents))?.path();
        // What is there of the others is replaced below.
        let is_over = !names.iter().any(|name| folder.ends_with(name));
        if is_over && check_folder(&folder).is_ok() && folder.join(MARK).exists() {
            remove_marked(&folder).map_err(FleetError::file("remove", &folder))?;
        }
    }
    Ok(())
}

/// Removes a folder, and its mark last: what is left of it by an export that is killed is still an export's.
fn remove_marked(folder: &Path) -> io::Result<()> {
    for found in fs::read_dir(folder)? {
        let found = found?;
        match found.file_type()?.is_dir() {
            true => fs::remove_dir_all(found.path())?,
            false if found.file_name() == MARK => {}
            false => fs::remove_file(found.path())?,
        }
    }
    fs::remove_file(folder.join(MARK))?;
    fs::remove_dir(folder)
}

/// Whether an export may go into a folder: it is new, empty or an earlier export.
pub(crate) fn check_folder(folder: &Path) -> Result<(), FleetError> {
    let occupied = || FleetError::Occupied {
        path: folder.to_owned(),
    };
    // Not followed: another user may have put links there, to files of this one.
    let Ok(found) = fs::symlink_metadata(folder) else {
        return Ok(());
    };
    if !is_own(&found) {
        return Err(occupied());
    }
    if folder.join(MARK).exists() {
        return Ok(());
    }
    let mut found = fs::read_dir(folder).map_err(FleetError::file("read", folder))?;
    match found.next() {
        None => Ok(()),
        Some(_) => Err(occupied()),
    }
}

/// Whether it is this user's.
#[cfg(unix)]
fn is_own(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    found.uid() == nix::unistd::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_own(_: &fs::Metadata) -> bool {
    true
}

/// The folder with one for each agent.
const AGENTS: &str = "agents";
/// A file that says that what is beside it may be replaced by an export, and lists the files that the last one wrote.
const MARK: &str = ".manyhands-fleet-export";

/// What a plan has brought: the runs that count.
pub(crate) struct Results {
    tables: Tables,
    /// By the name of the agent.
    measured: BTreeMap<String, Vec<Measured>>,
    /// Runs that cannot be read, in a line each.
    pub(crate) left_out: Vec<String>,
}

impl Results {
    pub(crate) fn read(database: &Database, plan: &str) -> Result<Self, FleetError> {
        let plans = database.plans()?;
        if !plans.iter().any(|one| one.id == plan) {
            let plan = plan.to_owned();
            return Err(FleetError::UnknownPlan { plan });
        }
        let mut results = Self {
            tables: Tables::default(),
            measured: BTreeMap::new(),
            left_out: Vec::new(),
        };
        for job in database.jobs(plan)? {
            let Some(run) = job.run else {
                continue;
            };
            let lines = database.lines(&run.id)?;
            let measured = match Measured::read(&lines, run.machine) {
                Ok(measured) => measured,
                Err(error) => {
                    let left_out = format!("{} by {}: {error}", job.title, run.agent);
                    results.left_out.push(plain(&left_out).into_owned());
                    continue;
                }
            };
            results.tables.runs.push(RunLine {
                plan: plan.to_owned(),
                job: job.id,
                title: job.title,
                run: run.id.clone(),
                agent: run.agent.clone(),
                cpus: measured.head.machine.cpus,
                cpu: measured.head.machine.cpu.clone(),
                started: measured.head.started.clone(),
                samples: measured.samples(),
                lines: run.lines,
                sha256: run.sha256,
            });
            results.tables.add(&run.agent, &run.id, &measured);
            results
                .measured
                .entry(run.agent)
                .or_default()
                .push(measured);
        }
        Ok(results)
    }

    /// Runs that can stand in one folder, with its name: that of the agent, with a number if its machine has changed.
    fn machines(&self) -> Vec<(String, Vec<&Measured>)> {
        let named = self.measured.iter().flat_map(|(agent, measured)| {
            let groups = alike(measured).into_iter().enumerate();
            groups.map(move |(number, group)| match number {
                0 => (agent.clone(), group),
                // No agent has a name like that.
                more => (format!("{agent}+{}", more + 1), group),
            })
        });
        named.collect()
    }

    /// Names of the folders.
    pub(crate) fn names(&self) -> Vec<String> {
        self.machines().into_iter().map(|(name, _)| name).collect()
    }

    /// The laboratory's report of a folder; `None` if there is no such folder.
    pub(crate) fn report(&self, name: &str, companion: Companion) -> Option<String> {
        let mut machines = self.machines().into_iter();
        let (_, group) = machines.find(|(one, _)| one == name)?;
        let (head, events) = joined(&group);
        let events: Vec<Event> = events.into_iter().map(|(event, _)| event).collect();
        let findings = findings::analyse(&head, &events);
        Some(report::html(&findings, &companion(&findings)))
    }

    /// Name and content of every list.
    pub(crate) fn tables(&self) -> Result<Vec<(String, Vec<u8>)>, FleetError> {
        self.tables.files()
    }

    /// The charts over machines of several sizes.
    pub(crate) fn over_machines(&self, prices: Option<&Prices>) -> Result<Vec<Drawn>, FleetError> {
        let shown = charts::over_machines(&self.on_machines(), prices).into_iter();
        let drawn: Result<Vec<Vec<Drawn>>, FleetError> =
            shown.map(|one| Drawn::of_experiment(&one)).collect();
        Ok(drawn?.into_iter().flatten().collect())
    }

    /// Why there are no charts over machines, if there could be some.
    pub(crate) fn why_no_charts(&self) -> Option<String> {
        charts::why_none(&self.on_machines())
    }

    fn on_machines(&self) -> Vec<OnMachine> {
        let measured = self.measured.iter().flat_map(|(agent, measured)| {
            let of_agent = measured.iter();
            of_agent.map(|one| OnMachine {
                agent: agent.clone(),
                machine: one.machine.clone(),
                findings: one.findings(),
            })
        });
        measured.collect()
    }
}

/// A chart over machines. Its files are the numbers as CSV and JSON, which the charts of an experiment share, and the
/// picture as SVG and PNG.
pub(crate) struct Drawn {
    name: String,
    /// Name and content of both lists.
    lists: [(String, Vec<u8>); 2],
    /// The picture.
    pub(crate) svg: String,
}

impl Drawn {
    fn of_experiment(shown: &OverMachines) -> Result<Vec<Self>, FleetError> {
        let lists = table(&shown.name, &shown.rows)?;
        let draw = |(name, spec): &(String, ChartSpec)| {
            Ok(Self {
                name: name.clone(),
                lists: lists.clone(),
                svg: chart::svg(spec)?,
            })
        };
        shown.charts.iter().map(draw).collect()
    }

    /// Names of its files.
    pub(crate) fn names(&self) -> [String; 4] {
        let [csv, json] = &self.lists;
        let picture = |kind: &str| format!("{}.{kind}", self.name);
        [
            csv.0.clone(),
            json.0.clone(),
            picture("svg"),
            picture("png"),
        ]
    }

    /// The file of this name, if it has it.
    pub(crate) fn file(&self, name: &str) -> Result<Option<Vec<u8>>, FleetError> {
        let mut lists = self.lists.iter();
        if let Some((_, list)) = lists.find(|(one, _)| one == name) {
            return Ok(Some(list.clone()));
        }
        Ok(match name.strip_prefix(self.name.as_str()) {
            Some(".svg") => Some(self.svg.clone().into_bytes()),
            Some(".png") => Some(chart::png(&self.svg)?),
            _ => None,
        })
    }
}

/// Runs that can stand in one folder: of one machine, with the same settings.
fn alike(measured: &[Measured]) -> Vec<Vec<&Measured>> {
    let mut groups: Vec<Vec<&Measured>> = Vec::new();
    for one in measured
        .iter()
        .filter(|one| !one.head.experiments.is_empty())
    {
        let is_alike = |group: &&mut Vec<&Measured>| {
            let (first, head) = (&group[0].head, &one.head);
            first.machine == head.machine && first.settings == head.settings
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// One folder of the laboratory, with its reports, charts and tables. Whether the machine was quiet enough.
fn write_folder(
    folder: &Path,
    group: &[&Measured],
    companion: Companion,
) -> Result<bool, FleetError> {
    let (head, events) = joined(group);
    let mut store = Store::create(folder, &head, Existing::Replace)?;
    for (event, spent) in &events {
        store.append(event, *spent)?;
    }
    store.sync()?;
    let events: Vec<Event> = events.into_iter().map(|(event, _)| event).collect();
    let findings = findings::analyse(&head, &events);
    console::write(&mut store, &findings, &events, companion, Width::default())?;
    Ok(findings.quiet)
}

/// Several runs as one: events of an experiment follow each other, in the order of the head, and each has the time that
/// the runs had taken by then.
fn joined(group: &[&Measured]) -> (Head, Vec<(Event, Duration)>) {
    let mut head = group[0].head.clone();
    head.experiments.clear();
    for measured in group {
        for card in &measured.head.experiments {
            add_card(&mut head.experiments, card);
        }
    }
    let place = |event: &Event| {
        let (id, _) = event.subject();
        head.experiments.iter().position(|card| card.id == id)
    };
    let mut runs: Vec<&&Measured> = group.iter().collect();
    runs.sort_by_key(|run| run.events.first().map(|(event, _)| place(event)));
    let (mut events, mut before) = (Vec::new(), Duration::ZERO);
    for run in runs {
        let own = run.events.iter();
        events.extend(own.map(|(event, spent)| (event.clone(), before + *spent)));
        before += run
            .events
            .last()
            .map_or(Duration::ZERO, |(_, spent)| *spent);
    }
    (head, events)
}

/// The cases of an experiment may have been measured in several runs.
fn add_card(cards: &mut Vec<ExperimentCard>, card: &ExperimentCard) {
    match cards.iter_mut().find(|one| one.id == card.id) {
        Some(known) => known.cases.extend(card.cases.iter().cloned()),
        None => cards.push(card.clone()),
    }
}

/// The lists beside the folders.
#[derive(Debug, Default)]
struct Tables {
    runs: Vec<RunLine>,
    samples: Vec<SampleLine>,
    commands: Vec<CommandLine>,
}

#[derive(Debug, Serialize)]
struct RunLine {
    plan: String,
    job: String,
    title: String,
    run: String,
    agent: String,
    cpus: usize,
    cpu: String,
    started: String,
    samples: usize,
    lines: u64,
    sha256: String,
}

/// One arm timed once; `block` counts the blocks of the run.
#[derive(Debug, Serialize)]
struct SampleLine {
    run: String,
    agent: String,
    cpus: usize,
    experiment: String,
    case: String,
    n: usize,
    launch: u32,
    block: usize,
    arm: String,
    calls: u32,
    wall_nanos: u64,
    cpu_nanos: Option<u64>,
}

#[derive(Debug, Serialize)]
struct CommandLine {
    run: String,
    agent: String,
    cpus: usize,
    wall_nanos: u64,
    status: Option<i32>,
    output: String,
    errors: String,
}

impl Tables {
    fn add(&mut self, agent: &str, run: &str, measured: &Measured) {
        let cpus = measured.head.machine.cpus;
        let blocks = measured.events.iter().filter_map(|(event, _)| match event {
            Event::Block { key, block } => Some((key, block)),
            _ => None,
        });
        for (number, (key, block)) in blocks.enumerate() {
            let cards = measured
                .head
                .experiments
                .iter()
                .flat_map(|card| &card.cases);
            let card = cards.into_iter().find(|card| card.name == key.case);
            for (arm, sample) in block.samples.iter().enumerate() {
                let name = card.and_then(|card| card.arms.get(arm)).cloned();
                self.samples.push(SampleLine {
                    run: run.to_owned(),
                    agent: agent.to_owned(),
                    cpus,
                    experiment: key.experiment.clone(),
                    case: key.case.clone(),
                    n: key.n,
                    launch: block.launch,
                    block: number,
                    // The last one is the baseline once more.
                    arm: name.unwrap_or_else(|| "baseline again".to_owned()),
                    calls: sample.calls,
                    wall_nanos: sample.wall_nanos,
                    cpu_nanos: sample.meters.cpu_nanos,
                });
            }
        }
        self.commands
            .extend(measured.commands.iter().map(|outcome| CommandLine {
                run: run.to_owned(),
                agent: agent.to_owned(),
                cpus,
                wall_nanos: outcome.wall_nanos,
                status: outcome.status,
                output: outcome.output.clone(),
                errors: outcome.errors.clone(),
            }));
    }

    fn files(&self) -> Result<Vec<(String, Vec<u8>)>, FleetError> {
        let mut files = Vec::new();
        files.extend(table("runs", &self.runs)?);
        files.extend(table("samples", &self.samples)?);
        if !self.commands.is_empty() {
            files.extend(table("commands", &self.commands)?);
        }
        Ok(files)
    }
}

/// One list as CSV, in which no text is a formula to a spreadsheet, and as JSON.
fn table<T: Serialize>(name: &str, rows: &[T]) -> Result<[(String, Vec<u8>); 2], FleetError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = rows.iter().try_for_each(|row| writer.serialize(row));
    written.map_err(FleetError::format("a table"))?;
    let unguarded = writer.into_inner().map_err(FleetError::format("a table"))?;
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader.has_headers(false).from_reader(&*unguarded);
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = reader.records().try_for_each(|record| {
        let record = record?;
        writer.write_record(record.iter().map(|text| cell(text).into_owned()))
    });
    written.map_err(FleetError::format("a table"))?;
    let csv = writer.into_inner().map_err(FleetError::format("a table"))?;
    let json = serde_json::to_vec_pretty(rows).map_err(FleetError::format("a table"))?;
    Ok([(format!("{name}.csv"), csv), (format!("{name}.json"), json)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_a_list_is_a_formula_and_numbers_stay_numbers() {
        let line = |output: &str| CommandLine {
            run: "r".to_owned(),
            agent: "-agent".to_owned(),
            cpus: 2,
            wall_nanos: 1,
            status: Some(-1),
            output: output.to_owned(),
            errors: String::new(),
        };
        let lines = ["=1+1", "\t@x", "a=b", "-2"].map(line);
        let [(_, csv), (_, json)] = table("commands", &lines).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        for output in ["'=1+1", "'\t@x", "a=b", "-2"] {
            let expected = format!("r,'-agent,2,1,-1,{output},");
            assert!(csv.lines().any(|line| line == expected), "{csv}");
        }
        let json = String::from_utf8(json).unwrap();
        assert!(json.contains("\"=1+1\"") && !json.contains('\''), "{json}");
    }
}
