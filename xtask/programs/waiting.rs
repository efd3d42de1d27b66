//! Tasks to look at: `program COUNT` has this number that wait, in several ways, one more with a name that must not be obeyed,
//! and a few that run now and then. It says when they are there, and ends when its standard input does.

use manyhands::channel;
use manyhands::diagnostics;
use manyhands::task::{self, TaskGroup};
use manyhands::time;
use std::hint::black_box;
use std::time::Duration;

/// Of the tasks that run: how many there are, and how often each does.
const TICKERS: usize = 4;
const EVERY: Duration = Duration::from_millis(5);
/// What each does every time, some ten microseconds.
const STEPS: u32 = 30_000;
/// Tasks in a group.
const IN_OFFICE: usize = 5;
/// Longer than anybody looks.
const LONG: Duration = Duration::from_secs(3_600);

/// A name that would do something where it is not taken for text.
const HOSTILE: &str = "office <script>window.obeyed = 1</script><img src=x onerror=\"window.obeyed = 1\">\u{1b}[2J\u{202e}";

async fn ticker() {
    loop {
        for step in 0..STEPS {
            black_box(step);
        }
        time::sleep(EVERY).await;
    }
}

async fn clerk(orders: channel::Receiver<u64>) {
    let next_order = || async { orders.recv().await.is_ok() };
    let serve = async { while diagnostics::framed("next order", next_order()).await {} };
    diagnostics::framed("serve", serve).await;
}

/// A task that waits for tasks of its own.
async fn office(name: &'static str) {
    let mut group = TaskGroup::named(name);
    for _ in 0..IN_OFFICE {
        group.spawn(time::sleep(LONG));
    }
    group.wait().await;
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, count] = words.as_slice() else {
        panic!("program COUNT");
    };
    let count: usize = count.parse()?;
    diagnostics::serve()?;
    let (sender, orders) = channel::ChannelOptions::<u64>::new().name("orders").capacity(8).fifo();
    // A quarter for a channel, in two frames; half for groups, or in them by timers; the others for a completion.
    for number in 0..count / 4 {
        let clerk = clerk(orders.clone());
        drop(task::Builder::new().name(format!("clerk {number}")).spawn(clerk));
    }
    let offices = count / 2 / (1 + IN_OFFICE);
    for number in 0..offices {
        let office = office(if number % 2 == 0 { "uploads" } else { "mails" });
        drop(task::Builder::new().name(format!("office {number}")).spawn(office));
    }
    // On a page this is text, and nothing else.
    let hostile = task::Builder::new().name(HOSTILE);
    drop(hostile.spawn(time::sleep(LONG)));
    let (writer, newsletter) = task::completion::<()>();
    for _ in 0..count - count / 4 - offices * (1 + IN_OFFICE) {
        let newsletter = newsletter.clone();
        drop(task::spawn(async move { newsletter.await.is_ok() }));
    }
    for _ in 0..TICKERS {
        drop(task::spawn(ticker()));
    }
    println!("{count} tasks wait");
    std::io::stdin().read_line(&mut String::new())?;
    drop((sender, writer));
    Ok(())
}
