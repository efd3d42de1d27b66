//! Axes from the values they must hold: ends and ticks.

use super::spec::{Axis, Scale, Tick};
use crate::report::{bytes, count, nanos};

impl Axis {
    /// Sizes, with a tick at every power of ten, or every power of two if there are few of those. `None` without values.
    #[must_use]
    pub fn sizes(title: &str, values: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) = widened(values, 1.3)?;
        let mut ticks = powers(10.0, low, high);
        if ticks.len() < 3 {
            ticks = few_powers_of_two(low, high);
        }
        let label = |at: &f64| whole(*at);
        Some(Self::logarithmic(title, (low, high), &ticks, label))
    }

    /// Numbers of CPUs on a base-two scale, with a tick at each of them and nowhere else. `None` without values.
    #[must_use]
    pub fn cpus(title: &str, values: &[usize]) -> Option<Self> {
        let ticks: Vec<f64> = values.iter().map(|cpus| *cpus as f64).collect();
        let ends = widened(ticks.iter().copied(), 1.15)?;
        Some(Self::logarithmic(title, ends, &ticks, |at| whole(*at)))
    }

    /// Nanoseconds with their units. `None` without values.
    #[must_use]
    pub fn times(values: impl Iterator<Item = f64>) -> Option<Self> {
        Self::decades(values, |at| {
            nanos(*at).replace(".00 ", " ").replace(".0 ", " ")
        })
    }

    /// Amounts of money that lie far apart. `None` without values.
    ///
    /// # Examples
    /// ```
    /// use manyhands_lab::chart::Axis;
    ///
    /// let axis = Axis::dollars([0.004, 30.0].into_iter()).unwrap();
    /// let labels: Vec<&str> = axis.ticks.iter().map(|tick| tick.label.as_str()).collect();
    /// assert_eq!(labels, ["0.01 $", "0.1 $", "1 $", "10 $"]);
    /// ```
    #[must_use]
    pub fn dollars(values: impl Iterator<Item = f64>) -> Option<Self> {
        Self::decades(values, |at| {
            // A tick is one digit and noughts: it needs as many decimals as that digit does.
            let decimals = (1..DECIMALS_MAX).find(|places| at * 10_f64.powi(*places) > 0.9);
            match decimals {
                Some(places) if *at < 0.9 => format!("{at:.*} $", places.unsigned_abs() as usize),
                _ => format!("{} $", whole(*at)),
            }
        })
    }

    /// Values that lie far apart, with a tick at every power of ten, and at twice and five times that if these are few.
    fn decades(values: impl Iterator<Item = f64>, label: fn(&f64) -> String) -> Option<Self> {
        let (low, high) = widened(values, 1.6)?;
        let mut ticks = one_two_five(low, high);
        if ticks.len() > TICKS_MAX {
            ticks = powers(10.0, low, high);
        }
        Some(Self::logarithmic("", (low, high), &ticks, label))
    }

    /// Speed-ups; always wide enough to see where 1 is, and that below 1 would be a loss.
    #[must_use]
    pub fn speed_ups(values: impl Iterator<Item = f64>) -> Self {
        let around_one = values.chain([0.85, 1.35]);
        let (low, high) = widened(around_one, 1.06).unwrap_or((0.8, 1.4));
        let ticks = match high / low {
            narrow if narrow < 3.5 => within(&FINE_RATIOS, low, high),
            middling if middling < 16.0 => within(&COARSE_RATIOS, low, high),
            _ if low > 0.1 => few_powers_of_two(low, high),
            _ => powers(10.0, low, high),
        };
        Self::logarithmic("", (low, high), &ticks, |at| format!("{at}×"))
    }

    /// Shares from nothing to all of one thing, whose name is written at the middle.
    #[must_use]
    pub fn share_of(name: &str) -> Self {
        let ticks = [tick(0.5, name.to_owned()), tick(1.0, String::new())];
        Self::new("", Scale::Linear, (0.0, 1.0), ticks)
    }

    /// Time from nought in milliseconds.
    #[must_use]
    pub fn elapsed(title: &str, millis: f64) -> Self {
        Self::span(title, 0.0, millis.max(f64::MIN_POSITIVE), plain)
    }

    /// From one value to a larger one, with about five ticks.
    #[must_use]
    pub fn span(title: &str, low: f64, high: f64, label: impl Fn(f64) -> String) -> Self {
        let length = high - low;
        let step = one_two_five(length / 12.0, length).into_iter();
        let step = step.min_by(|one, other| {
            let far = |step: &f64| (length / step - 5.0).abs();
            far(one).total_cmp(&far(other))
        });
        Self::stepped(title, (low, high), step.unwrap_or(length), label)
    }

    /// Bytes from nought, with ticks that are round in powers of two.
    #[must_use]
    pub fn bytes(most: f64) -> Self {
        let high = most.max(1.0) * 1.1;
        let step = (high / 4.0).log2().round().exp2();
        Self::stepped("", (0.0, high), step, |at| {
            bytes(at).replace(".00 ", " ").replace(".0 ", " ")
        })
    }

    fn stepped(
        title: &str,
        (low, high): (f64, f64),
        step: f64,
        label: impl Fn(f64) -> String,
    ) -> Self {
        let first = (low / step).ceil() * step;
        let ticks = (0..STEPS_MAX).map(|index| first + f64::from(index) * step);
        let ticks = ticks.take_while(|at| *at <= high + step * 1e-6);
        let ticks = ticks.map(|at| tick(at, label(at)));
        Self::new(title, Scale::Linear, (low, high), ticks)
    }

    /// Names side by side, the first at 0.
    #[must_use]
    pub fn names(title: &str, names: &[String]) -> Self {
        let ends = (-0.5, names.len() as f64 - 0.5);
        let named = names.iter().enumerate();
        let ticks = named.map(|(index, name)| tick(index as f64, name.clone()));
        Self::new(title, Scale::Linear, ends, ticks)
    }

    /// The same axis with rules and no text, for a panel above another one with the same axis.
    #[must_use]
    pub fn without_text(mut self) -> Self {
        self.title.clear();
        for tick in &mut self.ticks {
            tick.label.clear();
        }
        self
    }

    fn logarithmic(
        title: &str,
        ends: (f64, f64),
        ticks: &[f64],
        label: impl Fn(&f64) -> String,
    ) -> Self {
        let ticks = ticks.iter().map(|at| tick(*at, label(at)));
        Self::new(title, Scale::Log, ends, ticks)
    }

    fn new(
        title: &str,
        scale: Scale,
        (low, high): (f64, f64),
        ticks: impl IntoIterator<Item = Tick>,
    ) -> Self {
        Self {
            title: title.to_owned(),
            scale,
            low,
            high,
            ticks: ticks.into_iter().collect(),
        }
    }
}

