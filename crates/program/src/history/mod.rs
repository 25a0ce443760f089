//! What happened in a run, and why in that order: the calls of every thread, and which calls of others each of them depended on.
//!
//! A recording holds what each process did by itself. Here sends and receives find each other ([`messages`]), and so do the members of
//! collective operations ([`meetings`]) and the epochs of one-sided communication ([`epochs`]); times of different hosts that contradict
//! each other are put right ([`repair`]). Everything that asks why a rank waited reads a [`History`].

mod epochs;
mod meetings;
mod messages;
mod neighbourhoods;
mod news;
mod repair;
mod scan;
mod walk;

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;
use sintonia_mpi::Role;
use sintonia_recording::table::CallTable;
use sintonia_recording::{Error, Recording};

use crate::company::{Company, Share};
pub use epochs::{Access, Exposure, Hold};
pub use meetings::Meeting;
use neighbourhoods::Neighbourhood;
pub use neighbourhoods::is_among_neighbours;
pub use repair::Repair;
use scan::Process;
pub use walk::{Need, Walk, need, walk};

/// One call: the row of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct At {
    /// The rank.
    pub rank: u32,
    /// Its thread.
    pub thread: u32,
    /// The row in the thread's table.
    pub row: u32,
}

/// No row: the call is not known, or there is none.
pub const NOWHERE: u32 = u32::MAX;

impl At {
    /// No call.
    pub const NOWHERE: At = At { rank: NOWHERE, thread: NOWHERE, row: NOWHERE };

    /// The call, if there is one.
    pub fn known(self) -> Option<At> {
        (self != At::NOWHERE).then_some(self)
    }
}

/// A message that a call received, or that a probe saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received {
    /// The call that completed the receive.
    pub row: u32,
    /// The call that began it.
    pub posted: At,
    /// The call that sent it; [`At::NOWHERE`] if that was not recorded.
    pub sender: At,
    /// Its place among what that thread sent.
    pub sender_place: u32,
    /// Whether it was received; a probe only looks.
    pub taken: bool,
    /// Whether the send completes only when the receive has begun.
    pub synchronous: bool,
    /// Whether it was sent in partitions; the sending call is then the one that made the last of them ready.
    pub partitioned: bool,
    /// When the sending call was entered.
    pub send_enter: i64,
}

/// A message that a call sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// The call that began the send.
    pub row: u32,
    /// The call of the same thread that completed it; [`NOWHERE`] if none did.
    pub done: u32,
    /// Whether it completes only when the receive has begun.
    pub synchronous: bool,
    /// The call that received it; [`At::NOWHERE`] if that was not recorded.
    pub receiver: At,
    /// The call of the receiver that began the receive.
    pub posted: At,
    /// When that one was entered.
    pub posted_enter: i64,
}

/// A call's part in an operation of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Joined {
    /// The call that joined.
    pub row: u32,
    /// The call of the same thread that completed it; [`NOWHERE`] if none did.
    pub done: u32,
    /// The meeting, by place in [`History::meetings`].
    pub meeting: u32,
    /// In a scan: those before this one in the group. In a neighbourhood: those that send to it.
    pub before: Option<Before>,
}

/// Those whom a member of a group needs, where it is not all of them: those before it, or its neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Before {
    /// How many there are.
    pub members: u32,
    /// The last of them to come, and when it was entered.
    pub last: (At, i64),
}

/// The calls of one thread and what they depended on.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// The rank.
    pub rank: u32,
    /// The calls.
    pub calls: CallTable,
    /// What they received, in the order of the completing calls.
    pub received: Vec<Received>,
    /// What they sent, in the order of the sending calls.
    pub sent: Vec<Sent>,
    /// The operations of groups that they took part in, in order.
    pub joined: Vec<Joined>,
    /// The windows that they accessed between `MPI_Win_start` and `MPI_Win_complete`, in order.
    pub accesses: Vec<Access>,
    /// The openings of their own windows with `MPI_Win_post`, in order.
    pub exposures: Vec<Exposure>,
    /// The locks that they held.
    pub holds: Vec<Hold>,
    /// The calls that ended epochs, and the calls of others that those depended on.
    partners: Vec<(u32, At)>,
}

impl Line {
    /// How many calls there are.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// A call of it.
    pub fn at(&self, row: u32) -> At {
        At { rank: self.rank, thread: self.calls.thread.into(), row }
    }

    /// The calls of others that an epoch depended on which this call ended: the opening of a window that was accessed, the end of an
    /// access to the own window, the giving back of a lock.
    pub fn partners(&self, row: u32) -> impl Iterator<Item = At> {
        let first = self.partners.partition_point(|(end, _)| *end < row);
        self.partners[first..].iter().take_while(move |(end, _)| *end == row).map(|(_, at)| *at)
    }

