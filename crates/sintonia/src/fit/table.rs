//! Formulas from a table.

use std::fs;
use std::path::Path;

use sintonia_fit::table::{Columns, Series, read_csv, read_regions};
use sintonia_model::model::Model;
use sintonia_model::table::Form;

use super::{Arguments, Found};
use crate::error::wrong_usage;
use crate::{Error, text};

/// Reads the table and finds a formula for everything in it that was asked for.
pub fn fit(arguments: &Arguments) -> Result<Vec<Found>, Error> {
    let path = &arguments.inputs[0];
    let name = path.display().to_string();
    let text = fs::read(path).map_err(|source| Error::Other(format!("cannot read {name}: {source}")))?;
    let text = String::from_utf8(text).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::Other(format!("{name} is no table: byte {at} is not of a text; tables are CSV, Extra-P's text, JSON or JSON lines"))
    })?;
    let series = if is_csv(path, &text) { vec![csv(arguments, &name, &text)?] } else { extrap(arguments, &name, &text)? };
    let form = if arguments.pieces { Form::Pieces } else { Form::Scaling };
    if series.is_empty() {
        return Err(Error::Other(format!("{name}: there are no measurements in it")));
    }
    usable(series.iter().map(|series| found(arguments, &name, series, form)))
}

/// What can be used: what cannot is told, unless it is all there is.
fn usable<T>(all: impl IntoIterator<Item = Result<T, Error>>) -> Result<Vec<T>, Error> {
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

fn found(arguments: &Arguments, table: &str, series: &Series, form: Form) -> Result<Found, Error> {
    let mut model = Model::of_series(series, form).map_err(|error| Error::Other(format!("{table}: {error}")))?;
    if let Some(name) = &arguments.name {
        model.name.clone_from(name);
    }
    Ok(Found { of: text::plural(model.points.len() as u64, "measurement"), outside: String::new(), next: None, model })
}

/// Whether it is a table with a header, by its name or else by what it begins with.
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

fn csv(arguments: &Arguments, name: &str, text: &str) -> Result<Series, Error> {
    let (Some(x), Some(y)) = (&arguments.x, &arguments.y) else {
        let (_, columns) = header(text);
        wrong_usage(format!("{name} has the columns {}: name those to fit, as --x n,p --y send", columns.join(", ")));
    };
    let columns = Columns { parameters: x.clone(), value: y.clone(), unit: arguments.unit.clone() };
    let text = arguments.only.iter().try_fold(text.to_owned(), |text, condition| only(name, &text, condition))?;
    read_csv(name, &text, &columns).map_err(|error| Error::Other(error.to_string()))
}

/// The table with only the lines where a column has a value; the others are empty, so that lines keep their numbers.
fn only(name: &str, text: &str, condition: &str) -> Result<String, Error> {
    let (column, value) = condition.split_once('=').unwrap_or_else(|| wrong_usage(format!("--where {condition}: COLUMN=VALUE is needed")));
    let (header, columns) = header(text);
    let named = |cell: &String| cell == column || cell.split(['[', '(']).next().map(str::trim) == Some(column);
    let Some(place) = columns.iter().position(named) else {
        return Err(Error::Other(format!("{name}: no column is called `{column}`; there are {}", columns.join(", "))));
    };
    let same = |cell: &str| cell == value || cell.parse::<f64>().ok().zip(value.parse::<f64>().ok()).is_some_and(|(a, b)| a == b);
    let has_value = |line: &str| cells(line, separator(header)).get(place).is_some_and(|cell| same(cell));
    let is_kept = |line: &str| line == header || !is_data(line) || has_value(line);
    Ok(text.lines().map(|line| if is_kept(line) { format!("{line}\n") } else { "\n".into() }).collect())
}

/// Whether a line is neither empty nor a comment.
fn is_data(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim_start().starts_with('#')
}

/// The header of a table, and its columns.
fn header(text: &str) -> (&str, Vec<String>) {
    let header = text.lines().find(|line| is_data(line)).unwrap_or_default();
    (header, cells(header, separator(header)))
}

/// What stands between the cells of a table with this header.
fn separator(header: &str) -> char {
    [';', '\t', ','].into_iter().find(|separator| header.contains(*separator)).unwrap_or(',')
}

/// The cells of a line; quotation marks hold separators together.
fn cells(line: &str, separator: char) -> Vec<String> {
    let mut quoted = false;
    let is_end = |c: char| {
        quoted ^= c == '"';
        c == separator && !quoted
    };
    line.split(is_end).map(|cell| cell.trim().trim_matches('"').to_owned()).collect()
}

/// The metrics and regions of Extra-P's formats that were asked for.
fn extrap(arguments: &Arguments, name: &str, text: &str) -> Result<Vec<Series>, Error> {
    let regions = read_regions(name, text).map_err(|error| Error::Other(error.to_string()))?;
    let mut series = usable(regions.into_iter().map(|region| region.map_err(|refused| Error::Other(refused.to_string()))))?;
    let metrics: Vec<String> = series.iter().map(|series| series.metric.clone()).collect();
    let regions: Vec<String> = series.iter().map(|series| series.region.clone()).collect();
    if let Some(metric) = &arguments.y {
        series.retain(|series| series.metric == *metric);
        refuse_nothing(name, "metric", metric, &metrics, &series)?;
    }
    for condition in &arguments.only {
        let Some(("region", region)) = condition.split_once('=') else {
            wrong_usage("--where region=NAME chooses a region of an Extra-P file")
        };
        series.retain(|series| series.region == region);
        refuse_nothing(name, "region", region, &regions, &series)?;
    }
    if let Some(x) = &arguments.x
        && let Some(other) = series.iter().find(|series| series.measurements.parameters() != x.as_slice())
    {
        let known = other.measurements.parameters().join(",");
        return Err(Error::Other(format!("{name}: its parameters are {known}, and all of them are fitted over: leave --x out")));
    }
    if let Some(unit) = &arguments.unit {
        series.iter_mut().for_each(|series| series.unit = Some(unit.clone()));
    }
    Ok(series)
}

fn refuse_nothing(name: &str, what: &str, asked: &str, known: &[String], left: &[Series]) -> Result<(), Error> {
    if !left.is_empty() {
        return Ok(());
    }
    let mut known = known.to_vec();
    known.sort();
    known.dedup();
    Err(Error::Other(format!("{name}: no {what} is called `{asked}`; there are {}", known.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_other_values_are_left_out_and_keep_their_numbers() {
        let text = "# units\nop, n [B], t\nsend,1,5\nrecv,1,6\nsend, 2.0,7\n";
        assert_eq!(only("t", text, "op=send").unwrap(), "# units\nop, n [B], t\nsend,1,5\n\nsend, 2.0,7\n");
        assert_eq!(only("t", text, "n=2").unwrap(), "# units\nop, n [B], t\n\n\nsend, 2.0,7\n");
        let quoted = "where,n,t\n\"Oslo, north\",1,5\n\"Oslo, south\",2,6\n";
        assert_eq!(only("t", quoted, "n=2").unwrap(), "where,n,t\n\n\"Oslo, south\",2,6\n");
        assert_eq!(only("t", quoted, "where=Oslo, north").unwrap(), "where,n,t\n\"Oslo, north\",1,5\n\n");
        let error = only("t", text, "size=2").unwrap_err().to_string();
        assert!(error.contains("no column is called `size`"), "{error}");
    }

    #[test]
    fn a_table_is_known_by_its_name_or_its_first_words() {
        let is = |name: &str, text: &str| is_csv(Path::new(name), text);
        assert!(is("a.csv", "PARAMETER") && is("a.txt", "# note\nn,t\n") && !is("a.txt", "\nPARAMETER n\n"));
        assert!(!is("a.jsonl", "") && !is("a", "{\"params\": 1}"));
    }
}
