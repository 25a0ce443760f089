//! The figures as a page.

use super::{PredictFigures, StudyOutcome};
use crate::prediction_row::PredictionRow;
use crate::quartiles::Quartiles;
use crate::table;

/// The page.
pub(super) fn text(figures: &PredictFigures) -> String {
    let intro = format!(
        "{} rounds; {}. Seconds from the end of `MPI_Init` to the beginning of `MPI_Finalize`; measured is the median of the rounds, the \
         middle half of them in brackets.",
        figures.rounds,
        figures.machine.line()
    );
    let mut pages = vec![intro];
    pages.extend(figures.studies.iter().map(|outcome| study(outcome, figures.rounds)));
    pages.extend(figures.failed.iter().map(|failed| format!("Not measured: {failed}")));
    pages.extend(summary(figures));
    pages.join("\n\n") + "\n"
}

fn study(outcome: &StudyOutcome, rounds: usize) -> String {
    let known: Vec<String> = outcome.known.iter().map(ToString::to_string).collect();
    let own = outcome.own_error_percent.map_or(String::new(), |percent| format!(" Its own estimate of its error: {percent:.1} %."));
    let heading = ["predicted run", "predicted", "interval", "measured", "error", "inside"].map(String::from);
    let rows: Vec<Vec<String>> = outcome.rows.iter().map(|row| cells(row, rounds)).collect();
    let table = table::markdown(&heading, &rows);
    format!("## {}, {}\n\nFrom {}: `{}`.{own}\n\n{table}", outcome.study, outcome.mpi, known.join("; "), outcome.formula)
}

fn cells(row: &PredictionRow, rounds: usize) -> Vec<String> {
    let mut cells = row.cells();
    cells.push(format!("{} of {rounds}", row.inside));
    cells
}

fn summary(figures: &PredictFigures) -> Option<String> {
    let rows: Vec<&PredictionRow> = figures.studies.iter().flat_map(|outcome| &outcome.rows).collect();
    let error = Quartiles::from_values(rows.iter().map(|row| row.error_percent.abs()))?;
    let (inside, runs): (usize, usize) = (rows.iter().map(|row| row.inside).sum(), rows.iter().map(|row| row.runs.len()).sum());
    Some(format!(
        "Over all: the median error is {:.1} % (middle half {:.1} to {:.1} %); {inside} of {runs} runs are inside the interval that should cover 95 %.",
        error.median, error.low, error.high
    ))
}
