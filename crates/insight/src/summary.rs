//! Everything that a report shows, gathered in one reading of the recording.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use serde::Serialize;
use sintonia_mpi::Operation;
use sintonia_program::company::Company;
use sintonia_program::graph::ProgramGraph;
use sintonia_recording::Recording;
use sintonia_recording::header::{Header, Mpi, Rank};
use sintonia_replay::Error;

use crate::advice::Advice;
use crate::findings::Findings;
use crate::gaps::Gaps;
use crate::phases::PhaseEfficiency;
use crate::shown::{ClockRepair, CriticalPath, RootCause, WaitState};
use crate::tally::{Sum, Tally};
use crate::times::{self, RankTime, Work, elapsed_s, seconds};
use crate::{Efficiency, Place};

/// What a report shows; as JSON, its fields are the keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The command that was recorded.
    pub command: Vec<String>,
    /// The exit status of the command, if it was seen to end.
    pub exit_status: Option<i32>,
    /// Parameters given by the user when recording.
    pub parameters: BTreeMap<String, f64>,
    /// Whether only sums were kept, not every call.
    pub profile: bool,
    /// How many processes there were.
    pub ranks: usize,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// The MPI library.
    pub mpi: Mpi,
    /// Seconds from the moment the first rank began to the moment the last one ended.
    pub elapsed_s: f64,
    /// How many MPI calls all ranks made.
    pub calls: u64,
    /// Seconds of that from the moment the first rank left MPI_Init to the moment the last one entered MPI_Finalize.
    pub work_s: f64,
    /// How well the time between MPI_Init and MPI_Finalize was used; `None` if nobody computed.
    pub efficiency: Option<Efficiency>,
    /// Seconds in MPI over the ranks.
    pub mpi_s: Spread,
    /// Seconds outside MPI over the ranks.
    pub outside_s: Spread,
    /// The ranks that left a recording.
    pub per_rank: Vec<RankTime>,
    /// The MPI functions that were called, most time first.
    pub operations: Vec<OperationSum>,
    /// The call sites, most time first.
    pub call_sites: Vec<CallSite>,
    /// Messages by size, point to point and one-sided, smallest first.
    pub sizes: Vec<SizeClass>,
    /// Messages by the ranks between which they went, point to point and one-sided, most bytes first.
    pub pairs: Vec<Pair>,
    /// Point-to-point messages that were sent but not received, or the other way round; 0 if only sums were kept.
    pub unmatched: u64,
    /// Calls that were under way when their rank ended.
    pub unfinished: Vec<Unfinished>,
    /// Ranks of which not everything is known.
    pub incomplete_ranks: Vec<u32>,
    /// The same ranks, and why.
    pub incomplete: Vec<IncompleteRank>,
    /// What was not recorded, one sentence each.
    pub not_recorded: Vec<String>,
    /// How wrong times on different hosts can be against each other, in seconds.
    pub clock_error_s: f64,
    /// What had to be put right about the clocks.
    pub clock_repair: ClockRepair,
    /// Seconds that the run would take on an ideal network, between MPI_Init and MPI_Finalize; `None` if only sums were kept.
    pub ideal_s: Option<f64>,
    /// The phases of the program in order, and how well the time in each was used.
    pub phases: Vec<PhaseEfficiency>,
    /// Waits for other ranks by kind and call site, longest first.
    pub wait_states: Vec<WaitState>,
    /// The computation that made others wait, most first.
    pub root_causes: Vec<RootCause>,
    /// What made the run as long as it was; `None` if only sums were kept.
    pub critical_path: Option<CriticalPath>,
    /// What to change, most worthwhile first.
    pub advice: Vec<Advice>,
}

/// How a time spreads over the ranks, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The shortest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The longest.
    pub max: f64,
    /// How far the longest is above the mean: max / mean - 1.
    pub imbalance: f64,
}

/// All calls of one MPI function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperationSum {
    /// The function.
    pub operation: &'static str,
    /// How many calls.
    pub calls: u64,
    /// Seconds in them.
    pub seconds: f64,
    /// Bytes they sent and received.
    pub bytes: u64,
}

/// All calls of one MPI function from one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallSite {
    /// The function.
    pub operation: &'static str,
    /// The place.
    #[serde(flatten)]
    pub place: Place,
    /// How many calls.
    pub calls: u64,
    /// Seconds in them.
    pub seconds: f64,
    /// Bytes they sent and received.
    pub bytes: u64,
}

