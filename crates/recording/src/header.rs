//! `recording.json`: everything about a sealed recording except its calls.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::definitions::{CountersDefinition, MAX_RANKS, SamplingDefinition};
use crate::error::Error;
use crate::host::{HostDescription, OffCpuSource, ProcessLimits, ProcessMemory, ThreadUsage};
use crate::json;

/// File name inside a recording. Its presence marks the recording as sealed.
pub const FILE_NAME: &str = "recording.json";

/// Global data of a sealed recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordingHeader {
    /// The version of the format.
    pub format: u32,
    /// The version of Sintonia that sealed it.
    pub sealed_by: String,
    /// The command that was recorded.
    pub command: Vec<String>,
    /// Start of the recording, in seconds since the Unix epoch.
    pub started_s: f64,
    /// Time zero of its calls, in seconds since the Unix epoch, if a clock of the run gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_s: Option<f64>,
    /// Exit status of the command, if known.
    pub exit_status: Option<i32>,
    /// Parameters given by the user with `--param`.
    pub parameters: BTreeMap<String, f64>,
    /// Whether only totals were recorded, not single calls.
    pub profile: bool,
    /// The MPI library.
    pub mpi: MpiVersion,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// What each of these hosts is, in the same order; empty in a recording without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_descriptions: Vec<HostDescription>,
    /// Expected number of processes; those without data have no entry in `ranks`.
    pub size: usize,
    /// The processes by rank. Spawned processes follow those that spawned them.
    pub ranks: Vec<RecordedRank>,
    /// The communicators by index. The first is `MPI_COMM_WORLD`.
    pub communicators: Vec<CommunicatorDefinition>,
    /// Windows and files by index.
    pub objects: Vec<ObjectDefinition>,
    /// Process groups that calls refer to by index: those of `MPI_Win_post` and `MPI_Win_start`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// The call sites by index.
    pub sites: Vec<CallSiteDefinition>,
    /// Names of the MPI functions in the numbering used by the calls.
    pub operations: Vec<String>,
    /// Upper bound of the clock error between hosts, in seconds.
    pub clock_error_s: f64,
    /// What was not recorded, one sentence each.
    pub notes: Vec<String>,
}

impl RecordingHeader {
    /// Reads the header of a sealed recording.
    pub fn read(recording: &Path) -> Result<RecordingHeader, Error> {
        json::read(&recording.join(FILE_NAME))
    }

    /// Writes the header; all other files must be in place already.
    pub fn write(&self, recording: &Path) -> Result<(), Error> {
        json::write(&recording.join(FILE_NAME), self)
    }

    /// Number of ranks, including those without data. Limited to [`MAX_RANKS`] in case the header is damaged.
    pub fn rank_count(&self) -> u32 {
        let known = self.ranks.iter().map(|rank| rank.rank as usize + 1).max().unwrap_or(0);
        self.size.max(known).min(MAX_RANKS) as u32
    }

    /// A rank's entry; `None` if it has no data.
    pub fn rank(&self, rank: u32) -> Option<&RecordedRank> {
        // Usually every rank has data and its index is its rank; a linear search would be slow with many ranks.
        let by_index = self.ranks.get(rank as usize).filter(|r| r.rank == rank);
        by_index.or_else(|| self.ranks.iter().find(|r| r.rank == rank))
    }
}

/// The MPI library of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MpiVersion {
    /// Short name and version, e.g. `Open MPI 4.1.4`.
    pub library: String,
    /// Full text of `MPI_Get_library_version`.
    pub version: String,
    /// `openmpi`, `mpich` or `standard`.
    pub abi: String,
}

/// A process of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedRank {
    /// Its rank in the recording: the world rank, with spawned worlds numbered after it.
    pub rank: u32,
    /// Index of its host in [`RecordingHeader::hosts`].
    pub host: u32,
    /// Process id.
    pub pid: u32,
    /// Number of calls in its file.
    pub calls: u64,
    /// Number of threads that called MPI.
    pub threads: u32,
    /// Start of its recording (enter of MPI_Init), in nanoseconds since the start of the recording.
    pub begin_ns: i64,
    /// End of its recording (return of MPI_Finalize), likewise.
    pub end_ns: i64,
    /// How it ended.
    pub end: ProcessExit,
    /// Number of calls that were lost.
    pub dropped: u64,
    /// Number of blocks with a wrong checksum.
    pub damaged_blocks: u64,
    /// Converts ticks in its file to nanoseconds since the start of the recording.
    pub clock: LinearClock,
    /// What its threads used of the host; empty in a recording without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usage: Vec<ThreadUsage>,
    /// Limits that a control group set for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<ProcessLimits>,
    /// Its resident memory; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<ProcessMemory>,
    /// How it is known when its threads were off the processor; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_cpu: Option<OffCpuSource>,
    /// How its threads were sampled; absent if they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingDefinition>,
    /// What was counted of its threads; absent if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<CountersDefinition>,
}

