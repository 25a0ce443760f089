//! The run again, with something changed: what an advice would save.
//!
//! A wait that is shortened does not shorten the run if something else takes as long beside it. So no advice is weighed by its waits:
//! the history is gone through in the order of cause and effect, computation and calls take as long as they took except where
//! something is changed, and the run ends when it ends. Without a change it ends when it did.

use std::collections::{BTreeMap, HashMap};

use bytemuck::{Pod, Zeroable};
use sintonia_mpi::{Mode, Role};
use sintonia_program::company::Company;
use sintonia_program::history::{At, History, Line, Walk, walk};
use sintonia_recording::table::Shape;

use super::clues::Sites;
use crate::bounds;
use crate::segment::{self, Segment};
use crate::wait::Wait;

/// Messages up to this many bytes take about as long as empty ones, on any network.
pub const SMALL_BYTES: u64 = 4096;

/// How many later messages are looked at for one that could have been received instead.
const LOOKS_AHEAD: usize = 100;

/// Sends that waited less for their receives than this would hardly be missed.
const WAITS_NS: i64 = 1000;

/// Computation between two messages that is no longer than this only gets the next one ready, however quick the messages are.
const READIES_NS: i64 = 1000;

/// So many times as long: the first by the second.
pub type Ratio = (i64, i64);

/// Something done differently. Segments and sites are those of [`Sites`].
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The computation in segments takes another time on these ranks.
    Computes(BTreeMap<(Segment, u32), Takes>),
    /// The calls at these sites are made in another way.
    Calls(Vec<u32>, How),
    /// Ranks are on other hosts, these by rank, and messages that no longer go from host to host take so many times as long.
    Placed(Vec<u32>, Ratio),
}

/// How long a rank computes in a segment instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// So many times as long.
    Times(Ratio),
    /// So many nanoseconds each time.
    Each(i64),
}

/// Another way to make a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Not at all.
    Skipped,
    /// What it waits for is there.
    Unwaiting,
    /// It takes no time, but still waits.
    Free,
    /// All ranks do it together.
    Shared,
    /// It goes on beside the computation after it.
    Overlapped,
    /// A small message that follows another goes with that one.
    Merged,
    /// Of several messages, the one that is there is received first.
    InOrder,
}

/// A history that can be run again.
pub struct Replay<'a> {
    history: &'a History,
    sites: &'a Sites,
    ranks: i64,
    /// The host of each rank.
    hosts: &'a [u32],
    /// What each call of each line took after everything it needed was there; less than nothing if it did not need it after all.
    own: Vec<Vec<i64>>,
    /// Receives that waited although a message was there, and the later receive of that message, by line.
    put_off: Vec<Vec<(u32, u32)>>,
    begin: i64,
}

