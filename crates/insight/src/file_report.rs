//! What the ranks did with files through the C library and through MPI-IO: by file, with the call sites and the slowest rank.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sintonia_recording::Recording;
use sintonia_recording::file_io::{FileCounters, FileInterface, FileOperation, FileRecord, RankFileIo, SIZE_CLASSES};
use sintonia_replay::Error;

use crate::{SourceLocation, mpi_file_calls, seconds};

/// A file, and what was done with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FileUse {
    /// Its path.
    pub path: String,
    /// The ranks that used it.
    pub ranks: Vec<u32>,
    /// Whether several ranks did.
    pub shared: bool,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// How often it was opened.
    pub opens: u64,
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Number of `fsync`, `fdatasync` and `fflush`.
    pub syncs: u64,
    /// How often the position was changed.
    pub seeks: u64,
    /// All successful calls, with those that closed it or changed its size.
    pub calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Seconds in all calls, of all ranks.
    pub seconds: f64,
    /// Seconds in reads.
    pub read_s: f64,
    /// Seconds in writes.
    pub write_s: f64,
    /// Seconds in `fsync`, `fdatasync` and `fflush`.
    pub sync_s: f64,
    /// Seconds in calls that open, close, seek or resize.
    pub metadata_s: f64,
    /// Reads that begin where the previous one ended.
    pub consecutive_reads: u64,
    /// Reads that begin there or behind it.
    pub sequential_reads: u64,
    /// Writes that begin where the previous one ended.
    pub consecutive_writes: u64,
    /// Writes that begin there or behind it.
    pub sequential_writes: u64,
    /// Reads of up to 100 B, 1 KiB, 10 KiB, 100 KiB, 1 MiB, 4 MiB, 10 MiB, 100 MiB, 1 GiB, and larger ones.
    pub read_sizes: [u64; SIZE_CLASSES],
    /// The same for writes.
    pub write_sizes: [u64; SIZE_CLASSES],
    /// The longest read or write, in seconds.
    pub longest_s: f64,
    /// Begin of the first call, in seconds since the start of the recording.
    pub first_s: f64,
    /// End of the last call.
    pub last_s: f64,
    /// The rank with the most time.
    pub slowest_rank: u32,
    /// Its seconds.
    pub slowest_s: f64,
    /// Its bytes.
    pub slowest_bytes: u64,
    /// Where it was used, most time first.
    pub call_sites: Vec<FileCallSite>,
}

/// One operation on a file at one call site.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileCallSite {
    /// The operation: `open`, `close`, `read`, `write`, `sync`, `seek`, `resize`.
    pub operation: &'static str,
    /// `posix`, `stdio` or `mpi-io`.
    pub interface: &'static str,
    /// The source location.
    #[serde(flatten)]
    pub source: SourceLocation,
    /// Successful calls.
    pub calls: u64,
    /// Bytes read or written.
    pub bytes: u64,
    /// Seconds of all ranks.
    pub seconds: f64,
}

impl FileUse {
    /// The files that the ranks of a recording used, most time first.
    pub(crate) fn from_recording(recording: &Recording) -> Result<Vec<FileUse>, Error> {
        let mut files: BTreeMap<String, FileSums> = BTreeMap::new();
        for rank in &recording.header.ranks {
            let RankFileIo { files: paths, records, .. } = recording.file_io(rank.rank)?;
            for record in &records {
                let FileRecord { file, operation, interface, site, counters, .. } = record;
                let key = (*operation, UsedInterface::from(*interface), *site);
                files.entry(paths[*file as usize].clone()).or_default().add(rank.rank, key, counters);
            }
            for ((file, operation, site), counters) in mpi_file_calls::counters(recording, rank.rank)? {
                let Some(path) = recording.header.objects.get(file as usize).and_then(|object| object.path.clone()) else { continue };
                files.entry(path).or_default().add(rank.rank, (operation, UsedInterface::MpiIo, Some(site)), &counters);
            }
        }
        let mut files: Vec<FileUse> = files.into_iter().map(|(path, sums)| sums.into_file(path, recording)).collect();
        files.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.path.cmp(&b.path)));
        Ok(files)
    }
}

/// The name of an operation.
pub fn operation_name(operation: FileOperation) -> &'static str {
    match operation {
        FileOperation::Open => "open",
        FileOperation::Close => "close",
        FileOperation::Read => "read",
        FileOperation::Write => "write",
        FileOperation::Sync => "sync",
        FileOperation::Seek => "seek",
        FileOperation::Resize => "resize",
    }
}

/// The functions through which a file was used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum UsedInterface {
    Posix,
    Stdio,
    MpiIo,
}

impl From<FileInterface> for UsedInterface {
    fn from(interface: FileInterface) -> UsedInterface {
        match interface {
            FileInterface::Posix => UsedInterface::Posix,
            FileInterface::Stdio => UsedInterface::Stdio,
        }
    }
}

fn interface_name(interface: UsedInterface) -> &'static str {
    match interface {
        UsedInterface::Posix => "posix",
        UsedInterface::Stdio => "stdio",
        UsedInterface::MpiIo => "mpi-io",
    }
}

