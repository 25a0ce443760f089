//! Definitions that a process writes while it runs: lines of JSON, next to its streams of calls.
//!
//! Definitions are rare (a communicator, a loaded library), so they are text: each line is complete or absent, however the process ends.

use serde::{Deserialize, Serialize};

use crate::host::{HostDescription, OffCpuSource, ProcessLimits, ProcessMemory, ThreadUsage};

/// Version of the recording format written by this version of Sintonia.
pub const FORMAT_VERSION: u32 = 1;

/// Directory inside a recording where processes write while they run.
pub const LIVE_DIR: &str = "live";

/// Upper limit for ranks; a file that claims more is damaged.
pub const MAX_RANKS: usize = 1 << 24;

/// Whether allocated pages of a file on this file system (`statfs` magic number) can always be written through a mapping. On others a write
/// failure would raise a signal in the program, so memory is not mapped there.
pub fn is_mmap_safe(file_system: u64) -> bool {
    const EXT4: u64 = 0xef53;
    const XFS: u64 = 0x5846_5342;
    const TMPFS: u64 = 0x0102_1994;
    /// Used by containers; the file itself lies on the underlying file system, which has just allocated it.
    const OVERLAY: u64 = 0x794c_7630;
    matches!(file_system, EXT4 | XFS | TMPFS | OVERLAY)
}

/// One line of a process's definitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "define", rename_all = "snake_case")]
pub enum DefinitionRecord {
    /// The process itself; always the first line.
    Process(ProcessDefinition),
    /// The MPI library it uses.
    Library(LibraryDefinition),
    /// Its membership in `MPI_COMM_WORLD`.
    World(WorldDefinition),
    /// An executable file mapped into it.
    Module(ModuleDefinition),
    /// A call path.
    CallPath(CallPathDefinition),
    /// A line of Python on call paths.
    PythonLine(PythonLineDefinition),
    /// A communicator it is a member of.
    Communicator(LocalCommunicator),
    /// A window or a file.
    Object(LocalObject),
    /// A process group named by a call.
    Group(LocalGroup),
    /// A file that it used.
    File(FileDefinition),
    /// A thread that called MPI.
    Thread(ThreadDefinition),
    /// Its host.
    Host(HostDescription),
    /// Limits of its control group; the latest counts.
    Limits(ProcessLimits),
    /// Its resident memory; the latest counts.
    Memory(ProcessMemory),
    /// What a thread used; the latest of each thread counts.
    Usage(ThreadUsage),
    /// How it is known when its threads were off the processor; the latest counts.
    OffCpu(OffCpuDefinition),
    /// How its threads are sampled; the latest counts.
    Sampling(SamplingDefinition),
    /// What is counted of its threads; the latest counts.
    Counters(CountersDefinition),
    /// Simultaneous readings of its clocks.
    Clock(ClockReading),
    /// The offset between its host's clock and that of rank 0.
    Offset(MeasuredClockOffset),
    /// Something that was not recorded, and why.
    Note(NoteDefinition),
    /// How it ended.
    End(EndDefinition),
}

/// A process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessDefinition {
    /// The format of its files.
    pub format: u32,
    /// Number of MPI functions in its table; writer and reader must agree on the numbering.
    pub functions: usize,
    /// Name of its host.
    pub host: String,
    /// Process id on that host.
    pub pid: u32,
    /// Its command line.
    pub arguments: Vec<String>,
    /// Whether ticks come from the time stamp counter (otherwise they are nanoseconds).
    pub time_stamp_counter: bool,
    /// Whether only totals are recorded, not single calls.
    pub profile: bool,
}

/// The MPI library of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LibraryDefinition {
    /// Text of `MPI_Get_library_version`.
    pub version: String,
    /// `openmpi`, `mpich` or `standard`.
    pub abi: String,
    /// Path of its file.
    pub path: String,
}

/// A process's membership in its `MPI_COMM_WORLD`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorldDefinition {
    /// Id shared by all processes of this world and by no other world.
    pub id: u64,
    /// The rank of this process.
    pub rank: i32,
    /// How many processes there are.
    pub size: i32,
    /// Whether the world was created by `MPI_Comm_spawn`.
    pub spawned: bool,
    /// The root of the spawn call, if the library names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn_root: Option<SpawnRoot>,
    /// Number of hosts the world runs on.
    pub hosts: usize,
}

