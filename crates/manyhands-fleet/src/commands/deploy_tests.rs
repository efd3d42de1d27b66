//! The files by which agents are put on machines say commands that this version understands.

use super::Fleet;
use clap::Parser;

#[derive(Debug, Parser)]
struct Typed {
    #[command(subcommand)]
    fleet: Fleet,
}

fn check(words: &[&str]) {
    let typed = Typed::try_parse_from(words);
    assert!(
        matches!(&typed, Ok(typed) if matches!(typed.fleet, Fleet::Agent(_))),
        "{words:?}: {typed:?}"
    );
}

#[test]
fn the_image_begins_with_a_command_of_this_version() {
    let file = include_str!("../../deploy/Dockerfile");
    let entry = file
        .lines()
        .find_map(|line| line.strip_prefix("ENTRYPOINT "));
    let entry: Vec<&str> = serde_json::from_str(entry.unwrap()).unwrap();
    let run: Vec<&str> = file
        .lines()
        .filter_map(|line| line.strip_prefix("#     --"))
        .flat_map(|line| line.split_whitespace())
        .collect();
    assert!(run.len() > 5, "{run:?}");
    // The first dashes were cut off with the rest of the remark.
    let options = run.iter().map(|word| match *word {
        "server" => "--server",
        word => word,
    });
    let words: Vec<&str> = entry[1..].iter().copied().chain(options).collect();
    check(&words);
}

#[test]
fn a_machine_without_containers_begins_with_commands_of_this_version_and_no_shell() {
    let file = include_str!("../../deploy/cloud-init.yaml");
    let program = "=/usr/local/bin/manyhands ";
    let commands: Vec<Vec<&str>> = file
        .lines()
        .filter(|line| line.trim_start().starts_with("ExecStart"))
        .filter_map(|line| Some(line.split_once(program)?.1.split_whitespace().collect()))
        .collect();
    assert_eq!(commands.len(), 2, "a check and an agent");
    for words in commands {
        check(&words);
    }
    let (_, run) = file.split_once("runcmd:\n").unwrap();
    for line in run
        .lines()
        .filter(|line| line.trim_start().starts_with("- "))
    {
        assert!(line.contains("- ["), "a shell would read this: {line}");
    }
}
