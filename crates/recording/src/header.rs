//! `recording.json`: everything about a sealed recording except the calls themselves.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::definitions::MOST_RANKS;
use crate::error::Error;
use crate::json;

/// The name of the file inside a recording; where it is, the recording is sealed.
pub const FILE: &str = "recording.json";

/// What a sealed recording says of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    pub format: u32,
    /// The version of Sintonia that sealed it.
    pub sealed_by: String,
    /// The command that was recorded.
    pub command: Vec<String>,
    /// When recording began, in seconds since 1970.
    pub started_s: f64,
    /// When the time of its calls begins, in seconds since 1970, where a clock of the run tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_s: Option<f64>,
    /// The exit status of the command, if it was seen to end.
    pub exit_status: Option<i32>,
    /// Parameters given by the user with `--param`.
    pub parameters: BTreeMap<String, f64>,
    /// Whether only sums were kept, not every call.
    pub profile: bool,
    /// The MPI library.
    pub mpi: Mpi,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// How many processes there should be; those that left nothing have no entry in `ranks`.
    pub size: usize,
    /// The processes, by rank. Spawned processes follow those that spawned them.
    pub ranks: Vec<Rank>,
    /// The communicators, numbered by place. The first one is the world.
    pub communicators: Vec<Communicator>,
    /// Windows and files, numbered by place.
    pub objects: Vec<Object>,
    /// Groups of ranks that calls name by their place here: those of `MPI_Win_post` and `MPI_Win_start`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// The call sites, numbered by place.
    pub sites: Vec<Site>,
    /// Names of the MPI functions as the calls number them.
    pub operations: Vec<String>,
    /// How wrong times on different hosts can be against each other, in seconds.
    pub clock_error_s: f64,
    /// What was not recorded, one sentence each.
    pub notes: Vec<String>,
}

impl Header {
    /// Reads it from a sealed recording.
    pub fn read(recording: &Path) -> Result<Header, Error> {
        json::read(&recording.join(FILE))
    }

    /// Writes it into a recording, whose other files must be there already.
    pub fn write(&self, recording: &Path) -> Result<(), Error> {
        json::write(&recording.join(FILE), self)
    }

    /// How many ranks there are, with those that left nothing; a damaged header cannot claim more than any machine runs.
    pub fn rank_count(&self) -> u32 {
        let known = self.ranks.iter().map(|rank| rank.rank as usize + 1).max().unwrap_or(0);
        self.size.max(known).min(MOST_RANKS) as u32
    }

    /// What is known of one rank; `None` if it left nothing.
    pub fn rank(&self, rank: u32) -> Option<&Rank> {
        // Mostly every rank left something, and then it stands at its own place: with many ranks a search would take long.
        let at_its_place = self.ranks.get(rank as usize).filter(|r| r.rank == rank);
        at_its_place.or_else(|| self.ranks.iter().find(|r| r.rank == rank))
    }
}

/// The MPI library of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mpi {
    /// Short name and version, such as `Open MPI 4.1.4`.
    pub library: String,
    /// Everything it says of itself.
    pub version: String,
    /// `openmpi`, `mpich` or `standard`.
    pub abi: String,
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rank {
    /// Its rank in the recording: the world rank; spawned worlds are numbered on.
    pub rank: u32,
    /// Its host, by place in [`Header::hosts`].
    pub host: u32,
    /// Its process number on the host.
    pub pid: u32,
    /// How many calls its file holds.
    pub calls: u64,
    /// Threads that called MPI.
    pub threads: u32,
    /// When its recording began and ended, in nanoseconds since the recording began (MPI_Init entered, MPI_Finalize left).
    pub begin_ns: i64,
    /// See `begin_ns`.
    pub end_ns: i64,
    /// How it ended.
    pub end: End,
    /// Calls that could not be kept.
    pub dropped: u64,
    /// Blocks whose checksum did not match.
    pub damaged_blocks: u64,
    /// From ticks in its file to nanoseconds since the recording began.
    pub clock: Clock,
}

