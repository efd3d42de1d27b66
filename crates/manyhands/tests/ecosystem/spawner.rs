//! A handle as the spawner that libraries of `futures` take.

use crate::support::in_time;
use futures::task::{LocalSpawnExt, Spawn, SpawnExt};
use manyhands::{Runtime, task};
use std::rc::Rc;
use std::thread;

#[test]
fn a_handle_behind_a_trait_spawns_on_its_runtime() {
    in_time(|| {
        let named = |_| "one of ours".to_owned();
        let runtime = Runtime::builder().workers(1).thread_name(named).build();
        let runtime = runtime.unwrap();
        let spawner: &dyn Spawn = &runtime.handle();
        let name = async { thread::current().name().map(str::to_owned) };
        let handle = spawner.spawn_with_handle(name).unwrap();
        assert_eq!(task::block_on(handle).as_deref(), Some("one of ours"));
    });
}

#[test]
fn local_futures_are_taken_on_the_handle_s_workers_only() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let other = Runtime::builder().workers(1).build().unwrap().handle();
        let handle = runtime.handle();
        let refused = handle.spawn_local(async {});
        assert!(refused.unwrap_err().is_shutdown());
        let here = handle.clone();
        let on_worker = handle.spawn(async move {
            assert!(other.spawn_local(async {}).unwrap_err().is_shutdown());
            let handle = here.spawn_local_with_handle(async { Rc::new(7) });
            // The handle holds what cannot be sent, so it is awaited where it is.
            let sum = task::spawn_local(async { *handle.unwrap().await });
            sum.await.unwrap()
        });
        assert_eq!(on_worker.join().unwrap(), 7);
    });
}
