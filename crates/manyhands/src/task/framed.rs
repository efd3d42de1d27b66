//! Frames: names and lines for parts of a task, for `inspect`.
//!
//! Without the feature a frame is its future and nothing else. Not here: what is recorded of it (`recording/enabled/waits/frame_mark.rs`).
//!
//! Unsafe: the future is reached through the pinned frame.

use crate::recording::{self, FrameMark};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Makes `future` an annotated frame: a look at the program with the feature `inspect` shows for each task in which
/// frames it is, from the outer to the inner ones, by name and by the line of this call, also while the task waits.
///
/// An async function is annotated by a frame around its body. Frames inside frames, also of functions that are called,
/// are a stack; of futures that are polled side by side, as by [`when_any`](crate::task::when_any), each has its own.
///
/// # Cost
/// Without the feature `inspect` none. With it 32 bytes of the future and, for each poll, a load and a branch; while
/// recording is open, each poll takes a short lock once or twice.
///
/// # Examples
/// ```
/// use manyhands::task;
///
/// async fn price(order: u32) -> u32 {
///     manyhands::diagnostics::framed("price an order", async move {
///         task::yield_now().await;
///         order * 3
///     })
///     .await
/// }
/// let shop = manyhands::diagnostics::framed("serve", async { price(1).await + price(2).await });
/// assert_eq!(task::block_on(shop), 9);
/// ```
#[track_caller]
pub fn framed<F: Future>(name: &'static str, future: F) -> impl Future<Output = F::Output> {
    Framed {
        future,
        mark: FrameMark::named(name),
    }
}

/// A future that is an annotated frame.
struct Framed<F> {
    // Dropped first: frames inside this one end before it does.
    future: F,
    mark: FrameMark,
}

impl<F: Future> Future for Framed<F> {
    type Output = F::Output;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: pinned with the whole: nothing moves it, and there is no `Drop`.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        if recording::is_recorded() {
            return poll_recorded(future, &mut this.mark, context);
        }
        future.poll(context)
    }
}

/// A function of its own, so that a frame that is not recorded is a comparison and a branch beside its future.
#[cold]
#[inline(never)]
#[cfg_attr(feature = "inspect", track_caller)]
fn poll_recorded<F: Future>(
    future: Pin<&mut F>,
    mark: &mut FrameMark,
    context: &mut Context<'_>,
) -> Poll<F::Output> {
    let inside = mark.enter();
    let polled = future.poll(context);
    inside.leave(&polled);
    polled
}
