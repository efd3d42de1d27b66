//! Scheduling on a simulated machine: time passes only by what the simulation hands out.

use super::*;
use crate::{
    break_even::{Kind, Probe},
    child::Taken,
    clock::ClockCard,
    console::Ending,
    findings,
    launcher::ChildError,
    machine::Machine,
    record::{Block, CaseCard, Meters, PeakReading, Sample, Scale},
    run::{self, Executor, Interrupt, Observer, Outcome, Progress},
};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    process::ExitCode,
    rc::Rc,
};

mod budget;

/// Every arm but the baseline is twice as fast, from size 100 on.
struct Simulation {
    now: Duration,
    nanos_per_item: f64,
    launched: Vec<(String, u32)>,
    open: BTreeMap<u32, usize>,
    fails: fn(&BlockStep) -> bool,
    checksum: fn(&BlockStep) -> String,
    /// What is counted during a sample of this many nanoseconds.
    meters: fn(u64) -> Meters,
    /// What a picture of the cores takes.
    picture: Duration,
}

impl Simulation {
    fn new() -> Self {
        Self {
            now: Duration::ZERO,
            nanos_per_item: 1_000.0,
            launched: Vec::new(),
            open: BTreeMap::new(),
            fails: |_| false,
            checksum: |_| "1".to_owned(),
            meters: |_| Meters::default(),
            picture: Duration::ZERO,
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the simulated times are small"
    )]
    fn sample(&self, n: usize, arm: usize) -> Sample {
        let speed_up = if arm == 1 && n >= 100 { 2.0 } else { 1.0 };
        let call = self.nanos_per_item * n as f64 / speed_up;
        let calls = (1e6 / call).ceil().max(1.0);
        let wall_nanos = (calls * call) as u64;
        Sample {
            calls: calls as u32,
            wall_nanos,
            meters: (self.meters)(wall_nanos),
        }
    }
}

impl Executor for Simulation {
    fn launch(&mut self, subject: &Subject, launch: u32) -> Result<ClockCard, ChildError> {
        self.launched.push((subject.case.clone(), launch));
        self.open.insert(launch, 0);
        Ok(ClockCard {
            cost_nanos: 20.0,
            grain_nanos: 1.0,
        })
    }

    fn open(&mut self, launch: u32, n: usize) -> Result<(), ChildError> {
        *self.open.get_mut(&launch).unwrap() = n;
        Ok(())
    }

    fn block(&mut self, step: &BlockStep) -> Result<Taken, ChildError> {
        assert_eq!(self.open[&step.launch], step.key.n, "not open: {step:?}");
        if (self.fails)(step) {
            return Err(ChildError::Failed {
                message: "simulated".to_owned(),
            });
        }
        let arms = step.order.len() - 1;
        let sample = |arm| self.sample(step.key.n, arm % arms);
        let samples: Vec<Sample> = (0..=arms).map(sample).collect();
        let nanos = samples.iter().map(|sample| sample.wall_nanos).sum();
        self.now += Duration::from_nanos(nanos);
        Ok(Taken {
            samples,
            checksum: (self.checksum)(step),
        })
    }

    fn pass(&mut self, pass: &Pass) -> Result<Option<Event>, ChildError> {
        assert!(self.open.is_empty(), "a pass is alone");
        if pass.kind == PassKind::Cores {
            self.now += self.picture;
            return Ok(None);
        }
        self.now += Duration::from_nanos(self.sample(pass.n, pass.arm).wall_nanos);
        Ok(Some(Event::Memory {
            key: pass.subject.key(pass.n),
            arm: pass.arm,
            peak: PeakReading::default(),
        }))
    }

    fn close(&mut self) {
        self.open.clear();
    }

    fn elapsed(&self) -> Duration {
        self.now
    }
}

/// Decides after eight blocks; searches two sizes.
struct Simple;

impl Analyst for Simple {
    fn clean(&self, _: &CaseCard, blocks: &[Block]) -> usize {
        blocks.len()
    }

    fn is_decided(&self, _: &CaseCard, _: usize, blocks: &[Block]) -> bool {
        blocks.len() >= 8 && blocks[0].samples[0] != blocks[0].samples[1]
    }

