//! The page of `manyhands inspect` in a headless Chromium: examples are looked at as a person would, by keys, and what is
//! shown is checked and kept as pictures, three of which are in the README of manyhands-inspect.
//!
//! Not a step of `ci`: it needs a browser. `apt-get install chromium` brings Debian's.

mod browser;
mod checks;
mod saved;

use std::fs;
use std::path::{Path, PathBuf};

use crate::clock::Stopwatch;
use crate::command::Invocation;
use crate::failure::Failure;
use crate::step::inspect_costs;
use crate::step::inspect_scene::Scene;
use crate::workspace;
use browser::{Browser, HEIGHT, Theme};

pub(crate) fn run() -> Result<(), Failure> {
    Invocation::cargo("build --release --package manyhands-cli").run()?;
    let mut examples =
        Invocation::cargo("build --release --package manyhands --features inspect-unstable");
    for example in [DEADLOCK, SERVICE] {
        examples = examples.arg("--example").arg(example);
    }
    examples.run()?;
    let waiting = inspect_costs::build_waiting()?;
    let pictures = Pictures::begin()?;
    // A tab for each scene: what one has saved is not there for the next one.
    look_at_deadlock(&pictures)?;
    look_at_service(&pictures)?;
    look_at_waiting(&pictures, &waiting)?;
    look_at_million(&pictures)?;
    println!("pictures in {}", pictures.folder.display());
    Ok(())
}

/// Three tasks that wait for each other: the ring is named, and drawn.
fn look_at_deadlock(pictures: &Pictures) -> Result<(), Failure> {
    let scene = pictures.begin_scene(&example(DEADLOCK), &[])?;
    let mut browser = Browser::start(&pictures.profile)?;
    browser.open(&scene.address, Theme::Light)?;
    checks::deadlock_is_named(&mut browser)?;
    browser.wait_until("document.querySelectorAll('tr.alarm').length === 3")?;
    // The token is not in the address any more.
    browser.wait_until("location.hash === ''")?;
    pictures.take(&mut browser, "deadlock-tasks", None)?;
    browser.press("5")?;
    browser.wait_until("document.querySelectorAll('.graph .node.deadlocked').length === 3")?;
    browser.wait_until("document.querySelector('#deadlocks pre').textContent.includes('Anna')")?;
    pictures.take(&mut browser, "deadlock-stacks", Some("deadlock.png"))?;
    browser.wear(Theme::Dark)?;
    pictures.take(&mut browser, "deadlock-stacks-dark", None)?;
    saved::pictures(&mut browser, &pictures.downloads)?;
    browser.judge(scene.host())
}

/// A service under load: every table, by keys only, light and dark.
fn look_at_service(pictures: &Pictures) -> Result<(), Failure> {
    let scene = pictures.begin_scene(&example(SERVICE), &["--seconds", "120"])?;
    let mut browser = Browser::start(&pictures.profile)?;
    browser.open(&scene.address, Theme::Dark)?;
    browser.wait_until("document.querySelectorAll('#panel-tasks tbody tr').length >= 16")?;
    pictures.take(&mut browser, "service-tasks-dark", Some("tasks.png"))?;
    for (key, name, picture) in [
        ("2", "workers", None),
        ("3", "loops", None),
        ("4", "channels", Some("channels.png")),
        ("5", "stacks", None),
        ("6", "threads", None),
        ("7", "why", None),
    ] {
        browser.press(key)?;
        let panel = format!("!document.querySelector('#panel-{name}').hidden");
        browser.wait_until(&panel)?;
        browser.wait_until(&format!(
            "document.querySelector('#panel-{name}').textContent.length > 50"
        ))?;
        for (theme, suffix) in [(Theme::Dark, "-dark"), (Theme::Light, "")] {
            browser.wear(theme)?;
            let readme = picture.filter(|_| theme == Theme::Light);
            pictures.take(&mut browser, &format!("service-{name}{suffix}"), readme)?;
        }
        // Nothing is cut off at the side of the window.
        browser.wait_until("document.documentElement.scrollWidth <= innerWidth")?;
    }
    browser.press("3")?;
    saved::timeline(&mut browser, &pictures.downloads)?;
    browser.press("6")?;
    // The stacks of the program's threads, and once more by key.
    browser.wait_until("document.querySelectorAll('#panel-threads .node.threads').length > 0")?;
    browser.value("document.querySelector('#panel-threads p').textContent = 'earlier'")?;
    browser.press("r")?;
    browser.wait_until(
        "document.querySelector('#panel-threads p').textContent.includes(' threads at ')",
    )?;
    // Method view: one function in the middle. Which ones threads are in is chance, so one is invented.
    browser.value(INVENT_METHOD)?;
    browser.press("r")?;
    browser.wait_until("document.querySelectorAll('#method option').length === 2")?;
    browser.press("v")?;
    browser.wait_until("document.activeElement.id === 'method'")?;
    browser.press("ArrowDown")?;
    browser.wait_until("document.querySelectorAll('#panel-threads .node.method').length === 1")?;
    browser.press("ArrowUp")?;
    browser.wait_until("document.querySelectorAll('#panel-threads .node.method').length === 0")?;
    browser.press("Escape")?;
    use_keys(&mut browser, pictures)?;
    browser.judge(scene.host())
}

