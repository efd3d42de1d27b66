//! The tour as its user sees it: what is printed when, and which files it leaves.

use crate::{meant, output::Failure, progress::Progress};
use manyhands_lab::{
    LabError, LiveSampler, Measurement, Sampler, Scale, chart,
    machine::Machine,
    registry,
    report::{self, Provenance, Store},
    run::Observer,
    tour::{self, Guide, Section},
};
use std::{
    io::{self, Write},
    time::Duration,
};

/// Takes the tour and prints it.
pub(crate) fn run(meant: &meant::Tour) -> Result<(), Failure> {
    let machine = Machine::here();
    let provenance = Provenance {
        machine: machine.clone(),
        seed: meant.seed,
    };
    let store = Store::create(&meant.out, provenance)?;
    for name in [CHART_SVG, CHART_PNG] {
        store.remove(name)?;
    }
    introduce(meant, &machine)?;

    let experiments = registry::experiments();
    let mut sampler = LiveSampler::new(meant.seed).batch(batch(meant.scale));
    let mut host = Host {
        progress: Progress::new(meant.budget, sampler.elapsed()),
        store,
        seed: meant.seed,
        sections: Vec::new(),
        print_failure: None,
    };
    let plan = tour::Tour {
        scale: meant.scale,
        budget: meant.budget,
    };
    let toured = tour::run(&experiments, plan, &mut sampler, &mut host);
    host.progress.finish();
    if let Some(error) = host.print_failure {
        return Err(error.into());
    }
    let sections = toured?;
    let charted = draw(&host.store, &sections, &machine, meant.seed)?;
    conclude(meant, &host.store, charted)?;
    Ok(())
}

/// How long one sample lasts at least; short ones leave time for more blocks.
fn batch(scale: Scale) -> Duration {
    match scale {
        Scale::Full => Duration::from_millis(5),
        Scale::Quick => Duration::from_millis(2),
    }
}

/// Prints sections and saves blocks as they come.
struct Host {
    progress: Progress,
    store: Store,
    seed: u64,
    sections: Vec<Section>,
    /// Why nothing can be printed any more, which ends the tour.
    print_failure: Option<io::Error>,
}

impl Observer for Host {
    fn measurement_begins(&mut self, measurement: &Measurement, now: Duration) {
        self.progress.announce(format!(
            "{} {}, n = {}",
            measurement.experiment,
            measurement.case,
            report::count(measurement.n)
        ));
        self.progress.advance(now);
    }

    fn block_done(&mut self, measurement: &Measurement, now: Duration) -> Result<(), LabError> {
        self.progress.advance(now);
        self.store.append_block(measurement)
    }
}

impl Guide for Host {
    fn section_done(&mut self, section: &Section) -> Result<(), LabError> {
        self.sections.push(section.clone());
        self.store.write_summary(&self.sections)?;
        let seed = self.seed;
        let printed = self.progress.aside(|| print_section(section, seed));
        printed.map_err(|error| {
            self.print_failure = Some(error);
            LabError::Stopped
        })
    }
}

fn introduce(meant: &meant::Tour, machine: &Machine) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let version = env!("CARGO_PKG_VERSION");
    writeln!(
        out,
        "manyhands {version}: where does parallel pay on this machine?"
    )?;
    writeln!(out, "{}", machine.line())?;
    if machine.sha_instructions {
        writeln!(
            out,
            "The processor has instructions for SHA-1 and SHA-256, so both may beat SHA-512."
        )?;
    }
    if cfg!(debug_assertions) {
        writeln!(
            out,
            "Built without optimisation: these times mean little, use --release."
        )?;
    }
    writeln!(
        out,
        "Both arms run in every block, in shuffled order; speed-up is the median of the ratios \
         within blocks.\nPool warm, seed {}, about {:.0} s.",
        meant.seed,
        meant.budget.as_secs_f64(),
    )
}

fn print_section(section: &Section, seed: u64) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "\n{}  {}", section.id, section.title)?;
    writeln!(out, "{}", report::section_table(section, seed))?;
    if let Some(sentence) = report::break_even_sentence(section) {
        writeln!(out, "{}", wrapped(&sentence, TEXT_COLUMNS))?;
    }
    if !section.left_out.is_empty() {
        let names: Vec<String> = section
            .left_out
            .iter()
            .map(|(case, n)| format!("{case} at n = {}", report::count(*n)))
            .collect();
        let text = format!(
            "Left out, the budget had no time for: {}.",
            names.join(", ")
        );
        writeln!(out, "{}", wrapped(&text, TEXT_COLUMNS))?;
    }
    Ok(())
}

/// Draws the first section that has a curve to show.
fn draw(
    store: &Store,
    sections: &[Section],
    machine: &Machine,
    seed: u64,
) -> Result<Charted, LabError> {
    let describe = |section| chart::describe(section, machine, seed);
    let Some(description) = sections.iter().find_map(describe) else {
        return Ok(Charted::Nothing);
    };
    let svg = chart::svg(&description)?;
    store.replace(CHART_SVG, svg.as_bytes())?;
    store.replace(CHART_PNG, &chart::png(&svg)?)?;
    Ok(Charted::Chart)
}

/// Whether there was enough to draw.
#[derive(Clone, Copy)]
enum Charted {
    Chart,
    Nothing,
}

fn conclude(meant: &meant::Tour, store: &Store, charted: Charted) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "\nChecksums of all arms agreed in every block.")?;
    let folder = store.folder().display();
    match charted {
        Charted::Chart => writeln!(
            out,
            "Chart, raw blocks and summary are in {folder}/: {CHART_PNG}, {CHART_SVG}, {}, {}",
            report::RAW_FILE,
            report::SUMMARY_FILE,
        )?,
        Charted::Nothing => writeln!(
            out,
            "Too few sizes were measured for a chart; raw blocks and summary are in {folder}/: \
             {}, {}",
            report::RAW_FILE,
            report::SUMMARY_FILE,
        )?,
    }
    writeln!(
        out,
        "\nTry next (in a clone, 'cargo run --release --' stands for 'manyhands'):"
    )?;
    let again = format!("manyhands tour --seed {}", meant.seed);
    let mut advice = vec![
        ("manyhands tour --budget 300", "narrower intervals"),
        (
            again.as_str(),
            "the same order of arms: does the answer hold?",
        ),
    ];
    if meant.scale == Scale::Quick {
        advice.insert(0, ("manyhands tour", "the full sizes"));
    }
    for (command, why) in advice {
        writeln!(out, "  {command:34} {why}")?;
    }
    Ok(())
}

/// Breaks a sentence into lines between words.
fn wrapped(text: &str, columns: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > columns {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}

const TEXT_COLUMNS: usize = 92;
const CHART_SVG: &str = "e3.svg";
const CHART_PNG: &str = "e3.png";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sentences_are_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 7), "one two\nthree");
        assert_eq!(wrapped("unbreakable word", 5), "unbreakable\nword");
        assert_eq!(wrapped("", 5), "");
    }
}