    fn probe(&self, _: &CaseCard, measured: Measured<'_>) -> Option<Probe> {
        let is_open = |n: &usize| {
            let blocks = measured.blocks.get(n).map_or(0, Vec::len);
            blocks < 14 && !measured.exhausted.contains(n)
        };
        let n = [30, 50].into_iter().find(is_open)?;
        Some(Probe { n, blocks: 14 })
    }
}

/// What a run was asked to do and what it recorded.
#[derive(Default)]
struct Log {
    steps: Vec<Step>,
    progress: Vec<Progress>,
    interrupt_after: Option<usize>,
    interrupt: Interrupt,
}

impl Observer for Log {
    fn begins(&mut self, step: &Step, progress: &Progress) {
        self.steps.push(step.clone());
        self.progress.push(*progress);
    }

    fn happened(&mut self, _: &Event, _: &Progress) -> Result<(), LabError> {
        if self.interrupt_after == Some(self.blocks().count()) {
            self.interrupt.set();
        }
        Ok(())
    }
}

impl Log {
    fn blocks(&self) -> impl Iterator<Item = &BlockStep> {
        self.steps.iter().filter_map(|step| match step {
            Step::Block(block) => Some(block),
            _ => None,
        })
    }

    fn blocks_at(&self, case: &str, n: usize) -> usize {
        let is_it = |block: &&BlockStep| block.key.case == case && block.key.n == n;
        self.blocks().filter(is_it).count()
    }
}

fn card(name: &str, sizes: &[usize]) -> CaseCard {
    CaseCard {
        name: name.to_owned(),
        arms: vec!["a".to_owned(), "b".to_owned()],
        sizes: sizes.to_vec(),
        ..CaseCard::default()
    }
}

/// Two cases at two sizes each, of which the first has a search.
fn head(settings: Settings) -> Head {
    let mut searched = card("searched", &[10, 100]);
    searched.finds_break_even = true;
    let plain = card("plain", &[10, 1_000]);
    let mut head = run::head(&[], settings, Machine::here(), "");
    head.experiments.push(ExperimentCard {
        id: "X".to_owned(),
        cases: vec![searched, plain],
        ..ExperimentCard::default()
    });
    head
}

fn settings(scale: Scale) -> Settings {
    Settings::new(scale, 5)
}

fn with_budget(millis: u64) -> Settings {
    Settings {
        budget: Some(Duration::from_millis(millis)),
        ..settings(Scale::Standard)
    }
}

fn run(head: &Head, simulation: &mut Simulation) -> (Log, Vec<Event>) {
    let mut director = Director::new(head, Box::new(Simple));
    go(&mut director, simulation, Vec::new())
}

/// Runs to the end, behind the events there are.
fn go(
    director: &mut Director,
    simulation: &mut Simulation,
    mut events: Vec<Event>,
) -> (Log, Vec<Event>) {
    let mut log = Log::default();
    let interrupt = log.interrupt.clone();
    let outcome = run::execute(director, simulation, &mut events, &mut log, &interrupt);
    assert_eq!(outcome.unwrap(), Outcome::Finished);
    (log, events)
}

#[test]
fn launches_take_turns_and_have_equal_shares_of_every_point() {
    let (log, _) = run(&head(settings(Scale::Standard)), &mut Simulation::new());
    for n in [10, 100] {
        let at = log
            .blocks()
            .filter(|block| block.key.case == "searched" && block.key.n == n);
        let launches: Vec<u32> = at.map(|block| block.launch).collect();
        let round = (0..6).flat_map(|launch| [launch; 2]);
        assert_eq!(launches, round.collect::<Vec<_>>().repeat(3), "{n}");
    }
}

#[test]
fn a_quick_run_stops_where_it_is_decided_and_the_others_take_all_blocks() {
    let (log, _) = run(&head(settings(Scale::Quick)), &mut Simulation::new());
    assert_eq!(log.blocks_at("plain", 10), 24);
    assert_eq!(log.blocks_at("plain", 1_000), 12);
    let (log, _) = run(&head(settings(Scale::Standard)), &mut Simulation::new());
    assert_eq!(log.blocks_at("plain", 1_000), 36);
    assert_eq!(log.blocks_at("plain", 10), 288);
    let (log, _) = run(&head(settings(Scale::Full)), &mut Simulation::new());
    assert_eq!(log.blocks_at("plain", 1_000), 60);
}

