//! Tests of `meant.rs`.

use super::*;
use crate::typed;
use std::ffi::OsString;

fn meant(line: &str) -> Result<Command, String> {
    let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    mean(typed::parse(&words).expect("the line is accepted as typed"))
}

#[test]
fn nothing_typed_means_the_tour_with_its_budget() {
    let Ok(Command::Tour(tour)) = meant("manyhands") else {
        panic!("refused");
    };
    assert_eq!(tour.out, PathBuf::from("manyhands-tour"));
    assert_eq!(tour.settings.budget, Some(Duration::from_secs(35)));
    assert_eq!(tour.existing, Existing::Keep);
    assert_eq!(tour.screen, Screen::Answer);
    assert!(
        tour.settings.cores,
        "the report shows how busy each core was"
    );
}

#[test]
fn a_quick_tour_has_its_own_budget_unless_one_is_given() {
    fn check(line: &str, seconds: f64) {
        let Ok(Command::Tour(tour)) = meant(line) else {
            panic!("refused: {line}");
        };
        let budget = Some(Duration::from_secs_f64(seconds));
        assert_eq!(tour.settings.budget, budget, "{line}");
        assert_eq!(tour.settings.scale, Scale::Quick);
    }
    check("manyhands tour --quick", 10.0);
    check("manyhands tour --quick --budget 2.5", 2.5);
}

#[test]
fn a_run_keeps_its_ids_and_options() {
    let Ok(Command::Run { ids, run }) = meant("manyhands lab run E3 e1b --full --out x/y") else {
        panic!("refused");
    };
    assert_eq!(ids, ["E3", "e1b"]);
    assert_eq!(run.out, PathBuf::from("x/y"));
    assert_eq!(run.settings.scale, Scale::Full);
    assert_eq!(run.existing, Existing::Keep);
    assert_eq!(run.settings.budget, None);
}

#[cfg(unix)]
#[test]
fn a_program_is_named_by_its_process_or_its_socket() {
    let Ok(Command::Inspect(by_number)) = meant("manyhands inspect 1234 --text") else {
        panic!("refused");
    };
    assert!(by_number.socket.unwrap().ends_with("1234.sock"));
    assert_eq!(by_number.view, View::Once(Form::Text));
    assert_eq!(by_number.tasks_max, 1000);
    let Ok(Command::Inspect(by_path)) =
        meant("manyhands inspect --socket /run/x.sock --json --tasks 7")
    else {
        panic!("refused");
    };
    assert_eq!(by_path.socket, Some(PathBuf::from("/run/x.sock")));
    assert_eq!(by_path.view, View::Once(Form::Json));
    assert_eq!(by_path.tasks_max, 7);
}

#[cfg(unix)]
#[test]
fn stacks_are_those_of_the_program_unless_all_frames_are_asked_for() {
    for (line, frames, form) in [
        (
            "manyhands inspect 7 --stacks",
            Frames::OfProgram,
            Form::Text,
        ),
        (
            "manyhands inspect 7 --stacks --all-frames",
            Frames::All,
            Form::Text,
        ),
        (
            "manyhands inspect 7 --stacks --json",
            Frames::OfProgram,
            Form::Json,
        ),
    ] {
        let Ok(Command::Inspect(inspect)) = meant(line) else {
            panic!("refused: {line}");
        };
        assert_eq!(inspect.view, View::Stacks(frames, form));
    }
}

#[cfg(unix)]
#[test]
fn a_task_is_polled_if_it_is_named_and_nothing_else_is_shown() {
    let polled = |frames, form| View::PolledTask("12.3".to_owned(), frames, form);
    for (line, view) in [
        (
            "manyhands inspect 7 --poll 12.3",
            polled(Frames::OfProgram, Form::Text),
        ),
        (
            "manyhands inspect 7 --poll 12.3 --all-frames --json",
            polled(Frames::All, Form::Json),
        ),
    ] {
        let Ok(Command::Inspect(inspect)) = meant(line) else {
            panic!("refused: {line}");
        };
        assert_eq!(inspect.view, view);
    }
    for line in [
        "manyhands inspect 7 --poll",
        "manyhands inspect 7 --poll 1 --stacks",
        "manyhands inspect 7 --poll 1 --text",
        "manyhands inspect 7 --poll 1 --timeline x",
        "manyhands inspect 7 --all-frames",
    ] {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        assert!(typed::parse(&words).is_err(), "{line}");
    }
}

