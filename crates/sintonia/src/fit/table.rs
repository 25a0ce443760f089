//! Fits formulas to a table.

use std::fs;

use sintonia_fit::quantity_kind::QuantityKind;
use sintonia_fit::table::{
    MeasurementSeries, SeriesError, TableColumns, TableError, column_names, cube, filter_rows, is_csv, is_experiment, read_csv,
    read_experiment, read_extrap_series,
};
use sintonia_model::model::PerformanceModel;

use super::{FitArgs, FitResult};
use crate::error::usage_error;
use crate::{Error, text};

/// Reads the table and fits a formula to each requested series.
pub(super) fn fit_table(args: &FitArgs) -> Result<Vec<FitResult>, Error> {
    let name = args.inputs[0].display().to_string();
    let series = read_table(args, &name)?;
    if series.is_empty() {
        return Err(Error::Other(format!("{name}: no measurements")));
    }
    let form = args.curve_form();
    let models = PerformanceModel::from_all_series(&series, &form).into_iter().zip(&series);
    let many = series.len() > 1;
    if many && args.name.is_some() {
        usage_error(format!("--name is for one model, but there are {} series: select one with --y and --where", series.len()));
    }
    keep_usable(models.map(|(model, series)| {
        let about = if many { format!("{name}: {}", series_name(series)) } else { name.clone() };
        let model = model.map_err(|error| Error::Other(format!("{about}: {error}")))?;
        let model = PerformanceModel { name: args.name.clone().unwrap_or(model.name), ..model };
        let measured = text::format_plural(model.points.len() as u64, "measurement");
        Ok(FitResult::new(model, measured, &form))
    }))
}

fn series_name(series: &MeasurementSeries) -> String {
    match (series.region.as_str(), series.metric.as_str()) {
        ("", name) | (name, "") => format!("`{name}`"),
        (region, metric) => format!("`{metric}` of `{region}`"),
    }
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

/// The requested series of a table of any format.
fn read_table(args: &FitArgs, name: &str) -> Result<Vec<MeasurementSeries>, Error> {
    let kinds = parse_kinds(&args.kind);
    let path = &args.inputs[0];
    if path.is_dir() || cube::are_cube_files(&args.inputs) {
        let metric = args.y.as_deref().unwrap_or(cube::DEFAULT_METRIC);
        return select_series(args, name, cube::read_cube_files(&cube::list_cube_files(&args.inputs), metric), &kinds);
    }
    let bytes = fs::read(path).map_err(|source| Error::Other(format!("cannot read {name}: {source}")))?;
    if is_experiment(&bytes) {
        return select_series(args, name, read_experiment(name, &bytes), &kinds);
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let formats = "tables are CSV, Extra-P's text, JSON, JSON lines or .extra-p, or Cube files";
        Error::Other(format!("{name} is not a table: invalid UTF-8 at byte {at}; {formats}"))
    })?;
    match is_csv(path, &text) {
        true => Ok(vec![read_csv_series(args, name, &text, kinds)?]),
        false => select_series(args, name, read_extrap_series(name, &text), &kinds),
    }
}

/// The kinds of columns, by name.
fn parse_kinds(given: &[String]) -> Vec<(String, QuantityKind)> {
    let known = QuantityKind::ALL.map(|(word, _)| word).join(", ");
    let parse = |text: &String| {
        let (name, word) =
            text.split_once('=').unwrap_or_else(|| usage_error(format!("--kind {text}: expected NAME=KIND, such as n=size")));
        let kind = QuantityKind::from_word(word.trim());
        let unknown = || -> QuantityKind { usage_error(format!("--kind {text}: `{}` is none of {known}", word.trim())) };
        (name.trim().to_owned(), kind.unwrap_or_else(unknown))
    };
    given.iter().map(parse).collect()
}

