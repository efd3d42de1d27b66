//! What is listed of channels.

use crate::support::{file_and_line, spawn, until};
use manyhands::channel::{self, WhenFull};
use manyhands::diagnostics;
use manyhands::inspect::{self, Channel, Load};
use manyhands_inspect::Client;

fn listed(name: &str) -> Option<Channel> {
    let mut channels = inspect::snapshot().channels.into_iter();
    channels.find(|channel| channel.name.as_deref() == Some(name))
}

fn load(name: &str) -> Load {
    until(|| listed(name)?.load)
}

#[test]
fn a_channel_is_listed_with_its_items_and_ends_until_the_last_end_is_dropped() {
    diagnostics::open();
    let options = channel::ChannelOptions::<u16>::new()
        .name("listed")
        .capacity(4);
    let (sender, receiver) = options.when_full(WhenFull::DropOldest).fifo();
    let line = line!() - 1;
    let again = sender.clone();
    for n in 0..6 {
        sender.send_blocking(n).unwrap();
    }
    let channel = listed("listed").unwrap();
    assert_eq!(
        (channel.capacity, channel.item_type.as_str()),
        (Some(4), "u16")
    );
    assert_eq!(file_and_line(&channel.made_at), (file!(), line));
    let seen = load("listed");
    assert_eq!(
        (seen.len, seen.senders, seen.receivers, seen.closed),
        (4, 2, 1, false)
    );
    // One item is received; some of the rest move to the receivers' side, and are counted there.
    assert_eq!(receiver.recv_blocking(), Ok(2));
    assert_eq!(load("listed").len, 3);
    drop((sender, again));
    assert!(load("listed").closed);
    drop(receiver);
    assert_eq!(listed("listed"), None);
}

#[test]
fn who_waits_at_a_channel_is_counted_and_the_wait_has_its_resource() {
    diagnostics::open();
    let (sender, receiver) = channel::ChannelOptions::<u8>::new().name("awaited").fifo();
    let waits = spawn("channels: waits", async move { receiver.recv().await });
    until(|| (load("awaited").receivers_waiting == 1).then_some(()));
    let channel = listed("awaited").unwrap();
    let snapshot = inspect::snapshot();
    let mut tasks = snapshot.tasks.iter();
    let task = tasks
        .find(|task| task.name.as_deref() == Some("channels: waits"))
        .unwrap();
    assert_eq!(task.waits[0].resource, channel.resource);
    sender.send_blocking(7).unwrap();
    assert_eq!(waits.join().unwrap(), Ok(7));
}

#[test]
fn a_channel_that_is_in_use_is_listed_without_what_is_in_it() {
    diagnostics::open();
    let (sender, receiver) = channel::ChannelOptions::<u8>::new().name("in use").fifo();
    sender.send_blocking(7).unwrap();
    let seen = receiver.peek(|item| (*item, listed("in use").unwrap().load));
    assert_eq!(seen, Ok((7, None)));
}

#[test]
fn a_channel_whose_items_borrow_is_listed_too() {
    diagnostics::open();
    let text = String::from("borrowed");
    let (sender, receiver) = channel::ChannelOptions::<&str>::new()
        .name("borrows")
        .fifo();
    sender.send_blocking(&text).unwrap();
    assert_eq!(load("borrows").len, 1);
    drop((sender, receiver));
    assert_eq!(listed("borrows"), None);
}

#[test]
fn the_client_shows_channels_with_names_that_do_no_harm() {
    let mut client = Client::connect(&diagnostics::serve().unwrap()).unwrap();
    let (sender, _receiver) = channel::ChannelOptions::<u8>::new()
        .name("shown: \x1b[2J <script>")
        .fifo();
    sender.send_blocking(1).unwrap();
    let view = until(|| {
        let view = client.view(usize::MAX).unwrap();
        let mut channels = view.channels.iter();
        let name = Some("shown: \\u{1b}[2J <script>");
        let channel = channels.find(|channel| channel.name.as_deref() == name)?;
        channel
            .load
            .map(|load| (load.len, channel.item_type.clone(), view.clone()))
    });
    assert_eq!((view.0, view.1.as_str()), (1, "u8"));
    assert!(manyhands_inspect::text(&view.2).contains("shown: "));
    assert!(client.view(1).unwrap().channels.len() <= 1);
}
