//! Writes the files of a recording from calls.

use std::borrow::Borrow;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use sintonia_mpi::FUNCTIONS;
use tempfile::TempDir;

use super::calls::TestCall;
use crate::Recording;
use crate::call_table::CallDescriptor;
use crate::counters::{self, CounterIntervalKind, RankCounters};
use crate::definitions::{FORMAT_VERSION, SamplingDefinition};
use crate::header::{
    CallSiteDefinition, CommunicatorDefinition, LinearClock, ObjectDefinition, ProcessExit, RecordedRank, RecordingHeader, SourceFrame,
};
use crate::host::OffCpuSource;
use crate::neighbours::{self, TopologyNeighbours};
use crate::off_cpu::{self, ThreadOffCpu};
use crate::samples::{self, StackFrame, ThreadSamples};
use crate::sealed::{RankFileWriter, TickTotals, WriteStats};

/// Lines of the program; each can be a call site.
const LINES: u32 = 100;

/// A recording under construction: ranks are added one after another and written at once, so they may have any length.
///
/// Clocks tick in nanoseconds, call site *n* is line *n* of `/home/me/program.c`, and there are one communicator, the world, and one
/// window.
pub struct RecordingBuilder {
    header: RecordingHeader,
    folder: PathBuf,
    temporary: Option<TempDir>,
}

impl Default for RecordingBuilder {
    fn default() -> RecordingBuilder {
        RecordingBuilder::new()
    }
}

impl RecordingBuilder {
    /// A recording in a temporary folder.
    pub fn new() -> RecordingBuilder {
        let temporary = tempfile::tempdir().expect("a temporary folder");
        RecordingBuilder { folder: temporary.path().to_owned(), temporary: Some(temporary), header: empty_header() }
    }

    /// A recording in this folder, which is created if necessary.
    pub fn in_folder(folder: &Path) -> RecordingBuilder {
        std::fs::create_dir_all(folder).expect("a folder for the recording");
        RecordingBuilder { temporary: None, folder: folder.to_owned(), header: empty_header() }
    }

    /// Another name for the source file of the program.
    pub fn source(mut self, file: &str) -> RecordingBuilder {
        self.header.sites = call_sites(file);
        self
    }

    /// Adds the next rank, which made these calls. The calls of each thread must come in order.
    pub fn rank(self, calls: impl IntoIterator<Item = impl Borrow<TestCall>>) -> RecordingBuilder {
        let rank = self.header.size as u32;
        let mut writer = self.writer(rank);
        let mut entry = RecordedRank { begin_ns: i64::MAX, ..finalized(rank) };
        for call in calls {
            let call = call.borrow();
            writer.write_call(call.thread, call.enter, call.leave, &call.descriptor).expect("a call is written");
            include(&mut entry, call);
        }
        entry.calls = writer.finish().expect("a rank is written").calls;
        entry.begin_ns = entry.begin_ns.min(entry.end_ns);
        self.add(entry)
    }

    /// Adds the next rank of a profile: only the totals of these calls, without requests.
    pub fn profile_rank(mut self, calls: impl IntoIterator<Item = TestCall>) -> RecordingBuilder {
        let rank = self.header.size as u32;
        let mut entry = RecordedRank { begin_ns: i64::MAX, ..finalized(rank) };
        let mut totals: Vec<(CallDescriptor, TickTotals)> = Vec::new();
        for call in calls {
            include(&mut entry, &call);
            let ticks = call.leave - call.enter;
            let (sent, received) = (call.descriptor.bytes_sent(), call.descriptor.bytes_received());
            let without_requests = CallDescriptor { requests: Vec::new(), ..call.descriptor };
            totals.push((without_requests, TickTotals { calls: 1, ticks, min: ticks, max: ticks, sent, received }));
        }
        let mut writer = self.writer(rank);
        writer.write_totals(0, &totals).expect("totals are written");
        entry.calls = writer.finish().expect("a rank is written").calls;
        entry.begin_ns = entry.begin_ns.min(entry.end_ns);
        self.header.profile = true;
        self.add(entry)
    }

    /// Adds several ranks.
    pub fn ranks(self, ranks: impl IntoIterator<Item = impl IntoIterator<Item = impl Borrow<TestCall>>>) -> RecordingBuilder {
        ranks.into_iter().fold(self, |builder, calls| builder.rank(calls))
    }

    /// Adds a rank that left nothing.
    pub fn missing_rank(mut self) -> RecordingBuilder {
        self.header.size += 1;
        self.header.communicators[0].members = everyone(self.header.size);
        self
    }

    /// Adds a rank whose file was written by a [`RankFileWriter`], for ranks that are written at the same time.
    pub fn written_rank(self, written: WriteStats, end_ns: i64) -> RecordingBuilder {
        let rank = self.header.size as u32;
        self.add(RecordedRank { calls: written.calls, threads: 1, end_ns, ..finalized(rank) })
    }

    /// When the threads of the latest rank were off the processor; it is known from context switches.
    pub fn off_cpu(mut self, threads: &[ThreadOffCpu]) -> RecordingBuilder {
        let rank = self.header.ranks.last_mut().expect("a rank");
        off_cpu::write(&self.folder, rank.rank, threads).expect("a file for the rank");
        rank.off_cpu = Some(OffCpuSource::ContextSwitches);
        self
    }

    /// The samples of the threads of the latest rank, taken after this time on the processor.
    pub fn samples(mut self, period_ns: u64, threads: &[ThreadSamples]) -> RecordingBuilder {
        let rank = self.header.ranks.last_mut().expect("a rank");
        samples::write(&self.folder, rank.rank, threads).expect("a file for the rank");
        rank.sampling = Some(SamplingDefinition { period_ns, kernel: true, stacks: true });
        self
    }

