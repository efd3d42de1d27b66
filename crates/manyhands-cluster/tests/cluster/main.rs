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
#[cfg(unix)]
mod run;

use manyhands_cluster::{Cluster, ClusterError};
#[cfg(unix)]
use run::test;
use std::env;

fn main() {
    let cluster = match begin() {
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

/// In tokio where a test wants that.
fn begin() -> Result<Cluster, ClusterError> {
    #[cfg(all(unix, feature = "nats"))]
    if env::var_os(nats::IN_TOKIO).is_some() {
        return nats::in_tokio(manyhands_cluster::init);
    }
    manyhands_cluster::init()
}

#[cfg(unix)]
fn run_all() {
    for (name, body) in calls::ALL {
        test(name, || body(&Cluster::processes(3).unwrap()));
    }
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
        "a body may begin, and start programs",
        programs::a_body_may_begin_and_start_programs,
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
        "a worker that dies is replaced, and known to have died, through NATS",
        nats::a_worker_that_dies_is_replaced,
    );
    test(
        "a worker whose long answer is on its way through NATS is not silent",
        nats::a_long_message_is_no_silence,
    );
    test(
        "a broadcast value is sent once for all workers through NATS",
        nats::a_broadcast_value_is_sent_once_for_all_workers,
    );
    test(
        "a NATS server that is killed costs time only",
        nats::a_server_that_is_killed_costs_time_only,
    );
    test(
        "a body at a worker of a NATS server may begin, and reads nothing",
        nats::a_body_may_begin_and_reads_nothing,
    );
    test(
        "workers of a build with a long name are found through NATS",
        nats::a_build_may_have_a_long_name,
    );
    test(
        "programs of tokio may begin",
        nats::programs_of_tokio_may_begin,
    );
    test(
        "a NATS server that takes short messages only is refused",
        nats::a_server_that_takes_short_messages_only_is_refused,
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
