//! The fleet under faults: this program is the test, the server, the agents and their processes that measure.
//!
//! It has a main function of its own, because those programs must print nothing else. The long form, with 20 agents, 3
//! plans and more seeds: `cargo test -p manyhands-fleet --test faults -- --long`
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test program says what it does, and an unwrap in it is an assertion"
)]

#[cfg(target_os = "linux")]
mod cables;
#[cfg(unix)]
mod certificates;
#[cfg(target_os = "linux")]
mod charts;
#[cfg(unix)]
mod credentials;
#[cfg(unix)]
mod cut;
#[cfg(unix)]
mod encryption;
#[cfg(unix)]
mod enrolment;
#[cfg(unix)]
mod full_disk;
#[cfg(unix)]
mod hostile_keys;
mod in_process;
#[cfg(unix)]
mod killed;
#[cfg(unix)]
mod leases;
#[cfg(unix)]
mod machines;
#[cfg(target_os = "linux")]
mod networks;
#[cfg(unix)]
mod relay;
mod results;
#[cfg(unix)]
mod shuffled;
#[cfg(unix)]
mod shuffler;
#[cfg(unix)]
mod signed;

use clap::Parser;
use in_process::Odds;
#[cfg(unix)]
use killed::Size;
use manyhands_fleet::commands::{self, Fleet, Program};
use manyhands_lab::{Case, Experiment, child, clock::Stopwatch, console, run::Interrupt};
use std::{env, process, thread};

#[derive(Parser)]
struct Typed {
    #[command(subcommand)]
    fleet: Fleet,
}

fn main() {
    if child::is_wanted() {
        child::serve(&experiments()).unwrap();
        return;
    }
    let role = env::args().nth(1).unwrap_or_default();
    #[cfg(unix)]
    if role == CRAMPED {
        use nix::sys::resource::{Resource, setrlimit};
        setrlimit(Resource::RLIMIT_FSIZE, FILE_MAX, FILE_MAX).unwrap();
    }
    #[cfg(target_os = "linux")]
    if role == networks::ASK {
        let is_answered = env::args()
            .nth(2)
            .is_some_and(|address| networks::ask(&address));
        process::exit(i32::from(!is_answered));
    }
    if role == ROLE || role == CRAMPED {
        let fleet = Typed::parse_from(env::args().skip(1)).fleet;
        let program = Program {
            printing: console::Printing::default(),
            experiments,
            companion: console::alone,
        };
        if let Err(error) = commands::run(fleet, program, &Interrupt::on_signal().unwrap()) {
            println!("error: {error}");
            process::exit(1);
        }
        return;
    }
    run_all();
}

fn run_all() {
    run_those_in_process();
    #[cfg(unix)]
    run_those_of_systems();
}

fn run_those_in_process() {
    beside_each_other(&[
        (
            "results come back once each when messages are lost, doubled and late",
            || in_process::results_come_back_once_each(Odds::ROUGH, 1),
        ),
        (
            "results come back once each when every message comes twice and in another order",
            || in_process::results_come_back_once_each(Odds::SHUFFLED, 1),
        ),
        (
            "times are the engine's where clocks are apart",
            in_process::times_are_the_engines_where_clocks_are_apart,
        ),
        (
            "a cancelled plan ends and keeps its results",
            in_process::a_cancelled_plan_ends_and_keeps_its_results,
        ),
        #[cfg(unix)]
        (
            "a job that one agent cannot do is left to another",
            in_process::a_job_that_one_agent_cannot_do_is_left_to_another,
        ),
        (
            "a job that was lost comes again beside one that waits",
            in_process::a_job_that_was_lost_comes_again_beside_one_that_waits,
        ),
        (
            "a plan ends when its money does",
            in_process::a_plan_ends_when_its_money_does,
        ),
        #[cfg(target_os = "linux")]
        (
            "two agents of one machine take turns and have charts",
            charts::two_agents_of_one_machine_take_turns_and_have_charts,
        ),
        #[cfg(unix)]
        (
            "an agent waits for room on its disk",
            full_disk::an_agent_waits_for_room_on_its_disk,
        ),
    ]);
}

