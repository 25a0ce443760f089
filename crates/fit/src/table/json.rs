//! JSON: Extra-P's two document formats, JSON lines with one measurement each, and Talpas, which is JSON lines with semicolons.

use super::error::{TableError, TableProblem, TableSource};
use super::{MeasurementSeries, SeriesError};
use crate::measurements::{DataPoint, Measurements};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// The document format of Extra-P 4.
#[derive(Deserialize)]
struct ExtrapDocument {
    parameters: Vec<String>,
    measurements: BTreeMap<String, BTreeMap<String, Vec<ExtrapPoint>>>,
}

#[derive(Deserialize)]
struct ExtrapPoint {
    #[serde(deserialize_with = "one_or_more")]
    point: Vec<f64>,
    #[serde(deserialize_with = "one_or_more")]
    values: Vec<f64>,
}

/// The document format of Extra-P 3: measurements refer to everything by id.
#[derive(Deserialize)]
struct ExtrapIdDocument {
    parameters: Vec<ExtrapName>,
    callpaths: Vec<ExtrapName>,
    metrics: Vec<ExtrapName>,
    coordinates: Vec<ExtrapCoordinate>,
    measurements: Vec<ExtrapMeasurement>,
}

#[derive(Deserialize)]
struct ExtrapName {
    id: u64,
    name: String,
}

#[derive(Deserialize)]
struct ExtrapCoordinate {
    id: u64,
    parameter_value_pairs: Vec<ParameterValuePair>,
}

#[derive(Deserialize)]
struct ParameterValuePair {
    parameter_id: u64,
    #[serde(deserialize_with = "number_or_text")]
    parameter_value: f64,
}

#[derive(Deserialize)]
struct ExtrapMeasurement {
    coordinate_id: u64,
    callpath_id: u64,
    metric_id: u64,
    #[serde(deserialize_with = "number_or_text")]
    value: f64,
}

/// One line of the JSON lines format.
#[derive(Deserialize)]
struct JsonLine {
    params: BTreeMap<String, f64>,
    #[serde(default)]
    callpath: String,
    #[serde(default)]
    metric: String,
    #[serde(deserialize_with = "one_or_more")]
    value: Vec<f64>,
}

/// One line of the Talpas format.
#[derive(Deserialize)]
struct TalpasLine {
    parameters: BTreeMap<String, f64>,
    callpath: String,
    metric: String,
    value: f64,
}

/// What reveals the Talpas format: the parameters are an object.
#[derive(Deserialize)]
struct TalpasProbe {
    #[serde(rename = "parameters")]
    _parameters: BTreeMap<String, IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(f64),
    More(Vec<f64>),
}

fn one_or_more<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    Ok(match OneOrMore::deserialize(deserializer)? {
        OneOrMore::One(value) => vec![value],
        OneOrMore::More(values) => values,
    })
}

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(f64),
    Text(String),
}

fn number_or_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    match NumberOrText::deserialize(deserializer)? {
        NumberOrText::Number(value) => Ok(value),
        NumberOrText::Text(text) => text.trim().parse().map_err(|_| serde::de::Error::custom(format!("`{text}` is not a number"))),
    }
}

/// The keys that reveal the format, from the first value of the text.
#[derive(Deserialize)]
struct FormatProbe {
    params: Option<IgnoredAny>,
    callpaths: Option<IgnoredAny>,
}

/// Reads an Extra-P document, JSON lines or Talpas.
pub(super) fn read(source: TableSource) -> Result<Vec<Result<MeasurementSeries, SeriesError>>, TableError> {
    let first_line = source.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if serde_json::from_str::<TalpasProbe>(&with_commas(first_line)).is_ok() {
        return read_measurement_lines(source, |line| {
            let TalpasLine { parameters, callpath, metric, value } = serde_json::from_str(&with_commas(line))?;
            Ok(JsonLine { params: parameters, callpath, metric, value: vec![value] })
        });
    }
    let first = serde_json::Deserializer::from_str(source.text).into_iter::<FormatProbe>().next();
    match first.and_then(Result::ok) {
        Some(FormatProbe { params: Some(_), .. }) => read_measurement_lines(source, |line| serde_json::from_str(line)),
        Some(FormatProbe { callpaths: Some(_), .. }) => {
            read_id_document(&source, serde_json::from_str(source.text).map_err(|e| json_error(&source, 0, &e))?)
        }
        _ => read_document(source),
    }
}

/// Reads a document of Extra-P 4.
fn read_document(source: TableSource) -> Result<Vec<Result<MeasurementSeries, SeriesError>>, TableError> {
    let document: ExtrapDocument = serde_json::from_str(source.text).map_err(|e| json_error(&source, 0, &e))?;
    let mut gathered = SeriesCollector::default();
    for (region, metrics) in document.measurements {
        for (metric, measured) in metrics {
            for point in measured {
                gathered.add(&region, &metric, DataPoint { at: point.point, values: point.values });
            }
        }
    }
    gathered.finish(&source, &document.parameters)
}