#[cfg(all(unix, feature = "page", feature = "top"))]
#[test]
fn a_page_is_meant_unless_something_else_is_asked_for() {
    let view = |line| match meant(line) {
        Ok(Command::Inspect(inspect)) => inspect.view,
        other => panic!("{other:?}"),
    };
    let page = |port, millis| View::Page {
        port,
        every: Duration::from_millis(millis),
        control: false,
    };
    assert_eq!(view("manyhands inspect"), page(0, 1_000));
    let View::Page { control, .. } = view("manyhands inspect 7 --control") else {
        panic!("no page");
    };
    assert!(control);
    let timeline = View::Timeline {
        file: "x.json".into(),
        length: Duration::from_secs(9),
    };
    assert_eq!(
        view("manyhands inspect --timeline x.json --seconds 9"),
        timeline
    );
    let line = "manyhands inspect 7 --port 8080 --per-second 10";
    assert_eq!(view(line), page(8080, 100));
    let every = |millis| View::Top(Duration::from_millis(millis));
    assert_eq!(view("manyhands top 7"), every(500));
    assert_eq!(view("manyhands top --per-second 5"), every(200));
    for line in [
        "manyhands inspect --text --port 1",
        "manyhands inspect --text --control",
        "manyhands inspect --stacks --control",
        "manyhands inspect --json --text",
        "manyhands inspect --json --timeline x",
        "manyhands inspect --seconds 3",
        "manyhands top --per-second 0",
        "manyhands top --per-second 61",
    ] {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        assert!(typed::parse(&words).is_err(), "{line}");
    }
}

#[test]
fn json_is_asked_for_and_not_assumed() {
    let screen = |line| match meant(line) {
        Ok(Command::Run { run, .. } | Command::WholeCommands(_, run)) => run.screen,
        other => panic!("{other:?}"),
    };
    assert_eq!(screen("manyhands lab run E3 --json"), Screen::Json);
    assert_eq!(screen("manyhands lab run E3"), Screen::Tables);
    let pair = "manyhands lab command --json -- true --vs true";
    assert_eq!(screen(pair), Screen::Json);
    let list = Command::List(Vec::new(), Form::Json);
    assert_eq!(meant("manyhands lab list --json"), Ok(list));
    let Ok(Command::Compare(asked)) = meant("manyhands lab compare a b --json") else {
        panic!("'lab compare' is a command");
    };
    assert_eq!((asked.form, asked.fail_if_slower), (Form::Json, None));
}

#[test]
fn a_comparison_fails_by_the_share_that_was_typed() {
    let Ok(Command::Compare(asked)) = meant("manyhands lab compare a b --fail-if-slower 5%") else {
        panic!("'lab compare' is a command");
    };
    assert_eq!(asked.fail_if_slower, Some(0.05));
    let words = "manyhands lab compare a b --fail-if-slower much".split(' ');
    assert!(typed::parse(&words.map(OsString::from).collect::<Vec<_>>()).is_err());
}

#[test]
fn published_figures_are_chosen_by_a_name_that_is_known() {
    let Ok(Command::Run { run, .. }) = meant("manyhands lab run E3 --published nativeaot") else {
        panic!("refused");
    };
    assert_eq!(run.settings.published.as_deref(), Some("nativeaot"));
    let complaint = meant("manyhands lab report results --published Z80").unwrap_err();
    assert!(
        complaint.contains("Z80") && complaint.contains("lab list"),
        "{complaint}"
    );
}

#[test]
fn commands_keep_their_sizes() {
    let line = "manyhands lab command --sizes 20,10 -- sort {n} --vs sort -u {n}";
    let Ok(Command::WholeCommands(asked, _)) = meant(line) else {
        panic!("refused");
    };
    assert_eq!(asked.sizes, [10, 20]);
    assert_eq!(asked.commands[1], ["sort", "-u", "{n}"]);
}

#[cfg(feature = "fleet")]
#[test]
fn a_command_of_the_fleet_that_has_nothing_to_end_with_may_end_at_any_time() {
    for (line, may_end) in [
        ("try plan.toml", false),
        ("serve", false),
        ("agent", false),
        ("agent --check", true),
        ("key list", true),
        ("key revoke one", true),
        ("key token one", true),
        ("enrol --token one --nkey one.nk", true),
        ("submit plan.toml", true),
        ("cancel 0190-plan", true),
        ("redo 0190-plan.3", true),
        ("watch", false),
        ("export", true),
        ("page", false),
        ("price example", true),
        ("price estimate plan.toml", true),
        ("price bill", true),
    ] {
        let command = meant(&format!("manyhands fleet {line}")).expect("it makes sense");
        assert_eq!(command.may_end_at_any_time(), may_end, "{line}");
    }
}

#[test]
fn impossible_values_are_refused_in_one_line() {
    fn check(line: &str, culprit: &str) {
        let complaint = meant(line).unwrap_err();
        assert!(complaint.contains(culprit), "{complaint}");
        assert!(!complaint.contains('\n'));
    }
    check("manyhands tour --out Cargo.toml", "Cargo.toml");
    check("manyhands lab run E3 --out Cargo.toml", "Cargo.toml");
    check("manyhands lab run E3 --launches 2", "--launches 2");
    check("manyhands lab run E3 --workers 0", "--workers");
}
