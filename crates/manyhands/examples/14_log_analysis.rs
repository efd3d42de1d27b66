//! How to run: `cargo run --release --example 14_log_analysis -- LOGFILE`
//!
//! Which teams own the slowest pages? Joins the lines of a log, `time user page millis`, with a table of who
//! owns which page, and sorts what it finds. Without a file it makes a log of its own.

use manyhands::query::prelude::*;
use std::collections::BTreeMap;
use std::{env, fs, io};

/// A line of the log.
#[derive(Debug)]
struct Visit<'a> {
    user: &'a str,
    page: &'a str,
    millis: u64,
}

/// What is known of a team's pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Load {
    visits: u64,
    millis: u64,
    slowest: u64,
}

const OWNERS: [(&str, &str); 4] = [
    ("/search", "index"),
    ("/suggest", "index"),
    ("/cart", "shop"),
    ("/help", "care"),
];

fn main() -> io::Result<()> {
    let log = match env::args().nth(1) {
        Some(path) => fs::read_to_string(path)?,
        None => made_up(),
    };
    let lines: Vec<&str> = log.lines().collect();

    let loads = lines
        .par_query()
        .filter_map(|line| visit(line))
        .join(
            &OWNERS,
            |visit| visit.page,
            |owner| owner.0,
            |visit, owner| (owner.1, visit.millis),
        )
        .fold_by(
            |visit| visit.0,
            Load::default,
            |load, (_, millis)| load.add(millis),
            Load::combine,
        )
        .order_by_descending(|(_, load)| load.millis / load.visits)
        .to_vec();
    let users = lines
        .par_query()
        .filter_map(|line| visit(line))
        .map(|visit| visit.user)
        .distinct()
        .count();
    let unowned = lines
        .par_query()
        .filter_map(|line| visit(line))
        .map(|visit| visit.page)
        .except(OWNERS.par_query().map(|owner| owner.0))
        .to_vec();

    let mut out = io::stdout().lock();
    for (team, load) in &loads {
        let mean = load.millis / load.visits;
        io::Write::write_fmt(
            &mut out,
            format_args!(
                "{team}: {} visits, mean {mean} ms, slowest {} ms\n",
                load.visits, load.slowest
            ),
        )?;
    }
    io::Write::write_fmt(
        &mut out,
        format_args!(
            "{users} users; pages without an owner: {}\n",
            unowned.join(", ")
        ),
    )?;

    // What one thread finds.
    let mut expected = BTreeMap::<&str, Load>::new();
    for visit in lines.iter().filter_map(|line| visit(line)) {
        for (_, team) in OWNERS.iter().filter(|owner| owner.0 == visit.page) {
            expected.entry(team).or_default().add(visit.millis);
        }
    }
    assert_eq!(loads.into_iter().collect::<BTreeMap<_, _>>(), expected);
    Ok(())
}

impl Load {
    fn add(&mut self, millis: u64) {
        self.combine(Self {
            visits: 1,
            millis,
            slowest: millis,
        });
    }

    fn combine(&mut self, other: Self) {
        self.visits += other.visits;
        self.millis += other.millis;
        self.slowest = self.slowest.max(other.slowest);
    }
}

/// The line's fields; `None` for a line that is none of a log.
fn visit(line: &str) -> Option<Visit<'_>> {
    let mut fields = line.split(' ').skip(1);
    let (user, page) = (fields.next()?, fields.next()?);
    let millis = fields.next()?.parse().ok()?;
    Some(Visit { user, page, millis })
}

fn made_up() -> String {
    let pages = ["/search", "/cart", "/suggest", "/help", "/about"];
    let line = |i: u64| {
        let page = (i * i % 11 % 5) as usize;
        let millis = 5 + i * 7_919 % (20 << page);
        format!("{i} user{} {} {millis}\n", i * 31 % 997, pages[page])
    };
    (0..200_000).into_par_query().map(line).collect()
}
