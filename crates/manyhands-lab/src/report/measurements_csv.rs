//! Every sample of a run as a row.

use super::{
    cell::{Row, known, number, table},
    conditions::pool_words,
};
use crate::{
    findings::{Cause, gates},
    record::{Block, CaseCard, Event, Head, Key},
};
use std::collections::BTreeMap;

/// Every sample of a run as a row of CSV: the column names of BenchmarkDotNet's measurements file
/// first, so that scripts made for those read this one, then our own.
///
/// Separated by commas, decimals with points, quoted by RFC 4180. The experiment is the namespace, the case the type, the
/// arm the method; `Measurement_Value` is nanoseconds per call. Rows of the baseline's twin have the stage `Twin` instead
/// of `Result`, which such scripts pass over. The last column says why a block is disturbed, and nothing of a clean one.
/// Blocks of cases that the head does not name are left out.
///
/// # Panics
/// Never: memory takes all writes.
#[must_use]
pub fn measurements_csv(head: &Head, events: &[Event]) -> String {
    let gates = gates(head, events);
    let mut blocks_before: BTreeMap<(&Key, u32), usize> = BTreeMap::new();
    let mut rows = Vec::new();
    for event in events {
        let Event::Block { key, block } = event else {
            continue;
        };
        let Some(card) = card_of(head, key) else {
            continue;
        };
        let index = blocks_before.entry((key, block.launch)).or_insert(0);
        let causes = gates.get(key).map(|gate| gate.causes(block));
        let words = causes.into_iter().flatten().map(cause_word);
        let context = Context {
            head,
            key,
            card,
            block,
            index: *index,
            causes: words.collect::<Vec<_>>().join("+"),
        };
        rows.extend((0..block.samples.len()).map(|arm| context.row(arm)));
        *index += 1;
    }
    table(rows)
}

/// What the rows of one block share.
struct Context<'run> {
    head: &'run Head,
    key: &'run Key,
    card: &'run CaseCard,
    block: &'run Block,
    /// Blocks of the same point and launch before this one.
    index: usize,
    causes: String,
}

impl Context<'_> {
    fn row(&self, arm: usize) -> Row {
        let Self {
            head, key, block, ..
        } = self;
        let is_twin = arm == self.card.arms.len();
        let method = self.card.arms.get(if is_twin { 0 } else { arm });
        let method = method.map_or("", String::as_str);
        let program = format!("manyhands {}", head.version);
        let sample = &block.samples[arm];
        let meters = sample.meters;
        let calls = u64::from(sample.calls.max(1));
        let position = block.order.iter().position(|one| *one == arm);
        vec![
            ("Target", format!("{}.{method}", key.case)),
            ("Target_Namespace", key.experiment.clone()),
            ("Target_Type", key.case.clone()),
            ("Target_Method", method.to_owned()),
            ("Job_Id", "manyhands".to_owned()),
            ("Job_LaunchCount", number(head.settings.launches)),
            ("Job_Runtime", program.clone()),
            (
                "Job_Display",
                format!("{program}, {}", pool_words(head.settings.pool)),
            ),
            ("Params", format!("case={}&n={}", key.case, key.n)),
            ("Measurement_LaunchIndex", number(block.launch + 1)),
            ("Measurement_IterationMode", "Workload".to_owned()),
            (
                "Measurement_IterationStage",
                if is_twin { "Twin" } else { "Result" }.to_owned(),
            ),
            ("Measurement_IterationIndex", number(self.index + 1)),
            ("Measurement_Nanoseconds", number(sample.wall_nanos)),
            ("Measurement_Operations", number(sample.calls)),
            ("Measurement_Value", number(sample.nanos())),
            (
                "Allocated_Bytes",
                known(meters.allocated_bytes.map(|bytes| bytes / calls)),
            ),
            ("n", number(key.n)),
            ("block", number(self.index)),
            ("launch", number(block.launch)),
            ("position", known(position)),
            ("cpu_nanos", known(meters.cpu_nanos)),
            ("run_delay_nanos", known(meters.run_delay_nanos)),
            ("others_nanos", known(meters.others_nanos)),
            ("steal_nanos", known(meters.steal_nanos)),
            ("disturbed", self.causes.clone()),
        ]
    }
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
