//! The engine in this process: for tests, and for a server and an agent in one program. Nothing survives the process.

use super::{Delivery, Engine, Message, Queue};
use crate::{FleetError, Name, time};
use manyhands_lab::clock::Stopwatch;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Queues and keys in memory. Clones are the same engine.
///
/// # Examples
/// ```
/// use manyhands_fleet::engine::{Engine, InProcess, Message, Queue};
/// use std::time::Duration;
///
/// let engine = InProcess::new(Duration::from_secs(60));
/// let message = Message { id: "one".to_owned(), body: b"body".to_vec() };
/// engine.publish(Queue::Results, &"agent-7".parse()?, &[message.clone(), message])?;
/// let taken = engine.take(Queue::Results, 10, Duration::ZERO)?;
/// assert_eq!(taken.len(), 1, "one id is one message");
/// taken[0].finish()?;
/// assert!(engine.take(Queue::Results, 10, Duration::ZERO)?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct InProcess(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    lease: Duration,
    clock: Stopwatch,
}

#[derive(Debug, Default)]
struct State {
    queues: HashMap<Queue, VecDeque<Held>>,
    leased: HashMap<u64, (Queue, Held)>,
    ids: HashSet<(Queue, String)>,
    keys: HashMap<String, Vec<u8>>,
    tokens: u64,
}

#[derive(Debug, Clone)]
struct Held {
    about: String,
    body: Vec<u8>,
    sent: Duration,
    attempts: u64,
    /// While queued: not before; while leased: until.
    at: Duration,
}

impl InProcess {
    /// An engine whose leases last this long.
    #[must_use]
    pub fn new(lease: Duration) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            lease,
            clock: Stopwatch::start(),
        }))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Every step leaves the state whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Gives back what was leased for too long.
    fn expire(&mut self, now: Duration) {
        let expired: Vec<u64> = self
            .leased
            .iter()
            .filter(|(_, (_, message))| message.at <= now)
            .map(|(token, _)| *token)
            .collect();
        for token in expired {
            if let Some((queue, message)) = self.leased.remove(&token) {
                self.queues.entry(queue).or_default().push_front(message);
            }
        }
    }

    fn take(&mut self, queue: Queue, now: Duration, lease: Duration) -> Option<(u64, Held)> {
        let messages = self.queues.get_mut(&queue)?;
        let place = messages.iter().position(|message| message.at <= now)?;
        let mut message = messages.remove(place)?;
        message.attempts += 1;
        message.at = now.saturating_add(lease);
        self.tokens += 1;
        self.leased.insert(self.tokens, (queue, message.clone()));
        Some((self.tokens, message))
    }
}

impl Engine for InProcess {
    fn publish(&self, queue: Queue, about: &Name, messages: &[Message]) -> Result<(), FleetError> {
        let mut state = self.0.lock();
        for Message { id, body } in messages {
            if state.ids.insert((queue, id.clone())) {
                let message = Held {
                    about: about.to_string(),
                    body: body.clone(),
                    sent: time::since_1970(),
                    attempts: 0,
                    at: Duration::ZERO,
                };
                state.queues.entry(queue).or_default().push_back(message);
            }
        }
        self.0.changed.notify_all();
        Ok(())
    }

