//! `fleet page`: plans, agents and results for a browser.

use super::{DATABASE, FOLDER, Program, answer, price::Table};
use crate::{
    FleetError,
    page::{Page, Setup},
};
use clap::Args;
use manyhands_lab::run::Interrupt;
use serde_json::json;
use std::{fs, net::SocketAddr, path::PathBuf};

/// Options of the page.
#[derive(Debug, PartialEq, Args)]
pub struct ShowPage {
    /// The server's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    data: PathBuf,
    /// Where it listens; beyond this machine it needs a token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4281")]
    listen: SocketAddr,
    /// File with a token of 32 letters or digits at least, which a request must bring
    #[arg(long, value_name = "FILE")]
    token: Option<PathBuf>,
    /// Name by which it is asked for beside its address, without the port; may be repeated
    #[arg(long = "host", value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    table: Table,
}

pub(super) fn page(
    options: &ShowPage,
    program: Program,
    stop: &Interrupt,
) -> Result<(), FleetError> {
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).map_err(FleetError::file("read", path))?;
        Ok::<_, FleetError>(text.trim().to_owned())
    };
    let token = options.token.as_ref().map(read).transpose()?;
    let hint = match &token {
        Some(_) => "/?token=…",
        None => "/",
    };
    let setup = Setup {
        database: options.data.join(DATABASE),
        names: options.names.clone(),
        token,
        prices: options.table.given()?,
        companion: program.companion,
    };
    let page = Page::bind(options.listen, setup)?;
    let address = format!("http://{}{hint}", page.address());
    let json = json!({ "address": address });
    answer(program.printing, &json, || {
        format!("The page is at {address}")
    })?;
    page.run(stop)
}