/// Tasks in named frames and groups, with parents: sorted, as a tree, saved and compared, and one function of them.
fn look_at_waiting(pictures: &Pictures, program: &Path) -> Result<(), Failure> {
    let scene = pictures.begin_scene(program, &["40"])?;
    let mut browser = Browser::start(&pictures.profile)?;
    browser.open(&scene.address, Theme::Light)?;
    browser.wait_until("document.querySelectorAll('#panel-tasks tbody tr').length >= 44")?;
    checks::hostile_name_is_text(&mut browser, "#panel-tasks")?;
    for (name, sorted) in [("ascending", "clerk 0"), ("descending", "::ticker")] {
        browser.value("document.querySelector('#panel-tasks [data-column=\"2\"]').focus()")?;
        browser.press("Enter")?;
        browser.wait_until(&format!(
            "document.querySelector('#panel-tasks [data-column=\"2\"]').parentNode.ariaSort === '{name}'"
        ))?;
        browser.wait_until(&format!(
            "document.querySelector('#panel-tasks tbody tr').textContent.includes('{sorted}')"
        ))?;
    }
    browser.press("t")?;
    browser.wait_until("document.querySelector('#panel-tasks').textContent.includes('└ ')")?;
    pictures.take(&mut browser, "waiting-tree", None)?;
    browser.wait_until("document.documentElement.scrollWidth <= innerWidth")?;
    browser.wait_until(
        "document.querySelector('#panel-tasks').scrollWidth <= document.querySelector('#panel-tasks').clientWidth",
    )?;
    saved::snapshot(&mut browser, &pictures.downloads)?;
    pictures.take(&mut browser, "waiting-since-a-file", None)?;
    browser.press("5")?;
    browser
        .wait_until("document.querySelector('#panel-stacks').textContent.includes('uploads')")?;
    browser.wait_until("document.querySelectorAll('#method option').length > 3")?;
    for (theme, suffix) in [(Theme::Light, ""), (Theme::Dark, "-dark")] {
        browser.wear(theme)?;
        pictures.take(&mut browser, &format!("waiting-stacks{suffix}"), None)?;
    }
    checks::hostile_name_is_text(&mut browser, "#panel-stacks")?;
    // What does not contain the text is faint.
    filter(&mut browser, "mails")?;
    browser.wait_until("document.querySelectorAll('.graph .node:not(.faint)').length === 1")?;
    pictures.take(&mut browser, "waiting-search-dark", None)?;
    for _ in 0..5 {
        browser.press("Backspace")?;
    }
    browser.press("Escape")?;
    browser.wait_until("document.querySelectorAll('.graph .faint').length === 0")?;
    // The frame in which clerks wait: above it the frame around it, below it what they wait for.
    browser.press("v")?;
    browser.value(
        "(() => { const select = document.querySelector('#method'); select.value = 'next order'; select.dispatchEvent(new Event('change')); })()",
    )?;
    browser.wait_until("document.querySelectorAll('#panel-stacks .node.method').length === 1")?;
    let around = "[...document.querySelectorAll('#panel-stacks .node')].map((node) => node.getAttribute('aria-label'))";
    browser.wait_until(&format!(
        "{around}.some((label) => label === '10 tasks\\nserve')"
    ))?;
    browser.wait_until(&format!(
        "{around}.some((label) => label === '10 tasks\\nreceives')"
    ))?;
    for (theme, suffix) in [(Theme::Dark, "-dark"), (Theme::Light, "")] {
        browser.wear(theme)?;
        pictures.take(&mut browser, &format!("waiting-method{suffix}"), None)?;
    }
    // It goes on with the tasks, and back to all of them.
    browser.press("Home")?;
    browser.wait_until("document.querySelectorAll('#panel-stacks .node.method').length === 0")?;
    browser.press("Escape")?;
    checks::states_and_flags_choose(&mut browser)?;
    poll_task(&mut browser, pictures)?;
    freeze_task(&mut browser, pictures)?;
    browser.judge(scene.host())
}

