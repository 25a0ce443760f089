//! The figures as a page.

use super::{SourceFigures, SourceOutcome};
use crate::prediction_row::PredictionRow;
use crate::quartiles::Quartiles;
use crate::table;

/// How far outside of its interval a median may lie and still count as near.
const NEAR_PERCENT: f64 = 10.0;

/// The page.
pub(super) fn text(figures: &SourceFigures) -> String {
    let intro = format!(
        "{} rounds; {}. Seconds from the first task that is sent to the last result; measured is the median of the rounds, the middle half of \
         them in brackets. Outside is how far the median lies from the interval.",
        figures.rounds,
        figures.machine.line()
    );
    let programs = figures.programs.iter().filter_map(program);
    std::iter::once(intro).chain(programs).collect::<Vec<_>>().join("\n\n") + "\n"
}

fn program(outcome: &SourceOutcome) -> Option<String> {
    let heading = ["version", "predicted", "interval", "measured", "error", "outside"].map(String::from);
    let rows: Vec<Vec<String>> = outcome.rows.iter().map(cells).collect();
    let near = outcome.rows.iter().filter(|row| row.outside_percent() <= NEAR_PERCENT).count();
    let width = Quartiles::from_values(outcome.rows.iter().map(PredictionRow::width))?;
    let error = Quartiles::from_values(outcome.rows.iter().map(|row| row.error_percent.abs()))?;
    Some(format!(
        "## {}\n\n{}\n{near} of {} are in their interval or within {NEAR_PERCENT} % of it. The high end is {:.1} times the low end (median); the \
         middle is off by {:.0} % (median).",
        outcome.program,
        table::markdown(&heading, &rows),
        rows.len(),
        width.median,
        error.median
    ))
}

fn cells(row: &PredictionRow) -> Vec<String> {
    let mut cells = row.cells();
    cells.push(match row.outside_percent() {
        0.0 => "inside".to_owned(),
        percent => format!("{percent:.1} %"),
    });
    cells
}
