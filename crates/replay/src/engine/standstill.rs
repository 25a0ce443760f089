//! Why a replay stands still: who waits for whom.
//!
//! Ranks that wait for each other in a circle are a deadlock of the program on this machine. A rank that waits for one that has come to
//! its end shows that the schedule lacks something.

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
    let all: Vec<Blocked> = blocked.iter().map(|place| describe(schedule, &lines[*place as usize], *place, world)).collect();
    let ended = lines.iter().filter(|line| line.ended).count();
    Standstill { circle: circle(&all), blocked: all, ended }
}

fn describe(schedule: &dyn Schedule, line: &Line, place: u32, world: &World) -> Blocked {
    let action = line.rows.get(line.row).map_or(0, |row| row.action as usize);
    let about = line.about.get(action);
    let tally = about.map(|about| &world.tallies[about.tally as usize]);
    let function = tally.and_then(|tally| sintonia_mpi::Operation::from_number(tally.function)).map_or("MPI", |operation| operation.name());
    let mut waits_for = line.ops.get(action).map_or_else(Vec::new, |op| partners(line, place, *op, world));
    waits_for.sort_unstable();
    waits_for.dedup();
    waits_for.retain(|rank| *rank != line.id.rank);
    Blocked { rank: line.id.rank, function, place: about.map_or_else(String::new, |about| schedule.site(about.site)), waits_for }
}

/// Whom a call waits for.
fn partners(line: &Line, place: u32, op: Op, world: &World) -> Vec<u32> {
    let sender = |channel: u32| world.letters.key(channel).map(|(from, ..)| from);
    match op {
        Op::Send { to, .. } => vec![to],
        Op::Receive { channel, .. } | Op::Probe { channel } => sender(channel).into_iter().collect(),
        Op::SendReceive { to, channel, .. } => {
            let [out, inward] = line.held;
            let comes = inward != NONE && world.letters.get(inward).sent.is_known();
            let goes = out != NONE && world.letters.get(out).posted.is_known();
            let goes = (!goes).then_some(to);
            goes.into_iter().chain(sender(channel).filter(|_| !comes)).collect()
        }
        Op::Complete { first, count } => {
            let listed = &line.listed[first as usize..(first + count) as usize];
            listed.iter().filter_map(|listed| of_request(line, place, listed.request, world)).collect()
        }
        Op::Join { seat, .. } => absent(line, seat, world),
        Op::Other { .. } => line.windows.accessing.values().chain(line.windows.exposed.values()).flatten().copied().collect(),
        _ => Vec::new(),
    }
}

/// Whom a request waits for, if it is not over.
fn of_request(line: &Line, place: u32, request: Request, world: &World) -> Option<u32> {
    let Request::Ago(ago) = request else { return None };
    let requests = &world.requests[place as usize];
    match requests.get(requests.next().wrapping_sub(1 + ago)) {
        Slot::Coming(id) if !world.letters.get(id).sent.is_known() => world.letters.source(id, line.id.rank),
        Slot::Leaving(id) if !world.letters.get(id).posted.is_known() => Some(world.letters.get(id).to),
        _ => None,
    }
}

/// Members of a group that have not come to the operation that a line waits in.
fn absent(line: &Line, seat: u32, world: &World) -> Vec<u32> {
    let own = world.meetings.seats[seat as usize];
    let members = world.meetings.members(own.group);
    let has_come = |rank: u32| {
        let first = world.firsts.get(rank as usize).copied().unwrap_or(NONE);
        let seat = world.seats.get(&(first, members.group)).map(|seat| world.meetings.seats[*seat as usize]);
        seat.is_some_and(|seat| seat.next >= own.next)
    };
    members.ranks.iter().copied().filter(|rank| *rank != line.id.rank && !has_come(*rank)).collect()
}

/// A circle of ranks each of which waits for the next.
fn circle(blocked: &[Blocked]) -> Vec<u32> {
    let next = |rank: u32| {
        let waits = blocked.iter().find(|blocked| blocked.rank == rank)?;
        waits.waits_for.iter().copied().find(|other| blocked.iter().any(|blocked| blocked.rank == *other))
    };
    let Some(mut at) = blocked.first().map(|blocked| blocked.rank) else { return Vec::new() };
    let mut way = Vec::new();
    while !way.contains(&at) {
        way.push(at);
        match next(at) {
            Some(other) => at = other,
            None => return Vec::new(),
        }
    }
    let begin = way.iter().position(|rank| *rank == at).unwrap_or(0);
    way.split_off(begin)
}
