//! Scaling efficiencies: several runs of one program compared with the first.

use serde::Serialize;
use sintonia_program::CoreShortage;
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_replay::Error;

use crate::Efficiency;
use crate::gaps::RecordingGaps;
use crate::ideal_network::IdealRun;
use crate::rank_times::{self, FocusOfAnalysis};

/// How the problem size depends on the number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScalingMode {
    /// Constant in total.
    Strong,
    /// Constant per rank.
    Weak,
}

/// A run compared with the first one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScaledRun {
    /// The recording.
    pub recording: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Seconds between MPI_Init and MPI_Finalize.
    pub work_s: f64,
    /// Speedup over the first run; for weak scaling, the ratio of work per second.
    pub speedup: f64,
    /// The efficiencies of the run itself; `None` if no rank computed.
    pub efficiency: Option<Efficiency>,
    /// Computation scalability: total computation of the first run over that of this one. Below 1 if there is more to compute, or
    /// computation is slower.
    pub computation_scalability: Option<f64>,
    /// Global efficiency: parallel efficiency times computation scalability.
    pub global: Option<f64>,
    /// The main reason why ranks had no core, and its share of the time; `None` if they had, or if it is unknown.
    pub no_core: Option<String>,
}

/// Several runs compared with the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunComparison {
    /// How the work grows with the ranks.
    pub growth: ScalingMode,
    /// The runs.
    pub runs: Vec<ScaledRun>,
}

impl RunComparison {
    /// Compares runs.
    pub fn new(runs: &[RunEfficiency], growth: ScalingMode) -> RunComparison {
        RunComparison { growth, runs: ScaledRun::compare(runs, growth) }
    }
}

/// The figures of a run needed for the comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEfficiency {
    /// The recording.
    pub recording: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Seconds between MPI_Init and MPI_Finalize.
    pub work_s: f64,
    /// Total computation in seconds.
    pub compute_s: f64,
    /// The efficiencies; `None` if no rank computed.
    pub efficiency: Option<Efficiency>,
    /// The main reason why ranks had no core, if they had none.
    pub no_core: Option<String>,
}

impl RunEfficiency {
    /// Number of `progress` calls for a recording read by one process.
    pub fn progress_steps(recording: &Recording) -> usize {
        recording.header.ranks.len() * if recording.header.profile { 1 } else { 2 }
    }

    /// Reads the efficiencies of a recording in a process group; `progress` is called after each pass over a rank.
    pub fn from_recording(
        name: &str,
        recording: &Recording,
        comm: &dyn ProcessGroup,
        progress: &(dyn Fn() + Sync),
    ) -> Result<RunEfficiency, Error> {
        let header = &recording.header;
        let times = rank_times::read_rank_times(recording, comm, progress)?;
        let ideal_s = match header.profile {
            true => 0.0,
            false => IdealRun::replay(recording, None)?.elapsed_ns as f64 / 1e9,
        };
        let work = FocusOfAnalysis::from_times(header, &times, &RecordingGaps::from_recording(recording, comm));
        Ok(RunEfficiency {
            recording: name.into(),
            ranks: header.size,
            work_s: work.elapsed_s,
            compute_s: work.mean_compute_s * times.ranks.len() as f64,
            efficiency: work.efficiency.map(|efficiency| efficiency.with_ideal_network(ideal_s, work.elapsed_s)),
            no_core: CoreShortage::from_recording(recording)?.map(|shortage| shortage.statement(header)),
        })
    }
}

impl ScaledRun {
    /// Compares runs with the first of them.
    pub fn compare(runs: &[RunEfficiency], growth: ScalingMode) -> Vec<ScaledRun> {
        let Some(first) = runs.first() else { return Vec::new() };
        runs.iter().map(|run| ScaledRun::new(run, first, growth)).collect()
    }

    fn new(run: &RunEfficiency, first: &RunEfficiency, growth: ScalingMode) -> ScaledRun {
        let grown = match growth {
            ScalingMode::Strong => 1.0,
            ScalingMode::Weak => run.ranks as f64 / first.ranks.max(1) as f64,
        };
        let over = |a: f64, b: f64| (b > 0.0).then_some(a / b * grown);
        let computation_scalability = over(first.compute_s, run.compute_s);
        let global = run.efficiency.zip(computation_scalability).map(|(efficiency, scalability)| efficiency.parallel * scalability);
        ScaledRun {
            recording: run.recording.clone(),
            ranks: run.ranks,
            work_s: run.work_s,
            speedup: over(first.work_s, run.work_s).unwrap_or(0.0),
            efficiency: run.efficiency,
            computation_scalability,
            global,
            no_core: run.no_core.clone(),
        }
    }
}
