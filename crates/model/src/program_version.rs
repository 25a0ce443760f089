//! Whether runs are of one build of a program, with one MPI library and as many threads: what no parameter says must be the same in all runs.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_recording::Recording;
use sintonia_recording::header::{CallSiteDefinition, RecordingHeader};

use crate::run::{MeasuredRun, RunError};

/// The build of a program and its surroundings, as a recording shows them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProgramVersion {
    /// Name and version of the MPI library.
    library: String,
    /// Most threads of a rank that computed in OpenMP regions; 1 without OpenMP.
    threads: usize,
    /// The offsets of each source location, by executable file: another build has others.
    offsets: BTreeMap<String, BTreeMap<String, BTreeSet<u64>>>,
}

impl ProgramVersion {
    /// The version of a recorded program.
    pub(crate) fn from_recording(recording: &Recording) -> Result<ProgramVersion, RunError> {
        let mut threads = 1;
        for rank in &recording.header.ranks {
            let teams = recording.openmp_regions(rank.rank)?.into_iter().map(|region| region.threads.len());
            threads = threads.max(teams.max().unwrap_or(0));
        }
        Ok(ProgramVersion { threads, ..ProgramVersion::from_header(&recording.header) })
    }

    fn from_header(header: &RecordingHeader) -> ProgramVersion {
        let mut offsets: BTreeMap<String, BTreeMap<String, BTreeSet<u64>>> = BTreeMap::new();
        for site in &header.sites {
            if let Some(location) = source_location(site) {
                offsets.entry(site.module.clone()).or_default().entry(location).or_default().insert(site.offset);
            }
        }
        ProgramVersion { library: header.mpi.library.clone(), threads: 1, offsets }
    }

    /// The executable file of which another one is a different build: most source locations of both have no offset in common.
    fn rebuilt_file(&self, other: &ProgramVersion) -> Option<&str> {
        let is_rebuilt = |(file, own): &(&String, &BTreeMap<String, BTreeSet<u64>>)| {
            let Some(others) = other.offsets.get(*file) else { return false };
            let both: Vec<bool> = own.iter().filter_map(|(location, own)| Some(own.is_disjoint(others.get(location)?))).collect();
            2 * both.iter().filter(|differs| **differs).count() > both.len()
        };
        self.offsets.iter().find(is_rebuilt).map(|(file, _)| file.as_str())
    }
}

/// A source location as text; `None` if it is not known.
fn source_location(site: &CallSiteDefinition) -> Option<String> {
    let frame = site.frames.first()?;
    let known = frame.function.is_some() || frame.file.is_some();
    known.then(|| {
        let [function, file] = [&frame.function, &frame.file].map(|text| text.as_deref().unwrap_or_default());
        format!("{function} {file}:{}", frame.line.unwrap_or(0))
    })
}

/// For each run, how it differs from most others; `None` if it does not.
pub(crate) fn find_different(runs: &[(MeasuredRun, ProgramVersion)]) -> Vec<Option<String>> {
    let library = most_common(runs.iter().map(|(_, version)| version.library.as_str()));
    let threads = most_common(runs.iter().map(|(_, version)| version.threads)).filter(|_| !is_parameter_threads(runs));
    // The build that most runs agree with, of equal ones the first.
    let agreeing = |version: &ProgramVersion| runs.iter().filter(|(_, other)| version.rebuilt_file(other).is_none()).count();
    let build = runs.iter().rev().map(|(_, version)| version).max_by_key(|version| agreeing(version));
    let differs = |version: &ProgramVersion| {
        if let Some(common) = library.filter(|common| *common != version.library) {
            return Some(format!("it ran with {}, most others with {common}", version.library));
        }
        if let Some(common) = threads.filter(|common| *common != version.threads) {
            return Some(format!("its ranks had {} OpenMP threads, those of most others {common}", version.threads));
        }
        let file = build?.rebuilt_file(version)?;
        Some(format!("{file} was another build than in most others"))
    };
    runs.iter().map(|(_, version)| differs(version)).collect()
}

/// The most common value, of equally common ones the first.
fn most_common<T: PartialEq + Copy>(values: impl Iterator<Item = T> + Clone) -> Option<T> {
    let count = |value: T| values.clone().filter(|other| *other == value).count();
    let most = values.clone().map(count).max()?;
    values.clone().find(|value| count(*value) == most)
}

/// Whether a parameter of the runs is the number of threads.
fn is_parameter_threads(runs: &[(MeasuredRun, ProgramVersion)]) -> bool {
    let names: BTreeSet<&String> = runs.iter().flat_map(|(run, _)| run.parameters.keys()).collect();
    names.into_iter().any(|name| runs.iter().all(|(run, version)| run.parameters.get(name) == Some(&(version.threads as f64))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::header::SourceFrame;

    fn version(library: &str, threads: usize, offsets: &[(u32, u64)]) -> ProgramVersion {
        let site = |(line, offset): &(u32, u64)| CallSiteDefinition {
            module: "/lu".into(),
            offset: *offset,
            caller: None,
            frames: vec![SourceFrame { function: Some("main".into()), file: Some("lu.c".into()), line: Some(*line) }],
        };
        let mut header = RecordingHeader { sites: offsets.iter().map(site).collect(), ..RecordingHeader::default() };
        header.mpi.library = library.into();
        ProgramVersion { threads, ..ProgramVersion::from_header(&header) }
    }

    fn different(versions: &[ProgramVersion], threads: Option<&[f64]>) -> Vec<Option<String>> {
        let run = |(index, version): (usize, &ProgramVersion)| {
            let parameters = threads.map(|threads| ("t".to_owned(), threads[index]));
            (MeasuredRun { parameters: parameters.into_iter().collect(), ..MeasuredRun::default() }, version.clone())
        };
        find_different(&versions.iter().enumerate().map(run).collect::<Vec<_>>())
    }

    #[test]
    fn another_library_or_number_of_threads_is_different() {
        let (a, b) = (version("Open MPI 4.1.4", 1, &[]), version("MPICH 4.0", 1, &[]));
        let reason = "it ran with MPICH 4.0, most others with Open MPI 4.1.4";
        assert_eq!(different(&[b.clone(), a.clone(), a.clone()], None), [Some(reason.to_owned()), None, None]);
        let threads = ProgramVersion { threads: 4, ..a.clone() };
        let reason = "its ranks had 4 OpenMP threads, those of most others 1";
        assert_eq!(different(&[a.clone(), threads.clone(), a.clone()], None), [None, Some(reason.to_owned()), None]);
        assert_eq!(different(&[a.clone(), threads, a], Some(&[1.0, 4.0, 1.0])), [None, None, None], "the parameter says so");
    }

    #[test]
    fn another_build_has_the_same_lines_at_other_places() {
        let first = version("x", 1, &[(7, 100), (9, 180), (12, 240)]);
        let other_size = version("x", 1, &[(7, 100), (9, 180), (9, 196)]);
        let rebuilt = version("x", 1, &[(7, 132), (9, 212), (12, 272)]);
        let reason = "/lu was another build than in most others";
        assert_eq!(different(&[rebuilt, first, other_size], None), [Some(reason.to_owned()), None, None]);
    }
}
