//! What a rank did with files through the C library: counters, and the accesses that took long.
//!
//! A rank that used no files has no file. Otherwise `rank-00000.files` holds, as LEB128 numbers: the number of files and their paths
//! (length, bytes); the number of records, and for each of them file, operation, interface, thread, call site plus one and counters, with
//! times in ticks; for each thread with accesses its number, how many there are, and for each the distance of its begin from the end of the
//! previous one (signed), its length, the time in its calls, its bytes, its calls, and the index of its record. A CRC-32 of all that ends
//! the file.

use std::path::Path;

use crate::checked_file::{self, Magic};
use crate::error::Error;
pub use crate::raw::file_io::{FileCounters, FileInterface, FileOperation, OTHER_THREADS, SIZE_CLASSES, SIZE_LIMITS, size_class};
use crate::sealed::varint;

const MAGIC: &Magic = b"SINFILES";

/// What a rank did with files. Times are in nanoseconds since the start of the recording (in the file: in ticks).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankFileIo {
    /// Paths of the files.
    pub files: Vec<String>,
    /// Counters by file, operation, interface, call site and thread.
    pub records: Vec<FileRecord>,
    /// The accesses of each thread that took long, in order.
    pub threads: Vec<ThreadFileAccesses>,
    /// Of a part of a recording: calls of which it is not known whether they were in it. They are not in the counters.
    pub unlocated: UnlocatedCalls,
}

/// Calls of which only the number and the time are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnlocatedCalls {
    /// Their number.
    pub calls: u64,
    /// Nanoseconds in them.
    pub time: u64,
}

/// Counters of one operation on one file at one call site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRecord {
    /// Index of the file.
    pub file: u32,
    /// The operation.
    pub operation: FileOperation,
    /// The functions.
    pub interface: FileInterface,
    /// The thread; [`OTHER_THREADS`]: all those that have not called MPI.
    pub thread: u16,
    /// Index of the call site, if it is known.
    pub site: Option<u32>,
    /// The counters.
    pub counters: FileCounters,
}

/// The accesses of a thread that took long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadFileAccesses {
    /// The thread's number in its process.
    pub thread: u16,
    /// The accesses, by their begin.
    pub accesses: Vec<FileAccess>,
}

/// An access that took long, 10 microseconds at least, or several short ones in a row that did so together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAccess {
    /// Begin.
    pub begin: i64,
    /// End.
    pub end: i64,
    /// Nanoseconds inside the calls; the rest is what the program did between them.
    pub time: u64,
    /// Bytes read or written.
    pub bytes: u64,
    /// Number of calls.
    pub calls: u64,
    /// Index of the record of its file, operation and call site.
    pub record: u32,
}

impl RankFileIo {
    /// Converts points in time, and times.
    pub(crate) fn convert(&mut self, time: impl Fn(i64) -> i64, ns_per_tick: f64) {
        let length = |ticks: u64| (ticks as f64 * ns_per_tick) as u64;
        for FileCounters { time: sum, first, last, longest, .. } in self.records.iter_mut().map(|record| &mut record.counters) {
            (*sum, *longest) = (length(*sum), length(*longest));
            if *first != 0 {
                // 0 means that no call was timed.
                [*first, *last] = [*first, *last].map(|ticks| time(ticks as i64).max(1) as u64);
            }
        }
        for access in self.threads.iter_mut().flat_map(|thread| &mut thread.accesses) {
            (access.begin, access.end, access.time) = (time(access.begin), time(access.end), length(access.time));
        }
    }
}

/// File name of a rank inside a recording.
pub fn file_name(rank: u32) -> String {
    format!("rank-{rank:05}.files")
}

/// Writes the file of a rank, with times in ticks, and returns its size in bytes; none if it used no files.
pub fn write(folder: &Path, rank: u32, io: &RankFileIo) -> Result<u64, Error> {
    if io.records.is_empty() {
        return Ok(0);
    }
    checked_file::write(&folder.join(file_name(rank)), MAGIC, &encode(io))
}

fn encode(io: &RankFileIo) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint::encode(&mut bytes, io.files.len() as u64);
    for path in &io.files {
        varint::encode(&mut bytes, path.len() as u64);
        bytes.extend(path.as_bytes());
    }
    varint::encode(&mut bytes, io.records.len() as u64);
    for record in &io.records {
        let site = record.site.map_or(0, |site| u64::from(site) + 1);
        let key = [record.file.into(), record.operation as u64, record.interface as u64, record.thread.into(), site];
        key.into_iter().chain(counter_words(&record.counters)).for_each(|word| varint::encode(&mut bytes, word));
    }
    for thread in io.threads.iter().filter(|thread| !thread.accesses.is_empty()) {
        varint::encode(&mut bytes, thread.thread.into());
        varint::encode(&mut bytes, thread.accesses.len() as u64);
        let mut previous = 0;
        for access in &thread.accesses {
            varint::encode_signed(&mut bytes, access.begin - previous);
            varint::encode(&mut bytes, (access.end - access.begin) as u64);
            [access.time, access.bytes, access.calls, access.record.into()].iter().for_each(|word| varint::encode(&mut bytes, *word));
            previous = access.end;
        }
    }
    bytes
}

