//! Several runs of one program side by side: what became of its efficiency with more ranks.

use serde::Serialize;
use sintonia_program::company::Company;
use sintonia_recording::Recording;
use sintonia_replay::Error;

use crate::Efficiency;
use crate::gaps::Gaps;
use crate::ideal::Ideal;
use crate::times::{self, Work};

/// How the work grows with the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Growth {
    /// It stays the same: more ranks share it.
    Strong,
    /// It grows as the ranks do: each has as much as before.
    Weak,
}

/// One run beside the first one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaled {
    /// The recording.
    pub recording: String,
    /// How many ranks.
    pub ranks: usize,
    /// Seconds between MPI_Init and MPI_Finalize.
    pub work_s: f64,
    /// How many times as fast as the first run; with weak scaling, how many times the work per second.
    pub speedup: f64,
    /// The efficiencies of the run by itself; `None` if nobody computed.
    pub efficiency: Option<Efficiency>,
    /// Computation of all ranks together in the first run over that in this one: less than 1 if there is more to compute, or it is slower.
    pub computation_scalability: Option<f64>,
    /// Parallel efficiency times computation scalability.
    pub global: Option<f64>,
}

/// What a comparison needs of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The recording.
    pub recording: String,
    /// How many ranks.
    pub ranks: usize,
    /// Seconds between MPI_Init and MPI_Finalize.
    pub work_s: f64,
    /// Seconds of computation of all ranks together.
    pub computed_s: f64,
    /// The efficiencies; `None` if nobody computed.
    pub efficiency: Option<Efficiency>,
}

impl Run {
    /// How often `progress` is called for a recording that one process reads.
    pub fn steps(recording: &Recording) -> usize {
        recording.header.ranks.len() * if recording.header.profile { 1 } else { 2 }
    }

    /// Reads a recording together with others, or alone, for its efficiencies only; `progress` is called after each reading of a rank.
    pub fn of(name: &str, recording: &Recording, company: &dyn Company, progress: &(dyn Fn() + Sync)) -> Result<Run, Error> {
        let header = &recording.header;
        let (per_rank, _) = times::count(recording, company, progress)?;
        let ideal_s = match header.profile {
            true => 0.0,
            false => Ideal::of(recording, None)?.elapsed_ns as f64 / 1e9,
        };
        let work = Work::of(header, &per_rank, &Gaps::of(recording, company));
        Ok(Run {
            recording: name.into(),
            ranks: header.size,
            work_s: work.elapsed_s,
            computed_s: work.computed_s * per_rank.len() as f64,
            efficiency: work.efficiency.map(|efficiency| efficiency.on_ideal_network(ideal_s, work.elapsed_s)),
        })
    }
}

impl Scaled {
    /// Runs beside the first of them.
    pub fn all(runs: &[Run], growth: Growth) -> Vec<Scaled> {
        let Some(first) = runs.first() else { return Vec::new() };
        runs.iter().map(|run| Scaled::new(run, first, growth)).collect()
    }

    fn new(run: &Run, first: &Run, growth: Growth) -> Scaled {
        let grown = match growth {
            Growth::Strong => 1.0,
            Growth::Weak => run.ranks as f64 / first.ranks.max(1) as f64,
        };
        let over = |a: f64, b: f64| (b > 0.0).then_some(a / b * grown);
        let computation_scalability = over(first.computed_s, run.computed_s);
        let global = run.efficiency.zip(computation_scalability).map(|(efficiency, scalability)| efficiency.parallel * scalability);
        Scaled {
            recording: run.recording.clone(),
            ranks: run.ranks,
            work_s: run.work_s,
            speedup: over(first.work_s, run.work_s).unwrap_or(0.0),
            efficiency: run.efficiency,
            computation_scalability,
            global,
        }
    }
}