#[cfg(unix)]
fn run_those_of_systems() {
    if let Err(error) = manyhands_fleet::engine::nats_server::find(None) {
        println!("skipped, the faults of processes: {error}");
        return;
    }
    let others: &[(&str, fn())] = &[
        (
            "an agent that cannot write goes on with its run later",
            full_disk::an_agent_that_cannot_write_goes_on_with_its_run_later,
        ),
        (
            "leases are those of the server that runs",
            leases::leases_are_those_of_the_server_that_runs,
        ),
        (
            "a token and results come encrypted",
            encryption::a_token_and_results_come_encrypted,
        ),
        (
            "a joined server brings results encrypted",
            encryption::a_joined_server_brings_results_encrypted,
        ),
        (
            "only known certificates bring results",
            certificates::only_known_certificates_bring_results,
        ),
        (
            "a server with a wrong certificate is refused",
            encryption::a_server_with_a_wrong_certificate_is_refused,
        ),
        (
            "results come back once each when the network is cut",
            || {
                cut::results_come_back_once_each(cut::Size::SHORT);
            },
        ),
        (
            "results come back once each when a real server's messages come twice and clocks are off",
            || shuffled::results_come_back_once_each(shuffled::Size::SHORT, 1),
        ),
        #[cfg(target_os = "linux")]
        (
            "results come back once each when cables are pulled out",
            || {
                cables::results_come_back_once_each(cables::Size::SHORT);
            },
        ),
        (
            "results come back once each when everything is killed",
            || killed::results_come_back_once_each(Size::SHORT),
        ),
    ];
    beside_each_other(&[OF_KEYS, others].concat());
    if env::args().any(|word| word == "--long") {
        run_the_long_ones();
    }
}

/// Those of a server that lets in only keys that it knows.
#[cfg(unix)]
const OF_KEYS: &[(&str, fn())] = &[
    (
        "only known keys bring results",
        credentials::only_known_keys_bring_results,
    ),
    (
        "credentials that expire bring results until then",
        signed::credentials_that_expire_bring_results_until_then,
    ),
    (
        "a token brings one key and keys expire",
        enrolment::a_token_brings_one_key_and_keys_expire,
    ),
    (
        "a key opens only what its agent needs",
        hostile_keys::a_key_opens_only_what_its_agent_needs,
    ),
    (
        "a server with keys lets in nobody else, whatever was left before it",
        hostile_keys::a_server_with_keys_lets_in_nobody_else_whatever_was_left_before_it,
    ),
    (
        "an agent that floods stops no other",
        hostile_keys::an_agent_that_floods_stops_no_other,
    ),
];

#[cfg(unix)]
fn run_the_long_ones() {
    test(
        "a key that has expired is good again by a new token",
        || {
            enrolment::an_expired_key_is_good_again_by_a_new_token();
        },
    );
    test(
        "results come back once each when the network is cut again and again",
        || cut::results_come_back_once_each(cut::Size::LONG),
    );
    #[cfg(target_os = "linux")]
    test(
        "results come back once each when cables are pulled out again and again",
        || cables::results_come_back_once_each(cables::Size::LONG),
    );
    test(
        "results come back once each when 20 agents and 3 plans suffer",
        || killed::results_come_back_once_each(Size::LONG),
    );
    for seed in 2..5 {
        test(
            "results come back once each when a real server's messages come twice, late and too late",
            || shuffled::results_come_back_once_each(shuffled::Size::LONG, seed),
        );
    }
    for seed in 2..10 {
        test("results come back once each by other seeds", || {
            in_process::results_come_back_once_each(Odds::ROUGH, seed);
            in_process::results_come_back_once_each(Odds::SHUFFLED, seed);
        });
    }
}

/// Runs tests that wait for most of their time.
fn beside_each_other(tests: &[(&str, fn())]) {
    thread::scope(|scope| {
        for (name, body) in tests {
            scope.spawn(move || test(name, body));
        }
    });
}

/// Runs a test if its name contains what was asked for.
fn test(name: &str, body: impl FnOnce()) {
    let is_wanted = |word: String| word.starts_with('-') || name.contains(&word);
    if !env::args().skip(1).all(is_wanted) {
        return;
    }
    println!("test {name} ...");
    let watch = Stopwatch::start();
    body();
    println!("test {name} ... ok, {:.1} s", watch.elapsed().as_secs_f64());
}

/// Cases whose samples take no time worth speaking of.
fn experiments() -> Vec<Experiment> {
    let case = |name: &'static str, factor: usize| {
        Case::returning(name)
            .full_sizes([1_000])
            .arm("loop", move |n| {
                (0..n).fold(0, |sum, i| sum + std::hint::black_box(i * factor))
            })
            .arm("formula", move |n| n * (n - 1) / 2 * factor)
    };
    vec![
        Experiment::new("T1", "Sums, two ways")
            .case(case("plain", 1))
            .case(case("doubled", 2)),
        Experiment::new("T2", "Sums, two ways again").case(case("tripled", 3)),
    ]
}

/// The first word of a program of the fleet.
const ROLE: &str = "serve-or-pull";
/// The same, for one whose files must not grow.
const CRAMPED: &str = "serve-or-pull-in-small-files";
/// Bytes: enough for a run to begin, and too little for it to end.
#[cfg(unix)]
const FILE_MAX: u64 = 6 << 10;
/// A plan for all of them: three jobs, none of which may fail once. Agents that die have not failed.
const PLAN: &str = "name = 'sums'\nexperiments = ['all']\nattempts = 1\n";
const PLAN_JOBS: u64 = 3;
/// A plan of one job, for tests that need no more.
const PLAN_OF_ONE: &str = "name = 'one sum'\nexperiments = ['T2']\n";