fn tick(at: f64, label: String) -> Tick {
    Tick { at, label }
}

/// Smallest and largest of the positive values, with room on both sides as a factor.
fn widened(values: impl Iterator<Item = f64>, room: f64) -> Option<(f64, f64)> {
    let usable = values.filter(|value| value.is_finite() && *value > 0.0);
    let ends = usable.fold(None, |ends: Option<(f64, f64)>, value| {
        let (low, high) = ends.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    });
    ends.map(|(low, high)| (low / room, high * room))
}

fn powers(base: f64, low: f64, high: f64) -> Vec<f64> {
    let all: Vec<f64> = (-40..70).map(|exponent| base.powi(exponent)).collect();
    within(&all, low, high)
}

fn one_two_five(low: f64, high: f64) -> Vec<f64> {
    let decade = |exponent: i32| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(exponent));
    let all: Vec<f64> = (-9..16).flat_map(decade).collect();
    within(&all, low, high)
}

fn within(ticks: &[f64], low: f64, high: f64) -> Vec<f64> {
    let inside = ticks.iter().filter(|tick| low <= **tick && **tick <= high);
    inside.copied().collect()
}

/// Powers of two, of four, of sixteen …: the first that are few enough. One is always among them.
fn few_powers_of_two(low: f64, high: f64) -> Vec<f64> {
    let bases = [2.0, 4.0, 16.0, 256.0];
    let mut ticks = bases.into_iter().map(|base| powers(base, low, high));
    let few = ticks.find(|ticks| ticks.len() <= TICKS_MAX);
    few.unwrap_or_default()
}

