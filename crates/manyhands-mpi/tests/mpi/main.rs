//! Calls between the ranks of `mpirun`: this program is the test, which starts itself under `mpirun`, and then the driver
//! and the workers.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test program says what it does, and an unwrap in it is an assertion"
)]

// The tests that other engines pass, and what runs them.
#[path = "../../../manyhands-cluster/tests/cluster/calls.rs"]
mod calls;
#[path = "../../../manyhands-cluster/tests/cluster/children.rs"]
mod children;
#[path = "../../../manyhands-cluster/tests/cluster/run.rs"]
mod run;

mod programs;
mod under_mpirun;

use run::test;
use std::env;

fn main() {
    let cluster = match manyhands_mpi::init() {
        Ok(cluster) => cluster,
        Err(error) => {
            println!("error: {error}\n{error:?}");
            return;
        }
    };
    if let Some(role) = env::args().nth(1).filter(|role| role.starts_with("as-")) {
        programs::run(&role, &cluster);
        return;
    }
    assert!(cluster.is_local());
    if !under_mpirun::is_there() {
        println!("skipped, calls between ranks: there is no mpirun");
        return;
    }
    test(
        "calls between ranks pass what other engines pass",
        under_mpirun::calls_pass,
    );
    test(
        "what bodies print is not printed by the driver",
        under_mpirun::what_bodies_print_is_apart,
    );
    test(
        "a rank that is stopped loses nothing",
        under_mpirun::a_stopped_rank_loses_nothing,
    );
    test(
        "a rank that is stopped keeps no message from others",
        under_mpirun::a_stopped_rank_keeps_no_message_from_others,
    );
    test(
        "a rank of another build gets no work",
        under_mpirun::a_rank_of_another_build_gets_no_work,
    );
    test(
        "a body that goes on keeps nobody from ending",
        under_mpirun::a_body_that_goes_on_keeps_nobody,
    );
    test(
        "a driver without other ranks says so",
        under_mpirun::a_driver_alone_says_so,
    );
    test(
        "all ranks end with one that dies",
        under_mpirun::all_end_with_a_worker_that_dies,
    );
    test(
        "all ranks end with a driver that is killed",
        under_mpirun::all_end_with_a_driver_that_is_killed,
    );
    test(
        "all ranks end with a driver that panics",
        under_mpirun::all_end_with_a_driver_that_panics,
    );
}
