//! Hyper's waits, by this library's clock.

use hyper::rt::{Sleep, Timer};
use manyhands::Handle;
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
fn waited_when_reset(make: fn(&Handle) -> Pin<Box<dyn Sleep>>) -> Duration {
    let waited = Simulation::new(1).run(async {
        let timer = Handle::current();
        let start = timer.now();
        let mut sleep = make(&timer);
        let ended = time::timeout(HOUR / 2, sleep.as_mut()).await;
        assert!(ended.is_err());
        timer.reset(&mut sleep, start + 2 * HOUR);
        sleep.await;
        timer.now() - start
    });
    waited.unwrap()
}

#[test]
fn a_sleep_ends_at_its_time() {
    let waited = Simulation::new(1).run(async {
        let timer = Handle::current();
        let start = timer.now();
        timer.sleep(HOUR).await;
        let middle = timer.now();
        timer.sleep_until(start + 3 * HOUR).await;
        (middle - start, timer.now() - middle)
    });
    assert_eq!(waited.unwrap(), (HOUR, 2 * HOUR));
}

#[test]
fn a_sleep_that_is_reset_ends_at_the_new_time() {
    assert_eq!(waited_when_reset(|timer| timer.sleep(HOUR)), 2 * HOUR);
    assert_eq!(
        waited_when_reset(|timer| timer.sleep_until(timer.now() + 3 * HOUR)),
        2 * HOUR
    );
}

#[test]
fn a_sleep_of_another_library_is_replaced() {
    assert_eq!(
        waited_when_reset(|_| Box::pin(Foreign(pending()))),
        2 * HOUR
    );
}
