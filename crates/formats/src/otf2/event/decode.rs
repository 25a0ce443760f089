//! Decodes event records.

use super::{COLLECTIVE_ACCESS, EXCLUSIVE_LOCK, NONBLOCKING_ACCESS, WRITE_MODE, kind};
use super::{EventRecord, IoOperation, MpiCollective, MpiMessage, RmaOperation};
use crate::otf2::buffer::BufferReader;
use crate::otf2::local_definitions::{IdMappings, MappingType};

/// A decoded record, with local ids replaced by global ones.
pub(crate) enum DecodedRecord {
    Event(EventRecord),
    /// An event without MPI meaning.
    Ignored,
    /// Invalid content.
    Malformed,
}

pub(crate) fn decode_event(kind: u8, content: BufferReader, ids: &IdMappings) -> DecodedRecord {
    match decode_record(kind, content, ids) {
        Some(Some(event)) => DecodedRecord::Event(event),
        Some(None) => DecodedRecord::Ignored,
        None => DecodedRecord::Malformed,
    }
}

fn decode_record(kind: u8, mut content: BufferReader, ids: &IdMappings) -> Option<Option<EventRecord>> {
    let content = &mut content;
    let event = match kind {
        kind::ENTER => EventRecord::Enter(ids.read_global(MappingType::Region, content)?),
        kind::LEAVE => EventRecord::Leave(ids.read_global(MappingType::Region, content)?),
        kind::CONTEXT_ENTER => EventRecord::CallingContextEnter(ids.read_global(MappingType::CallingContext, content)?),
        kind::CONTEXT_LEAVE => EventRecord::CallingContextLeave(ids.read_global(MappingType::CallingContext, content)?),
        kind::SEND => EventRecord::MpiSend(decode_message(content, ids)?, None),
        kind::ISEND => EventRecord::MpiSend(decode_message(content, ids)?, Some(content.u64()?)),
        kind::RECV => EventRecord::MpiRecv(decode_message(content, ids)?, None),
        kind::IRECV => EventRecord::MpiRecv(decode_message(content, ids)?, Some(content.u64()?)),
        kind::ISEND_COMPLETE => EventRecord::MpiIsendComplete(content.u64()?),
        kind::IRECV_REQUEST => EventRecord::MpiIrecvRequest(content.u64()?),
        kind::REQUEST_TEST => EventRecord::MpiRequestTest(content.u64()?),
        kind::REQUEST_CANCELLED => EventRecord::MpiRequestCancelled(content.u64()?),
        kind::COLLECTIVE_BEGIN => EventRecord::MpiCollectiveBegin,
        kind::COLLECTIVE_END => EventRecord::MpiCollectiveEnd(decode_collective(content, ids)?),
        kind::COLLECTIVE_REQUEST => EventRecord::NonBlockingCollectiveRequest(content.u64()?),
        kind::COLLECTIVE_COMPLETE => EventRecord::NonBlockingCollectiveComplete(decode_collective(content, ids)?, content.u64()?),
        kind::PROGRAM_BEGIN => decode_program_begin(content, ids)?,
        kind::PROGRAM_END => EventRecord::ProgramEnd(content.u64()? as i64),
        kind::PARAMETER_UNSIGNED => EventRecord::ParameterUnsignedInt(ids.read_global(MappingType::Parameter, content)?, content.u64()?),
        kind::FLUSH | kind::ON_OFF => EventRecord::MeasurementInterrupted,
        kind::COMM_CREATE => EventRecord::CommCreate(ids.read_global(MappingType::Communicator, content)?),
        kind::COMM_DESTROY => EventRecord::CommDestroy(ids.read_global(MappingType::Communicator, content)?),
        kind::IO_CREATE => EventRecord::IoCreateHandle(ids.read_global(MappingType::IoHandle, content)?),
        kind::IO_DESTROY => EventRecord::IoDestroyHandle(ids.read_global(MappingType::IoHandle, content)?),
        kind::IO_BEGIN => decode_io_begin(content, ids)?,
        kind::IO_ISSUED => EventRecord::IoOperationIssued(ids.read_global(MappingType::IoHandle, content)?, content.u64()?),
        kind::IO_COMPLETE => {
            EventRecord::IoOperationComplete(ids.read_global(MappingType::IoHandle, content)?, content.u64()?, content.u64()?)
        }
        _ => return decode_rma(kind, content, ids),
    };
    Some(Some(event))
}

