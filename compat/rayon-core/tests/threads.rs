//! There is one set of worker threads. In a process of its own, because it counts the process's threads.
#![cfg(target_os = "linux")]

use manyhands::{Runtime, parallel, task};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::fs;

/// The names of the threads of this process that are neither the test's nor the test harness's.
fn pool_threads() -> Vec<String> {
    let of = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("comm")).ok();
    let folder = fs::read_dir("/proc/self/task").unwrap();
    let names = folder.filter_map(|entry| of(entry.unwrap()));
    let mut names: Vec<_> = names
        .map(|name| name.trim().to_owned())
        .filter(|name| name.starts_with("manyhands") || name.contains("rayon"))
        .collect();
    names.sort();
    names
}

#[test]
fn both_worlds_share_one_set_of_threads() {
    let workers = Runtime::default_runtime().workers();
    for _ in 0..20 {
        (0..10_000_u64)
            .into_par_iter()
            .for_each(|x| drop(std::hint::black_box(vec![x])));
        parallel::for_each(0..10_000, |x| drop(std::hint::black_box(vec![x])));
        task::run(|| rayon::join(|| 1, || 2)).join().unwrap();
    }
    assert_eq!(rayon::current_num_threads(), workers);
    let threads = pool_threads();
    let of_workers = threads
        .iter()
        .filter(|name| !name.starts_with("manyhands-monit"))
        .count();
    // One for each worker, and perhaps some in place of blocked ones: the task above waits.
    assert_eq!(threads.len() - of_workers, 1, "{threads:?}");
    assert!(of_workers <= workers + 2, "{threads:?}");

    let names = rayon::broadcast(|_| std::thread::current().name().map(str::to_owned));
    let names: BTreeSet<_> = names.into_iter().flatten().collect();
    assert!(
        names.iter().all(|name| name.starts_with("manyhands-")),
        "{names:?}"
    );
}
