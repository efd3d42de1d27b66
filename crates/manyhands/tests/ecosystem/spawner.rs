//! The spawner for libraries that take one of `futures`.

use crate::support::in_time;
use futures::task::{LocalSpawnExt, Spawn, SpawnExt};
use manyhands::integrations::Spawner;
use manyhands::{Runtime, task};
use std::rc::Rc;
use std::thread;

#[test]
fn a_spawner_behind_a_trait_spawns_on_the_current_runtime() {
    in_time(|| {
        let named = |_| "one of ours".to_owned();
        let runtime = Runtime::builder().workers(1).thread_name(named).build();
        let runtime = runtime.unwrap();
        let _entered = runtime.enter();
        let spawner: &dyn Spawn = &Spawner;
        let name = async { thread::current().name().map(str::to_owned) };
        let handle = spawner.spawn_with_handle(name).unwrap();
        assert_eq!(task::block_on(handle).as_deref(), Some("one of ours"));
    });
}

#[test]
fn local_futures_are_taken_on_workers_only() {
    in_time(|| {
        assert!(Spawner.spawn_local(async {}).unwrap_err().is_shutdown());
        let on_worker = task::spawn(async {
            let handle = Spawner.spawn_local_with_handle(async { Rc::new(7) });
            // The handle holds what cannot be sent, so it is awaited where it is.
            let sum = task::spawn_local(async { *handle.unwrap().await });
            sum.await.unwrap()
        });
        assert_eq!(on_worker.join().unwrap(), 7);
    });
}
