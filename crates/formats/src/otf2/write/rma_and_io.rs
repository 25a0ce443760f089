//! RMA and file operations of a process as events.

use sintonia_mpi::{FunctionId, FunctionRole};
use sintonia_otf2::buffer::UNDEFINED_UINT32;
use sintonia_otf2::code::{CollectiveOp, RmaAtomicType};
use sintonia_recording::call_table::{CallDescriptor, RecordedCall};
use sintonia_recording::raw::{self, bytes_or_zero, part};

use crate::otf2::event::{IoOperation, MpiEvent, RmaOperation};
use crate::otf2::write::event_builder::{CallEvents, EventBuilder, RequestKind};

/// Limit of RMA operations whose completion is recorded at the next synchronisation.
const MAX_PENDING_TRANSFERS: usize = 1 << 14;

impl EventBuilder<'_> {
    pub(super) fn create_or_free_window(&mut self, descriptor: &CallDescriptor, events: &mut CallEvents) {
        let Some(window) = self.comm_ranks.object(descriptor.created) else { return };
        let allocates = descriptor.function.name().starts_with("MPI_Win_allocate");
        let (event, operation) = match descriptor.function.role() {
            FunctionRole::WindowCreate if allocates => (MpiEvent::RmaWinCreate(window), CollectiveOp::CREATE_HANDLE_AND_ALLOCATE),
            FunctionRole::WindowCreate => (MpiEvent::RmaWinCreate(window), CollectiveOp::CREATE_HANDLE),
            _ => {
                self.complete_transfers(descriptor.created, None, events);
                (MpiEvent::RmaWinDestroy(window), CollectiveOp::DESTROY_HANDLE)
            }
        };
        events.push_at_enter(MpiEvent::RmaCollectiveBegin);
        events.push_at_leave(event);
        events.push_at_leave(MpiEvent::RmaCollectiveEnd { operation, window });
    }

    pub(super) fn synchronise_window(&mut self, descriptor: &CallDescriptor, events: &mut CallEvents) {
        let Some(window) = self.comm_ranks.object(descriptor.object) else { return };
        let exclusive = descriptor.value == raw::LOCK_EXCLUSIVE;
        let at = self.comm_ranks.target(descriptor.object, descriptor.peer, self.rank).map(|(_, rank)| rank);
        let peer = at.map(|_| descriptor.peer);
        match descriptor.function.name() {
            "MPI_Win_fence" => {
                self.complete_transfers(descriptor.object, None, events);
                events.push_at_enter(MpiEvent::RmaCollectiveBegin);
                events.push_at_leave(MpiEvent::RmaCollectiveEnd { operation: CollectiveOp::BARRIER, window });
            }
            "MPI_Win_lock" => events.push_at_leave(at.map(|rank| MpiEvent::RmaRequestLock(window, rank, exclusive))),
            "MPI_Win_lock_all" => events.push_at_leave(MpiEvent::RmaRequestLock(window, UNDEFINED_UINT32, false)),
            "MPI_Win_unlock" | "MPI_Win_unlock_all" => {
                self.complete_transfers(descriptor.object, peer, events);
                events.push_at_leave(MpiEvent::RmaReleaseLock(window, at.unwrap_or(UNDEFINED_UINT32)));
            }
            "MPI_Win_flush" | "MPI_Win_flush_all" => self.complete_transfers(descriptor.object, peer, events),
            "MPI_Win_post" | "MPI_Win_start" => {
                let group = self.comm_ranks.group(descriptor.value).filter(|_| descriptor.has_group_operand());
                self.epochs.extend(group.map(|group| ((descriptor.object, descriptor.function), group)));
                self.group_sync(window, group, events);
            }
            "MPI_Win_complete" => {
                self.complete_transfers(descriptor.object, None, events);
                self.end_epoch(descriptor, "MPI_Win_start", window, events);
            }
            "MPI_Win_wait" => self.end_epoch(descriptor, "MPI_Win_post", window, events),
            "MPI_Win_test" if descriptor.parts & part::FLAG_FALSE == 0 => self.end_epoch(descriptor, "MPI_Win_post", window, events),
            _ => {}
        }
    }

    /// Ends the epoch that `MPI_Win_post` or `MPI_Win_start` opened, with the same group.
    fn end_epoch(&mut self, descriptor: &CallDescriptor, begun_by: &str, window: u32, events: &mut CallEvents) {
        let began = FunctionId::from_name(begun_by).map(|began| (descriptor.object, began));
        let group = began.and_then(|began| self.epochs.remove(&began));
        self.group_sync(window, group, events);
    }

    fn group_sync(&mut self, window: u32, group: Option<u32>, events: &mut CallEvents) {
        self.unmapped.partial_syncs |= group.is_none();
        events.push_at_leave(group.map(|group| MpiEvent::RmaGroupSync(window, group)));
    }

    /// Completes RMA operations on a window, with one target or with all.
    fn complete_transfers(&mut self, window: u32, target: Option<i32>, events: &mut CallEvents) {
        let Some(definition) = self.comm_ranks.object(window) else { return };
        self.transfers.retain(|(on, with, id)| {
            let ends = *on == window && target.is_none_or(|target| target == *with);
            if ends {
                events.push_at_leave(MpiEvent::RmaOpCompleteRemote(definition, *id));
            }
            !ends
        });
    }

    pub(super) fn rma_transfer(&mut self, call: &RecordedCall, events: &mut CallEvents) -> RequestKind {
        let descriptor = call.descriptor;
        let Some((window, peer)) = self.comm_ranks.target(descriptor.object, descriptor.peer, self.rank) else { return RequestKind::Other };
        let id = self.next_id();
        let rma_op = rma_operation(descriptor.function);
        let (sent, received) = match rma_op {
            RmaOperation::Put => (descriptor.bytes_sent(), 0),
            RmaOperation::Get => (0, bytes_or_zero(descriptor.received)),
            RmaOperation::Atomic(_) => (descriptor.bytes_sent(), bytes_or_zero(descriptor.received)),
        };
        events.push_at_enter(MpiEvent::RmaTransfer { operation: rma_op, window, peer, sent, received, id });
        if call.request.is_none() && self.transfers.len() < MAX_PENDING_TRANSFERS {
            self.transfers.push((descriptor.object, descriptor.peer, id));
        }
        RequestKind::Transfer(window, id)
    }

    pub(super) fn file_operation(&mut self, call: &RecordedCall, events: &mut CallEvents) -> RequestKind {
        let descriptor = call.descriptor;
        let role = descriptor.function.role();
        let number_of_file =
            if matches!(role, FunctionRole::FileOpen | FunctionRole::FileClose) { descriptor.created } else { descriptor.object };
        let Some(file) = self.comm_ranks.object(number_of_file) else { return RequestKind::Other };
        let writes = match role {
            FunctionRole::FileOpen => {
                events.push_at_leave(MpiEvent::IoCreateHandle(file));
                return RequestKind::Other;
            }
            FunctionRole::FileClose => {
                events.push_at_leave(MpiEvent::IoDestroyHandle(file));
                return RequestKind::Other;
            }
            role => role == FunctionRole::FileWrite,
        };
        let bytes = bytes_or_zero(if writes { descriptor.sent } else { descriptor.received });
        let collective = ["_all", "_ordered"].iter().any(|part| descriptor.function.name().contains(part));
        let access = IoOperation { is_write: writes, collective, nonblocking: call.request.is_some(), bytes };
        let id = self.next_id();
        events.push_at_enter(MpiEvent::IoOperationBegin(file, access, id));
        events.push_at_leave(if access.nonblocking {
            MpiEvent::IoOperationIssued(file, id)
        } else {
            MpiEvent::IoOperationComplete(file, bytes, id)
        });
        RequestKind::File(file, bytes, id)
    }
}

/// The direction of an RMA operation.
fn rma_operation(operation: FunctionId) -> RmaOperation {
    match operation.role() {
        FunctionRole::Get => RmaOperation::Get,
        FunctionRole::Put if operation.name().ends_with("ccumulate") => RmaOperation::Atomic(RmaAtomicType::ACCUMULATE),
        FunctionRole::Put => RmaOperation::Put,
        _ if operation.name() == "MPI_Compare_and_swap" => RmaOperation::Atomic(RmaAtomicType::COMPARE_AND_SWAP),
        _ => RmaOperation::Atomic(RmaAtomicType::FETCH_AND_ACCUMULATE),
    }
}
