//! Times that contradict each other are put right.
//!
//! Clocks of different hosts are compared before and after a run and otherwise trusted, so a message can seem to arrive before it was
//! sent. Such a receive is moved to the moment of the send, and what follows on its line moves with it, by a little less for everything
//! that is later (a controlled logical clock with forward amortisation): no order is changed and no time runs backwards.

use bytemuck::{Pod, Zeroable};

use super::walk::{Need, Walk, needs, walk};
use super::{At, History, NOWHERE};
use crate::company::Company;

/// The move of a line shrinks by one part in so many of the time that passes.
const FADES_IN: i64 = 100;

/// What was wrong with times, and how much they were changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Receives before their sends, barriers left before their last member came, and windows closed before the last access.
    pub violations: u64,
    /// The most nanoseconds by which one of them was too early: the size of the repair.
    pub largest_ns: i64,
}

/// Counts the contradictions in a history, over all processes.
pub fn violations(history: &History, company: &dyn Company) -> Repair {
    let mut found = Counted { violations: 0, largest_ns: 0 };
    let mut check = |leave: i64, needed: i64| {
        if leave < needed {
            found.violations += 1;
            found.largest_ns = found.largest_ns.max(needed - leave);
        }
    };
    for line in &history.lines {
        let leave = |row: u32| line.calls.leave[row as usize];
        let received = line.received.iter().filter(|received| received.sender != At::NOWHERE);
        received.for_each(|received| check(leave(received.row), received.send_enter));
        for joined in line.joined.iter().filter(|joined| joined.done != NOWHERE) {
            let meeting = &history.meetings[joined.meeting as usize];
            let needed = match needs(line, joined, meeting) {
                Need::All => Some(meeting.last),
                Need::Root => Some(meeting.root),
                Need::Before => joined.before.map(|before| before.last),
                Need::Nobody => None,
            };
            if let Some((_, enter)) = needed.filter(|(at, _)| *at != At::NOWHERE) {
                check(leave(joined.done), enter);
            }
        }
        let ended = line.exposures.iter().filter(|exposure| exposure.wait != NOWHERE && exposure.complete != At::NOWHERE);
        ended.for_each(|exposure| check(leave(exposure.wait), exposure.complete_enter));
    }
    let all = company.swap(vec![vec![found]; company.size()]);
    let add = |sum: Repair, more: Counted| Repair {
        violations: sum.violations + more.violations,
        largest_ns: sum.largest_ns.max(more.largest_ns),
    };
    all.into_iter().flatten().fold(Repair::default(), add)
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Counted {
    violations: u64,
    largest_ns: i64,
}

/// Moves times until they agree, and says what was wrong.
pub fn put_right(history: &mut History, company: &dyn Company) -> Repair {
    let mut clock = Clock { history, lines: history.lines.iter().map(|line| Moved::new(line.len())).collect() };
    walk(history, company, &mut clock);
    let moved = clock.lines;
    for (line, moved) in history.lines.iter_mut().zip(moved) {
        (line.calls.enter, line.calls.leave) = (moved.enter, moved.leave);
    }
    history.repair
}

/// How the times of a line are moved.
struct Moved {
    enter: Vec<i64>,
    leave: Vec<i64>,
    by: i64,
    since: i64,
}

impl Moved {
    fn new(calls: usize) -> Moved {
        Moved { enter: Vec::with_capacity(calls), leave: Vec::with_capacity(calls), by: 0, since: 0 }
    }

    /// Where a recorded moment is moved.
    fn moment(&self, recorded: i64) -> i64 {
        recorded + (self.by - (recorded - self.since).max(0) / FADES_IN).max(0)
    }
}

struct Clock<'a> {
    history: &'a History,
    lines: Vec<Moved>,
}

impl Walk for Clock<'_> {
    fn enter(&mut self, line: usize, row: usize) -> i64 {
        let moved = &mut self.lines[line];
        let last = moved.leave.last().copied().unwrap_or(i64::MIN);
        let enter = moved.moment(self.history.lines[line].calls.enter[row]).max(last);
        moved.enter.push(enter);
        enter
    }

    fn leave(&mut self, line: usize, row: usize, needed: Option<i64>) {
        let recorded = self.history.lines[line].calls.leave[row];
        let moved = &mut self.lines[line];
        let natural = moved.moment(recorded).max(moved.enter[row]);
        let leave = natural.max(needed.unwrap_or(i64::MIN));
        if leave > natural {
            (moved.by, moved.since) = (leave - recorded, recorded);
        }
        moved.leave.push(leave);
    }
}
