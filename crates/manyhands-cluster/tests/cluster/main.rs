//! Calls over worker processes: this program is the test, the driver and the workers.
//!
//! It has a main function of its own, because its first line makes it a worker where it is one.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test program says what it does, and an unwrap in it is an assertion"
)]

#[cfg(all(unix, feature = "nats"))]
mod authority;
#[cfg(unix)]
mod calls;
#[cfg(unix)]
mod children;
#[cfg(unix)]
mod losses;
#[cfg(all(unix, feature = "nats"))]
mod nats;
#[cfg(all(unix, feature = "nats"))]
mod nats_certificates;
#[cfg(all(unix, feature = "nats"))]
mod nats_keys;
#[cfg(unix)]
mod programs;

use std::env;
#[cfg(unix)]
use std::{sync::mpsc, thread, time::Duration};

fn main() {
    let cluster = match manyhands_cluster::init() {
        Ok(cluster) => cluster,
        Err(error) => {
            println!("error: {error}\n{error:?}");
            return;
        }
    };
    #[cfg(unix)]
    if let Some(role) = env::args().nth(1).filter(|role| role.starts_with("as-")) {
        programs::run(&role, &cluster);
        return;
    }
    assert!(cluster.is_local());
    #[cfg(unix)]
    run_all();
}

#[cfg(unix)]
fn run_all() {
    test(
        "calls over processes are as local ones",
        calls::over_processes_are_as_local_ones,
    );
    test(
        "many calls at once share the workers",
        calls::at_once_share_the_workers,
    );
    test(
        "large captures and results pass",
        calls::with_large_captures_and_results_pass,
    );
    test(
        "a panic comes with its index and its host",
        calls::with_a_panic_name_index_and_host,
    );
    test(
        "a deadline and a cancellation end a call",
        calls::end_by_deadline_and_cancellation,
    );
    test(
        "a worker that dies loses nothing",
        losses::of_a_worker_loses_nothing,
    );
    test(
        "a worker that is stopped loses nothing",
        losses::of_a_stopped_worker_loses_nothing,
    );
    test(
        "a chunk that kills its workers is given up",
        losses::of_all_workers_end_the_call,
    );
    test(
        "the variable starts workers",
        programs::the_variable_starts_workers,
    );
    test(
        "a wrong variable is refused",
        programs::a_wrong_variable_is_refused,
    );
    test(
        "what bodies print is not printed by the driver",
        programs::what_bodies_print_is_apart,
    );
    test(
        "workers end with a driver that is killed",
        programs::workers_end_with_their_driver,
    );
    #[cfg(feature = "nats")]
    run_those_of_nats();
}

#[cfg(all(unix, feature = "nats"))]
fn run_those_of_nats() {
    if nats::server().is_none() {
        println!("skipped, calls through NATS: there is no nats-server");
        return;
    }
    test(
        "calls through NATS are as local ones",
        nats::calls_are_as_local_ones,
    );
    test(
        "a worker dies and one comes late through NATS",
        nats::a_worker_that_dies_and_one_that_comes_late,
    );
    test(
        "a NATS server that is killed costs time only",
        nats::a_server_that_is_killed_costs_time_only,
    );
    test(
        "a call through NATS with encryption and a key is as a local one",
        nats_keys::a_call_is_as_a_local_one,
    );
    test(
        "a call through NATS with credentials is as a local one",
        nats_keys::a_call_with_credentials_is_as_a_local_one,
    );
    test(
        "a key that a NATS server does not know is refused",
        nats_keys::an_unknown_key_is_refused,
    );
    test(
        "a NATS server whose certificate is not trusted gets no key",
        nats_keys::a_server_that_is_not_trusted_gets_no_key,
    );
    test(
        "a call through NATS with certificates of both ends is as a local one",
        nats_certificates::a_call_is_as_a_local_one,
    );
    test(
        "a certificate that a NATS server does not know is refused",
        nats_certificates::others_are_refused,
    );
}

/// Runs a test if its name contains what was asked for.
#[cfg(unix)]
fn test(name: &str, body: fn()) {
    let is_wanted = |word: String| word.starts_with('-') || name.contains(&word);
    if env::args().skip(1).all(is_wanted) {
        println!("test {name} ...");
        let watch = Watch::over(name);
        body();
        drop(watch);
        println!("test {name} ... ok");
    }
}

/// Ends the program where a test does not end.
#[cfg(unix)]
struct Watch(Option<mpsc::Sender<()>>, Option<thread::JoinHandle<()>>);

#[cfg(unix)]
impl Watch {
    fn over(name: &str) -> Self {
        let (done, is_done) = mpsc::channel::<()>();
        let name = name.to_owned();
        let thread = thread::spawn(move || {
            if is_done.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
                println!("test {name} has not ended within {LIMIT:?}");
                children::kill_all();
                std::process::abort();
            }
        });
        Self(Some(done), Some(thread))
    }
}

#[cfg(unix)]
impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.0.take());
        if let Some(thread) = self.1.take() {
            drop(thread.join());
        }
    }
}

#[cfg(unix)]
const LIMIT: Duration = Duration::from_secs(180);