/// Decides with a hundred blocks, and keeps with how many it was asked.
#[derive(Clone, Default)]
struct Late(Rc<RefCell<BTreeSet<usize>>>);

impl Analyst for Late {
    fn clean(&self, _: &CaseCard, blocks: &[Block]) -> usize {
        blocks.len()
    }
    fn is_decided(&self, _: &CaseCard, _: usize, blocks: &[Block]) -> bool {
        self.0.borrow_mut().insert(blocks.len());
        blocks.len() >= 100
    }
    fn probe(&self, _: &CaseCard, _: Measured<'_>) -> Option<Probe> {
        None
    }
}

#[test]
fn an_undecided_size_is_looked_at_whenever_its_blocks_have_doubled() {
    for (scale, looks, blocks) in [
        (Scale::Quick, [12, 24].as_slice(), 24),
        (Scale::Standard, &[36, 72, 144], 144),
    ] {
        let late = Late::default();
        let mut director = Director::new(&head(settings(scale)), Box::new(late.clone()));
        let (log, _) = go(&mut director, &mut Simulation::new(), Vec::new());
        for n in [10, 1_000] {
            assert_eq!(log.blocks_at("plain", n), blocks);
        }
        assert!(late.0.borrow().iter().eq(looks), "{:?}", late.0);
    }
}

#[test]
fn the_search_follows_the_sizes_of_its_case() {
    let (log, _) = run(&head(settings(Scale::Quick)), &mut Simulation::new());
    let point = |block: &BlockStep| (block.key.case.clone(), block.key.n);
    let mut points: Vec<(String, usize)> = log.blocks().map(point).collect();
    points.dedup();
    let searched = [10, 100, 30, 50].map(|n| ("searched".to_owned(), n));
    assert_eq!(points[..4], searched);
    assert_eq!(points[4..], [10, 1_000].map(|n| ("plain".to_owned(), n)));
    assert_eq!(log.blocks_at("searched", 30), 14);
}

#[test]
fn with_the_real_statistics_the_search_finds_the_crossing_and_ends() {
    let head = head(settings(Scale::Quick));
    let mut director = Director::new(&head, Box::new(Statistics::new(&head)));
    let (_, events) = go(&mut director, &mut Simulation::new(), Vec::new());
    let findings = findings::analyse(&head, &events);
    let kind = &findings.experiments[0].cases[0].answers[0].kind;
    let Kind::Between { lower, upper, .. } = kind else {
        panic!("{kind:?}");
    };
    assert!(*lower < 100.0 && 100.0 <= *upper, "{kind:?}");
    assert!(upper / lower < 1.3, "{kind:?}");
}

#[test]
fn without_patience_a_long_point_has_the_fewest_blocks() {
    let mut simulation = Simulation::new();
    // A call of size 1000 takes 20 s.
    simulation.nanos_per_item = 2e7;
    let (log, _) = run(&head(settings(Scale::Standard)), &mut simulation);
    assert_eq!(log.blocks_at("plain", 1_000), 12);
}

#[test]
fn a_point_that_fails_is_recorded_and_the_run_goes_on_with_new_processes() {
    let mut simulation = Simulation::new();
    simulation.fails = |step| step.key.case == "plain" && step.key.n == 10 && step.launch == 1;
    let (log, events) = run(&head(settings(Scale::Quick)), &mut simulation);
    let failed = |event: &&Event| matches!(event, Event::Failed { key, .. } if key.n == 10);
    assert_eq!(events.iter().filter(failed).count(), 1);
    assert_eq!(log.blocks_at("plain", 10), 3);
    assert_eq!(log.blocks_at("plain", 1_000), 12);
    let launches = simulation.launched.iter().map(|(_, launch)| *launch);
    let launches: Vec<u32> = launches.collect();
    assert_eq!(launches, [0, 1, 2, 0, 1, 2, 3, 4]);
}