/// What was done, through which functions, and at which call site if it is known.
type UseKey = (FileOperation, UsedInterface, Option<u32>);

/// Sums over the records of a file.
#[derive(Default)]
struct FileSums {
    operations: BTreeMap<FileOperation, FileCounters>,
    /// Nanoseconds and bytes.
    ranks: BTreeMap<u32, (u64, u64)>,
    sites: BTreeMap<UseKey, FileCounters>,
}

impl FileSums {
    fn add(&mut self, rank: u32, key: UseKey, counters: &FileCounters) {
        add_counters(self.operations.entry(key.0).or_default(), counters);
        add_counters(self.sites.entry(key).or_default(), counters);
        let (ns, bytes) = self.ranks.entry(rank).or_default();
        (*ns, *bytes) = (ns.saturating_add(counters.time), bytes.saturating_add(counters.bytes));
    }

    fn of(&self, operation: FileOperation) -> FileCounters {
        self.operations.get(&operation).copied().unwrap_or_default()
    }

    fn into_file(self, path: String, recording: &Recording) -> FileUse {
        use FileOperation::{Close, Open, Read, Resize, Seek, Sync, Write};
        let (read, write) = (self.of(Read), self.of(Write));
        let seconds =
            |operations: &[FileOperation]| operations.iter().map(|operation| seconds::seconds(self.of(*operation).time)).sum::<f64>();
        let sum = |pick: fn(&FileCounters) -> u64| self.operations.values().map(pick).fold(0, u64::saturating_add);
        let slowest = self.ranks.iter().max_by_key(|(rank, (ns, _))| (*ns, std::cmp::Reverse(**rank)));
        let (slowest_rank, (slowest_ns, slowest_bytes)) = slowest.map_or((0, (0, 0)), |(rank, sums)| (*rank, *sums));
        let first = self.operations.values().map(|counters| counters.first).filter(|first| *first > 0).min();
        FileUse {
            path,
            ranks: self.ranks.keys().copied().collect::<BTreeSet<u32>>().into_iter().collect(),
            shared: self.ranks.len() > 1,
            bytes_read: read.bytes,
            bytes_written: write.bytes,
            opens: self.of(Open).calls,
            reads: read.calls,
            writes: write.calls,
            syncs: self.of(Sync).calls,
            seeks: self.of(Seek).calls,
            calls: sum(|counters| counters.calls),
            failed: sum(|counters| counters.failed),
            seconds: seconds(&FileOperation::ALL),
            read_s: seconds(&[Read]),
            write_s: seconds(&[Write]),
            sync_s: seconds(&[Sync]),
            metadata_s: seconds(&[Open, Close, Seek, Resize]),
            consecutive_reads: read.consecutive,
            sequential_reads: read.sequential,
            consecutive_writes: write.consecutive,
            sequential_writes: write.sequential,
            read_sizes: read.sizes,
            write_sizes: write.sizes,
            longest_s: seconds::seconds(read.longest.max(write.longest)),
            first_s: seconds::seconds(first.unwrap_or(0)),
            last_s: seconds::seconds(self.operations.values().map(|counters| counters.last).max().unwrap_or(0)),
            slowest_rank,
            slowest_s: seconds::seconds(slowest_ns),
            slowest_bytes,
            call_sites: call_sites(&self.sites, recording),
        }
    }
}

fn call_sites(sites: &BTreeMap<UseKey, FileCounters>, recording: &Recording) -> Vec<FileCallSite> {
    let mut merged: BTreeMap<(FileOperation, UsedInterface, SourceLocation), FileCounters> = BTreeMap::new();
    for ((operation, interface, site), counters) in sites {
        let source = site.map_or_else(SourceLocation::default, |site| SourceLocation::of(recording, site));
        add_counters(merged.entry((*operation, *interface, source)).or_default(), counters);
    }
    let row = |((operation, interface, source), counters): ((FileOperation, UsedInterface, SourceLocation), FileCounters)| FileCallSite {
        operation: operation_name(operation),
        interface: interface_name(interface),
        source,
        calls: counters.calls,
        bytes: counters.bytes,
        seconds: seconds::seconds(counters.time),
    };
    let mut rows: Vec<FileCallSite> = merged.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    rows
}

fn add_counters(sum: &mut FileCounters, other: &FileCounters) {
    let add = |sum: &mut u64, other: u64| *sum = sum.saturating_add(other);
    add(&mut sum.calls, other.calls);
    add(&mut sum.failed, other.failed);
    add(&mut sum.bytes, other.bytes);
    add(&mut sum.time, other.time);
    add(&mut sum.consecutive, other.consecutive);
    add(&mut sum.sequential, other.sequential);
    sum.sizes.iter_mut().zip(other.sizes).for_each(|(sum, other)| add(sum, other));
    sum.first = [sum.first, other.first].into_iter().filter(|first| *first > 0).min().unwrap_or(0);
    (sum.last, sum.furthest) = (sum.last.max(other.last), sum.furthest.max(other.furthest));
    if other.longest > sum.longest {
        (sum.longest, sum.longest_bytes) = (other.longest, other.longest_bytes);
    }
}
