//! Replay of each kind of call.

use sintonia_recording::comm_event::GroupOp;

use super::compiled::{CallOp, LocalOperand};
use super::core_waits::{Dependency, Partner};
use super::location::{CallRecord, CallStage, LocationState, RequestSlot};
use super::messages::{ChannelKey, MessageId, NONE, TimePair, UNKNOWN_TIME};
use super::state::ReplayState;
use crate::Error;
use crate::schedule::{CallCompletion, ReplayAction, WildcardMatch};

/// Progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallProgress {
    /// Complete; the location's time is its exit time.
    Done,
    /// Waiting; the location will be woken.
    Waiting,
}

/// A blocking send that took longer may have waited for its receive.
const MIN_POSSIBLE_WAIT_S: f64 = 5e-6;

impl ReplayState<'_> {
    /// Advances the current call as far as possible.
    #[inline]
    pub(super) fn step_call(&mut self, index: u32, location: &mut LocationState, record: &CallRecord) -> Result<CallProgress, Error> {
        let op = location.compiled.ops[record.action as usize];
        if location.stage == CallStage::Entered && !location.unprogressed.is_empty() && may_wait(op) {
            self.progress_all(location);
        }
        // New messages can change the decision, so it is rescheduled at every wake-up.
        if matches!(location.stage, CallStage::Entered | CallStage::AwaitingDecision) && self.redecides_wildcard(op) {
            let has_choice = self.request_wildcard_decision(index, location);
            location.stage = if has_choice { CallStage::AwaitingDecision } else { CallStage::Decided };
            if has_choice {
                return Ok(CallProgress::Waiting);
            }
        }
        match op {
            CallOp::Local => {
                location.now = match self.overrides {
                    None => location.now + location.call_time(record) * location.slowdown,
                    Some(_) => {
                        let own_time = self.own_time(location, record, None, 0.0);
                        self.exit_time_with_override(location, record, own_time, None, location.slowdown, false)
                    }
                };
                Ok(CallProgress::Done)
            }
            CallOp::Poll => {
                if self.polls_take_time() {
                    location.poll_time += location.call_time(record);
                }
                Ok(CallProgress::Done)
            }
            CallOp::Init => {
                (location.now, location.enter_time) = (location.init_time, location.init_time);
                Ok(CallProgress::Done)
            }
            CallOp::Finalize => {
                (location.end_time, location.recorded_end_time) = (location.now, location.recorded_enter_time);
                Ok(CallProgress::Done)
            }
            CallOp::Send { operand, request } => self.send_call(index, location, record, location.operands[operand as usize], request),
            CallOp::Receive { operand, request, .. } => {
                self.receive_call(index, location, record, location.operands[operand as usize].id, request)
            }
            CallOp::SendReceive { send: out, receive: inward } => {
                self.send_receive_call(index, location, record, location.operands[out as usize], location.operands[inward as usize].id)
            }
            CallOp::Probe { operand } => Ok(self.probe_call(index, location, record, location.operands[operand as usize].id)),
            CallOp::Complete { first, count } => self.complete_requests(index, location, record, first as usize, count as usize),
            CallOp::Start { first, count } => self.start_requests(index, location, record, first as usize, count as usize),
            CallOp::FreeRequests { first, count } => {
                for request in first..first + count {
                    self.free_request(index, location.compiled.request_operands[request as usize].request);
                }
                self.add_recorded_duration(location, record);
                Ok(CallProgress::Done)
            }
            CallOp::InitPersistent { action } => {
                self.init_persistent(index, location, action);
                self.add_recorded_duration(location, record);
                Ok(CallProgress::Done)
            }
            CallOp::EmptyRequest => {
                self.requests[index as usize].push(RequestSlot::Empty);
                self.wake_request_waiters(index);
                location.now = self.recorded_exit_time(location, record, None, 0.0);
                Ok(CallProgress::Done)
            }
            CallOp::Collective { operand, action: call } => {
                self.collective_call(index, location, record, location.operands[operand as usize].id, call)
            }
            CallOp::Other { action } => self.window_call(index, location, record, action),
        }
    }

    /// Simulated and recorded enter time of the current call.
    #[inline]
    pub(super) fn enter_time_pair(location: &LocationState) -> TimePair {
        TimePair { simulated: location.now, recorded: location.recorded_enter_time, computed_from: location.computed_from }
    }

    /// Exit time on the recorded network: recorded time after the dependency, scaled.
    #[inline]
    pub(super) fn recorded_exit_time(
        &mut self,
        location: &mut LocationState,
        record: &CallRecord,
        dependency: Option<Dependency>,
        bytes: f64,
    ) -> f64 {
        self.recorded_receive_exit_time(location, record, dependency, bytes, false)
    }

    /// The same for a receiving call; `nearer` if all messages become node-local.
    #[inline]
    pub(super) fn recorded_receive_exit_time(
        &mut self,
        location: &mut LocationState,
        record: &CallRecord,
        dependency: Option<Dependency>,
        bytes: f64,
        nearer: bool,
    ) -> f64 {
        let Some(network) = self.recorded_network() else { return location.now };
        let own_time = self.own_time(location, record, dependency, bytes);
        match self.overrides {
            None => shifted_exit_time(location, own_time, dependency, network.slowdown(bytes)),
            Some(_) => self.exit_time_with_override(location, record, own_time, dependency, network.slowdown(bytes), nearer),
        }
    }

    /// For calls without communication.
    fn add_recorded_duration(&self, location: &mut LocationState, record: &CallRecord) {
        if !self.is_ideal() {
            location.now += location.call_time(record) * location.slowdown;
        }
    }

    /// The location is in MPI: pending transfers make progress.
    fn progress_all(&mut self, location: &mut LocationState) {
        for (id, sends) in std::mem::take(&mut location.unprogressed) {
            self.progress_message(id, sends, location.now);
        }
    }

    fn send_call(
        &mut self,
        index: u32,
        location: &mut LocationState,
        record: &CallRecord,
        operand: LocalOperand,
        request: bool,
    ) -> Result<CallProgress, Error> {
        if location.stage == CallStage::Waiting {
            return Ok(self.finish_send(location, record));
        }
        let cost_id = if self.send_waited(location) {
            self.synchronous_cost_id(location, operand.cost_id, operand.destination)
        } else {
            operand.cost_id
        };
        let cost = self.message_costs[cost_id as usize];
        let attended = !(request && cost.needs_progress);
        let id = self.send_message(
            index,
            ChannelKey::Indexed(operand.id),
            cost_id,
            operand.destination,
            ReplayState::enter_time_pair(location),
            attended,
        );
        if request {
            let slot = self.begin_send(location, record, id, cost.rendezvous, attended);
            self.requests[index as usize].push(slot);
            self.wake_request_waiters(index);
            return Ok(CallProgress::Done);
        }
        location.held_messages[0] = id;
        Ok(self.finish_or_wait_send(index, location, record))
    }

    /// Posts a nonblocking send and returns the state of its request.
    pub(super) fn begin_send(
        &mut self,
        location: &mut LocationState,
        record: &CallRecord,
        id: MessageId,
        rendezvous: bool,
        attended: bool,
    ) -> RequestSlot {
        let cost = self.message_costs[self.messages.get(id).cost_id as usize];
        if self.recorded_network().is_some() {
            location.now = self.recorded_exit_time(location, record, None, cost.bytes);
        } else {
            location.now += cost.start;
        }
        if !rendezvous {
            self.messages.release(id);
            return RequestSlot::Sent { end_time: location.now + cost.wait };
        }
        if !attended {
            location.unprogressed.push((id, true));
        }
        RequestSlot::PendingSend(id)
    }

    /// Continues a blocking send after it was posted.
    fn finish_or_wait_send(&mut self, index: u32, location: &mut LocationState, record: &CallRecord) -> CallProgress {
        let id = location.held_messages[0];
        let message = *self.messages.get(id);
        let rendezvous = self.message_costs[message.cost_id as usize].rendezvous;
        let sends_may_wait = self.recorded_network().is_some_and(|network| !network.is_ideal());
        let may_have_waited =
            sends_may_wait && message.posted.simulated == UNKNOWN_TIME && location.call_time(record) > MIN_POSSIBLE_WAIT_S;
        if may_have_waited {
            self.note_possible_wait(index, id);
        }
        if may_have_waited || rendezvous && message.arrival_time == UNKNOWN_TIME {
            self.messages.get_mut(id).send_waiter = index;
            location.stage = CallStage::Waiting;
            return CallProgress::Waiting;
        }
        self.finish_send(location, record)
    }

    /// Completes a blocking send.
    fn finish_send(&mut self, location: &mut LocationState, record: &CallRecord) -> CallProgress {
        let id = std::mem::replace(&mut location.held_messages[0], NONE);
        let message = self.messages.get(id);
        let cost = self.message_costs[message.cost_id as usize];
        if let Some(network) = self.recorded_network() {
            // A send that returned before its receive was posted did not wait for it.
            let exit_time = location.recorded_enter_time + record.duration();
            let waited = cost.rendezvous || !network.is_ideal() && message.posted.recorded <= exit_time;
            let receiver = self.first_locations.get(message.destination as usize).copied().unwrap_or(NONE);
            let dependency =
                (message.posted.is_known() && waited).then_some(Dependency { time: message.posted, partner: Partner::Location(receiver) });
            location.now = self.recorded_exit_time(location, record, dependency, cost.bytes);
            self.messages.release(id);
        } else if cost.rendezvous {
            location.now = self.sender_done_time(id, location.now, true);
        } else {
            location.now += cost.send;
            self.messages.release(id);
        }
        CallProgress::Done
    }

    fn receive_call(
        &mut self,
        index: u32,
        location: &mut LocationState,
        record: &CallRecord,
        channel: u32,
        request: bool,
    ) -> Result<CallProgress, Error> {
        if matches!(location.stage, CallStage::Entered | CallStage::Decided) {
            let Some(channel) = self.resolve_channel(location, channel)? else {
                if request {
                    self.requests[index as usize].push(RequestSlot::Empty);
                }
                location.now = self.recorded_exit_time(location, record, None, 0.0);
                return Ok(CallProgress::Done);
            };
            let waits_for_progress = request && self.any_needs_progress;
            let id = self.post_receive(ChannelKey::Indexed(channel), ReplayState::enter_time_pair(location), !waits_for_progress);
            if request {
                if waits_for_progress && self.messages.get(id).arrival_time == UNKNOWN_TIME {
                    location.unprogressed.push((id, false));
                } else if waits_for_progress {
                    self.progress_message(id, false, location.now);
                }
                self.requests[index as usize].push(RequestSlot::PendingReceive(id));
                self.wake_request_waiters(index);
                location.now = self.recorded_exit_time(location, record, None, 0.0);
                return Ok(CallProgress::Done);
            }
            location.held_messages[1] = id;
        }
        Ok(self.finish_or_wait_receive(index, location, record))
    }

    /// Continues a blocking receive after it was posted.
    fn finish_or_wait_receive(&mut self, index: u32, location: &mut LocationState, record: &CallRecord) -> CallProgress {
        let id = location.held_messages[1];
        if self.messages.get(id).arrival_time == UNKNOWN_TIME {
            self.messages.get_mut(id).receive_waiter = index;
            location.stage = CallStage::Waiting;
            return CallProgress::Waiting;
        }
        location.held_messages[1] = NONE;
        let message = self.messages.get(id);
        let (sent, sender, bytes) = (message.sent, message.sender, self.message_costs[message.cost_id as usize].bytes);
        let nearer = self.becomes_local(sender, location);
        let arrival = self.receive_message(index, id, location.now);
        if self.recorded_network().is_some() && sent.recorded >= location.recorded_enter_time {
            self.sample_transfer(location, record, sender, sent, bytes);
        }
        location.now = if self.recorded_network().is_some() {
            let dependency = Dependency { time: sent, partner: Partner::Location(sender) };
            self.recorded_receive_exit_time(location, record, Some(dependency), bytes, nearer)
        } else {
            arrival
        };
        CallProgress::Done
    }

    fn send_receive_call(
        &mut self,
        index: u32,
        location: &mut LocationState,
        record: &CallRecord,
        operand: LocalOperand,
        channel: u32,
    ) -> Result<CallProgress, Error> {
        let cost_id = if self.send_waited(location) {
            self.synchronous_cost_id(location, operand.cost_id, operand.destination)
        } else {
            operand.cost_id
        };
        if location.stage == CallStage::Entered {
            let at = ReplayState::enter_time_pair(location);
            location.held_messages[1] = self.post_receive(ChannelKey::Indexed(channel), at, true);
            location.held_messages[0] = self.send_message(index, ChannelKey::Indexed(operand.id), cost_id, operand.destination, at, true);
        }
        let [out, inward] = location.held_messages;
        for (id, sends) in [(out, true), (inward, false)] {
            let message = self.messages.get_mut(id);
            let needs = !sends || self.message_costs[message.cost_id as usize].rendezvous;
            if needs && message.arrival_time == UNKNOWN_TIME {
                if sends {
                    message.send_waiter = index
                } else {
                    message.receive_waiter = index
                };
                location.stage = CallStage::Waiting;
                return Ok(CallProgress::Waiting);
            }
        }
        location.held_messages = [NONE; 2];
        let (sent, bytes) = (self.messages.get(inward).sent, self.message_costs[self.messages.get(inward).cost_id as usize].bytes);
        let cost = self.message_costs[cost_id as usize];
        let away = if cost.rendezvous {
            self.sender_done_time(out, location.now, true)
        } else {
            self.messages.release(out);
            location.now + cost.send
        };
        let sender = self.messages.get(inward).sender;
        let nearer = self.becomes_local(sender, location);
        let arrival = self.receive_message(index, inward, location.now);
        let bytes = bytes.max(cost.bytes);
        location.now = if self.recorded_network().is_some() {
            let dependency = Dependency { time: sent, partner: Partner::Location(sender) };
            self.recorded_receive_exit_time(location, record, Some(dependency), bytes, nearer)
        } else {
            away.max(arrival)
        };
        Ok(CallProgress::Done)
    }

    fn probe_call(&mut self, index: u32, location: &mut LocationState, record: &CallRecord, channel: u32) -> CallProgress {
        let Some(id) = self.messages.peek(channel) else {
            self.messages.set_prober(channel, index);
            location.stage = CallStage::Waiting;
            return CallProgress::Waiting;
        };
        let message = *self.messages.get(id);
        let cost = self.message_costs[message.cost_id as usize];
        if self.recorded_network().is_some() {
            let dependency = Dependency { time: message.sent, partner: Partner::Location(message.sender) };
            location.now = self.recorded_exit_time(location, record, Some(dependency), 0.0);
            return CallProgress::Done;
        }
        // A rendezvous message is announced by an empty one.
        let arrival = if message.arrival_time != UNKNOWN_TIME { message.arrival_time } else { message.sent.simulated + cost.latency };
        location.now = location.now.max(arrival);
        CallProgress::Done
    }

    /// The channel of a receive; a wildcard match is looked up if it is only known later.
    pub(super) fn resolve_channel(&mut self, location: &mut LocationState, channel: u32) -> Result<Option<u32>, Error> {
        if channel != NONE {
            return Ok(Some(channel));
        }
        Ok(match location.reader.next_wildcard_match()? {
            WildcardMatch::Never => None,
            WildcardMatch::Received(from) => Some(self.messages.channel_id((from.peer, location.id.rank, from.communicator, from.tag))),
        })
    }

    fn collective_call(
        &mut self,
        index: u32,
        location: &mut LocationState,
        record: &CallRecord,
        member: u32,
        call: u32,
    ) -> Result<CallProgress, Error> {
        let ReplayAction::Collective(call) = location.compiled.actions[call as usize] else { return Ok(CallProgress::Done) };
        if location.stage == CallStage::Entered {
            let id = self.join_collective(index, location, member, &call);
            if call.completion == CallCompletion::Nonblocking {
                self.requests[index as usize].push(RequestSlot::Collective(id));
                location.now = self.recorded_exit_time(location, record, None, 0.0);
                self.wake_request_waiters(index);
                return Ok(CallProgress::Done);
            }
            location.held_messages[0] = id;
        }
        let id = location.held_messages[0];
        let part = self.collectives.part_mut(id);
        if part.end_time == UNKNOWN_TIME {
            part.waiter = index;
            location.stage = CallStage::Waiting;
            return Ok(CallProgress::Waiting);
        }
        let (until, dependency) = (part.end_time, Dependency { time: part.dependency, partner: Partner::Everyone });
        location.held_messages[0] = NONE;
        self.collectives.release_part(id);
        let bytes = call.sent.max(call.received) as f64;
        if call.op == GroupOp::FileAccess {
            // A faster network does not speed up file I/O.
            let own_time = self.own_time(location, record, Some(dependency), 0.0);
            location.now = match self.overrides {
                None => shifted_exit_time(location, own_time, Some(dependency), 1.0),
                Some(_) => self.exit_time_with_override(location, record, own_time, Some(dependency), 1.0, false),
            };
            return Ok(CallProgress::Done);
        }
        location.now = if self.recorded_network().is_some() {
            self.recorded_exit_time(location, record, Some(dependency), bytes)
        } else {
            until.max(location.now)
        };
        Ok(CallProgress::Done)
    }

    /// Wakes threads that wait for this one to create a request.
    #[inline]
    fn wake_request_waiters(&mut self, index: u32) {
        if !self.request_waiters.is_empty() {
            self.runnable.append(&mut self.request_waiters.remove(&index).unwrap_or_default());
        }
    }
}

/// Exit time after the dependency, with the recorded time after it scaled by `factor`.
fn shifted_exit_time(location: &LocationState, own_time: f64, dependency: Option<Dependency>, factor: f64) -> f64 {
    let from = dependency.map_or(location.enter_time, |dependency| location.enter_time.max(dependency.time.simulated));
    // Clock error: a call can seem to end before its dependency.
    if own_time < 0.0 && factor > 0.0 { (from + own_time).max(location.enter_time) } else { from + own_time.max(0.0) * factor }
}

/// Whether a call may wait, so that MPI makes progress on other transfers.
fn may_wait(op: CallOp) -> bool {
    !matches!(op, CallOp::Local | CallOp::Poll | CallOp::EmptyRequest | CallOp::InitPersistent { .. } | CallOp::FreeRequests { .. })
        && !matches!(op, CallOp::Send { request: true, .. } | CallOp::Receive { request: true, .. })
}