/// How the recording of a process ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It called MPI_Finalize.
    Finalized,
    /// It ended without MPI_Finalize.
    Exited,
    /// It called MPI_Abort.
    Aborted,
    /// It was killed, or its host vanished.
    #[default]
    CutShort,
}

/// A straight line from ticks to nanoseconds since the recording began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Ticks at `origin_ns`.
    pub origin_ticks: u64,
    /// Nanoseconds since the recording began at `origin_ticks`.
    pub origin_ns: f64,
    /// Nanoseconds per tick.
    pub ns_per_tick: f64,
}

impl Clock {
    /// Nanoseconds since the recording began.
    #[inline]
    pub fn nanoseconds(&self, ticks: u64) -> i64 {
        self.line().nanoseconds(ticks)
    }

    /// The same line, ready for many moments.
    pub(crate) fn line(&self) -> Line {
        let slope = (self.ns_per_tick * (1u64 << Line::FRACTION) as f64).round() as i64;
        Line { origin_ticks: self.origin_ticks, origin_ns: self.origin_ns.round() as i64, slope }
    }
}

/// A [`Clock`] in whole numbers: quicker than with fractions, and never out of order.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    origin_ticks: u64,
    origin_ns: i64,
    slope: i64,
}

impl Line {
    /// Bits of the slope behind the point: a day is right to a nanosecond.
    const FRACTION: u32 = 48;

    /// Nanoseconds that so many ticks take.
    #[inline]
    pub fn length(self, ticks: u64) -> i64 {
        ((i128::from(ticks as i64) * i128::from(self.slope)) >> Line::FRACTION) as i64
    }

    /// Nanoseconds since the recording began.
    #[inline]
    pub fn nanoseconds(self, ticks: u64) -> i64 {
        let ticks = i128::from(ticks.wrapping_sub(self.origin_ticks) as i64);
        let half = 1 << (Line::FRACTION - 1);
        self.origin_ns.wrapping_add(((ticks * i128::from(self.slope) + half) >> Line::FRACTION) as i64)
    }
}

/// A communicator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Communicator {
    /// The communicator it was made from.
    pub parent: Option<u32>,
    /// The MPI function that made it.
    pub made_by: String,
    /// Ranks of its members in their order, as ranges.
    pub members: String,
    /// The other group of an intercommunicator.
    pub remote: Option<String>,
    /// Who hands data to whom, if it has a topology: see [`crate::neighbours`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Neighbourhood>,
}

/// Ranks that have the same neighbours in a topology, seen from themselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Neighbourhood {
    /// The ranks.
    pub ranks: String,
    /// Those that send to each of them, as differences from its own rank.
    pub sources: String,
    /// Those that each of them sends to, in the same way.
    pub destinations: String,
}

/// A window or a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Object {
    /// `window` or `file`.
    pub kind: String,
    /// The communicator it was made on.
    pub communicator: Option<u32>,
}

/// A call site: a place in the program that called MPI.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// The file of code it is in.
    pub module: String,
    /// The return address as a place in that file.
    pub offset: u64,
    /// Source frames, innermost first; more than one where functions were inlined. Empty without debug information or symbols.
    pub frames: Vec<Frame>,
}

/// One source frame of a call site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Frame {
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
        let clock = Clock { origin_ticks: 1000, origin_ns: 50.0, ns_per_tick: 0.4 };
        assert_eq!([1000, 1010, 990].map(|ticks| clock.nanoseconds(ticks)), [50, 54, 46]);
        let day = 86_400_000_000_000;
        assert_eq!(clock.nanoseconds(1000 + day / 2 * 5), 50 + day as i64);
    }

    #[test]
    fn any_clock_can_be_asked_for_any_moment() {
        for ns_per_tick in [0.0, -1.0, 1e300, f64::NAN, f64::INFINITY] {
            let clock = Clock { origin_ticks: 5, origin_ns: ns_per_tick, ns_per_tick };
            let _ = [0, 5, u64::MAX].map(|ticks| clock.nanoseconds(ticks));
        }
    }
}
