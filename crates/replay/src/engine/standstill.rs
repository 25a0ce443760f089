//! Why a replay stands still: who waits for whom.
//!
//! Ranks that wait for each other in a circle are a deadlock of the program on this machine. A rank that waits for one that has come to
//! its end shows that the schedule lacks something.

use std::collections::HashMap;
use std::fmt;

use super::letters::NONE;
use super::line::{Line, Op, Slot};
use super::world::World;
use crate::schedule::{Request, Schedule};

/// A rank that waits for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The rank.
    pub rank: u32,
    /// The MPI function that it is in.
    pub function: &'static str,
    /// Where in the program.
    pub place: String,
    /// The ranks that it waits for.
    pub waits_for: Vec<u32>,
}

/// Nobody can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// Those who wait.
    pub blocked: Vec<Blocked>,
    /// Ranks that wait for each other in a circle, in its order; empty if there is none.
    pub circle: Vec<u32>,
    /// How many ranks had come to their end.
    pub ended: usize,
}

/// How many ranks a message lists.
const LISTED: usize = 6;
/// How many members are named that have not come: each of those who have waits for the same ones.
const MOST_ABSENT: usize = 64;

impl fmt::Display for Standstill {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let shown: Vec<&Blocked> = match self.circle.is_empty() {
            true => self.blocked.iter().take(LISTED).collect(),
            false => self.circle.iter().take(LISTED).filter_map(|rank| self.blocked.iter().find(|blocked| blocked.rank == *rank)).collect(),
        };
        match self.circle.len() {
            0 => write!(
                f,
                "the replay stands still: {} ranks wait for something that never comes, {} have ended",
                self.blocked.len(),
                self.ended
            )?,
            count => write!(f, "deadlock: on this machine {count} ranks wait for each other")?,
        }
        for blocked in shown {
            write!(f, "\n  rank {} in {} at {}", blocked.rank, blocked.function, blocked.place)?;
            match &blocked.waits_for[..] {
                [] => write!(f, " waits")?,
                ranks => {
                    let names: Vec<String> = ranks.iter().take(LISTED).map(u32::to_string).collect();
                    let more = if ranks.len() > LISTED { ", …" } else { "" };
                    write!(f, " waits for rank {}{more}", names.join(", "))?;
                }
            }
        }
        Ok(())
    }
}

/// Finds out who waits for whom.
pub(super) fn explain(schedule: &dyn Schedule, lines: &[Line], world: &World, blocked: &[u32]) -> Standstill {
    let mut scene = Scene { schedule, world, senders: world.letters.senders(), absent: HashMap::new() };
    let all: Vec<Blocked> = blocked.iter().map(|place| scene.describe(&lines[*place as usize], *place)).collect();
    let ended = lines.iter().filter(|line| line.ended).count();
    Standstill { circle: circle(&all), blocked: all, ended }
}

/// What is looked up once for all who wait: they may be a million.
struct Scene<'a, 'w> {
    schedule: &'a dyn Schedule,
    world: &'a World<'w>,
    /// The sending rank of each channel.
    senders: Vec<u32>,
    /// Members that have not come, by group and the number that their seats would have if they had.
    absent: HashMap<(u32, u64), Vec<u32>>,
}

impl Scene<'_, '_> {
    fn describe(&mut self, line: &Line, place: u32) -> Blocked {
        let action = line.rows.get(line.row).map_or(0, |row| row.action as usize);
        let about = line.code.about.get(action);
        let tally = about.map(|about| &self.world.tallies[about.tally as usize]);
        let operation = tally.and_then(|tally| sintonia_mpi::Operation::from_number(tally.function));
        let mut waits_for = line.code.ops.get(action).map_or_else(Vec::new, |op| self.partners(line, place, *op));
        waits_for.sort_unstable();
        waits_for.dedup();
        waits_for.retain(|rank| *rank != line.id.rank);
        let function = operation.map_or("MPI", |operation| operation.name());
        Blocked { rank: line.id.rank, function, place: about.map_or_else(String::new, |about| self.schedule.site(about.site)), waits_for }
    }

    /// Whom a call waits for.
    fn partners(&mut self, line: &Line, place: u32, op: Op) -> Vec<u32> {
        let own = |own: u32| line.own[own as usize];
        match op {
            Op::Send { own: to, .. } => vec![own(to).to],
            Op::Receive { own: from, .. } | Op::Probe { own: from } => self.sender(own(from).number).into_iter().collect(),
            Op::SendReceive { out: to, inward: from } => {
                let [out, inward] = line.held;
                let comes = inward != NONE && self.world.letters.get(inward).sent.is_known();
                let goes = out != NONE && self.world.letters.get(out).posted.is_known();
                let goes = (!goes).then_some(own(to).to);
                goes.into_iter().chain(self.sender(own(from).number).filter(|_| !comes)).collect()
            }
            Op::Complete { first, count } => {
                let listed = &line.code.listed[first as usize..(first + count) as usize];
                listed.iter().filter_map(|listed| self.of_request(place, listed.request)).collect()
            }
            Op::Join { own: seat, .. } => self.absent(own(seat).number),
            Op::Other { .. } => {
                let windows = line.windows.get().into_iter();
                windows.flat_map(|windows| windows.accessing.values().chain(windows.exposed.values())).flatten().copied().collect()
            }
            _ => Vec::new(),
        }
    }

    fn sender(&self, channel: u32) -> Option<u32> {
        self.senders.get(channel as usize).copied()
    }

    /// Whom a request waits for, if it is not over.
    fn of_request(&self, place: u32, request: Request) -> Option<u32> {
        let Request::Ago(ago) = request else { return None };
        let (requests, letters) = (&self.world.requests[place as usize], &self.world.letters);
        match requests.get(requests.next().wrapping_sub(1 + ago)) {
            Slot::Coming(id) if !letters.get(id).sent.is_known() => self.sender(letters.get(id).channel),
            Slot::Leaving(id) if !letters.get(id).posted.is_known() => Some(letters.get(id).to),
            _ => None,
        }
    }

    /// Members of a group that have not come to the operation that a line waits in: the first of them.
    fn absent(&mut self, seat: u32) -> Vec<u32> {
        let world = self.world;
        let own = world.meetings.seats[seat as usize];
        let find = || {
            let members = world.meetings.members(own.group);
            let has_come = |rank: u32| {
                let first = world.firsts.get(rank as usize).copied().unwrap_or(NONE);
                let seat = world.seats.get(&(first, members.group)).map(|seat| world.meetings.seats[*seat as usize]);
                seat.is_some_and(|seat| seat.next >= own.next)
            };
            members.ranks.iter().copied().filter(|rank| !has_come(*rank)).take(MOST_ABSENT).collect()
        };
        self.absent.entry((own.group, own.next)).or_insert_with(find).clone()
    }
}

/// A circle of ranks each of which waits for the next.
fn circle(blocked: &[Blocked]) -> Vec<u32> {
    let waiting: HashMap<u32, &Blocked> = blocked.iter().rev().map(|blocked| (blocked.rank, blocked)).collect();
    let next = |rank: u32| waiting.get(&rank)?.waits_for.iter().copied().find(|other| waiting.contains_key(other));
    let (mut way, mut places) = (Vec::new(), HashMap::new());
    let mut at = blocked.first().map(|blocked| blocked.rank);
    while let Some(rank) = at {
        if let Some(begin) = places.insert(rank, way.len()) {
            return way.split_off(begin);
        }
        way.push(rank);
        at = next(rank);
    }
    Vec::new()
}
