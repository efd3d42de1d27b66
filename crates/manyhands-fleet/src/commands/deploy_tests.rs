//! The files by which agents are put on machines: they can be read by what reads them, say commands that this version
//! understands, and begin no shell. Whether a container or a machine comes of them is not tried here.

use super::Fleet;
use clap::Parser;
use parse_dockerfile::{Command, Dockerfile, Instruction, Source};
use serde::Deserialize;

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

const DOCKERFILE: &str = include_str!("../../deploy/Dockerfile");

/// What the image runs; a shell would not be `Exec`.
fn entry_point(file: &Dockerfile<'_>) -> Vec<String> {
    let words = file.instructions.iter().find_map(|one| match one {
        Instruction::Entrypoint(entry) => match &entry.arguments {
            Command::Exec(words) => Some(&words.value),
            _ => None,
        },
        _ => None,
    });
    let words = words.unwrap().iter();
    words.map(|word| word.value.to_string()).collect()
}

#[test]
fn the_image_begins_with_a_command_of_this_version() {
    let file = parse_dockerfile::parse(DOCKERFILE).unwrap();
    let entry = entry_point(&file);
    let run: Vec<&str> = DOCKERFILE
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
    let words: Vec<&str> = entry[1..]
        .iter()
        .map(String::as_str)
        .chain(options)
        .collect();
    check(&words);
}

#[test]
fn the_image_has_the_program_that_was_built_and_runs_it_as_nobody_in_particular() {
    let file = parse_dockerfile::parse(DOCKERFILE).unwrap();
    let build = file.stage("build").unwrap();
    let builds = build.instructions.iter().any(|one| match one {
        Instruction::Run(run) => {
            matches!(&run.arguments, Command::Shell(words) if words.value.contains("--features fleet"))
        }
        _ => false,
    });
    assert!(builds, "{:?}", build.instructions);
    let image = file.stages().last().unwrap();
    let (mut copied, mut users) = (None, Vec::new());
    for one in image.instructions {
        match one {
            Instruction::Copy(copy) => {
                let from = copy.options.iter().find_map(|flag| flag.value.as_ref());
                assert_eq!(from.unwrap().value, "build");
                let Source::Path(path) = &copy.src[0] else {
                    panic!("{copy:?}")
                };
                copied = Some((path.value.to_string(), copy.dest.value.to_string()));
            }
            Instruction::User(user) => users.push(user.arguments.value.to_string()),
            _ => {}
        }
    }
    let (source, destination) = copied.unwrap();
    assert_eq!(source, "/source/target/release/manyhands");
    assert_eq!(destination, entry_point(&file)[0]);
    assert_eq!(users, ["65532:65532"]);
}

/// Those modules of cloud-init that the file uses; another one would have to be looked at first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CloudConfig {
    write_files: Vec<Written>,
    /// Lists of words, which no shell reads.
    runcmd: Vec<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    path: String,
    #[serde(default)]
    permissions: String,
    content: String,
}

fn cloud_config() -> CloudConfig {
    let text = include_str!("../../deploy/cloud-init.yaml");
    assert!(text.starts_with("#cloud-config\n"), "what it is known by");
    serde_saphyr::from_str(text).unwrap()
}

#[test]
fn a_machine_without_containers_begins_with_commands_of_this_version_and_no_shell() {
    let config = cloud_config();
    let is_unit = |file: &&Written| file.path.ends_with(".service");
    let unit = &config.write_files.iter().find(is_unit).unwrap().content;
    let program = "=/usr/local/bin/manyhands ";
    let commands: Vec<Vec<&str>> = unit
        .lines()
        .filter(|line| line.starts_with("ExecStart"))
        .filter_map(|line| Some(line.split_once(program)?.1.split_whitespace().collect()))
        .collect();
    assert_eq!(commands.len(), 2, "a check and an agent");
    for words in commands {
        check(&words);
    }
    let shells = ["sh", "bash", "/bin/sh", "/bin/bash"];
    for words in &config.runcmd {
        assert!(!shells.contains(&words[0].as_str()), "{words:?}");
    }
}

#[test]
fn a_machine_without_containers_has_what_its_commands_name() {
    let config = cloud_config();
    let written: Vec<&str> = config
        .write_files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    let key = &config.write_files[0];
    assert_eq!(key.permissions, "0600", "for its owner alone: {key:?}");
    let runs = |words: &[&str]| {
        let mut lines = config.runcmd.iter();
        lines.any(|line| words.iter().all(|word| line.iter().any(|one| one == word)))
    };
    for file in &config.write_files {
        let named = file.content.split_whitespace();
        for path in named.filter(|word| word.starts_with("/etc/manyhands/")) {
            assert!(written.contains(&path), "nobody writes {path}");
        }
    }
    let unit = written
        .iter()
        .find_map(|path| path.strip_prefix("/etc/systemd/system/"));
    assert!(runs(&["systemctl", "enable", unit.unwrap()]), "{config:?}");
    assert!(runs(&["curl", "/usr/local/bin/manyhands"]), "{config:?}");
    assert!(runs(&["mkdir", "/var/lib/manyhands"]), "{config:?}");
    // However the agent ends.
    assert!(runs(&["shutdown", "--poweroff"]), "{config:?}");
}
