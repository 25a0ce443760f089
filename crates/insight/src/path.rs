//! The critical path: the chain of computation and communication that made the run as long as it was.
//!
//! It is followed backwards, from the rank that was the last to come to MPI_Finalize to the end of MPI_Init. Where a call waited for
//! another rank, the path goes on there: what the waiting rank did before did not matter. Making anything on the path shorter makes the
//! run shorter (until another chain is the longest); making anything else shorter does not.

use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};
use sintonia_mpi::Role;
use sintonia_program::company::Company;
use sintonia_program::history::{At, History, Line};

use crate::bounds;
use crate::segment::{self, Segment};
use crate::wait::Wait;

/// What the critical path is made of; every process of the company gets all of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// Nanoseconds of computation on it, by segment.
    pub segments: BTreeMap<Segment, i64>,
    /// Nanoseconds in MPI calls on it, by call site.
    pub calls: BTreeMap<u32, i64>,
    /// Nanoseconds of it on each rank.
    pub ranks: BTreeMap<u32, i64>,
    /// How often it goes from one rank to another.
    pub jumps: u64,
    /// The same by pair: from whom to whom, in the order of time.
    pub pairs: BTreeMap<(u32, u32), u64>,
    /// Where it is when, in the order of time.
    pub stretches: Vec<Stretch>,
}

/// A part of the path that lies on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The rank.
    pub rank: u32,
    /// The moment at which the path comes to it.
    pub from: i64,
    /// The moment at which it leaves it.
    pub to: i64,
}

impl Path {
    /// Nanoseconds of the whole path.
    pub fn length_ns(&self) -> i64 {
        self.ranks.values().sum()
    }

    /// Follows the critical path of a history with its waits, line by line.
    pub fn of(history: &History, waits: &[Vec<Wait>], company: &dyn Company) -> Path {
        let mut path = Path::default();
        let mut point = end(history, company);
        while let Some(here) = point {
            let leaves = history.line(here.at).and_then(|_| path.follow(history, waits, here));
            point = pass_on(company, leaves);
        }
        path.shared(company)
    }

    /// Follows the path until it leaves the ranks of this process; `None` if it ends here.
    fn follow(&mut self, history: &History, waits: &[Vec<Wait>], mut point: Point) -> Option<Point> {
        let most_jumps = waits.iter().map(Vec::len).sum::<usize>() as u64;
        while let Some(place) = history.line(point.at) {
            let line = &history.lines[place];
            let row = point.at.row as usize;
            // A recording that contradicts itself could send the path round in circles: into the future, or through the same waits again.
            if line.calls.enter[row] > point.moment || self.jumps > most_jumps {
                return None;
            }
            point = match self.back(line, &waits[place], row) {
                Some(cause) => cause,
                None => self.start(history, waits, line)?,
            };
        }
        Some(point)
    }

    /// Goes back on a line to the call that waited, and says what it waited for.
    fn back(&mut self, line: &Line, waits: &[Wait], mut row: usize) -> Option<Point> {
        loop {
            if let Some(segment) = segment::before(line, row) {
                let enter = line.calls.enter[row];
                self.add_segment(segment, line.rank, (enter - segment::length(line, row), enter));
            }
            row = row.checked_sub(1).filter(|row| line.role(*row) != Role::Init)?;
            if let Some(cause) = self.through(line, waits, row, line.calls.leave[row]) {
                return Some(cause);
            }
        }
    }

    /// Goes back through a call from a moment in it or its end, and says what it had waited for until then.
    fn through(&mut self, line: &Line, waits: &[Wait], row: usize, until: i64) -> Option<Point> {
        let enter = line.calls.enter[row];
        let wait = waited(waits, row as u32).filter(|(_, ns)| enter + ns <= until);
        let waited = wait.map_or(0, |(_, ns)| ns);
        self.add_call(segment::site(line, row), line.rank, (enter + waited, until));
        let (cause, ns) = wait?;
        self.jumps += 1;
        if cause.rank != line.rank {
            *self.pairs.entry((cause.rank, line.rank)).or_default() += 1;
        }
        Some(Point { moment: enter + ns, at: cause, padding: 0 })
    }

    /// Goes back from the first call of a thread to the first thread of its process, to wherever that was at the moment; `None` if the path
    /// ends there.
    fn start(&mut self, history: &History, waits: &[Vec<Wait>], line: &Line) -> Option<Point> {
        let place = history.lines_of(line.rank).start;
        let first = &history.lines[place];
        let moment = *line.calls.enter.first()?;
        let row = first.calls.enter.partition_point(|enter| *enter < moment).checked_sub(1)?;
        if first.calls.thread == line.calls.thread {
            return None;
        }
        let until = first.calls.leave[row].min(moment);
        if row + 1 < first.len()
            && let Some(segment) = segment::before(first, row + 1)
        {
            self.add_segment(segment, first.rank, (until, moment));
        }
        if first.role(row) == Role::Init {
            return None;
        }
        let here = Point { moment: first.calls.enter[row], at: first.at(row as u32), padding: 0 };
        self.through(first, &waits[place], row, until).or(Some(here))
    }

