//! Operations of groups: who has come, and what each member still waits for.
//!
//! Every part that a rank takes in an operation is an [`Errand`]. It is either told what the operation costs once those it needs have
//! come, or it runs its rounds of messages itself.

use std::collections::VecDeque;
use std::sync::Arc;

use sintonia_program::history::{Need, need};
use sintonia_recording::QuickMap;
use sintonia_recording::deed::{Group, Purpose};

use super::letters::{LetterId, Moment, NONE, UNKNOWN, Waiter};
use crate::collective::{Algorithm, Party, has_root};
use crate::schedule::Join;

/// The place of a line in a group, by number.
pub type SeatId = u32;

/// An errand, by place.
pub type ErrandId = u32;

/// A line as a member of a group.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    /// The group, by place.
    pub group: u32,
    /// The place of the rank among the members.
    pub place: u32,
    /// The number of the next operation that it joins.
    pub next: u64,
}

/// A group and its operations under way.
pub struct Members {
    /// Who meets.
    pub group: Group,
    /// The communicator.
    pub communicator: u32,
    /// Whether it connects two groups.
    pub between_groups: bool,
    /// Its members, as ranks in their order.
    pub ranks: Arc<[u32]>,
    meetings: VecDeque<Meeting>,
    base: u64,
}

/// One operation under way.
#[derive(Default)]
struct Meeting {
    came: u32,
    left: u32,
    last: Option<Moment>,
    root: Option<Moment>,
    /// When each member came, where somebody needs to know.
    each: Vec<Option<Moment>>,
    waiting: Vec<ErrandId>,
}

/// A rank's part in an operation.
pub struct Errand {
    /// The line whose errand it is.
    pub line: u32,
    /// The group, by place.
    pub group: u32,
    /// The number of the operation.
    pub number: u64,
    /// When it was begun.
    pub entered: Moment,
    /// The last moment that it needed; known when it is over.
    pub needed: Moment,
    /// When it is over.
    pub until: f64,
    /// The line that waits for it.
    pub waiter: Waiter,
    /// Whether nobody will wait for it.
    pub forgotten: bool,
    /// How it is done.
    pub work: Work,
}

/// How an errand is done.
pub enum Work {
    /// It waits for others, and then takes so long.
    Told {
        /// Whom it needs.
        need: Need,
        /// Places of those whom it needs, if it is only some.
        some: Arc<[u32]>,
        /// How long it takes then.
        seconds: f64,
    },
    /// It sends and receives messages round by round.
    Rounds(Box<Rounds>),
}

/// Rounds of messages under way.
pub struct Rounds {
    /// How the operation is built.
    pub algorithm: Algorithm,
    /// What it does.
    pub pattern: sintonia_mpi::Pattern,
    /// This member's view of it.
    pub party: Party,
    /// The next round.
    pub round: u32,
    /// The moment that it has come to.
    pub now: f64,
    /// What distinguishes its messages from those of other operations under way.
    pub tag: i32,
    /// Letters of the present round, and whether each is received.
    pub letters: Vec<(LetterId, bool)>,
    /// What is computed at the end of the round.
    pub combines: u64,
}

/// All groups.
#[derive(Default)]
pub struct Meetings {
    groups: Vec<Members>,
    numbers: QuickMap<Group, u32>,
    errands: Vec<Errand>,
    free: Vec<ErrandId>,
    /// The seats of all lines.
    pub seats: Vec<Seat>,
}

/// What a member brings to an operation.
pub struct Coming {
    /// The line.
    pub line: u32,
    /// Its seat.
    pub seat: SeatId,
    /// What the operation is for.
    pub purpose: Purpose,
    /// The root, as a rank.
    pub root: Option<u32>,
    /// When it comes.
    pub moment: Moment,
    /// How long the operation takes once those it needs are there.
    pub seconds: f64,
}

impl Members {
    /// The place of a rank among them.
    pub fn place(&self, rank: u32) -> Option<u32> {
        // Mostly members are in the order of their ranks, and often all of them.
        let guess = self.ranks.get(rank as usize).filter(|at| **at == rank).map(|_| rank as usize);
        let found = guess.or_else(|| self.ranks.binary_search(&rank).ok()).or_else(|| self.ranks.iter().position(|at| *at == rank));
        found.map(|place| place as u32)
    }
}

impl Meetings {
    /// The group, which is made with these members if it is new.
    pub fn group(&mut self, group: Group, (communicator, between_groups): (u32, bool), members: impl FnOnce() -> Vec<u32>) -> u32 {
        let next = self.groups.len() as u32;
        let number = *self.numbers.entry(group).or_insert(next);
        if number == next {
            self.groups.push(Members { group, communicator, between_groups, ranks: members().into(), meetings: VecDeque::new(), base: 0 });
        }
        number
    }

    /// The place of a rank among the members of a group.
    pub fn place(&self, group: u32, rank: u32) -> Option<u32> {
        self.groups[group as usize].place(rank)
    }

    /// A group.
    pub fn members(&self, group: u32) -> &Members {
        &self.groups[group as usize]
    }

    /// An errand.
    pub fn errand(&self, id: ErrandId) -> &Errand {
        &self.errands[id as usize]
    }

    /// An errand, to be changed.
    pub fn errand_mut(&mut self, id: ErrandId) -> &mut Errand {
        &mut self.errands[id as usize]
    }

