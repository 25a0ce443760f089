//! The sampled stacks of a recording, each with what the thread did in its innermost function: the function itself, the kernel, or an MPI
//! call, which is found among the recorded calls once. Queries then only go through samples, of which there are few.

mod line_times;
mod stack_tree;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use rayon::prelude::*;
use serde::Serialize;
use sintonia_mpi::FunctionId;
use sintonia_program::samples::{CallPosition, CallTree, SampleActivity, SampledFunction, activity, sample_ns};
use sintonia_recording::call_table::CallTable;
use sintonia_recording::samples::{Sample, StackFrame, ThreadSamples};
use sintonia_recording::{Error, Recording};

pub(crate) use line_times::LineTimes;
pub(crate) use stack_tree::StackTree;

/// The samples of a recording.
pub(crate) struct RecordedStacks {
    /// All functions; those of frames have the same index in the [`CallTree`].
    pub functions: Vec<StackFunction>,
    frames: Vec<StackFrame>,
    tree: CallTree,
    threads: Vec<ThreadStacks>,
    /// The index of `[kernel]` among the functions.
    kernel: u32,
    /// The indices of MPI functions among the functions; `None` for calls that were not recorded.
    mpi: BTreeMap<Option<FunctionId>, u32>,
}

/// A function in the answers to queries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct StackFunction {
    pub name: String,
    /// The name for labels, without parameters and template arguments, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_name: Option<String>,
    pub file: Option<String>,
    pub module: String,
    pub kind: ModuleKind,
}

/// Where a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ModuleKind {
    /// In the executable, or in code that was generated at run time.
    Program,
    /// In a shared library.
    Library,
    /// A function of MPI.
    Mpi,
    /// In the kernel.
    Kernel,
}

/// What a thread did in its innermost function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum StackLeaf {
    Computation,
    Kernel,
    Mpi(Option<FunctionId>),
}

/// The samples of a thread.
struct ThreadStacks {
    rank: u32,
    thread: u16,
    /// Nanoseconds that a sample stands for.
    sample_ns: u64,
    samples: Vec<LabelledSample>,
}

struct LabelledSample {
    time: i64,
    frame: u32,
    leaf: StackLeaf,
    is_truncated: bool,
}

/// A part of a run.
pub(crate) struct StackSelection {
    /// The time range.
    pub range: (i64, i64),
    /// Sorted.
    pub ranks: Vec<u32>,
    /// `None` for all.
    pub threads: Option<Vec<u16>>,
}

/// What a selection has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SelectedStacks {
    /// Nanoseconds by innermost frame and what the thread did there.
    times: HashMap<(u32, StackLeaf), u64>,
    /// The number of samples.
    pub samples: u64,
    /// How many of them have a stack that goes on above its outermost frame.
    pub truncated: u64,
    /// How many ranks have any, and how many threads.
    pub ranks: usize,
    pub threads: usize,
}

impl RecordedStacks {
    /// Reads the samples of all ranks, and the calls that they are in. `step` is called once for each rank.
    pub(crate) fn read(recording: &Recording, step: &(dyn Fn() + Sync)) -> Result<RecordedStacks, Error> {
        let of_rank = |rank: u32| rank_stacks(recording, rank).inspect(|_| step());
        let ranks: Vec<u32> = recording.header.ranks.iter().map(|rank| rank.rank).collect();
        let threads: Vec<Vec<ThreadStacks>> = ranks.into_par_iter().map(of_rank).collect::<Result<_, Error>>()?;
        Ok(RecordedStacks::new(recording.stack_frames()?.to_vec(), threads.into_iter().flatten().collect()))
    }

    fn new(frames: Vec<StackFrame>, threads: Vec<ThreadStacks>) -> RecordedStacks {
        let tree = CallTree::from_frames(&frames);
        let mut functions: Vec<StackFunction> = tree.functions.iter().map(StackFunction::of).collect();
        let mut add = |name: &str, kind| {
            functions.push(StackFunction { name: name.to_owned(), short_name: None, file: None, module: String::new(), kind });
            functions.len() as u32 - 1
        };
        let kernel = add("[kernel]", ModuleKind::Kernel);
        let leaves = threads.iter().flat_map(|thread| &thread.samples).map(|sample| sample.leaf);
        let called: BTreeSet<Option<FunctionId>> =
            leaves.filter_map(|leaf| if let StackLeaf::Mpi(function) = leaf { Some(function) } else { None }).collect();
        let name = |function: Option<FunctionId>| function.map_or("an MPI call", FunctionId::name);
        let mpi = called.into_iter().map(|function| (function, add(name(function), ModuleKind::Mpi))).collect();
        RecordedStacks { functions, frames, tree, threads, kernel, mpi }
    }

    /// The highest number of a thread with samples.
    pub(crate) fn last_thread(&self) -> u16 {
        self.threads.iter().map(|thread| thread.thread).max().unwrap_or(0)
    }

