//! A channel's sender as a sink of `futures`.

use crate::support::{as_task, in_time};
use futures::{FutureExt, SinkExt, StreamExt, stream};
use manyhands::channel::{self, SendError, TryRecvError};
use manyhands::task;

#[test]
fn a_stream_is_sent_through_little_room_and_the_channel_ends_with_its_last_sink() {
    for capacity in [0, 1, 3] {
        let received = as_task(async move {
            let (sender, receiver) = channel::bounded(capacity);
            let mut sinks = [sender.clone().into_sink(), sender.clone().into_sink()];
            drop(sender);
            let sending = task::spawn(async move {
                for (sink, start) in sinks.iter_mut().zip([0, 50]) {
                    let mut items = stream::iter((start..start + 50).map(Ok));
                    sink.send_all(&mut items).await.unwrap();
                    sink.close().await.unwrap();
                }
            });
            let received: Vec<u32> = receiver.into_stream().collect().await;
            sending.await.unwrap();
            received
        });
        assert!(received.into_iter().eq(0..100), "{capacity}");
    }
}

#[test]
fn a_sink_that_is_closed_gives_items_back_and_leaves_the_channel_to_others() {
    in_time(|| {
        let (sender, receiver) = channel::bounded(1);
        let mut sink = sender.clone().into_sink();
        task::block_on(async {
            sink.feed(1).await.unwrap();
            sink.close().await.unwrap();
            assert_eq!(sink.send(2).await, Err(SendError(2)));
        });
        assert!(!sender.is_closed());
        assert_eq!(receiver.try_recv(), Ok(1));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    });
}

#[test]
fn a_sink_into_a_closed_channel_gives_the_item_back() {
    in_time(|| {
        let (sender, receiver) = channel::bounded(1);
        let mut sink = sender.into_sink();
        task::block_on(sink.send(1)).unwrap();
        let mut sending = sink.send(2);
        assert!((&mut sending).now_or_never().is_none());
        receiver.close();
        assert_eq!(task::block_on(sending), Err(SendError(2)));
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [1]);
    });
}

#[test]
fn a_sink_that_is_dropped_takes_the_item_that_waits_with_it() {
    in_time(|| {
        let (sender, receiver) = channel::bounded(1);
        let mut sink = sender.into_sink();
        task::block_on(sink.feed(1)).unwrap();
        task::block_on(sink.feed(2)).unwrap();
        // The second one does not fit.
        assert!(sink.flush().now_or_never().is_none());
        drop(sink);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [1]);
    });
}
