//! What a recorded run tells about where settings can help.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sintonia_mpi::{CollectiveOp, FunctionRole};
use sintonia_program::RankActivity;
use sintonia_recording::{Error, Recording};

/// A kind of MPI library: those of one kind have the same variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MpiFamily {
    /// Open MPI up to version 4.
    OpenMpi4,
    /// Open MPI from version 5 on.
    OpenMpi5,
    /// MPICH and derivatives.
    Mpich,
    /// Intel MPI.
    Intel,
    /// Another one, whose variables are not known.
    Other,
}

impl MpiFamily {
    /// The kind of a library, named as in recordings (`Open MPI 4.1.4`).
    pub fn from_library(library: &str) -> MpiFamily {
        if let Some(version) = library.strip_prefix("Open MPI") {
            let major = version.trim_start().split('.').next().and_then(|major| major.parse::<u32>().ok());
            return if major.is_some_and(|major| major >= 5) { MpiFamily::OpenMpi5 } else { MpiFamily::OpenMpi4 };
        }
        match library {
            _ if library.starts_with("Intel") => MpiFamily::Intel,
            _ if ["MPICH", "MVAPICH", "Cray MPICH"].iter().any(|name| library.starts_with(name)) => MpiFamily::Mpich,
            _ => MpiFamily::Other,
        }
    }
}

/// A collective and its share of the time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CollectiveShare {
    /// The collective.
    #[serde(serialize_with = "serialize_debug")]
    pub operation: CollectiveOp,
    /// Share of the time of all ranks, 0 to 1.
    pub share: f64,
    /// Bytes that a rank sends or receives in a call, on average.
    pub mean_bytes: u64,
    /// Calls of a rank, on average.
    pub calls_per_rank: u64,
}

fn serialize_debug<S: serde::Serializer>(operation: &CollectiveOp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{operation:?}"))
}

/// Where the time of a recorded run went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunFacts {
    /// Kind of the MPI library.
    pub mpi: MpiFamily,
    /// Its name and version.
    pub library: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Number of hosts.
    pub hosts: usize,
    /// Most ranks on one host.
    pub ranks_per_host: u32,
    /// Logical processors of a host.
    pub processors: u32,
    /// Seconds between MPI_Init and MPI_Finalize.
    pub work_s: f64,
    /// Share of the time in MPI, without MPI_Init and MPI_Finalize.
    pub mpi_share: f64,
    /// Share of the time in point-to-point and one-sided communication, and in waiting for requests.
    pub point_to_point_share: f64,
    /// The collectives, those with most time first.
    pub collectives: Vec<CollectiveShare>,
    /// Share of messages between ranks that are longer than 4 KiB.
    pub long_message_share: f64,
    /// The longest message in bytes.
    pub longest_message: u64,
    /// Page faults per second of a rank, on average.
    pub faults_per_s: f64,
    /// Processors on which a rank may run, the fewest.
    pub processors_per_rank: u32,
    /// Calls of all ranks.
    pub calls: u64,
}

impl RunFacts {
    /// Reads a recording.
    pub fn from_recording(recording: &Recording) -> Result<RunFacts, Error> {
        let header = &recording.header;
        let mut sums = TimeSums::default();
        for rank in &header.ranks {
            sums.add(&RankActivity::read(recording, rank)?, rank.end_ns.saturating_sub(rank.begin_ns).max(0) as u64);
        }
        let mut on_host: BTreeMap<u32, u32> = BTreeMap::new();
        header.ranks.iter().for_each(|rank| *on_host.entry(rank.host).or_default() += 1);
        let usage = || header.ranks.iter().flat_map(|rank| &rank.usage);
        let (faults, elapsed) =
            usage().fold((0, 0), |(faults, elapsed), one| (faults + one.minor_faults.unwrap_or(0), elapsed + one.elapsed_ns));
        let processors = header.host_descriptions.iter().map(|host| count_ranges(&host.processors)).max().unwrap_or(1).max(1);
        Ok(RunFacts {
            mpi: MpiFamily::from_library(&header.mpi.library),
            library: header.mpi.library.clone(),
            ranks: header.rank_count(),
            hosts: header.hosts.len().max(1),
            ranks_per_host: on_host.values().copied().max().unwrap_or(1),
            processors,
            work_s: sums.longest_work_ns as f64 / 1e9,
            mpi_share: share(sums.mpi_ns, sums.work_ns),
            point_to_point_share: share(sums.point_to_point_ns, sums.work_ns),
            collectives: sums.collective_shares(),
            long_message_share: share(sums.long_messages, sums.messages),
            longest_message: sums.longest_message,
            faults_per_s: faults as f64 / (elapsed as f64 / 1e9).max(1e-3),
            processors_per_rank: usage().map(|one| count_ranges(&one.affinity)).filter(|count| *count > 0).min().unwrap_or(processors),
            calls: header.ranks.iter().map(|rank| rank.calls).sum(),
        })
    }

