//! What was counted of the threads of a process between its MPI calls, from their raw files.

use std::fs;
use std::path::Path;

use crate::counter_event::MAX_EVENTS;
use crate::counters::{self, CounterDefinition, CounterIntervalKind, RankCounters, ThreadCounters};
use crate::error::{Error, WithPath};
use crate::raw::counters::{MAGIC, RECORD_WORDS, RawCounts};
use crate::seal::process::ProcessDefinitions;
use crate::seal::raw_records::raw_records;

/// Writes the counters of a rank. Damaged records are passed over.
pub(super) fn write(folder: &Path, rank: u32, process: &ProcessDefinitions) -> Result<(), Error> {
    let Some(definition) = &process.counters else { return Ok(()) };
    let events = &definition.events[..definition.events.len().min(MAX_EVENTS)];
    let mut threads = Vec::new();
    for (thread, files) in &process.threads {
        if let Some(path) = &files.counters {
            threads.push(read_thread(*thread, &fs::read(path).with_path(path)?, events.len()));
        }
    }
    let counters = events.iter().map(CounterDefinition::event_count).collect();
    counters::write(folder, rank, CounterIntervalKind::Segments, &RankCounters { counters, threads })
}

/// The intervals of a raw file, in ticks.
fn read_thread(thread: u16, bytes: &[u8], events: usize) -> ThreadCounters {
    let mut found = ThreadCounters::new(thread);
    for RawCounts { begin, end, counts } in raw_records::<RECORD_WORDS>(bytes, MAGIC).filter_map(RawCounts::from_words) {
        let (Ok(begin), Ok(end)) = (i64::try_from(begin), i64::try_from(end)) else { continue };
        let values = counts.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        found.push(begin, end, &values[..events]);
    }
    found
}
