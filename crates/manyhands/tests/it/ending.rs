//! The end of a runtime beside what other threads do in that moment. What becomes of its tasks is in `shutdown.rs`.

use crate::support::{receive, within};
use manyhands::{Runtime, task};
use std::sync::{Arc, Barrier, Mutex, mpsc};

/// Says that it is dropped.
struct Says(mpsc::Sender<()>);

impl Drop for Says {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// Ends a runtime of two workers. One of them waits in its stop hook until what `queue` queues in the hook of the other is
/// dropped, for which that does not wait.
fn one_hook_waits_for_another(queue: fn(Says)) {
    within(60, move || {
        let ((begin, begun), (say, dropped)) = (mpsc::channel(), mpsc::channel());
        let (end, ended) = mpsc::channel();
        let waits = Mutex::new(Some((begin, dropped, end)));
        let queues = Mutex::new(Some((begun, Says(say))));
        let hook = move |_| {
            let first = waits.lock().unwrap().take();
            if let Some((begin, dropped, end)) = first {
                begin.send(()).unwrap();
                receive(&dropped);
                return end.send(()).unwrap();
            }
            let (begun, says) = queues.lock().unwrap().take().unwrap();
            receive(&begun);
            queue(says);
        };
        let builder = Runtime::builder().workers(2).max_threads(2);
        let runtime = builder.on_thread_stop(hook).build().unwrap();
        let handle = runtime.handle();
        let both = Arc::new(Barrier::new(2));
        let meet = |_| {
            let both = Arc::clone(&both);
            handle.run(move || both.wait())
        };
        for task in [0, 1].map(meet) {
            task.join().unwrap();
        }
        runtime.shutdown_blocking();
        ended.try_recv().expect("it was dropped");
    });
}

#[test]
fn what_a_stop_hook_queues_is_dropped_while_another_one_waits_for_that() {
    one_hook_waits_for_another(|says| drop(task::run(move || drop(says))));
}

#[test]
fn what_a_local_task_of_a_stop_hook_queues_is_dropped_while_another_one_waits_for_that() {
    struct Queues(Option<Says>);
    impl Drop for Queues {
        fn drop(&mut self) {
            let says = self.0.take();
            drop(task::run(move || drop(says)));
        }
    }
    one_hook_waits_for_another(|says| {
        let queues = Queues(Some(says));
        drop(task::spawn_local(async move { drop(queues) }));
    });
}