    fn take(
        &self,
        queue: Queue,
        count_max: usize,
        wait: Duration,
    ) -> Result<Vec<Box<dyn Delivery>>, FleetError> {
        let end = self.0.clock.elapsed().saturating_add(wait);
        let mut state = self.0.lock();
        loop {
            let now = self.0.clock.elapsed();
            state.expire(now);
            let mut taken: Vec<Box<dyn Delivery>> = Vec::new();
            while taken.len() < count_max
                && let Some((token, message)) = state.take(queue, now, self.0.lease)
            {
                taken.push(Box::new(Leased {
                    engine: Arc::clone(&self.0),
                    token,
                    message,
                }));
            }
            if !taken.is_empty() || now >= end {
                return Ok(taken);
            }
            // A lease that ends in the meantime notifies nobody.
            let nap = (end - now).min(LOOK_AGAIN);
            let woken = self.0.changed.wait_timeout(state, nap);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn jobs_pending(&self, most: usize) -> Result<HashSet<(Queue, String)>, FleetError> {
        let mut state = self.0.lock();
        let is_job = |queue: &Queue| matches!(queue, Queue::Jobs { .. });
        let queued = state.queues.iter();
        let queued = queued.flat_map(|(queue, all)| all.iter().map(move |one| (queue, one)));
        let leased = state.leased.values().map(|(queue, one)| (queue, one));
        let jobs = queued.chain(leased).filter(|(queue, _)| is_job(queue));
        let jobs: Vec<_> = jobs
            .map(|(queue, one)| (*queue, one.about.clone()))
            .collect();
        if jobs.len() > most {
            state.queues.retain(|queue, _| !is_job(queue));
            state.leased.retain(|_, (queue, _)| !is_job(queue));
            return Ok(HashSet::new());
        }
        Ok(jobs.into_iter().collect())
    }

    fn put(&self, key: &str, value: &[u8]) -> Result<(), FleetError> {
        self.0.lock().keys.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    fn forget(&self, key: &str) -> Result<(), FleetError> {
        self.0.lock().keys.remove(key);
        Ok(())
    }

    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, FleetError> {
        Ok(self.0.lock().keys.get(key).cloned())
    }

    fn now(&self) -> Result<Duration, FleetError> {
        Ok(time::since_1970())
    }
}

/// A message on lease; its token is void when the lease has ended.
struct Leased {
    engine: Arc<Shared>,
    token: u64,
    message: Held,
}

impl Delivery for Leased {
    fn body(&self) -> &[u8] {
        &self.message.body
    }

    fn about(&self) -> &str {
        &self.message.about
    }

    fn sent(&self) -> Duration {
        self.message.sent
    }

    fn attempt(&self) -> u64 {
        self.message.attempts
    }

    fn lease(&self) -> Duration {
        self.engine.lease
    }

    fn extend(&self) -> Result<(), FleetError> {
        let until = self.engine.clock.elapsed();
        let until = until.saturating_add(self.engine.lease);
        if let Some((_, message)) = self.engine.lock().leased.get_mut(&self.token) {
            message.at = until;
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), FleetError> {
        self.engine.lock().leased.remove(&self.token);
        Ok(())
    }

    fn release(&self, delay: Duration) -> Result<(), FleetError> {
        let from = self.engine.clock.elapsed().saturating_add(delay);
        let mut state = self.engine.lock();
        if let Some((queue, mut message)) = state.leased.remove(&self.token) {
            message.at = from;
            state.queues.entry(queue).or_default().push_back(message);
            self.engine.changed.notify_all();
        }
        Ok(())
    }
}

const LOOK_AGAIN: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    const JOBS: Queue = Queue::Jobs { cpus: None };
    const AT_ONCE: Duration = Duration::ZERO;

    fn publish(engine: &InProcess, queue: Queue) {
        let message = Message {
            id: "a".to_owned(),
            body: b"x".to_vec(),
        };
        let about = "p.0".parse().unwrap();
        engine.publish(queue, &about, &[message]).unwrap();
    }

    #[test]
    fn a_message_whose_lease_has_ended_goes_to_the_next_taker() {
        let engine = InProcess::new(Duration::from_millis(1));
        publish(&engine, JOBS);
        let late = engine.take(JOBS, 1, AT_ONCE).unwrap().remove(0);
        let second = engine
            .take(JOBS, 1, Duration::from_secs(60))
            .unwrap()
            .remove(0);
        assert_eq!((late.attempt(), second.attempt()), (1, 2));
    }

    #[test]
    fn who_has_lost_the_lease_cannot_finish_for_the_other() {
        let engine = InProcess::new(Duration::ZERO);
        publish(&engine, JOBS);
        let late = engine.take(JOBS, 1, AT_ONCE).unwrap().remove(0);
        // The lease of no length ends at once, and the message goes back.
        let second = engine.take(JOBS, 1, AT_ONCE).unwrap().remove(0);
        late.finish().unwrap();
        assert!(
            engine
                .jobs_pending(usize::MAX)
                .unwrap()
                .contains(&(JOBS, "p.0".to_owned()))
        );
        second.finish().unwrap();
        assert!(engine.jobs_pending(usize::MAX).unwrap().is_empty());
    }

    #[test]
    fn a_released_message_comes_again_after_its_delay() {
        let engine = InProcess::new(Duration::from_secs(3_600));
        publish(&engine, JOBS);
        let first = engine.take(JOBS, 1, AT_ONCE).unwrap().remove(0);
        first.release(Duration::from_secs(3_600)).unwrap();
        assert!(engine.take(JOBS, 1, AT_ONCE).unwrap().is_empty());
        assert!(
            engine
                .jobs_pending(usize::MAX)
                .unwrap()
                .contains(&(JOBS, "p.0".to_owned()))
        );
    }

    #[test]
    fn queues_are_apart_and_times_may_have_no_end() {
        let engine = InProcess::new(Duration::MAX);
        publish(&engine, Queue::Jobs { cpus: Some(2) });
        assert!(engine.take(JOBS, 1, AT_ONCE).unwrap().is_empty());
        assert!(engine.take(Queue::Results, 1, AT_ONCE).unwrap().is_empty());
        let of_two = Queue::Jobs { cpus: Some(2) };
        let taken = engine.take(of_two, 1, Duration::MAX).unwrap().remove(0);
        taken.extend().unwrap();
        taken.release(Duration::MAX).unwrap();
    }
}
