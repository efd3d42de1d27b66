//! Workers that die and stop while they run a chunk.

use manyhands_cluster::{Cluster, ClusterError, remote};
use nix::sys::signal::{Signal, raise};
use std::{
    env,
    fs::{self, File},
    path::PathBuf,
    process,
};

pub(crate) fn of_a_worker_loses_nothing() {
    let cluster = Cluster::processes(3).unwrap();
    let (mark, made) = mark("dies");
    let results = cluster.map(
        0..3_000,
        remote!([mark: PathBuf] |i| -> u64 {
            if i >= 40 && File::create_new(mark).is_ok() {
                raise(Signal::SIGKILL).unwrap();
            }
            i * 3
        }),
    );
    assert!(results.unwrap().into_iter().eq((0..3_000).map(|i| i * 3)));
    assert!(fs::remove_file(made).is_ok(), "a worker has died");
}

pub(crate) fn of_a_stopped_worker_loses_nothing() {
    let cluster = Cluster::processes(2).unwrap();
    let (mark, made) = mark("stops");
    let results = cluster.map(
        0..3_000,
        remote!([mark: PathBuf] |i| -> u64 {
            if i >= 40 && File::create_new(mark).is_ok() {
                raise(Signal::SIGSTOP).unwrap();
            }
            i * 3
        }),
    );
    assert!(results.unwrap().into_iter().eq((0..3_000).map(|i| i * 3)));
    assert!(fs::remove_file(made).is_ok(), "a worker has stopped");
}

pub(crate) fn of_all_workers_end_the_call() {
    let cluster = Cluster::processes(2).unwrap();
    let failed = cluster.map(
        0..300,
        remote!([] |i| -> u64 {
            if i == 250 {
                raise(Signal::SIGKILL).unwrap();
            }
            i
        }),
    );
    let Err(ClusterError::ChunkLost { range, deaths }) = failed else {
        panic!("{failed:?}");
    };
    assert!(range.contains(&250) && deaths == 4, "{range:?} {deaths}");
    let next = cluster.map(0..3, remote!([] |i| -> u64 { i }));
    assert_eq!(next, Ok(vec![0, 1, 2]), "others have taken their place");
}

/// A file that the first worker makes that comes to it; twice, because the loop takes one.
fn mark(name: &str) -> (PathBuf, PathBuf) {
    let path = env::temp_dir().join(format!("manyhands-cluster-{name}-{}", process::id()));
    drop(fs::remove_file(&path));
    (path.clone(), path)
}
