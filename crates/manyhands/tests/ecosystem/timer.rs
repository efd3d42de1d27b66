//! Hyper's waits, by this library's clock.

use hyper::rt::{Sleep, Timer as _};
use manyhands::integrations::hyper_runtime::Timer;
use manyhands::simulation::Simulation;
use manyhands::time;
use std::future::{Pending, pending};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// A sleep of another library, which never ends.
struct Foreign(Pending<()>);

impl Future for Foreign {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl Sleep for Foreign {}

/// How long `sleep` takes in a simulation, when it has begun and is then reset to two hours from the start.
fn waited_when_reset(make: fn() -> Pin<Box<dyn Sleep>>) -> Duration {
    let waited = Simulation::new(1).run(async {
        let start = Timer.now();
        let mut sleep = make();
        let ended = time::timeout(HOUR / 2, sleep.as_mut()).await;
        assert!(ended.is_err());
        Timer.reset(&mut sleep, start + 2 * HOUR);
        sleep.await;
        Timer.now() - start
    });
    waited.unwrap()
}

#[test]
fn a_sleep_ends_at_its_time() {
    let waited = Simulation::new(1).run(async {
        let start = Timer.now();
        Timer.sleep(HOUR).await;
        let middle = Timer.now();
        Timer.sleep_until(start + 3 * HOUR).await;
        (middle - start, Timer.now() - middle)
    });
    assert_eq!(waited.unwrap(), (HOUR, 2 * HOUR));
}

#[test]
fn a_sleep_that_is_reset_ends_at_the_new_time() {
    assert_eq!(waited_when_reset(|| Timer.sleep(HOUR)), 2 * HOUR);
    assert_eq!(
        waited_when_reset(|| Timer.sleep_until(Timer.now() + 3 * HOUR)),
        2 * HOUR
    );
}

#[test]
fn a_sleep_of_another_library_is_replaced() {
    assert_eq!(waited_when_reset(|| Box::pin(Foreign(pending()))), 2 * HOUR);
}
