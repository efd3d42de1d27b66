//! How each library sleeps.

use std::time::Duration;

use crate::tasks::{Manyhands, Smol, Tokio};
use crate::timers::Timers;

impl Timers for Manyhands {
    type Sleep = manyhands::time::Sleep;

    fn sleep(length: Duration) -> Self::Sleep {
        manyhands::time::sleep(length)
    }
}

impl Timers for Tokio {
    type Sleep = tokio::time::Sleep;

    fn sleep(length: Duration) -> Self::Sleep {
        tokio::time::sleep(length)
    }
}

impl Timers for Smol {
    type Sleep = async_io::Timer;

    fn sleep(length: Duration) -> Self::Sleep {
        async_io::Timer::after(length)
    }
}
