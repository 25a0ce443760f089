//! From rounds to figures: what each tool added to each kind of call, against the bare program of the same round.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Absent;
use super::output::{Batches, Output};
use super::rounds::{Rounds, Sample};
use super::tool::Tool;
use crate::machine::Machine;
use crate::spread::Spread;

/// A kind of call that is measured.
pub(super) struct Case {
    pub name: &'static str,
    pub title: &'static str,
    /// MPI calls that its figure spans.
    pub calls: f64,
    read: fn(&Sample) -> &Output,
    figure: fn(&Batches) -> f64,
}

/// Undisturbed, a call alone costs what its quickest batch says. Between two ranks every batch is disturbed a little, and its median is
/// steadier.
pub(super) const CASES: [Case; 6] = [
    alone("send_recv", "Send, Recv to PROC_NULL"),
    alone("nonblocking", "Irecv, Isend, Waitall to self"),
    alone("allreduce", "Allreduce on SELF"),
    alone("barrier", "Barrier on SELF"),
    alone("iprobe", "Iprobe"),
    Case {
        name: "pingpong",
        title: "ping-pong, 8 bytes one way",
        calls: 2.0,
        read: |sample| &sample.pingpong,
        figure: |batches| batches.median,
    },
];

const fn alone(name: &'static str, title: &'static str) -> Case {
    Case { name, title, calls: 1.0, read: |sample| &sample.calls, figure: |batches| batches.least }
}

const CLOCKS: [&str; 2] = ["rdtsc", "clock_gettime"];

/// Everything measured.
#[derive(Serialize)]
pub(super) struct Figures {
    pub machine: Machine,
    pub rounds: u32,
    pub sides: Vec<Side>,
}

/// What was measured with one MPI library.
#[derive(Serialize)]
pub(super) struct Side {
    pub library: String,
    /// Nanoseconds to read a clock once.
    pub clocks: BTreeMap<&'static str, Spread>,
    /// Twice the cost of reading the cheapest clock twice: what ratios are against.
    pub allowance_ns: Option<Spread>,
    /// Nanoseconds per call of the bare program.
    pub bare: BTreeMap<&'static str, Spread>,
    pub tools: Vec<Measured>,
    pub absent: Vec<Absent>,
}

/// What was measured of one tool.
#[derive(Serialize)]
pub(super) struct Measured {
    pub name: String,
    pub keeps: &'static str,
    pub added: BTreeMap<&'static str, Added>,
    /// What the program with one rank left on disk, and how many calls it made.
    pub bytes_on_disk: u64,
    pub calls: u64,
    /// For a tool that writes every call.
    pub bytes_per_call: Option<f64>,
}

/// What a tool adds to a kind of call.
#[derive(Serialize)]
pub(super) struct Added {
    /// Nanoseconds, over the rounds.
    pub ns: Spread,
    /// Against the allowance for as many calls, as the same process could read the clock: a machine that is slower for a while changes
    /// both alike.
    pub ratio: Spread,
    /// Nanoseconds between the quickest round with the tool and the quickest without: what is left when nothing disturbs.
    pub undisturbed_ns: f64,
    /// Nanoseconds with the mean of all batches instead: with what a tool does only now and then.
    pub mean_ns: Spread,
}

impl Side {
    /// The figures of some rounds; the first tool is none.
    pub(super) fn of(measured: Rounds, absent: Vec<Absent>) -> Side {
        let Rounds { tools, samples } = measured;
        let bare = |read: &dyn Fn(&Sample) -> Option<f64>| Spread::of(samples.iter().filter_map(|round| read(round[0].as_ref()?)));
        let clocks: BTreeMap<_, _> =
            CLOCKS.iter().filter_map(|name| Some((*name, bare(&|sample| Some(sample.calls.cases.get(*name)?.least))?))).collect();
        Side {
            library: samples.iter().find_map(|round| Some(round[0].as_ref()?.calls.library.clone())).unwrap_or_default(),
            bare: CASES.iter().filter_map(|case| Some((case.name, bare(&|sample| case.of(sample, case.figure))?))).collect(),
            tools: tools.iter().enumerate().skip(1).map(|(number, tool)| Measured::of(tool, number, &samples)).collect(),
            allowance_ns: bare(&allowance),
            clocks,
            absent,
        }
    }
}

impl Measured {
    fn of(tool: &Tool, number: usize, samples: &[Vec<Option<Sample>>]) -> Measured {
        let over_rounds = |read: &dyn Fn(&Sample, &Sample) -> Option<f64>| {
            Spread::of(samples.iter().filter_map(|round| read(round[number].as_ref()?, round[0].as_ref()?)))
        };
        let added = |case: &'static Case| {
            let ns = over_rounds(&|with, bare| case.added(with, bare, case.figure))?;
            let ratio = over_rounds(&|with, bare| Some(case.added(with, bare, case.figure)? / allowance(with)? / case.calls))?;
            let undisturbed_ns = case.least(samples, number)? - case.least(samples, 0)?;
            let mean_ns = over_rounds(&|with, bare| case.added(with, bare, |batches| batches.mean))?;
            Some((case.name, Added { ns, ratio, undisturbed_ns, mean_ns }))
        };
        let last = samples.iter().rev().find_map(|round| round[number].as_ref());
        let (bytes_on_disk, calls) = last.map_or((0, 0), |sample| (sample.bytes_on_disk, sample.calls.calls));
        Measured {
            name: tool.name.clone(),
            keeps: tool.keeps,
            added: CASES.iter().filter_map(added).collect(),
            bytes_on_disk,
            calls,
            bytes_per_call: (tool.traces && calls > 0).then(|| bytes_on_disk as f64 / calls as f64),
        }
    }
}

impl Case {
    fn of(&self, sample: &Sample, figure: fn(&Batches) -> f64) -> Option<f64> {
        (self.read)(sample).cases.get(self.name).map(figure)
    }

    fn added(&self, with: &Sample, bare: &Sample, figure: fn(&Batches) -> f64) -> Option<f64> {
        Some(self.of(with, figure)? - self.of(bare, figure)?)
    }

    fn least(&self, samples: &[Vec<Option<Sample>>], number: usize) -> Option<f64> {
        let figures = samples.iter().filter_map(|round| self.of(round[number].as_ref()?, self.figure));
        figures.min_by(f64::total_cmp)
    }
}

fn allowance(sample: &Sample) -> Option<f64> {
    let clocks = CLOCKS.iter().filter_map(|name| Some(sample.calls.cases.get(*name)?.least));
    clocks.min_by(f64::total_cmp).map(|once| 2.0 * 2.0 * once)
}
