//! Resolves everything that is the same for each call: channels, costs, group members.

use sintonia_mpi::FunctionRole;
use sintonia_recording::comm_event::CollectiveGroup;

use super::collectives::{GroupMember, MemberId};
use super::compiled::{CallAttribution, CallOp, CompiledChunk, LocalOperand, RequestOperand};
use super::location::LocationState;
use super::messages::NONE;
use super::state::ReplayState;
use crate::schedule::{CallCompletion, CollectiveAction, DescribedAction, PeerEnvelope, ReplayAction, Request, Schedule, SendAction};

impl ReplayState<'_> {
    /// Compiles the actions of a location's next chunk.
    pub(super) fn compile(&mut self, schedule: &dyn Schedule, location: &mut LocationState, index: u32, actions: &[DescribedAction]) {
        let mut chunk = std::mem::take(&mut self.draft_chunk);
        chunk.clear();
        location.operands.clear();
        if let Some(overrides) = &mut self.overrides {
            overrides.compile(index, actions);
        }
        for described in actions {
            let op = match self.compile_op(schedule, location, index, described, &mut chunk) {
                // Requests are counted back from the newest, so each one must exist.
                CallOp::Local | CallOp::Poll if described.call.makes_request() => CallOp::EmptyRequest,
                op => op,
            };
            chunk.ops.push(op);
            let (site, number) = (described.call.site, described.call.function.0);
            let tally = self.tally_id(site, number);
            chunk.attributions.push(CallAttribution { tally, site, segment: self.changes.first_change_before(site) });
        }
        location.compiled = self.chunk_cache.intern(&chunk);
        self.draft_chunk = chunk;
    }

    fn compile_op(
        &mut self,
        schedule: &dyn Schedule,
        location: &mut LocationState,
        index: u32,
        described: &DescribedAction,
        chunk: &mut CompiledChunk,
    ) -> CallOp {
        let action = &described.action;
        match action {
            // A faster network does not speed up file I/O.
            ReplayAction::Local if self.is_ideal() && !is_file_io(described) => CallOp::Poll,
            ReplayAction::Local => CallOp::Local,
            _ if self.has_missing_peer(action) => CallOp::Local,
            ReplayAction::Poll => CallOp::Poll,
            ReplayAction::Init => CallOp::Init,
            ReplayAction::Finalize => CallOp::Finalize,
            ReplayAction::Send(send) if send.completion != CallCompletion::Persistent => {
                CallOp::Send { operand: self.send_operand(location, send), request: send.completion == CallCompletion::Nonblocking }
            }
            ReplayAction::Receive(receive) if receive.completion != CallCompletion::Persistent => CallOp::Receive {
                operand: self.receive_operand(location, receive.from.as_ref()),
                request: receive.completion == CallCompletion::Nonblocking,
                any_source: receive.any_source,
            },
            ReplayAction::SendReceive(send, receive) if send.completion == CallCompletion::Blocking && receive.from.is_some() => {
                CallOp::SendReceive {
                    send: self.send_operand(location, send),
                    receive: self.receive_operand(location, receive.from.as_ref()),
                }
            }
            ReplayAction::Probe { message } => CallOp::Probe { operand: self.receive_operand(location, Some(message)) },
            ReplayAction::Complete(requests) => {
                let op = push_requests(chunk, requests, |first, count| CallOp::Complete { first, count });
                mark_cancelled(chunk, described);
                op
            }
            ReplayAction::Start(requests) => push_requests(chunk, requests, |first, count| CallOp::Start { first, count }),
            ReplayAction::FreeRequests(requests) => push_requests(chunk, requests, |first, count| CallOp::FreeRequests { first, count }),
            ReplayAction::Collective(call) if call.completion != CallCompletion::Persistent => {
                let Some(member) = self.member_id(schedule, index, location.id.rank, call.group) else { return CallOp::Local };
                CallOp::Collective {
                    operand: push_operand(location, LocalOperand { id: member, cost_id: NONE, destination: NONE }),
                    action: push_action(chunk, action),
                }
            }
            ReplayAction::Send(_) | ReplayAction::Receive(_) | ReplayAction::Collective(_) => {
                CallOp::InitPersistent { action: push_action(chunk, action) }
            }
            ReplayAction::SendReceive(..) | ReplayAction::RmaAccess { .. } | ReplayAction::WindowSync { .. } => {
                CallOp::Other { action: push_action(chunk, action) }
            }
        }
    }

    /// The operand of a send.
    fn send_operand(&mut self, location: &mut LocationState, send: &SendAction) -> u32 {
        let (rank, to) = (location.id.rank, &send.to);
        let number = self.messages.channel_id((rank, to.peer, to.communicator, to.tag));
        let cost_id = self.message_cost_id(rank, to.peer, send.bytes, send.mode);
        push_operand(location, LocalOperand { id: number, cost_id, destination: to.peer })
    }

    /// The operand of a receive; its source may not be known yet.
    fn receive_operand(&mut self, location: &mut LocationState, from: Option<&PeerEnvelope>) -> u32 {
        let rank = location.id.rank;
        let number = from.map_or(NONE, |from| self.messages.channel_id((from.peer, rank, from.communicator, from.tag)));
        push_operand(location, LocalOperand { id: number, cost_id: NONE, destination: NONE })
    }

    /// The member id of a location in a group; `None` if the group is unknown or the rank is not a member.
    pub(super) fn member_id(&mut self, schedule: &dyn Schedule, index: u32, rank: u32, group: CollectiveGroup) -> Option<MemberId> {
        // All threads of a rank count as one member.
        let first = self.first_location(rank).unwrap_or(index);
        if let Some(member) = self.member_ids.get(&(first, group)) {
            return Some(*member);
        }
        let communicator = match group {
            CollectiveGroup::Communicator(number) | CollectiveGroup::World(number) | CollectiveGroup::Persistent(number, _) => number,
            CollectiveGroup::Object(number) => schedule.object_communicator(number)?,
        };
        let between = schedule.is_intercommunicator(communicator);
        let number = self.collectives.group_id(group, (communicator, between), || {
            let mut members = schedule.members(communicator);
            members.retain(|rank| !self.changes.force_progress || has_location(&self.first_locations, *rank));
            members
        });
        let at = self.collectives.index_in_group(number, rank)?;
        let member = self.collectives.members.len() as MemberId;
        self.collectives.members.push(GroupMember { group: number, index: at, next_sequence: 0 });
        self.member_ids.insert((first, group), member);
        Some(member)
    }

    /// The member id for a persistent collective.
    pub(super) fn persistent_member_id(&mut self, index: u32, location: &LocationState, call: &CollectiveAction) -> MemberId {
        let group = match call.group {
            CollectiveGroup::Communicator(communicator) => {
                let next = self.persistent_counts.entry((index, communicator)).or_default();
                *next += 1;
                CollectiveGroup::Persistent(communicator, *next - 1)
            }
            group => group,
        };
        self.member_id(self.schedule, index, location.id.rank, group).unwrap_or(NONE)
    }

    fn tally_id(&mut self, site: u32, function: u16) -> u32 {
        let next = self.tallies.len() as u32;
        let number = *self.tally_ids.entry((site, function)).or_insert(next);
        if number == next {
            self.tallies.push(super::result::SiteTally::new(site, function));
        }
        number
    }

    /// Whether a call involves a rank missing from the recording and must complete without it.
    fn has_missing_peer(&self, action: &ReplayAction) -> bool {
        let missing = |peer: u32| !has_location(&self.first_locations, peer);
        self.changes.force_progress
            && match action {
                ReplayAction::Send(send) => send.completion == CallCompletion::Blocking && missing(send.to.peer),
                ReplayAction::Receive(receive) => {
                    receive.completion == CallCompletion::Blocking && receive.from.is_some_and(|from| missing(from.peer))
                }
                ReplayAction::Probe { message } => missing(message.peer),
                _ => false,
            }
    }

    fn first_location(&self, rank: u32) -> Option<u32> {
        self.first_locations.get(rank as usize).copied().filter(|first| *first != NONE)
    }
}

