//! Calls in memory, given out in blocks as the files of a recording have them.

use rustc_hash::FxHashMap;

use crate::call_table::{CallDescriptor, CallTable};

/// Calls in a block for replays; their descriptors have 16-bit indices.
const MAX_BLOCK_CALLS: usize = 1 << 14;

/// One call: the computation before it, its duration and its descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimedCall {
    /// Nanoseconds since the previous call returned; 0 for the first.
    pub computation_ns: i64,
    /// Duration of the call in nanoseconds.
    pub duration_ns: i64,
    /// Index in [`ThreadCallReader::descriptors`](crate::ThreadCallReader::descriptors).
    pub descriptor: u16,
}

/// The calls of a table in blocks, as files have them: a block has few different descriptors, and numbers its requests from its begin.
pub(crate) struct TableBlocks<'a> {
    table: &'a CallTable,
    /// Row of the next call.
    row: usize,
    /// End of the current block.
    end: usize,
    /// Number of the next request at the start of the current block, and at its end.
    requests: (u64, u64),
    bases_used: usize,
    /// Index in the block of each descriptor.
    indices: FxHashMap<u32, u16>,
    first_enter_ns: i64,
}

impl<'a> TableBlocks<'a> {
    pub(crate) fn new(table: &'a CallTable) -> TableBlocks<'a> {
        TableBlocks { table, row: 0, end: 0, requests: (0, 0), bases_used: 0, indices: FxHashMap::default(), first_enter_ns: 0 }
    }

    /// Enter time of the first call of the last chunk.
    pub(crate) fn first_enter_ns(&self) -> i64 {
        self.first_enter_ns
    }

    /// Number of the next request at the start of the current block.
    pub(crate) fn first_request(&self) -> u64 {
        self.requests.0
    }

    /// Moves to the next block and replaces the descriptors by its own; `false` at the end.
    pub(crate) fn next_block(&mut self, descriptors: &mut Vec<CallDescriptor>) -> bool {
        let table = self.table;
        self.row = self.end;
        descriptors.clear();
        self.indices.clear();
        if self.row >= table.len() {
            return false;
        }
        let mut request = self.requests.1;
        while let Some((_, base)) = table.request_bases.get(self.bases_used).filter(|(row, _)| *row <= self.row) {
            (request, self.bases_used) = (*base, self.bases_used + 1);
        }
        self.requests = (request, request);
        let next_base = table.request_bases.get(self.bases_used).map_or(table.len(), |(row, _)| *row);
        self.end = next_base.min(self.row + MAX_BLOCK_CALLS).min(table.len());
        for id in &table.descriptor_ids[self.row..self.end] {
            let descriptor = &table.descriptors[*id as usize];
            self.requests.1 = self.requests.1.wrapping_add(descriptor.makes_request().into());
            self.indices.entry(*id).or_insert_with(|| {
                descriptors.push(descriptor.clone());
                (descriptors.len() - 1) as u16
            });
        }
        true
    }

    /// Replaces `calls` by up to `max_calls` next calls of the current block; by none at its end.
    pub(crate) fn read_calls(&mut self, max_calls: usize, calls: &mut Vec<TimedCall>) {
        let (table, rows) = (self.table, self.row..self.end.min(self.row + max_calls));
        self.row = rows.end;
        self.first_enter_ns = table.enter.get(rows.start).copied().unwrap_or(0);
        calls.clear();
        calls.extend(rows.map(|row| TimedCall {
            computation_ns: row.checked_sub(1).map_or(0, |before| table.enter[row] - table.leave[before]),
            duration_ns: table.leave[row] - table.enter[row],
            descriptor: self.indices[&table.descriptor_ids[row]],
        }));
    }
}
