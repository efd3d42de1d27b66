//! The lines between the process that measures and the one that asks.
//!
//! The child says `ready`, or `absent REASON` and ends. Then each request is one line (window in
//! milliseconds and case) and each answer one line: `ok CHECKSUM VALUE…` or `error MESSAGE`.
//! Parent and child may be different builds of a program, so the lines must stay as they are.

use std::time::Duration;

/// What a child measured in one window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// Equal in every contender that did the same work.
    pub checksum: u64,
    /// The measured values; the problem says what each of them is.
    pub values: Vec<f64>,
}

/// One question to a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The case, in words that the child knows.
    pub case: String,
    /// How long to measure; zero where the case itself says how much is measured.
    pub window: Duration,
}

impl Request {
    pub(super) fn to_line(&self) -> String {
        format!("{} {}", self.window.as_millis(), self.case)
    }

    pub(super) fn parse(line: &str) -> Option<Self> {
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

/// The line that answers a request. A message of several lines becomes one.
pub(super) fn answer_line(answer: &Result<Sample, String>) -> String {
    match answer {
        Ok(sample) => sample.to_line(),
        Err(message) => format!("{ERROR}{}", message.replace('\n', "; ")),
    }
}

/// Reads an answer; the error is the child's own message.
pub(super) fn parse_answer(line: &str) -> Result<Sample, String> {
    let line = line.trim();
    if let Some(message) = line.strip_prefix(ERROR) {
        return Err(message.to_owned());
    }
    let unclear = || format!("unclear answer '{line}'");
    let mut words = line.strip_prefix("ok ").ok_or_else(unclear)?.split(' ');
    let checksum = words.next().and_then(|word| word.parse().ok());
    let values: Result<Vec<f64>, _> = words.map(str::parse).collect();
    Ok(Sample {
        checksum: checksum.ok_or_else(unclear)?,
        values: values.map_err(|_| unclear())?,
    })
}

/// The child's first line.
pub(super) const READY: &str = "ready";
/// What comes before the reason of a child whose contender does not exist here.
pub(super) const ABSENT: &str = "absent ";
const ERROR: &str = "error ";

#[cfg(test)]
mod tests {
    use super::{Request, Sample, answer_line, parse_answer};
    use std::time::Duration;

    #[test]
    fn a_request_survives_its_line() {
        let request = Request {
            case: "sha 10 hot".to_owned(),
            window: Duration::from_millis(60),
        };
        assert_eq!(request.to_line(), "60 sha 10 hot");
        assert_eq!(Request::parse("60 sha 10 hot\n"), Some(request));
        assert_eq!(Request::parse("sha 10 hot"), None);
    }

    #[test]
    fn an_answer_survives_its_line() {
        let sample = Sample {
            checksum: u64::MAX,
            values: vec![1.5, 0.1, 3e9, f64::INFINITY],
        };
        let line = answer_line(&Ok(sample.clone()));
        assert_eq!(line, "ok 18446744073709551615 1.5 0.1 3000000000 inf");
        assert_eq!(parse_answer(&line), Ok(sample));
        let line = answer_line(&Err("lost\ntwo".to_owned()));
        assert_eq!(parse_answer(&line), Err("lost; two".to_owned()));
        for unclear in ["what", "ok", "ok 1 x", "ok x 1"] {
            assert!(parse_answer(unclear).is_err(), "{unclear}");
        }
    }
}
