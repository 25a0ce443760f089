//! Read-ahead for wildcard matching, which reorders future calls.

use rustc_hash::FxHashMap;

use super::ReplayEngine;
use super::location::CallRecord;
use crate::Error;
use crate::schedule::{CallChunk, ChunkStatus};

/// Minimum look-ahead in calls, enough for a master with a hundred workers.
const MIN_LOOKAHEAD: usize = 512;

/// Chunks read ahead, by location.
#[derive(Default)]
pub(super) struct ReadAhead(FxHashMap<usize, ReadAheadChunk>);

/// What follows the records of a location.
enum ReadAheadChunk {
    /// A chunk with new actions.
    Actions(Box<CallChunk>),
    /// The end of the location.
    End,
}

impl ReadAhead {
    /// Takes the chunk that was read ahead, if any.
    pub(super) fn take(&mut self, index: usize, chunk: &mut CallChunk) -> Option<ChunkStatus> {
        match self.0.remove(&index)? {
            ReadAheadChunk::Actions(read) => {
                *chunk = *read;
                Some(ChunkStatus::NewActions)
            }
            ReadAheadChunk::End => Some(ChunkStatus::End),
        }
    }
}

impl ReplayEngine<'_, '_> {
    /// Whether few calls are left and more with the same actions can be read.
    #[inline]
    pub(super) fn needs_read_ahead(&self, index: usize) -> bool {
        let location = &self.locations[index];
        location.records.len() - location.next_record < MIN_LOOKAHEAD && !self.read_ahead.0.contains_key(&index)
    }

    /// Reads ahead while the actions stay the same.
    pub(super) fn read_ahead(&mut self, index: usize) -> Result<(), Error> {
        let location = &mut self.locations[index];
        location.records.drain(..location.next_record);
        location.next_record = 0;
        while location.records.len() < 2 * MIN_LOOKAHEAD {
            let found = match location.reader.read_chunk(&mut self.chunk)? {
                ChunkStatus::SameActions => {
                    location.records.extend(self.chunk.calls.iter().map(CallRecord::from));
                    continue;
                }
                ChunkStatus::NewActions => ReadAheadChunk::Actions(Box::new(std::mem::take(&mut self.chunk))),
                ChunkStatus::End => ReadAheadChunk::End,
            };
            self.read_ahead.0.insert(index, found);
            break;
        }
        Ok(())
    }
}
