//! How to run: `cargo run --release --example 19_service_under_load --features inspect`, and with
//! `-- --seconds 60` at the end to look at it for a while with `manyhands inspect` or `manyhands top`, for whom it then
//! listens; with `-- --seconds 60 --readers 1000000` a million more tasks wait meanwhile.
//!
//! A shop: customers order and wait, clerks take the orders, need one of two connections to the warehouse, compute a
//! price in a parallel loop and answer; an accountant's loop takes long. Tasks, channels and a part of a clerk's work have
//! names, so that who looks sees at once that the clerks wait for connections, and the customers for the clerks.

#![expect(
    clippy::print_stdout,
    reason = "it says that it runs, and what was sold"
)]

use manyhands::channel::{self, Receiver, Sender};
use manyhands::task::{self, Completer, JoinHandle};
use manyhands::{diagnostics, parallel, time};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

struct Order {
    customer: u64,
    answer: Completer<u64>,
}

struct Connection;

const CUSTOMERS: u64 = 12;
const CLERKS: usize = 4;
const CONNECTIONS: usize = 2;
/// Orders of each customer, if no time is given.
const ORDERS: u64 = 5;

/// Orders until there are enough of them, or until the time is over; returns how many, and what they cost.
async fn customer(number: u64, orders: Sender<Order>, until: Option<Instant>) -> (u64, u64) {
    let (mut count, mut spent) = (0, 0);
    while until.map_or(count < ORDERS, |until| time::now() < until) {
        let (answer, price) = task::completion();
        let order = Order {
            customer: number,
            answer,
        };
        if orders.send(order).await.is_err() {
            break;
        }
        spent += price.await.expect("each order is answered");
        count += 1;
        time::sleep(Duration::from_millis(number % 5)).await;
    }
    (count, spent)
}

async fn clerk(orders: Receiver<Order>, free: Receiver<Connection>, back: Sender<Connection>) {
    while let Ok(order) = orders.recv().await {
        let ask = async {
            let connection = free.recv().await.expect("connections come back");
            time::sleep(Duration::from_millis(3)).await; // the warehouse answers
            back.send(connection).await.expect("there is room for all");
        };
        diagnostics::framed("ask the warehouse", ask).await;
        order.answer.complete(price(order.customer));
    }
}

/// What an order costs: the number of the customer times 1,000.
fn price(customer: u64) -> u64 {
    let total = AtomicU64::new(0);
    parallel::for_each(0..1_000_u64, |_| {
        // Relaxed: the loop's end makes it known.
        total.fetch_add(std::hint::black_box(customer), Ordering::Relaxed);
    });
    total.into_inner()
}

/// Adds up what was sold, item by item; stops early if the shop closes.
fn accountant(until: Instant) {
    parallel::Options::new().for_each(0..20_000_u64, |_| {
        let end = time::now() + Duration::from_micros(200);
        while time::now() < end.min(until) {
            std::hint::spin_loop();
        }
    });
}

fn start(until: Option<Instant>) -> Vec<JoinHandle<(u64, u64)>> {
    let (to_clerks, orders) = channel::ChannelOptions::new()
        .name("orders")
        .capacity(4)
        .fifo();
    let (back, free) = channel::ChannelOptions::new()
        .name("connections")
        .capacity(CONNECTIONS)
        .fifo();
    for _ in 0..CONNECTIONS {
        back.send_blocking(Connection).expect("it is open");
    }
    for number in 0..CLERKS {
        let clerk = clerk(orders.clone(), free.clone(), back.clone());
        drop(
            task::Builder::new()
                .name(format!("clerk {number}"))
                .spawn(clerk),
        );
    }
    let customers = (1..=CUSTOMERS).map(|number| {
        let customer = customer(number, to_clerks.clone(), until);
        task::Builder::new()
            .name(format!("customer {number}"))
            .spawn(customer)
    });
    customers.collect()
}

/// Tasks that wait for a newsletter, which nobody writes.
fn start_readers(count: usize) -> Completer<()> {
    let (writer, newsletter) = task::completion();
    for _ in 0..count {
        let newsletter = newsletter.clone();
        drop(task::spawn(async move { newsletter.await.is_ok() }));
    }
    writer
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    diagnostics::open();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (seconds, readers) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => (None, "0"),
        ["--seconds", seconds] => (Some(seconds), "0"),
        ["--seconds", seconds, "--readers", readers] => (Some(seconds), readers),
        _ => return Err("no arguments, or --seconds N, or --seconds N --readers N".into()),
    };
    let _writer = start_readers(readers.parse()?);
    let until = match seconds {
        Some(seconds) => Some(time::now() + Duration::from_secs(seconds.parse()?)),
        None => None,
    };
    let customers = start(until);
    if let Some(seconds) = seconds {
        let (process, path) = (std::process::id(), diagnostics::serve()?);
        println!(
            "`manyhands inspect {process}` shows it for {seconds} s, over {}",
            path.display()
        );
    }
    let books = task::Builder::new().name("accountant").run(move || {
        accountant(until.unwrap_or_else(|| time::now() + Duration::from_millis(50)));
    });
    let mut orders = 0;
    for (number, customer) in (1..).zip(customers) {
        let (count, spent) = customer.join()?;
        assert_eq!(spent, count * number * 1_000);
        orders += count;
    }
    books.join()?;
    assert!(until.is_some() || orders == CUSTOMERS * ORDERS, "{orders}");
    println!("{orders} orders");
    Ok(())
}
