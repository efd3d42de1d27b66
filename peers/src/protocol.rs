//! The lines between parent and child.
//!
//! The child says `ready`, or `absent REASON` and ends. Then each request is one line (case and
//! window in milliseconds) and each answer one line: `ok CHECKSUM VALUE…` or `error MESSAGE`.

use std::io::{self, BufRead, Write};
use std::time::Duration;

/// What a child measured in one window.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    /// Equal in every contender that did the same work.
    pub(crate) checksum: u64,
    /// The measured values; the problem says what each of them is.
    pub(crate) values: Vec<f64>,
}

/// One question to a child.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) case: String,
    pub(crate) window: Duration,
}

impl Request {
    pub(crate) fn to_line(&self) -> String {
        format!("{} {}", self.window.as_millis(), self.case)
    }

    fn parse(line: &str) -> Option<Self> {
        let (window, case) = line.trim().split_once(' ')?;
        let window = Duration::from_millis(window.parse().ok()?);
        Some(Self {
            case: case.to_owned(),
            window,
        })
    }
}

impl Sample {
    fn to_line(&self) -> String {
        let values: Vec<String> = self.values.iter().map(f64::to_string).collect();
        format!("ok {} {}", self.checksum, values.join(" "))
    }
}

/// Reads an answer; the error is the child's own message.
pub(crate) fn parse_answer(line: &str) -> Result<Sample, String> {
    let line = line.trim();
    if let Some(message) = line.strip_prefix("error ") {
        return Err(message.to_owned());
    }
    let unclear = || format!("unclear answer '{line}'");
    let mut words = line.strip_prefix("ok ").ok_or_else(unclear)?.split(' ');
    let checksum = words
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or_else(unclear)?;
    let values = words
        .map(str::parse)
        .collect::<Result<_, _>>()
        .map_err(|_| unclear())?;
    Ok(Sample { checksum, values })
}

/// The child's loop: answers requests until the parent closes the pipe.
pub(crate) fn serve(mut answer: impl FnMut(&Request) -> Result<Sample, String>) {
    say("ready");
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let result = match Request::parse(&line) {
            Some(request) => answer(&request),
            None => Err(format!("unclear request '{line}'")),
        };
        match result {
            Ok(sample) => say(&sample.to_line()),
            Err(message) => say(&format!("error {message}")),
        }
    }
}

/// The child's only line when its contender does not exist here.
pub(crate) fn say_absent(reason: &str) {
    say(&format!("absent {reason}"));
}

fn say(line: &str) {
    let mut output = io::stdout().lock();
    // The parent is gone if this fails, and the next read ends the loop.
    let _ = writeln!(output, "{line}");
    let _ = output.flush();
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Request, Sample, parse_answer};

    #[test]
    fn request_survives_its_line() {
        let request = Request {
            case: "sha 10 hot".into(),
            window: Duration::from_millis(60),
        };
        assert_eq!(Request::parse(&request.to_line()), Some(request));
    }

    #[test]
    fn answer_survives_its_line() {
        let sample = Sample {
            checksum: u64::MAX,
            values: vec![1.5, 0.1, 3e9],
        };
        assert_eq!(parse_answer(&sample.to_line()), Ok(sample));
        assert_eq!(parse_answer("error lost"), Err("lost".to_owned()));
        assert!(parse_answer("what").is_err());
    }
}