#[test]
fn processes_that_disagree_fail_the_point() {
    let mut simulation = Simulation::new();
    simulation.checksum = |step| step.launch.to_string();
    let (_, events) = run(&head(settings(Scale::Quick)), &mut simulation);
    let failed = |event: &Event| match event {
        Event::Failed { key, message } if message.contains("different results") => Some(key.n),
        _ => None,
    };
    let failed: Vec<usize> = events.iter().filter_map(failed).collect();
    assert_eq!(failed, [10, 100, 30, 50, 10, 1_000]);
}

#[test]
fn passes_follow_the_blocks_of_a_case_once_for_each_arm() {
    let settings = Settings {
        memory: true,
        cores: true,
        ..settings(Scale::Quick)
    };
    let (log, events) = run(&head(settings), &mut Simulation::new());
    let pass = |step: &Step| match step {
        Step::Pass(pass) => Some((pass.kind, pass.subject.case.clone(), pass.n, pass.arm)),
        _ => None,
    };
    let passes: Vec<_> = log.steps.iter().filter_map(pass).collect();
    // Memory at three sizes, for what an item takes, and three times; the picture at the largest.
    let of_case = |case: &str, n| {
        let memory = [n / 4, n / 2, n].map(|n| (PassKind::Memory, n)).repeat(3);
        let kinds = memory.into_iter().chain([(PassKind::Cores, n)]);
        let of_arms = |(kind, n)| [0, 1].map(|arm| (kind, case.to_owned(), n, arm));
        kinds.flat_map(of_arms).collect::<Vec<_>>()
    };
    let expected = [of_case("searched", 100), of_case("plain", 1_000)].concat();
    assert_eq!(passes, expected);
    let is_peak = |event: &&Event| matches!(event, Event::Memory { .. });
    assert_eq!(events.iter().filter(is_peak).count(), 36);
}

#[test]
fn a_neighbour_that_is_always_there_ends_a_run_with_exit_code_three() {
    fn ending(meters: fn(u64) -> Meters) -> Ending {
        let mut head = head(settings(Scale::Quick));
        head.experiments[0].cases.remove(0);
        (head.machine.cpus, head.machine.topology.threads) = (2, Some(2));
        let mut director = Director::new(&head, Box::new(Statistics::new(&head)));
        let mut simulation = Simulation::new();
        simulation.meters = meters;
        let (_, events) = go(&mut director, &mut simulation, Vec::new());
        Ending::of(&findings::analyse(&head, &events))
    }
    assert_eq!(ending(|_| Meters::default()), Ending::Good);
    // It computes on one of two processors, beside arms that wake threads: some of their delay is their own.
    let beside = ending(|wall_nanos| Meters {
        run_delay_nanos: Some(wall_nanos / 2),
        cpu_nanos: Some(wall_nanos),
        voluntary_switches: Some(40),
        others_nanos: Some(wall_nanos),
        ..Meters::default()
    });
    assert_eq!(beside, Ending::NotQuiet);
    let code = format!("{:?}", ExitCode::from(beside));
    assert_eq!(code, format!("{:?}", ExitCode::from(3)));
}

/// What a run does from an event on, without what only fresh processes need.
fn measured(events: &[Event]) -> Vec<(Key, Option<Vec<usize>>)> {
    let measured = |event: &Event| match event {
        Event::Launched { .. } => None,
        Event::Piloted { key, .. } => Some((key.clone(), None)),
        Event::Block { key, block } => Some((key.clone(), Some(block.order.clone()))),
        Event::Memory { key, .. } | Event::Cores { key, .. } | Event::Failed { key, .. } => {
            Some((key.clone(), None))
        }
    };
    events.iter().filter_map(measured).collect()
}

#[test]
fn a_run_cut_after_any_event_goes_on_as_if_it_had_not_been() {
    fn check(settings: Settings, fails: fn(&BlockStep) -> bool) {
        let head = head(settings);
        let mut simulation = Simulation::new();
        simulation.fails = fails;
        let (_, whole) = run(&head, &mut simulation);
        for cut in 0..whole.len() {
            let (kept, _) = whole.split_at(cut);
            let mut director =
                Director::resume(&head, Box::new(Simple), kept, Duration::ZERO).unwrap();
            let mut simulation = Simulation::new();
            simulation.fails = fails;
            let (_, events) = go(&mut director, &mut simulation, kept.to_vec());
            assert_eq!(events[..cut], *kept);
            assert_eq!(measured(&events), measured(&whole), "cut at {cut}");
            // No two processes of a case have the same number.
            let mut launches: Vec<_> = events.iter().filter_map(launch).collect();
            let all = launches.len();
            launches.sort_unstable();
            launches.dedup();
            assert_eq!(launches.len(), all, "cut at {cut}");
        }
    }
    fn launch(event: &Event) -> Option<(&str, u32)> {
        match event {
            Event::Launched { case, launch, .. } => Some((case.as_str(), *launch)),
            _ => None,
        }
    }
    let with_passes = Settings {
        memory: true,
        ..settings(Scale::Quick)
    };
    check(with_passes, |_| false);
    check(settings(Scale::Standard), |step| step.key.n == 10);
    check(with_budget(300), |_| false);
}