    /// A line joins the next operation of its group; errands that were waiting for it and are over now are added to `over`.
    pub fn join(&mut self, coming: &Coming, neighbours: impl FnOnce(&Members) -> Arc<[u32]>, over: &mut Vec<ErrandId>) -> ErrandId {
        let seat = &mut self.seats[coming.seat as usize];
        let (group, place, number) = (seat.group, seat.place, seat.next);
        seat.next += 1;
        let members = &self.groups[group as usize];
        let is_root = coming.root.is_some_and(|root| root == Join::HERE || members.ranks.get(place as usize) == Some(&root));
        let need = match members.between_groups && coming.root.is_none() && has_root(coming.purpose) {
            true => Need::Nobody,
            false => need(coming.purpose, is_root),
        };
        let some: Arc<[u32]> = match coming.purpose {
            _ if need != Need::Before => Arc::from([]),
            purpose if sintonia_program::history::is_among_neighbours(purpose) => neighbours(members),
            _ => (0..place).collect(),
        };
        let work = Work::Told { need, some, seconds: coming.seconds };
        let id = self.make(coming.line, group, number, coming.moment, work);
        let keeps_each = need == Need::Before;
        self.come(group, number, place, coming.moment, is_root, keeps_each);
        let size = self.groups[group as usize].ranks.len() as u32;
        let meeting = self.meeting(group, number);
        meeting.waiting.push(id);
        // Most operations need everyone: they are looked at once, when the last one comes.
        if meeting.came >= size || is_root || need == Need::Before {
            self.settle(group, number, over);
        } else if need != Need::All {
            self.settle_last(group, number, over);
        }
        id
    }

    /// Begins an errand that runs by itself.
    pub fn make(&mut self, line: u32, group: u32, number: u64, entered: Moment, work: Work) -> ErrandId {
        let errand = Errand { line, group, number, entered, needed: entered, until: UNKNOWN, waiter: NONE, forgotten: false, work };
        match self.free.pop() {
            Some(place) => {
                self.errands[place as usize] = errand;
                place
            }
            None => {
                self.errands.push(errand);
                (self.errands.len() - 1) as ErrandId
            }
        }
    }

    /// An errand is over, and its line knows.
    pub fn release(&mut self, id: ErrandId) {
        let errand = &mut self.errands[id as usize];
        let (group, number) = (errand.group, errand.number);
        errand.work = Work::Told { need: Need::Nobody, some: Arc::from([]), seconds: 0.0 };
        self.free.push(id);
        self.leave(group, number);
    }

    fn meeting(&mut self, group: u32, number: u64) -> &mut Meeting {
        let members = &mut self.groups[group as usize];
        let place = number.saturating_sub(members.base) as usize;
        while members.meetings.len() <= place {
            members.meetings.push_back(Meeting::default());
        }
        &mut members.meetings[place]
    }

    fn come(&mut self, group: u32, number: u64, place: u32, moment: Moment, is_root: bool, keeps_each: bool) {
        let size = self.groups[group as usize].ranks.len();
        let meeting = self.meeting(group, number);
        meeting.came += 1;
        let last = meeting.last.get_or_insert(moment);
        last.now = last.now.max(moment.now);
        last.recorded = last.recorded.max(moment.recorded);
        if is_root {
            meeting.root = Some(moment);
        }
        if keeps_each {
            meeting.each.resize(size, None);
            if let Some(slot) = meeting.each.get_mut(place as usize) {
                *slot = Some(moment);
            }
        }
    }

    fn leave(&mut self, group: u32, number: u64) {
        let size = self.groups[group as usize].ranks.len() as u32;
        self.meeting(group, number).left += 1;
        let members = &mut self.groups[group as usize];
        while members.meetings.front().is_some_and(|meeting| meeting.left >= size) {
            members.meetings.pop_front();
            members.base += 1;
        }
    }

    /// Finds the errands of an operation that have all they need.
    fn settle(&mut self, group: u32, number: u64, over: &mut Vec<ErrandId>) {
        let waiting = std::mem::take(&mut self.meeting(group, number).waiting);
        let still = waiting.into_iter().filter(|id| !self.settles(group, number, *id, over)).collect();
        self.meeting(group, number).waiting = still;
    }

    /// The same for the one that came last.
    fn settle_last(&mut self, group: u32, number: u64, over: &mut Vec<ErrandId>) {
        if let Some(id) = self.meeting(group, number).waiting.pop()
            && !self.settles(group, number, id, over)
        {
            self.meeting(group, number).waiting.push(id);
        }
    }

    fn settles(&mut self, group: u32, number: u64, id: ErrandId, over: &mut Vec<ErrandId>) -> bool {
        let members = &self.groups[group as usize];
        let size = members.ranks.len() as u32;
        let Some(meeting) = number.checked_sub(members.base).and_then(|place| members.meetings.get(place as usize)) else { return true };
        let errand = &mut self.errands[id as usize];
        let Work::Told { need, some, seconds } = &errand.work else { return true };
        let needed = match need {
            Need::All => meeting.last.filter(|_| meeting.came >= size),
            Need::Root => meeting.root,
            Need::Before => latest(&meeting.each, some, errand.entered),
            Need::Nobody => Some(errand.entered),
        };
        let Some(needed) = needed else { return false };
        errand.needed = needed;
        errand.until = errand.entered.now.max(needed.now) + seconds;
        over.push(id);
        true
    }
}

/// The latest moment at which these came; `None` if not all have.
fn latest(each: &[Option<Moment>], places: &[u32], own: Moment) -> Option<Moment> {
    places.iter().try_fold(own, |latest, place| {
        let moment = (*each.get(*place as usize)?)?;
        Some(Moment { now: latest.now.max(moment.now), recorded: latest.recorded.max(moment.recorded) })
    })
}
