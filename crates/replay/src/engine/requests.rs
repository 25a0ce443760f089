//! Requests: created by one call, started by another, completed by a third.

use super::call_step::CallProgress;
use super::core_waits::{Dependency, Partner};
use super::location::{CallRecord, CallStage, LocationState, RequestSlot};
use super::messages::{ChannelKey, MessageId, NONE, TimePair, UNKNOWN_TIME};
use super::state::ReplayState;
use crate::Error;
use crate::schedule::{ReceiveAction, ReplayAction, Request, SendAction, SendMode};

impl ReplayState<'_> {
    pub(super) fn complete_requests(
        &mut self,
        index: u32,
        location: &mut LocationState,
        record: &CallRecord,
        first: usize,
        count: usize,
    ) -> Result<CallProgress, Error> {
        while (location.n_completed as usize) < count {
            let listed = location.compiled.request_operands[first + location.n_completed as usize];
            let (owner, number) = self.resolve_request(index, location, listed.request);
            if owner != index && number >= self.requests[owner as usize].next_number() {
                // The other thread has not created it yet.
                self.request_waiters.entry(owner).or_default().push(index);
                location.stage = CallStage::Waiting;
                return Ok(CallProgress::Waiting);
            }
            if !self.is_request_complete(owner, number, index, listed.received) {
                location.stage = CallStage::Waiting;
                return Ok(CallProgress::Waiting);
            }
            location.n_completed += 1;
        }
        self.finish_completion(index, location, record, first, count);
        Ok(CallProgress::Done)
    }

    /// Owner and number of a request.
    #[inline]
    pub(super) fn resolve_request(&self, index: u32, location: &LocationState, request: Request) -> (u32, u64) {
        match request {
            Request::Relative(ago) => (index, self.requests[index as usize].next_number().wrapping_sub(1 + ago)),
            Request::Absolute(thread, number) => (self.location_ids.get(&(location.id.rank, thread)).copied().unwrap_or(index), number),
        }
    }

    /// Whether a request is complete; if not, the location will be woken.
    #[inline]
    fn is_request_complete(&mut self, owner: u32, number: u64, index: u32, received: bool) -> bool {
        match self.requests[owner as usize].get(number) {
            RequestSlot::Empty | RequestSlot::Sent { .. } | RequestSlot::RmaAccess { .. } => true,
            RequestSlot::PendingReceive(_) if !received => true,
            RequestSlot::PendingReceive(id) => self.has_arrived(id, index, false),
            RequestSlot::PendingSend(id) => self.has_arrived(id, index, true),
            RequestSlot::PendingSendReceive(out, inward) => self.has_arrived(out, index, true) && self.has_arrived(inward, index, false),
            RequestSlot::Collective(id) => {
                let part = self.collectives.part_mut(id);
                part.waiter = if part.end_time == UNKNOWN_TIME { index } else { NONE };
                part.end_time != UNKNOWN_TIME
            }
        }
    }

    #[inline]
    fn has_arrived(&mut self, id: MessageId, index: u32, sends: bool) -> bool {
        let message = self.messages.get_mut(id);
        if message.arrival_time != UNKNOWN_TIME {
            return true;
        }
        if sends {
            message.send_waiter = index
        } else {
            message.receive_waiter = index
        };
        false
    }

    /// Exit time of a completion call whose requests are all complete.
    fn finish_completion(&mut self, index: u32, location: &mut LocationState, record: &CallRecord, first: usize, count: usize) {
        let mut end_time = location.now;
        let mut dependency: Option<TimePair> = None;
        let mut partner = Partner::Listed;
        self.core_waits.partners.clear();
        let mut bytes: f64 = 0.0;
        let mut nearer = self.moves_ranks();
        let mut coming = std::mem::take(&mut self.scratch_arrivals);
        coming.clear();
        for listed in &location.compiled.request_operands[first..first + count] {
            let (owner, number) = self.resolve_request(index, location, listed.request);
            let slot = self.requests[owner as usize].get(number);
            match slot {
                RequestSlot::Empty => {}
                RequestSlot::PendingReceive(id) if !listed.received => self.messages.cancel_receive(id),
                RequestSlot::Sent { end_time: over } | RequestSlot::RmaAccess { end_time: over } => end_time = end_time.max(over),
                RequestSlot::PendingSend(id) => {
                    let message = self.messages.get(id);
                    dependency = Some(latest_of(dependency, message.posted));
                    let receiver = self.first_locations.get(message.destination as usize).copied().unwrap_or(NONE);
                    self.core_waits.partners.push(receiver);
                    end_time = self.sender_done_time(id, end_time, false);
                }
                RequestSlot::PendingReceive(id) => coming.push((self.messages.get(id).arrival_time, id)),
                RequestSlot::PendingSendReceive(out, inward) => {
                    end_time = self.sender_done_time(out, end_time, false);
                    coming.push((self.messages.get(inward).arrival_time, inward));
                }
                RequestSlot::Collective(id) => {
                    let part = self.collectives.part(id);
                    end_time = end_time.max(part.end_time);
                    dependency = Some(latest_of(dependency, part.dependency));
                    partner = Partner::Everyone;
                    self.collectives.release_part(id);
                }
            }
            if slot != RequestSlot::Empty {
                self.requests[owner as usize].clear(number);
            }
        }
        if coming.len() > 1 {
            coming.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        }
        let mut now = location.now;
        for (_, id) in &coming {
            let message = self.messages.get(*id);
            dependency = Some(latest_of(dependency, message.sent));
            self.core_waits.partners.push(message.sender);
            bytes += self.message_costs[message.cost_id as usize].bytes;
            nearer = nearer && self.becomes_local(message.sender, location);
            now = self.receive_message(index, *id, now);
        }
        if let ([_], Some(sent), Some(_), Some(sender)) = (
            &coming[..],
            dependency.filter(|dependency| dependency.recorded >= location.recorded_enter_time),
            self.recorded_network(),
            self.core_waits.partners.last().copied(),
        ) {
            self.sample_transfer(location, record, sender, sent, bytes);
        }
        nearer &= !coming.is_empty();
        self.scratch_arrivals = coming;
        location.now = if self.recorded_network().is_some() {
            let dependency = dependency.map(|time| Dependency { time, partner });
            self.recorded_receive_exit_time(location, record, dependency, bytes, nearer)
        } else {
            now.max(end_time)
        };
    }

    /// Frees a request.
    pub(super) fn free_request(&mut self, index: u32, request: Request) {
        let Request::Relative(ago) = request else { return };
        let requests = &mut self.requests[index as usize];
        let number = requests.next_number().wrapping_sub(1 + ago);
        let slot = requests.get(number);
        requests.free(number);
        match slot {
            RequestSlot::PendingSend(id) | RequestSlot::PendingReceive(id) => self.messages.release(id),
            RequestSlot::Collective(id) if self.collectives.part(id).end_time != UNKNOWN_TIME => self.collectives.release_part(id),
            RequestSlot::Collective(id) => self.collectives.part_mut(id).is_detached = true,
            _ => {}
        }
    }

    pub(super) fn init_persistent(&mut self, index: u32, location: &LocationState, action: u32) {
        let action = location.compiled.actions[action as usize].clone();
        let member = match &action {
            ReplayAction::Collective(join) => self.persistent_member_id(index, location, join),
            _ => NONE,
        };
        self.requests[index as usize].init_persistent(action, member);
    }

    pub(super) fn start_requests(
        &mut self,
        index: u32,
        location: &mut LocationState,
        record: &CallRecord,
        first: usize,
        count: usize,
    ) -> Result<CallProgress, Error> {
        for listed in first..first + count {
            let (owner, number) = self.resolve_request(index, location, location.compiled.request_operands[listed].request);
            let Some(defined) = self.requests[owner as usize].persistent(number).cloned() else { continue };
            let slot = match defined.action {
                ReplayAction::Send(send) => self.start_send(index, location, record, &send),
                ReplayAction::Receive(receive) => self.start_receive(location, &receive)?,
                ReplayAction::Collective(join) => RequestSlot::Collective(self.join_collective(index, location, defined.member, &join)),
                _ => RequestSlot::Empty,
            };
            self.requests[owner as usize].start(number, slot);
        }
        if self.recorded_network().is_some() {
            location.now = self.recorded_exit_time(location, record, None, 0.0);
        }
        Ok(CallProgress::Done)
    }

    fn start_send(&mut self, index: u32, location: &mut LocationState, record: &CallRecord, send: &SendAction) -> RequestSlot {
        let channel = self.messages.channel_id((location.id.rank, send.to.peer, send.to.communicator, send.to.tag));
        let mode = if self.send_waited(location) { SendMode::Synchronous } else { send.mode };
        let cost_id = self.message_cost_id(location.id.rank, send.to.peer, send.bytes, mode);
        let cost = self.message_costs[cost_id as usize];
        let attended = !cost.needs_progress;
        let id =
            self.send_message(index, ChannelKey::Indexed(channel), cost_id, send.to.peer, ReplayState::enter_time_pair(location), attended);
        self.begin_send(location, record, id, cost.rendezvous, attended)
    }

    fn start_receive(&mut self, location: &mut LocationState, receive: &ReceiveAction) -> Result<RequestSlot, Error> {
        let known = receive.from.map_or(NONE, |from| self.messages.channel_id((from.peer, location.id.rank, from.communicator, from.tag)));
        let Some(channel) = self.resolve_channel(location, known)? else { return Ok(RequestSlot::Empty) };
        Ok(RequestSlot::PendingReceive(self.post_receive(ChannelKey::Indexed(channel), ReplayState::enter_time_pair(location), true)))
    }
}

fn latest_of(known: Option<TimePair>, next: TimePair) -> TimePair {
    known.map_or(next, |known| known.max(next))
}
