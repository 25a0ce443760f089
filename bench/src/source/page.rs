//! The figures as a page.

use super::{Figures, Outcome};
use crate::row::Row;
use crate::spread::Spread;
use crate::table;

/// How far outside of its interval a median may lie and still count as near.
const NEAR_PERCENT: f64 = 10.0;

/// The page.
pub(super) fn text(figures: &Figures) -> String {
    let intro = format!(
        "{} rounds; {}. Seconds from the first task that is sent to the last result; measured is the median of the rounds, the middle half of \
         them in brackets. Outside is how far the median lies from the interval.",
        figures.rounds,
        figures.machine.line()
    );
    let programs = figures.programs.iter().filter_map(program);
    std::iter::once(intro).chain(programs).collect::<Vec<_>>().join("\n\n") + "\n"
}

fn program(outcome: &Outcome) -> Option<String> {
    let heading = ["version", "predicted", "interval", "measured", "error", "outside"].map(String::from);
    let rows: Vec<Vec<String>> = outcome.rows.iter().map(cells).collect();
    let near = outcome.rows.iter().filter(|row| row.outside_percent() <= NEAR_PERCENT).count();
    let width = Spread::of(outcome.rows.iter().map(Row::width))?;
    let error = Spread::of(outcome.rows.iter().map(|row| row.error_percent.abs()))?;
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

fn cells(row: &Row) -> Vec<String> {
    let mut cells = row.cells();
    cells.push(match row.outside_percent() {
        0.0 => "inside".to_owned(),
        percent => format!("{percent:.1} %"),
    });
    cells
}
