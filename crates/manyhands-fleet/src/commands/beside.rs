//! Two parts of a program that end together, also when one of them ends by a panic.

use crate::FleetError;
use manyhands_lab::run::Interrupt;
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

/// Runs a body here and a companion on a thread of its own. When the body has ended, `has_ended` asks the companion to end;
/// a companion that ends by itself, or panics, asks the body to, by `stop`.
///
/// # Errors
/// That of the body, or [`FleetError::Panicked`].
pub(super) fn beside(
    stop: &Interrupt,
    (body_name, body): (&'static str, impl FnOnce() -> Result<(), FleetError>),
    (companion_name, companion): (&'static str, impl FnOnce(&Interrupt) + Send),
) -> Result<(), FleetError> {
    let has_ended = Interrupt::default();
    thread::scope(|scope| {
        let running = scope.spawn(|| {
            let ended = caught(companion_name, || companion(&has_ended));
            stop.set();
            ended
        });
        let ended = caught(body_name, body);
        has_ended.set();
        // It catches its own panics.
        let companion = running.join().unwrap_or(Ok(()));
        ended.and_then(|ended| ended).and(companion)
    })
}

fn caught<R>(part: &'static str, body: impl FnOnce() -> R) -> Result<R, FleetError> {
    // What a panic leaves half done is not looked at again: the program ends.
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| FleetError::Panicked {
        part,
        message: message(payload.as_ref()),
    })
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it said nothing").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::pause;
    use std::time::Duration;

    const LONG: Duration = Duration::from_secs(60);

    fn panicked(ended: Result<(), FleetError>, part: &str) {
        match ended {
            Err(FleetError::Panicked { part: ended, .. }) => assert_eq!(ended, part),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_companion_that_panics_ends_the_body() {
        let stop = Interrupt::default();
        let body = || {
            pause(LONG, &stop);
            assert!(stop.is_set(), "nobody ended the body");
            Ok(())
        };
        let ended = beside(
            &stop,
            ("body", body),
            ("companion", |_: &Interrupt| panic!("x")),
        );
        panicked(ended, "companion");
    }

    #[test]
    fn a_body_that_panics_ends_its_companion() {
        let stop = Interrupt::default();
        let ended = beside(
            &stop,
            ("body", || panic!("because {}", 1)),
            ("companion", |has_ended: &Interrupt| {
                pause(LONG, has_ended);
                assert!(has_ended.is_set(), "nobody ended the companion");
            }),
        );
        let says = ended.as_ref().unwrap_err().to_string();
        assert!(says.contains("because 1"), "{says}");
        panicked(ended, "body");
    }

    #[test]
    fn an_error_of_the_body_is_the_error() {
        let failing = || Err(FleetError::NoNatsServer);
        let ended = beside(
            &Interrupt::default(),
            ("body", failing),
            ("companion", |has_ended: &Interrupt| pause(LONG, has_ended)),
        );
        assert!(matches!(ended, Err(FleetError::NoNatsServer)), "{ended:?}");
    }
}
