//! Numbers for people.

use crate::stats::Estimate;

/// A time with three significant digits and its unit.
///
/// # Examples
/// ```
/// use manyhands_lab::report::{digits, nanos};
/// assert_eq!([231.4, 4_560.0].map(nanos), ["231 ns", "4.56 µs"]);
/// assert_eq!([0.507, 23.14, 380.2].map(digits), ["0.51", "23.1", "380"]);
/// ```
#[must_use]
pub fn nanos(nanos: f64) -> String {
    // Rounding must not leave "1000 µs": the limit is where three digits round up.
    let (value, unit) = if nanos < 999.5 {
        (nanos, "ns")
    } else if nanos < 999.5e3 {
        (nanos / 1e3, "µs")
    } else if nanos < 999.5e6 {
        (nanos / 1e6, "ms")
    } else {
        (nanos / 1e9, "s")
    };
    format!("{} {unit}", digits(value))
}

/// A count with commas between groups of three digits.
#[must_use]
pub fn count(count: usize) -> String {
    indicatif::HumanCount(count as u64).to_string()
}

/// A ratio: 1.87×.
#[must_use]
pub fn ratio(ratio: f64) -> String {
    format!("{ratio:.2}×")
}

/// A ratio with its interval for a table: 1.87 (1.80 … 1.94).
pub(super) fn ratio_cell(estimate: Estimate) -> String {
    format!("{:.2} {}", estimate.median, interval(estimate))
}

/// A mean count: whole from ten on, below with as many of two decimals as it needs.
pub(super) fn few(value: f64) -> String {
    if value >= 9.95 {
        return size(value);
    }
    let digits = format!("{value:.2}");
    digits
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

/// The ends of an interval of ratios, (1.80 … 1.94), or (–) if it has none.
pub(super) fn interval(estimate: Estimate) -> String {
    estimate.ends().map_or_else(
        || "(–)".to_owned(),
        |(low, high)| format!("({low:.2} … {high:.2})"),
    )
}

/// A share as a percentage, with a decimal below ten.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || percent >= 9.95 || percent.fract() == 0.0 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// Bytes with three significant digits, in powers of 1,024.
#[must_use]
pub fn bytes(bytes: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB"];
    let mut value = bytes;
    let mut unit = units[0];
    for next in &units[1..] {
        if value < 999.5 {
            break;
        }
        value /= 1_024.0;
        unit = next;
    }
    if unit == units[0] {
        format!("{value:.0} B")
    } else {
        format!("{} {unit}", digits(value))
    }
}

/// A size that a model gave: whole from ten on, with a decimal below, with two below one.
pub(super) fn size(n: f64) -> String {
    let decimals = match n {
        whole if whole.fract() == 0.0 || whole >= 9.95 => 0,
        small if small >= 0.995 => 1,
        _ => 2,
    };
    let digits = format!("{n:.decimals$}");
    digits.parse().map_or(digits, count)
}

/// The plural of an English noun that forms it by rule.
#[must_use]
pub fn plural(noun: &str) -> String {
    let hisses = ["s", "x", "z", "sh", "ch"];
    if hisses.iter().any(|end| noun.ends_with(end)) {
        return format!("{noun}es");
    }
    let vowels = ["ay", "ey", "oy", "uy"];
    match noun.strip_suffix('y') {
        Some(stem) if !vowels.iter().any(|end| noun.ends_with(end)) => format!("{stem}ies"),
        _ => format!("{noun}s"),
    }
}

/// A number with three significant digits, and no decimals beyond that.
///
/// Example: see [`nanos`].
#[must_use]
pub fn digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_the_right_unit() {
        fn check(value: f64, expected: &str) {
            assert_eq!(nanos(value), expected);
        }
        check(0.5, "0.50 ns");
        check(9.999, "10.0 ns");
        check(99.97, "100 ns");
        check(999.4, "999 ns");
        check(999.6, "1.00 µs");
        check(12_345.0, "12.3 µs");
        check(999_600.0, "1.00 ms");
        check(230e6, "230 ms");
        check(1.5e9, "1.50 s");
        check(120e9, "120 s");
    }

    #[test]
    fn counts_are_grouped_and_ratios_have_two_decimals() {
        let counts = [0, 999, 1_000, 1_234_567].map(count);
        assert_eq!(counts, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(ratio(1.868), "1.87×");
    }

    #[test]
    fn an_interval_without_ends_is_a_dash() {
        let cell = |low, high| ratio_cell(Estimate::new(1.5, low, high));
        assert_eq!(cell(1.4, 1.6), "1.50 (1.40 … 1.60)");
        assert_eq!(cell(0.0, f64::INFINITY), "1.50 (–)");
    }

    #[test]
    fn shares_and_bytes_are_as_exact_as_they_need_to_be() {
        let shares = [0.0, 0.02, 0.0125, 0.413].map(percent);
        assert_eq!(shares, ["0 %", "2 %", "1.2 %", "41 %"]);
        let sizes = [512.0, 2_048.0, 440_401_920.0].map(bytes);
        assert_eq!(sizes, ["512 B", "2.00 KiB", "420 MiB"]);
    }

    #[test]
    fn sizes_and_mean_counts_are_as_exact_as_they_need_to_be() {
        let sizes = [3.44, 3.0, 0.4, 9.96, 1_234.4].map(size);
        assert_eq!(sizes, ["3.4", "3", "0.40", "10", "1,234"]);
        let counts = [0.25, 6.0, 0.0, 1_234.4].map(few);
        assert_eq!(counts, ["0.25", "6", "0", "1,234"]);
    }

    #[test]
    fn plurals_follow_the_rules_of_spelling() {
        let several = ["hash", "item", "query", "delay"].map(plural);
        assert_eq!(several, ["hashes", "items", "queries", "delays"]);
    }
}
