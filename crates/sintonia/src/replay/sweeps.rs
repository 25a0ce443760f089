//! `--sweep`: a table of times, or a map.

use std::process::ExitCode;

use serde_json::json;
use sintonia_replay::case::Case;
use sintonia_replay::sweep::{self, Sweep};

use super::Arguments;
use crate::fit::page::{Column, page, table};
use crate::text::seconds;
use crate::{Error, output};

/// Replays every value, or every pair of values.
pub fn run(arguments: &Arguments, case: &Case, first: &Sweep, second: Option<&Sweep>) -> Result<ExitCode, Error> {
    let cells = sweep::run(case, first, second)?;
    output::to_stdout(|out| match arguments.json {
        true => output::json_line(out, &value(first, second, &cells)),
        false => write!(out, "{}", show(first, second, &cells)),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn value(first: &Sweep, second: Option<&Sweep>, cells: &[Vec<f64>]) -> serde_json::Value {
    let side = |sweep: &Sweep| json!({"name": sweep.name, "values": sweep.labels});
    json!({"columns": side(first), "rows": second.map(side), "seconds": cells})
}

fn show(first: &Sweep, second: Option<&Sweep>, cells: &[Vec<f64>]) -> String {
    let lines = match second {
        None => table([
            Column::numbers(first.name.as_str(), first.labels.clone()),
            Column::numbers("time", cells[0].iter().map(|cell| seconds(*cell)).collect()),
        ]),
        Some(second) => {
            let side = Column::numbers(format!("{} \\ {}", second.name, first.name), second.labels.clone());
            let column = |place: usize| Column::numbers(first.labels[place].as_str(), cells.iter().map(|row| seconds(row[place])).collect());
            table([side].into_iter().chain((0..first.labels.len()).map(column)))
        }
    };
    page([lines])
}