impl<'a> Replay<'a> {
    /// Makes a history ready to be run again.
    pub fn new(history: &'a History, waits: &[Vec<Wait>], sites: &'a Sites, hosts: &'a [u32], company: &dyn Company) -> Replay<'a> {
        let mut measure = Measure { history, own: history.lines.iter().map(|line| Vec::with_capacity(line.len())).collect() };
        walk(history, company, &mut measure);
        let put_off = history.lines.iter().zip(waits).map(|(line, waits)| put_off(line, waits)).collect();
        let started = |line: &Line| bounds::begin(line).map(|row| line.calls.leave[row]);
        let begin = history.lines.iter().filter_map(started).min().unwrap_or(i64::MAX);
        let begin = company.swap(vec![vec![begin]; company.size()]).into_iter().flatten().min().unwrap_or(0);
        Replay { history, sites, ranks: hosts.len().max(1) as i64, hosts, own: measure.own, put_off, begin }
    }

    /// What a call took after everything it needed was there.
    pub fn own_ns(&self, line: usize, row: usize) -> i64 {
        self.own[line][row].max(0)
    }

    /// Nanoseconds from the moment the first rank had started MPI to the moment the last one came to MPI_Finalize as it was.
    pub fn recorded_ns(&self, company: &dyn Company) -> i64 {
        let end = |line: &Line| bounds::end(line).map_or_else(|| line.calls.leave.last().copied(), |row| Some(line.calls.enter[row]));
        self.since_begin(self.history.lines.iter().filter_map(end).max(), company)
    }

    /// The same if these changes were made.
    pub fn changed_ns(&self, changes: &[Change], company: &dyn Company) -> i64 {
        let mut run = Run::new(self, changes);
        walk(self.history, company, &mut run);
        self.since_begin(run.lines.iter().map(|line| line.end).max(), company)
    }

    fn since_begin(&self, end: Option<i64>, company: &dyn Company) -> i64 {
        let end = end.unwrap_or(i64::MIN);
        let last = company.swap(vec![vec![end]; company.size()]).into_iter().flatten().max().unwrap_or(0);
        last.saturating_sub(self.begin).max(0)
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
    let (this, last) = (shape(line, row), shape(line, before));
    let bytes = match this.operation.role() {
        Role::Send => this.bytes_sent(),
        // What a nonblocking receive gets shows only later, so what it has room for counts.
        Role::Receive => this.received,
        _ => return false,
    };
    let alike = this.operation == last.operation && this.peer == last.peer && this.object == last.object;
    let call = line.calls.leave[before] - line.calls.enter[before];
    alike && this.peer >= 0 && bytes <= SMALL_BYTES && segment::length(line, row) <= call.max(READIES_NS)
}

/// The shape of a call.
pub fn shape(line: &Line, row: usize) -> &Shape {
    &line.calls.shapes[line.calls.shape[row] as usize]
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

/// A run with changes under way.
struct Run<'a> {
    replay: &'a Replay<'a>,
    /// What becomes of segments, by rank.
    computes: HashMap<Segment, HashMap<u32, Takes>>,
    /// How the calls of each site are made: bits by [`How`].
    hows: HashMap<u32, u8>,
    placed: Option<(&'a [u32], Ratio)>,
    lines: Vec<Progress>,
}

/// How far a line has come.
struct Progress {
    now: i64,
    end: i64,
    ends_at: Option<usize>,
    /// Which of the receives that were put off comes next, and what they needed, by the receive that now waits for it.
    next_put_off: usize,
    owed: Vec<(u32, i64)>,
}

impl Takes {
    /// One change after another.
    fn then(self, next: Takes) -> Takes {
        match (self, next) {
            (Takes::Each(each), Takes::Times(ratio)) => Takes::Each(scale(each, ratio)),
            (Takes::Times(this), Takes::Times(next)) => Takes::Times(product(this, next)),
            (_, Takes::Each(each)) => Takes::Each(each),
        }
    }
}

impl<'a> Run<'a> {
    fn new(replay: &'a Replay<'a>, changes: &'a [Change]) -> Run<'a> {
        let progress = |line: &Line| {
            let now = line.calls.enter.first().copied().unwrap_or(0);
            Progress { now, end: now, ends_at: bounds::end(line), next_put_off: 0, owed: Vec::new() }
        };
        let lines = replay.history.lines.iter().map(progress).collect();
        let mut run = Run { replay, computes: HashMap::new(), hows: HashMap::new(), placed: None, lines };
        changes.iter().for_each(|change| run.change(change));
        run
    }

    fn change(&mut self, change: &'a Change) {
        match change {
            Change::Computes(segments) => {
                for ((segment, rank), takes) in segments {
                    let ranks = self.computes.entry(*segment).or_default();
                    ranks.entry(*rank).and_modify(|known| *known = known.then(*takes)).or_insert(*takes);
                }
            }
            Change::Calls(sites, how) => sites.iter().for_each(|site| *self.hows.entry(*site).or_default() |= bit(*how)),
            Change::Placed(hosts, ratio) => self.placed = Some((hosts, *ratio)),
        }
    }

    /// How long the computation before a call takes.
    fn computes(&self, line: &Line, row: usize) -> i64 {
        let ns = segment::length(line, row);
        if self.computes.is_empty() {
            return ns;
        }
        let Some(segment) = segment::before(line, row).map(|segment| self.replay.sites.of_segment(segment)) else { return ns };
        match self.computes.get(&segment).and_then(|ranks| ranks.get(&line.rank)) {
            Some(Takes::Times(ratio)) => scale(ns, *ratio),
            Some(Takes::Each(each)) => *each,
            None => ns,
        }
    }

    /// How long a call takes after everything it needs is there.
    fn takes(&self, place: usize, row: usize, hows: u8) -> i64 {
        let own = self.replay.own[place][row];
        let line = &self.replay.history.lines[place];
        if own <= 0 {
            return own;
        }
        let has = |how| hows & bit(how) != 0;
        if has(How::Free) || has(How::Merged) && follows(line, row) {
            return 0;
        }
        let own = if has(How::Shared) { own / self.replay.ranks } else { own };
        let own = if self.comes_nearer(line, row) { scale(own, self.placed.map_or((1, 1), |(_, ratio)| ratio)) } else { own };
        match has(How::Overlapped) && row + 1 < line.len() {
            true => own - own.min(segment::length(line, row + 1)),
            false => own,
        }
    }

    /// Whether everything a call receives comes from another host, but would come from the same.
    fn comes_nearer(&self, line: &Line, row: usize) -> bool {
        let Some((hosts, _)) = self.placed else { return false };
        let first = line.received.partition_point(|received| (received.row as usize) < row);
        let mut own = line.received[first..].iter().take_while(|received| received.row as usize == row).peekable();
        let together = |hosts: &[u32], a: u32, b: u32| hosts.get(a as usize) == hosts.get(b as usize);
        own.peek().is_some()
            && own.all(|received| {
                let from = received.sender.rank;
                !together(self.replay.hosts, from, line.rank) && together(hosts, from, line.rank)
            })
    }

    /// What a call needs: where a receive waits that could have been put off, what it waited for is needed by the later one; what a send
    /// beside the computation after it waited for, by the call after that.
    fn needs(&mut self, place: usize, row: usize, hows: u8, needed: Option<i64>) -> Option<i64> {
        let line = &self.replay.history.lines[place];
        let has = |how| hows & bit(how) != 0;
        if has(How::Unwaiting) {
            return None;
        }
        let progress = &mut self.lines[place];
        let put_off = &self.replay.put_off[place];
        while put_off.get(progress.next_put_off).is_some_and(|(early, _)| (*early as usize) < row) {
            progress.next_put_off += 1;
        }
        let mut needed = needed;
        if has(How::Overlapped) && line.role(row) == Role::Send {
            progress.owed.extend(needed.map(|moment| (row as u32 + 1, moment)));
            needed = None;
        }
        if has(How::InOrder)
            && let Some((_, later)) = put_off.get(progress.next_put_off).filter(|(early, _)| *early as usize == row)
        {
            progress.owed.extend(needed.map(|moment| (*later, moment)));
            needed = None;
        }
        if !progress.owed.is_empty() {
            let due = progress.owed.iter().filter(|(later, _)| *later as usize <= row).map(|(_, moment)| *moment).max();
            progress.owed.retain(|(later, _)| *later as usize > row);
            needed = needed.max(due);
        }
        needed
    }

    fn hows(&self, place: usize, row: usize) -> u8 {
        if self.hows.is_empty() {
            return 0;
        }
        let site = self.replay.sites.of(segment::site(&self.replay.history.lines[place], row));
        self.hows.get(&site).copied().unwrap_or(0)
    }
}

impl Walk for Run<'_> {
    fn enter(&mut self, place: usize, row: usize) -> i64 {
        let computes = self.computes(&self.replay.history.lines[place], row);
        let progress = &mut self.lines[place];
        progress.now += computes;
        if progress.ends_at == Some(row) {
            progress.end = progress.owed.iter().map(|(_, moment)| *moment).fold(progress.now, i64::max);
        }
        progress.now
    }

    fn leave(&mut self, place: usize, row: usize, needed: Option<i64>) {
        let hows = self.hows(place, row);
        if hows & bit(How::Skipped) != 0 {
            return;
        }
        let needed = self.needs(place, row, hows, needed);
        let takes = self.takes(place, row, hows);
        let progress = &mut self.lines[place];
        progress.now = progress.now.max(progress.now.max(needed.unwrap_or(i64::MIN)) + takes);
        if progress.ends_at.is_none() {
            progress.end = progress.now;
        }
    }
}

fn bit(how: How) -> u8 {
    1 << how as u8
}

fn scale(ns: i64, (by, of): Ratio) -> i64 {
    (i128::from(ns) * i128::from(by) / i128::from(of.max(1))) as i64
}

/// One ratio after another, in numbers that stay small enough to be multiplied again.
fn product((a, b): Ratio, (c, d): Ratio) -> Ratio {
    const PRECISION: i128 = 1 << 30;
    let both = i128::from(a) * i128::from(c) * PRECISION / (i128::from(b.max(1)) * i128::from(d.max(1)));
    (both as i64, PRECISION as i64)
}

/// Whether a call returns only when its message has left or come.
pub fn blocks(shape: &Shape) -> bool {
    let function = shape.operation.function();
    function.mode == Mode::Blocking && matches!(function.role, Role::Send | Role::Receive | Role::SendReceive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_a_computation_follow_each_other() {
        let (third, double) = (Takes::Times((1, 3)), Takes::Times((2_000_000_000_000, 1_000_000_000_000)));
        let Takes::Times(both) = third.then(double) else { panic!("still so many times as long") };
        assert_eq!(scale(3_000_000, both), 1_999_999, "two thirds, rounded down");
        assert_eq!(Takes::Each(30).then(third), Takes::Each(10));
        assert_eq!(double.then(Takes::Each(7)), Takes::Each(7));
    }
}
