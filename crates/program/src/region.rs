//! Regions of interest: a part of the run, as windows of each thread.
//!
//! Ranks reach the same iteration at different times, so a region is a list of windows for each location: one for an interval of time or
//! some iterations, several for a phase or function that runs again and again. A segment of computation belongs to an iteration, a phase or
//! a function as in the program graph.

use std::ops::Range;

use rayon::prelude::*;
use sintonia_recording::Recording;
use sintonia_recording::header::SourceFrame;
use sintonia_text::function_name::short_function_name;
use sintonia_text::quantity::{format_percent, format_plural, format_seconds};
use sintonia_text::suggestion::did_you_mean;

use crate::graph::ProgramGraph;
use crate::history::{History, Location, RegionWindow};

/// Which part of the run.
#[derive(Clone, Debug, PartialEq)]
pub enum RegionSelection {
    /// An interval of time; the whole run on a side without a bound.
    Time {
        /// Its begin.
        from: Option<TimeBound>,
        /// Its end.
        to: Option<TimeBound>,
    },
    /// Iterations of the main loop, numbered from 0; without an end, all from there on.
    Iterations {
        /// The first.
        first: u64,
        /// The one after the last.
        end: Option<u64>,
    },
    /// A phase, by its number from 1 or by its name.
    Phase(String),
    /// The calls below a function.
    CallPath(String),
}

/// A point in time of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeBound {
    /// Seconds since the run began.
    Seconds(f64),
    /// A share of the run, from 0 to 1.
    Share(f64),
}

/// A region of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectedRegion {
    /// What it is, as a sentence names it.
    pub name: String,
    /// The windows of each location of the history, in order.
    pub windows: Vec<Vec<RegionWindow>>,
}

/// Why there is no such region.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RegionError {
    /// The interval is outside of the run, or empty.
    #[error("the region from {from} to {to} is empty: the run lasts {run}; give --from and --to within it, --from before --to")]
    EmptyInterval {
        /// Its begin.
        from: String,
        /// Its end.
        to: String,
        /// Length of the run.
        run: String,
    },
    /// No rank repeats anything.
    #[error("the program has no loop with MPI calls, so it has no iterations; select a part of it with --from and --to")]
    NoLoop,
    /// The loop has fewer iterations.
    #[error("the loop {name} has {iterations}, numbered from 0; there is no iteration {first}")]
    TooFewIterations {
        /// The loop.
        name: String,
        /// How many.
        iterations: String,
        /// The first selected one.
        first: u64,
    },
    /// No phase has this name or number.
    #[error("there is no phase `{name}`{suggestion}; `sintonia report --all` lists the phases with their numbers")]
    UnknownPhase {
        /// What was given.
        name: String,
        /// A similar name.
        suggestion: String,
    },
    /// The function is in no call path.
    #[error("no MPI call has a function `{name}` in its call path{suggestion}; `sintonia calls` shows call paths")]
    UnknownFunction {
        /// What was given.
        name: String,
        /// A similar name.
        suggestion: String,
    },
    /// The recording has only sums.
    #[error("a profile (--profile) has only sums over the whole run; record without --profile to look at a part of it")]
    Profile,
}

impl SelectedRegion {
    /// Finds the windows of a region in a history that one process read.
    pub fn find(
        recording: &Recording,
        history: &History,
        graph: &ProgramGraph,
        selection: &RegionSelection,
    ) -> Result<SelectedRegion, RegionError> {
        match selection {
            RegionSelection::Time { from, to } => time_region(recording, history, *from, *to),
            RegionSelection::Iterations { first, end } => iteration_region(history, graph, *first, *end),
            RegionSelection::Phase(name) => phase_region(history, graph, name),
            RegionSelection::CallPath(function) => call_path_region(recording, history, function),
        }
    }
}

