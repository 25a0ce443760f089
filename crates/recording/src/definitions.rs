//! What a process says about itself while it runs: lines of JSON beside its streams of calls.
//!
//! Definitions are rare (a communicator, a loaded library), so they are text: each line is complete or absent, whatever ends the process.

use serde::{Deserialize, Serialize};

/// The format of recordings that this version writes.
pub const FORMAT: u32 = 1;

/// The folder inside a recording where processes write while they run.
pub const LIVE_FOLDER: &str = "live";

/// More processes than any machine runs: what claims more is damaged.
pub const MOST_RANKS: usize = 1 << 24;

/// Whether a page of a file on this kind of file system (as `statfs` numbers them), once allocated, can always be written through a
/// mapping. Elsewhere a failure to write would be a signal to the program, so memory is not mapped there.
pub fn keeps_mapped_memory(file_system: u64) -> bool {
    const EXT4: u64 = 0xef53;
    const XFS: u64 = 0x5846_5342;
    const TMPFS: u64 = 0x0102_1994;
    /// What containers run on: the file itself lies on the file system below, which has just allocated it.
    const OVERLAY: u64 = 0x794c_7630;
    matches!(file_system, EXT4 | XFS | TMPFS | OVERLAY)
}

/// One line of a process's definitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "define", rename_all = "snake_case")]
pub enum Definition {
    /// The process itself; always the first line.
    Process(Process),
    /// The MPI library it uses.
    Library(Library),
    /// Its place among the processes that were started together.
    World(World),
    /// A file of code that is mapped into it.
    Module(Module),
    /// A communicator it is a member of.
    Communicator(LocalCommunicator),
    /// A window or a file.
    Object(LocalObject),
    /// A group of processes that a call named.
    Group(LocalGroup),
    /// A thread that called MPI.
    Thread(Thread),
    /// One moment on the clocks it can read.
    Clock(ClockReading),
    /// The difference between its host's clock and that of rank 0.
    Offset(ClockOffset),
    /// Something that was not recorded, and why.
    Note(Note),
    /// How it ended.
    End(End),
}

/// A process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// The format of its files.
    pub format: u32,
    /// How many MPI functions its table has: both sides must number them alike.
    pub functions: usize,
    /// Name of its host.
    pub host: String,
    /// Its number on that host.
    pub pid: u32,
    /// Its command line.
    pub arguments: Vec<String>,
    /// Whether ticks are those of the processor's time stamp counter (else nanoseconds).
    pub time_stamp_counter: bool,
    /// Whether only sums are kept.
    pub profile: bool,
}

/// The MPI library of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Library {
    /// What it says of itself.
    pub version: String,
    /// `openmpi`, `mpich` or `standard`.
    pub abi: String,
    /// Its file.
    pub path: String,
}

/// The place of a process in its `MPI_COMM_WORLD`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct World {
    /// A number that all processes of this world share and no other world has.
    pub id: u64,
    /// The rank of this process.
    pub rank: i32,
    /// How many processes there are.
    pub size: i32,
    /// Whether other processes spawned this world.
    pub spawned: bool,
    /// How many hosts they run on.
    pub hosts: usize,
}

/// A mapped file of code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Module {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Place in the file that is mapped at `start`.
    pub offset: u64,
    /// The file.
    pub path: String,
}

/// A communicator as one of its members sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LocalCommunicator {
    /// Its number in this process.
    pub id: u32,
    /// The communicator it was made from, if that is known.
    pub parent: Option<u32>,
    /// The MPI function that made it.
    pub made_by: String,
    /// How many communicators had been made from the same parent before.
    pub sequence: u32,
    /// World ranks of its group (of the local group between two groups): ranges `first-last` or `first-last:step`.
    pub members: String,
    /// World ranks of the other group, where there is one.
    pub remote: Option<String>,
    /// The neighbours of this process, if the communicator has a topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<LocalNeighbours>,
}

/// The neighbours of a process in a topology: world ranks in their order, [`raw::PROC_NULL`](crate::raw::PROC_NULL) at an edge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LocalNeighbours {
    /// Those that send to it.
    pub sources: String,
    /// Those that it sends to.
    pub destinations: String,
}

/// A group of processes that `MPI_Win_post` or `MPI_Win_start` named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocalGroup {
    /// Its number in this process; groups have a numbering of their own.
    pub id: u32,
    /// World ranks of its members.
    pub members: String,
}

/// A window or a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocalObject {
    /// Its number in this process; windows, files and communicators share one numbering.
    pub id: u32,
    /// `window` or `file`.
    pub kind: String,
    /// The communicator it was made on, if that is known.
    pub communicator: Option<u32>,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// Its number in this process; a number is used again when its thread has ended.
    pub number: u16,
    /// The number the system gave it.
    pub system_id: i64,
}

/// One moment on several clocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockReading {
    /// Ticks as they stand in records.
    pub ticks: u64,
    /// Nanoseconds of the monotonic clock.
    pub monotonic_ns: u64,
    /// Nanoseconds since 1970.
    pub realtime_ns: u64,
}

/// What a process measured of the difference between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// When, in its own ticks.
    pub ticks: u64,
    /// Nanoseconds of rank 0's monotonic clock at that moment.
    pub reference_ns: i64,
    /// Half of the shortest round trip: how wrong the difference can be.
    pub error_ns: i64,
}

/// Something worth telling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// One sentence.
    pub text: String,
}

/// How a process ended, as far as it could say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// `finalized`, `exited` or `aborted`.
    pub how: String,
    /// Ticks at that moment.
    pub ticks: u64,
}

/// Writes ranks as ranges: `0-7`, `0-6:2`, `3`.
pub fn write_ranks(ranks: &[i32]) -> String {
    let mut text = String::new();
    let mut at = 0;
    while at < ranks.len() {
        let step = if at + 1 < ranks.len() { i64::from(ranks[at + 1]) - i64::from(ranks[at]) } else { 1 };
        let mut end = at;
        // Numbers below 0 have a meaning of their own, and are too far from ranks for a step between them.
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

/// Reads what [`write_ranks`] wrote; `None` if it is anything else or absurdly long.
pub fn read_ranks(text: &str) -> Option<Vec<i32>> {
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
        if count < 1 || ranks.len() as i64 + count > MOST_RANKS as i64 {
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
            assert_eq!(read_ranks(&write_ranks(&ranks)), Some(ranks.clone()), "{}", write_ranks(&ranks));
        }
        assert_eq!(write_ranks(&(0..1000).collect::<Vec<_>>()), "0-999");
    }

    #[test]
    fn anything_else_is_refused() {
        assert_eq!(read_ranks("-2147483648-2147483647:2147483647"), Some(vec![i32::MIN, -1, i32::MAX - 1]), "as far as numbers go");
        for text in ["a", "1-", "-", "5-1", "0-9:0", "0-2000000000", "1:2:3", "é-1"] {
            assert_eq!(read_ranks(text), None, "{text}");
        }
    }

    #[test]
    fn a_definition_is_one_line_of_json() {
        let end = Definition::End(End { how: "finalized".into(), ticks: 7 });
        assert_eq!(serde_json::to_string(&end).unwrap(), r#"{"define":"end","how":"finalized","ticks":7}"#);
    }
}
