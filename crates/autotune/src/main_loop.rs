//! The main loop of a program: the loop over time steps, iterations or tasks in which it spends its time.

use serde::Serialize;
use sintonia_program::graph::{PhaseTime, ProgramGraph};
use sintonia_recording::{Error, Recording};

use crate::run_facts::RunFacts;

/// A loop with a smaller share of the run is not its main loop.
const MIN_SHARE: f64 = 0.5;
/// With fewer iterations, the loop says no more than the run.
const MIN_ITERATIONS: u64 = 3;

/// The main loop in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MainLoop {
    /// Where it is in the source, or which calls it makes.
    pub name: String,
    /// Iterations of a rank, the most.
    pub iterations: u64,
    /// Seconds of a rank in it, the most.
    pub seconds: f64,
    /// Its share of the time from MPI_Init to MPI_Finalize.
    pub share: f64,
}

impl MainLoop {
    /// Finds the main loop in a recording; `None` in a profile, and if no loop has most of the time.
    pub fn find(recording: &Recording) -> Result<Option<MainLoop>, Error> {
        let loops = MainLoop::outermost_loops(recording)?.into_iter();
        let longest = loops.max_by(|one, other| one.share.total_cmp(&other.share));
        Ok(longest.filter(|found| found.share >= MIN_SHARE && found.iterations >= MIN_ITERATIONS))
    }

    /// Finds the loop with this name in another run of the program, whatever its share: it may be what became faster.
    pub fn find_named(recording: &Recording, name: &str) -> Result<Option<MainLoop>, Error> {
        let named = MainLoop::outermost_loops(recording)?.into_iter().filter(|found| found.name == name);
        Ok(named.max_by(|one, other| one.seconds.total_cmp(&other.seconds)))
    }

    fn outermost_loops(recording: &Recording) -> Result<Vec<MainLoop>, Error> {
        if recording.header.profile {
            return Ok(Vec::new());
        }
        // MPI_Init takes long with some libraries, and is no part of the work.
        let work_s = RunFacts::from_recording(recording)?.work_s;
        let graph = ProgramGraph::from_recording(recording, || {})?;
        let phases = &graph.phases;
        let repeated = phases.children(None).filter(|phase| phases.list[*phase].repeats);
        Ok(repeated.map(|phase| MainLoop::from_phase(&graph, phase, work_s)).collect())
    }

    fn from_phase(graph: &ProgramGraph, phase: usize, work_s: f64) -> MainLoop {
        let phases = &graph.phases;
        let nodes = &phases.list[phase].nodes;
        let is_outermost = |number: &usize| graph.loops[*number].parent.is_none() && nodes.contains(&graph.loops[*number].header);
        let outermost: Vec<usize> = (0..graph.loops.len()).filter(is_outermost).collect();
        let trips = graph.roles.iter().flat_map(|role| &role.trip_counts).filter(|(number, _)| outermost.contains(number));
        let longest = phases.ranks.iter().map(|(_, times): &(u32, Vec<PhaseTime>)| times[phase].elapsed_ns).max().unwrap_or(0);
        let seconds = longest as f64 / 1e9;
        MainLoop {
            name: phases.list[phase].name.clone(),
            iterations: trips.map(|(_, counts)| counts.max).max().unwrap_or(0),
            seconds,
            share: if work_s > 0.0 { (seconds / work_s).min(1.0) } else { 0.0 },
        }
    }
}