/// A clerk is polled once more, and where it waits then is shown until that is closed.
fn poll_task(browser: &mut Browser, pictures: &Pictures) -> Result<(), Failure> {
    browser.press("1")?;
    filter(browser, "clerk")?;
    browser.wait_until("document.querySelectorAll('#panel-tasks tbody tr').length === 10")?;
    browser.press("Escape")?;
    browser.must("document.querySelector('#poll').disabled")?;
    browser.press("ArrowDown")?;
    browser.must("!document.querySelector('#poll').disabled")?;
    browser.press("o")?;
    browser.wait_until("document.querySelector('#polled').textContent.includes('clerk')")?;
    pictures.take(browser, "waiting-polled", None)?;
    browser.press("Escape")?;
    browser.wait_until("document.querySelector('#polled').hidden")
}

/// A task that a timer wakes again and again is frozen, which its row and the button say, and thawed by the same key.
fn freeze_task(browser: &mut Browser, pictures: &Pictures) -> Result<(), Failure> {
    // Sorted by their names from the last one on, these tasks come first.
    let by_name = "[...document.querySelectorAll('#panel-tasks th button')].find((button) => button.textContent === 'Name').click()";
    browser.value(by_name)?;
    browser.value(by_name)?;
    browser.press("ArrowDown")?;
    browser.wait_until("document.activeElement.matches('tr') && document.activeElement.textContent.includes('::ticker')")?;
    browser.must("document.querySelector('#hold').textContent.startsWith('Freeze ')")?;
    browser.press("h")?;
    // It waits for its timer, is woken, and is held.
    let held = "[...document.querySelectorAll('#panel-tasks tbody tr')].filter((row) => row.textContent.includes('frozen'))";
    browser.wait_until(&format!(
        "{held}.length === 1 && !{held}[0].textContent.includes('waiting')"
    ))?;
    browser.must(&format!("{held}[0] === document.activeElement"))?;
    browser.must("document.querySelector('#hold').textContent.startsWith('Thaw ')")?;
    pictures.take(browser, "waiting-frozen", None)?;
    checks::choose_state(browser, "frozen")?;
    browser.wait_until("document.querySelectorAll('#panel-tasks tbody tr').length === 1")?;
    checks::choose_state(browser, "")?;
    browser.press("h")?;
    browser.wait_until(&format!("{held}.length === 0"))?;
    browser.must("document.querySelector('#hold').textContent.startsWith('Freeze ')")
}

/// A million tasks that wait for the same: the first of them in a table within a second, and one box, in a look that has less
/// than a megabyte and takes less than a second.
fn look_at_million(pictures: &Pictures) -> Result<(), Failure> {
    let arguments = ["--seconds", "120", "--readers", "1000000"];
    let scene = pictures.begin_scene(&example(SERVICE), &arguments)?;
    let mut browser = open_soon(&scene, pictures)?;
    browser.press("5")?;
    let is_drawn = "document.querySelector('#panel-stacks').textContent.includes('1000000 tasks')";
    browser.wait_until(is_drawn)?;
    pictures.take(&mut browser, "million-stacks", None)?;
    let seen = browser.value(checks::FETCH_VIEW)?;
    let (bytes, millis) = (&seen["bytes"], &seen["millis"]);
    println!(
        "1,000,000 waiting tasks: a second page has its {bytes} bytes, table and graph, after {millis} ms"
    );
    checks::look_is_small_and_fast(&seen)?;
    browser.judge(scene.host())?;
    // Over a connection of its own, so nothing is known before.
    let watch = Stopwatch::start();
    let text = Invocation::program(workspace::target_subdir("release").join("manyhands"))
        .arg("inspect")
        .arg(scene.process().to_string())
        .arg("--text")
        .env("XDG_RUNTIME_DIR", pictures.sockets.display().to_string())
        .stdout()?;
    let millis = watch.elapsed().as_millis();
    println!("1,000,000 waiting tasks: all of a first look, as text, after {millis} ms");
    checks::text_is_whole_and_fast(&text, millis)
}

/// A browser with the page of a million tasks, which had its first row as soon as it must. What else the machine does may be
/// in the way, so there is another try with another browser.
fn open_soon(scene: &Scene, pictures: &Pictures) -> Result<Browser, Failure> {
    let mut tries = Vec::new();
    loop {
        let mut browser = Browser::start(&pictures.profile)?;
        browser.run_before_pages(checks::NOTE_FIRST_ROW)?;
        browser.open(&scene.address, Theme::Light)?;
        let millis = checks::first_row(&mut browser)?;
        println!("1,000,000 waiting tasks: the first row {millis} ms after the page was opened");
        tries.push(millis);
        let judged = checks::first_row_is_soon(&tries);
        if judged.is_ok() || tries.len() == TRIES_MAX {
            return judged.map(|()| browser);
        }
    }
}

/// Types `text` where the page filters.
fn filter(browser: &mut Browser, text: &str) -> Result<(), Failure> {
    browser.press("/")?;
    browser.wait_until("document.activeElement.id === 'filter'")?;
    text.chars()
        .try_for_each(|key| browser.press(key.encode_utf8(&mut [0; 4])))
}

