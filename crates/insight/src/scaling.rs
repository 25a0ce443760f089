//! Scaling efficiencies: several runs of one program compared with the first.

use serde::Serialize;
use sintonia_program::CoreShortage;
use sintonia_program::history::History;
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_replay::Error;

use crate::Efficiency;
use crate::counter_report::{self, InstructionCounts};
use crate::gaps::RecordingGaps;
use crate::ideal_network::IdealRun;
use crate::part_comparison::{ComparedParts, RunParts};
use crate::part_times::{self, PartTimes};
use crate::rank_times::{self, FocusOfAnalysis};
use crate::region_of_interest::RegionDescription;
use crate::run_conditions::{RunConditions, ScalingMode};

/// A run compared with the first one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScaledRun {
    /// The recording.
    pub recording: String,
    /// The part of the run that the figures are about; absent for the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<RegionDescription>,
    /// Number of ranks.
    pub ranks: usize,
    /// Seconds between MPI_Init and MPI_Finalize.
    pub work_s: f64,
    /// Speedup over the first run; for weak scaling, the ratio of work per second. `None` if the runs did different work.
    pub speedup: Option<f64>,
    /// The efficiencies of the run itself; `None` if no rank computed.
    pub efficiency: Option<Efficiency>,
    /// Computation scalability: total computation of the first run over that of this one. Below 1 if there is more to compute, or
    /// computation is slower. `None` if the computation cannot be compared.
    pub computation_scalability: Option<f64>,
    /// The parts of the computation scalability; `None` unless both runs counted instructions and cycles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computation: Option<ComputationScaling>,
    /// Global efficiency: parallel efficiency times computation scalability.
    pub global: Option<f64>,
    /// What cannot be compared with the first run, and why; one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    /// The main reason why ranks had no core, and its share of the time; `None` if they had, or if it is unknown.
    pub no_core: Option<String>,
}

/// Why there is more or less computation than in the first run. The product is the computation scalability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ComputationScaling {
    /// Instruction scaling: instructions of the first run over those of this one.
    pub instructions: f64,
    /// IPC scaling: instructions per cycle over those of the first run.
    pub ipc: f64,
    /// Frequency scaling: cycles per second of computation over those of the first run.
    pub frequency: f64,
}

impl ComputationScaling {
    fn new(run: &RunEfficiency, first: &RunEfficiency, grown: f64) -> Option<ComputationScaling> {
        if run.compute_s <= 0.0 || first.compute_s <= 0.0 {
            return None;
        }
        let (now, before) = (run.counted?, first.counted?);
        // Short segments are not counted; they are taken to be like the others.
        let all = |run: &RunEfficiency, counted: InstructionCounts| counted.instructions * run.compute_s / counted.seconds;
        Some(ComputationScaling {
            instructions: all(first, before) / all(run, now) * grown,
            ipc: (now.instructions / now.cycles) / (before.instructions / before.cycles),
            frequency: (now.cycles / now.seconds) / (before.cycles / before.seconds),
        })
    }
}

/// Several runs compared with the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunComparison {
    /// How the work grows with the ranks.
    pub growth: ScalingMode,
    /// The runs.
    pub runs: Vec<ScaledRun>,
    /// The parts of the program that changed; `None` if no run can be compared with the first.
    pub parts: Option<ComparedParts>,
}

impl RunComparison {
    /// Compares runs.
    pub fn new(runs: &[RunEfficiency], growth: ScalingMode) -> RunComparison {
        let parts: Vec<RunParts> = runs.iter().map(|run| run.parts_compared_with(&runs[0], growth)).collect();
        RunComparison { growth, runs: ScaledRun::compare(runs, growth), parts: ComparedParts::new(&parts, growth) }
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
    /// The part of the run that the figures are about; `None` for the whole run.
    pub region: Option<RegionDescription>,
    /// What the run was.
    pub(crate) conditions: RunConditions,
    /// How long it took in each part of the program.
    pub(crate) parts: PartTimes,
    /// Instructions and cycles, if they were counted.
    pub(crate) counted: Option<InstructionCounts>,
    /// The efficiencies; `None` if no rank computed.
    pub efficiency: Option<Efficiency>,
    /// The main reason why ranks had no core, if they had none.
    pub no_core: Option<String>,
}

impl RunEfficiency {
    /// Number of `progress` calls for a recording read by one process.
    pub fn progress_steps(recording: &Recording) -> usize {
        recording.header.ranks.len() * if recording.header.profile { 2 } else { 3 }
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
            false if recording.is_excerpt() => {
                let history = History::read(recording, comm, &|| ())?;
                IdealRun::replay(recording, Some(&history))?.longest_ns(&history, comm) as f64 / 1e9
            }
            false => IdealRun::replay(recording, None)?.elapsed_ns as f64 / 1e9,
        };
        let gaps = RecordingGaps::from_recording(recording, comm);
        let cores = CoreShortage::from_recording(recording)?;
        let work = FocusOfAnalysis::from_times(header, &times, &gaps);
        Ok(RunEfficiency {
            recording: name.into(),
            ranks: header.size,
            work_s: work.elapsed_s,
            compute_s: work.mean_compute_s * times.ranks.len() as f64,
            region: None,
            conditions: RunConditions::read(recording, &gaps, &times.tally, cores.as_ref())?,
            parts: part_times::read_part_times(recording, &times.tally, comm, progress)?,
            counted: counter_report::instruction_counts(recording)?,
            efficiency: work.efficiency.map(|efficiency| efficiency.with_ideal_network(ideal_s, work.elapsed_s)),
            no_core: cores.map(|shortage| shortage.statement(header)),
        })
    }

    fn parts_compared_with(&self, first: &RunEfficiency, growth: ScalingMode) -> RunParts<'_> {
        let is_comparable = self.conditions.differences(&first.conditions, growth).has_same_work;
        RunParts { times: &self.parts, ranks: self.ranks, work_s: self.work_s, is_comparable }
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
        let differences = run.conditions.differences(&first.conditions, growth);
        let computation_scalability = over(first.compute_s, run.compute_s).filter(|_| differences.has_same_computation);
        let global = run.efficiency.zip(computation_scalability).map(|(efficiency, scalability)| efficiency.parallel * scalability);
        ScaledRun {
            recording: run.recording.clone(),
            region: run.region.clone(),
            ranks: run.ranks,
            work_s: run.work_s,
            speedup: over(first.work_s, run.work_s).filter(|_| differences.has_same_work),
            efficiency: run.efficiency,
            computation_scalability,
            computation: ComputationScaling::new(run, first, grown).filter(|_| differences.has_same_computation),
            global,
            differences: differences.statements,
            no_core: run.no_core.clone(),
        }
    }
}
