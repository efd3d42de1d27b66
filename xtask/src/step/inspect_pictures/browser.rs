//! A headless Chromium, directed over two pipes: each message is JSON and a zero byte.
//!
//! Not here: what is looked at (`mod.rs`). The messages are those of the Chrome DevTools Protocol.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use serde_json::{Value, json};

use crate::command::Running;

/// A browser with one page. It ends when this is dropped.
pub(super) struct Browser {
    /// Ends with it.
    _process: Running,
    to: ChildStdin,
    from: Receiver<Value>,
    messages: u64,
    session: Option<String>,
    /// What the page has asked for, and what the browser complained of.
    requests: Vec<String>,
    complaints: Vec<String>,
}

impl Browser {
    /// Starts the browser with its files in this folder.
    pub(super) fn start(folder: &Path) -> Result<Self> {
        // The shell lays its own pipes where the browser looks for them, as the standard library cannot.
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(format!("exec {PROGRAM} {ARGUMENTS} --user-data-dir=\"$0\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"))
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start `chromium`, which is also the name of Debian's package")?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let process = Running(child);
        let (to, from) = pipes.context("the browser has no pipes")?;
        let (say, said) = mpsc::channel();
        thread::spawn(move || {
            for message in BufReader::new(from).split(0).map_while(Result::ok) {
                // Whatever is no JSON would be missed as an answer below.
                if let Ok(message) = serde_json::from_slice(&message)
                    && say.send(message).is_err()
                {
                    return;
                }
            }
        });
        let mut browser = Self {
            _process: process,
            to,
            from: said,
            messages: 0,
            session: None,
            requests: Vec::new(),
            complaints: Vec::new(),
        };
        browser.open_page()?;
        Ok(browser)
    }

    fn open_page(&mut self) -> Result<()> {
        let target = self.call("Target.createTarget", &json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = self.call("Target.attachToTarget", &attach)?;
        self.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            self.call(&format!("{domain}.enable"), &json!({}))?;
        }
        let size =
            json!({"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size)?;
        let helpers = json!({"source": include_str!("helpers.js")});
        self.call("Page.addScriptToEvaluateOnNewDocument", &helpers)?;
        Ok(())
    }

    /// Opens an address, in a tab that knows nothing of others.
    pub(super) fn open(&mut self, address: &str) -> Result<()> {
        for address in ["about:blank", address] {
            self.call("Page.navigate", &json!({"url": address}))?;
        }
        Ok(())
    }

    /// Changes what the system is said to prefer: `light` or `dark`.
    pub(super) fn wear(&mut self, theme: &str) -> Result<()> {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
        self.call("Emulation.setEmulatedMedia", &features).map(drop)
    }

    /// Presses and lets go of a key, by the name that scripts see.
    pub(super) fn press(&mut self, key: &str) -> Result<()> {
        let text = match key {
            "Enter" => "\r",
            _ if key.chars().count() == 1 => key,
            _ => "",
        };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            // Those that do something by themselves are known by their codes.
            let code = CODES.iter().find(|(name, _)| *name == key);
            let code = code.map_or(0, |(_, code)| *code);
            let event =
                json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", &event)?;
        }
        Ok(())
    }

    /// The value of an expression in the page.
    pub(super) fn value(&mut self, expression: &str) -> Result<Value> {
        let given = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", &given)?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            bail!("`{expression}` throws {thrown}");
        }
        Ok(answer["result"]["value"].take())
    }

    /// Waits until an expression is true.
    pub(super) fn wait_until(&mut self, expression: &str) -> Result<()> {
        self.wait_at_most(expression, WAIT_MILLIS)
    }

    /// Waits until an expression is true, but not longer than this.
    pub(super) fn wait_at_most(&mut self, expression: &str, millis: u32) -> Result<()> {
        // The page itself waits, by its own clock. What is not there yet is not true yet.
        let waiting = format!(
            "new Promise((done) => {{ const begin = performance.now(); const look = () => {{ let is = false; try {{ is = {expression}; }} catch {{}} \
             if (is) done(true); else if (performance.now() - begin < {millis}) setTimeout(look, 50); else done(false); }}; look(); }})"
        );
        match self.value(&waiting)? {
            Value::Bool(true) => Ok(()),
            _ => bail!("the page did not come to `{expression}` within {millis} ms"),
        }
    }

    /// A picture of the upper part of what the window shows; the height is in pixels.
    pub(super) fn picture(&mut self, height: u32) -> Result<Vec<u8>> {
        let clip = json!({"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1});
        let answer = self.call(
            "Page.captureScreenshot",
            &json!({"format": "png", "clip": clip}),
        )?;
        let text = answer["data"].as_str().unwrap_or_default();
        let bytes = base64::engine::general_purpose::STANDARD.decode(text);
        bytes.context("the picture is not to be read")
    }

    /// Whether the page asked for nothing elsewhere, and nothing was refused or thrown.
    pub(super) fn judge(&self, host: &str) -> Result<()> {
        let ours = format!("http://{host}/");
        let is_ours = |address: &&String| {
            address.starts_with(&ours) || address.starts_with("blob:") || *address == "about:blank"
        };
        let elsewhere: Vec<_> = self.requests.iter().filter(|one| !is_ours(one)).collect();
        ensure!(elsewhere.is_empty(), "the page asked for {elsewhere:?}");
        let complaints = self.complaints.join("; ");
        ensure!(complaints.is_empty(), "the browser complains: {complaints}");
        Ok(())
    }

    fn call(&mut self, method: &str, parameters: &Value) -> Result<Value> {
        self.messages += 1;
        let id = self.messages;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let written = self.to.write_all(format!("{message}\0").as_bytes());
        written.context("the browser is gone")?;
        loop {
            let Ok(mut answer) = self.from.recv_timeout(ANSWER_LIMIT) else {
                let limit = ANSWER_LIMIT.as_secs();
                bail!("the browser did not answer `{method}` within {limit} s");
            };
            if answer["id"] == id {
                return match answer.get("error") {
                    Some(error) => bail!("the browser refuses `{method}`: {error}"),
                    None => Ok(answer["result"].take()),
                };
            }
            self.note(&answer);
        }
    }

    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                let address = parameters["request"]["url"].as_str();
                self.requests.extend(address.map(str::to_owned));
            }
            Some("Log.entryAdded") if parameters["entry"]["level"] == "error" => {
                self.complaints
                    .push(parameters["entry"]["text"].to_string());
            }
            Some("Runtime.exceptionThrown") => {
                self.complaints
                    .push(parameters["exceptionDetails"].to_string());
            }
            _ => {}
        }
    }
}

const CODES: [(&str, u32); 5] = [
    ("Backspace", 8),
    ("Enter", 13),
    ("Home", 36),
    ("ArrowUp", 38),
    ("ArrowDown", 40),
];
const PROGRAM: &str = "chromium";
/// Without the sandbox, which root has none of: the only page that is opened is ours.
const ARGUMENTS: &str = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run \
    --disable-background-networking --remote-debugging-pipe";
const WIDTH: u32 = 1280;
pub(super) const HEIGHT: u32 = 800;
const WAIT_MILLIS: u32 = 20_000;
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
