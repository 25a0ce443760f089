//! The times in which the threads of a process were off the processor, from their raw files.

use std::fs;
use std::path::Path;

use crate::error::{Error, WithPath};
use crate::off_cpu::{self, OffCpuInterval, ThreadOffCpu};
use crate::raw::off_cpu::{MAGIC, RawInterval};
use crate::seal::process::ProcessDefinitions;
use crate::seal::raw_records::raw_records;

/// Writes the intervals of a rank and returns the size of the file in bytes. Damaged records are passed over.
pub(super) fn write(folder: &Path, rank: u32, process: &ProcessDefinitions) -> Result<u64, Error> {
    let mut threads = Vec::new();
    for (thread, files) in &process.threads {
        if let Some(path) = &files.off_cpu {
            threads.push(ThreadOffCpu::new(*thread, intervals(&fs::read(path).with_path(path)?)));
        }
    }
    off_cpu::write(folder, rank, &threads)
}

/// The intervals of a raw file, in ticks.
fn intervals(bytes: &[u8]) -> Vec<OffCpuInterval> {
    let mut intervals: Vec<OffCpuInterval> = Vec::new();
    for RawInterval { begin, end, waiting_ns, blocked_ns, processor } in raw_records(bytes, MAGIC).filter_map(RawInterval::from_words) {
        // The counter may go back by a few ticks when a thread moves to another processor.
        let (Ok(begin), Ok(end)) = (i64::try_from(begin), i64::try_from(end)) else { continue };
        let begin = intervals.last().map_or(begin, |last| begin.max(last.end));
        if begin < end {
            intervals.push(OffCpuInterval { begin, end, waiting_ns, blocked_ns, processor });
        }
    }
    intervals
}
