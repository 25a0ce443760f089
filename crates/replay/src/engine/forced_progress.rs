//! Forced progress: calls that complete without their dependency because it never comes, as in truncated recordings.

use super::compiled::CallOp;
use super::location::{CallStage, LocationState, RequestSlot};
use super::messages::{ChannelKey, MessageId, NONE, UNKNOWN_TIME};
use super::state::ReplayState;

impl ReplayState<'_> {
    /// Of all blocked locations, completes the call with the earliest recorded exit as if its dependency had arrived: in the recording it
    /// did not wait for any of the others. `false` if none is blocked.
    pub(super) fn force_progress(&mut self, locations: &mut [LocationState]) -> bool {
        let standing = (0..locations.len())
            .filter(|index| !locations[*index].ended && locations[*index].next_record < locations[*index].records.len());
        let exit_time =
            |index: usize| locations[index].recorded_enter_time + locations[index].records[locations[index].next_record].duration();
        let Some(index) = standing.min_by(|a, b| exit_time(*a).total_cmp(&exit_time(*b))) else { return false };
        let location = &mut locations[index];
        let record = location.records[location.next_record];
        let op = location.compiled.ops[record.action as usize];
        self.abandon_call(index as u32, location, op);
        location.now = self.recorded_exit_time(location, &record, None, 0.0);
        self.exit_call(location, &record, location.compiled.attributions[record.action as usize]);
        self.n_forced += 1;
        self.runnable.push(index as u32);
        true
    }

    /// Cancels everything that would wake a location from its call.
    fn abandon_call(&mut self, index: u32, location: &mut LocationState, op: CallOp) {
        let [first, second] = std::mem::replace(&mut location.held_messages, [NONE; 2]);
        match op {
            CallOp::Collective { .. } => self.abandon_part(first),
            CallOp::Probe { operand } => _ = self.messages.take_prober(ChannelKey::Indexed(location.operands[operand as usize].id)),
            CallOp::Complete { first, count } => {
                self.request_waiters.values_mut().for_each(|waiting| waiting.retain(|waiter| *waiter != index));
                for listed in first..first + count {
                    let (owner, number) =
                        self.resolve_request(index, location, location.compiled.request_operands[listed as usize].request);
                    self.abandon_request(owner, number);
                }
            }
            CallOp::Other { .. } => {
                for message in std::mem::take(&mut location.rma.get_or_default().sync_messages) {
                    self.messages.get_mut(message).receive_waiter = NONE;
                    self.messages.release(message);
                }
            }
            _ => {
                self.abandon_message(first, true);
                self.abandon_message(second, false);
            }
        }
        location.stage = CallStage::Entered;
    }

    fn abandon_request(&mut self, owner: u32, number: u64) {
        match self.requests[owner as usize].get(number) {
            RequestSlot::PendingReceive(id) => self.abandon_message(id, false),
            RequestSlot::PendingSend(id) => self.abandon_message(id, true),
            RequestSlot::PendingSendReceive(out, inward) => {
                self.abandon_message(out, true);
                self.abandon_message(inward, false);
            }
            RequestSlot::Collective(id) => self.abandon_part(id),
            RequestSlot::Empty | RequestSlot::Sent { .. } | RequestSlot::RmaAccess { .. } => {}
        }
        self.requests[owner as usize].clear(number);
    }

    /// One end of a message stops waiting for the other. A sent message can still be received; an unmatched receive is cancelled.
    fn abandon_message(&mut self, id: MessageId, sends: bool) {
        if id == NONE {
            return;
        }
        let message = self.messages.get_mut(id);
        if sends {
            message.send_waiter = NONE;
            self.messages.release(id);
        } else if message.sent.is_known() {
            message.receive_waiter = NONE;
            self.messages.release(id);
        } else {
            self.messages.cancel_receive(id);
        }
    }

    fn abandon_part(&mut self, id: u32) {
        if self.collectives.part(id).end_time != UNKNOWN_TIME {
            self.collectives.release_part(id);
        } else {
            let part = self.collectives.part_mut(id);
            (part.waiter, part.is_detached) = (NONE, true);
        }
    }
}
