//! What more CPUs bring, as tables and sentences.

use super::{
    grid::{Column, Grid, Row},
    units::{count, nanos, percent, ratio},
};
use crate::findings::{ArmOver, AtCopies, AtCpus, ExperimentFindings, Over};

/// A table with its title and what is said below it.
pub(super) struct Titled {
    pub(super) title: String,
    pub(super) grid: Grid,
    pub(super) sentences: Vec<String>,
}

/// The tables of an experiment over CPUs and over copies; none if it was measured on one number only.
pub(super) fn tables(experiment: &ExperimentFindings) -> Vec<Titled> {
    let shared = experiment.over_cpus();
    let contending = experiment.over_copies();
    let shared = shared.iter().map(over_cpus);
    shared.chain(contending.iter().map(over_copies)).collect()
}

fn over_cpus(case: &Over<AtCpus>) -> Titled {
    let grid = grid(&case.arms, |arm, at| {
        let over_bound = at.bound_nanos.map(|bound| at.nanos.median / bound);
        let or_nothing =
            |value: Option<f64>, words: fn(f64) -> String| value.map_or_else(String::new, words);
        vec![
            Column::numbers("CPUs", count(at.cpus)),
            Column::arms("arm", arm.name.clone()),
            Column::numbers("median", nanos(at.nanos.median)),
            Column::numbers("speed-up", ratio(at.speed_up)),
            Column::numbers("serial fraction", or_nothing(at.serial_fraction, percent)),
            Column::numbers("rounds bound", or_nothing(at.bound_nanos, nanos)),
            Column::numbers("over the bound", or_nothing(over_bound, ratio)),
        ]
    });
    let mut points = case.arms.iter().flat_map(|arm| &arm.points);
    let is_bounded = points.any(|at| at.bound_nanos.is_some());
    let bound = match is_bounded {
        true => "The bound is that of whole rounds of equal items.",
        false => "There is no bound: some arm takes less for an item than the baseline does.",
    };
    let explained = match case.computes {
        true => format!(
            "The serial fraction is that of Karp and Flatt; if it grows with the CPUs, the loss is no serial \
             work. {bound}"
        ),
        false => "The baseline waits for most of its time, which more CPUs do not shorten: there is no serial \
                  fraction, and no bound."
            .to_owned(),
    };
    Titled {
        title: format!("{}, n = {}, over CPUs", case.case, count(case.n)),
        grid,
        sentences: vec![format!(
            "Speed-ups are over the baseline on the fewest CPUs. {explained}"
        )],
    }
}

fn over_copies(case: &Over<AtCopies>) -> Titled {
    let grid = grid(&case.arms, |arm, at| {
        vec![
            Column::numbers("copies", count(at.copies)),
            Column::arms("arm", arm.name.clone()),
            Column::numbers("median", nanos(at.nanos.median)),
            Column::numbers("throughput", at.throughput.map_or_else(String::new, ratio)),
        ]
    });
    Titled {
        title: format!("{}, n = {}, in copies", case.case, count(case.n)),
        grid,
        sentences: vec![
            "A time is that until all copies have ended, each on a thread of its own and all on as \
             many CPUs as there are copies; throughput is calls in a given time, as multiples of \
             those of one copy."
                .to_owned(),
        ],
    }
}

/// A row for each point of each arm: first those of all arms on the fewest CPUs, then on more.
fn grid<P>(arms: &[ArmOver<P>], row: impl Fn(&ArmOver<P>, &P) -> Row) -> Grid {
    let most = arms.iter().map(|arm| arm.points.len()).max();
    let at = |place: usize| {
        let row = &row;
        let arms = arms.iter();
        arms.filter_map(move |arm| Some(row(arm, arm.points.get(place)?)))
    };
    Grid::of((0..most.unwrap_or(0)).flat_map(at)).without_empty_columns()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn each_number_of_cpus_has_its_speed_up_serial_fraction_and_bound() {
        let tables = tables(&fixture::over_cpus());
        let titles: Vec<&str> = tables.iter().map(|one| one.title.as_str()).collect();
        let expected = ["SHA-512, n = 300, over CPUs", "SHA-512, n = 300, in copies"];
        assert_eq!(titles, expected);
        let rows = &tables[0].grid.rows;
        assert_eq!(rows.len(), 8);
        let last = ["8", "for", "60.0 µs", "5.00×", "8.6 %", "38.0 µs", "1.58×"];
        assert_eq!(rows[7], last);
        let copies = ["2", "for", "375 µs", "1.60×"];
        assert_eq!(tables[1].grid.rows[3], copies);
    }
}