    /// What was counted of the threads of the latest rank.
    pub fn counters(self, intervals: CounterIntervalKind, counters: &RankCounters) -> RecordingBuilder {
        let rank = self.header.ranks.last().expect("a rank");
        counters::write(&self.folder, rank.rank, intervals, counters).expect("a file for the rank");
        self
    }

    /// The frames of all sampled stacks.
    pub fn stack_frames(self, frames: Vec<StackFrame>) -> RecordingBuilder {
        samples::write_frames(&self.folder, frames).expect("a file for the frames");
        self
    }

    /// Changes the header, which describes the ranks added so far.
    pub fn header(mut self, change: impl FnOnce(&mut RecordingHeader)) -> RecordingBuilder {
        change(&mut self.header);
        self
    }

    /// Writes the header, which completes the recording.
    pub fn write(self) -> TestRecording {
        self.header.write(&self.folder).expect("the header is written");
        let recording = Recording::open(&self.folder).expect("a recording");
        TestRecording { recording, folder: self.folder, temporary: self.temporary }
    }

    fn writer(&self, rank: u32) -> RankFileWriter {
        RankFileWriter::create(&self.folder, rank).expect("a file for the rank")
    }

    fn add(mut self, entry: RecordedRank) -> RecordingBuilder {
        self.header.ranks.push(entry);
        self.missing_rank()
    }
}

/// A recording that a test has written. It is removed with this value if it is in a temporary folder.
pub struct TestRecording {
    /// The opened recording.
    pub recording: Recording,
    folder: PathBuf,
    temporary: Option<TempDir>,
}

impl TestRecording {
    /// The folder of the recording.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The recording and the temporary folder in which it is.
    pub fn into_parts(self) -> (Recording, Option<TempDir>) {
        (self.recording, self.temporary)
    }

    /// Moves the recording to another place.
    pub fn move_to(self, folder: &Path) {
        std::fs::rename(&self.folder, folder).expect("a folder for the recording");
        self.temporary.map(TempDir::keep);
    }

    /// The same recording with another header.
    pub fn with_header(mut self, change: impl FnOnce(&mut RecordingHeader)) -> TestRecording {
        let mut header = RecordingHeader::read(&self.folder).expect("its header");
        change(&mut header);
        header.write(&self.folder).expect("the header is written");
        self.recording = Recording::open(&self.folder).expect("a recording");
        self
    }
}

impl Deref for TestRecording {
    type Target = Recording;

    fn deref(&self) -> &Recording {
        &self.recording
    }
}

impl DerefMut for TestRecording {
    fn deref_mut(&mut self) -> &mut Recording {
        &mut self.recording
    }
}

/// A recording of ranks that made these calls.
pub fn record_calls(ranks: impl IntoIterator<Item = impl IntoIterator<Item = impl Borrow<TestCall>>>) -> TestRecording {
    RecordingBuilder::new().ranks(ranks).write()
}

/// Makes the world a ring: every rank sends to the next.
pub fn ring_topology(header: &mut RecordingHeader) {
    let size = header.size as i32;
    let ring = |rank: i32| TopologyNeighbours { sources: vec![(rank + size - 1) % size], destinations: vec![(rank + 1) % size] };
    header.communicators[0].neighbours = neighbours::encode(&(0..size).map(|rank| (rank as u32, ring(rank))).collect());
}

/// Groups that calls can name: group *n* is rank *n*, and the last one contains all ranks.
pub fn single_rank_groups(header: &mut RecordingHeader) {
    header.groups = (0..header.size).map(|rank| rank.to_string()).chain([everyone(header.size)]).collect();
}

fn empty_header() -> RecordingHeader {
    let world = CommunicatorDefinition { made_by: "MPI_COMM_WORLD".into(), ..CommunicatorDefinition::default() };
    RecordingHeader {
        format: FORMAT_VERSION,
        command: vec!["./program".into()],
        exit_status: Some(0),
        hosts: vec!["here".into()],
        communicators: vec![world],
        objects: vec![ObjectDefinition { kind: "window".into(), communicator: Some(0), path: None }],
        sites: call_sites("/home/me/program.c"),
        operations: FUNCTIONS.iter().map(|function| function.name.into()).collect(),
        ..RecordingHeader::default()
    }
}

fn call_sites(file: &str) -> Vec<CallSiteDefinition> {
    let module = Path::new(file).with_extension("").display().to_string();
    let frame = |line| SourceFrame { function: Some("main".into()), file: Some(file.into()), line: Some(line) };
    let site = |line: u32| CallSiteDefinition { module: module.clone(), offset: line.into(), caller: None, frames: vec![frame(line)] };
    (0..LINES).map(site).collect()
}

fn everyone(size: usize) -> String {
    if size < 2 { "0".into() } else { format!("0-{}", size - 1) }
}

fn finalized(rank: u32) -> RecordedRank {
    let clock = LinearClock { origin_ticks: 0, origin_ns: 0.0, ns_per_tick: 1.0 };
    RecordedRank { rank, threads: 1, end: ProcessExit::Finalized, clock, ..RecordedRank::default() }
}

/// Extends what is known of a rank by a call.
fn include(rank: &mut RecordedRank, call: &TestCall) {
    rank.threads = rank.threads.max(u32::from(call.thread) + 1);
    rank.begin_ns = rank.begin_ns.min(call.enter as i64);
    rank.end_ns = rank.end_ns.max(call.leave as i64);
}
