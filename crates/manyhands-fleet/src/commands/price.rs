//! `fleet price`: what a plan will cost, and what one has cost.

use super::{DATABASE, FOLDER, Program, answer, show::plan_or_last};
use crate::{
    FleetError,
    plan::Plan,
    price::{Bill, Estimate, Prices},
    server::Database,
    time::today,
};
use clap::{Args, Subcommand};
use manyhands_lab::console::Printing;
use serde_json::json;
use std::{fs, path::PathBuf};

/// The commands about money.
#[derive(Debug, PartialEq, Subcommand)]
pub enum Price {
    /// Print a table of prices to edit
    Example,
    /// Say what a plan will cost
    Estimate(PriceEstimate),
    /// Say what a plan has cost so far
    Bill(PriceBill),
}

/// Options of an estimate.
#[derive(Debug, PartialEq, Args)]
pub struct PriceEstimate {
    /// The plan
    #[arg(value_name = "FILE")]
    plan: PathBuf,
    /// Fail if the plan may cost more than this number of dollars
    #[arg(long, value_name = "USD", value_parser = usd)]
    max_usd: Option<f64>,
    #[command(flatten)]
    table: Table,
}

/// Options of a bill.
#[derive(Debug, PartialEq, Args)]
pub struct PriceBill {
    /// Id of the plan [default: the last one]
    #[arg(value_name = "PLAN")]
    plan: Option<String>,
    /// The server's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    data: PathBuf,
    #[command(flatten)]
    table: Table,
}

/// Which prices.
#[derive(Debug, PartialEq, Args)]
pub(super) struct Table {
    /// File with the prices [default: an example, which is old]
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Machine of the table that is meant, where it has several of a size; may be repeated
    #[arg(long = "machine", value_name = "NAME")]
    machines: Vec<String>,
}

impl Table {
    /// The table that was named, if one was: what others see is not made of an example.
    pub(super) fn given(&self) -> Result<Option<Prices>, FleetError> {
        self.prices.as_ref().map(|_| self.read()).transpose()
    }

    pub(super) fn read(&self) -> Result<Prices, FleetError> {
        let prices = match &self.prices {
            Some(path) => {
                let text = fs::read_to_string(path).map_err(FleetError::file("read", path))?;
                Prices::parse(&text)?
            }
            None => Prices::parse(Prices::EXAMPLE)?,
        };
        prices.only(&self.machines)
    }

    fn remark(&self) -> &'static str {
        match self.prices {
            Some(_) => "",
            None => {
                "\nThis table is an example: 'manyhands fleet price example' prints it, to be edited."
            }
        }
    }
}

pub(super) fn price(price: &Price, program: Program) -> Result<(), FleetError> {
    match price {
        Price::Example => answer(program.printing, &Prices::EXAMPLE, || {
            Prices::EXAMPLE.to_owned()
        }),
        Price::Estimate(options) => estimate(options, program),
        Price::Bill(options) => bill(options, program.printing),
    }
}

fn estimate(options: &PriceEstimate, program: Program) -> Result<(), FleetError> {
    let path = &options.plan;
    let toml = fs::read_to_string(path).map_err(FleetError::file("read", path))?;
    let (plan, prices) = (Plan::parse(&toml)?, options.table.read()?);
    let estimate = Estimate::of(&plan, &(program.experiments)(), &prices)?;
    let text = estimate.text(&prices, today());
    let json = json!({ "lines": estimate.lines, "usd": estimate.usd() });
    let answered = answer(program.printing, &json, || {
        format!("{text}{}", options.table.remark())
    });
    // Whether anybody reads it or not.
    match options.max_usd {
        Some(usd_max) => estimate.allow(usd_max).and(answered),
        None => answered,
    }
}

fn bill(options: &PriceBill, printing: Printing) -> Result<(), FleetError> {
    let database = Database::open_to_read(&options.data.join(DATABASE))?;
    let plan = plan_or_last(&database, options.plan.as_deref())?;
    let prices = options.table.read()?;
    let bill = Bill::of(&database, &plan, &prices)?;
    let text = bill.text(&prices, today());
    let json = json!({ "plan": plan, "lines": bill.lines, "usd": bill.usd() });
    answer(printing, &json, || {
        format!("{text}{}", options.table.remark())
    })
}

/// A number of dollars.
pub(super) fn usd(text: &str) -> Result<f64, String> {
    let usd: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if usd.is_finite() && usd >= 0.0 {
        Ok(usd)
    } else {
        Err("not a number of dollars".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_a_number_that_makes_sense() {
        assert_eq!(usd("12.5"), Ok(12.5));
        for text in ["-1", "nan", "inf", "ten"] {
            assert!(usd(text).is_err(), "{text}");
        }
    }
}