fn read_id_document(
    source: &TableSource,
    mut document: ExtrapIdDocument,
) -> Result<Vec<Result<MeasurementSeries, SeriesError>>, TableError> {
    document.parameters.sort_by_key(|p| p.id);
    let unknown = |what: &str, id: u64| {
        source.error_in_table(TableProblem::Json(format!("a measurement refers to {what} {id}, which does not exist")))
    };
    let mut points: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for coordinate in document.coordinates {
        let value = |id: u64| coordinate.parameter_value_pairs.iter().find(|p| p.parameter_id == id).map(|p| p.parameter_value);
        let at = document.parameters.iter().map(|p| value(p.id).ok_or_else(|| unknown("a value of parameter", p.id)));
        points.insert(coordinate.id, at.collect::<Result<_, _>>()?);
    }
    let names = |list: Vec<ExtrapName>| list.into_iter().map(|n| (n.id, n.name)).collect::<BTreeMap<_, _>>();
    let (regions, metrics) = (names(document.callpaths), names(document.metrics));
    let mut gathered = SeriesCollector::default();
    for value in document.measurements {
        let at = points.get(&value.coordinate_id).ok_or_else(|| unknown("coordinate", value.coordinate_id))?;
        let region = regions.get(&value.callpath_id).ok_or_else(|| unknown("callpath", value.callpath_id))?;
        let metric = metrics.get(&value.metric_id).ok_or_else(|| unknown("metric", value.metric_id))?;
        gathered.add(region, metric, DataPoint { at: at.clone(), values: vec![value.value] });
    }
    gathered.finish(source, &document.parameters.into_iter().map(|p| p.name).collect::<Vec<_>>())
}

/// A line of Talpas as JSON: the semicolons outside of names are commas.
fn with_commas(line: &str) -> String {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let comma = |letter: char| {
        is_quoted ^= letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        if letter == ';' && !is_quoted { ',' } else { letter }
    };
    line.chars().map(comma).collect()
}

/// Reads lines with one measurement each.
fn read_measurement_lines(
    source: TableSource,
    parse: impl Fn(&str) -> serde_json::Result<JsonLine>,
) -> Result<Vec<Result<MeasurementSeries, SeriesError>>, TableError> {
    let mut parameters: Option<Vec<String>> = None;
    let mut gathered = SeriesCollector::default();
    for (number, (at, text)) in source.lines().enumerate().filter(|(_, (_, text))| !text.trim().is_empty()) {
        let line = parse(text).map_err(|e| json_error(&source, number, &e))?;
        let names = parameters.get_or_insert_with(|| line.params.keys().cloned().collect());
        if !names.iter().eq(line.params.keys()) {
            let problem = TableProblem::OtherParameters { have: line.params.into_keys().collect(), need: names.clone() };
            return Err(source.error_in_line(number, problem));
        }
        let mut numbers = line.params.values().chain(&line.value);
        if let Some(problem) = numbers.find_map(|v| source.positive_problem(at.clone(), *v, "a number")) {
            gathered.reject(&line.callpath, &line.metric, source.error_in_line(number, problem));
        }
        gathered.add(&line.callpath, &line.metric, DataPoint { at: line.params.into_values().collect(), values: line.value });
    }
    gathered.finish(&source, &parameters.unwrap_or_default())
}

/// Converts an error of the JSON parser, with its position.
pub(super) fn json_error(source: &TableSource, lines_before: usize, error: &serde_json::Error) -> TableError {
    let line = lines_before + error.line();
    let said = error.to_string();
    let said = format!("{} (column {})", said.split(" at line ").next().unwrap_or_default(), error.column());
    match source.lines().nth(line.saturating_sub(1)) {
        Some((at, _)) => {
            let begin = (at.start + error.column().saturating_sub(1)).min(at.end);
            source.error_at(begin..begin, TableProblem::Json(said))
        }
        None => source.error_in_table(TableProblem::Json(said)),
    }
}

/// Points by region and metric, with the first error of each.
#[derive(Default)]
pub(super) struct SeriesCollector(BTreeMap<(String, String), (Vec<DataPoint>, Option<TableError>)>);

impl SeriesCollector {
    pub(super) fn add(&mut self, region: &str, metric: &str, point: DataPoint) {
        self.0.entry((region.to_owned(), metric.to_owned())).or_default().0.push(point);
    }

    fn reject(&mut self, region: &str, metric: &str, error: TableError) {
        self.0.entry((region.to_owned(), metric.to_owned())).or_default().1.get_or_insert(error);
    }

    pub(super) fn finish(
        self,
        source: &TableSource,
        parameters: &[String],
    ) -> Result<Vec<Result<MeasurementSeries, SeriesError>>, TableError> {
        if self.0.is_empty() {
            return Err(source.error_in_table(TableProblem::Empty));
        }
        let measurements = |points, bad: Option<TableError>| match bad {
            Some(error) => Err(error),
            None => Measurements::new(parameters.to_vec(), points).map_err(|e| source.error_in_table(e.into())),
        };
        let series = |((region, metric), (points, bad))| match measurements(points, bad) {
            Ok(measurements) => Ok(MeasurementSeries::new(region, metric, None, measurements)),
            Err(error) => Err(SeriesError { region, metric, error: Box::new(error) }),
        };
        Ok(self.0.into_iter().map(series).collect())
    }
}
