//! The page of `manyhands inspect` in a headless Chromium: examples are looked at as a person would, by keys, and what is
//! shown is checked and kept as pictures, three of which are in the README of manyhands-inspect. What is looked at stands in the
//! `.scene` files: a line is a key, a condition in the page's language, or a picture (`perform`).
//!
//! Not a step of `ci`: it needs a browser. `apt-get install chromium` brings Debian's.

mod browser;
mod checks;
mod scene;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::clock::Stopwatch;
use crate::command::Invocation;
use crate::step::scratch::Scratch;
use crate::workspace;
use browser::{Browser, HEIGHT};
use scene::Scene;

pub(crate) fn run() -> Result<()> {
    Invocation::cargo("build --release --package manyhands-cli").run()?;
    let mut examples =
        Invocation::cargo("build --release --package manyhands --features inspect-unstable");
    for example in [DEADLOCK, SERVICE] {
        examples = examples.arg("--example").arg(example);
    }
    examples.run()?;
    let waiting = Scratch {
        folder: &workspace::target_subdir("inspect-waiting"),
        name: "waiting",
        source: include_str!("../../../programs/waiting.rs"),
        features: &["inspect"],
        profile: "",
    };
    let waiting = waiting.build()?;
    let pictures = Pictures::begin()?;
    for (scene, program, arguments) in [
        (DEADLOCK_SCENE, &example(DEADLOCK), &[][..]),
        (SERVICE_SCENE, &example(SERVICE), &["--seconds", "120"]),
        (WAITING_SCENE, &waiting, &["40"]),
    ] {
        pictures.look_at(scene, program, arguments)?;
    }
    look_at_million(&pictures)?;
    println!("pictures in {}", pictures.folder.display());
    Ok(())
}

/// A million tasks that wait for the same: the first of them in a table within a second, and one box, in a look that has less
/// than a megabyte and takes less than a second.
fn look_at_million(pictures: &Pictures) -> Result<()> {
    let arguments = ["--seconds", "120", "--readers", "1000000"];
    let scene = Scene::start(&example(SERVICE), &arguments, &pictures.sockets)?;
    let mut browser = open_soon(&scene, pictures)?;
    browser.press("5")?;
    let is_drawn = "document.querySelector('#panel-stacks').textContent.includes('1000000 tasks')";
    browser.wait_until(is_drawn)?;
    pictures.take(&mut browser, "million-stacks", None)?;
    let seen = browser.value("look()")?;
    checks::at_most(checks::BYTES_MAX, "bytes of a look:", &seen["bytes"])?;
    checks::at_most(checks::MILLIS_MAX, "ms to look:", &seen["millis"])?;
    browser.judge(scene.host_and_token()?.0)?;
    // Over a connection of its own, so nothing is known before.
    let watch = Stopwatch::start();
    let text = Invocation::program(workspace::target_subdir("release").join("manyhands"))
        .arg("inspect")
        .arg(scene.process().to_string())
        .arg("--text")
        .env("XDG_RUNTIME_DIR", &pictures.sockets)
        .stdout()?;
    let millis = u64::try_from(watch.elapsed().as_millis())?;
    checks::at_most(checks::MILLIS_MAX, "ms to look, as text:", &millis.into())?;
    checks::text_is_whole(&text)
}

/// A browser with the page of a million tasks, which had its first row as soon as it must. What else the machine does may be
/// in the way, so there is another try with another browser.
fn open_soon(scene: &Scene, pictures: &Pictures) -> Result<Browser> {
    let mut tries = 0;
    loop {
        let mut browser = Browser::start(&pictures.profile)?;
        browser.wear("light")?;
        browser.open(&scene.address)?;
        browser.wait_until("window.firstRow !== undefined")?;
        let millis = browser.value("window.firstRow")?;
        tries += 1;
        let judged = checks::at_most(checks::MILLIS_MAX, "ms to the first row:", &millis);
        if judged.is_ok() || tries == TRIES_MAX {
            return judged.map(|()| browser);
        }
    }
}

/// The path of an example of the library.
fn example(name: &str) -> PathBuf {
    workspace::target_subdir("release/examples").join(name)
}

/// Where pictures go.
struct Pictures {
    folder: PathBuf,
    /// Of the programs.
    sockets: PathBuf,
    /// Of the browser.
    profile: PathBuf,
    readme: PathBuf,
}

