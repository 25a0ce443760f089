//! Places with their callers, short enough for the columns of the report.
//!
//! Places of one source line differ in their callers only, so these are shown below the row if they do not fit into its column.

use crate::report::SCREEN_COLUMNS;
use crate::text::{truncate_end, truncate_start};

const FROM: &str = " from ";
const CALLED_BY: &str = " < ";

/// A place in a column.
pub(super) struct PlaceColumn {
    /// What fits into the column.
    pub(super) text: String,
    /// A line below the row: the callers, if they do not fit.
    pub(super) callers: Option<String>,
}

impl PlaceColumn {
    /// A place in a column of this width.
    pub(super) fn fit(place: &str, width: usize) -> PlaceColumn {
        let Some((line, callers)) = place.split_once(FROM) else {
            return PlaceColumn { text: fit_line(place, width), callers: None };
        };
        let short = format!("{}{FROM}{callers}", without_folder(line));
        if let Some(text) = [place, &short].into_iter().find(|text| fits(text, width)) {
            return PlaceColumn { text: text.to_owned(), callers: None };
        }
        const INDENT: &str = "      from ";
        let callers = format!("{INDENT}{}", shorten_callers(callers, SCREEN_COLUMNS - INDENT.len()));
        PlaceColumn { text: fit_line(line, width), callers: Some(callers) }
    }
}

/// A place with its callers on one line: callers in the middle are left out first, the folder before.
pub(super) fn fit_place(place: &str, width: usize) -> String {
    match place.split_once(FROM) {
        _ if fits(place, width) => place.to_owned(),
        Some((line, callers)) => {
            let line = without_folder(line);
            let room = width.saturating_sub(line.chars().count() + FROM.len());
            format!("{line}{FROM}{}", shorten_callers(callers, room))
        }
        None => fit_line(place, width),
    }
}

fn fits(text: &str, width: usize) -> bool {
    text.chars().count() <= width
}

/// A place without callers. The folder goes first. The end of a file name is most telling, but the beginning of a function name.
fn fit_line(line: &str, width: usize) -> String {
    match line {
        _ if fits(line, width) => line.to_owned(),
        _ if line.contains(" in ") => truncate_end(line, width),
        _ => truncate_start(without_folder(line), width),
    }
}

fn without_folder(line: &str) -> &str {
    line.rsplit('/').next().unwrap_or(line)
}

/// The nearest caller says which call it is, the outermost one which path: those between them go first.
fn shorten_callers(callers: &str, width: usize) -> String {
    let names: Vec<&str> = callers.split(CALLED_BY).collect();
    let with_gap = |near: usize| {
        let kept = names[..near].iter().chain([&"…"]).chain(names.last());
        kept.copied().collect::<Vec<_>>().join(CALLED_BY)
    };
    let shorter = (1..names.len().saturating_sub(1)).rev().map(with_gap);
    std::iter::once(callers.to_owned()).chain(shorter).find(|text| fits(text, width)).unwrap_or_else(|| truncate_end(callers, width.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: &str = "src/parallel.c:99 from exchange:297 < halo:250 < force:323 < step:48";

    #[test]
    fn callers_are_below_a_row_where_they_do_not_fit_beside_the_line() {
        let column = PlaceColumn::fit(PLACE, 30);
        assert_eq!(column.text, "src/parallel.c:99");
        assert_eq!(column.callers.as_deref(), Some("      from exchange:297 < halo:250 < force:323 < step:48"));
        let column = PlaceColumn::fit("src/parallel.c:99 from main:12", 28);
        assert_eq!((column.text.as_str(), column.callers), ("parallel.c:99 from main:12", None));
    }

    #[test]
    fn a_line_keeps_its_end_and_a_function_its_beginning() {
        assert_eq!(PlaceColumn::fit("solver/parallel.c:99", 14).text, "parallel.c:99");
        assert_eq!(PlaceColumn::fit("solver/parallel.c:99", 11).text, "…allel.c:99");
        assert_eq!(PlaceColumn::fit("MPI_Init_thread in libapp.so", 12).text, "MPI_Init_th…");
    }

    #[test]
    fn the_nearest_and_the_outermost_caller_stay_longest() {
        assert_eq!(fit_place(PLACE, 99), PLACE);
        assert_eq!(fit_place(PLACE, 60), "parallel.c:99 from exchange:297 < halo:250 < … < step:48");
        assert_eq!(fit_place(PLACE, 48), "parallel.c:99 from exchange:297 < … < step:48");
        assert_eq!(fit_place(PLACE, 24), "parallel.c:99 from exch…");
    }
}
