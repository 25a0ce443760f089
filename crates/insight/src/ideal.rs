//! The same run on an ideal network: what would be left if moving data took no time.
//!
//! The history is gone through in the order of cause and effect. Computation takes as long as it took; a receive ends when its message is
//! sent, an operation of a group when those it needs have come; everything else in MPI takes no time, except access to files, which no
//! network makes faster. Sends complete at once unless they are synchronous.

use sintonia_mpi::Role;
use sintonia_program::company::Company;
use sintonia_program::history::{History, Line, Walk, walk};

use crate::bounds;

/// A run on an ideal network.
pub struct Ideal {
    /// Nanoseconds from the end of MPI_Init to the moment the last rank would come to MPI_Finalize, over all ranks.
    pub elapsed_ns: i64,
    /// When each call of each line would be entered, in nanoseconds since the end of MPI_Init.
    pub enter: Vec<Vec<i64>>,
    /// Calls that had to go on without what they needed, because the recording contradicts itself.
    pub forced: u64,
}

impl Ideal {
    /// Runs a history on an ideal network.
    pub fn of(history: &History, company: &dyn Company) -> Ideal {
        let lines = history.lines.iter().map(|line| Run::new(history, line)).collect();
        let mut network = Network { history, lines };
        let forced = walk(history, company, &mut network);
        let mine = network.lines.iter().map(|run| run.end).max().unwrap_or(0);
        let all: Vec<[i64; 2]> = company.swap(vec![vec![[mine, forced as i64]]; company.size()]).into_iter().flatten().collect();
        Ideal {
            elapsed_ns: all.iter().map(|[end, _]| *end).max().unwrap_or(0),
            forced: all.iter().map(|[_, forced]| *forced as u64).sum(),
            enter: network.lines.into_iter().map(|run| run.enter).collect(),
        }
    }
}

struct Network<'a> {
    history: &'a History,
    lines: Vec<Run>,
}

/// How far a line has come.
struct Run {
    now: i64,
    /// The first call whose computation before it counts.
    first: usize,
    end: i64,
    ended: bool,
    enter: Vec<i64>,
}

impl Run {
    fn new(history: &History, line: &Line) -> Run {
        let init = bounds::begin(line);
        // A thread that did not start MPI itself computes from the moment MPI was there.
        let started = history.lines_of(line.rank).find_map(|other| {
            let other = &history.lines[other];
            bounds::begin(other).map(|row| other.calls.leave[row])
        });
        let lead = match (init, started, line.calls.enter.first()) {
            (None, Some(started), Some(enter)) => (enter - started).max(0),
            _ => 0,
        };
        Run { now: lead, first: init.map_or(1, |row| row + 1), end: 0, ended: false, enter: Vec::with_capacity(line.len()) }
    }
}

impl Walk for Network<'_> {
    fn enter(&mut self, line: usize, row: usize) -> i64 {
        let (own, run) = (&self.history.lines[line], &mut self.lines[line]);
        if row >= run.first {
            run.now += own.calls.enter[row] - own.computes_from(row);
        }
        run.enter.push(run.now);
        if !run.ended {
            run.end = run.now;
            run.ended = own.role(row) == Role::Finalize;
        }
        run.now
    }

    fn leave(&mut self, line: usize, row: usize, needed: Option<i64>) {
        let (own, run) = (&self.history.lines[line], &mut self.lines[line]);
        run.now = run.now.max(needed.unwrap_or(0));
        if matches!(own.role(row), Role::FileOpen | Role::FileClose | Role::FileRead | Role::FileWrite | Role::FileOther) {
            run.now += access(self.history, own, row);
        }
        if !run.ended {
            run.end = run.now;
        }
    }
}

/// How long a call accessed a file, without waiting for others.
fn access(history: &History, line: &Line, row: usize) -> i64 {
    let joined = line.joined.binary_search_by_key(&(row as u32), |joined| joined.row).ok();
    let last = joined.map(|place| history.meetings[line.joined[place].meeting as usize].last.1);
    let from = line.calls.enter[row].max(last.unwrap_or(i64::MIN));
    (line.calls.leave[row] - from).max(0)
}
