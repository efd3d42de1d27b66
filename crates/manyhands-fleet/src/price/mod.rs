//! What machines cost: a table that its user edits, an estimate of a plan before it is submitted, a limit while it is
//! carried out, and a bill after.
//!
//! Nobody is asked for prices, and no account is looked at. The figures are those of the table, and each has a date and a
//! source, so that a reader sees how far to trust them.

mod bill;
mod estimate;
mod limit;

pub use bill::{Bill, BillLine};
pub use estimate::{Estimate, EstimateLine};
pub use limit::Limit;
pub(crate) use limit::Next;

use crate::FleetError;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// Prices of machines.
///
/// # Examples
/// ```
/// use manyhands_fleet::price::Prices;
///
/// let prices = Prices::parse(
///     r#"
///     [[machine]]
///     name = "small"
///     provider = "mine"
///     region = "cellar"
///     cpus = 4
///     usd_per_hour = 0.05
///     date = "2026-11-01"
///     source = "the meter beside the door"
///     "#,
/// )?;
/// assert_eq!(prices.machines()[0].cpus, 4);
/// assert!(Prices::parse(Prices::EXAMPLE)?.machines().len() > 1);
/// # Ok::<(), manyhands_fleet::FleetError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Table")]
pub struct Prices {
    #[serde(rename = "machine")]
    machines: Vec<Price>,
}

/// A table as somebody wrote it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(rename = "machine", default)]
    machines: Vec<Price>,
}

/// What a kind of machine costs.
///
/// Example: see [`Prices`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Name, one of its kind in the table; agents say it by `--machine`.
    pub name: String,
    /// Who takes the money.
    pub provider: String,
    /// Where the machine is.
    pub region: String,
    /// CPUs.
    pub cpus: usize,
    /// US dollars for an hour.
    pub usd_per_hour: f64,
    /// Seconds that are paid for a machine that was started, at least.
    #[serde(default)]
    pub seconds_min: u64,
    /// When this was the price: `2026-11-23`.
    pub date: String,
    /// Where the figure comes from.
    pub source: String,
}

impl TryFrom<Table> for Prices {
    type Error = String;

    fn try_from(table: Table) -> Result<Self, String> {
        if table.machines.is_empty() {
            return Err("it has no machine".to_owned());
        }
        for (number, machine) in table.machines.iter().enumerate() {
            let name = &machine.name;
            if table.machines[..number].iter().any(|one| one.name == *name) {
                return Err(format!("it has two machines '{name}'"));
            }
            if !machine.usd_per_hour.is_finite() || machine.usd_per_hour < 0.0 {
                return Err(format!("'{name}' has a price that is no price"));
            }
            if machine.cpus == 0 {
                return Err(format!("'{name}' has no CPUs"));
            }
            if machine.date.parse::<Date>().is_err() {
                let date = &machine.date;
                return Err(format!(
                    "'{name}' has the date '{date}', which is none like 2026-11-23"
                ));
            }
        }
        Ok(Self {
            machines: table.machines,
        })
    }
}

impl Prices {
    /// A table to begin with, as a file with remarks.
    pub const EXAMPLE: &str = include_str!("../../prices.toml");

    /// Reads a table.
    ///
    /// # Errors
    /// [`FleetError::Prices`] if it is no TOML, has an unknown field, two machines of one name, no machine, or a figure
    /// that makes no sense.
    pub fn parse(text: &str) -> Result<Self, FleetError> {
        let wrong = |reason: String| FleetError::Prices { reason };
        toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start].lines().count());
            let message = error.message();
            wrong(line.map_or(message.to_owned(), |line| {
                format!("line {}: {message}", line.max(1))
            }))
        })
    }

    /// The machines, in the order of the table.
    #[must_use]
    pub fn machines(&self) -> &[Price] {
        &self.machines
    }

    /// Only the machines of these names; all, without names.
    ///
    /// # Errors
    /// [`FleetError::Prices`] if the table does not have one of them.
    ///
    /// # Examples
    /// ```
    /// use manyhands_fleet::price::Prices;
    ///
    /// let prices = Prices::parse(Prices::EXAMPLE)?;
    /// let some = prices.clone().only(&["c7i-192".to_owned()])?;
    /// assert_eq!(some.machines().len(), 1);
    /// assert!(prices.only(&["abacus".to_owned()]).is_err());
    /// # Ok::<(), manyhands_fleet::FleetError>(())
    /// ```
    pub fn only(mut self, names: &[String]) -> Result<Self, FleetError> {
        let is_known = |name: &&String| self.machines.iter().any(|one| one.name == **name);
        if let Some(missing) = names.iter().find(|name| !is_known(name)) {
            let reason = format!("it has no machine '{missing}'");
            return Err(FleetError::Prices { reason });
        }
        if !names.is_empty() {
            self.machines.retain(|one| names.contains(&one.name));
        }
        Ok(self)
    }

    /// What an agent's machine may be: what the agent says that it is, or all with its number of CPUs.
    fn meant<'all>(
        &'all self,
        machine: Option<&'all str>,
        cpus: usize,
    ) -> impl Iterator<Item = &'all Price> {
        let is_meant = move |price: &&Price| match machine {
            Some(name) => price.name == name,
            None => price.cpus == cpus,
        };
        self.machines.iter().filter(is_meant)
    }

    /// Dollars for an hour of an agent's machine, from the cheapest to the dearest that it may be; `None` if the table
    /// has none.
    pub(crate) fn usd_per_hour(&self, machine: Option<&str>, cpus: usize) -> Option<Usd> {
        Usd::range(self.meant(machine, cpus).map(|price| price.usd_per_hour))
    }

    /// How old the figures are, as a sentence: `today` is the day to which they are compared.
    pub(crate) fn age(&self, today: Date) -> String {
        let dates = self.machines.iter().map(|machine| machine.date.as_str());
        // The tables' dates are written so that the order of their texts is that of the days.
        let (oldest, newest) = (dates.clone().min(), dates.max());
        let days = oldest
            .and_then(|oldest| oldest.parse::<Date>().ok())
            .and_then(|oldest| today.since(oldest).ok())
            .map_or(0, |span| span.get_days());
        let (oldest, newest) = (oldest.unwrap_or_default(), newest.unwrap_or_default());
        if oldest == newest {
            format!("Prices of {oldest}, {days} days old.")
        } else {
            format!("Prices of {oldest} to {newest}; the oldest is {days} days old.")
        }
    }
}

