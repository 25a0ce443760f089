//! What was counted of the threads of a process between its MPI calls, from their raw files.

use std::fs;
use std::path::Path;

use crate::counter_event::MAX_EVENTS;
use crate::counters::{self, CounterDefinition, CounterIntervals, RankCounters, ThreadCounters};
use crate::error::{Error, WithPath};
use crate::raw::counters::{MAGIC, RECORD_WORDS, RawCounts};
use crate::seal::process::ProcessDefinitions;

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
    let counters = events.iter().map(CounterDefinition::of_events).collect();
    counters::write(folder, rank, CounterIntervals::Segments, &RankCounters { counters, threads })
}

/// The intervals of a raw file, in ticks.
fn read_thread(thread: u16, bytes: &[u8], events: usize) -> ThreadCounters {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let words: Vec<u64> = bytes.chunks_exact(8).map(word).collect();
    let mut found = ThreadCounters::new(thread);
    if words.first() != Some(&MAGIC) {
        return found;
    }
    let records = words.as_chunks::<RECORD_WORDS>().0.iter().skip(1);
    for RawCounts { begin, end, counts } in records.filter_map(|words| RawCounts::from_words(*words)) {
        let (Ok(begin), Ok(end)) = (i64::try_from(begin), i64::try_from(end)) else { continue };
        let values = counts.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        found.push(begin, end, &values[..events]);
    }
    found
}