fn time_region(
    recording: &Recording,
    history: &History,
    from: Option<TimeBound>,
    to: Option<TimeBound>,
) -> Result<SelectedRegion, RegionError> {
    let ranks = &recording.header.ranks;
    let begin = ranks.iter().map(|rank| rank.begin_ns).min().unwrap_or(0);
    let end = ranks.iter().map(|rank| rank.end_ns).max().unwrap_or(0);
    let run_s = (end - begin) as f64 / 1e9;
    let at = |bound: TimeBound| match bound {
        TimeBound::Seconds(seconds) => begin.saturating_add((seconds * 1e9).round() as i64),
        TimeBound::Share(share) => begin.saturating_add(((end - begin) as f64 * share).round() as i64),
    };
    let (first, last) = (from.map_or(begin, at), to.map_or(end, at).min(end));
    let text = |ns: i64| format_seconds((ns - begin) as f64 / 1e9);
    if first >= last || first < begin {
        let to = to.map_or(text(end), TimeBound::text);
        return Err(RegionError::EmptyInterval { from: from.map_or(text(begin), TimeBound::text), to, run: format_seconds(run_s) });
    }
    let windows = history.locations.par_iter().map(|location| {
        let rank = recording.header.rank(location.rank);
        let is_main = history.locations_of_rank(location.rank).start == history.location_index(location.call_id(0)).unwrap_or(0);
        let calls = &location.calls;
        let own = match rank.filter(|_| is_main) {
            Some(rank) => rank.begin_ns..rank.end_ns.max(calls.leave.last().copied().unwrap_or(rank.end_ns)),
            None => calls.enter.first().copied().unwrap_or(0)..calls.leave.last().copied().unwrap_or(0),
        };
        let time = own.start.max(first)..own.end.min(last);
        // A call counts where it returns. The first window takes what returns at its begin.
        let before = |bound: i64| if bound <= begin { 0 } else { calls.leave.partition_point(|leave| *leave <= bound) as u32 };
        let rows = before(first)..before(last);
        if time.start < time.end { vec![RegionWindow { time, rows }] } else { Vec::new() }
    });
    let name = format!("{} to {} of the run", text(first), text(last));
    Ok(SelectedRegion { name, windows: windows.collect() })
}

impl TimeBound {
    fn text(self) -> String {
        match self {
            TimeBound::Seconds(seconds) => format_seconds(seconds),
            TimeBound::Share(share) => format_percent(share),
        }
    }
}

/// A window of consecutive calls; with the computation before the first one and after the last one, if it belongs to it too.
fn window_of_rows(location: &Location, rows: Range<u32>, with_segments: (bool, bool)) -> RegionWindow {
    let calls = &location.calls;
    let (first, last) = (rows.start as usize, rows.end as usize - 1);
    let begin = if with_segments.0 { location.compute_begin(first) } else { calls.enter[first] };
    let end = match calls.enter.get(last + 1) {
        Some(next) if with_segments.1 => (*next).max(calls.leave[last]),
        _ => calls.leave[last],
    };
    RegionWindow { time: begin..end.max(begin), rows }
}

fn iteration_region(history: &History, graph: &ProgramGraph, first: u64, end: Option<u64>) -> Result<SelectedRegion, RegionError> {
    let main = graph.main_loop().ok_or(RegionError::NoLoop)?;
    let nodes = &graph.loops[main].nodes;
    let in_loop = |node: usize| nodes.binary_search(&node).is_ok();
    // The computation around a loop belongs to it where its phase says so.
    let has_segment = |from: usize, to: usize| {
        (in_loop(from) && in_loop(to)) || graph.phases.list[graph.phases.segment_phase(from, to)].nodes.iter().all(|node| in_loop(*node))
    };
    let found: Vec<(u64, Vec<RegionWindow>)> = history
        .locations
        .par_iter()
        .map(|location| {
            let visits = graph.iterations(main, location);
            let iterations = visits.iter().filter_map(|visit| Some(visit.1? + 1)).max().unwrap_or(0);
            let is_inside = |row: usize| visits[row].1.is_some_and(|number| number >= first && end.is_none_or(|end| number < end));
            let segment = |row: usize| match (visits[row - 1].0, visits[row].0) {
                (Some(from), Some(to)) => has_segment(from, to),
                _ => false,
            };
            // The computation between two iterations is that of the later one, also if that is not selected.
            let ends_loop = |row: usize| visits[row].1.is_none();
            (iterations, windows_where(location, is_inside, segment, ends_loop))
        })
        .collect();
    let iterations = found.iter().map(|(iterations, _)| *iterations).max().unwrap_or(0);
    let name = graph.loop_name(main);
    if iterations <= first || end.is_some_and(|end| end <= first) {
        return Err(RegionError::TooFewIterations { name, iterations: format_plural(iterations, "iteration"), first });
    }
    let last = end.map_or(iterations, |end| end.min(iterations)) - 1;
    let which = if last == first { format!("iteration {first}") } else { format!("iterations {first} to {last}") };
    Ok(SelectedRegion { name: format!("{which} of the loop {name}"), windows: found.into_iter().map(|(_, windows)| windows).collect() })
}