/// The root of a spawn call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnRoot {
    /// The id of its world.
    pub world: u64,
    /// Its rank there.
    pub rank: i32,
}

/// A mapped executable file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModuleDefinition {
    /// First address.
    pub start: u64,
    /// End address (exclusive).
    pub end: u64,
    /// File offset mapped at `start`.
    pub offset: u64,
    /// The file.
    pub path: String,
}

/// A call path: a return address, or a line of Python, under the path of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallPathDefinition {
    /// Its number in this process.
    pub id: u32,
    /// The path of its caller, which is defined before it; none at the end of what could be unwound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<u32>,
    /// The return address; 0 of a line of Python.
    pub address: u64,
    /// The number of the line of Python, which is defined before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<u32>,
}

/// A line of a Python program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PythonLineDefinition {
    /// Its number in this process.
    pub id: u32,
    /// The file, as the code names it; `<string>` and the like for code that is not from a file.
    pub file: String,
    /// The function; `<module>` outside of all.
    pub function: String,
    /// The line in the file.
    pub line: u32,
}

/// How threads are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplingDefinition {
    /// Time on the processor between two samples of a thread, in nanoseconds.
    pub period_ns: u64,
    /// Whether samples are also taken while a thread is in the kernel.
    pub kernel: bool,
    /// Whether samples have a stack; otherwise they are a place in the program only.
    pub stacks: bool,
}

/// What is counted of the threads of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountersDefinition {
    /// Names of the [events](crate::counter_event::CounterEvent), in the order of the values in a record.
    pub events: Vec<String>,
    /// Shortest segment between two MPI calls of which they are recorded, in nanoseconds.
    pub shortest_ns: u64,
}

/// A communicator as seen by one of its members.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LocalCommunicator {
    /// Its id in this process.
    pub id: u32,
    /// The communicator it was created from, if known.
    pub parent: Option<u32>,
    /// The MPI function that created it.
    pub made_by: String,
    /// Number of communicators created from the same parent before it.
    pub sequence: u32,
    /// When it was first seen, in ticks: when the call that created it returned or, where that was not seen, at its first use.
    #[serde(default)]
    pub ticks: u64,
    /// World ranks of its (local) group, as ranges `first-last` or `first-last:step`.
    pub members: String,
    /// World ranks of the remote group of an intercommunicator.
    pub remote: Option<String>,
    /// Neighbours of this process, if the communicator has a topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<LocalNeighbours>,
}

/// A process's neighbours in a topology: world ranks in MPI's order, [`raw::PROC_NULL`](crate::raw::PROC_NULL) at an edge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LocalNeighbours {
    /// Neighbours it receives from.
    pub sources: String,
    /// Neighbours it sends to.
    pub destinations: String,
}

/// A process group named by `MPI_Win_post` or `MPI_Win_start`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocalGroup {
    /// Its id in this process; groups have their own numbering.
    pub id: u32,
    /// World ranks of its members.
    pub members: String,
}

/// A window or a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocalObject {
    /// Its id in this process; windows, files and communicators share one numbering.
    pub id: u32,
    /// `window` or `file`.
    pub kind: String,
    /// The communicator it was created on, if known.
    pub communicator: Option<u32>,
    /// The path of a file, if files are recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A file that a process used through the C library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDefinition {
    /// Its number in this process.
    pub id: u32,
    /// Its path.
    pub path: String,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadDefinition {
    /// Its number in this process; reused after the thread has ended.
    pub number: u16,
    /// Thread id of the operating system.
    pub system_id: i64,
}

/// Simultaneous readings of several clocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockReading {
    /// Ticks as used in records.
    pub ticks: u64,
    /// Nanoseconds of the monotonic clock.
    pub monotonic_ns: u64,
    /// Nanoseconds since the Unix epoch.
    pub realtime_ns: u64,
}

