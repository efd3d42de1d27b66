//! Numbers for people.

/// A time with three significant digits and its unit.
///
/// # Examples
/// ```
/// use manyhands_lab::report::nanos;
/// assert_eq!(nanos(231.4), "231 ns");
/// assert_eq!(nanos(4_560.0), "4.56 µs");
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
    format!("{} {unit}", three_digits(value))
}

/// A count with commas between groups of three digits.
#[must_use]
pub fn count(count: usize) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A ratio: 1.87×.
#[must_use]
pub fn ratio(ratio: f64) -> String {
    format!("{ratio:.2}×")
}

fn three_digits(value: f64) -> String {
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
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(ratio(1.868), "1.87×");
    }
}