impl Pictures {
    /// Into an empty folder.
    fn begin() -> Result<Self> {
        let folder = workspace::target_subdir("inspect-pictures");
        let pictures = Self {
            sockets: folder.join("sockets"),
            profile: folder.join("profile"),
            readme: workspace::root().join("crates/manyhands-inspect/pictures"),
            folder,
        };
        workspace::remove_folder(&pictures.folder)?;
        for folder in [&pictures.sockets, &pictures.profile, &pictures.readme] {
            workspace::make_folder(folder)?;
        }
        Ok(pictures)
    }

    /// Does what a scene says, line by line, with a program and a tab of its own: what one has saved is not there for the
    /// next one.
    fn look_at(&self, scene: &str, program: &Path, arguments: &[&str]) -> Result<()> {
        let running = Scene::start(program, arguments, &self.sockets)?;
        let mut browser = Browser::start(&self.profile)?;
        for (idx, line) in scene.lines().enumerate() {
            let done = self.perform(line, &mut browser, &running.address);
            done.with_context(|| format!("line {} of {scene:.40}…", idx + 1))?;
        }
        browser.judge(running.host_and_token()?.0)
    }

    fn perform(&self, line: &str, browser: &mut Browser, address: &str) -> Result<()> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb {
            "" | "#" => Ok(()),
            "open" => browser.open(address),
            "theme" => browser.wear(rest),
            "do" => browser.value(&format!("void ({rest})")).map(drop),
            "until" => browser.wait_until(rest),
            "within-a-second" => browser.wait_at_most(rest, 1_000),
            "must" => browser.wait_at_most(rest, 0),
            "press" => rest.split(' ').try_for_each(|key| browser.press(key)),
            "filter" => {
                browser.press("/")?;
                browser.wait_until("document.activeElement.id === 'filter'")?;
                let mut keys = rest.chars();
                keys.try_for_each(|key| browser.press(key.encode_utf8(&mut [0; 4])))
            }
            "picture" => {
                let (name, in_readme) = rest.split_once(' ').unzip();
                self.take(browser, name.unwrap_or(rest), in_readme)
            }
            "panel" => self.look_at_panel(rest, browser),
            verb => bail!("there is no `{verb}`"),
        }
    }

    /// Opens a panel by its key: it shows something, light and dark, and nothing is cut off at the side of the window.
    fn look_at_panel(&self, words: &str, browser: &mut Browser) -> Result<()> {
        let (key, rest) = words.split_once(' ').unwrap_or((words, ""));
        let (name, in_readme) = rest.split_once(' ').unzip();
        let name = name.unwrap_or(rest);
        browser.press(key)?;
        let panel = format!("document.querySelector('#panel-{name}')");
        browser.wait_until(&format!(
            "!{panel}.hidden && {panel}.textContent.length > 50"
        ))?;
        browser.wear("dark")?;
        self.take(browser, &format!("service-{name}-dark"), None)?;
        browser.wear("light")?;
        self.take(browser, &format!("service-{name}"), in_readme)?;
        browser.wait_until("document.documentElement.scrollWidth <= innerWidth")
    }

    /// Keeps what the window shows, and if it has a name there also for the README.
    fn take(&self, browser: &mut Browser, name: &str, in_readme: Option<&str>) -> Result<()> {
        let picture = browser.picture(HEIGHT)?;
        workspace::write(self.folder.join(format!("{name}.png")), &picture)?;
        let Some(in_readme) = in_readme else {
            return Ok(());
        };
        let picture = browser.picture(README_HEIGHT)?;
        let size = picture.len();
        ensure!(
            size <= README_BYTES_MAX,
            "{in_readme} has {size} bytes, at most {README_BYTES_MAX}"
        );
        workspace::write(self.readme.join(in_readme), &picture)
    }
}

const TRIES_MAX: u32 = 3;
const DEADLOCK: &str = "16_deadlock";
const SERVICE: &str = "19_service_under_load";
const DEADLOCK_SCENE: &str = include_str!("deadlock.scene");
const SERVICE_SCENE: &str = include_str!("service.scene");
const WAITING_SCENE: &str = include_str!("waiting.scene");
/// What is below says nothing new.
const README_HEIGHT: u32 = 694;
const README_BYTES_MAX: usize = 170_000;
