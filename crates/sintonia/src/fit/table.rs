//! Fits formulas to a table.

use std::fs;

use sintonia_fit::table::{MeasurementSeries, TableColumns, column_names, filter_rows, is_csv, read_csv, read_extrap_series};
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

fn read_csv_series(args: &FitArgs, name: &str, text: &str) -> Result<MeasurementSeries, Error> {
    let (Some(x), Some(y)) = (&args.x, &args.y) else {
        let columns = column_names(text).join(", ");
        usage_error(format!("{name} has the columns {columns}: choose with --x and --y, for example --x n,p --y send"));
    };
    let columns = TableColumns { parameters: x.clone(), value: y.clone(), unit: args.unit.clone() };
    let text = args.only.iter().try_fold(text.to_owned(), |text, condition| only_rows(name, &text, condition))?;
    read_csv(name, &text, &columns).map_err(|error| Error::Other(error.to_string()))
}

/// The rows that fulfil a condition.
fn only_rows(name: &str, text: &str, condition: &str) -> Result<String, Error> {
    let (column, value) = condition.split_once('=').unwrap_or_else(|| usage_error(format!("--where {condition}: expected COLUMN=VALUE")));
    filter_rows(name, text, column, value).map_err(|error| Error::Other(error.to_string()))
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
