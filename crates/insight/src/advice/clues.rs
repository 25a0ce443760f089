//! What the rules look at beside the waits: who computed how long where and when, and what calls took apart from waiting.
//!
//! Everything is summed up by place and rank, so it does not grow with the length of the run.

use std::collections::{BTreeMap, HashMap, HashSet};

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use sintonia_mpi::{Mode, Operation};
use sintonia_program::company::Company;
use sintonia_program::history::{At, History, Line};
use sintonia_recording::Recording;

use super::replay::{Replay, blocks, follows, shape};
use crate::Place;
use crate::segment::{self, Segment};
use crate::wait::only_looks;

/// In how many parts of the run computation is looked at separately.
pub const WINDOWS: usize = 4;

/// Messages from this size on take long enough to go on beside computation.
const LARGE_BYTES: u64 = 64 * 1024;

/// Computation between two looks for a message that is shorter than this is waiting, not work.
const LOOKS_AGAIN_NS: i64 = 10_000;

/// Several call sites can be in one line of the source; here the first of them stands for all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sites {
    /// The site that stands for each.
    first: Vec<u32>,
    /// The sites that each of those stands for.
    like: HashMap<u32, Vec<u32>>,
}

impl Sites {
    /// The call sites of a recording.
    pub fn of_recording(recording: &Recording) -> Sites {
        let mut first: HashMap<Place, u32> = HashMap::new();
        let site = |(number, site)| *first.entry(Place::of(site)).or_insert(number as u32);
        let first: Vec<u32> = recording.header.sites.iter().enumerate().map(site).collect();
        let mut like: HashMap<u32, Vec<u32>> = HashMap::new();
        first.iter().zip(0..).for_each(|(first, site)| like.entry(*first).or_default().push(site));
        Sites { first, like }
    }

    /// The site that stands for a site.
    pub fn of(&self, site: u32) -> u32 {
        self.first.get(site as usize).copied().unwrap_or(site)
    }

    /// The sites that a site stands for.
    pub fn like(&self, site: u32) -> &[u32] {
        self.like.get(&site).map_or(&[], Vec::as_slice)
    }

    /// The segment between the sites that stand for those of a segment.
    pub fn of_segment(&self, segment: Segment) -> Segment {
        Segment { from: self.of(segment.from), to: self.of(segment.to) }
    }
}

/// How long a rank computed in a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Load {
    /// Nanoseconds in each part of the run.
    pub windows: [i64; WINDOWS],
    /// How often it was there.
    pub visits: u64,
}

impl Load {
    /// Nanoseconds in the whole run.
    pub fn ns(&self) -> i64 {
        self.windows.iter().sum()
    }
}

/// What the calls of a rank at a site add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Called {
    /// How many calls.
    pub calls: u64,
    /// Nanoseconds in them after everything they needed was there.
    pub own_ns: i64,
    /// Bytes they sent and received.
    pub bytes: u64,
    /// How many of them handled a small message right after another of the same pair.
    pub followers: u64,
    /// Nanoseconds in those.
    pub followers_ns: i64,
    /// Nanoseconds of moving large messages that could go on beside the computation after them.
    pub hideable_ns: i64,
}

impl Called {
    fn add(&mut self, other: &Called) {
        self.calls += other.calls;
        self.own_ns += other.own_ns;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.followers += other.followers;
        self.followers_ns += other.followers_ns;
        self.hideable_ns += other.hideable_ns;
    }
}

/// The calls at a site.
#[derive(Clone, Debug, PartialEq)]
pub struct Calls {
    /// The function.
    pub operation: Operation,
    /// What they add up to on each rank.
    pub ranks: BTreeMap<u32, Called>,
}

impl Calls {
    /// The sum of something over all ranks.
    pub fn sum<T: std::iter::Sum>(&self, pick: impl Fn(&Called) -> T) -> T {
        self.ranks.values().map(pick).sum()
    }
}

/// Messages from one rank to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Traffic {
    /// Bytes.
    pub bytes: u64,
    /// How many were received.
    pub messages: u64,
    /// Nanoseconds that the receiver's calls took after they were sent.
    pub ns: i64,
}

/// What the rules look at; every process of the company has all of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clues {
    /// The call sites by line.
    pub sites: Sites,
    /// Nanoseconds from the end of MPI_Init to the beginning of MPI_Finalize, over all ranks.
    pub run_ns: i64,
    /// The computation by segment and rank.
    pub loads: BTreeMap<Segment, BTreeMap<u32, Load>>,
    /// The calls by site.
    pub calls: BTreeMap<u32, Calls>,
    /// To how many others each rank sent messages.
    pub partners: BTreeMap<u32, u32>,
    /// Messages by sender and receiver, where there are several hosts.
    pub pairs: BTreeMap<(u32, u32), Traffic>,
}

impl Clues {
    /// Gathers the clues in a history.
    pub fn of(recording: &Recording, history: &History, replay: &Replay, sites: Sites, company: &dyn Company) -> Clues {
        let run_ns = replay.recorded_ns();
        let several_hosts = recording.header.hosts.len() > 1;
        let look = |(place, line): (usize, &Line)| {
            let begin = history.lines[history.lines_of(line.rank).start].calls.leave.first().copied().unwrap_or(0);
            Looked {
                loads: loads(line, &sites, begin, run_ns),
                calls: calls(line, place, &sites, replay),
                partners: partners(line),
                pairs: if several_hosts { pairs(line, place, replay) } else { HashMap::new() },
            }
        };
        let looked: Vec<Looked> = history.lines.par_iter().enumerate().map(look).collect();
        let mut clues = Clues { run_ns, ..Clues::default() };
        clues.add(history, looked, company);
        clues.sites = sites;
        clues
    }

