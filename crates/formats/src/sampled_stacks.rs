//! Sampled stacks as the profile formats need them: the innermost frame of a sample in MPI is the MPI function, that of a sample in the
//! kernel is `[kernel]`, and all stacks are paths in one tree.

use std::collections::HashMap;

use sintonia_mpi::FunctionId;
use sintonia_recording::Recording;
use sintonia_recording::header::{RecordedRank, RecordingHeader};
use sintonia_recording::samples::{Sample, StackFrame, ThreadSamples};

use crate::{Error, timeline};

/// The innermost frame of a sample in the kernel.
const KERNEL: &str = "[kernel]";
/// The innermost frame of a sample in an MPI call that is not known.
const UNKNOWN_MPI_CALL: &str = "MPI";

/// What a frame stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum FrameKind {
    /// A function of the program, a library or the system.
    #[default]
    Function,
    /// An MPI call.
    Mpi,
    /// The kernel.
    Kernel,
}

/// A function at a line of the source, an MPI call or the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ProfileFrame {
    pub kind: FrameKind,
    pub name: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    /// The executable or library; empty where there is none.
    pub module: String,
}

impl ProfileFrame {
    fn from_stack_frame(frame: &StackFrame) -> ProfileFrame {
        let name = frame.name().into_owned();
        let (kind, file) = (FrameKind::Function, frame.file.clone());
        ProfileFrame { kind, name, file, line: frame.line, module: frame.module.clone() }
    }

    fn innermost(kind: FrameKind, name: &str) -> ProfileFrame {
        ProfileFrame { kind, name: name.into(), ..ProfileFrame::default() }
    }
}

/// A frame under its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StackNode {
    /// The node of its caller, which is before it.
    pub caller: Option<u32>,
    /// By index in [`SampledStacks::frames`].
    pub frame: u32,
}

/// The stack of a thread at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackSample {
    /// In nanoseconds since the start of the recording.
    pub time: i64,
    /// Its innermost frame, by index in [`SampledStacks::nodes`].
    pub node: u32,
}

/// The samples of a thread, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SampledThread {
    pub thread: u16,
    /// What a sample stands for, in nanoseconds on the processor.
    pub sample_ns: u64,
    pub samples: Vec<StackSample>,
}

/// The frames of the samples read so far, each once, and the stacks as a tree.
#[derive(Default)]
pub(crate) struct SampledStacks {
    pub frames: Vec<ProfileFrame>,
    pub nodes: Vec<StackNode>,
    frame_ids: HashMap<ProfileFrame, u32>,
    node_ids: HashMap<StackNode, u32>,
    /// The node of each frame of the recording.
    node_of_stack_frame: Vec<u32>,
    samples: u64,
    lost: u64,
    truncated: u64,
}

impl SampledStacks {
    /// The stacks of a recording that has samples.
    pub(crate) fn new(recording: &Recording) -> Result<SampledStacks, Error> {
        let mut stacks = SampledStacks::default();
        for frame in recording.stack_frames()? {
            let caller = frame.caller.map(|caller| stacks.node_of_stack_frame[caller as usize]);
            let node = stacks.intern(caller, ProfileFrame::from_stack_frame(frame));
            stacks.node_of_stack_frame.push(node);
        }
        if stacks.nodes.is_empty() { Err(Error::NoSamples) } else { Ok(stacks) }
    }

    /// The samples of a rank's threads that have any.
    pub(crate) fn read_rank(&mut self, recording: &Recording, rank: &RecordedRank) -> Result<Vec<SampledThread>, Error> {
        let threads = recording.samples(rank.rank)?;
        let calls = find_calls(recording, rank.rank, &threads)?;
        let period_ns = rank.sampling.map_or(1, |sampling| sampling.period_ns);
        let mut sampled = Vec::new();
        for (thread, calls) in threads.iter().zip(calls).filter(|(thread, _)| !thread.samples.is_empty()) {
            self.samples += thread.samples.len() as u64;
            self.lost += thread.lost;
            let samples = thread.samples.iter().zip(calls).map(|(sample, call)| self.stack_sample(sample, call)).collect();
            sampled.push(SampledThread { thread: thread.thread, sample_ns: thread.sample_ns(period_ns), samples });
        }
        Ok(sampled)
    }

    /// What the samples that were read lack, one sentence each; an error if there were none.
    pub(crate) fn notes(&self) -> Result<Vec<String>, Error> {
        if self.samples == 0 {
            return Err(Error::NoSamples);
        }
        let lost = (self.lost > 0).then(|| format!("{} samples were lost; the {} others count for them", self.lost, self.samples));
        let truncated = (self.truncated > 0)
            .then(|| format!("the stacks of {} of {} samples could not be unwound to their end", self.truncated, self.samples));
        Ok(lost.into_iter().chain(truncated).collect())
    }

