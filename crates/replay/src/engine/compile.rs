//! Looks everything up that is the same each time a call is made: channels, prices, seats.

use sintonia_mpi::Role;
use sintonia_recording::deed::Group;

use super::code::{Code, Own};
use super::letters::NONE;
use super::line::{About, Line, Listed, Op};
use super::meetings::{Seat, SeatId};
use super::world::World;
use crate::schedule::{Action, Described, Envelope, How, Join, Request, Schedule, Send};

impl World<'_> {
    /// Makes the code of a line from the actions of its next stretch.
    pub fn compile(&mut self, schedule: &dyn Schedule, line: &mut Line, place: u32, actions: &[Described]) {
        let mut code = std::mem::take(&mut self.draft);
        code.clear();
        line.own.clear();
        if let Some(mannered) = &mut self.mannered {
            mannered.compile(place, actions);
        }
        for described in actions {
            let op = match self.op(schedule, line, place, described, &mut code) {
                // Requests are counted back from the newest, so each has to be there.
                Op::Local | Op::Poll if described.shape.makes_request() => Op::Nothing,
                op => op,
            };
            code.ops.push(op);
            let (site, number) = (described.shape.site, described.shape.operation.0);
            let tally = self.tally(site, number);
            code.about.push(About { tally, site, segment: self.changes.segment(site) });
        }
        line.code = self.codes.shared(&code);
        self.draft = code;
    }

    fn op(&mut self, schedule: &dyn Schedule, line: &mut Line, place: u32, described: &Described, code: &mut Code) -> Op {
        let action = &described.action;
        match action {
            // No network makes files quicker.
            Action::Local if self.is_ideal() && !is_of_file(described) => Op::Poll,
            Action::Local => Op::Local,
            _ if self.is_alone(action) => Op::Local,
            Action::Poll => Op::Poll,
            Action::Init => Op::Init,
            Action::Finalize => Op::Finalize,
            Action::Send(send) if send.how != How::Persistent => {
                Op::Send { own: self.outward(line, send), request: send.how == How::Request }
            }
            Action::Receive(receive) if receive.how != How::Persistent => {
                Op::Receive { own: self.inward(line, receive.from.as_ref()), request: receive.how == How::Request, anyone: receive.anyone }
            }
            Action::SendReceive(send, receive) if send.how == How::Blocking && receive.from.is_some() => {
                Op::SendReceive { out: self.outward(line, send), inward: self.inward(line, receive.from.as_ref()) }
            }
            Action::Probe { message } => Op::Probe { own: self.inward(line, Some(message)) },
            Action::Complete(requests) => {
                let op = listed(code, requests, |first, count| Op::Complete { first, count });
                mark_given_up(code, described);
                op
            }
            Action::Start(requests) => listed(code, requests, |first, count| Op::Start { first, count }),
            Action::Forget(requests) => listed(code, requests, |first, count| Op::Forget { first, count }),
            Action::Join(join) if join.how != How::Persistent => {
                let Some(seat) = self.seat(schedule, place, line.id.rank, join.group) else { return Op::Local };
                Op::Join { own: owned(line, Own { number: seat, price: NONE, to: NONE }), join: kept(code, action) }
            }
            Action::Send(_) | Action::Receive(_) | Action::Join(_) => Op::Define { action: kept(code, action) },
            Action::SendReceive(..) | Action::Access { .. } | Action::Sync { .. } => Op::Other { action: kept(code, action) },
        }
    }

    /// What of a send is the line's own, by place there.
    fn outward(&mut self, line: &mut Line, send: &Send) -> u32 {
        let (rank, to) = (line.id.rank, &send.to);
        let number = self.letters.channel((rank, to.peer, to.communicator, to.tag));
        let price = self.price(rank, to.peer, send.bytes, send.mode);
        owned(line, Own { number, price, to: to.peer })
    }

    /// The same of a receive, from someone who may not be known yet.
    fn inward(&mut self, line: &mut Line, from: Option<&Envelope>) -> u32 {
        let rank = line.id.rank;
        let number = from.map_or(NONE, |from| self.letters.channel((from.peer, rank, from.communicator, from.tag)));
        owned(line, Own { number, price: NONE, to: NONE })
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

fn owned(line: &mut Line, own: Own) -> u32 {
    line.own.push(own);
    (line.own.len() - 1) as u32
}

fn listed(code: &mut Code, requests: &[Request], op: impl FnOnce(u32, u32) -> Op) -> Op {
    let first = code.listed.len() as u32;
    code.listed.extend(requests.iter().map(|request| Listed { request: *request, received: true }));
    op(first, requests.len() as u32)
}

/// Marks requests of which the call says that they received nothing: if they are receives, they were given up.
fn mark_given_up(code: &mut Code, described: &Described) {
    let shown = &described.shape.requests;
    let first = code.listed.len().saturating_sub(shown.len());
    code.listed[first..].iter_mut().zip(shown).for_each(|(listed, shown)| listed.received = shown.receive);
}

fn kept(code: &mut Code, action: &Action) -> u32 {
    code.actions.push(action.clone());
    (code.actions.len() - 1) as u32
}
