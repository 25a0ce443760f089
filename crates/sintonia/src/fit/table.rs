//! Fits formulas to a table.

use std::fs;
use std::path::Path;

use sintonia_fit::table::{MeasurementSeries, TableColumns, read_csv, read_extrap_series};
use sintonia_model::model::PerformanceModel;
use sintonia_model::series::CurveForm;

use super::{FitArgs, FitResult};
use crate::error::usage_error;
use crate::{Error, text};

/// Reads the table and fits a formula to each requested series.
pub(super) fn fit_table(args: &FitArgs) -> Result<Vec<FitResult>, Error> {
    let path = &args.inputs[0];
    let name = path.display().to_string();
    let text = fs::read(path).map_err(|source| Error::Other(format!("cannot read {name}: {source}")))?;
    let text = String::from_utf8(text).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::Other(format!("{name} is not a table: invalid UTF-8 at byte {at}; tables are CSV, Extra-P's text, JSON or JSON lines"))
    })?;
    let series = if is_csv(path, &text) { vec![read_csv_series(args, &name, &text)?] } else { read_extrap_file(args, &name, &text)? };
    let form = if args.pieces { CurveForm::Pieces } else { CurveForm::Scaling };
    if series.is_empty() {
        return Err(Error::Other(format!("{name}: no measurements")));
    }
    keep_usable(series.iter().map(|series| fit_series(args, &name, series, form)))
}

/// Keeps what is usable and reports the rest; fails if nothing is.
fn keep_usable<T>(all: impl IntoIterator<Item = Result<T, Error>>) -> Result<Vec<T>, Error> {
    let (mut usable, mut refused) = (Vec::new(), Vec::new());
    for one in all {
        match one {
            Ok(one) => usable.push(one),
            Err(error) => refused.push(error),
        }
    }
    if usable.is_empty() {
        return refused.into_iter().next().map_or(Ok(usable), Err);
    }
    refused.iter().for_each(|error| eprintln!("sintonia: left out: {error}"));
    Ok(usable)
}

fn fit_series(args: &FitArgs, table: &str, series: &MeasurementSeries, form: CurveForm) -> Result<FitResult, Error> {
    let mut model = PerformanceModel::from_series(series, form).map_err(|error| Error::Other(format!("{table}: {error}")))?;
    if let Some(name) = &args.name {
        model.name.clone_from(name);
    }
    Ok(FitResult {
        input_summary: text::format_plural(model.points.len() as u64, "measurement"),
        excluded_time: String::new(),
        next: None,
        model,
    })
}

/// Whether it is a table with a header, by its extension or else by its first line.
fn is_csv(path: &Path, text: &str) -> bool {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("csv" | "tsv") => true,
        Some("json" | "jsonl") => false,
        _ => {
            let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
            !first.starts_with('{')
                && !["PARAMETER", "POINTS", "METRIC", "REGION", "DATA", "EXPERIMENT"].iter().any(|word| first.starts_with(word))
        }
    }
}

fn read_csv_series(args: &FitArgs, name: &str, text: &str) -> Result<MeasurementSeries, Error> {
    let (Some(x), Some(y)) = (&args.x, &args.y) else {
        let (_, columns) = split_header(text);
        usage_error(format!("{name} has the columns {}: choose with --x and --y, for example --x n,p --y send", columns.join(", ")));
    };
    let columns = TableColumns { parameters: x.clone(), value: y.clone(), unit: args.unit.clone() };
    let text = args.only.iter().try_fold(text.to_owned(), |text, condition| filter_rows(name, &text, condition))?;
    read_csv(name, &text, &columns).map_err(|error| Error::Other(error.to_string()))
}

/// Keeps only rows where a column has a value; others become empty, so that line numbers stay the same.
fn filter_rows(name: &str, text: &str, condition: &str) -> Result<String, Error> {
    let (column, value) = condition.split_once('=').unwrap_or_else(|| usage_error(format!("--where {condition}: expected COLUMN=VALUE")));
    let (header, columns) = split_header(text);
    let named = |cell: &String| cell == column || cell.split(['[', '(']).next().map(str::trim) == Some(column);
    let Some(index) = columns.iter().position(named) else {
        return Err(Error::Other(format!("{name}: no column `{column}`; the columns are {}", columns.join(", "))));
    };
    let same = |cell: &str| cell == value || cell.parse::<f64>().ok().zip(value.parse::<f64>().ok()).is_some_and(|(a, b)| a == b);
    let has_value = |line: &str| split_cells(line, find_separator(header)).get(index).is_some_and(|cell| same(cell));
    let is_kept = |line: &str| line == header || !is_data(line) || has_value(line);
    Ok(text.lines().map(|line| if is_kept(line) { format!("{line}\n") } else { "\n".into() }).collect())
}