    /// What a call does.
    pub fn role(&self, row: usize) -> Role {
        self.calls.shapes[self.calls.shape[row] as usize].operation.role()
    }

    /// When the computation before a call began: when the call before it was left, or with the call itself if it is the first.
    pub fn computes_from(&self, row: usize) -> i64 {
        let enter = self.calls.enter[row];
        if row == 0 { enter } else { self.calls.leave[row - 1].min(enter) }
    }
}

/// Messages of which only one end was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Sent, but not received by a recorded call.
    pub sends: u64,
    /// Received, but not sent by a recorded call.
    pub receives: u64,
}

/// What happened in a run, as far as this process looks after it.
pub struct History {
    /// Who looks after which ranks.
    pub share: Share,
    /// The threads of this process's ranks, by rank and thread.
    pub lines: Vec<Line>,
    /// The operations of groups in which they took part.
    pub meetings: Vec<Meeting>,
    /// Messages to and from its ranks whose other end is missing.
    pub unmatched: Unmatched,
    /// What had to be put right about the clocks, over all ranks.
    pub repair: Repair,
    /// The lines of each of its ranks.
    places: Vec<Range<u32>>,
    /// Who needs whom, by communicator.
    neighbourhoods: HashMap<u32, Neighbourhood>,
}

impl History {
    /// Reads the ranks of this process; `progress` is called after each.
    pub fn read(recording: &Recording, company: &dyn Company, progress: &(dyn Fn() + Sync)) -> Result<History, Error> {
        let share = Share::new(recording, company);
        let ranks: Vec<u32> = share.own().collect();
        let processes = ranks.par_iter().map(|rank| {
            let process = Process::new(*rank, recording.tables(*rank)?);
            progress();
            Ok(process)
        });
        let processes: Vec<Process> = processes.collect::<Result<_, Error>>()?;
        let mut history = History::of(recording, company, share, processes);
        if history.repair.violations > 0 {
            // Threads are moved each by itself; what they did for each other stays in the order in which it happened.
            let orders = history.orders();
            let repair = repair::put_right(&mut history, company);
            let (share, processes) = history.into_processes(orders);
            history = History::of(recording, company, share, processes);
            history.repair = repair;
        }
        Ok(history)
    }

    fn of(recording: &Recording, company: &dyn Company, share: Share, processes: Vec<Process>) -> History {
        let scanned: Vec<scan::Scan> = processes.into_par_iter().map(|process| scan::scan(recording, process)).collect();
        let mut lines = Vec::new();
        let mut places = Vec::new();
        let (mut letters, mut receipts, mut joins, mut epochs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for scan in scanned {
            let first = lines.len() as u32;
            lines.extend(scan.lines);
            places.push(first..lines.len() as u32);
            letters.push(scan.letters);
            receipts.push(scan.receipts);
            joins.push(scan.joins);
            epochs.push(scan.epochs);
        }
        let meetings = meetings::assemble(recording, company, &share, &mut lines, &places, joins);
        let (unmatched, repair) = (Unmatched::default(), Repair::default());
        let neighbourhoods = meetings::neighbourhoods(recording, &meetings);
        let mut history = History { share, lines, meetings, unmatched, repair, places, neighbourhoods };
        messages::join(&mut history, company, letters, receipts);
        epochs::join(&mut history, company, epochs);
        history.repair = repair::violations(&history, company);
        history
    }

    /// The order of the calls of each rank.
    fn orders(&self) -> Vec<Vec<(u32, u32)>> {
        let tables = |places: &Range<u32>| -> Vec<&CallTable> {
            self.lines[places.start as usize..places.end as usize].iter().map(|line| &line.calls).collect()
        };
        self.places.iter().map(|places| scan::order(&tables(places))).collect()
    }

    fn into_processes(self, orders: Vec<Vec<(u32, u32)>>) -> (Share, Vec<Process>) {
        let History { share, lines, places, .. } = self;
        let mut lines = lines.into_iter();
        let mut processes = Vec::with_capacity(places.len());
        for ((rank, places), order) in share.own().zip(places).zip(orders) {
            let tables = lines.by_ref().take(places.len()).map(|line| line.calls).collect();
            processes.push(Process { rank, tables, order });
        }
        (share, processes)
    }

    /// The line of a call, by place in [`History::lines`]; `None` if another process looks after it.
    pub fn line(&self, at: At) -> Option<usize> {
        let own = self.share.own();
        let places = self.places.get(at.rank.checked_sub(own.start)? as usize)?.clone();
        places.map(|place| place as usize).find(|place| u32::from(self.lines[*place].calls.thread) == at.thread)
    }

    /// The lines of one rank of this process.
    pub fn lines_of(&self, rank: u32) -> Range<usize> {
        let place = rank.checked_sub(self.share.own().start).and_then(|place| self.places.get(place as usize));
        place.map_or(0..0, |places| places.start as usize..places.end as usize)
    }
}
