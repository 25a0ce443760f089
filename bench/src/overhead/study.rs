//! One program, what it measures, and the tools under which it runs in the same rounds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::AbsentTool;
use super::output::BatchTimes;
use super::rounds::MeasuredRounds;
use super::run::{ProgramRun, run};
use super::tool::Tool;
use crate::error::Error;
use crate::paths;
use crate::quartiles::Quartiles;

/// What is to be measured.
pub(super) struct OverheadStudy {
    pub title: String,
    /// What the figures mean, for people.
    pub explanation: &'static str,
    pub program: PathBuf,
    /// What starts the program.
    pub launch: Vec<String>,
    pub cases: &'static [StudyCase],
    pub unit: AddedUnit,
    /// Besides the bare program.
    pub tools: Vec<Tool>,
    pub absent: Vec<AbsentTool>,
}

/// A line of the program's output that is measured.
pub(super) struct StudyCase {
    pub name: &'static str,
    pub title: &'static str,
    /// What stands for a run, of the figures of its batches.
    pub figure: fn(&BatchTimes) -> f64,
}

impl StudyCase {
    /// What nothing disturbs costs what its quickest batch says.
    pub(super) const fn of_quickest_batch(name: &'static str, title: &'static str) -> StudyCase {
        StudyCase { name, title, figure: |batches| batches.least }
    }
}

/// The unit of an overhead.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum AddedUnit {
    /// Nanoseconds more than the bare program of the same round.
    Nanoseconds,
    /// Percent of the bare program of the same round.
    Percent,
}

/// What was measured.
#[derive(Serialize)]
pub(super) struct StudyFigures {
    pub title: String,
    #[serde(skip)]
    pub explanation: &'static str,
    #[serde(skip)]
    pub cases: &'static [StudyCase],
    pub library: String,
    pub unit: AddedUnit,
    /// Nanoseconds per operation of the bare program.
    pub bare: BTreeMap<&'static str, Quartiles>,
    pub tools: Vec<StudyTool>,
    pub absent: Vec<AbsentTool>,
}

/// What was measured of one tool.
#[derive(Serialize)]
pub(super) struct StudyTool {
    pub name: String,
    pub keeps: &'static str,
    pub added: BTreeMap<&'static str, Quartiles>,
    pub bytes_on_disk: u64,
    /// Samples per second of processor time, and bytes on disk for each, of a tool that counts them.
    pub samples_per_second: Option<f64>,
    pub bytes_per_sample: Option<f64>,
}

impl OverheadStudy {
    /// Measures in this number of rounds.
    pub(super) fn measure(self, rounds: u32) -> Result<StudyFigures, Error> {
        let OverheadStudy { title, explanation, program, launch, cases, unit, tools, mut absent } = self;
        let folder = paths::folder()?.join("run");
        let tools = [Tool::nothing()].into_iter().chain(tools).collect();
        let sample = |tool: &Tool| run(tool, launch.clone(), &program, &folder);
        let measured = MeasuredRounds::measure(&title, tools, rounds, &mut absent, sample)?;
        let library = measured.samples.iter().find_map(|round| Some(round[0].as_ref()?.output.library.clone())).unwrap_or_default();
        let bare = cases
            .iter()
            .filter_map(|case| Some((case.name, case.over_rounds(&measured, |round| case.figure_of(round[0].as_ref()?))?)))
            .collect();
        let tools = (1..measured.tools.len()).map(|number| StudyTool::new(&measured, number, cases, unit)).collect();
        Ok(StudyFigures { title, explanation, cases, library, unit, bare, tools, absent })
    }
}

impl StudyCase {
    fn figure_of(&self, run: &ProgramRun) -> Option<f64> {
        run.output.cases.get(self.name).map(self.figure)
    }

    fn over_rounds(&self, measured: &MeasuredRounds<ProgramRun>, read: impl Fn(&[Option<ProgramRun>]) -> Option<f64>) -> Option<Quartiles> {
        Quartiles::from_values(measured.samples.iter().filter_map(|round| read(round)))
    }

    fn added(&self, unit: AddedUnit, with: &ProgramRun, bare: &ProgramRun) -> Option<f64> {
        let (with, bare) = (self.figure_of(with)?, self.figure_of(bare)?);
        Some(match unit {
            AddedUnit::Nanoseconds => with - bare,
            AddedUnit::Percent => 100.0 * (with / bare - 1.0),
        })
    }
}

impl StudyTool {
    fn new(measured: &MeasuredRounds<ProgramRun>, number: usize, cases: &[StudyCase], unit: AddedUnit) -> StudyTool {
        let tool = &measured.tools[number];
        let added = |case: &StudyCase| {
            let added = |round: &[Option<ProgramRun>]| case.added(unit, round[number].as_ref()?, round[0].as_ref()?);
            Some((case.name, case.over_rounds(measured, added)?))
        };
        let last = measured.samples.iter().rev().find_map(|round| round[number].as_ref());
        let counted = last.and_then(|run| run.samples);
        let seconds = last.and_then(|run| run.output.processor_ns).map(|ns| ns / 1e9);
        StudyTool {
            name: tool.name.clone(),
            keeps: tool.keeps,
            added: cases.iter().filter_map(added).collect(),
            bytes_on_disk: last.map_or(0, |run| run.bytes_on_disk),
            samples_per_second: counted.zip(seconds).map(|(samples, seconds)| samples.count as f64 / seconds),
            bytes_per_sample: counted.map(|samples| samples.bytes as f64 / samples.count as f64),
        }
    }
}
