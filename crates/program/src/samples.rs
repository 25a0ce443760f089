//! Sampled stacks as functions with their callers: how long a thread, a rank or a selection of both was in each.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use sintonia_recording::samples::{Sample, StackFrame, ThreadSamples};
use sintonia_recording::{Error, Recording};
use sintonia_text::function_name::short_function_name;

/// What a thread did at a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SampleActivity {
    /// It ran the innermost function.
    Computation,
    /// It was in the kernel, called by the innermost function.
    Kernel,
    /// It was in an MPI call of the innermost function.
    Mpi,
}

/// Time by stack: the innermost frame, by its index in [`Recording::stack_frames`], and the activity.
pub type StackTimes = BTreeMap<(u32, SampleActivity), u64>;

/// The place of a point in time among the calls of a thread, which are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPosition {
    /// Inside a call.
    Inside(usize),
    /// Before a call, and after the one before it.
    Before(usize),
    /// After the last call.
    Last,
}

impl CallPosition {
    /// Finds a point in time among calls with these times.
    pub fn find(time: i64, enter: &[i64], leave: &[i64]) -> CallPosition {
        let row = leave.partition_point(|leave| *leave <= time);
        match enter.get(row) {
            None => CallPosition::Last,
            Some(enter) if *enter <= time => CallPosition::Inside(row),
            Some(_) => CallPosition::Before(row),
        }
    }
}

/// What a thread did at a sample, given its place among the calls of the thread if it has any.
pub fn activity(sample: &Sample, position: Option<CallPosition>) -> SampleActivity {
    if sample.in_mpi || matches!(position, Some(CallPosition::Inside(_))) {
        SampleActivity::Mpi
    } else if sample.in_kernel {
        SampleActivity::Kernel
    } else {
        SampleActivity::Computation
    }
}

/// For each frame whether it belongs to the runtime of OpenMP, or to the C library on its behalf: such a thread starts others or waits for them.
pub fn openmp_runtime_frames(frames: &[StackFrame]) -> Vec<bool> {
    const RUNTIMES: [&str; 3] = ["libgomp.so", "libomp.so", "libiomp5.so"];
    const C_LIBRARIES: [&str; 3] = ["libc.so", "libc-2", "libpthread"];
    let mut is_runtime: Vec<bool> = Vec::with_capacity(frames.len());
    for frame in frames {
        let file = frame.module.rsplit('/').next().unwrap_or_default();
        let is_one_of = |names: &[&str]| names.iter().any(|name| file.starts_with(name));
        let is_for_caller = || is_one_of(&C_LIBRARIES) && frame.caller.is_some_and(|caller| is_runtime.get(caller as usize) == Some(&true));
        let runtime = is_one_of(&RUNTIMES) || is_for_caller();
        is_runtime.push(runtime);
    }
    is_runtime
}

/// Nanoseconds that a sample of a thread stands for. Samples that were lost count as those that were not.
pub fn sample_ns(thread: &ThreadSamples, period_ns: u64) -> u64 {
    thread.sample_ns(period_ns)
}

/// A function of the program, of a library or of the system.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SampledFunction {
    /// Its name; without a symbol, that of its file.
    pub name: String,
    /// Whether it has a symbol.
    pub has_symbol: bool,
    /// The source file, with debug information.
    pub file: Option<String>,
    /// The executable or library; empty for code that is in no file.
    pub module: String,
}

impl SampledFunction {
    fn of(frame: &StackFrame) -> SampledFunction {
        SampledFunction {
            name: frame.name().into_owned(),
            has_symbol: frame.function.is_some(),
            file: frame.file.clone(),
            module: frame.module.clone(),
        }
    }

    /// Its name without parameters.
    pub fn short_name(&self) -> String {
        if self.has_symbol { short_function_name(&self.name) } else { self.name.clone() }
    }
}

/// The functions of all sampled stacks, each under its caller. Lines are left out.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    /// The functions.
    pub functions: Vec<SampledFunction>,
    /// The nodes, each after its caller.
    pub nodes: Vec<CallTreeNode>,
    /// The node of each frame.
    node_of_frame: Vec<u32>,
}

/// A function under its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallTreeNode {
    /// The node of its caller.
    pub caller: Option<u32>,
    /// The function, by index.
    pub function: u32,
}

/// Time in a function, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionTime {
    /// In the function itself, and in the kernel and MPI where it called them.
    pub self_ns: u64,
    /// In it and in what it called.
    pub total_ns: u64,
}

impl CallTree {
    /// The functions of the samples of a recording.
    pub fn of(recording: &Recording) -> Result<CallTree, Error> {
        Ok(CallTree::from_frames(recording.stack_frames()?))
    }

    /// The functions of frames, each of which is after its caller.
    pub fn from_frames(frames: &[StackFrame]) -> CallTree {
        let mut tree = CallTree::default();
        let mut functions: FxHashMap<SampledFunction, u32> = FxHashMap::default();
        let mut nodes: FxHashMap<CallTreeNode, u32> = FxHashMap::default();
        for frame in frames {
            let function = *functions.entry(SampledFunction::of(frame)).or_insert_with_key(|function| {
                tree.functions.push(function.clone());
                tree.functions.len() as u32 - 1
            });
            let caller = frame.caller.and_then(|caller| tree.node_of_frame.get(caller as usize).copied());
            let node = *nodes.entry(CallTreeNode { caller, function }).or_insert_with_key(|node| {
                tree.nodes.push(*node);
                tree.nodes.len() as u32 - 1
            });
            tree.node_of_frame.push(node);
        }
        tree
    }

