//! `--sweep`: a table of times, or a map.

use std::process::ExitCode;

use serde_json::json;
use sintonia_formats::heat_map::HeatMap;
use sintonia_replay::case::Case;
use sintonia_replay::sweep::{self, Sweep};

use super::Arguments;
use crate::fit::page::{Column, page, table};
use crate::text::seconds;
use crate::{Error, output};

/// Replays every value, or every pair of values.
pub fn run(arguments: &Arguments, case: &Case, first: &Sweep, second: Option<&Sweep>, notes: &[String]) -> Result<ExitCode, Error> {
    let cells = sweep::run(case, first, second)?;
    if let Some(path) = &arguments.svg {
        let drawing = draw(arguments, first, second, &cells);
        output::to_file(path, |out| out.write_all(drawing.as_bytes()))?;
    }
    output::to_stdout(|out| match arguments.json {
        true => output::json_line(out, &value(first, second, &cells, notes)),
        false => write!(out, "{}", show(first, second, &cells, notes)),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn value(first: &Sweep, second: Option<&Sweep>, cells: &[Vec<f64>], notes: &[String]) -> serde_json::Value {
    let side = |sweep: &Sweep| json!({"name": sweep.name, "values": sweep.labels});
    let mut value = json!({"columns": side(first), "rows": second.map(side), "seconds": cells});
    if !notes.is_empty() {
        value["notes"] = json!(notes);
    }
    value
}

fn draw(arguments: &Arguments, first: &Sweep, second: Option<&Sweep>, cells: &[Vec<f64>]) -> String {
    let name = arguments.recordings.first().map(|path| path.display().to_string()).unwrap_or_default();
    let on = arguments.machine.as_ref().map_or_else(|| "with the network as recorded".to_owned(), |path| format!("on {}", path.display()));
    let notes: Vec<String> = arguments.what_if.iter().map(|change| format!("what if {change}")).collect();
    let rows = second.map_or(("", &[][..]), |second| (second.name.as_str(), &second.labels[..]));
    let title = format!("{name} replayed {on}");
    HeatMap { title: &title, notes: &notes, columns: (&first.name, &first.labels), rows, cells, write: &seconds }.svg()
}

fn show(first: &Sweep, second: Option<&Sweep>, cells: &[Vec<f64>], notes: &[String]) -> String {
    let lines = match second {
        None => table([
            Column::numbers(first.name.as_str(), first.labels.clone()),
            Column::numbers("time", cells[0].iter().map(|cell| seconds(*cell)).collect()),
        ]),
        Some(second) => {
            let side = Column::numbers(format!("{} \\ {}", second.name, first.name), second.labels.clone());
            let column =
                |place: usize| Column::numbers(first.labels[place].as_str(), cells.iter().map(|row| seconds(row[place])).collect());
            table([side].into_iter().chain((0..first.labels.len()).map(column)))
        }
    };
    page([lines, notes.to_vec()])
}
