//! Computation by function, as shown in reports and JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sintonia_program::samples::{CallTree, SampleActivity, openmp_runtime_frames};
use sintonia_recording::Recording;
use sintonia_recording::samples::StackFrame;
use sintonia_replay::Error;

use crate::SourceLocation;
use crate::sampled_time::{SampledStack, SampledTimes};
use crate::seconds::seconds;
use crate::segment::Segment;

/// The name under which time in the kernel is listed among the modules.
const KERNEL: &str = "kernel";
/// Segments with less than this share of the computation are not listed.
const MIN_SEGMENT_SHARE: f64 = 0.05;
/// Most functions of a segment.
const MAX_SEGMENT_FUNCTIONS: usize = 5;

/// Where the time on the processor was spent, from samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FunctionReport {
    /// Seconds of computation on a processor, over all threads of all ranks. All shares refer to it.
    pub computation_s: f64,
    /// Seconds on a processor in MPI calls.
    pub mpi_s: f64,
    /// Seconds on a processor in the runtime of OpenMP: starting threads and waiting for them is no computation.
    pub openmp_s: f64,
    /// Seconds that one sample stands for; the largest of the ranks.
    pub sample_s: f64,
    /// Functions, most time of their own first.
    pub functions: Vec<FunctionRow>,
    /// Executables and libraries, most time first.
    pub modules: Vec<ModuleRow>,
    /// The segments with most computation.
    pub segments: Vec<SegmentFunctions>,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionRow {
    /// Its name.
    pub function: String,
    /// Its source file.
    pub file: Option<String>,
    /// The line in it with most time.
    pub line: Option<u32>,
    /// Its executable or library.
    pub module: String,
    /// Seconds in the function itself, with the kernel where it called that.
    pub self_s: f64,
    /// Share of the computation.
    pub share: f64,
    /// Seconds in it and in what it called.
    pub total_s: f64,
    /// The function that called it for most of this time.
    pub caller: Option<String>,
    /// Its own time on the ranks, on average.
    pub rank_mean_s: f64,
    /// The rank with most of it.
    pub longest_rank: u32,
    /// Its own time on that rank.
    pub longest_s: f64,
}

/// An executable or library.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModuleRow {
    /// Its path, or `kernel`.
    pub module: String,
    /// Seconds in its own code.
    pub seconds: f64,
    /// Share of the computation.
    pub share: f64,
}

/// A segment and the functions that took most of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SegmentFunctions {
    /// The call before it.
    pub from: SourceLocation,
    /// The call after it.
    pub to: SourceLocation,
    /// Seconds of computation on a processor.
    pub seconds: f64,
    /// The functions, most time of their own first; shares refer to the segment.
    pub functions: Vec<FunctionRow>,
}

impl FunctionReport {
    /// `None` without samples.
    pub(crate) fn from_times(recording: &Recording, times: &SampledTimes) -> Result<Option<FunctionReport>, Error> {
        if times.is_empty() {
            return Ok(None);
        }
        let (frames, tree) = (recording.stack_frames()?, CallTree::of(recording)?);
        let is_runtime = openmp_runtime_frames(frames);
        let outside: Vec<(&SampledStack, u64)> =
            times.iter().filter(|(stack, _)| stack.activity != SampleActivity::Mpi).map(|(stack, ns)| (stack, *ns)).collect();
        let (openmp, computation): (Vec<_>, Vec<_>) = outside.into_iter().partition(|(stack, _)| is_runtime[stack.frame as usize]);
        let [openmp_ns, computation_ns] = [&openmp, &computation].map(|stacks| stacks.iter().map(|(_, ns)| ns).sum::<u64>());
        let all_ns: u64 = times.values().sum();
        let ranks = recording.header.ranks.len();
        Ok(Some(FunctionReport {
            computation_s: seconds(computation_ns),
            mpi_s: seconds(all_ns - computation_ns - openmp_ns),
            openmp_s: seconds(openmp_ns),
            sample_s: recording
                .header
                .ranks
                .iter()
                .filter_map(|rank| rank.sampling)
                .map(|sampling| seconds(sampling.period_ns))
                .fold(0.0, f64::max),
            functions: function_rows(frames, &tree, &computation, ranks),
            modules: module_rows(frames, &computation),
            segments: segment_rows(recording, &tree, &computation, ranks)?,
        }))
    }
}

fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}

/// Own time of a function by line and rank, and time with its callees by caller.
#[derive(Default)]
struct FunctionSums {
    lines: BTreeMap<Option<u32>, u64>,
    ranks: BTreeMap<u32, u64>,
    callers: BTreeMap<Option<u32>, u64>,
}