fn phase_region(history: &History, graph: &ProgramGraph, name: &str) -> Result<SelectedRegion, RegionError> {
    let phases = &graph.phases;
    let by_number = name.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).filter(|index| *index < phases.list.len());
    let by_name = || {
        let exact = phases.list.iter().position(|phase| phase.name == name);
        let begins = |phase: &crate::graph::ProgramPhase| phase.name.split(" (").next() == Some(name);
        exact.or_else(|| phases.list.iter().position(begins))
    };
    let Some(phase) = by_number.or_else(by_name) else {
        let names: Vec<&str> = phases.list.iter().map(|phase| phase.name.split(" (").next().unwrap_or(&phase.name)).collect();
        let suggestion = did_you_mean(name, &names);
        return Err(RegionError::UnknownPhase { name: name.into(), suggestion });
    };
    let is_inside = |inner: usize| phases.contains(phase, inner);
    let windows = history.locations.par_iter().map(|location| {
        let nodes: Vec<Option<usize>> = graph.nodes_of(location);
        let is_call_inside = |row: usize| nodes[row].is_some_and(|node| is_inside(phases.innermost_phase(node)));
        let segment = |row: usize| match (nodes[row - 1], nodes[row]) {
            (Some(from), Some(to)) => is_inside(phases.segment_phase(from, to)),
            _ => false,
        };
        windows_where(location, is_call_inside, segment, |_| true)
    });
    Ok(SelectedRegion { name: format!("phase {}, {}", phase + 1, phases.list[phase].name), windows: windows.collect() })
}

/// The windows of the calls for which `is_inside` holds, with the computation before a call where `segment` holds; behind the last call of a
/// window only if also `takes_rest` holds for the next one.
fn windows_where(
    location: &Location,
    is_inside: impl Fn(usize) -> bool,
    segment: impl Fn(usize) -> bool,
    takes_rest: impl Fn(usize) -> bool,
) -> Vec<RegionWindow> {
    let mut windows = Vec::new();
    let mut row = 0;
    while row < location.len() {
        if !is_inside(row) {
            row += 1;
            continue;
        }
        let first = row;
        row += 1;
        while row < location.len() && is_inside(row) && segment(row) {
            row += 1;
        }
        // Computation between two windows goes with the later one.
        let before = first > 0 && segment(first);
        let after = row < location.len() && !is_inside(row) && takes_rest(row) && segment(row);
        windows.push(window_of_rows(location, first as u32..row as u32, (before, after)));
    }
    windows
}

fn call_path_region(recording: &Recording, history: &History, function: &str) -> Result<SelectedRegion, RegionError> {
    let count = recording.header.sites.len() as u32;
    let invocations: Vec<Option<u32>> = (0..count).map(|site| invocation(recording, site, function)).collect();
    if invocations.iter().all(Option::is_none) {
        let frames = recording.header.sites.iter().flat_map(|site| &site.frames);
        let mut names: Vec<String> = frames.filter_map(|frame| frame.function.as_deref()).map(short_function_name).collect();
        names.sort();
        names.dedup();
        let suggestion = did_you_mean(function, &names.iter().map(String::as_str).collect::<Vec<_>>());
        return Err(RegionError::UnknownFunction { name: function.into(), suggestion });
    }
    let windows = history.locations.par_iter().map(|location| {
        let at = |row: usize| invocations.get(location.descriptor(row).site as usize).copied().flatten();
        windows_where(location, |row| at(row).is_some(), |row| at(row).is_some() && at(row) == at(row - 1), |_| true)
    });
    Ok(SelectedRegion { name: format!("calls below {function}"), windows: windows.collect() })
}

/// The place from which a call path entered a function first: the site of the caller, or the call's own site at the top. `None` if the function is not in it.
fn invocation(recording: &Recording, site: u32, function: &str) -> Option<u32> {
    let is_function =
        |frame: &SourceFrame| frame.function.as_deref().is_some_and(|name| name == function || short_function_name(name) == function);
    let caller = |site: &u32| recording.site(*site).caller.filter(|caller| caller < site);
    let path = std::iter::successors(Some(site), caller);
    let outermost = path.filter(|site| recording.site(*site).frames.iter().any(is_function)).last()?;
    let called_from = caller(&outermost).map(|caller| recording.call_paths().canonical(caller));
    Some(called_from.unwrap_or(u32::MAX))
}
