//! POP efficiencies of the phases of a program. The whole run can hide that one phase performs well and another does not.

use std::collections::HashMap;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use serde::Serialize;
use sintonia_mpi::FunctionRole;
use sintonia_program::graph::{PhaseTree, ProgramGraph};
use sintonia_program::history::{History, Location};
use sintonia_program::process_group::ProcessGroup;

use crate::Efficiency;
use crate::ideal_network::IdealRun;

/// A phase and its efficiencies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseEfficiency {
    /// Its source location.
    pub name: String,
    /// Index of the enclosing phase.
    pub part_of: Option<usize>,
    /// Whether it is a loop.
    pub repeats: bool,
    /// Number of participating ranks.
    pub ranks: usize,
    /// Seconds of the rank that spent most time in it, without MPI_Init and MPI_Finalize.
    pub seconds: f64,
    /// Its efficiencies, relative to that time; `None` if no rank computed in it.
    pub efficiency: Option<Efficiency>,
}

/// MPI time of a rank in one phase, as recorded and on an ideal network.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
struct PhaseMpiTime {
    ns: i64,
    ideal_ns: i64,
    rank: u32,
    phase: u32,
}

/// The efficiencies of all phases, in program order; every process of the group gets all of them.
pub fn phase_efficiencies(graph: &ProgramGraph, history: &History, ideal: &IdealRun, comm: &dyn ProcessGroup) -> Vec<PhaseEfficiency> {
    let first_threads = history.locations.par_iter().zip(&ideal.call_durations).filter(|(location, _)| location.calls.thread == 0);
    let mine: Vec<PhaseMpiTime> = first_threads.flat_map_iter(|(location, ideal)| mpi_time_by_phase(graph, location, ideal)).collect();
    let all = comm.all_to_all(vec![mine; comm.size()]).into_iter().flatten();
    let all: HashMap<(u32, usize), PhaseMpiTime> = all.map(|mpi| ((mpi.rank, mpi.phase as usize), mpi)).collect();
    (0..graph.phases.list.len()).map(|phase| efficiency(&graph.phases, phase, &all)).collect()
}

/// MPI time of the first thread of a rank by phase, including child phases.
fn mpi_time_by_phase(graph: &ProgramGraph, location: &Location, ideal: &[f64]) -> Vec<PhaseMpiTime> {
    let phases = &graph.phases;
    let new = |phase| PhaseMpiTime { rank: location.rank, phase: phase as u32, ..PhaseMpiTime::default() };
    let mut sums: Vec<PhaseMpiTime> = (0..phases.list.len()).map(new).collect();
    let mut along = graph.node_cursor(location.rank);
    for (row, call) in location.calls.calls().enumerate() {
        let node = along.next_node(&call);
        let Some(node) = node.filter(|_| !matches!(call.descriptor.function.role(), FunctionRole::Init | FunctionRole::Finalize)) else {
            continue;
        };
        let sum = &mut sums[phases.innermost_phase(node)];
        sum.ns += call.leave - call.enter;
        sum.ideal_ns += ideal.get(row).map_or(0, |seconds| (seconds * 1e9) as i64);
    }
    // Every phase comes after its parent.
    for phase in (0..sums.len()).rev() {
        if let Some(whole) = phases.list[phase].parent {
            sums[whole].ns += sums[phase].ns;
            sums[whole].ideal_ns += sums[phase].ideal_ns;
        }
    }
    sums
}

fn efficiency(phases: &PhaseTree, phase: usize, in_mpi: &HashMap<(u32, usize), PhaseMpiTime>) -> PhaseEfficiency {
    let about = &phases.list[phase];
    let took_part = phases.ranks.iter().filter(|(_, times)| times[phase].calls > 0);
    let compute: Vec<(u32, i64)> = took_part.map(|(rank, times)| (*rank, times[phase].compute_ns as i64)).collect();
    let longest = |pick: fn(&PhaseMpiTime) -> i64| {
        let own = |rank: u32| in_mpi.get(&(rank, phase)).map_or(0, pick);
        compute.iter().map(|(rank, ns)| *ns + own(*rank)).max().unwrap_or(0) as f64 / 1e9
    };
    let (seconds, ideal) = (longest(|mpi| mpi.ns), longest(|mpi| mpi.ideal_ns));
    let computed: Vec<f64> = compute.iter().map(|(_, ns)| *ns as f64 / 1e9).collect();
    let efficiency = Efficiency::new(&computed, seconds).map(|efficiency| efficiency.with_ideal_network(ideal, seconds));
    PhaseEfficiency { name: about.name.clone(), part_of: about.parent, repeats: about.repeats, ranks: compute.len(), seconds, efficiency }
}