/// Messages of similar size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeClass {
    /// The most bytes that such a message has: a power of two, or 0.
    pub up_to: u64,
    /// How many messages.
    pub messages: u64,
    /// Bytes of all of them together.
    pub bytes: u64,
}

/// Messages from one rank to another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The rank that the data left.
    pub from: i32,
    /// The rank that the data reached.
    pub to: i32,
    /// How many messages.
    pub messages: u64,
    /// Bytes of all of them together.
    pub bytes: u64,
}

/// A call that was under way when its rank ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unfinished {
    /// The rank.
    pub rank: u32,
    /// The function.
    pub operation: &'static str,
    /// The place.
    #[serde(flatten)]
    pub place: Place,
}

/// A rank of which not everything is known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IncompleteRank {
    /// The rank.
    pub rank: u32,
    /// What is wrong, in words.
    pub why: String,
}

impl Summary {
    /// How often `progress` is called for a recording that one process reads.
    pub fn steps(recording: &Recording) -> usize {
        recording.header.ranks.len() * if recording.header.profile { 1 } else { 2 + ProgramGraph::READINGS }
    }

    /// Understands a recording together with others, or alone; `progress` is called after each reading of a rank.
    pub fn of(recording: &Recording, company: &dyn Company, progress: &(dyn Fn() + Sync)) -> Result<Summary, Error> {
        if recording.header.profile {
            return Summary::of_sums(recording, company, progress);
        }
        let (per_rank, tally) = times::count(recording, company, progress)?;
        let findings = Findings::of(recording, company, progress)?;
        let mut summary = Summary::new(recording, &findings.gaps, per_rank, tally);
        summary.find(recording, &findings);
        Ok(summary)
    }

    /// The same without who waited for whom, and what follows from that: takes no memory to speak of, however long the run was.
    pub fn of_sums(recording: &Recording, company: &dyn Company, progress: &(dyn Fn() + Sync)) -> Result<Summary, Error> {
        let (per_rank, tally) = times::count(recording, company, progress)?;
        Ok(Summary::new(recording, &Gaps::of(recording, company), per_rank, tally))
    }

    /// About how many bytes of memory [`Summary::of`] takes, in all processes together.
    pub fn memory(recording: &Recording) -> u64 {
        const BYTES_PER_CALL: u64 = 130;
        let calls = recording.header.ranks.iter().map(|rank| rank.calls).fold(0, u64::saturating_add);
        if recording.header.profile { 0 } else { calls.saturating_mul(BYTES_PER_CALL) }
    }

    /// Adds what was found in the history of the run.
    fn find(&mut self, recording: &Recording, findings: &Findings) {
        let ideal_s = findings.ideal_ns as f64 / 1e9;
        self.ideal_s = Some(ideal_s);
        self.efficiency = self.efficiency.map(|efficiency| efficiency.on_ideal_network(ideal_s, self.work_s));
        self.unmatched = findings.unmatched.sends + findings.unmatched.receives;
        self.clock_repair = ClockRepair::of(findings);
        self.phases = findings.phases.clone();
        self.wait_states = WaitState::all(recording, findings);
        self.root_causes = RootCause::all(recording, findings);
        self.critical_path = Some(CriticalPath::of(recording, findings));
        self.advice = Advice::all(recording, self, findings);
    }

    fn new(recording: &Recording, gaps: &Gaps, per_rank: Vec<RankTime>, tally: Tally) -> Summary {
        let header = &recording.header;
        let elapsed_s = elapsed_s(header.ranks.iter().map(|r| (r.begin_ns, r.end_ns)));
        let outside: Vec<f64> = per_rank.iter().map(|r| r.outside_s).collect();
        let work = Work::of(header, &per_rank, gaps);
        let place = |site| Place::of(recording.site(site));
        let incomplete = gaps.incomplete.iter().map(|(rank, why)| IncompleteRank { rank: *rank, why: why.clone() });
        Summary {
            command: header.command.clone(),
            exit_status: header.exit_status,
            parameters: header.parameters.clone(),
            profile: header.profile,
            ranks: header.size,
            hosts: header.hosts.clone(),
            mpi: header.mpi.clone(),
            elapsed_s,
            calls: per_rank.iter().map(|r| r.calls).sum(),
            work_s: work.elapsed_s,
            efficiency: work.efficiency,
            mpi_s: Spread::of(per_rank.iter().map(|r| r.mpi_s)),
            outside_s: Spread::of(outside.into_iter()),
            per_rank,
            operations: operations(&tally),
            call_sites: call_sites(&tally, place),
            sizes: sizes(&tally),
            pairs: pairs(&tally),
            unmatched: 0,
            unfinished: unfinished(&tally, place),
            incomplete_ranks: gaps.incomplete.keys().copied().collect(),
            incomplete: incomplete.collect(),
            not_recorded: not_recorded(header),
            clock_error_s: header.clock_error_s,
            clock_repair: ClockRepair::default(),
            ideal_s: None,
            phases: Vec::new(),
            wait_states: Vec::new(),
            root_causes: Vec::new(),
            critical_path: None,
            advice: Vec::new(),
        }
    }
}

