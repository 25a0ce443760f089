//! Writes the calls of a process to a recording.
//!
//! Other tools record the communicator of a nonblocking receive or collective only at its completion; so calls are buffered until it is
//! known, up to a limit.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;

use sintonia_recording::call_table::{CallDescriptor, RequestId};
use sintonia_recording::raw::RequestRef;
use sintonia_recording::request_table::RequestTable;
use sintonia_recording::sealed::{RankFileWriter, WriteStats};

use crate::error::Error;
use crate::otf2::decoded_call::{self, CompletionOutcome, DecodeContext, RequestHandle};

/// Limit of buffered calls.
const MAX_BUFFERED_CALLS: usize = 1 << 15;

/// A buffered call.
struct BufferedCall {
    thread: u16,
    enter: u64,
    leave: u64,
    descriptor: CallDescriptor,
    /// Whether a later call completes its description.
    awaits_outcome: bool,
}

/// A request that was created.
#[derive(Clone, Copy)]
struct KnownRequest {
    id: RequestId,
    /// The call that created it, from 0.
    call_index: u64,
}

/// Writes the calls of a process to a recording.
pub(super) struct ImportedCallWriter {
    writer: RankFileWriter,
    window: VecDeque<BufferedCall>,
    /// Number of calls written.
    written: u64,
    requests: RequestTable<RequestHandle, KnownRequest>,
    next_request: HashMap<u16, u64>,
    /// Whether descriptions are completed by later calls; Sintonia's own traces have everything at once.
    defers_outcomes: bool,
    /// The threads with calls.
    threads: HashSet<u16>,
}

impl ImportedCallWriter {
    /// Creates the file of a process in a recording's folder.
    pub(super) fn create(folder: &Path, rank: u32, defers_outcomes: bool) -> Result<ImportedCallWriter, Error> {
        Ok(ImportedCallWriter {
            writer: RankFileWriter::create(folder, rank)?,
            window: VecDeque::new(),
            written: 0,
            requests: RequestTable::default(),
            next_request: HashMap::new(),
            defers_outcomes,
            threads: HashSet::new(),
        })
    }

    /// The reference of a request in a call of a thread.
    pub(super) fn request_ref(&self, handle: RequestHandle, thread: u16) -> Option<RequestRef> {
        if handle == RequestHandle::Request(RequestRef::UNKNOWN.to_word(false)) {
            return Some(RequestRef::UNKNOWN);
        }
        let id = self.requests.get(&handle)?.id;
        let next = self.next_request.get(&thread).copied().unwrap_or(0);
        Some(if id.thread == thread {
            RequestRef::Relative(next.wrapping_sub(1 + id.number))
        } else {
            RequestRef::Absolute(id.thread, id.number)
        })
    }

    /// Adds a call with the request it created; returns whether an earlier call had to be written incomplete.
    pub(super) fn add_call(
        &mut self,
        thread: u16,
        [enter, leave]: [u64; 2],
        mut descriptor: CallDescriptor,
        made: Option<RequestHandle>,
    ) -> Result<bool, Error> {
        if descriptor.makes_request() {
            // Requests it lists count back from its own one.
            for listed in &mut descriptor.requests {
                if let RequestRef::Relative(ago) = &mut listed.request {
                    *ago += 1;
                }
            }
            let next = self.next_request.entry(thread).or_default();
            let id = RequestId { thread, number: *next };
            *next += 1;
            let row = self.written + self.window.len() as u64;
            let mode = descriptor.function.definition().mode;
            let replaced = made.and_then(|made| self.requests.create(made, mode, KnownRequest { id, call_index: row }));
            // The handle was reused, so the earlier operation will not be completed.
            if let Some(row) = replaced.and_then(|known| self.open_call(known)) {
                row.awaits_outcome = false;
            }
        }
        let awaits_outcome = self.defers_outcomes && made.is_some() && decoded_call::awaits_completion(&descriptor);
        self.window.push_back(BufferedCall { thread, enter, leave, descriptor, awaits_outcome });
        let overfull = self.window.len() > MAX_BUFFERED_CALLS && self.window.front().is_some_and(|row| row.awaits_outcome);
        if overfull {
            self.window[0].awaits_outcome = false;
        }
        self.flush_resolved()?;
        Ok(overfull)
    }

    /// Applies an outcome to the buffered call that started the operation.
    pub(super) fn resolve(&mut self, handle: RequestHandle, outcome: CompletionOutcome, context: DecodeContext) {
        let Some(known) = self.requests.get(&handle).copied() else { return };
        if let Some(row) = self.open_call(known) {
            decoded_call::complete_call(&mut row.descriptor, outcome, context);
            row.awaits_outcome = false;
        }
    }

    /// The buffered call that created a request, if it is incomplete.
    fn open_call(&mut self, known: KnownRequest) -> Option<&mut BufferedCall> {
        let index = known.call_index.checked_sub(self.written)?;
        self.window.get_mut(index as usize).filter(|row| row.awaits_outcome)
    }

    pub(super) fn complete_request(&mut self, handle: RequestHandle) {
        self.requests.complete(&handle);
    }

    /// Writes the remaining calls; returns their number, the number of threads, and how many calls stayed incomplete.
    pub(super) fn finish(mut self) -> Result<(WriteStats, u32, u64), Error> {
        let unsettled = self.window.iter().filter(|row| row.awaits_outcome).count() as u64;
        self.window.iter_mut().for_each(|row| row.awaits_outcome = false);
        self.flush_resolved()?;
        Ok((self.writer.finish()?, self.threads.len() as u32, unsettled))
    }

    fn flush_resolved(&mut self) -> Result<(), Error> {
        while let Some(row) = self.window.front().filter(|row| !row.awaits_outcome) {
            self.threads.insert(row.thread);
            self.writer.write_call(row.thread, row.enter, row.leave, &row.descriptor)?;
            self.window.pop_front();
            self.written += 1;
        }
        Ok(())
    }
}
