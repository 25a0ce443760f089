//! Efficiencies of the phases of a program: the run as a whole can hide that one part of it goes well and another does not.

use std::collections::HashMap;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use serde::Serialize;
use sintonia_mpi::Role;
use sintonia_program::company::Company;
use sintonia_program::graph::{Phases, ProgramGraph};
use sintonia_program::history::{History, Line};

use crate::Efficiency;
use crate::ideal::Ideal;

/// One phase and how well its time was used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseEfficiency {
    /// Where it is in the source.
    pub name: String,
    /// The phase that it is a part of, by place in the list.
    pub part_of: Option<usize>,
    /// Whether it goes round.
    pub repeats: bool,
    /// How many ranks took part.
    pub ranks: usize,
    /// Seconds that the rank with the longest stay spent in it, without MPI_Init and MPI_Finalize.
    pub seconds: f64,
    /// Its efficiencies, with that time as its run time; `None` if nobody computed in it.
    pub efficiency: Option<Efficiency>,
}

/// What a rank spent in MPI in one phase, and would on an ideal network.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
struct InMpi {
    ns: i64,
    ideal_ns: i64,
    rank: u32,
    phase: u32,
}

/// The efficiencies of all phases, in program order; every process of the company gets them all.
pub fn phases(graph: &ProgramGraph, history: &History, ideal: &Ideal, company: &dyn Company) -> Vec<PhaseEfficiency> {
    let first_threads = history.lines.par_iter().zip(&ideal.stays).filter(|(line, _)| line.calls.thread == 0);
    let mine: Vec<InMpi> = first_threads.flat_map_iter(|(line, ideal)| in_mpi(graph, line, ideal)).collect();
    let all = company.swap(vec![mine; company.size()]).into_iter().flatten();
    let all: HashMap<(u32, usize), InMpi> = all.map(|mpi| ((mpi.rank, mpi.phase as usize), mpi)).collect();
    (0..graph.phases.list.len()).map(|phase| efficiency(&graph.phases, phase, &all)).collect()
}

/// What the first thread of a rank spent in MPI, by phase; a phase has what its parts have.
fn in_mpi(graph: &ProgramGraph, line: &Line, ideal: &[f64]) -> Vec<InMpi> {
    let phases = &graph.phases;
    let new = |phase| InMpi { rank: line.rank, phase: phase as u32, ..InMpi::default() };
    let mut sums: Vec<InMpi> = (0..phases.list.len()).map(new).collect();
    let mut along = graph.along(line.rank);
    for (row, call) in line.calls.calls().enumerate() {
        let node = along.node(&call);
        let Some(node) = node.filter(|_| !matches!(call.shape.operation.role(), Role::Init | Role::Finalize)) else { continue };
        let sum = &mut sums[phases.at(node)];
        sum.ns += call.leave - call.enter;
        sum.ideal_ns += ideal.get(row).map_or(0, |seconds| (seconds * 1e9) as i64);
    }
    // Every phase comes after the one it is a part of.
    for phase in (0..sums.len()).rev() {
        if let Some(whole) = phases.list[phase].parent {
            sums[whole].ns += sums[phase].ns;
            sums[whole].ideal_ns += sums[phase].ideal_ns;
        }
    }
    sums
}

fn efficiency(phases: &Phases, phase: usize, in_mpi: &HashMap<(u32, usize), InMpi>) -> PhaseEfficiency {
    let about = &phases.list[phase];
    let took_part = phases.ranks.iter().filter(|(_, times)| times[phase].calls > 0);
    let outside: Vec<(u32, i64)> = took_part.map(|(rank, times)| (*rank, times[phase].outside_ns as i64)).collect();
    let longest = |pick: fn(&InMpi) -> i64| {
        let own = |rank: u32| in_mpi.get(&(rank, phase)).map_or(0, pick);
        outside.iter().map(|(rank, ns)| *ns + own(*rank)).max().unwrap_or(0) as f64 / 1e9
    };
    let (seconds, ideal) = (longest(|mpi| mpi.ns), longest(|mpi| mpi.ideal_ns));
    let computed: Vec<f64> = outside.iter().map(|(_, ns)| *ns as f64 / 1e9).collect();
    let efficiency = Efficiency::new(&computed, seconds).map(|efficiency| efficiency.on_ideal_network(ideal, seconds));
    PhaseEfficiency { name: about.name.clone(), part_of: about.parent, repeats: about.repeats, ranks: outside.len(), seconds, efficiency }
}
