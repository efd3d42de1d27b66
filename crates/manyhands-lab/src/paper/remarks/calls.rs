//! E14: what the waits alone take, whatever runs them.

use super::{list, tasks::largest};
use crate::{findings::Findings, paper::Paper, workload::calls};

pub(super) fn remarks(paper: &Paper, findings: Option<&Findings>) -> Vec<String> {
    let mut remarks: Vec<String> = published(paper).into_iter().collect();
    remarks.extend(findings.and_then(here));
    remarks
}

/// Of the published waits only the limits are known, 10 and 49 ms.
fn published(paper: &Paper) -> Option<String> {
    let millis = |arm: &str| {
        let cell = paper.cells.iter().find(|cell| cell.arm == arm)?;
        Some(cell.mean_nanos / 1e6)
    };
    let sum = paper.cells.first()?.n as f64 * (10.0 + 49.0) / 2.0;
    let (blocking, limited) = (millis("for @ 4")?, millis("for_each_async @ 4")?);
    let default = millis("for_each_async")?;
    Some(format!(
        "The published waits add up to some {sum:.0} ms, so that four at a time take {:.0} ms: \
         {blocking:.0} and {limited:.0} ms are what was asked for. Without a limit {default:.0} ms \
         are what {:.0} at a time take, most likely the CPUs of that machine.",
        sum / 4.0,
        sum / default
    ))
}

/// Times here over what the waits alone take.
fn here(findings: &Findings) -> Option<String> {
    let (n, arms) = largest(findings, "E14")?;
    let waits = Waits::of(n);
    let each = arms.map(|(arm, times)| {
        let bound = waits.bound_millis(arm) * 1e6;
        format!("{:.2} ({arm})", times.median.median / bound)
    });
    Some(format!(
        "Here the waits of {n} calls add up to {:.0} ms and the longest is {:.0} ms. Times over what \
         the waits alone take, with the limit that each arm has: {}.",
        waits.sum_millis,
        waits.longest_millis,
        list(each)
    ))
}

/// The waits of a size.
struct Waits {
    sum_millis: f64,
    longest_millis: f64,
}

impl Waits {
    fn of(n: usize) -> Self {
        Self {
            sum_millis: (0..n).map(calls::millis).sum::<u64>() as f64,
            longest_millis: (0..n).map(calls::millis).max().unwrap_or(0) as f64,
        }
    }

    /// The time below which no arm can be; its name says how many it has at a time, if not all.
    fn bound_millis(&self, arm: &str) -> f64 {
        let at_once = arm
            .split_once("@ ")
            .and_then(|(_, count)| count.parse::<f64>().ok());
        let mut share = at_once.map_or(0.0, |count| self.sum_millis / count);
        if arm == calls::TWO_CHANNELS {
            // Only the second half of each wait is limited.
            share /= 2.0;
        }
        share.max(self.longest_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::{of, remarks::sample};

    #[test]
    fn the_published_times_are_explained_by_their_waits() {
        let remark = published(&of("E14").unwrap()).unwrap();
        assert!(remark.contains("2950 ms"), "{remark}");
        assert!(
            remark.contains("four at a time take 738 ms: 799 and 754 ms"),
            "{remark}"
        );
        assert!(remark.contains("what 8 at a time take"), "{remark}");
    }

    #[test]
    fn times_here_stand_over_what_the_waits_alone_take() {
        // The size of the sample is a thousand.
        let waits = Waits::of(1_000);
        let arms = [
            ("for_each_async @ 4", waits.sum_millis / 4.0 * 1.5e6, None),
            ("channel", waits.longest_millis * 1.25e6, None),
        ];
        let remark = here(&sample::findings("E14", "calls", &arms)).unwrap();
        assert!(remark.contains("the longest is 49 ms"), "{remark}");
        assert!(
            remark.ends_with("1.50 (for_each_async @ 4) and 1.25 (channel)."),
            "{remark}"
        );
    }
}