/// Whether the recording has a location of this rank.
fn has_location(firsts: &[u32], rank: u32) -> bool {
    firsts.get(rank as usize).is_some_and(|first| *first != NONE)
}

/// Whether a call does file I/O.
fn is_file_io(described: &DescribedAction) -> bool {
    use FunctionRole::{FileClose, FileOpen, FileOther, FileRead, FileWrite};
    matches!(described.call.function.role(), FileOpen | FileClose | FileRead | FileWrite | FileOther)
}

fn push_operand(location: &mut LocationState, operand: LocalOperand) -> u32 {
    location.operands.push(operand);
    (location.operands.len() - 1) as u32
}

fn push_requests(chunk: &mut CompiledChunk, requests: &[Request], op: impl FnOnce(u32, u32) -> CallOp) -> CallOp {
    let first = chunk.request_operands.len() as u32;
    chunk.request_operands.extend(requests.iter().map(|request| RequestOperand { request: *request, received: true }));
    op(first, requests.len() as u32)
}

/// Marks requests for which the call reports no receive: receives among them were cancelled.
fn mark_cancelled(chunk: &mut CompiledChunk, described: &DescribedAction) {
    let shown = &described.call.requests;
    let first = chunk.request_operands.len().saturating_sub(shown.len());
    chunk.request_operands[first..].iter_mut().zip(shown).for_each(|(listed, shown)| listed.received = shown.is_receive);
}

fn push_action(chunk: &mut CompiledChunk, action: &ReplayAction) -> u32 {
    chunk.actions.push(action.clone());
    (chunk.actions.len() - 1) as u32
}
