//! Extra-P's text format: parameters, points, and for each region and metric one line of repetitions per point.

use super::error::{TableError, TableProblem, TableSource};
use super::{MeasurementSeries, SeriesError};
use crate::measurements::{DataPoint, Measurements};
use std::ops::Range;

/// The data lines of one region and metric.
struct RegionData {
    region: String,
    metric: String,
    span: Range<usize>,
    values: Vec<Vec<f64>>,
    /// The first unusable value.
    error: Option<TableError>,
}

/// Reads all regions and metrics; an unusable value affects only its own region.
pub(super) fn read(source: TableSource) -> Result<Vec<Result<MeasurementSeries, SeriesError>>, TableError> {
    let mut parameters: Vec<String> = Vec::new();
    let mut points: Vec<Vec<f64>> = Vec::new();
    let mut regions: Vec<RegionData> = Vec::new();
    let (mut region, mut metric, mut open) = (String::new(), String::new(), false);
    for (number, (at, line)) in source.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let word = trimmed.split_whitespace().next().unwrap_or_default();
        let begin = at.start + (line.len() - line.trim_start().len()) + word.len();
        let rest = begin..at.end;
        let text = source.text[rest.clone()].trim().to_owned();
        match word {
            "PARAMETER" => parameters.extend(text.split_whitespace().map(str::to_owned)),
            "POINTS" if parameters.is_empty() => return Err(out_of_order(&source, at, "POINTS", "PARAMETER")),
            "POINTS" => points.extend(read_points(&source, rest, parameters.len())?),
            "METRIC" => (metric, open) = (text, false),
            "REGION" => (region, open) = (text, false),
            "DATA" if points.is_empty() => return Err(out_of_order(&source, at, "DATA", "POINTS")),
            "DATA" => {
                if !open {
                    let (region, metric, at) = (region.clone(), metric.clone(), at.clone());
                    regions.push(RegionData { region, metric, span: at, values: Vec::new(), error: None });
                    open = true;
                }
                let values = parse_numbers(&source, rest)?;
                if let Some(current) = regions.last_mut() {
                    current.add(&source, number, values);
                    if current.values.len() > points.len() {
                        return Err(source.error_at(at, data_line_mismatch(current, &points)));
                    }
                }
            }
            other => return Err(source.error_at(at, TableProblem::UnknownKeyword(other.to_owned()))),
        }
    }
    if regions.is_empty() {
        return Err(source.error_in_table(TableProblem::Empty));
    }
    regions.into_iter().map(|region| build_series(&source, &parameters, &points, region)).collect()
}

impl RegionData {
    fn add(&mut self, source: &TableSource, line: usize, values: Vec<(Range<usize>, f64)>) {
        let problem = values.iter().find_map(|(at, value)| source.positive_problem(at.clone(), *value, "a value"));
        self.error = self.error.take().or_else(|| Some(source.error_in_line(line, problem?)));
        self.values.push(values.into_iter().map(|(_, value)| value).collect());
    }
}

fn out_of_order(source: &TableSource, at: Range<usize>, what: &'static str, after: &'static str) -> TableError {
    source.error_at(at, TableProblem::OutOfOrder { what, after })
}

fn data_line_mismatch(region: &RegionData, points: &[Vec<f64>]) -> TableProblem {
    TableProblem::DataLines { have: region.values.len(), need: points.len(), region: region.region.clone() }
}

fn build_series(
    source: &TableSource,
    parameters: &[String],
    points: &[Vec<f64>],
    data: RegionData,
) -> Result<Result<MeasurementSeries, SeriesError>, TableError> {
    if data.values.len() != points.len() {
        return Err(source.error_at(data.span.clone(), data_line_mismatch(&data, points)));
    }
    let RegionData { region, metric, span: at, values, error: bad } = data;
    let points = points.iter().zip(values).map(|(at, values)| DataPoint { at: at.clone(), values }).collect();
    let measurements = match bad {
        Some(error) => Err(error),
        None => Measurements::new(parameters.to_vec(), points).map_err(|e| source.error_at(at, e.into())),
    };
    Ok(match measurements {
        Ok(measurements) => Ok(MeasurementSeries::new(region, metric, None, measurements)),
        Err(error) => Err(SeriesError { region, metric, error: Box::new(error) }),
    })
}

/// Points in parentheses, or plain numbers.
fn read_points(source: &TableSource, rest: Range<usize>, parameters: usize) -> Result<Vec<Vec<f64>>, TableError> {
    if !source.text[rest.clone()].contains('(') {
        let numbers = parse_coordinates(source, rest.clone())?;
        if numbers.len() % parameters != 0 {
            return Err(source.error_at(rest, TableProblem::Dimensions { have: numbers.len() % parameters, need: parameters }));
        }
        return Ok(numbers.chunks(parameters).map(<[f64]>::to_vec).collect());
    }
    let mut points = Vec::new();
    let mut from = rest.start;
    while !source.text[from..rest.end].trim().is_empty() {
        let stray = |found: Option<usize>| found.ok_or_else(|| source.error_at(from..rest.end, TableProblem::BadParentheses));
        let open = stray(source.text[from..rest.end].find('(').filter(|open| source.text[from..from + open].trim().is_empty()))?;
        let begin = from + open + 1;
        let end = begin + stray(source.text[begin..rest.end].find(')'))?;
        let point = parse_coordinates(source, begin..end)?;
        if point.len() != parameters {
            return Err(source.error_at(begin..end, TableProblem::Dimensions { have: point.len(), need: parameters }));
        }
        points.push(point);
        from = end + 1;
    }
    Ok(points)
}

/// Positive numbers separated by blanks.
fn parse_coordinates(source: &TableSource, at: Range<usize>) -> Result<Vec<f64>, TableError> {
    let positive = |(at, value): (Range<usize>, f64)| source.check_positive(at, value, "a point").map(|()| value);
    parse_numbers(source, at)?.into_iter().map(positive).collect()
}

/// Numbers separated by blanks, each with its byte range.
fn parse_numbers(source: &TableSource, at: Range<usize>) -> Result<Vec<(Range<usize>, f64)>, TableError> {
    let mut numbers = Vec::new();
    let mut begin = at.start;
    for word in source.text[at.clone()].split_inclusive(char::is_whitespace) {
        let span = begin..begin + word.trim_end().len();
        if !span.is_empty() {
            numbers.push((span.clone(), source.parse_number(span, word)?));
        }
        begin += word.len();
    }
    if numbers.is_empty() { Err(source.error_at(at, TableProblem::Empty)) } else { Ok(numbers) }
}