impl Spread {
    fn of(values: impl ExactSizeIterator<Item = f64> + Clone) -> Spread {
        if values.len() == 0 {
            return Spread::default();
        }
        let mean = values.clone().sum::<f64>() / values.len() as f64;
        let (min, max) = values.fold((f64::INFINITY, 0.0), |(min, max), v| (f64::min(min, v), f64::max(max, v)));
        Spread { min, mean, max, imbalance: if mean > 0.0 { max / mean - 1.0 } else { 0.0 } }
    }
}

/// Sums under the names that people see, most time first.
fn ranked<K: Ord + Hash>(sums: impl Iterator<Item = (K, Sum)>) -> Vec<(K, Sum)> {
    let mut merged: HashMap<K, Sum> = HashMap::new();
    sums.for_each(|(key, sum)| merged.entry(key).or_default().add(sum));
    let mut merged: Vec<(K, Sum)> = merged.into_iter().collect();
    merged.sort_unstable_by(|(a_key, a), (b_key, b)| b.nanoseconds.cmp(&a.nanoseconds).then_with(|| a_key.cmp(b_key)));
    merged
}

fn operations(tally: &Tally) -> Vec<OperationSum> {
    ranked(tally.sites.iter().map(|((operation, _), sum)| (Operation(*operation), *sum)))
        .into_iter()
        .map(|(operation, sum)| OperationSum {
            operation: operation.name(),
            calls: sum.calls,
            seconds: seconds(sum.nanoseconds),
            bytes: sum.bytes,
        })
        .collect()
}

fn call_sites(tally: &Tally, place: impl Fn(u32) -> Place) -> Vec<CallSite> {
    ranked(tally.sites.iter().map(|((operation, site), sum)| ((Operation(*operation), place(*site)), *sum)))
        .into_iter()
        .map(|((operation, place), sum)| CallSite {
            operation: operation.name(),
            place,
            calls: sum.calls,
            seconds: seconds(sum.nanoseconds),
            bytes: sum.bytes,
        })
        .collect()
}

fn sizes(tally: &Tally) -> Vec<SizeClass> {
    let class = |(up_to, sum): (&u64, &crate::tally::Messages)| SizeClass { up_to: *up_to, messages: sum.messages, bytes: sum.bytes };
    let mut sizes: Vec<SizeClass> = tally.sizes.iter().map(class).collect();
    sizes.sort_unstable_by_key(|class| class.up_to);
    sizes
}

fn pairs(tally: &Tally) -> Vec<Pair> {
    let mut pairs: Vec<Pair> =
        tally.pairs.iter().map(|((from, to), sum)| Pair { from: *from, to: *to, messages: sum.messages, bytes: sum.bytes }).collect();
    pairs.sort_unstable_by_key(|pair| (std::cmp::Reverse((pair.bytes, pair.messages)), pair.from, pair.to));
    pairs
}

fn unfinished(tally: &Tally, place: impl Fn(u32) -> Place) -> Vec<Unfinished> {
    let call = |(rank, operation, site): &(u32, u16, u32)| Unfinished {
        rank: *rank,
        operation: Operation(*operation).name(),
        place: place(*site),
    };
    let mut calls: Vec<Unfinished> = tally.unfinished.iter().map(call).collect();
    calls.sort_by_key(|call| call.rank);
    calls
}

/// What the recording says it does not hold, and calls for which there was no room.
fn not_recorded(header: &Header) -> Vec<String> {
    let without_room = |rank: &Rank| match header.profile {
        true => format!("rank {}: of {} calls only the function is known", rank.rank, rank.dropped),
        false => format!("rank {}: {} calls could not be kept (more room: record --memory)", rank.rank, rank.dropped),
    };
    let dropped = header.ranks.iter().filter(|rank| rank.dropped > 0).map(without_room);
    header.notes.iter().cloned().chain(dropped).collect()
}
