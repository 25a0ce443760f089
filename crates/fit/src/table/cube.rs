//! Sets of Cube files (`.cubex`), the profiles of Score-P and Scalasca: one file per run, in folders named by the parameters, as Extra-P
//! expects.
//!
//! The value of a call path in a run is its own (exclusive) value, the mean over all threads. A call path that some settings lack is added to
//! the closest caller that all have, so that values still add up.

mod anchor;
mod folder_name;
mod profile;

use super::error::{TableError, TableProblem};
use super::unit::MeasurementUnit;
use super::{MeasurementSeries, SeriesError};
use crate::measurements::{DataPoint, Measurements};
use folder_name::parse_folder_name;
use profile::{CALL_SEPARATOR, CallPathValues, read_profile};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The metric that is read unless another is asked for.
pub const DEFAULT_METRIC: &str = "time";

const EXTENSION: &str = "cubex";

/// Whether it is a folder whose subfolders have Cube files.
pub fn is_cube_folder(path: &Path) -> bool {
    path.is_dir() && !files_below(path).is_empty()
}

/// Whether all of these are Cube files.
pub fn are_cube_files(paths: &[PathBuf]) -> bool {
    !paths.is_empty() && paths.iter().all(|path| is_cube_file(path))
}

/// The Cube files of a folder, or these Cube files.
pub fn list_cube_files(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().flat_map(|path| if path.is_dir() { files_below(path) } else { vec![path.clone()] }).collect()
}

fn is_cube_file(path: &Path) -> bool {
    let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    path.extension().is_some_and(|extension| extension == EXTENSION) && !is_hidden && path.is_file()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries(folder).flat_map(|below| entries(&below)).filter(|path| is_cube_file(path)).collect();
    files.sort();
    files
}

/// The runs with the same parameters.
type Repetitions = Vec<CallPathValues>;

/// Reads a metric of Cube files, with one series for each call path.
pub fn read_cube_files(files: &[PathBuf], metric: &str) -> Result<Vec<Result<MeasurementSeries, SeriesError>>, TableError> {
    let (parameters, settings) = parameters_of(files)?;
    let mut runs: Vec<(Vec<f64>, Repetitions)> = Vec::new();
    let mut unit = MeasurementUnit::from_name("");
    for (file, at) in files.iter().zip(settings) {
        let name = file.display().to_string();
        let bytes = std::fs::read(file).map_err(|error| TableError::in_file(&name, TableProblem::Unreadable(error.to_string())))?;
        let profile = read_profile(&name, bytes, metric)?;
        unit = MeasurementUnit::from_name(&profile.unit);
        match runs.iter_mut().find(|(other, _)| *other == at) {
            Some((_, repetitions)) => repetitions.push(profile.values),
            None => runs.push((at, vec![profile.values])),
        }
    }
    merge_rare_call_paths(&mut runs);
    let paths: BTreeSet<String> = runs.iter().flat_map(|(_, runs)| runs).flat_map(|run| run.keys().cloned()).collect();
    let unit_name = Some(unit.name.clone()).filter(|name| !name.is_empty());
    let series = |region: String| {
        let values = |runs: &Repetitions| runs.iter().filter_map(|run| Some(unit.factor * run.get(&region)?)).collect();
        let points = runs.iter().map(|(at, runs)| DataPoint { at: at.clone(), values: values(runs) }).collect();
        match Measurements::new(parameters.clone(), points) {
            Ok(measurements) => Ok(MeasurementSeries::new(region, metric.to_owned(), unit_name.clone(), measurements)),
            Err(error) => {
                let error = Box::new(TableError::in_file("the Cube files", error.into()));
                Err(SeriesError { region, metric: metric.to_owned(), error })
            }
        }
    };
    Ok(paths.into_iter().map(series).collect())
}

/// The parameters that vary, and their values for each file, from the names of its folder.
fn parameters_of(files: &[PathBuf]) -> Result<(Vec<String>, Vec<Vec<f64>>), TableError> {
    let mut names: Vec<String> = Vec::new();
    let mut settings: Vec<Vec<f64>> = Vec::new();
    for file in files {
        let wrong = |problem: String| TableError::in_file(&file.display().to_string(), TableProblem::FolderName(problem));
        let folder = std::path::absolute(file).ok().and_then(|file| Some(file.parent()?.file_name()?.to_string_lossy().into_owned()));
        let folder = folder.unwrap_or_default();
        let found = parse_folder_name(&folder)
            .ok_or_else(|| wrong(format!("the folder `{folder}` does not say the parameters: name it like mm.n1000p16.r1")))?;
        let (own, values): (Vec<String>, Vec<f64>) = found.into_iter().unzip();
        if settings.is_empty() {
            names = own;
        } else if own != names {
            let first = names.join(", ");
            return Err(wrong(format!("the folder `{folder}` has the parameters {}, but others have {first}", own.join(", "))));
        }
        settings.push(values);
    }
    let varies = |index: &usize| settings.iter().any(|values| values[*index] != settings[0][*index]);
    let varying: Vec<usize> = (0..names.len()).filter(varies).collect();
    if varying.is_empty() {
        let name = files.first().map(|file| file.display().to_string()).unwrap_or_default();
        let what = "all Cube files have the same parameters, so there is nothing to fit over".to_owned();
        return Err(TableError::in_file(&name, TableProblem::FolderName(what)));
    }
    let pick = |values: &Vec<f64>| varying.iter().map(|index| values[*index]).collect();
    Ok((varying.iter().map(|index| names[*index].clone()).collect(), settings.iter().map(pick).collect()))
}

/// Adds call paths that a setting lacks to their closest caller that all settings have.
fn merge_rare_call_paths(runs: &mut [(Vec<f64>, Repetitions)]) {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for (_, repetitions) in runs.iter() {
        let present: BTreeSet<&String> = repetitions.iter().flat_map(BTreeMap::keys).collect();
        present.into_iter().for_each(|path| *count.entry(path.clone()).or_default() += 1);
    }
    let settings = runs.len();
    let is_common = |path: &str| count.get(path) == Some(&settings);
    for run in runs.iter_mut().flat_map(|(_, repetitions)| repetitions) {
        let rare: Vec<String> = run.keys().filter(|path| !is_common(path)).cloned().collect();
        for path in rare {
            let value = run.remove(&path).unwrap_or(0.0);
            let callers = std::iter::successors(path.rsplit_once(CALL_SEPARATOR), |(caller, _)| caller.rsplit_once(CALL_SEPARATOR));
            if let Some((caller, _)) = callers.into_iter().find(|(caller, _)| is_common(caller)) {
                *run.entry(caller.to_owned()).or_default() += value;
            }
        }
    }
}

#[cfg(test)]
mod tests;