    fn add_segment(&mut self, segment: Segment, rank: u32, span: (i64, i64)) {
        *self.segments.entry(segment).or_default() += span.1 - span.0;
        self.add_span(rank, span);
    }

    fn add_call(&mut self, site: u32, rank: u32, span: (i64, i64)) {
        *self.calls.entry(site).or_default() += span.1 - span.0;
        self.add_span(rank, span);
    }

    /// Adds what lies before everything that was added.
    fn add_span(&mut self, rank: u32, (from, to): (i64, i64)) {
        *self.ranks.entry(rank).or_default() += to - from;
        match self.stretches.last_mut() {
            Some(later) if later.rank == rank && later.from == to => later.from = from,
            _ if from < to => self.stretches.push(Stretch { rank, from, to }),
            _ => {}
        }
    }

    /// The path as all processes know it together.
    fn shared(mut self, company: &dyn Company) -> Path {
        if company.size() == 1 {
            self.stretches.sort_unstable_by_key(|stretch| (stretch.from, stretch.to, stretch.rank));
            return self;
        }
        let segments = self.segments.iter().map(|(segment, ns)| Entry { kind: 0, a: segment.from, b: segment.to, padding: 0, ns: *ns });
        let calls = self.calls.iter().map(|(site, ns)| Entry { kind: 1, a: *site, ns: *ns, ..Entry::zeroed() });
        let ranks = self.ranks.iter().map(|(rank, ns)| Entry { kind: 2, a: *rank, ns: *ns, ..Entry::zeroed() });
        let jumps = Entry { kind: 3, ns: self.jumps as i64, ..Entry::zeroed() };
        let pairs = self.pairs.iter().map(|((from, to), count)| Entry { kind: 4, a: *from, b: *to, padding: 0, ns: *count as i64 });
        let mine: Vec<Entry> = segments.chain(calls).chain(ranks).chain([jumps]).chain(pairs).collect();
        let mut path = Path { stretches: shared_stretches(&self.stretches, company), ..Path::default() };
        for Entry { kind, a, b, ns, .. } in company.swap(vec![mine; company.size()]).into_iter().flatten() {
            match kind {
                0 => *path.segments.entry(Segment { from: a, to: b }).or_default() += ns,
                1 => *path.calls.entry(a).or_default() += ns,
                2 => *path.ranks.entry(a).or_default() += ns,
                4 => *path.pairs.entry((a, b)).or_default() += ns as u64,
                _ => path.jumps += ns as u64,
            }
        }
        path
    }
}

/// The stretches of all processes, in the order of time.
fn shared_stretches(mine: &[Stretch], company: &dyn Company) -> Vec<Stretch> {
    let mine: Vec<[i64; 3]> = mine.iter().map(|stretch| [stretch.from, stretch.to, stretch.rank.into()]).collect();
    let mut all: Vec<[i64; 3]> = company.swap(vec![mine; company.size()]).into_iter().flatten().collect();
    all.sort_unstable();
    all.into_iter().map(|[from, to, rank]| Stretch { rank: rank as u32, from, to }).collect()
}

/// A part of a path on its way to other processes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Entry {
    kind: u32,
    a: u32,
    b: u32,
    padding: u32,
    ns: i64,
}

/// What a call waited for last, and how long it waited in all: its waits follow each other.
fn waited(waits: &[Wait], row: u32) -> Option<(At, i64)> {
    let first = waits.partition_point(|wait| wait.row < row);
    let own = waits[first..].iter().take_while(|wait| wait.row == row).filter(|wait| wait.cause != At::NOWHERE);
    own.fold(None, |before, wait| Some((wait.cause, wait.ns + before.map_or(0, |(_, ns)| ns))))
}

/// The call at which the run ended: the last one to enter MPI_Finalize, or the last one at all.
fn end(history: &History, company: &dyn Company) -> Option<Point> {
    let last = |line: &Line| {
        let row = bounds::end(line).or_else(|| line.len().checked_sub(1))?;
        let moment = if line.role(row) == Role::Finalize { line.calls.enter[row] } else { line.calls.leave[row] };
        Some(Point { moment, at: line.at(row as u32), padding: 0 })
    };
    let latest = |points: Vec<Point>| points.into_iter().max_by_key(|point| (point.moment, point.at));
    let mine: Vec<Point> = latest(history.lines.iter().filter_map(last).collect()).into_iter().collect();
    latest(company.swap(vec![mine; company.size()]).into_iter().flatten().collect())
}

/// Where the path is: a call that is entered, at this moment or before.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Point {
    moment: i64,
    at: At,
    padding: u32,
}

/// Hands the path on to the process where it continues; `None` if it has ended.
fn pass_on(company: &dyn Company, leaves: Option<Point>) -> Option<Point> {
    if company.size() == 1 {
        return None;
    }
    let parcel: Vec<Point> = leaves.into_iter().collect();
    company.swap(vec![parcel; company.size()]).into_iter().flatten().next()
}