/// How the recording of a process ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessExit {
    /// It called MPI_Finalize.
    Finalized,
    /// It ended without MPI_Finalize.
    Exited,
    /// It called MPI_Abort.
    Aborted,
    /// It was killed, or its host failed.
    #[default]
    CutShort,
}

/// Linear conversion of ticks to nanoseconds since the start of the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinearClock {
    /// Ticks at `origin_ns`.
    pub origin_ticks: u64,
    /// Nanoseconds since the start of the recording at `origin_ticks`.
    pub origin_ns: f64,
    /// Nanoseconds per tick.
    pub ns_per_tick: f64,
}

impl LinearClock {
    /// Nanoseconds since the start of the recording.
    #[inline]
    pub fn ticks_to_ns(&self, ticks: u64) -> i64 {
        self.to_fixed_point().ticks_to_ns(ticks)
    }

    /// The same conversion in fixed point, for bulk use.
    pub(crate) fn to_fixed_point(self) -> FixedPointClock {
        let slope = (self.ns_per_tick * (1u64 << FixedPointClock::FRACTION_BITS) as f64).round() as i64;
        FixedPointClock { origin_ticks: self.origin_ticks, origin_ns: self.origin_ns.round() as i64, slope }
    }
}

/// A [`LinearClock`] in fixed-point arithmetic: faster than floating point, and monotonic.
#[derive(Clone, Copy)]
pub(crate) struct FixedPointClock {
    origin_ticks: u64,
    origin_ns: i64,
    slope: i64,
}

impl FixedPointClock {
    /// Fractional bits of the slope: exact to a nanosecond over a day.
    const FRACTION_BITS: u32 = 48;

    /// Duration of `ticks` in nanoseconds.
    #[inline]
    pub(crate) fn duration_ns(self, ticks: u64) -> i64 {
        ((i128::from(ticks as i64) * i128::from(self.slope)) >> FixedPointClock::FRACTION_BITS) as i64
    }

    /// Nanoseconds since the start of the recording.
    #[inline]
    pub(crate) fn ticks_to_ns(self, ticks: u64) -> i64 {
        let ticks = i128::from(ticks.wrapping_sub(self.origin_ticks) as i64);
        let half = 1 << (FixedPointClock::FRACTION_BITS - 1);
        self.origin_ns.wrapping_add(((ticks * i128::from(self.slope) + half) >> FixedPointClock::FRACTION_BITS) as i64)
    }
}

/// A communicator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommunicatorDefinition {
    /// The communicator it was created from.
    pub parent: Option<u32>,
    /// The MPI function that created it.
    pub made_by: String,
    /// Ranks of its members in communicator order, as ranges.
    pub members: String,
    /// The remote group of an intercommunicator.
    pub remote: Option<String>,
    /// Neighbours in its topology, if it has one: see [`crate::neighbours`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<NeighbourClass>,
}

/// Ranks whose neighbours in a topology have the same relative ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NeighbourClass {
    /// The ranks.
    pub ranks: String,
    /// Ranks they receive from, relative to their own rank.
    pub sources: String,
    /// Ranks they send to, relative to their own rank.
    pub destinations: String,
}

/// A window or a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObjectDefinition {
    /// `window` or `file`.
    pub kind: String,
    /// The communicator it was created on.
    pub communicator: Option<u32>,
    /// The path of a file, if it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A call site: a location in the program that calls MPI or, as the caller of another one, a function that does. The same location under
/// different callers is a call site of its own under each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallSiteDefinition {
    /// The executable or library that contains it; the file of a line of Python.
    pub module: String,
    /// The return address as a file offset; the line, of a line of Python.
    pub offset: u64,
    /// The call site, by index, of the function that contains it; none if that is not known, or `main` or the start of a thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<u32>,
    /// Source frames, innermost first; several if functions were inlined. Empty without debug information or symbols.
    pub frames: Vec<SourceFrame>,
}

/// A source frame of a call site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SourceFrame {
    /// The function.
    pub function: Option<String>,
    /// The source file.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_a_straight_line() {
        let clock = LinearClock { origin_ticks: 1000, origin_ns: 50.0, ns_per_tick: 0.4 };
        assert_eq!([1000, 1010, 990].map(|ticks| clock.ticks_to_ns(ticks)), [50, 54, 46]);
        let day = 86_400_000_000_000;
        assert_eq!(clock.ticks_to_ns(1000 + day / 2 * 5), 50 + day as i64);
    }

    #[test]
    fn any_clock_can_be_asked_for_any_moment() {
        for ns_per_tick in [0.0, -1.0, 1e300, f64::NAN, f64::INFINITY] {
            let clock = LinearClock { origin_ticks: 5, origin_ns: ns_per_tick, ns_per_tick };
            let _ = [0, 5, u64::MAX].map(|ticks| clock.ticks_to_ns(ticks));
        }
    }
}