    /// The node of a frame.
    pub fn node_of_frame(&self, frame: u32) -> u32 {
        self.node_of_frame[frame as usize]
    }

    /// The function of a frame.
    pub fn function_of_frame(&self, frame: u32) -> u32 {
        self.nodes[self.node_of_frame(frame) as usize].function
    }

    /// The nodes from a frame to `main`.
    pub fn path(&self, frame: u32) -> impl Iterator<Item = CallTreeNode> + '_ {
        let node = |index: u32| self.nodes[index as usize];
        std::iter::successors(Some(node(self.node_of_frame(frame))), move |found| found.caller.map(node))
    }

    /// Time in each function that has any; a recursive function counts once in each stack.
    pub fn function_times(&self, stacks: impl IntoIterator<Item = (u32, u64)>) -> BTreeMap<u32, FunctionTime> {
        let mut times: BTreeMap<u32, FunctionTime> = BTreeMap::new();
        let mut seen: Vec<u32> = Vec::new();
        for (frame, ns) in stacks {
            times.entry(self.function_of_frame(frame)).or_default().self_ns += ns;
            seen.clear();
            for node in self.path(frame) {
                if !seen.contains(&node.function) {
                    seen.push(node.function);
                    times.entry(node.function).or_default().total_ns += ns;
                }
            }
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, line: u32, caller: Option<u32>) -> StackFrame {
        StackFrame { caller, function: Some(function.into()), file: Some("a.c".into()), line: Some(line), module: "a.out".into() }
    }

    fn sample(time: i64, in_mpi: bool) -> Sample {
        Sample { time, frame: 0, in_kernel: false, in_mpi, is_truncated: false }
    }

    #[test]
    fn a_time_is_inside_a_call_or_before_one() {
        let (enter, leave) = ([10, 30], [20, 40]);
        let found = [5, 10, 19, 20, 30, 40].map(|time| CallPosition::find(time, &enter, &leave));
        use CallPosition::{Before, Inside, Last};
        assert_eq!(found, [Before(0), Inside(0), Inside(0), Before(1), Inside(1), Last]);
        assert_eq!(activity(&sample(0, false), Some(Before(0))), SampleActivity::Computation);
        assert_eq!(activity(&sample(0, false), Some(Inside(0))), SampleActivity::Mpi);
        assert_eq!(activity(&sample(0, true), None), SampleActivity::Mpi);
    }

    #[test]
    fn lost_samples_count_as_those_that_were_kept() {
        let thread = |lost| ThreadSamples { thread: 0, lost, samples: vec![sample(0, false); 4] };
        assert_eq!([0, 4].map(|lost| sample_ns(&thread(lost), 100)), [100, 200]);
        assert_eq!(sample_ns(&ThreadSamples::default(), 100), 100);
    }

    #[test]
    fn functions_have_their_own_time_and_that_of_what_they_call() {
        // main:1 < work:5 < work:6 (recursive), main:2 < work:5.
        let frames = [
            frame("main", 1, None),
            frame("work", 5, Some(0)),
            frame("work", 6, Some(1)),
            frame("main", 2, None),
            frame("work", 5, Some(3)),
        ];
        let tree = CallTree::from_frames(&frames);
        assert_eq!((tree.functions.len(), tree.nodes.len()), (2, 3));
        assert_eq!((tree.node_of_frame(1), tree.node_of_frame(4)), (1, 1));
        let times = tree.function_times([(0, 1), (1, 10), (2, 100), (4, 1000)]);
        let shown: Vec<_> = times.iter().map(|(function, time)| (*function, time.self_ns, time.total_ns)).collect();
        assert_eq!(shown, [(0, 1, 1111), (1, 1110, 1110)]);
    }

    #[test]
    fn a_thread_that_waits_in_the_runtime_of_openmp_is_known_by_its_frames() {
        let frame = |module: &str, caller| StackFrame { caller, module: module.into(), ..StackFrame::default() };
        let frames = [
            frame("/home/me/app", None),
            frame("/usr/lib/libgomp.so.1", Some(0)),
            frame("/home/me/app", Some(1)),
            frame("/lib/libc.so.6", Some(1)),
            frame("/lib/libc.so.6", Some(2)),
            frame("/usr/lib/llvm-14/lib/libomp.so.5", None),
        ];
        assert_eq!(openmp_runtime_frames(&frames), [false, true, false, true, false, true]);
    }

    #[test]
    fn code_without_a_symbol_is_named_by_its_file() {
        let frames = [("/usr/lib/libx.so.1", "code in libx.so.1"), ("", "generated code")];
        for (module, name) in frames {
            let tree = CallTree::from_frames(&[StackFrame { module: module.into(), ..StackFrame::default() }]);
            assert_eq!((tree.functions[0].name.as_str(), tree.functions[0].short_name().as_str()), (name, name));
        }
    }
}
