//! Extra-P's text format: parameters, points, and for each region and metric one line of repetitions per point.

use super::Series;
use super::error::{Problem, Source, TableError};
use crate::measurements::{Measurements, Point};
use std::ops::Range;

/// The lines of data of one region and metric.
struct Region {
    region: String,
    metric: String,
    at: Range<usize>,
    values: Vec<Vec<f64>>,
}

/// Reads all regions and metrics.
pub fn read(source: Source) -> Result<Vec<Series>, TableError> {
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
                    regions.push(Region { region: region.clone(), metric: metric.clone(), at: at.clone(), values: Vec::new() });
                    open = true;
                }
                let values = numbers(&source, rest, "a value")?;
                if let Some(current) = regions.last_mut() {
                    current.values.push(values);
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

fn too_early(source: &Source, at: Range<usize>, what: &'static str, after: &'static str) -> TableError {
    source.error(at, Problem::TooEarly { what, after })
}

fn data_lines(region: &Region, points: &[Vec<f64>]) -> Problem {
    Problem::DataLines { have: region.values.len(), need: points.len(), region: region.region.clone() }
}

fn series(source: &Source, parameters: &[String], points: &[Vec<f64>], region: Region) -> Result<Series, TableError> {
    if region.values.len() != points.len() {
        return Err(source.error(region.at.clone(), data_lines(&region, points)));
    }
    let points = points.iter().zip(region.values).map(|(at, values)| Point { at: at.clone(), values }).collect();
    let measurements = Measurements::new(parameters.to_vec(), points).map_err(|e| source.error(region.at, e.into()))?;
    Ok(Series { region: region.region, metric: region.metric, unit: None, measurements })
}

/// Points in parentheses, or plain numbers.
fn read_points(source: &Source, rest: Range<usize>, parameters: usize) -> Result<Vec<Vec<f64>>, TableError> {
    let text = &source.text[rest.clone()];
    if !text.contains('(') {
        let numbers = numbers(source, rest.clone(), "a point")?;
        if numbers.len() % parameters != 0 {
            return Err(source.error(rest, Problem::Dimensions { have: numbers.len() % parameters, need: parameters }));
        }
        return Ok(numbers.chunks(parameters).map(<[f64]>::to_vec).collect());
    }
    let mut points = Vec::new();
    let mut from = rest.start;
    while let Some(open) = source.text[from..rest.end].find('(') {
        let begin = from + open + 1;
        let end = source.text[begin..rest.end].find(')').map_or(rest.end, |close| begin + close);
        let point = numbers(source, begin..end, "a point")?;
        if point.len() != parameters {
            return Err(source.error(begin..end, Problem::Dimensions { have: point.len(), need: parameters }));
        }
        points.push(point);
        from = (end + 1).min(rest.end);
    }
    Ok(points)
}

/// Positive numbers with blanks between them.
fn numbers(source: &Source, at: Range<usize>, what: &str) -> Result<Vec<f64>, TableError> {
    let mut numbers = Vec::new();
    let mut begin = at.start;
    for word in source.text[at.clone()].split_inclusive(char::is_whitespace) {
        let end = begin + word.len();
        if !word.trim().is_empty() {
            numbers.push(source.positive(begin..end, what)?);
        }
        begin = end;
    }
    if numbers.is_empty() { Err(source.error(at, Problem::Empty)) } else { Ok(numbers) }
}