    fn add(&mut self, history: &History, looked: Vec<Looked>, company: &dyn Company) {
        let (mut loads, mut calls, mut partners, mut pairs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (line, looked) in history.lines.iter().zip(looked) {
            let rank = line.rank;
            loads.extend(looked.loads.into_iter().map(|(segment, load)| LoadRow { load, segment, rank, padding: 0 }));
            let row = |((site, operation), called)| CallRow { called, site, operation, rank, padding: 0 };
            calls.extend(looked.calls.into_iter().map(row));
            partners.push([rank, looked.partners]);
            pairs.extend(looked.pairs.into_iter().map(|((from, to), traffic)| PairRow { traffic, from, to }));
        }
        for row in shared(company, loads) {
            let load = self.loads.entry(row.segment).or_default().entry(row.rank).or_default();
            (0..WINDOWS).for_each(|window| load.windows[window] += row.load.windows[window]);
            load.visits += row.load.visits;
        }
        for row in shared(company, calls) {
            let operation = Operation(row.operation as u16);
            let calls = self.calls.entry(row.site).or_insert_with(|| Calls { operation, ranks: BTreeMap::new() });
            // Two functions in one line of the source: the first of them in the table gives its name.
            calls.operation = Operation(calls.operation.0.min(operation.0));
            calls.ranks.entry(row.rank).or_default().add(&row.called);
        }
        for [rank, partners] in shared(company, partners) {
            let most = self.partners.entry(rank).or_default();
            *most = partners.max(*most);
        }
        for row in shared(company, pairs) {
            let traffic = self.pairs.entry((row.from, row.to)).or_default();
            traffic.bytes = traffic.bytes.saturating_add(row.traffic.bytes);
            traffic.messages += row.traffic.messages;
            traffic.ns += row.traffic.ns;
        }
    }
}

/// What all processes have, at each of them.
fn shared<T: Pod>(company: &dyn Company, mine: Vec<T>) -> impl Iterator<Item = T> {
    company.swap(vec![mine; company.size()]).into_iter().flatten()
}

/// What was seen on one line.
struct Looked {
    loads: HashMap<Segment, Load>,
    calls: HashMap<(u32, u32), Called>,
    partners: u32,
    pairs: HashMap<(u32, u32), Traffic>,
}

fn loads(line: &Line, sites: &Sites, begin: i64, run_ns: i64) -> HashMap<Segment, Load> {
    let mut loads: HashMap<Segment, Load> = HashMap::new();
    for row in 1..line.len() {
        let Some(segment) = segment::before(line, row) else { continue };
        let ns = segment::length(line, row);
        let looks = |row: usize| only_looks(shape(line, row).operation.function());
        if ns < LOOKS_AGAIN_NS && looks(row) && looks(row - 1) {
            continue;
        }
        let load = loads.entry(sites.of_segment(segment)).or_default();
        let moment = i128::from(line.calls.enter[row] - begin).max(0);
        let window = (moment * WINDOWS as i128 / i128::from(run_ns.max(1))) as usize;
        load.windows[window.min(WINDOWS - 1)] += ns;
        load.visits += 1;
    }
    loads
}

fn calls(line: &Line, place: usize, sites: &Sites, replay: &Replay) -> HashMap<(u32, u32), Called> {
    let mut calls: HashMap<(u32, u32), Called> = HashMap::new();
    for row in 0..line.len() {
        let shape = shape(line, row);
        let own_ns = replay.own_ns(place, row);
        let bytes = match shape.operation.function().mode {
            Mode::Persistent => 0,
            Mode::Blocking | Mode::Nonblocking => shape.bytes_sent().saturating_add(shape.bytes_received()),
        };
        let follower = follows(line, row);
        let hides = blocks(shape) && bytes >= LARGE_BYTES && row + 1 < line.len();
        let called = calls.entry((sites.of(shape.site), shape.operation.0.into())).or_default();
        called.add(&Called {
            calls: 1,
            own_ns,
            bytes,
            followers: follower.into(),
            followers_ns: if follower { own_ns } else { 0 },
            hideable_ns: if hides { own_ns.min(segment::length(line, row + 1)) } else { 0 },
        });
    }
    calls
}

fn partners(line: &Line) -> u32 {
    let known = line.sent.iter().filter(|sent| sent.receiver != At::NOWHERE && sent.receiver.rank != line.rank);
    known.map(|sent| sent.receiver.rank).collect::<HashSet<u32>>().len() as u32
}

fn pairs(line: &Line, place: usize, replay: &Replay) -> HashMap<(u32, u32), Traffic> {
    let mut pairs: HashMap<(u32, u32), Traffic> = HashMap::new();
    for sent in line.sent.iter().filter(|sent| sent.receiver != At::NOWHERE) {
        let traffic = pairs.entry((line.rank, sent.receiver.rank)).or_default();
        traffic.bytes = traffic.bytes.saturating_add(shape(line, sent.row as usize).bytes_sent());
    }
    for same in line.received.chunk_by(|a, b| a.row == b.row) {
        for received in same.iter().filter(|received| received.taken && received.sender != At::NOWHERE) {
            let traffic = pairs.entry((received.sender.rank, line.rank)).or_default();
            traffic.messages += 1;
            traffic.ns += replay.own_ns(place, received.row as usize) / same.len() as i64;
        }
    }
    pairs
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct LoadRow {
    load: Load,
    segment: Segment,
    rank: u32,
    padding: u32,
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct CallRow {
    called: Called,
    site: u32,
    operation: u32,
    rank: u32,
    padding: u32,
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct PairRow {
    traffic: Traffic,
    from: u32,
    to: u32,
}
