//! What each kind of call does in the replay.

use sintonia_recording::deed::Purpose;

use super::code::Own;
use super::letters::{Lane, LetterId, Moment, NONE, UNKNOWN};
use super::line::{Beat, Line, Op, Slot, Stage};
use super::world::World;
use crate::Error;
use crate::schedule::{Action, How, Outcome};

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is over; the line's moment is when it was left.
    Done,
    /// It waits for somebody, who will wake the line.
    Waits,
}

/// A blocking send that took longer than this may have waited for its receive.
const PERHAPS_WAITS_S: f64 = 5e-6;

impl World<'_> {
    /// Takes the present call of a line as far as it goes.
    #[inline]
    pub fn step(&mut self, place: u32, line: &mut Line, row: &Beat) -> Result<Step, Error> {
        let op = line.code.ops[row.action as usize];
        if line.stage == Stage::Entered && !line.unattended.is_empty() && waits(op) {
            self.attend_all(line);
        }
        // Whoever sends to it may bring another decision: it is asked for anew each time the line is woken.
        if matches!(line.stage, Stage::Entered | Stage::Asks) && self.decides_again(op) {
            let asks = self.ask_anyone(place, line);
            line.stage = if asks { Stage::Asks } else { Stage::Decided };
            if asks {
                return Ok(Step::Waits);
            }
        }
        match op {
            Op::Local => {
                line.now = match self.mannered {
                    None => line.now + row.took() * line.slowness,
                    Some(_) => self.in_its_manner(line, row, None, line.slowness, false),
                };
                Ok(Step::Done)
            }
            Op::Poll => {
                if self.recorded().is_some_and(|network| !network.is_ideal()) {
                    line.looked = row.took();
                }
                Ok(Step::Done)
            }
            Op::Init => {
                (line.now, line.entered) = (line.lead, line.lead);
                Ok(Step::Done)
            }
            Op::Finalize => {
                (line.end, line.end_recorded) = (line.now, line.entered_recorded);
                Ok(Step::Done)
            }
            Op::Send { own, request } => self.send_call(place, line, row, line.own[own as usize], request),
            Op::Receive { own, request, .. } => self.receive_call(place, line, row, line.own[own as usize].number, request),
            Op::SendReceive { out, inward } => {
                self.send_receive(place, line, row, line.own[out as usize], line.own[inward as usize].number)
            }
            Op::Probe { own } => Ok(self.probe(place, line, row, line.own[own as usize].number)),
            Op::Complete { first, count } => self.complete(place, line, row, first as usize, count as usize),
            Op::Start { first, count } => self.start(place, line, row, first as usize, count as usize),
            Op::Forget { first, count } => {
                for request in first..first + count {
                    self.forget(place, line.code.listed[request as usize].request);
                }
                self.takes_as_long(line, row);
                Ok(Step::Done)
            }
            Op::Define { action } => {
                self.define(place, line, action);
                self.takes_as_long(line, row);
                Ok(Step::Done)
            }
            Op::Nothing => {
                self.requests[place as usize].make(Slot::Empty);
                self.made_request(place);
                line.now = self.as_recorded(line, row, None, 0.0);
                Ok(Step::Done)
            }
            Op::Join { own, join } => self.join_call(place, line, row, line.own[own as usize].number, join),
            Op::Other { action } => self.window_call(place, line, row, action),
        }
    }

    /// The moment that a line has come to.
    #[inline]
    pub fn moment(line: &Line) -> Moment {
        Moment { now: line.now, recorded: line.entered_recorded }
    }

    /// When a call is left of the recorded network: as long after what it needed as it was recorded, times what is changed.
    #[inline]
    pub fn as_recorded(&mut self, line: &Line, row: &Beat, needed: Option<Moment>, bytes: f64) -> f64 {
        self.as_received(line, row, needed, bytes, false)
    }

    /// The same of a call that receives; `nearer` if all of it comes from nearer than it did.
    #[inline]
    pub fn as_received(&mut self, line: &Line, row: &Beat, needed: Option<Moment>, bytes: f64, nearer: bool) -> f64 {
        let Some(network) = self.recorded() else { return line.now };
        match self.mannered {
            None => as_it_was(line, row, needed, network.times(bytes)),
            Some(_) => self.in_its_manner(line, row, needed, network.times(bytes), nearer),
        }
    }

    /// A call that has to do with nobody else, and nothing with the network.
    fn takes_as_long(&self, line: &mut Line, row: &Beat) {
        if !self.is_ideal() {
            line.now += row.took() * line.slowness;
        }
    }

    /// A line is in MPI: what it had begun before goes on.
    fn attend_all(&mut self, line: &mut Line) {
        for (id, sends) in std::mem::take(&mut line.unattended) {
            self.attend(id, sends, line.now);
        }
    }

    fn send_call(&mut self, place: u32, line: &mut Line, row: &Beat, own: Own, request: bool) -> Result<Step, Error> {
        if line.stage == Stage::Waits {
            return Ok(self.sent(line, row));
        }
        let number = if self.waited(line) { self.synchronous(line, own.price, own.to) } else { own.price };
        let price = self.prices[number as usize];
        let attended = !(request && price.attended);
        let id = self.send(place, Lane::Channel(own.number), number, own.to, World::moment(line), attended);
        if request {
            let slot = self.begin_send(line, row, id, price.rendezvous, attended);
            self.requests[place as usize].make(slot);
            self.made_request(place);
            return Ok(Step::Done);
        }
        line.held[0] = id;
        Ok(self.sent_or_waits(place, line, row))
    }

    /// A send that a request will complete: what the request stands for.
    pub fn begin_send(&mut self, line: &mut Line, row: &Beat, id: LetterId, rendezvous: bool, attended: bool) -> Slot {
        let price = self.prices[self.letters.get(id).price as usize];
        if self.recorded().is_some() {
            line.now = self.as_recorded(line, row, None, price.bytes);
        } else {
            line.now += price.start;
        }
        if !rendezvous {
            self.letters.release(id);
            return Slot::Sent { until: line.now + price.wait };
        }
        if !attended {
            line.unattended.push((id, true));
        }
        Slot::Leaving(id)
    }

    /// After a blocking send has let its message go.
    fn sent_or_waits(&mut self, place: u32, line: &mut Line, row: &Beat) -> Step {
        let id = line.held[0];
        let letter = *self.letters.get(id);
        let rendezvous = self.prices[letter.price as usize].rendezvous;
        let may_wait = self.recorded().is_some_and(|network| !network.is_ideal());
        let perhaps = may_wait && letter.posted.now == UNKNOWN && row.took() > PERHAPS_WAITS_S;
        if perhaps {
            self.note_perhaps(place, id);
        }
        if perhaps || rendezvous && letter.arrived == UNKNOWN {
            self.letters.get_mut(id).sender_waits = place;
            line.stage = Stage::Waits;
            return Step::Waits;
        }
        self.sent(line, row)
    }

    /// A blocking send is over.
    fn sent(&mut self, line: &mut Line, row: &Beat) -> Step {
        let id = std::mem::replace(&mut line.held[0], NONE);
        let letter = self.letters.get(id);
        let price = self.prices[letter.price as usize];
        if let Some(network) = self.recorded() {
            // What was left before its receive had begun did not need it.
            let left = line.entered_recorded + row.took();
            let waited = price.rendezvous || !network.is_ideal() && letter.posted.recorded <= left;
            let needed = (letter.posted.is_known() && waited).then_some(letter.posted);
            line.now = self.as_recorded(line, row, needed, price.bytes);
            self.letters.release(id);
        } else if price.rendezvous {
            line.now = self.sent_away(id, line.now, true);
        } else {
            line.now += price.send;
            self.letters.release(id);
        }
        Step::Done
    }

    fn receive_call(&mut self, place: u32, line: &mut Line, row: &Beat, channel: u32, request: bool) -> Result<Step, Error> {
        if matches!(line.stage, Stage::Entered | Stage::Decided) {
            let Some(channel) = self.channel_or_outcome(line, channel)? else {
                if request {
                    self.requests[place as usize].make(Slot::Empty);
                }
                line.now = self.as_recorded(line, row, None, 0.0);
                return Ok(Step::Done);
            };
            let waits_for_attention = request && self.any_attended;
            let id = self.post(Lane::Channel(channel), World::moment(line), !waits_for_attention);
            if request {
                if waits_for_attention && self.letters.get(id).arrived == UNKNOWN {
                    line.unattended.push((id, false));
                } else if waits_for_attention {
                    self.attend(id, false, line.now);
                }
                self.requests[place as usize].make(Slot::Coming(id));
                self.made_request(place);
                line.now = self.as_recorded(line, row, None, 0.0);
                return Ok(Step::Done);
            }
            line.held[1] = id;
        }
        Ok(self.received_or_waits(place, line, row))
    }

    /// After a blocking receive has been begun.
    fn received_or_waits(&mut self, place: u32, line: &mut Line, row: &Beat) -> Step {
        let id = line.held[1];
        if self.letters.get(id).arrived == UNKNOWN {
            self.letters.get_mut(id).receiver_waits = place;
            line.stage = Stage::Waits;
            return Step::Waits;
        }
        line.held[1] = NONE;
        let letter = self.letters.get(id);
        let (sent, sender, bytes) = (letter.sent, letter.sender, self.prices[letter.price as usize].bytes);
        let nearer = self.comes_nearer(sender, line);
        let there = self.take(place, id, line.now);
        if self.recorded().is_some() && sent.recorded >= line.entered_recorded {
            self.samples.add(bytes, line.entered_recorded + row.took() - sent.recorded);
        }
        line.now = if self.recorded().is_some() { self.as_received(line, row, Some(sent), bytes, nearer) } else { there };
        Step::Done
    }

    fn send_receive(&mut self, place: u32, line: &mut Line, row: &Beat, own: Own, channel: u32) -> Result<Step, Error> {
        let number = if self.waited(line) { self.synchronous(line, own.price, own.to) } else { own.price };
        if line.stage == Stage::Entered {
            let at = World::moment(line);
            line.held[1] = self.post(Lane::Channel(channel), at, true);
            line.held[0] = self.send(place, Lane::Channel(own.number), number, own.to, at, true);
        }
        let [out, inward] = line.held;
        for (id, sends) in [(out, true), (inward, false)] {
            let letter = self.letters.get_mut(id);
            let needs = !sends || self.prices[letter.price as usize].rendezvous;
            if needs && letter.arrived == UNKNOWN {
                if sends {
                    letter.sender_waits = place
                } else {
                    letter.receiver_waits = place
                };
                line.stage = Stage::Waits;
                return Ok(Step::Waits);
            }
        }
        line.held = [NONE; 2];
        let (sent, bytes) = (self.letters.get(inward).sent, self.prices[self.letters.get(inward).price as usize].bytes);
        let price = self.prices[number as usize];
        let away = if price.rendezvous {
            self.sent_away(out, line.now, true)
        } else {
            self.letters.release(out);
            line.now + price.send
        };
        let nearer = self.comes_nearer(self.letters.get(inward).sender, line);
        let there = self.take(place, inward, line.now);
        let bytes = bytes.max(price.bytes);
        line.now = if self.recorded().is_some() { self.as_received(line, row, Some(sent), bytes, nearer) } else { away.max(there) };
        Ok(Step::Done)
    }

    fn probe(&mut self, place: u32, line: &mut Line, row: &Beat, channel: u32) -> Step {
        let Some(id) = self.letters.peek(channel) else {
            self.letters.watch(channel, place);
            line.stage = Stage::Waits;
            return Step::Waits;
        };
        let letter = *self.letters.get(id);
        let price = self.prices[letter.price as usize];
        if self.recorded().is_some() {
            line.now = self.as_recorded(line, row, Some(letter.sent), 0.0);
            return Step::Done;
        }
        // A message that waits for its receive is announced by an empty one.
        let there = if letter.arrived != UNKNOWN { letter.arrived } else { letter.sent.now + price.latency };
        line.now = line.now.max(there);
        Step::Done
    }

    /// The channel of a receive; where that shows only later, what became of it is asked for.
    pub fn channel_or_outcome(&mut self, line: &mut Line, channel: u32) -> Result<Option<u32>, Error> {
        if channel != NONE {
            return Ok(Some(channel));
        }
        Ok(match line.source.outcome()? {
            Outcome::Never => None,
            Outcome::Received(from) => Some(self.letters.channel((from.peer, line.id.rank, from.communicator, from.tag))),
        })
    }

    fn join_call(&mut self, place: u32, line: &mut Line, row: &Beat, seat: u32, join: u32) -> Result<Step, Error> {
        let Action::Join(join) = line.code.actions[join as usize] else { return Ok(Step::Done) };
        if line.stage == Stage::Entered {
            let id = self.join_errand(place, line, seat, &join);
            if join.how == How::Request {
                self.requests[place as usize].make(Slot::Errand(id));
                line.now = self.as_recorded(line, row, None, 0.0);
                self.made_request(place);
                return Ok(Step::Done);
            }
            line.held[0] = id;
        }
        let id = line.held[0];
        let errand = self.meetings.errand_mut(id);
        if errand.until == UNKNOWN {
            errand.waiter = place;
            line.stage = Stage::Waits;
            return Ok(Step::Waits);
        }
        let (until, needed) = (errand.until, errand.needed);
        line.held[0] = NONE;
        self.meetings.release(id);
        let bytes = join.sent.max(join.received) as f64;
        if join.purpose == Purpose::File {
            // No network makes files quicker.
            line.now = match self.mannered {
                None => as_it_was(line, row, Some(needed), 1.0),
                Some(_) => self.in_its_manner(line, row, Some(needed), 1.0, false),
            };
            return Ok(Step::Done);
        }
        line.now = if self.recorded().is_some() { self.as_recorded(line, row, Some(needed), bytes) } else { until.max(line.now) };
        Ok(Step::Done)
    }

    /// Wakes other threads that wait for this one to make a request.
    #[inline]
    fn made_request(&mut self, place: u32) {
        if !self.awaited.is_empty() {
            self.ready.append(&mut self.awaited.remove(&place).unwrap_or_default());
        }
    }
}

/// When a call is left that takes so many times as long after what it needed as it was recorded to.
fn as_it_was(line: &Line, row: &Beat, needed: Option<Moment>, times: f64) -> f64 {
    let from = needed.map_or(line.entered, |needed| line.entered.max(needed.now));
    let from_recorded = needed.map_or(line.entered_recorded, |needed| line.waits_since_recorded.max(needed.recorded));
    let own = line.entered_recorded + row.took() - from_recorded;
    // Clocks are not exact: a call can seem to be left before what it needed was there.
    if own < 0.0 && times > 0.0 { (from + own).max(line.entered) } else { from + own.max(0.0) * times }
}

/// Whether a call may wait, so that MPI can see to what was begun before.
fn waits(op: Op) -> bool {
    !matches!(op, Op::Local | Op::Poll | Op::Nothing | Op::Define { .. } | Op::Forget { .. })
        && !matches!(op, Op::Send { request: true, .. } | Op::Receive { request: true, .. })
}