/// A measured clock offset between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredClockOffset {
    /// Time of the measurement, in own ticks.
    pub ticks: u64,
    /// Monotonic clock of rank 0 at that time, in nanoseconds.
    pub reference_ns: i64,
    /// Half of the shortest round trip: upper bound of the error.
    pub error_ns: i64,
}

/// A note for the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoteDefinition {
    /// One sentence.
    pub text: String,
}

/// How a process knows when its threads were off the processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OffCpuDefinition {
    /// The source.
    pub source: OffCpuSource,
}

/// How a process ended, as far as it could record it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndDefinition {
    /// `finalized`, `exited` or `aborted`.
    pub how: String,
    /// Time of the end, in ticks.
    pub ticks: u64,
}

/// Formats ranks as ranges: `0-7`, `0-6:2`, `3`.
pub fn format_ranks(ranks: &[i32]) -> String {
    let mut text = String::new();
    let mut at = 0;
    while at < ranks.len() {
        let step = if at + 1 < ranks.len() { i64::from(ranks[at + 1]) - i64::from(ranks[at]) } else { 1 };
        let mut end = at;
        // Negative numbers are special values and never part of a range.
        while step > 0 && ranks[at] >= 0 && end + 1 < ranks.len() && i64::from(ranks[end + 1]) - i64::from(ranks[end]) == step {
            end += 1;
        }
        if !text.is_empty() {
            text.push(',');
        }
        let (first, last) = (ranks[at], ranks[end]);
        match (end - at, step) {
            (0, _) => text += &first.to_string(),
            (_, 1) => text += &format!("{first}-{last}"),
            _ => text += &format!("{first}-{last}:{step}"),
        }
        at = end + 1;
    }
    text
}

/// Parses the output of [`format_ranks`]; `None` for anything else, or more than [`MAX_RANKS`] ranks.
pub fn parse_ranks(text: &str) -> Option<Vec<i32>> {
    let mut ranks = Vec::new();
    for range in text.split(',').filter(|r| !r.is_empty()) {
        let (range, step) = match range.split_once(':') {
            Some((range, step)) => (range, step.parse::<i32>().ok().filter(|s| *s > 0)?),
            None => (range, 1),
        };
        let (first, last) = match range.char_indices().skip(1).find(|(_, c)| *c == '-') {
            Some((at, _)) => (range[..at].parse::<i32>().ok()?, range[at + 1..].parse::<i32>().ok()?),
            None => (range.parse().ok()?, range.parse().ok()?),
        };
        let count = (i64::from(last) - i64::from(first)).checked_div(i64::from(step))? + 1;
        if count < 1 || ranks.len() as i64 + count > MAX_RANKS as i64 {
            return None;
        }
        ranks.extend((0..count).map(|i| (i64::from(first) + i * i64::from(step)) as i32));
    }
    Some(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::PROC_NULL;

    #[test]
    fn ranks_survive_being_written_as_ranges() {
        for ranks in [
            vec![],
            vec![5],
            vec![0, 1, 2, 3],
            vec![0, 2, 4, 6],
            vec![3, 1, 2],
            vec![7, 7],
            vec![0, 1, 5, 9, 13, 2],
            vec![-1, 0, 4],
            vec![PROC_NULL, 9],
        ] {
            assert_eq!(parse_ranks(&format_ranks(&ranks)), Some(ranks.clone()), "{}", format_ranks(&ranks));
        }
        assert_eq!(format_ranks(&(0..1000).collect::<Vec<_>>()), "0-999");
    }

    #[test]
    fn anything_else_is_refused() {
        assert_eq!(parse_ranks("-2147483648-2147483647:2147483647"), Some(vec![i32::MIN, -1, i32::MAX - 1]), "as far as numbers go");
        for text in ["a", "1-", "-", "5-1", "0-9:0", "0-2000000000", "1:2:3", "é-1"] {
            assert_eq!(parse_ranks(text), None, "{text}");
        }
    }

    #[test]
    fn a_definition_is_one_line_of_json() {
        let end = DefinitionRecord::End(EndDefinition { how: "finalized".into(), ticks: 7 });
        assert_eq!(serde_json::to_string(&end).unwrap(), r#"{"define":"end","how":"finalized","ticks":7}"#);
    }
}
