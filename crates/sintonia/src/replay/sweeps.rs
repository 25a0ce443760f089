//! `--sweep`: a table of times, or a heat map.

use std::process::ExitCode;

use serde_json::json;
use sintonia_plot::heat_map::HeatMap;
use sintonia_replay::scenario::ReplayScenario;
use sintonia_replay::sweep::{self, Sweep};

use super::ReplayArgs;
use crate::text::format_seconds;
use crate::text_layout::{TextColumn, join_sections, render_table};
use crate::{Error, output};

/// Replays every value, or every pair of values.
pub(super) fn run(
    args: &ReplayArgs,
    case: &ReplayScenario,
    first: &Sweep,
    second: Option<&Sweep>,
    notes: &[String],
) -> Result<ExitCode, Error> {
    let cells = sweep::run_sweep(case, first, second)?;
    if let Some(path) = &args.svg {
        let drawing = draw_heat_map(args, first, second, &cells);
        output::write_file(path, |out| out.write_all(drawing.as_bytes()))?;
    }
    output::write_stdout(|out| match args.json {
        true => output::write_json_line(out, &sweep_json(first, second, &cells, notes)),
        false => write!(out, "{}", render(first, second, &cells, notes)),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn sweep_json(first: &Sweep, second: Option<&Sweep>, cells: &[Vec<f64>], notes: &[String]) -> serde_json::Value {
    let side = |sweep: &Sweep| json!({"name": sweep.name, "values": sweep.labels});
    let mut value = json!({"columns": side(first), "rows": second.map(side), "seconds": cells});
    if !notes.is_empty() {
        value["notes"] = json!(notes);
    }
    value
}

fn draw_heat_map(args: &ReplayArgs, first: &Sweep, second: Option<&Sweep>, cells: &[Vec<f64>]) -> String {
    let name = args.recordings.first().map(|path| path.display().to_string()).unwrap_or_default();
    let on = args.machine.as_ref().map_or_else(|| "with the network as recorded".to_owned(), |path| format!("on {}", path.display()));
    let notes: Vec<String> = args.what_if.iter().map(|change| format!("what if {change}")).collect();
    let rows = second.map_or(("", &[][..]), |second| (second.name.as_str(), &second.labels[..]));
    let title = format!("{name} replayed {on}");
    HeatMap { title: &title, notes: &notes, columns: (&first.name, &first.labels), rows, cells, format_value: &format_seconds }.to_svg()
}

fn render(first: &Sweep, second: Option<&Sweep>, cells: &[Vec<f64>], notes: &[String]) -> String {
    let lines = match second {
        None => render_table([
            TextColumn::right(first.name.as_str(), first.labels.clone()),
            TextColumn::right("time", cells[0].iter().map(|cell| format_seconds(*cell)).collect()),
        ]),
        Some(second) => {
            let side = TextColumn::right(format!("{} \\ {}", second.name, first.name), second.labels.clone());
            let column = |index: usize| {
                TextColumn::right(first.labels[index].as_str(), cells.iter().map(|row| format_seconds(row[index])).collect())
            };
            render_table([side].into_iter().chain((0..first.labels.len()).map(column)))
        }
    };
    join_sections([lines, notes.to_vec()])
}
