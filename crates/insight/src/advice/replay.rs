//! The run again, with something changed: what an advice would save.
//!
//! A wait that is shortened does not shorten the run if something else takes as long beside it. So no advice is weighed by its waits:
//! the recording is replayed on its own network, where computation and calls take as long as they took except where something is changed,
//! and the run ends when it ends. Without a change it ends when it did.

use std::collections::{BTreeMap, HashMap};

use bytemuck::{Pod, Zeroable};
use sintonia_mpi::{Mode, Role};
use sintonia_program::company::Company;
use sintonia_program::history::{At, History, Line, Walk, walk};
use sintonia_recording::Recording;
use sintonia_recording::table::Shape;
use sintonia_replay::Error;
use sintonia_replay::changes::Changes;
pub use sintonia_replay::changes::Takes;
use sintonia_replay::engine::{self, Costs, RecordedNetwork};
pub use sintonia_replay::manners::Manner;
use sintonia_replay::manners::{Manners, Moved, READIES_S, small_message};
use sintonia_replay::schedule::LineId;

use super::clues::Sites;
use crate::bounds;
use crate::segment::{self, Segment};
use crate::wait::Wait;

/// How many later messages are looked at for one that could have been received instead.
const LOOKS_AHEAD: usize = 100;

/// Sends that waited less for their receives than this would hardly be missed.
const WAITS_NS: i64 = 1000;

/// Something done differently. Segments and sites are those of [`Sites`].
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The computation in segments takes another time on these ranks.
    Computes(BTreeMap<(Segment, u32), Takes>),
    /// The calls at these sites are made in another way.
    Calls(Vec<u32>, Manner),
    /// Ranks are on other hosts, these by rank, and messages that no longer go from host to host take so many times as long.
    Placed(Vec<u32>, f64),
}

/// A recording that can be run again.
pub struct Replay<'a> {
    recording: &'a Recording,
    sites: &'a Sites,
    /// The host of each rank.
    hosts: &'a [u32],
    /// What was seen of single calls, and is so again whatever is changed.
    seen: Manners,
    /// What each call of each line took after everything it needed was there; less than nothing if it did not need it after all.
    own: Vec<Vec<i64>>,
    /// Nanoseconds from the moment the first rank had started MPI to the moment the last one came to MPI_Finalize.
    recorded_ns: i64,
}

impl<'a> Replay<'a> {
    /// Makes a recording ready to be run again, with what is known of its history.
    pub fn new(
        recording: &'a Recording,
        history: &History,
        waits: &[Vec<Wait>],
        sites: &'a Sites,
        hosts: &'a [u32],
        company: &dyn Company,
    ) -> Replay<'a> {
        let mut measure = Measure { history, own: history.lines.iter().map(|line| Vec::with_capacity(line.len())).collect() };
        walk(history, company, &mut measure);
        Replay {
            recording,
            sites,
            hosts,
            seen: seen(history, waits, company),
            own: measure.own,
            recorded_ns: recorded_ns(history, company),
        }
    }

    /// What a call took after everything it needed was there.
    pub fn own_ns(&self, line: usize, row: usize) -> i64 {
        self.own[line][row].max(0)
    }

    /// Nanoseconds from the moment the first rank had started MPI to the moment the last one came to MPI_Finalize as it was.
    pub fn recorded_ns(&self) -> i64 {
        self.recorded_ns
    }

    /// The same if these changes were made. Every process of a company finds it for itself, and finds the same.
    pub fn changed_ns(&self, changes: &[Change]) -> Result<i64, Error> {
        let costs = Costs::Recorded(RecordedNetwork::default());
        let outcome = engine::replay(self.recording, &costs, &self.changes(changes), None)?;
        Ok((outcome.seconds * 1e9) as i64)
    }

    fn changes(&self, all: &[Change]) -> Changes {
        let mut changes = Changes { goes_on: true, ..Changes::default() };
        let mut manners = self.seen.clone();
        for change in all {
            match change {
                Change::Computes(segments) => {
                    for ((segment, rank), takes) in segments {
                        let (from, to) = (self.sites.like(segment.from), self.sites.like(segment.to));
                        let pairs = from.iter().flat_map(|from| to.iter().map(|to| (*from, *to)));
                        pairs.for_each(|pair| changes.loads.change(pair, *rank, *takes));
                    }
                }
                Change::Calls(sites, manner) => {
                    sites.iter().flat_map(|site| self.sites.like(*site)).for_each(|site| manners.change(*site, *manner));
                }
                Change::Placed(hosts, times) => {
                    manners.moved = Some(Moved { from: self.hosts.to_vec(), to: hosts.clone(), times: *times });
                }
            }
        }
        changes.manners = Some(manners);
        changes
    }
}

/// What a recording takes from the first start of MPI to the last end.
fn recorded_ns(history: &History, company: &dyn Company) -> i64 {
    let started = |line: &Line| bounds::begin(line).map(|row| line.calls.leave[row]);
    let ended = |line: &Line| bounds::end(line).map_or_else(|| line.calls.leave.last().copied(), |row| Some(line.calls.enter[row]));
    let begin = history.lines.iter().filter_map(started).min().unwrap_or(i64::MAX);
    let end = history.lines.iter().filter_map(ended).max().unwrap_or(i64::MIN);
    let all: Vec<[i64; 2]> = company.swap(vec![vec![[begin, end]]; company.size()]).into_iter().flatten().collect();
    let (begin, end) = (all.iter().map(|[begin, _]| *begin).min(), all.iter().map(|[_, end]| *end).max());
    let begin = begin.filter(|begin| *begin < i64::MAX).unwrap_or(0);
    end.unwrap_or(i64::MIN).saturating_sub(begin).max(0)
}