/// Every kind is that of a parameter or of the measured value, and can be.
fn check_kinds(kinds: &[(String, QuantityKind)], parameters: &[String], metrics: &[String]) {
    for (name, kind) in kinds {
        let is_parameter = parameters.contains(name);
        if !is_parameter && !metrics.contains(name) {
            usage_error(format!("--kind {name}={}: no parameter or measured column `{name}`", kind.word()));
        }
        if !is_parameter && !kind.is_measurable() {
            usage_error(format!("--kind {name}={}: a measured value is time, bytes or count", kind.word()));
        }
    }
}

fn read_csv_series(args: &FitArgs, name: &str, text: &str, kinds: Vec<(String, QuantityKind)>) -> Result<MeasurementSeries, Error> {
    let (Some(x), Some(y)) = (&args.x, &args.y) else {
        let columns = column_names(text).join(", ");
        usage_error(format!("{name} has the columns {columns}: choose with --x and --y, for example --x n,p --y send"));
    };
    check_kinds(&kinds, x, std::slice::from_ref(y));
    let columns = TableColumns { parameters: x.clone(), value: y.clone(), unit: args.unit.clone(), kinds };
    let text = args.only.iter().try_fold(text.to_owned(), |text, condition| only_rows(name, &text, condition))?;
    read_csv(name, &text, &columns).map_err(|error| Error::Other(error.to_string()))
}

/// The rows that fulfil a condition.
fn only_rows(name: &str, text: &str, condition: &str) -> Result<String, Error> {
    let (column, value) = condition.split_once('=').unwrap_or_else(|| usage_error(format!("--where {condition}: expected COLUMN=VALUE")));
    filter_rows(name, text, column, value).map_err(|error| Error::Other(error.to_string()))
}

/// The series of a file.
type ReadSeries = Result<Vec<Result<MeasurementSeries, SeriesError>>, TableError>;

/// The requested metrics and regions of a file that has several.
fn select_series(args: &FitArgs, name: &str, read: ReadSeries, kinds: &[(String, QuantityKind)]) -> Result<Vec<MeasurementSeries>, Error> {
    let other = |error: &dyn std::fmt::Display| Error::Other(error.to_string());
    let regions = read.map_err(|error| other(&error))?;
    let mut series = keep_usable(regions.into_iter().map(|region| region.map_err(|refused| other(&refused))))?;
    let metrics: Vec<String> = series.iter().map(|series| series.metric.clone()).collect();
    let regions: Vec<String> = series.iter().map(|series| series.region.clone()).collect();
    if let Some(metric) = &args.y {
        series.retain(|series| series.metric == *metric);
        check_selection(name, "metric", metric, &metrics, &series)?;
    }
    for condition in &args.only {
        let Some(("region", region)) = condition.split_once('=') else {
            usage_error(format!("--where {condition}: expected region=NAME, since {name} has no columns"));
        };
        series.retain(|series| series.region == region);
        check_selection(name, "region", region, &regions, &series)?;
    }
    if let Some(x) = &args.x
        && let Some(differing) = series.iter().find(|series| series.measurements.parameters() != x.as_slice())
    {
        let known = differing.measurements.parameters().join(",");
        return Err(Error::Other(format!("{name} is fitted over all its parameters ({known}): leave --x out")));
    }
    let parameters: Vec<String> = series.iter().flat_map(|series| series.measurements.parameters().to_vec()).collect();
    check_kinds(kinds, &parameters, &metrics);
    let finish = |series: MeasurementSeries| {
        let series = match (&args.unit, &series.unit) {
            (Some(given), Some(own)) => {
                let about = series_name(&series);
                return Err(Error::Other(format!("{name} gives {about} the unit {own}, so it cannot be `{given}`: leave --unit out")));
            }
            (Some(given), None) => series.in_unit(given).map_err(|error| other(&error))?,
            (None, _) => series,
        };
        Ok(series.with_named_kinds(kinds))
    };
    series.into_iter().map(finish).collect()
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
