//! From rounds to figures: what each tool added to each kind of call, against the bare program of the same round.

use std::collections::BTreeMap;

use serde::Serialize;

use super::AbsentTool;
use super::calls::{CallRounds, CallSample};
use super::output::{BatchTimes, ProgramOutput};
use super::study::StudyFigures;
use super::tool::Tool;
use crate::machine::Machine;
use crate::quartiles::Quartiles;

/// A kind of call that is measured.
pub(super) struct CallCase {
    pub name: &'static str,
    pub title: &'static str,
    /// MPI calls that its figure spans.
    pub calls: f64,
    read: fn(&CallSample) -> &ProgramOutput,
    figure: fn(&BatchTimes) -> f64,
}

/// Undisturbed, a call alone costs what its quickest batch says. Between two ranks every batch is disturbed a little, and its median is
/// steadier.
pub(super) const CASES: [CallCase; 6] = [
    alone("send_recv", "Send, Recv to PROC_NULL"),
    alone("nonblocking", "Irecv, Isend, Waitall to self"),
    alone("allreduce", "Allreduce on SELF"),
    alone("barrier", "Barrier on SELF"),
    alone("iprobe", "Iprobe"),
    CallCase {
        name: "pingpong",
        title: "ping-pong, 8 bytes one way",
        calls: 2.0,
        read: |sample| &sample.pingpong,
        figure: |batches| batches.median,
    },
];

const fn alone(name: &'static str, title: &'static str) -> CallCase {
    CallCase { name, title, calls: 1.0, read: |sample| &sample.calls, figure: |batches| batches.least }
}

const CLOCKS: [&str; 2] = ["rdtsc", "clock_gettime"];

/// Everything measured.
#[derive(Serialize)]
pub(super) struct OverheadFigures {
    pub machine: Machine,
    pub rounds: u32,
    pub sides: Vec<LibraryFigures>,
    pub studies: Vec<StudyFigures>,
}

/// What was measured with one MPI library.
#[derive(Serialize)]
pub(super) struct LibraryFigures {
    pub library: String,
    /// Nanoseconds to read a clock once.
    pub clocks: BTreeMap<&'static str, Quartiles>,
    /// Twice the cost of reading the cheapest clock twice: what ratios are against.
    pub allowance_ns: Option<Quartiles>,
    /// Nanoseconds per call of the bare program.
    pub bare: BTreeMap<&'static str, Quartiles>,
    pub tools: Vec<ToolFigures>,
    pub absent: Vec<AbsentTool>,
}

/// What was measured of one tool.
#[derive(Serialize)]
pub(super) struct ToolFigures {
    pub name: String,
    pub keeps: &'static str,
    pub added: BTreeMap<&'static str, AddedCost>,
    /// What the program with one rank left on disk, and how many calls it made.
    pub bytes_on_disk: u64,
    pub calls: u64,
    /// For a tool that writes every call.
    pub bytes_per_call: Option<f64>,
}

/// What a tool adds to a kind of call.
#[derive(Serialize)]
pub(super) struct AddedCost {
    /// Nanoseconds, over the rounds.
    pub ns: Quartiles,
    /// Against the allowance for as many calls, as the same process could read the clock: a machine that is slower for a while changes
    /// both alike.
    pub ratio: Quartiles,
    /// Nanoseconds between the quickest round with the tool and the quickest without: what is left when nothing disturbs.
    pub undisturbed_ns: f64,
    /// Nanoseconds with the mean of all batches instead: with what a tool does only now and then.
    pub mean_ns: Quartiles,
}

impl LibraryFigures {
    /// The figures of some rounds; the first tool is none.
    pub(super) fn new(measured: CallRounds, absent: Vec<AbsentTool>) -> LibraryFigures {
        let CallRounds { tools, samples } = measured;
        let bare =
            |read: &dyn Fn(&CallSample) -> Option<f64>| Quartiles::from_values(samples.iter().filter_map(|round| read(round[0].as_ref()?)));
        let clocks: BTreeMap<_, _> =
            CLOCKS.iter().filter_map(|name| Some((*name, bare(&|sample| Some(sample.calls.cases.get(*name)?.least))?))).collect();
        LibraryFigures {
            library: samples.iter().find_map(|round| Some(round[0].as_ref()?.calls.library.clone())).unwrap_or_default(),
            bare: CASES.iter().filter_map(|case| Some((case.name, bare(&|sample| case.figure_of(sample, case.figure))?))).collect(),
            tools: tools.iter().enumerate().skip(1).map(|(number, tool)| ToolFigures::new(tool, number, &samples)).collect(),
            allowance_ns: bare(&allowance),
            clocks,
            absent,
        }
    }
}

impl ToolFigures {
    fn new(tool: &Tool, number: usize, samples: &[Vec<Option<CallSample>>]) -> ToolFigures {
        let over_rounds = |read: &dyn Fn(&CallSample, &CallSample) -> Option<f64>| {
            Quartiles::from_values(samples.iter().filter_map(|round| read(round[number].as_ref()?, round[0].as_ref()?)))
        };
        let added = |case: &'static CallCase| {
            let ns = over_rounds(&|with, bare| case.added(with, bare, case.figure))?;
            let ratio = over_rounds(&|with, bare| Some(case.added(with, bare, case.figure)? / allowance(with)? / case.calls))?;
            let undisturbed_ns = case.least(samples, number)? - case.least(samples, 0)?;
            let mean_ns = over_rounds(&|with, bare| case.added(with, bare, |batches| batches.mean))?;
            Some((case.name, AddedCost { ns, ratio, undisturbed_ns, mean_ns }))
        };
        let last = samples.iter().rev().find_map(|round| round[number].as_ref());
        let (bytes_on_disk, calls) = last.map_or((0, 0), |sample| (sample.bytes_on_disk, sample.calls.calls));
        ToolFigures {
            name: tool.name.clone(),
            keeps: tool.keeps,
            added: CASES.iter().filter_map(added).collect(),
            bytes_on_disk,
            calls,
            bytes_per_call: (tool.traces && calls > 0).then(|| bytes_on_disk as f64 / calls as f64),
        }
    }
}

impl CallCase {
    fn figure_of(&self, sample: &CallSample, figure: fn(&BatchTimes) -> f64) -> Option<f64> {
        (self.read)(sample).cases.get(self.name).map(figure)
    }

    fn added(&self, with: &CallSample, bare: &CallSample, figure: fn(&BatchTimes) -> f64) -> Option<f64> {
        Some(self.figure_of(with, figure)? - self.figure_of(bare, figure)?)
    }

    fn least(&self, samples: &[Vec<Option<CallSample>>], number: usize) -> Option<f64> {
        let figures = samples.iter().filter_map(|round| self.figure_of(round[number].as_ref()?, self.figure));
        figures.min_by(f64::total_cmp)
    }
}

fn allowance(sample: &CallSample) -> Option<f64> {
    let clocks = CLOCKS.iter().filter_map(|name| Some(sample.calls.cases.get(*name)?.least));
    clocks.min_by(f64::total_cmp).map(|once| 2.0 * 2.0 * once)
}
