//! Keys: counting, joining and sorting numbers, at most ten million of them.
//!
//! - `count-few`, `count-many`: how often each of a thousand or a million keys occurs.
//! - `join`: the sum over all numbers with a partner in a table of a tenth as many rows; half have one.
//! - `sort`, `sort-stable`: random numbers; each call sorts a copy.
//!
//! Not here: chains without keys (`queries`).

mod case;
mod chunks;
mod data;
mod data_frames;
mod manyhands;
mod rayon;
mod sequential;
mod standard;

use manyhands_lab::contest::Arm;

use crate::cli::Settings;
use crate::report::{Outcome, Report};
use crate::sized::{self, Comparison};
use data::Data;

pub(crate) use case::Task;
pub(crate) use chunks::merged;

/// A row of the table that is joined with.
pub(crate) type Row = (u64, u64);

/// What a contender of this problem can do, all but what its arm leaves out. Keys and counts may come in any order.
pub(crate) trait Keys {
    /// How often each value occurs.
    fn count(values: &[u64]) -> Vec<(u64, usize)>;

    /// The wrapped sum of `value ^ row.1` over all values and the rows whose first number they are.
    fn join(_values: &[u64], _table: &[Row]) -> u64 {
        left_out()
    }

    /// Sorts; equal values may change places.
    fn sort(_values: &mut [u64]) {
        left_out::<()>();
    }

    /// Sorts stably.
    fn sort_stable(_values: &mut [u64]) {
        left_out::<()>();
    }
}

fn left_out<T>() -> T {
    unreachable!("a contender is asked only for what its arm names")
}

/// The rows of the tables; the first is the base of the ratios, the second its control.
pub(crate) const ARMS: [Arm; 12] = [
    Arm::base("sequential", "sequential"),
    Arm::base("sequential again", "sequential"),
    Arm::contender("std-map").of(&["count-few", "count-many"]),
    Arm::contender("manyhands"),
    Arm::contender("manyhands-unordered"),
    Arm::contender("rayon"),
    Arm::contender("chunks"),
    Arm::contender("polars"),
    Arm::contender("duckdb"),
    Arm::contender("dotnet-sequential"),
    Arm::contender("dotnet-plinq"),
    Arm::contender("dotnet-plinq-aggregate").of(&["count-few", "count-many", "join"]),
];

const COMPARISON: Comparison = Comparison {
    problem: "keys",
    title: "Keys",
    arms: &ARMS,
    rounds: 9,
};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    COMPARISON.run::<Task>(settings, report)
}

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "sequential" => sized::serve::<Data<sequential::Sequential>>(),
        "std-map" => sized::serve::<Data<standard::Standard>>(),
        "manyhands" => sized::serve::<Data<manyhands::Ordered>>(),
        "manyhands-unordered" => sized::serve::<Data<manyhands::Unordered>>(),
        "rayon" => sized::serve::<Data<rayon::Rayon>>(),
        "chunks" => sized::serve::<Data<chunks::Chunks>>(),
        "polars" | "duckdb" => data_frames::serve(contender),
        _ => return false,
    }
    true
}
