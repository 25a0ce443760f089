//! Totals of a thread that did not record single calls.

use std::fs;
use std::path::Path;

use crate::error::{Error, WithPath};
use crate::raw::{PROFILE_MAGIC, profile};
use crate::seal::stream::StreamSummary;

/// The totals of one thread.
pub(super) struct RawProfile {
    /// The thread.
    pub thread: u16,
    /// The entries in use.
    pub entries: Vec<[u64; profile::ENTRY_WORDS]>,
    /// Summary of the entries.
    pub summary: StreamSummary,
}

impl RawProfile {
    /// Reads the totals of a thread; a malformed file counts as damaged.
    pub(super) fn read(thread: u16, path: &Path) -> Result<RawProfile, Error> {
        let bytes = fs::read(path).with_path(path)?;
        let words: Vec<u64> = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect();
        let Some((header, entries)) = words.split_first_chunk::<{ profile::HEADER_WORDS }>().filter(|(h, _)| h[0] == PROFILE_MAGIC) else {
            return Ok(RawProfile { thread, entries: Vec::new(), summary: StreamSummary { damaged: 1, ..StreamSummary::default() } });
        };
        let entries: Vec<[u64; profile::ENTRY_WORDS]> =
            entries.chunks_exact(profile::ENTRY_WORDS).filter_map(|entry| entry.try_into().ok()).filter(is_used).collect();
        let [_, _, first, last, dropped, ticks, nanoseconds, _] = *header;
        let summary = StreamSummary {
            calls: entries.iter().fold(0, |sum, entry| entry[profile::CALLS].saturating_add(sum)),
            first: (!entries.is_empty()).then_some(first),
            last,
            dropped,
            anchors: Some([(ticks, nanoseconds); 2]),
            sites: entries.iter().map(|entry| entry[profile::SITE]).collect(),
            ..StreamSummary::default()
        };
        Ok(RawProfile { thread, entries, summary })
    }
}

fn is_used(entry: &[u64; profile::ENTRY_WORDS]) -> bool {
    entry[profile::CALLS] > 0
}
