//! What streams, subjects and consumers of JetStream are called, for each queue.
//!
//! Not here: what each key opens, and the names that this needs, too (`nats_config.rs`).

use super::{
    Queue,
    nats_config::{ENROLMENTS, JOBS, RESULTS},
};

/// The stream that keeps a queue.
pub(super) fn stream_of(queue: Queue) -> &'static str {
    match queue {
        Queue::Plans => PLANS,
        Queue::Jobs { .. } => JOBS,
        Queue::Results => RESULTS,
        Queue::Enrolments => ENROLMENTS,
    }
}

/// The beginning of the subjects of a queue; behind it is what a message is about.
pub(super) fn subject_of(queue: Queue) -> String {
    let stream = stream_of(queue);
    match queue {
        Queue::Jobs { cpus: Some(cpus) } => format!("{stream}.{cpus}"),
        _ => format!("{stream}.any"),
    }
}

/// The queue of jobs in which a message with this subject is, and what it is about. `None` if nobody takes it from there:
/// an agent's key has a way to put messages anywhere.
pub(super) fn queued_at(subject: &str) -> Option<(Queue, String)> {
    let mut parts = subject.splitn(3, '.').skip(1);
    let cpus = parts.next()?.parse().ok();
    let (queue, about) = (Queue::Jobs { cpus }, parts.next()?);
    let is_here = format!("{}.{about}", subject_of(queue)) == subject;
    is_here.then(|| (queue, about.to_owned()))
}

/// Who takes from a queue, for all agents.
pub(super) fn consumer_of(queue: Queue) -> String {
    format!("{}-each", subject_of(queue).replace('.', "-"))
}

pub(super) const PLANS: &str = "manyhands-plans";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_where_agents_take_it_from_or_nowhere() {
        for cpus in [None, Some(2)] {
            let queue = Queue::Jobs { cpus };
            let subject = format!("{}.p.0", subject_of(queue));
            assert_eq!(queued_at(&subject), Some((queue, "p.0".to_owned())));
        }
        for size in ["other", "02", "+2", ""] {
            assert_eq!(queued_at(&format!("{JOBS}.{size}.p.0")), None, "{size}");
        }
        assert_eq!(queued_at(JOBS), None);
    }
}