    /// The nodes from the innermost one to the outermost.
    pub(crate) fn path(&self, node: u32) -> impl Iterator<Item = StackNode> + '_ {
        let node_at = |index: u32| self.nodes[index as usize];
        std::iter::successors(Some(node_at(node)), move |found| found.caller.map(node_at))
    }

    fn stack_sample(&mut self, sample: &Sample, call: Option<FunctionId>) -> StackSample {
        self.truncated += u64::from(sample.is_truncated);
        let function = self.node_of_stack_frame[sample.frame as usize];
        let innermost = match call {
            Some(call) => Some(ProfileFrame::innermost(FrameKind::Mpi, call.name())),
            None if sample.in_mpi => Some(ProfileFrame::innermost(FrameKind::Mpi, UNKNOWN_MPI_CALL)),
            None if sample.in_kernel => Some(ProfileFrame::innermost(FrameKind::Kernel, KERNEL)),
            None => None,
        };
        let node = innermost.map_or(function, |frame| self.intern(Some(function), frame));
        StackSample { time: sample.time, node }
    }

    fn intern(&mut self, caller: Option<u32>, frame: ProfileFrame) -> u32 {
        let frame = *self.frame_ids.entry(frame).or_insert_with_key(|frame| {
            self.frames.push(frame.clone());
            self.frames.len() as u32 - 1
        });
        *self.node_ids.entry(StackNode { caller, frame }).or_insert_with_key(|node| {
            self.nodes.push(*node);
            self.nodes.len() as u32 - 1
        })
    }
}

/// Label of a thread, with its rank and host.
pub(crate) fn thread_label(header: &RecordingHeader, rank: &RecordedRank, thread: u16) -> String {
    let rank = timeline::rank_label(header, rank);
    if thread == 0 { rank } else { format!("{rank}, thread {thread}") }
}

/// The call in which each sample of each thread is.
fn find_calls(recording: &Recording, rank: u32, threads: &[ThreadSamples]) -> Result<Vec<Vec<Option<FunctionId>>>, Error> {
    let mut found: Vec<Vec<Option<FunctionId>>> = threads.iter().map(|thread| vec![None; thread.samples.len()]).collect();
    let mut next = vec![0; threads.len()];
    let thread_index: HashMap<u16, usize> = threads.iter().enumerate().map(|(index, thread)| (thread.thread, index)).collect();
    let mut calls = recording.calls(rank)?;
    while let Some(call) = calls.next_call() {
        let Some(&thread) = thread_index.get(&call.thread) else { continue };
        // Calls of a thread are in order, and so are samples.
        let (samples, next) = (&threads[thread].samples, &mut next[thread]);
        while let Some(sample) = samples.get(*next).filter(|sample| sample.time < call.leave) {
            found[thread][*next] = (sample.time >= call.enter).then_some(call.descriptor.function);
            *next += 1;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::sampled_example;

    fn names(stacks: &SampledStacks, node: u32) -> Vec<&str> {
        let mut names: Vec<&str> = stacks.path(node).map(|node| stacks.frames[node.frame as usize].name.as_str()).collect();
        names.reverse();
        names
    }

    #[test]
    fn the_innermost_frame_is_the_call_or_the_kernel() {
        let example = sampled_example();
        let mut stacks = SampledStacks::new(&example.recording).unwrap();
        let threads = stacks.read_rank(&example.recording, &example.recording.header.ranks[0]).unwrap();
        assert_eq!(threads.iter().map(|thread| (thread.thread, thread.sample_ns)).collect::<Vec<_>>(), [(0, 20), (7, 10)]);
        let shown: Vec<_> = threads[0].samples.iter().map(|sample| (sample.time, names(&stacks, sample.node))).collect();
        let expected: [(i64, &[&str]); 5] = [
            (50, &["main", "work"]),
            (150, &["main", "MPI_Send"]),
            (200, &["main", "work", KERNEL]),
            (250, &["main", "work"]),
            (400, &["main", "MPI"]),
        ];
        assert_eq!(shown, expected.map(|(time, names)| (time, names.to_vec())));
        assert_eq!(names(&stacks, threads[1].samples[0].node), ["code in liba.so"]);
    }

    #[test]
    fn equal_functions_at_one_line_are_one_frame() {
        let example = sampled_example();
        let mut stacks = SampledStacks::new(&example.recording).unwrap();
        let frames = stacks.frames.len();
        stacks.read_rank(&example.recording, &example.recording.header.ranks[0]).unwrap();
        let added: Vec<_> = stacks.frames[frames..].iter().map(|frame| frame.name.as_str()).collect();
        assert_eq!(added, ["MPI_Send", KERNEL, "MPI"]);
        let lines: Vec<_> = stacks.frames[..frames].iter().map(|frame| (frame.name.as_str(), frame.line)).collect();
        assert_eq!(lines, [("main", Some(3)), ("work", Some(8)), ("main", Some(4)), ("code in liba.so", None)]);
    }

    #[test]
    fn what_is_lost_or_truncated_is_reported() {
        let example = sampled_example();
        let mut stacks = SampledStacks::new(&example.recording).unwrap();
        assert!(matches!(stacks.notes(), Err(Error::NoSamples)));
        stacks.read_rank(&example.recording, &example.recording.header.ranks[0]).unwrap();
        let notes = stacks.notes().unwrap();
        assert_eq!(
            notes,
            ["5 samples were lost; the 6 others count for them", "the stacks of 1 of 6 samples could not be unwound to their end"]
        );
        assert!(matches!(SampledStacks::new(&crate::example::example().recording), Err(Error::NoSamples)));
    }
}
