//! Now, by the counter of ticks by which everything is recorded.

use crate::sync::clock;
use manyhands_analysis::Moment;

pub(crate) fn moment() -> Moment {
    Moment {
        ticks: clock::ticks(),
        nanos_in: clock::nanos_in,
    }
}