impl Price {
    /// Dollars for a machine that runs for this time.
    ///
    /// # Examples
    /// ```
    /// use manyhands_fleet::price::Prices;
    ///
    /// let prices = Prices::parse(Prices::EXAMPLE)?.only(&["c7i-192".to_owned()])?;
    /// let machine = &prices.machines()[0];
    /// assert_eq!(machine.usd(1_800.0), 4.5);
    /// assert_eq!(machine.usd(1.0), 0.15, "a minute is paid at least");
    /// # Ok::<(), manyhands_fleet::FleetError>(())
    /// ```
    #[must_use]
    pub fn usd(&self, seconds: f64) -> f64 {
        seconds.max(self.seconds_min as f64) * self.usd_per_hour / SECONDS_PER_HOUR
    }
}

/// From the least to the most that something may cost.
///
/// Example: see [`Estimate`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Usd {
    /// Dollars at least.
    pub least: f64,
    /// Dollars at most.
    pub most: f64,
}

impl Usd {
    /// The range of some amounts; `None` if there are none.
    fn range(amounts: impl IntoIterator<Item = f64>) -> Option<Self> {
        amounts.into_iter().fold(None, |range: Option<Self>, usd| {
            let range = range.unwrap_or(Self {
                least: usd,
                most: usd,
            });
            Some(Self {
                least: range.least.min(usd),
                most: range.most.max(usd),
            })
        })
    }

    /// As often as this.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self {
            least: self.least * factor,
            most: self.most * factor,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            least: self.least + other.least,
            most: self.most + other.most,
        }
    }
}

impl std::fmt::Display for Usd {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (least, most) = (format!("{:.2}", self.least), format!("{:.2}", self.most));
        if least == most {
            write!(formatter, "{most} USD")
        } else {
            write!(formatter, "{least} to {most} USD")
        }
    }
}

const SECONDS_PER_HOUR: f64 = 3_600.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_a_table_and_every_figure_has_a_date_and_a_source() {
        let prices = Prices::parse(Prices::EXAMPLE).unwrap();
        for machine in prices.machines() {
            assert!(machine.source.len() > 20, "{}", machine.name);
            assert!(machine.usd_per_hour > 0.0, "{}", machine.name);
        }
        let largest = prices.machines().iter().find(|one| one.cpus == 192);
        assert_eq!(largest.map(|one| one.usd_per_hour), Some(9.0));
    }

    #[test]
    fn a_table_that_makes_no_sense_is_refused_in_one_line() {
        fn check(change: (&str, &str), culprit: &str) {
            let good = "[[machine]]\nname = 'a'\nprovider = 'p'\nregion = 'r'\ncpus = 2\n\
                        usd_per_hour = 0.1\ndate = '2026-11-23'\nsource = 's'\n";
            Prices::parse(good).unwrap();
            let complaint = Prices::parse(&good.replace(change.0, change.1)).unwrap_err();
            let complaint = complaint.to_string();
            assert!(complaint.contains(culprit), "{complaint}");
            assert!(!complaint.contains('\n'), "{complaint}");
        }
        check(("0.1", "-0.1"), "no price");
        check(("0.1", "nan"), "no price");
        check(("cpus = 2", "cpus = 0"), "CPUs");
        check(("2026-11-23", "last week"), "last week");
        check(("source", "rumour"), "rumour");
        check(("date = '2026-11-23'\n", ""), "date");
        check(("[[machine]]", "[[machines]]"), "machines");
        let twice = Prices::EXAMPLE.repeat(2);
        let complaint = Prices::parse(&twice).unwrap_err().to_string();
        assert!(complaint.contains("two machines"), "{complaint}");
        assert!(Prices::parse("").is_err());
    }

    #[test]
    fn the_oldest_figure_says_how_old_the_table_is() {
        let prices = Prices::parse(Prices::EXAMPLE).unwrap();
        let today = "2026-11-24".parse().unwrap();
        assert_eq!(
            prices.age(today),
            "Prices of 2024-04-01 to 2026-11-23; the oldest is 967 days old."
        );
    }

    #[test]
    fn an_amount_is_shown_in_cents_and_a_range_only_if_it_is_one() {
        let usd = |least, most| Usd { least, most }.to_string();
        assert_eq!(usd(27.0, 27.0), "27.00 USD");
        assert_eq!(usd(0.104, 0.1), "0.10 USD");
        assert_eq!(usd(0.1, 20.6), "0.10 to 20.60 USD");
    }
}