/// Filter, flags, the tree, and what has changed.
fn use_keys(browser: &mut Browser, pictures: &Pictures) -> Result<(), Failure> {
    browser.press("1")?;
    filter(browser, "clerk")?;
    browser.wait_until("document.querySelectorAll('#panel-tasks tbody tr').length === 4")?;
    browser.press("Escape")?;
    browser.press("p")?;
    browser.wait_until("document.querySelector('#pause').ariaPressed === 'true'")?;
    browser.press("ArrowDown")?;
    browser.press("f")?;
    browser.wait_until("document.querySelectorAll('.flag [aria-pressed=true]').length === 1")?;
    pictures.take(browser, "service-flagged", None)?;
    browser.press("g")?;
    browser.wait_until("document.querySelectorAll('#panel-tasks tbody tr').length === 1")?;
    for key in ["g", "p", "m", "t"] {
        browser.press(key)?;
    }
    browser.wait_until("document.querySelector('#status').textContent.includes('went on')")?;
    pictures.take(browser, "service-changes", None)?;
    browser.wait_until("document.querySelector('[aria-sort] button').textContent === '⚑'")?;
    // Frozen, the page holds still with a mark, and it goes on when it is released.
    browser.press("z")?;
    browser.wait_until("!document.querySelector('#frozen').hidden")?;
    browser.wait_until("document.querySelector('#freeze').ariaPressed === 'true'")?;
    pictures.take(browser, "service-frozen", None)?;
    browser.press("z")?;
    browser.wait_until("document.querySelector('#frozen').hidden")
}

/// The path of an example of the library.
fn example(name: &str) -> PathBuf {
    workspace::target_subdir("release")
        .join("examples")
        .join(name)
}

/// Where pictures go.
struct Pictures {
    folder: PathBuf,
    /// Of the programs.
    sockets: PathBuf,
    /// What the page has saved.
    downloads: PathBuf,
    /// Of the browser.
    profile: PathBuf,
    readme: PathBuf,
}

impl Pictures {
    /// Into an empty folder.
    fn begin() -> Result<Self, Failure> {
        let folder = workspace::target_subdir("inspect-pictures");
        let pictures = Self {
            sockets: folder.join("sockets"),
            downloads: folder.join("downloads"),
            profile: folder.join("profile"),
            readme: workspace::root().join("crates/manyhands-inspect/pictures"),
            folder,
        };
        if pictures.folder.exists() {
            fs::remove_dir_all(&pictures.folder)
                .map_err(|error| cannot(&pictures.folder, &error))?;
        }
        let Self {
            sockets,
            downloads,
            profile,
            readme,
            ..
        } = &pictures;
        for folder in [sockets, downloads, profile, readme] {
            fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
        }
        Ok(pictures)
    }

    /// Starts a program to look at.
    fn begin_scene(&self, program: &Path, arguments: &[&str]) -> Result<Scene, Failure> {
        Scene::start(program, arguments, &self.sockets, PER_SECOND)
    }

    /// Keeps what the window shows, and if it has a name there also for the README.
    fn take(
        &self,
        browser: &mut Browser,
        name: &str,
        in_readme: Option<&str>,
    ) -> Result<(), Failure> {
        let picture = browser.picture(HEIGHT)?;
        write(&self.folder.join(format!("{name}.png")), &picture)?;
        let Some(in_readme) = in_readme else {
            return Ok(());
        };
        let picture = browser.picture(README_HEIGHT)?;
        if picture.len() > README_BYTES_MAX {
            let size = picture.len();
            return Err(Failure::new(format!(
                "{in_readme} has {size} bytes, at most {README_BYTES_MAX}"
            )));
        }
        write(&self.readme.join(in_readme), &picture)
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|error| cannot(path, &error))
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot use {}: {error}", path.display()))
}

const PER_SECOND: u8 = 4;
const TRIES_MAX: usize = 3;
const DEADLOCK: &str = "16_deadlock";
const SERVICE: &str = "19_service_under_load";
/// From now on threads are in one function.
const INVENT_METHOD: &str = "(() => {
    const real = window.fetch;
    const draw = (kind) => `<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><g class='node ${kind}' aria-label='work'/></svg>`;
    const methods = [{ function: 'work', count: 2, graph: draw('method') }];
    const answer = JSON.stringify({ threads: 2, graph: draw('threads'), methods, methods_left_out: 0 });
    window.fetch = (path, ...rest) => (path === 'threads' ? Promise.resolve(new Response(answer)) : real(path, ...rest));
})()";
/// What is below says nothing new.
const README_HEIGHT: u32 = 660;
const README_BYTES_MAX: usize = 150_000;