    /// Whether a host has more ranks than processors.
    pub fn is_oversubscribed(&self) -> bool {
        self.ranks_per_host > self.processors
    }
}

/// The longest message that counts as short.
const SHORT_MESSAGE: u64 = 4096;

#[derive(Default)]
struct TimeSums {
    ranks: u64,
    work_ns: u64,
    longest_work_ns: u64,
    mpi_ns: u64,
    point_to_point_ns: u64,
    /// For each collective: nanoseconds, calls, bytes.
    collectives: BTreeMap<usize, (CollectiveOp, u64, u64, u64)>,
    messages: u64,
    long_messages: u64,
    longest_message: u64,
}

impl TimeSums {
    fn add(&mut self, activity: &RankActivity, span_ns: u64) {
        let outside = activity.time.init_ns + activity.time.finalize_ns;
        let work = span_ns.saturating_sub(outside);
        self.ranks += 1;
        self.work_ns += work;
        self.longest_work_ns = self.longest_work_ns.max(work);
        self.mpi_ns += activity.time.mpi_ns.saturating_sub(outside);
        for (descriptor, totals) in &activity.totals {
            match descriptor.function.role() {
                FunctionRole::Collective(operation) => {
                    let sum = self.collectives.entry(operation as usize).or_insert((operation, 0, 0, 0));
                    sum.1 += totals.total_ns;
                    sum.2 += totals.calls;
                    sum.3 += totals.sent.max(totals.received);
                }
                role if moves_messages(role) => self.point_to_point_ns += totals.total_ns,
                _ => {}
            }
        }
        for flow in activity.sent_flows() {
            self.messages += flow.messages;
            let length = flow.bytes / flow.messages.max(1);
            self.longest_message = self.longest_message.max(length);
            self.long_messages += if length > SHORT_MESSAGE { flow.messages } else { 0 };
        }
    }

    fn collective_shares(&self) -> Vec<CollectiveShare> {
        let one = |(operation, ns, calls, bytes): &(CollectiveOp, u64, u64, u64)| CollectiveShare {
            operation: *operation,
            share: share(*ns, self.work_ns),
            mean_bytes: bytes / calls.max(&1),
            calls_per_rank: calls / self.ranks.max(1),
        };
        let mut shares: Vec<CollectiveShare> = self.collectives.values().map(one).collect();
        shares.sort_by(|one, other| other.share.total_cmp(&one.share));
        shares
    }
}

fn moves_messages(role: FunctionRole) -> bool {
    use FunctionRole::*;
    matches!(
        role,
        Send | Receive
            | SendReceive
            | Probe
            | MatchedProbe
            | MatchedReceive
            | Start
            | StartAll
            | CompleteOne
            | CompleteAll
            | CompleteAny
            | CompleteSome
            | Put
            | Get
            | Exchange
            | WindowSync
    )
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// How many numbers ranges such as `0-3,8` hold.
fn count_ranges(ranges: &str) -> u32 {
    let numbers = ranges.split(',').filter_map(|range| {
        let (first, last) = range.trim().split_once('-').unwrap_or((range.trim(), range.trim()));
        Some((first.parse::<u32>().ok()?, last.parse::<u32>().ok()?))
    });
    numbers.flat_map(|(first, last)| first..=last).collect::<BTreeSet<u32>>().len() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_counted() {
        for (ranges, count) in [("0-1", 2), ("0", 1), ("0-3,8,10-11", 7), ("", 0)] {
            assert_eq!(count_ranges(ranges), count, "{ranges}");
        }
    }

    #[test]
    fn libraries_are_known_by_their_names() {
        for (library, family) in [
            ("Open MPI 4.1.4", MpiFamily::OpenMpi4),
            ("Open MPI 5.0.8", MpiFamily::OpenMpi5),
            ("MPICH 4.0.2", MpiFamily::Mpich),
            ("Cray MPICH 8.1.25", MpiFamily::Mpich),
            ("Intel MPI 2021.18", MpiFamily::Intel),
            ("ParaStation MPI 5.9", MpiFamily::Other),
        ] {
            assert_eq!(MpiFamily::from_library(library), family);
        }
    }
}