/// Whether a line is neither empty nor a comment.
fn is_data(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim_start().starts_with('#')
}

/// The header of a table, and its columns.
fn split_header(text: &str) -> (&str, Vec<String>) {
    let header = text.lines().find(|line| is_data(line)).unwrap_or_default();
    (header, split_cells(header, find_separator(header)))
}

/// The cell separator of a table with this header.
fn find_separator(header: &str) -> char {
    [';', '\t', ','].into_iter().find(|separator| header.contains(*separator)).unwrap_or(',')
}

/// Splits a line into cells; quotes protect separators.
fn split_cells(line: &str, separator: char) -> Vec<String> {
    let mut quoted = false;
    let is_end = |c: char| {
        quoted ^= c == '"';
        c == separator && !quoted
    };
    line.split(is_end).map(|cell| cell.trim().trim_matches('"').to_owned()).collect()
}

/// The requested metrics and regions of an Extra-P file.
fn read_extrap_file(args: &FitArgs, name: &str, text: &str) -> Result<Vec<MeasurementSeries>, Error> {
    let regions = read_extrap_series(name, text).map_err(|error| Error::Other(error.to_string()))?;
    let mut series = keep_usable(regions.into_iter().map(|region| region.map_err(|refused| Error::Other(refused.to_string()))))?;
    let metrics: Vec<String> = series.iter().map(|series| series.metric.clone()).collect();
    let regions: Vec<String> = series.iter().map(|series| series.region.clone()).collect();
    if let Some(metric) = &args.y {
        series.retain(|series| series.metric == *metric);
        check_selection(name, "metric", metric, &metrics, &series)?;
    }
    for condition in &args.only {
        let Some(("region", region)) = condition.split_once('=') else { usage_error("--where must be region=NAME for an Extra-P file") };
        series.retain(|series| series.region == region);
        check_selection(name, "region", region, &regions, &series)?;
    }
    if let Some(x) = &args.x
        && let Some(other) = series.iter().find(|series| series.measurements.parameters() != x.as_slice())
    {
        let known = other.measurements.parameters().join(",");
        return Err(Error::Other(format!("{name}: Extra-P files are fitted over all their parameters ({known}): leave --x out")));
    }
    if let Some(unit) = &args.unit {
        series.iter_mut().for_each(|series| series.unit = Some(unit.clone()));
    }
    Ok(series)
}

fn check_selection(name: &str, what: &str, requested: &str, known: &[String], left: &[MeasurementSeries]) -> Result<(), Error> {
    if !left.is_empty() {
        return Ok(());
    }
    let mut known = known.to_vec();
    known.sort();
    known.dedup();
    Err(Error::Other(format!("{name}: no {what} `{requested}`; available: {}", known.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_other_values_are_left_out_and_keep_their_numbers() {
        let text = "# units\nop, n [B], t\nsend,1,5\nrecv,1,6\nsend, 2.0,7\n";
        assert_eq!(filter_rows("t", text, "op=send").unwrap(), "# units\nop, n [B], t\nsend,1,5\n\nsend, 2.0,7\n");
        assert_eq!(filter_rows("t", text, "n=2").unwrap(), "# units\nop, n [B], t\n\n\nsend, 2.0,7\n");
        let quoted = "where,n,t\n\"Oslo, north\",1,5\n\"Oslo, south\",2,6\n";
        assert_eq!(filter_rows("t", quoted, "n=2").unwrap(), "where,n,t\n\n\"Oslo, south\",2,6\n");
        assert_eq!(filter_rows("t", quoted, "where=Oslo, north").unwrap(), "where,n,t\n\"Oslo, north\",1,5\n\n");
        let error = filter_rows("t", text, "size=2").unwrap_err().to_string();
        assert!(error.contains("no column `size`"), "{error}");
    }

    #[test]
    fn a_table_is_known_by_its_name_or_its_first_words() {
        let is = |name: &str, text: &str| is_csv(Path::new(name), text);
        assert!(is("a.csv", "PARAMETER") && is("a.txt", "# note\nn,t\n") && !is("a.txt", "\nPARAMETER n\n"));
        assert!(!is("a.jsonl", "") && !is("a", "{\"params\": 1}"));
    }
}
