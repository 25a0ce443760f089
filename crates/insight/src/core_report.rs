//! What a report says about cores. The field names are the keys of its JSON form.

use serde::Serialize;
use sintonia_program::core_shortage::ShortageCause;
use sintonia_recording::header::RecordingHeader;

use crate::core_time::{CoreFindings, CoreSplit};
use crate::seconds::seconds;

/// Whether the ranks had cores to run on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CoreReport {
    /// `measured`, `inferred` or `unknown`.
    pub basis: String,
    /// Share of the ranks' time in which they were ready to run and had no core; `None` if unknown.
    pub share: Option<f64>,
    /// The main cause and its share in one sentence; `None` if the ranks had cores, or if it is unknown.
    pub statement: Option<String>,
    /// Why there was none, the one with most time first.
    pub causes: Vec<CoreCause>,
    /// How the time between MPI_Init and MPI_Finalize splits, over all ranks; `None` if it is unknown when they had none.
    pub split: Option<CoreTimes>,
    /// The ranks.
    pub per_rank: Vec<RankCores>,
    /// Number of pieces of advice that were held back because missing cores explain what they would save.
    pub held_back: usize,
}

/// A reason why ranks had no core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CoreCause {
    /// `oversubscribed`, `same_cores`, `quota` or `other_work`.
    pub kind: &'static str,
    /// What happened, in words.
    pub what: String,
    /// The host.
    pub host: String,
    /// The ranks.
    pub ranks: Vec<u32>,
    /// The processors on which they may run; empty for a quota.
    pub processors: Vec<u32>,
    /// Share of these ranks' time.
    pub share: f64,
}

/// A rank's time without a core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankCores {
    /// The rank.
    pub rank: u32,
    /// Its time in seconds, summed over its threads that called MPI.
    pub elapsed_s: f64,
    /// Seconds in which it was ready to run and had no core.
    pub no_core_s: f64,
    /// How its time splits.
    #[serde(flatten)]
    pub split: Option<CoreTimes>,
}

/// How time between MPI_Init and MPI_Finalize splits, in seconds, summed over threads that call MPI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CoreTimes {
    /// Computation on a core.
    pub computing_s: f64,
    /// Computation for which there was no core.
    pub preempted_s: f64,
    /// In MPI, waiting for a message or transferring one.
    pub message_s: f64,
    /// In MPI, ready to go on, without a core.
    pub mpi_no_core_s: f64,
}

impl CoreTimes {
    fn from_split(split: &CoreSplit) -> CoreTimes {
        CoreTimes {
            computing_s: seconds(split.computing_ns),
            preempted_s: seconds(split.preempted_ns),
            message_s: seconds(split.message_ns),
            mpi_no_core_s: seconds(split.core_ns),
        }
    }

    fn plus(self, other: CoreTimes) -> CoreTimes {
        CoreTimes {
            computing_s: self.computing_s + other.computing_s,
            preempted_s: self.preempted_s + other.preempted_s,
            message_s: self.message_s + other.message_s,
            mpi_no_core_s: self.mpi_no_core_s + other.mpi_no_core_s,
        }
    }

    /// The time that was split.
    pub fn total_s(&self) -> f64 {
        self.computing_s + self.preempted_s + self.message_s + self.mpi_no_core_s
    }
}

impl CoreReport {
    /// What the report of a run says.
    pub(crate) fn from_findings(header: &RecordingHeader, cores: &CoreFindings) -> CoreReport {
        let Some(measured) = &cores.measured else { return CoreReport { basis: "unknown".into(), ..CoreReport::default() } };
        let shortage = cores.shortage();
        let split_of = |rank: u32| cores.splits.get(&rank).map(CoreTimes::from_split);
        let rank = |time: &sintonia_program::core_shortage::RankCoreTime| RankCores {
            rank: time.rank,
            elapsed_s: time.elapsed_ns as f64 / 1e9,
            no_core_s: time.waiting_ns as f64 / 1e9,
            split: split_of(time.rank),
        };
        let cause = |cause: &ShortageCause| CoreCause::new(header, cause, measured.share_of(cause.ranks()));
        CoreReport {
            basis: measured.basis.to_string(),
            share: Some(measured.share()),
            statement: shortage.map(|shortage| shortage.statement(header)),
            causes: shortage.into_iter().flat_map(|shortage| &shortage.causes).map(cause).collect(),
            split: cores.splits.values().map(CoreTimes::from_split).reduce(CoreTimes::plus),
            per_rank: measured.ranks.iter().map(rank).collect(),
            held_back: 0,
        }
    }

    /// By how many seconds missing cores may have delayed the run: the longest time that a rank had none; 0 if the ranks had cores.
    pub(crate) fn explained_s(&self) -> f64 {
        if self.statement.is_none() {
            return 0.0;
        }
        self.per_rank.iter().map(|rank| rank.no_core_s).fold(0.0, f64::max)
    }
}

impl CoreCause {
    fn new(header: &RecordingHeader, cause: &ShortageCause, share: f64) -> CoreCause {
        let (kind, processors) = match cause {
            ShortageCause::Oversubscribed { processors, .. } => ("oversubscribed", processors.clone()),
            ShortageCause::SharedProcessors { processors, .. } => ("same_cores", processors.clone()),
            ShortageCause::Quota { .. } => ("quota", Vec::new()),
            ShortageCause::OtherWork { processors, .. } => ("other_work", processors.clone()),
        };
        let host = header.hosts.get(cause.host() as usize).cloned().unwrap_or_default();
        CoreCause { kind, what: cause.in_words(header), host, ranks: cause.ranks().to_vec(), processors, share }
    }
}
