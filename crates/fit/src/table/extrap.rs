//! Extra-P's text format: parameters, points, and for each region and metric one line of repetitions per point.

use super::error::{Problem, Source, TableError};
use super::{Refused, Series};
use crate::measurements::{Measurements, Point};
use std::ops::Range;

/// The lines of data of one region and metric.
struct Region {
    region: String,
    metric: String,
    at: Range<usize>,
    values: Vec<Vec<f64>>,
    /// The first value that cannot be used.
    bad: Option<TableError>,
}

/// Reads all regions and metrics; a value that cannot be used concerns its own region only.
pub fn read(source: Source) -> Result<Vec<Result<Series, Refused>>, TableError> {
    let mut parameters: Vec<String> = Vec::new();
    let mut points: Vec<Vec<f64>> = Vec::new();
    let mut regions: Vec<Region> = Vec::new();
    let (mut region, mut metric, mut open) = (String::new(), String::new(), false);
    for (at, line) in source.lines() {
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
            "POINTS" if parameters.is_empty() => return Err(too_early(&source, at, "POINTS", "PARAMETER")),
            "POINTS" => points.extend(read_points(&source, rest, parameters.len())?),
            "METRIC" => (metric, open) = (text, false),
            "REGION" => (region, open) = (text, false),
            "DATA" if points.is_empty() => return Err(too_early(&source, at, "DATA", "POINTS")),
            "DATA" => {
                if !open {
                    let (region, metric, at) = (region.clone(), metric.clone(), at.clone());
                    regions.push(Region { region, metric, at, values: Vec::new(), bad: None });
                    open = true;
                }
                let values = numbers(&source, rest)?;
                if let Some(current) = regions.last_mut() {
                    current.add(&source, values);
                    if current.values.len() > points.len() {
                        return Err(source.error(at, data_lines(current, &points)));
                    }
                }
            }
            other => return Err(source.error(at, Problem::UnknownWord(other.to_owned()))),
        }
    }
    if regions.is_empty() {
        return Err(source.whole(Problem::Empty));
    }
    regions.into_iter().map(|region| series(&source, &parameters, &points, region)).collect()
}

impl Region {
    fn add(&mut self, source: &Source, values: Vec<(Range<usize>, f64)>) {
        let unusable = values.iter().find_map(|(at, value)| source.check_positive(at.clone(), *value, "a value").err());
        self.bad = self.bad.take().or(unusable);
        self.values.push(values.into_iter().map(|(_, value)| value).collect());
    }
}

fn too_early(source: &Source, at: Range<usize>, what: &'static str, after: &'static str) -> TableError {
    source.error(at, Problem::TooEarly { what, after })
}

fn data_lines(region: &Region, points: &[Vec<f64>]) -> Problem {
    Problem::DataLines { have: region.values.len(), need: points.len(), region: region.region.clone() }
}

fn series(source: &Source, parameters: &[String], points: &[Vec<f64>], data: Region) -> Result<Result<Series, Refused>, TableError> {
    if data.values.len() != points.len() {
        return Err(source.error(data.at.clone(), data_lines(&data, points)));
    }
    let Region { region, metric, at, values, bad } = data;
    let points = points.iter().zip(values).map(|(at, values)| Point { at: at.clone(), values }).collect();
    let measurements = match bad {
        Some(error) => Err(error),
        None => Measurements::new(parameters.to_vec(), points).map_err(|e| source.error(at, e.into())),
    };
    Ok(match measurements {
        Ok(measurements) => Ok(Series { region, metric, unit: None, measurements }),
        Err(error) => Err(Refused { region, metric, error: Box::new(error) }),
    })
}

/// Points in parentheses, or plain numbers.
fn read_points(source: &Source, rest: Range<usize>, parameters: usize) -> Result<Vec<Vec<f64>>, TableError> {
    if !source.text[rest.clone()].contains('(') {
        let numbers = coordinates(source, rest.clone())?;
        if numbers.len() % parameters != 0 {
            return Err(source.error(rest, Problem::Dimensions { have: numbers.len() % parameters, need: parameters }));
        }
        return Ok(numbers.chunks(parameters).map(<[f64]>::to_vec).collect());
    }
    let mut points = Vec::new();
    let mut from = rest.start;
    while !source.text[from..rest.end].trim().is_empty() {
        let stray = |found: Option<usize>| found.ok_or_else(|| source.error(from..rest.end, Problem::Parentheses));
        let open = stray(source.text[from..rest.end].find('(').filter(|open| source.text[from..from + open].trim().is_empty()))?;
        let begin = from + open + 1;
        let end = begin + stray(source.text[begin..rest.end].find(')'))?;
        let point = coordinates(source, begin..end)?;
        if point.len() != parameters {
            return Err(source.error(begin..end, Problem::Dimensions { have: point.len(), need: parameters }));
        }
        points.push(point);
        from = end + 1;
    }
    Ok(points)
}

/// Positive numbers with blanks between them.
fn coordinates(source: &Source, at: Range<usize>) -> Result<Vec<f64>, TableError> {
    let positive = |(at, value): (Range<usize>, f64)| source.check_positive(at, value, "a point").map(|()| value);
    numbers(source, at)?.into_iter().map(positive).collect()
}

/// Numbers with blanks between them, each with its place.
fn numbers(source: &Source, at: Range<usize>) -> Result<Vec<(Range<usize>, f64)>, TableError> {
    let mut numbers = Vec::new();
    let mut begin = at.start;
    for word in source.text[at.clone()].split_inclusive(char::is_whitespace) {
        let place = begin..begin + word.trim_end().len();
        if !place.is_empty() {
            numbers.push((place.clone(), source.number(place, word)?));
        }
        begin += word.len();
    }
    if numbers.is_empty() { Err(source.error(at, Problem::Empty)) } else { Ok(numbers) }
}
