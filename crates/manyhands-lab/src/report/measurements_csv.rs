//! Every sample of a run as a row.

use super::{cell::cell, conditions::pool_words};
use crate::{
    findings::Cause,
    record::{Block, CaseCard, Event, Head, Key, Sample},
};
use serde::Serialize;
use std::{borrow::Cow, collections::BTreeMap};

/// Every sample of a run as a row of CSV: the column names of BenchmarkDotNet's measurements file
/// first, so that scripts made for those read this one, then our own.
///
/// Separated by commas, decimals with points, quoted by RFC 4180. The experiment is the namespace,
/// the case the type, the arm the method; `Measurement_Value` is nanoseconds per call. Rows of the
/// baseline's twin have the stage `Twin` instead of `Result`, which such scripts pass over.
/// `causes` says why a block is disturbed, and gives nothing for a clean one. Blocks of cases that
/// the head does not name are left out.
///
/// # Panics
/// Never: rows of numbers and strings have a form as CSV.
#[must_use]
pub fn measurements_csv(
    head: &Head,
    events: &[Event],
    causes: impl Fn(&Key, &Block) -> Vec<Cause>,
) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let display = format!(
        "manyhands {}, {}",
        head.version,
        pool_words(head.settings.pool)
    );
    let mut blocks_before: BTreeMap<(&Key, u32), usize> = BTreeMap::new();
    for event in events {
        let Event::Block { key, block } = event else {
            continue;
        };
        let Some(card) = card_of(head, key) else {
            continue;
        };
        let index = blocks_before.entry((key, block.launch)).or_insert(0);
        let words: Vec<&str> = causes(key, block).into_iter().map(cause_word).collect();
        let context = Context {
            head,
            display: &display,
            key,
            card,
            block,
            index: *index,
            causes: words.join("+"),
        };
        for arm in 0..block.samples.len() {
            let row = context.row(arm);
            writer.serialize(row).expect("a row of plain values");
        }
        *index += 1;
    }
    let bytes = writer.into_inner().expect("memory takes all writes");
    String::from_utf8(bytes).expect("made of strings")
}

/// What the rows of one block share.
struct Context<'run> {
    head: &'run Head,
    display: &'run str,
    key: &'run Key,
    card: &'run CaseCard,
    block: &'run Block,
    /// Blocks of the same point and launch before this one.
    index: usize,
    causes: String,
}

impl Context<'_> {
    fn row(&self, arm: usize) -> Row<'_> {
        let is_twin = arm == self.card.arms.len();
        let method = self.card.arms.get(if is_twin { 0 } else { arm });
        let method = method.map_or("", String::as_str);
        let sample: &Sample = &self.block.samples[arm];
        let meters = sample.meters;
        let calls = u64::from(sample.calls.max(1));
        Row {
            target: cell(&format!("{}.{method}", self.key.case)).into_owned(),
            target_namespace: cell(&self.key.experiment),
            target_type: cell(&self.key.case),
            target_method: cell(method),
            job_id: "manyhands",
            job_launch_count: self.head.settings.launches,
            job_runtime: format!("manyhands {}", self.head.version),
            job_display: self.display,
            params: format!("case={}&n={}", self.key.case, self.key.n),
            launch_index: self.block.launch + 1,
            iteration_mode: "Workload",
            iteration_stage: if is_twin { "Twin" } else { "Result" },
            iteration_index: self.index + 1,
            nanoseconds: sample.wall_nanos,
            operations: sample.calls,
            value: sample.nanos(),
            allocated_bytes: meters.allocated_bytes.map(|bytes| bytes / calls),
            n: self.key.n,
            block: self.index,
            launch: self.block.launch,
            position: self.block.order.iter().position(|one| *one == arm),
            cpu_nanos: meters.cpu_nanos,
            run_delay_nanos: meters.run_delay_nanos,
            others_nanos: meters.others_nanos,
            steal_nanos: meters.steal_nanos,
            disturbed: &self.causes,
        }
    }
}

#[derive(Serialize)]
struct Row<'run> {
    #[serde(rename = "Target")]
    target: String,
    #[serde(rename = "Target_Namespace")]
    target_namespace: Cow<'run, str>,
    #[serde(rename = "Target_Type")]
    target_type: Cow<'run, str>,
    #[serde(rename = "Target_Method")]
    target_method: Cow<'run, str>,
    #[serde(rename = "Job_Id")]
    job_id: &'static str,
    #[serde(rename = "Job_LaunchCount")]
    job_launch_count: u32,
    #[serde(rename = "Job_Runtime")]
    job_runtime: String,
    #[serde(rename = "Job_Display")]
    job_display: &'run str,
    #[serde(rename = "Params")]
    params: String,
    #[serde(rename = "Measurement_LaunchIndex")]
    launch_index: u32,
    #[serde(rename = "Measurement_IterationMode")]
    iteration_mode: &'static str,
    #[serde(rename = "Measurement_IterationStage")]
    iteration_stage: &'static str,
    #[serde(rename = "Measurement_IterationIndex")]
    iteration_index: usize,
    #[serde(rename = "Measurement_Nanoseconds")]
    nanoseconds: u64,
    #[serde(rename = "Measurement_Operations")]
    operations: u32,
    #[serde(rename = "Measurement_Value")]
    value: f64,
    #[serde(rename = "Allocated_Bytes")]
    allocated_bytes: Option<u64>,
    n: usize,
    block: usize,
    launch: u32,
    position: Option<usize>,
    cpu_nanos: Option<u64>,
    run_delay_nanos: Option<u64>,
    others_nanos: Option<u64>,
    steal_nanos: Option<u64>,
    disturbed: &'run str,
}

fn card_of<'head>(head: &'head Head, key: &Key) -> Option<&'head CaseCard> {
    let mut experiments = head.experiments.iter();
    let experiment = experiments.find(|one| one.id == key.experiment)?;
    experiment.cases.iter().find(|case| case.name == key.case)
}

/// A cause as one word for programs.
fn cause_word(cause: Cause) -> &'static str {
    match cause {
        Cause::Load => "load",
        Cause::RunDelay => "run_delay",
        Cause::MajorFault => "major_fault",
    }
}
