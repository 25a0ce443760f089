//! Delta encoding: blocks of some hundred records, each stored as the difference to the previous one. Blocks can be decoded independently.

use serde::{Deserialize, Serialize};

const MAX_PER_BLOCK: usize = 256;

/// A record that can be delta-encoded.
pub(super) trait DeltaEncoded: Copy + Default {
    /// Appends the difference to the previous record.
    fn encode(&self, previous: &Self, bytes: &mut Vec<u8>);

    /// Decodes a record; `None` at the end.
    fn decode(bytes: &mut &[u8], previous: &Self) -> Option<Self>;

    /// Start and end time.
    fn span(&self) -> (i64, i64);

    /// Index of its call in the thread; 0 if irrelevant.
    fn row(&self) -> u64 {
        0
    }
}

/// Location and range of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DeltaBlock {
    /// Offset in the file.
    pub at: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Number of records.
    pub count: u32,
    /// Earliest and latest time of any record.
    pub span: (i64, i64),
    /// First and last call.
    pub rows: (u64, u64),
}

impl DeltaBlock {
    /// Whether a record of the block may overlap a time range.
    pub(super) fn overlaps(&self, from: i64, to: i64) -> bool {
        self.span.0 <= to && from <= self.span.1
    }
}

/// Appends records as blocks, with offsets relative to the start of `bytes`.
pub(super) fn encode_blocks<T: DeltaEncoded>(records: &[T], bytes: &mut Vec<u8>) -> Vec<DeltaBlock> {
    let encode_block = |records: &[T]| {
        let at = bytes.len();
        let mut previous = T::default();
        let (mut span, mut rows) = ((i64::MAX, i64::MIN), (u64::MAX, 0));
        for record in records {
            record.encode(&previous, bytes);
            let (from, to) = record.span();
            span = (span.0.min(from), span.1.max(to));
            rows = (rows.0.min(record.row()), rows.1.max(record.row()));
            previous = *record;
        }
        DeltaBlock { at: at as u64, bytes: (bytes.len() - at) as u32, count: records.len() as u32, span, rows }
    };
    records.chunks(MAX_PER_BLOCK).map(encode_block).collect()
}

/// Decodes the records of a block; stops at invalid data.
pub(super) fn decode_block<T: DeltaEncoded>(mut bytes: &[u8], mut visit: impl FnMut(T)) {
    let mut previous = T::default();
    while let Some(record) = T::decode(&mut bytes, &previous) {
        visit(record);
        previous = record;
    }
}
