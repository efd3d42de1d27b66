//! How to run: `cargo run --release --example 05_failures`
//!
//! Nothing that goes wrong is lost. The `try_` forms gather every error and panic with its position;
//! elsewhere a panic goes on in the caller, several of them as one.

#![expect(
    clippy::unwrap_used,
    reason = "each unwrap asserts what has gone wrong or well"
)]

use manyhands::{AggregatePanic, parallel, task};
use std::panic::{catch_unwind, resume_unwind};

fn main() {
    // Bodies that return a `Result`.
    let parsed = parallel::try_map(&["1", "2", "3"], |text| text.parse::<u8>());
    assert_eq!(parsed.unwrap(), [1, 2, 3]);

    let failures = parallel::try_map(&["1", "two", "3"], |text| text.parse::<u8>()).unwrap_err();
    let (position, error) = failures.errors().next().unwrap();
    assert_eq!(position, 1);
    assert_eq!(error.to_string(), "invalid digit found in string");
    assert!(failures.to_string().starts_with("1 body failed; item 1: "));

    // A panic in a body reaches the caller with its own payload. (Resumed, so that nothing is printed.)
    let payload = catch_unwind(|| {
        parallel::for_each(0..1000, |i| {
            if i == 500 {
                resume_unwind(Box::new(i));
            }
        });
    });
    assert_eq!(payload.unwrap_err().downcast_ref(), Some(&500));

    // All invoked closures are run; what went wrong in several of them comes together.
    let payload = catch_unwind(|| {
        let fail = |message: &'static str| move || -> () { resume_unwind(Box::new(message)) };
        parallel::invoke((fail("left"), || (), fail("right")));
    });
    let aggregate = payload.unwrap_err().downcast::<AggregatePanic>().unwrap();
    assert_eq!(aggregate.payloads().len(), 2);

    // The panic of a task goes to its handle.
    let error = task::run(|| -> () { resume_unwind(Box::new("oh dear")) })
        .join()
        .unwrap_err();
    assert!(error.is_panic());
    assert_eq!(error.to_string(), "the task panicked: oh dear");
}
