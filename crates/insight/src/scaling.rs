//! Several runs of one program side by side: what became of its efficiency with more ranks.

use serde::Serialize;

use crate::{Efficiency, Summary};

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

impl Scaled {
    /// Runs beside the first of them.
    pub fn all(runs: &[(String, Summary)], growth: Growth) -> Vec<Scaled> {
        let Some((_, first)) = runs.first() else { return Vec::new() };
        runs.iter().map(|(name, run)| Scaled::new(name, run, first, growth)).collect()
    }

    fn new(name: &str, run: &Summary, first: &Summary, growth: Growth) -> Scaled {
        let grown = match growth {
            Growth::Strong => 1.0,
            Growth::Weak => run.ranks as f64 / first.ranks.max(1) as f64,
        };
        let computed = |summary: &Summary| summary.per_rank.iter().map(|rank| rank.outside_s).sum::<f64>();
        let over = |a: f64, b: f64| (b > 0.0).then_some(a / b * grown);
        let computation_scalability = over(computed(first), computed(run));
        let global = run.efficiency.zip(computation_scalability).map(|(efficiency, scalability)| efficiency.parallel * scalability);
        Scaled {
            recording: name.into(),
            ranks: run.ranks,
            work_s: run.work_s,
            speedup: over(first.work_s, run.work_s).unwrap_or(0.0),
            efficiency: run.efficiency,
            computation_scalability,
            global,
        }
    }
}