const COUNTERS: usize = 11 + SIZE_CLASSES;

fn counter_words(counters: &FileCounters) -> [u64; COUNTERS] {
    let FileCounters { calls, failed, bytes, time, first, last, longest, longest_bytes, consecutive, sequential, furthest, sizes } =
        *counters;
    let mut words = [0; COUNTERS];
    words[..11].copy_from_slice(&[calls, failed, bytes, time, first, last, longest, longest_bytes, consecutive, sequential, furthest]);
    words[11..].copy_from_slice(&sizes);
    words
}

fn decode(mut content: &[u8]) -> Option<RankFileIo> {
    let rest = &mut content;
    let mut io = RankFileIo::default();
    for _ in 0..varint::decode(rest)? {
        let length = usize::try_from(varint::decode(rest)?).ok()?;
        let (path, behind) = rest.split_at_checked(length)?;
        io.files.push(String::from_utf8(path.to_vec()).ok()?);
        *rest = behind;
    }
    for _ in 0..varint::decode(rest)? {
        io.records.push(decode_record(rest, io.files.len())?);
    }
    while !rest.is_empty() {
        let mut thread = ThreadFileAccesses { thread: varint::decode(rest)? as u16, accesses: Vec::new() };
        let mut previous = 0_i64;
        for _ in 0..varint::decode(rest)? {
            let begin = previous.checked_add(varint::decode_signed(rest)?)?;
            let end = begin.checked_add_unsigned(varint::decode(rest)?)?;
            let (time, bytes, calls) = (varint::decode(rest)?, varint::decode(rest)?, varint::decode(rest)?);
            let record = u32::try_from(varint::decode(rest)?).ok().filter(|record| (*record as usize) < io.records.len())?;
            thread.accesses.push(FileAccess { begin, end, time, bytes, calls, record });
            previous = end;
        }
        io.threads.push(thread);
    }
    Some(io)
}

fn decode_record(rest: &mut &[u8], files: usize) -> Option<FileRecord> {
    let file = u32::try_from(varint::decode(rest)?).ok().filter(|file| (*file as usize) < files)?;
    let operation = *FileOperation::ALL.get(varint::decode(rest)? as usize)?;
    let interface = if varint::decode(rest)? == 0 { FileInterface::Posix } else { FileInterface::Stdio };
    let thread = varint::decode(rest)? as u16;
    let site = varint::decode(rest)?.checked_sub(1).map(|site| site as u32);
    let mut words = [0; crate::raw::file_io::COUNTER_WORDS - 2];
    for word in &mut words[..COUNTERS] {
        *word = varint::decode(rest)?;
    }
    Some(FileRecord { file, operation, interface, thread, site, counters: FileCounters::from_words(&words) })
}

/// The file of a rank, with times in ticks; empty if there is none, or if it is damaged.
pub(crate) fn read(folder: &Path, rank: u32) -> Result<RankFileIo, Error> {
    checked_file::read(&folder.join(file_name(rank)), MAGIC, decode)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> RankFileIo {
        let counters = FileCounters { calls: 3, bytes: 1 << 40, time: 100, first: 5, last: 905, longest: 60, ..FileCounters::default() };
        let record = |file, operation, site| FileRecord {
            file,
            operation,
            interface: FileInterface::Stdio,
            thread: OTHER_THREADS,
            site,
            counters: FileCounters { sizes: std::array::from_fn(|class| class as u64), ..counters },
        };
        let access = |begin, end, record| FileAccess { begin, end, time: 3, bytes: 77, calls: 1, record };
        RankFileIo {
            files: vec!["/data/in put".into(), "/data/æ".into()],
            records: vec![record(0, FileOperation::Open, None), record(1, FileOperation::Write, Some(9))],
            threads: vec![ThreadFileAccesses { thread: 2, accesses: vec![access(5, 10, 1), access(8, 30, 0)] }],
            ..RankFileIo::default()
        }
    }

    #[test]
    fn counters_survive_the_file() {
        let (folder, io) = (tempfile::tempdir().unwrap(), sample());
        write(folder.path(), 3, &io).unwrap();
        assert_eq!(read(folder.path(), 3).unwrap(), io);
        assert_eq!(write(folder.path(), 4, &RankFileIo::default()).unwrap(), 0);
        assert_eq!(read(folder.path(), 4).unwrap(), RankFileIo::default());
    }

    #[test]
    fn points_in_time_are_converted_and_lengths_by_the_rate() {
        let mut io = sample();
        io.convert(|ticks| 1000 + 2 * ticks, 2.0);
        let counters = io.records[0].counters;
        assert_eq!((counters.time, counters.longest, counters.first, counters.last), (200, 120, 1010, 2810));
        assert_eq!((io.threads[0].accesses[0].begin, io.threads[0].accesses[1].end), (1010, 1060));
    }
}