/// A call, and another one that it has to do with, on their way to other processes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Seen {
    rank: u32,
    thread: u32,
    call: u32,
    other: u32,
}

/// Finds calls of a line, each with another one that it has to do with.
type Find = fn(&Line, &[Wait]) -> Vec<(u32, u32)>;

/// What the waits of all ranks tell of single calls; every process gets all of it.
fn seen(history: &History, waits: &[Vec<Wait>], company: &dyn Company) -> Manners {
    let gather = |find: Find| {
        let lines = history.lines.iter().zip(waits).flat_map(|(line, waits)| {
            let found = find(line, waits).into_iter();
            found.map(|(call, other)| Seen { rank: line.rank, thread: line.calls.thread.into(), call, other })
        });
        let mine: Vec<Seen> = lines.collect();
        let mut all: HashMap<LineId, Vec<(u64, u64)>> = HashMap::new();
        for seen in company.swap(vec![mine; company.size()]).into_iter().flatten() {
            let line = LineId { rank: seen.rank, thread: seen.thread as u16 };
            all.entry(line).or_default().push((seen.call.into(), seen.other.into()));
        }
        all
    };
    let waiting = gather(waiting_sends).into_iter();
    let mut seen = Manners::default();
    seen.waiting_sends = waiting.map(|(line, calls)| (line, calls.into_iter().map(|(call, _)| call).collect())).collect();
    seen.put_off = gather(put_off);
    seen
}

/// Sends of a line that waited for their receives, each with the call that completed it.
fn waiting_sends(line: &Line, _: &[Wait]) -> Vec<(u32, u32)> {
    let waited = line.sent.iter().filter(|sent| sent.synchronous && sent.receiver != At::NOWHERE);
    waited.map(|sent| (sent.row, sent.done)).collect()
}

/// Receives of a line that waited although a message was there, with the receive that took it. Between the two nobody may be told anything:
/// it could depend on the message that was waited for.
fn put_off(line: &Line, waits: &[Wait]) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for wait in waits.iter().filter(|wait| wait.pattern.kind == "late_sender_wrong_order") {
        let after = line.received.partition_point(|received| received.row <= wait.row);
        let tells = line.sent.get(line.sent.partition_point(|sent| sent.row <= wait.row)).map_or(u32::MAX, |sent| sent.row);
        let meets = line.joined.get(line.joined.partition_point(|joined| joined.row <= wait.row)).map_or(u32::MAX, |joined| joined.row);
        let ahead = line.received[after..].iter().take(LOOKS_AHEAD).take_while(|received| received.row < tells.min(meets));
        let there = ahead.filter(|received| received.taken && received.sender != At::NOWHERE).min_by_key(|received| received.send_enter);
        found.extend(there.map(|received| (wait.row, received.row)));
    }
    found
}

/// Goes through a history as it was, and notes what each call took after everything it needed was there.
struct Measure<'a> {
    history: &'a History,
    own: Vec<Vec<i64>>,
}

impl Walk for Measure<'_> {
    fn enter(&mut self, line: usize, row: usize) -> i64 {
        self.history.lines[line].calls.enter[row]
    }

    fn leave(&mut self, line: usize, row: usize, needed: Option<i64>) {
        let calls = &self.history.lines[line].calls;
        let from = calls.enter[row].max(needed.unwrap_or(i64::MIN));
        self.own[line].push(calls.leave[row] - from);
    }
}

/// Marks sends that were seen to wait for their receives: run again, they would wait again.
pub fn mark_waiting_sends(history: &mut History, waits: &[Vec<Wait>], company: &dyn Company) {
    let mut told: Vec<Told> = Vec::new();
    for (line, waits) in history.lines.iter_mut().zip(waits) {
        let late = waits.iter().filter(|wait| wait.pattern.kind == "late_receiver" && wait.ns >= WAITS_NS);
        let late: Vec<u32> = late.map(|wait| wait.row).collect();
        let thread = u32::from(line.calls.thread);
        for (place, sent) in line.sent.iter_mut().enumerate() {
            if sent.receiver != At::NOWHERE && late.binary_search(&sent.done).is_ok() {
                sent.synchronous = true;
                let sender = At { rank: line.rank, thread, row: sent.row };
                told.push(Told { receiver: sent.receiver, sender, place: place as u32 });
            }
        }
    }
    for told in company.swap(history.share.sorted(told, |told| told.receiver.rank)).into_iter().flatten() {
        let Some(line) = history.line(told.receiver) else { continue };
        let received = &mut history.lines[line].received;
        let first = received.partition_point(|received| received.row < told.receiver.row);
        let own = received[first..].iter_mut().take_while(|received| received.row == told.receiver.row);
        own.filter(|received| (received.sender, received.sender_place) == (told.sender, told.place))
            .for_each(|received| received.synchronous = true);
    }
}

/// What the receiver of a message is told: its sender waited for it.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Told {
    receiver: At,
    sender: At,
    place: u32,
}

/// Whether a call sends or receives a small message right after one of the same kind to or from the same rank: both could be one.
pub fn follows(line: &Line, row: usize) -> bool {
    let Some(before) = row.checked_sub(1) else { return false };
    let [this, last] = [row, before].map(|row| small_message(shape(line, row)));
    let call = line.calls.leave[before] - line.calls.enter[before];
    this.is_some() && this == last && segment::length(line, row) <= call.max((READIES_S * 1e9) as i64)
}

/// The shape of a call.
pub fn shape(line: &Line, row: usize) -> &Shape {
    &line.calls.shapes[line.calls.shape[row] as usize]
}

/// Whether a call returns only when its message has left or come.
pub fn blocks(shape: &Shape) -> bool {
    let function = shape.operation.function();
    function.mode == Mode::Blocking && matches!(function.role, Role::Send | Role::Receive | Role::SendReceive)
}
