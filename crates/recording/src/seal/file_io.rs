//! What the processes did with files, from their raw files.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use rustc_hash::FxHashMap;

use crate::error::{Error, WithPath};
use crate::file_io::{self, FileAccess, FileRecord, RankFileIo, ThreadFileAccesses};
use crate::raw::file_io::{ACCESS_MAGIC, ACCESS_WORDS, COUNTER_MAGIC, COUNTER_WORDS, CounterKey, FileCounters, PIECE_RECORDS, RawAccess};
use crate::seal::process::ProcessDefinitions;
use crate::seal::raw_records::raw_records;

/// The raw data of a process. Damaged records are passed over.
#[derive(Default)]
pub(super) struct RawFileIo {
    files: Vec<String>,
    /// By their number in the process.
    records: Vec<(u32, CounterKey, FileCounters)>,
    threads: Vec<(u16, Vec<RawAccess>)>,
}

impl RawFileIo {
    /// Reads the raw files of a process.
    pub(super) fn read(process: &ProcessDefinitions) -> Result<RawFileIo, Error> {
        let mut io = RawFileIo { files: process.files.clone(), ..RawFileIo::default() };
        for (piece, path) in &process.file_counters {
            io.add_piece(*piece, &fs::read(path).with_path(path)?);
        }
        for (thread, files) in &process.threads {
            if let Some(path) = &files.file_accesses {
                io.threads.push((*thread, accesses(&fs::read(path).with_path(path)?)));
            }
        }
        Ok(io)
    }

    fn add_piece(&mut self, piece: u32, bytes: &[u8]) {
        let records = (1..).zip(raw_records::<COUNTER_WORDS>(bytes, COUNTER_MAGIC));
        for (slot, record) in records.take(PIECE_RECORDS) {
            let (Some(([first, site], counters)), number) = (record.split_first_chunk(), piece * PIECE_RECORDS as u32 + slot) else {
                continue;
            };
            let Some(key) = CounterKey::from_words([*first, *site]).filter(|key| (key.file as usize) < self.files.len()) else { continue };
            if let Ok(counters) = counters.try_into() {
                self.records.push((number, key, FileCounters::from_words(counters)));
            }
        }
    }

    /// The call sites, as words of raw records.
    pub(super) fn sites(&self) -> Vec<u64> {
        let mut sites: Vec<u64> = self.records.iter().map(|(_, key, _)| key.site).collect();
        sites.sort_unstable();
        sites.dedup();
        sites
    }

    /// Writes the file of a rank, given the indices of its call sites.
    pub(super) fn write(&self, folder: &Path, rank: u32, sites: &FxHashMap<u64, u32>) -> Result<u64, Error> {
        let record = |(_, key, counters): &(u32, CounterKey, FileCounters)| FileRecord {
            file: key.file,
            operation: key.operation,
            interface: key.interface,
            thread: key.thread,
            site: sites.get(&key.site).copied(),
            counters: *counters,
        };
        let indices: HashMap<u32, u32> = (0..).zip(&self.records).map(|(index, (number, ..))| (*number, index)).collect();
        let access = |raw: &RawAccess| {
            let (begin, end) = (i64::try_from(raw.begin).ok()?, i64::try_from(raw.end).ok()?);
            Some(FileAccess { begin, end, time: raw.time, bytes: raw.bytes, calls: raw.calls, record: *indices.get(&raw.record)? })
        };
        let thread = |(thread, raw): &(u16, Vec<RawAccess>)| {
            let mut accesses: Vec<FileAccess> = raw.iter().filter_map(access).collect();
            accesses.sort_by_key(|access| access.begin);
            ThreadFileAccesses { thread: *thread, accesses }
        };
        let io = RankFileIo {
            files: self.files.clone(),
            records: self.records.iter().map(record).collect(),
            threads: self.threads.iter().map(thread).collect(),
            ..RankFileIo::default()
        };
        file_io::write(folder, rank, &io)
    }
}

fn accesses(bytes: &[u8]) -> Vec<RawAccess> {
    raw_records::<ACCESS_WORDS>(bytes, ACCESS_MAGIC).filter_map(RawAccess::from_words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::file_io::{FileInterface, FileOperation};

    #[test]
    fn records_are_found_again_and_damaged_ones_are_passed_over() {
        let key = |file| CounterKey { file, operation: FileOperation::Read, interface: FileInterface::Posix, thread: 1, site: 0x77 };
        let mut piece = vec![[0u64; COUNTER_WORDS]; PIECE_RECORDS];
        piece[0][0] = COUNTER_MAGIC;
        for (slot, file) in [(1, 0), (2, 5), (4, 1)] {
            piece[slot][..2].copy_from_slice(&key(file).to_words());
            piece[slot][2] = 10 + slot as u64;
        }
        let bytes: Vec<u8> = piece.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        let mut io = RawFileIo { files: vec!["a".into(), "b".into()], ..RawFileIo::default() };
        io.add_piece(2, &bytes);
        io.add_piece(3, &bytes[8..]);
        let found: Vec<(u32, u32, u64)> = io.records.iter().map(|(number, key, counters)| (*number, key.file, counters.calls)).collect();
        assert_eq!(found, [(513, 0, 11), (516, 1, 14)]);
        assert_eq!(io.sites(), [0x77]);
    }
}
