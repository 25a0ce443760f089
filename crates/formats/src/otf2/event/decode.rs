//! Records as events.

use super::{COLLECTIVE_ACCESS, EXCLUSIVE_LOCK, NONBLOCKING_ACCESS, WRITE_MODE, kind};
use super::{Collective, Event, FileAccess, Message, Transfer};
use crate::otf2::bytes::Reader;
use crate::otf2::local::{Ids, Mapped};

/// What an event record says, its numbers replaced by those of the global definitions.
pub enum Read {
    /// It is this event.
    Event(Event),
    /// It is of no interest here.
    Other,
    /// It makes no sense.
    Malformed,
}

/// Reads the record of an event.
pub fn read(kind: u8, content: Reader, ids: &Ids) -> Read {
    match parse(kind, content, ids) {
        Some(Some(event)) => Read::Event(event),
        Some(None) => Read::Other,
        None => Read::Malformed,
    }
}

fn parse(kind: u8, mut content: Reader, ids: &Ids) -> Option<Option<Event>> {
    let content = &mut content;
    let event = match kind {
        kind::ENTER => Event::Enter(ids.read(Mapped::Region, content)?),
        kind::LEAVE => Event::Leave(ids.read(Mapped::Region, content)?),
        kind::CONTEXT_ENTER => Event::EnterContext(ids.read(Mapped::CallingContext, content)?),
        kind::CONTEXT_LEAVE => Event::LeaveContext(ids.read(Mapped::CallingContext, content)?),
        kind::SEND => Event::Send(message(content, ids)?, None),
        kind::ISEND => Event::Send(message(content, ids)?, Some(content.u64()?)),
        kind::RECV => Event::Receive(message(content, ids)?, None),
        kind::IRECV => Event::Receive(message(content, ids)?, Some(content.u64()?)),
        kind::ISEND_COMPLETE => Event::SendComplete(content.u64()?),
        kind::IRECV_REQUEST => Event::Post(content.u64()?),
        kind::REQUEST_TEST => Event::Test(content.u64()?),
        kind::REQUEST_CANCELLED => Event::Cancelled(content.u64()?),
        kind::COLLECTIVE_BEGIN => Event::CollectiveBegin,
        kind::COLLECTIVE_END => Event::CollectiveEnd(collective(content, ids)?),
        kind::COLLECTIVE_REQUEST => Event::CollectivePost(content.u64()?),
        kind::COLLECTIVE_COMPLETE => Event::CollectiveComplete(collective(content, ids)?, content.u64()?),
        kind::PROGRAM_BEGIN => program(content, ids)?,
        kind::PROGRAM_END => Event::ProgramEnd(content.u64()? as i64),
        kind::PARAMETER_UNSIGNED => Event::Parameter(ids.read(Mapped::Parameter, content)?, content.u64()?),
        kind::FLUSH | kind::ON_OFF => Event::Interrupted,
        kind::COMM_CREATE => Event::CommunicatorCreate(ids.read(Mapped::Communicator, content)?),
        kind::COMM_DESTROY => Event::CommunicatorDestroy(ids.read(Mapped::Communicator, content)?),
        kind::IO_CREATE => Event::FileOpen(ids.read(Mapped::IoHandle, content)?),
        kind::IO_DESTROY => Event::FileClose(ids.read(Mapped::IoHandle, content)?),
        kind::IO_BEGIN => file_access(content, ids)?,
        kind::IO_ISSUED => Event::FileIssued(ids.read(Mapped::IoHandle, content)?, content.u64()?),
        kind::IO_COMPLETE => Event::FileComplete(ids.read(Mapped::IoHandle, content)?, content.u64()?, content.u64()?),
        _ => return one_sided(kind, content, ids),
    };
    Some(Some(event))
}

fn one_sided(kind: u8, content: &mut Reader, ids: &Ids) -> Option<Option<Event>> {
    let event = match kind {
        kind::WIN_CREATE => Event::WindowCreate(window(content, ids)?),
        kind::WIN_DESTROY => Event::WindowDestroy(window(content, ids)?),
        kind::RMA_COLLECTIVE_BEGIN => Event::WindowCollectiveBegin,
        kind::RMA_COLLECTIVE_END => {
            let (operation, _level) = (content.u8()?, content.u32()?);
            Event::WindowCollectiveEnd { operation, window: window(content, ids)? }
        }
        kind::RMA_GROUP_SYNC => {
            let _level = content.u32()?;
            Event::WindowGroupSync(window(content, ids)?, ids.read(Mapped::Group, content)?)
        }
        kind::RMA_SYNC => Event::WindowSync(window(content, ids)?, content.u32()?),
        kind::RMA_REQUEST_LOCK | kind::RMA_ACQUIRE_LOCK | kind::RMA_TRY_LOCK => {
            let (window, peer, _lock) = (window(content, ids)?, content.u32()?, content.u64()?);
            Event::WindowLock(window, peer, content.u8()? == EXCLUSIVE_LOCK)
        }
        kind::RMA_RELEASE_LOCK => Event::WindowUnlock(window(content, ids)?, content.u32()?),
        kind::RMA_PUT | kind::RMA_GET | kind::RMA_ATOMIC => transfer(kind, content, ids)?,
        kind::RMA_COMPLETE_NONBLOCKING => Event::TransferComplete(window(content, ids)?, content.u64()?),
        kind::RMA_COMPLETE_REMOTE => Event::TransferDone(window(content, ids)?, content.u64()?),
        _ => return Some(None),
    };
    Some(Some(event))
}

fn window(content: &mut Reader, ids: &Ids) -> Option<u32> {
    ids.read(Mapped::Window, content)
}

fn message(content: &mut Reader, ids: &Ids) -> Option<Message> {
    let peer = content.u32()?;
    Some(Message { peer, communicator: ids.read(Mapped::Communicator, content)?, tag: content.u32()?, bytes: content.u64()? })
}

fn collective(content: &mut Reader, ids: &Ids) -> Option<Collective> {
    let operation = content.u8()?;
    let communicator = ids.read(Mapped::Communicator, content)?;
    Some(Collective { operation, communicator, root: content.u32()?, sent: content.u64()?, received: content.u64()? })
}

fn program(content: &mut Reader, ids: &Ids) -> Option<Event> {
    let (name, count) = (ids.read(Mapped::String, content)?, content.u32()?);
    // An argument takes at least a byte: a count that is out of proportion ends here.
    let arguments = (0..count).map(|_| ids.read(Mapped::String, content)).collect::<Option<_>>()?;
    Some(Event::ProgramBegin(name, arguments))
}

fn transfer(kind: u8, content: &mut Reader, ids: &Ids) -> Option<Event> {
    let (window, peer) = (window(content, ids)?, content.u32()?);
    let (how, sent, received) = match kind {
        kind::RMA_PUT => (Transfer::Put, content.u64()?, 0),
        kind::RMA_GET => (Transfer::Get, 0, content.u64()?),
        _ => (Transfer::Atomic(content.u8()?), content.u64()?, content.u64()?),
    };
    Some(Event::Transfer { how, window, peer, sent, received, id: content.u64()? })
}

fn file_access(content: &mut Reader, ids: &Ids) -> Option<Event> {
    let (file, mode, flags, bytes) = (ids.read(Mapped::IoHandle, content)?, content.u8()?, content.u32()?, content.u64()?);
    let access = FileAccess {
        writes: mode == WRITE_MODE,
        collective: flags & COLLECTIVE_ACCESS != 0,
        nonblocking: flags & NONBLOCKING_ACCESS != 0,
        bytes,
    };
    Some(Event::FileBegin(file, access, content.u64()?))
}
