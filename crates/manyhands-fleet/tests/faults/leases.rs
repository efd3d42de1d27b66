//! How long a job is leased: as long as the server says that runs now.

use crate::{PLAN_OF_ONE, machines::Machines};
use manyhands_fleet::engine::{Address, Engine, Keys, Message, Nats, Queue};
use std::time::Duration;

/// Also where jobs are for machines of one size, whose queue is made when the first of them is handed out.
pub(crate) fn leases_are_those_of_the_server_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let machines = Machines::start(folder.path());
    machines.submit(PLAN_OF_ONE, "");
    let url = format!("nats://127.0.0.1:{}", machines.port);
    let engine = Nats::connect(&Address::parse(&url, &Keys::default()).unwrap()).unwrap();
    let queue = Queue::Jobs { cpus: Some(77) };
    for minutes in [1, 2] {
        let lease = Duration::from_secs(60 * minutes);
        engine.prepare(lease).unwrap();
        let message = Message {
            id: minutes.to_string(),
            body: b"job".to_vec(),
        };
        let about = "p.0".parse().unwrap();
        engine.publish(queue, &about, &[message]).unwrap();
        let taken = engine.take(queue, 1, Duration::from_secs(60)).unwrap();
        assert_eq!(taken[0].lease(), lease);
        taken[0].finish().unwrap();
    }
}
