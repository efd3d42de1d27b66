//! Waits for many futures of one type inside one task, in one piece of memory: no library here has
//! that, so this is the same code around each one's sleep.

use std::pin::Pin;
use std::task::{Context, Poll};

/// Ends when all futures of a slice have.
#[derive(Debug)]
pub(super) struct JoinSlice<F> {
    futures: Pin<Box<[F]>>,
    /// What must not be polled again. Empty until the first poll.
    has_ended: Vec<bool>,
    /// The first that may be unfinished.
    front: usize,
}

impl<F> JoinSlice<F> {
    pub(super) fn new(futures: impl IntoIterator<Item = F>) -> Self {
        let futures: Box<[F]> = futures.into_iter().collect();
        Self {
            futures: futures.into(),
            has_ended: Vec::new(),
            front: 0,
        }
    }
}

impl<F: Future> JoinSlice<F> {
    fn poll_one(&mut self, index: usize, context: &mut Context<'_>) -> bool {
        let futures = self.futures.as_mut();
        // SAFETY: an element of a pinned slice stays where it is as long as the slice does.
        let future = unsafe { futures.map_unchecked_mut(|futures| &mut futures[index]) };
        future.poll(context).is_ready()
    }
}

impl<F: Future> Future for JoinSlice<F> {
    type Output = ();

    /// The first poll starts them all. The others wait for the first unfinished one, which always
    /// has the task's present waker; the rest wait meanwhile.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let count = self.futures.len();
        if self.has_ended.is_empty() {
            self.has_ended = vec![false; count];
            for index in 0..count {
                self.has_ended[index] = self.poll_one(index, context);
            }
        }
        while self.front < count {
            let front = self.front;
            if !self.has_ended[front] && !self.poll_one(front, context) {
                return Poll::Pending;
            }
            self.front += 1;
        }
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::JoinSlice;

    #[test]
    fn all_are_started_at_once_and_none_is_polled_after_its_end() {
        let now = Cell::new(0);
        let polls = [const { Cell::new(0) }; 4];
        let ready_at = |index: usize, time: u32| {
            let (now, polls) = (&now, &polls[index]);
            let mut has_ended = false;
            poll_fn(move |_| {
                assert!(!has_ended, "polled after its end");
                polls.set(polls.get() + 1);
                has_ended = now.get() >= time;
                if has_ended {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
        };
        let times = [2, 0, 1, 3].into_iter().enumerate();
        let mut all = pin!(JoinSlice::new(
            times.map(|(index, time)| ready_at(index, time))
        ));
        let mut context = Context::from_waker(Waker::noop());
        for time in 0..3 {
            now.set(time);
            assert!(all.as_mut().poll(&mut context).is_pending());
            assert!(polls.iter().all(|polls| polls.get() > 0));
        }
        now.set(3);
        assert!(all.as_mut().poll(&mut context).is_ready());
        assert_eq!(polls[1].get(), 1);
    }
}