    /// The times of a selection.
    pub(crate) fn select(&self, selection: &StackSelection) -> SelectedStacks {
        let mut selected = SelectedStacks::default();
        let mut ranks = BTreeSet::new();
        let (from, to) = selection.range;
        for thread in self.threads.iter().filter(|thread| selection.has_thread(thread)) {
            let before = selected.samples;
            for sample in thread.samples.iter().filter(|sample| (from..to).contains(&sample.time)) {
                *selected.times.entry((sample.frame, sample.leaf)).or_default() += thread.sample_ns;
                selected.samples += 1;
                selected.truncated += u64::from(sample.is_truncated);
            }
            if selected.samples > before {
                selected.threads += 1;
                ranks.insert(thread.rank);
            }
        }
        selected.ranks = ranks.len();
        selected
    }

    /// The index of the function of a leaf that is a node of its own.
    fn leaf_function(&self, leaf: StackLeaf) -> Option<u32> {
        match leaf {
            StackLeaf::Computation => None,
            StackLeaf::Kernel => Some(self.kernel),
            StackLeaf::Mpi(function) => self.mpi.get(&function).copied(),
        }
    }

    /// The frames from the innermost one to `main`.
    fn path(&self, frame: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(frame), |frame| self.frames[*frame as usize].caller)
    }
}

impl StackSelection {
    fn has_thread(&self, thread: &ThreadStacks) -> bool {
        self.ranks.binary_search(&thread.rank).is_ok() && self.threads.as_ref().is_none_or(|threads| threads.contains(&thread.thread))
    }
}

impl StackFunction {
    fn of(function: &SampledFunction) -> StackFunction {
        let file_name = function.module.rsplit('/').next().unwrap_or_default();
        let is_library = file_name.ends_with(".so") || file_name.contains(".so.") || file_name.starts_with('[');
        let kind = if is_library { ModuleKind::Library } else { ModuleKind::Program };
        let (name, short_name) = (function.name.clone(), function.short_name());
        let short_name = (short_name != name).then_some(short_name);
        StackFunction { name, short_name, file: function.file.clone(), module: function.module.clone(), kind }
    }
}

/// The samples of a rank; its calls are only read if it has any.
fn rank_stacks(recording: &Recording, rank: u32) -> Result<Vec<ThreadStacks>, Error> {
    let sampled = recording.samples(rank)?;
    if sampled.is_empty() {
        return Ok(Vec::new());
    }
    let tables = recording.tables(rank)?;
    let period_ns = recording.header.rank(rank).and_then(|rank| rank.sampling).map_or(0, |sampling| sampling.period_ns);
    let stacks = |thread: &ThreadSamples| {
        let table = tables.iter().find(|table| table.thread == thread.thread);
        let samples = thread.samples.iter().map(|sample| LabelledSample {
            time: sample.time,
            frame: sample.frame,
            leaf: leaf(sample, table),
            is_truncated: sample.is_truncated,
        });
        ThreadStacks { rank, thread: thread.thread, sample_ns: sample_ns(thread, period_ns), samples: samples.collect() }
    };
    Ok(sampled.iter().map(stacks).collect())
}

/// What a thread with these calls did at a sample.
fn leaf(sample: &Sample, table: Option<&CallTable>) -> StackLeaf {
    let position = table.map(|table| CallPosition::find(sample.time, &table.enter, &table.leave));
    match activity(sample, position) {
        SampleActivity::Computation => StackLeaf::Computation,
        SampleActivity::Kernel => StackLeaf::Kernel,
        SampleActivity::Mpi => {
            let row = table.zip(position).and_then(|(table, position)| nearest_call(table, position, sample.time));
            StackLeaf::Mpi(row.zip(table).map(|(row, table)| table.descriptors[table.descriptor_ids[row] as usize].function))
        }
    }
}

/// The call at a time. A thread is in a call for a moment before it is entered and after it is left, as far as its recorded times tell.
fn nearest_call(table: &CallTable, position: CallPosition, time: i64) -> Option<usize> {
    let distance = |row: usize| (table.enter[row] - time).max(time - table.leave[row]);
    match position {
        CallPosition::Inside(row) => Some(row),
        CallPosition::Before(row) => row.checked_sub(1).into_iter().chain([row]).min_by_key(|row| distance(*row)),
        CallPosition::Last => table.len().checked_sub(1),
    }
}

/// The functions with a source file in which most samples are, by index.
pub(crate) fn hottest_functions(recording: &Recording, most: usize) -> Result<Vec<u32>, Error> {
    let tree = CallTree::of(recording)?;
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for rank in &recording.header.ranks {
        for sample in recording.samples(rank.rank)?.iter().flat_map(|thread| &thread.samples) {
            *counts.entry(tree.function_of_frame(sample.frame)).or_default() += 1;
        }
    }
    let mut functions: Vec<(u32, u64)> =
        counts.into_iter().filter(|(function, _)| tree.functions[*function as usize].file.is_some()).collect();
    functions.sort_by_key(|(_, count)| Reverse(*count));
    Ok(functions.into_iter().take(most).map(|(function, _)| function).collect())
}
