//! Looks everything up that is the same each time a call is made: channels, prices, seats.

use sintonia_mpi::Role;
use sintonia_recording::deed::Group;

use super::letters::NONE;
use super::line::{About, Line, Listed, Op};
use super::meetings::{Seat, SeatId};
use super::world::World;
use crate::schedule::{Action, Described, Envelope, How, Join, Request, Schedule};

impl World<'_> {
    /// Makes the ops of a line from the actions of its next stretch.
    pub fn compile(&mut self, schedule: &dyn Schedule, line: &mut Line, place: u32, actions: &[Described]) {
        line.ops.clear();
        line.about.clear();
        line.listed.clear();
        line.actions.clear();
        if let Some(mannered) = &mut self.mannered {
            mannered.compile(place, actions);
        }
        for described in actions {
            let op = self.op(schedule, line, place, described);
            line.ops.push(op);
            let (site, number) = (described.shape.site, described.shape.operation.0);
            let tally = self.tally(site, number);
            line.about.push(About { tally, site, segment: self.changes.segment(site) });
        }
    }

    fn op(&mut self, schedule: &dyn Schedule, line: &mut Line, place: u32, described: &Described) -> Op {
        let action = &described.action;
        let rank = line.id.rank;
        let outward = |to: &Envelope| (rank, to.peer, to.communicator, to.tag);
        let inward = |from: &Envelope| (from.peer, rank, from.communicator, from.tag);
        match action {
            // No network makes files quicker.
            Action::Local if self.is_ideal() && !is_of_file(described) => Op::Poll,
            Action::Local => Op::Local,
            _ if self.is_alone(action) => Op::Local,
            Action::Poll => Op::Poll,
            Action::Init => Op::Init,
            Action::Finalize => Op::Finalize,
            Action::Send(send) if send.how != How::Persistent => Op::Send {
                channel: self.letters.channel(outward(&send.to)),
                price: self.price(rank, send.to.peer, send.bytes, send.mode),
                to: send.to.peer,
                request: send.how == How::Request,
            },
            Action::Receive(receive) if receive.how != How::Persistent => Op::Receive {
                channel: receive.from.as_ref().map_or(NONE, |from| self.letters.channel(inward(from))),
                request: receive.how == How::Request,
                anyone: receive.anyone,
            },
            Action::SendReceive(send, receive) if send.how == How::Blocking && receive.from.is_some() => Op::SendReceive {
                out: self.letters.channel(outward(&send.to)),
                price: self.price(rank, send.to.peer, send.bytes, send.mode),
                to: send.to.peer,
                channel: receive.from.as_ref().map_or(NONE, |from| self.letters.channel(inward(from))),
            },
            Action::Probe { message } => Op::Probe { channel: self.letters.channel(inward(message)) },
            Action::Complete(requests) => {
                let op = listed(line, requests, |first, count| Op::Complete { first, count });
                mark_given_up(line, described);
                op
            }
            Action::Start(requests) => listed(line, requests, |first, count| Op::Start { first, count }),
            Action::Forget(requests) => listed(line, requests, |first, count| Op::Forget { first, count }),
            Action::Join(join) if join.how != How::Persistent => {
                let Some(seat) = self.seat(schedule, place, rank, join.group) else { return Op::Local };
                Op::Join { seat, join: kept(line, action) }
            }
            Action::Send(_) | Action::Receive(_) | Action::Join(_) => Op::Define { action: kept(line, action) },
            Action::SendReceive(..) | Action::Access { .. } | Action::Sync { .. } => Op::Other { action: kept(line, action) },
        }
    }

    /// The seat of a line in a group; `None` if the group is not known, or the rank is no member of it.
    pub fn seat(&mut self, schedule: &dyn Schedule, place: u32, rank: u32, group: Group) -> Option<SeatId> {
        // Threads of a rank join operations of a group one after another, whichever thread does.
        let first = self.places_first(rank).unwrap_or(place);
        if let Some(seat) = self.seats.get(&(first, group)) {
            return Some(*seat);
        }
        let communicator = match group {
            Group::Communicator(number) | Group::World(number) | Group::Persistent(number, _) => number,
            Group::Object(number) => schedule.object(number)?,
        };
        let between = schedule.is_between_groups(communicator);
        let number = self.meetings.group(group, (communicator, between), || {
            let mut members = schedule.members(communicator);
            members.retain(|rank| !self.changes.goes_on || is_there(&self.firsts, *rank));
            members
        });
        let at = self.meetings.place(number, rank)?;
        let seat = self.meetings.seats.len() as SeatId;
        self.meetings.seats.push(Seat { group: number, place: at, next: 0 });
        self.seats.insert((first, group), seat);
        Some(seat)
    }

    /// The seat of a line for a persistent operation that it describes.
    pub fn persistent_seat(&mut self, place: u32, line: &Line, join: &Join) -> SeatId {
        let group = match join.group {
            Group::Communicator(communicator) => {
                let next = self.persistent.entry((place, communicator)).or_default();
                *next += 1;
                Group::Persistent(communicator, *next - 1)
            }
            group => group,
        };
        self.seat(self.schedule, place, line.id.rank, group).unwrap_or(NONE)
    }

    fn tally(&mut self, site: u32, function: u16) -> u32 {
        let next = self.tallies.len() as u32;
        let number = *self.tally_numbers.entry((site, function)).or_insert(next);
        if number == next {
            self.tallies.push(super::outcome::Tally::new(site, function));
        }
        number
    }

    /// Whether a call has to do with a rank of which there is nothing, and is to go on without it.
    fn is_alone(&self, action: &Action) -> bool {
        let missing = |peer: u32| !is_there(&self.firsts, peer);
        self.changes.goes_on
            && match action {
                Action::Send(send) => send.how == How::Blocking && missing(send.to.peer),
                Action::Receive(receive) => receive.how == How::Blocking && receive.from.is_some_and(|from| missing(from.peer)),
                Action::Probe { message } => missing(message.peer),
                _ => false,
            }
    }

    fn places_first(&self, rank: u32) -> Option<u32> {
        self.firsts.get(rank as usize).copied().filter(|first| *first != NONE)
    }
}

/// Whether there is anything of a rank, by the first lines of all.
fn is_there(firsts: &[u32], rank: u32) -> bool {
    firsts.get(rank as usize).is_some_and(|first| *first != NONE)
}

/// Whether a call is for a file.
fn is_of_file(described: &Described) -> bool {
    use Role::{FileClose, FileOpen, FileOther, FileRead, FileWrite};
    matches!(described.shape.operation.role(), FileOpen | FileClose | FileRead | FileWrite | FileOther)
}

fn listed(line: &mut Line, requests: &[Request], op: impl FnOnce(u32, u32) -> Op) -> Op {
    let first = line.listed.len() as u32;
    line.listed.extend(requests.iter().map(|request| Listed { request: *request, received: true }));
    op(first, requests.len() as u32)
}

/// Marks requests of which the call says that they received nothing: if they are receives, they were given up.
fn mark_given_up(line: &mut Line, described: &Described) {
    let shown = &described.shape.requests;
    let first = line.listed.len().saturating_sub(shown.len());
    line.listed[first..].iter_mut().zip(shown).for_each(|(listed, shown)| listed.received = shown.receive);
}

fn kept(line: &mut Line, action: &Action) -> u32 {
    line.actions.push(action.clone());
    (line.actions.len() - 1) as u32
}