fn function_rows(frames: &[StackFrame], tree: &CallTree, stacks: &[(&SampledStack, u64)], ranks: usize) -> Vec<FunctionRow> {
    let mut sums: BTreeMap<u32, FunctionSums> = BTreeMap::new();
    for (stack, ns) in stacks {
        let own = sums.entry(tree.function_of_frame(stack.frame)).or_default();
        *own.lines.entry(frames[stack.frame as usize].line).or_default() += ns;
        *own.ranks.entry(stack.rank).or_default() += ns;
        for (function, caller) in functions_of_stack(tree, stack.frame) {
            *sums.entry(function).or_default().callers.entry(caller).or_default() += ns;
        }
    }
    let all: u64 = stacks.iter().map(|(_, ns)| ns).sum();
    let mut rows: Vec<FunctionRow> = sums.iter().map(|(function, sums)| function_row(tree, *function, sums, all, ranks)).collect();
    rows.sort_by(|a, b| (b.self_s, b.total_s).partial_cmp(&(a.self_s, a.total_s)).unwrap_or(std::cmp::Ordering::Equal));
    rows
}

/// The functions of a stack, each once, with the function that called it: of a recursive one, from outside.
fn functions_of_stack(tree: &CallTree, frame: u32) -> Vec<(u32, Option<u32>)> {
    let functions: Vec<u32> = tree.path(frame).map(|node| node.function).collect();
    let mut seen = BTreeSet::new();
    let outermost_first = functions.iter().enumerate().rev();
    outermost_first
        .filter(|(_, function)| seen.insert(**function))
        .map(|(index, function)| (*function, functions.get(index + 1).copied()))
        .collect()
}

fn function_row(tree: &CallTree, function: u32, sums: &FunctionSums, all: u64, ranks: usize) -> FunctionRow {
    let sampled = &tree.functions[function as usize];
    let most = |times: &BTreeMap<Option<u32>, u64>| times.iter().max_by_key(|(_, ns)| **ns).and_then(|(key, _)| *key);
    let own: u64 = sums.ranks.values().sum();
    let (longest_rank, longest) = sums.ranks.iter().max_by_key(|(_, ns)| **ns).map_or((0, 0), |(rank, ns)| (*rank, *ns));
    FunctionRow {
        function: sampled.name.clone(),
        file: sampled.file.clone(),
        line: most(&sums.lines),
        module: sampled.module.clone(),
        self_s: seconds(own),
        share: share(own, all),
        total_s: seconds(sums.callers.values().sum::<u64>()),
        caller: most(&sums.callers).map(|caller| tree.functions[caller as usize].name.clone()),
        rank_mean_s: seconds(own) / ranks.max(1) as f64,
        longest_rank,
        longest_s: seconds(longest),
    }
}

fn module_rows(frames: &[StackFrame], stacks: &[(&SampledStack, u64)]) -> Vec<ModuleRow> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (stack, ns) in stacks {
        let module = if stack.activity == SampleActivity::Kernel { KERNEL } else { &frames[stack.frame as usize].module };
        *sums.entry(module).or_default() += ns;
    }
    let all: u64 = sums.values().sum();
    let row = |(module, ns): (&str, u64)| ModuleRow { module: module.to_owned(), seconds: seconds(ns), share: share(ns, all) };
    let mut rows: Vec<ModuleRow> = sums.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    rows
}

fn segment_rows(
    recording: &Recording,
    tree: &CallTree,
    stacks: &[(&SampledStack, u64)],
    ranks: usize,
) -> Result<Vec<SegmentFunctions>, Error> {
    let frames = recording.stack_frames()?;
    let place = |segment: Segment| [segment.from, segment.to].map(|site| SourceLocation::of(recording, site));
    let mut segments: BTreeMap<[SourceLocation; 2], Vec<(&SampledStack, u64)>> = BTreeMap::new();
    for (stack, ns) in stacks {
        if let Some(segment) = stack.segment {
            segments.entry(place(segment)).or_default().push((stack, *ns));
        }
    }
    let all: u64 = stacks.iter().map(|(_, ns)| ns).sum();
    let sum = |stacks: &[(&SampledStack, u64)]| stacks.iter().map(|(_, ns)| ns).sum::<u64>();
    let mut rows: Vec<SegmentFunctions> = segments
        .into_iter()
        .filter(|(_, stacks)| share(sum(stacks), all) >= MIN_SEGMENT_SHARE)
        .map(|([from, to], stacks)| {
            let mut functions = function_rows(frames, tree, &stacks, ranks);
            functions.truncate(MAX_SEGMENT_FUNCTIONS);
            SegmentFunctions { from, to, seconds: seconds(sum(&stacks)), functions }
        })
        .collect();
    rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    Ok(rows)
}
