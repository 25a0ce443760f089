//! Requests in the replay: made by one call, started by another, completed by a third.

use super::letters::{Lane, LetterId, Moment, NONE, UNKNOWN};
use super::line::{Beat, Line, Slot, Stage};
use super::step::Step;
use super::world::World;
use crate::Error;
use crate::schedule::{Action, Receive, Request, Send, SendMode};

impl World<'_> {
    pub fn complete(&mut self, place: u32, line: &mut Line, row: &Beat, first: usize, count: usize) -> Result<Step, Error> {
        while (line.done as usize) < count {
            let listed = line.code.listed[first + line.done as usize];
            let (owner, number) = self.request(place, line, listed.request);
            if owner != place && number >= self.requests[owner as usize].next() {
                // The other thread has not come to it yet.
                self.awaited.entry(owner).or_default().push(place);
                line.stage = Stage::Waits;
                return Ok(Step::Waits);
            }
            if !self.is_over(owner, number, place, listed.received) {
                line.stage = Stage::Waits;
                return Ok(Step::Waits);
            }
            line.done += 1;
        }
        self.completed(place, line, row, first, count);
        Ok(Step::Done)
    }

    /// The line whose request it is, and its number there.
    #[inline]
    pub fn request(&self, place: u32, line: &Line, request: Request) -> (u32, u64) {
        match request {
            Request::Ago(ago) => (place, self.requests[place as usize].next().wrapping_sub(1 + ago)),
            Request::Of(thread, number) => (self.places.get(&(line.id.rank, thread)).copied().unwrap_or(place), number),
        }
    }

    /// Whether a request is over; if not, the line will be woken.
    #[inline]
    fn is_over(&mut self, owner: u32, number: u64, place: u32, received: bool) -> bool {
        match self.requests[owner as usize].get(number) {
            Slot::Empty | Slot::Sent { .. } | Slot::Accessed { .. } => true,
            Slot::Coming(_) if !received => true,
            Slot::Coming(id) => self.has_arrived(id, place, false),
            Slot::Leaving(id) => self.has_arrived(id, place, true),
            Slot::Both(out, inward) => self.has_arrived(out, place, true) && self.has_arrived(inward, place, false),
            Slot::Errand(id) => {
                let errand = self.meetings.errand_mut(id);
                errand.waiter = if errand.until == UNKNOWN { place } else { NONE };
                errand.until != UNKNOWN
            }
        }
    }

    #[inline]
    fn has_arrived(&mut self, id: LetterId, place: u32, sends: bool) -> bool {
        let letter = self.letters.get_mut(id);
        if letter.arrived != UNKNOWN {
            return true;
        }
        if sends {
            letter.sender_waits = place
        } else {
            letter.receiver_waits = place
        };
        false
    }

    /// All requests of a call are over: when it is left.
    fn completed(&mut self, place: u32, line: &mut Line, row: &Beat, first: usize, count: usize) {
        let mut until = line.now;
        let mut needed: Option<Moment> = None;
        let mut bytes: f64 = 0.0;
        let mut nearer = self.moves();
        let mut coming = std::mem::take(&mut self.scratch);
        coming.clear();
        for listed in &line.code.listed[first..first + count] {
            let (owner, number) = self.request(place, line, listed.request);
            let slot = self.requests[owner as usize].get(number);
            match slot {
                Slot::Empty => {}
                Slot::Coming(id) if !listed.received => self.letters.withdraw(id),
                Slot::Sent { until: over } | Slot::Accessed { until: over } => until = until.max(over),
                Slot::Leaving(id) => {
                    needed = Some(latest(needed, self.letters.get(id).posted));
                    until = self.sent_away(id, until, false);
                }
                Slot::Coming(id) => coming.push((self.letters.get(id).arrived, id)),
                Slot::Both(out, inward) => {
                    until = self.sent_away(out, until, false);
                    coming.push((self.letters.get(inward).arrived, inward));
                }
                Slot::Errand(id) => {
                    let errand = self.meetings.errand(id);
                    until = until.max(errand.until);
                    needed = Some(latest(needed, errand.needed));
                    self.meetings.release(id);
                }
            }
            if slot != Slot::Empty {
                self.requests[owner as usize].clear(number);
            }
        }
        if coming.len() > 1 {
            coming.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        }
        let mut now = line.now;
        for (_, id) in &coming {
            let letter = self.letters.get(*id);
            needed = Some(latest(needed, letter.sent));
            bytes += self.prices[letter.price as usize].bytes;
            nearer = nearer && self.comes_nearer(letter.sender, line);
            now = self.take(place, *id, now);
        }
        if let ([_], Some(sent), Some(_)) = (&coming[..], needed.filter(|needed| needed.recorded >= line.entered_recorded), self.recorded())
        {
            self.samples.add(bytes, line.entered_recorded + row.took() - sent.recorded);
        }
        nearer &= !coming.is_empty();
        self.scratch = coming;
        line.now = if self.recorded().is_some() { self.as_received(line, row, needed, bytes, nearer) } else { now.max(until) };
    }

    /// Nobody will wait for a request any more.
    pub fn forget(&mut self, place: u32, request: Request) {
        let Request::Ago(ago) = request else { return };
        let requests = &mut self.requests[place as usize];
        let number = requests.next().wrapping_sub(1 + ago);
        let slot = requests.get(number);
        requests.forget(number);
        match slot {
            Slot::Leaving(id) | Slot::Coming(id) => self.letters.release(id),
            Slot::Errand(id) if self.meetings.errand(id).until != UNKNOWN => self.meetings.release(id),
            Slot::Errand(id) => self.meetings.errand_mut(id).forgotten = true,
            _ => {}
        }
    }

    pub fn define(&mut self, place: u32, line: &Line, action: u32) {
        let action = line.code.actions[action as usize].clone();
        let seat = match &action {
            Action::Join(join) => self.persistent_seat(place, line, join),
            _ => NONE,
        };
        self.requests[place as usize].define(action, seat);
    }

    pub fn start(&mut self, place: u32, line: &mut Line, row: &Beat, first: usize, count: usize) -> Result<Step, Error> {
        for listed in first..first + count {
            let (owner, number) = self.request(place, line, line.code.listed[listed].request);
            let Some(defined) = self.requests[owner as usize].defined(number).cloned() else { continue };
            let slot = match defined.action {
                Action::Send(send) => self.start_send(place, line, row, &send),
                Action::Receive(receive) => self.start_receive(line, &receive)?,
                Action::Join(join) => Slot::Errand(self.join_errand(place, line, defined.seat, &join)),
                _ => Slot::Empty,
            };
            self.requests[owner as usize].start(number, slot);
        }
        if self.recorded().is_some() {
            line.now = self.as_recorded(line, row, None, 0.0);
        }
        Ok(Step::Done)
    }

    fn start_send(&mut self, place: u32, line: &mut Line, row: &Beat, send: &Send) -> Slot {
        let channel = self.letters.channel((line.id.rank, send.to.peer, send.to.communicator, send.to.tag));
        let mode = if self.waited(line) { SendMode::Synchronous } else { send.mode };
        let number = self.price(line.id.rank, send.to.peer, send.bytes, mode);
        let price = self.prices[number as usize];
        let attended = !price.attended;
        let id = self.send(place, Lane::Channel(channel), number, send.to.peer, World::moment(line), attended);
        self.begin_send(line, row, id, price.rendezvous, attended)
    }

    fn start_receive(&mut self, line: &mut Line, receive: &Receive) -> Result<Slot, Error> {
        let known = receive.from.map_or(NONE, |from| self.letters.channel((from.peer, line.id.rank, from.communicator, from.tag)));
        let Some(channel) = self.channel_or_outcome(line, known)? else { return Ok(Slot::Empty) };
        Ok(Slot::Coming(self.post(Lane::Channel(channel), World::moment(line), true)))
    }
}

fn latest(known: Option<Moment>, next: Moment) -> Moment {
    known.map_or(next, |known| known.latest(next))
}