fn decode_rma(kind: u8, content: &mut BufferReader, ids: &IdMappings) -> Option<Option<EventRecord>> {
    let event = match kind {
        kind::WIN_CREATE => EventRecord::RmaWinCreate(decode_window(content, ids)?),
        kind::WIN_DESTROY => EventRecord::RmaWinDestroy(decode_window(content, ids)?),
        kind::RMA_COLLECTIVE_BEGIN => EventRecord::RmaCollectiveBegin,
        kind::RMA_COLLECTIVE_END => {
            let (operation, _level) = (content.u8()?, content.u32()?);
            EventRecord::RmaCollectiveEnd { operation, window: decode_window(content, ids)? }
        }
        kind::RMA_GROUP_SYNC => {
            let _level = content.u32()?;
            EventRecord::RmaGroupSync(decode_window(content, ids)?, ids.read_global(MappingType::Group, content)?)
        }
        kind::RMA_SYNC => EventRecord::RmaSync(decode_window(content, ids)?, content.u32()?),
        kind::RMA_REQUEST_LOCK | kind::RMA_ACQUIRE_LOCK | kind::RMA_TRY_LOCK => {
            let (window, peer, _lock) = (decode_window(content, ids)?, content.u32()?, content.u64()?);
            EventRecord::RmaRequestLock(window, peer, content.u8()? == EXCLUSIVE_LOCK)
        }
        kind::RMA_RELEASE_LOCK => EventRecord::RmaReleaseLock(decode_window(content, ids)?, content.u32()?),
        kind::RMA_PUT | kind::RMA_GET | kind::RMA_ATOMIC => decode_rma_operation(kind, content, ids)?,
        kind::RMA_COMPLETE_NONBLOCKING => EventRecord::RmaOpCompleteNonBlocking(decode_window(content, ids)?, content.u64()?),
        kind::RMA_COMPLETE_REMOTE => EventRecord::RmaOpCompleteRemote(decode_window(content, ids)?, content.u64()?),
        _ => return Some(None),
    };
    Some(Some(event))
}

fn decode_window(content: &mut BufferReader, ids: &IdMappings) -> Option<u32> {
    ids.read_global(MappingType::Window, content)
}

fn decode_message(content: &mut BufferReader, ids: &IdMappings) -> Option<MpiMessage> {
    let peer = content.u32()?;
    Some(MpiMessage {
        peer,
        communicator: ids.read_global(MappingType::Communicator, content)?,
        tag: content.u32()?,
        bytes: content.u64()?,
    })
}

fn decode_collective(content: &mut BufferReader, ids: &IdMappings) -> Option<MpiCollective> {
    let operation = content.u8()?;
    let communicator = ids.read_global(MappingType::Communicator, content)?;
    Some(MpiCollective { operation, communicator, root: content.u32()?, sent: content.u64()?, received: content.u64()? })
}

fn decode_program_begin(content: &mut BufferReader, ids: &IdMappings) -> Option<EventRecord> {
    let (name, count) = (ids.read_global(MappingType::String, content)?, content.u32()?);
    // An argument takes at least a byte, so an absurd count ends here.
    let arguments = (0..count).map(|_| ids.read_global(MappingType::String, content)).collect::<Option<_>>()?;
    Some(EventRecord::ProgramBegin(name, arguments))
}

fn decode_rma_operation(kind: u8, content: &mut BufferReader, ids: &IdMappings) -> Option<EventRecord> {
    let (window, peer) = (decode_window(content, ids)?, content.u32()?);
    let (operation, sent, received) = match kind {
        kind::RMA_PUT => (RmaOperation::Put, content.u64()?, 0),
        kind::RMA_GET => (RmaOperation::Get, 0, content.u64()?),
        _ => (RmaOperation::Atomic(content.u8()?), content.u64()?, content.u64()?),
    };
    Some(EventRecord::RmaTransfer { operation, window, peer, sent, received, id: content.u64()? })
}

fn decode_io_begin(content: &mut BufferReader, ids: &IdMappings) -> Option<EventRecord> {
    let (file, mode, flags, bytes) = (ids.read_global(MappingType::IoHandle, content)?, content.u8()?, content.u32()?, content.u64()?);
    let access = IoOperation {
        is_write: mode == WRITE_MODE,
        collective: flags & COLLECTIVE_ACCESS != 0,
        nonblocking: flags & NONBLOCKING_ACCESS != 0,
        bytes,
    };
    Some(EventRecord::IoOperationBegin(file, access, content.u64()?))
}
