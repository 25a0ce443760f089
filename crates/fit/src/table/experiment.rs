//! Experiments that Extra-P has saved (`.extra-p`): a ZIP archive with a JSON document, and the single values as numpy arrays if they were
//! kept.
//!
//! Without the single values, the document has only their mean, median, extremes and spread. The mean is used, as Extra-P does by default.

use super::archive::{ArchiveError, little_endian, read_zip_member, slice};
use super::error::{TableError, TableSource};
use super::json::{SeriesCollector, json_error};
use super::npy;
use super::{MeasurementSeries, SeriesError};
use crate::measurements::DataPoint;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The member with the document.
const DOCUMENT: &str = "experiment.json";
const INDEX_MAGIC: &[u8] = b"Extra-P INDEX\0\0\0";

/// A saved experiment; its models and tags are not needed.
#[derive(Deserialize)]
struct SavedExperiment {
    parameters: Vec<String>,
    measurements: BTreeMap<String, BTreeMap<String, Vec<SavedMeasurement>>>,
}

#[derive(Deserialize)]
struct SavedMeasurement {
    coordinate: Vec<SavedNumber>,
    mean: SavedNumber,
    /// The file and the position of the single values.
    #[serde(default)]
    values: Option<(u64, u64)>,
}

/// A number; what JSON cannot express is a text: `inf`, `nan`, `1/3`.
#[derive(Deserialize)]
#[serde(try_from = "NumberText")]
struct SavedNumber(f64);

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberText {
    Number(f64),
    Text(String),
}

impl TryFrom<NumberText> for SavedNumber {
    type Error = String;

    fn try_from(number: NumberText) -> Result<Self, String> {
        let text = match number {
            NumberText::Number(value) => return Ok(Self(value)),
            NumberText::Text(text) => text,
        };
        let parsed = match text.split_once('/') {
            Some((over, under)) => over.parse::<f64>().ok().zip(under.parse::<f64>().ok()).map(|(over, under)| over / under),
            None => text.parse().ok(),
        };
        parsed.map(Self).ok_or_else(|| format!("`{text}` is not a number"))
    }
}

/// Reads a saved experiment.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Vec<Result<MeasurementSeries, SeriesError>>, TableError> {
    let in_file = |problem: ArchiveError| TableError::in_file(name, problem.into());
    let document = read_zip_member(bytes, DOCUMENT).map_err(in_file)?;
    let document =
        document.ok_or_else(|| in_file(ArchiveError::new(0, format!("no {DOCUMENT} in this archive: it is no experiment of Extra-P"))))?;
    let name = format!("{name}: {DOCUMENT}");
    let text = String::from_utf8(document)
        .map_err(|error| TableError::in_file(&name, ArchiveError::new(error.utf8_error().valid_up_to(), "invalid UTF-8").into()))?;
    let source = TableSource { name: &name, text: &text };
    let experiment: SavedExperiment = serde_json::from_str(&text).map_err(|error| json_error(&source, 0, &error))?;
    let mut values = SavedValues { bytes, chunk: None };
    let mut gathered = SeriesCollector::default();
    for (region, metrics) in experiment.measurements {
        for (metric, measured) in metrics {
            for one in measured {
                let at = one.coordinate.iter().map(|number| number.0).collect();
                let values = match one.values {
                    Some((chunk, index)) => values.read(chunk, index).map_err(in_file)?,
                    None => vec![one.mean.0],
                };
                gathered.add(&region, &metric, DataPoint { at, values });
            }
        }
    }
    gathered.finish(&source, &experiment.parameters)
}

/// The single values, in members that are unpacked once.
struct SavedValues<'a> {
    bytes: &'a [u8],
    chunk: Option<ValueChunk>,
}

struct ValueChunk {
    number: u64,
    index: Vec<u8>,
    arrays: Vec<u8>,
}

impl SavedValues<'_> {
    /// The repetitions of one measurement.
    fn read(&mut self, chunk: u64, index: u64) -> Result<Vec<f64>, ArchiveError> {
        if self.chunk.as_ref().is_none_or(|own| own.number != chunk) {
            self.chunk = Some(ValueChunk { number: chunk, index: self.member(chunk, "indx")?, arrays: self.member(chunk, "vals")? });
        }
        let Some(ValueChunk { index: positions, arrays, .. }) = &self.chunk else { return Ok(Vec::new()) };
        if !positions.starts_with(INDEX_MAGIC) {
            return Err(ArchiveError::new(0, format!("values/{chunk}.indx is no index of values")));
        }
        // The number of positions precedes them.
        let entry = usize::try_from(index).ok().and_then(|index| index.checked_add(1)?.checked_mul(8)?.checked_add(INDEX_MAGIC.len()));
        let entry = entry.ok_or_else(|| ArchiveError::new(0, format!("values/{chunk}.indx has no entry {index}")))?;
        let position = little_endian::<8>(positions, entry)?;
        let begin = usize::try_from(position).ok().filter(|begin| *begin <= arrays.len());
        let begin = begin.ok_or_else(|| ArchiveError::new(entry, format!("values/{chunk}.vals ends before byte {position}")))?;
        npy::read_repetitions(slice(arrays, begin, (arrays.len() - begin) as u64)?)
    }

    fn member(&self, chunk: u64, ending: &str) -> Result<Vec<u8>, ArchiveError> {
        let name = format!("values/{chunk}.{ending}");
        read_zip_member(self.bytes, &name)?.ok_or_else(|| ArchiveError::new(0, format!("no {name} in this archive")))
    }
}

#[cfg(test)]
mod tests;