/// "1,000" for 1e3, "0.5" for a half.
pub(super) fn whole(value: f64) -> String {
    format!("{value}")
        .parse()
        .map_or_else(|_| plain(value), count)
}

/// At most three decimals and no needless zeros.
pub(super) fn plain(value: f64) -> String {
    let digits = format!("{value:.3}");
    digits
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

/// Speed-ups worth a tick where they are all close to 1 …
const FINE_RATIOS: [f64; 10] = [0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0];
/// … and where they are not.
const COARSE_RATIOS: [f64; 11] = [0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 16.0];
const TICKS_MAX: usize = 8;
/// Nobody pays less than that.
const DECIMALS_MAX: i32 = 12;
/// More equal steps than this have no room on an axis.
const STEPS_MAX: u32 = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn sizes_have_powers_of_ten_or_of_two() {
        let wide = Axis::sizes("n", [5.0, 1e5].into_iter()).unwrap();
        assert_eq!(labels(&wide), ["10", "100", "1,000", "10,000", "100,000"]);
        let narrow = Axis::sizes("n", [20.0, 130.0].into_iter()).unwrap();
        assert_eq!(labels(&narrow), ["16", "32", "64", "128"]);
        assert_eq!(Axis::sizes("n", [].into_iter()), None);
    }

    #[test]
    fn cpus_have_exactly_the_ticks_asked_for() {
        let axis = Axis::cpus("CPUs", &[2, 4, 8, 16, 32, 64, 96, 192]).unwrap();
        let expected = ["2", "4", "8", "16", "32", "64", "96", "192"];
        assert_eq!(labels(&axis), expected);
    }

    #[test]
    fn times_have_units_and_no_needless_decimals() {
        let axis = Axis::times([900.0, 1.5e6].into_iter()).unwrap();
        assert_eq!(labels(&axis), ["1 µs", "10 µs", "100 µs", "1 ms"]);
        let narrow = Axis::times([2.1e6, 4e6].into_iter()).unwrap();
        assert_eq!(labels(&narrow), ["2 ms", "5 ms"]);
        assert_eq!(Axis::times([].into_iter()), None);
    }

    #[test]
    fn speed_ups_always_show_one() {
        assert!(labels(&Axis::speed_ups([1.9].into_iter())).contains(&"1×"));
        let wide = Axis::speed_ups([0.002_6, 2.0].into_iter());
        assert_eq!(labels(&wide), ["0.01×", "0.1×", "1×"]);
        let high = Axis::speed_ups([180.0].into_iter());
        let powers = ["1×", "2×", "4×", "8×", "16×", "32×", "64×", "128×"];
        assert_eq!(labels(&high), powers);
    }

    #[test]
    fn a_span_has_ticks_at_round_values_and_bytes_at_powers_of_two() {
        let axis = Axis::span("ms", 987.0, 1_041.0, plain);
        let expected = ["990", "1000", "1010", "1020", "1030", "1040"];
        assert_eq!(labels(&axis), expected);
        let axis = Axis::bytes(6_500_000.0);
        assert_eq!(labels(&axis), ["0 B", "2 MiB", "4 MiB", "6 MiB"]);
    }

    #[test]
    fn elapsed_time_starts_at_nought_with_about_five_steps() {
        let axis = Axis::elapsed("ms", 230.0);
        assert_eq!(labels(&axis), ["0", "50", "100", "150", "200"]);
    }
}