#[test]
fn where_a_run_had_less_time_than_its_events_tell_the_events_are_right() {
    fn check(case: &str, sizes: &[usize]) {
        let head = head(settings(Scale::Standard));
        let sample = Simulation::new().sample(10, 0);
        let event = |n: &usize| Event::Block {
            key: Key::new("X", case, *n),
            block: Block {
                order: vec![0, 1, 2],
                samples: vec![sample; 3],
                ..Block::default()
            },
        };
        let events: Vec<Event> = sizes.iter().map(event).collect();
        let mut director =
            Director::resume(&head, Box::new(Simple), &events, Duration::ZERO).unwrap();
        let long = Duration::from_mins(9);
        let late = Director::resume(&head, Box::new(Simple), &events, long).unwrap();
        assert!(director.spent(Duration::ZERO) < long);
        assert_eq!(late.spent(Duration::ZERO), long);
        let Step::Launch { subject, n, .. } = director.next(Duration::ZERO) else {
            panic!("there are no processes yet");
        };
        let launched = (subject.case.as_str(), Some(&n));
        assert_eq!(launched, (case, sizes.last()), "{sizes:?}");
    }
    check("searched", &[10, 10]);
    check("searched", &[10, 100]);
    check("searched", &[10, 100, 30]);
    check("searched", &[100]);
    check("plain", &[10]);
    check("plain", &[1_000]);
}

#[test]
fn events_of_another_run_are_refused() {
    let head = head(settings(Scale::Quick));
    let (key, arm, peak) = (Key::new("Y", "plain", 10), 0, PeakReading::default());
    let event = Event::Memory { key, arm, peak };
    let error = Director::resume(&head, Box::new(Simple), &[event], Duration::ZERO).unwrap_err();
    assert!(error.to_string().contains("'Y plain'"), "{error}");
}

#[test]
fn an_interrupted_run_keeps_its_blocks_and_says_so() {
    let head = head(settings(Scale::Quick));
    let mut events = Vec::new();
    let director = &mut Director::new(&head, Box::new(Simple));
    let mut log = Log {
        interrupt_after: Some(5),
        ..Log::default()
    };
    let interrupt = log.interrupt.clone();
    let simulation = &mut Simulation::new();
    let outcome = run::execute(director, simulation, &mut events, &mut log, &interrupt);
    assert_eq!(outcome.unwrap(), Outcome::Interrupted);
    assert!(simulation.open.is_empty());
    assert_eq!(measured(&events).len(), 5);
}

#[test]
fn the_time_left_is_about_right_once_a_case_is_known_and_never_beyond_the_budget() {
    let mut simulation = Simulation::new();
    let mut head = head(settings(Scale::Standard));
    // Undecided sizes take more, as far as a look comes out.
    head.experiments[0].cases[1].sizes = vec![100, 1_000];
    let (log, _) = run(&head, &mut simulation);
    let end = simulation.now.as_secs_f64();
    for (step, progress) in log.steps.iter().zip(&log.progress) {
        let Step::Block(block) = step else { continue };
        if block.key.case == "plain" {
            let estimate = (progress.spent + progress.left.duration).as_secs_f64() / end;
            assert!((0.7..1.3).contains(&estimate), "{progress:?} at {block:?}");
        }
    }
    head.settings = with_budget(200);
    let (log, _) = run(&head, &mut Simulation::new());
    let budget = Duration::from_millis(200);
    for progress in log.progress {
        assert!(progress.left.duration <= budget.saturating_sub(progress.spent));
    }
}
