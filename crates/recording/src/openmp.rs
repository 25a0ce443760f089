//! OpenMP regions of a rank: how long each thread of the team computed in them, and how long it waited for what.
//!
//! A rank that ran none has no file. Otherwise `rank-00000.omp` holds, as LEB128 numbers, for each region: the call site, the calling
//! thread plus one (0: it does not call MPI), the number of regions around it, 1 if it was in progress when the recording ended (else 0),
//! the number of executions, begin in ticks (as a signed distance from that of the previous one), duration, span, the sum of the longest
//! times, the number of threads, and for each thread seven durations; the number of locks, and for each thread, call site, acquisitions,
//! time waited and time held. All durations are in ticks. A CRC-32 of all that ends the file.

use std::path::Path;

use crate::checked_file::{self, Magic};
use crate::error::Error;
use crate::sealed::varint;

const MAGIC: &Magic = b"SINOPMP2";
/// The same without locks, as the first version wrote it.
const MAGIC_WITHOUT_LOCKS: &Magic = b"SINOPMP1";
/// More threads than any machine has: the file is damaged.
const MAX_THREADS: u64 = 1 << 16;
/// More locks than a region has.
const MAX_LOCKS: u64 = 1 << 20;

/// A region that was executed once, or several times in a row: short executions are summed up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionExecution {
    /// The call site, as in a call.
    pub site: u32,
    /// The thread that started it, if it calls MPI.
    pub caller: Option<u16>,
    /// Number of regions around it: 0 for one that is not nested.
    pub level: u8,
    /// Whether it was in progress when the recording ended.
    pub is_unfinished: bool,
    /// Number of executions.
    pub executions: u64,
    /// Begin of the first, in nanoseconds since the start of the recording (in the file: in ticks).
    pub begin: i64,
    /// Duration, of several executions the sum: in nanoseconds, as all that follow.
    pub duration: u64,
    /// From the begin of the first execution to the end of the last.
    pub span: u64,
    /// Of each execution the time of the thread that computed longest, summed up.
    pub longest: u64,
    /// The threads of the team, by their number.
    pub threads: Vec<RegionThread>,
    /// Where the threads got locks, or entered critical sections.
    pub locks: Vec<RegionLock>,
}

/// What a thread did at one place where it gets a lock, or enters a critical section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionLock {
    /// Number of the thread in the team.
    pub thread: u16,
    /// The call site.
    pub site: u32,
    /// How often it got the lock.
    pub acquisitions: u64,
    /// How long it waited.
    pub waited: u64,
    /// How long it had the lock.
    pub held: u64,
}

/// What a thread did in a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionThread {
    /// Until it began.
    pub start: u64,
    /// It computed, outside MPI and outside the runtime of OpenMP.
    pub useful: u64,
    /// It waited at barriers inside the region.
    pub barrier: u64,
    /// It waited for critical sections and locks.
    pub lock: u64,
    /// Other synchronisation, and creating tasks.
    pub other: u64,
    /// It was in MPI calls.
    pub mpi: u64,
    /// It was in critical sections, or had a lock: a part of the other times.
    pub lock_held: u64,
}

impl RegionThread {
    /// All durations, in the order of the file.
    pub fn to_array(self) -> [u64; 7] {
        [self.start, self.useful, self.barrier, self.lock, self.other, self.mpi, self.lock_held]
    }

    /// From durations in the order of the file.
    pub fn from_array([start, useful, barrier, lock, other, mpi, lock_held]: [u64; 7]) -> RegionThread {
        RegionThread { start, useful, barrier, lock, other, mpi, lock_held }
    }

    /// From the start of the region until it waited for the end of the region.
    pub fn busy(&self) -> u64 {
        [self.start, self.useful, self.barrier, self.lock, self.other, self.mpi].into_iter().fold(0, u64::saturating_add)
    }
}

impl RegionExecution {
    /// How long a thread waited for the others at the end of the region.
    pub fn wait_at_end(&self, thread: &RegionThread) -> u64 {
        self.duration.saturating_sub(thread.busy())
    }

    /// End of the last execution.
    pub fn end(&self) -> i64 {
        self.begin.saturating_add_unsigned(self.span)
    }

    /// Converts its times and durations.
    pub(crate) fn map_times(&mut self, time: impl Fn(i64) -> i64, duration: impl Fn(u64) -> u64) {
        self.begin = time(self.begin);
        for field in [&mut self.duration, &mut self.span, &mut self.longest] {
            *field = duration(*field);
        }
        for thread in &mut self.threads {
            *thread = RegionThread::from_array(thread.to_array().map(&duration));
        }
        for lock in &mut self.locks {
            (lock.waited, lock.held) = (duration(lock.waited), duration(lock.held));
        }
    }
}

/// File name of a rank inside a recording.
pub fn file_name(rank: u32) -> String {
    format!("rank-{rank:05}.omp")
}

/// Writes the file of a rank, with times in ticks, and returns its size in bytes; none if there are no regions.
pub fn write(folder: &Path, rank: u32, regions: &[RegionExecution]) -> Result<u64, Error> {
    let mut bytes = Vec::new();
    let mut previous = 0;
    for region in regions {
        encode(&mut bytes, region, previous);
        previous = region.begin;
    }
    checked_file::write(&folder.join(file_name(rank)), MAGIC, &bytes)
}

fn encode(bytes: &mut Vec<u8>, region: &RegionExecution, previous: i64) {
    let caller = region.caller.map_or(0, |caller| u64::from(caller) + 1);
    for number in [region.site.into(), caller, region.level.into(), region.is_unfinished.into(), region.executions] {
        varint::encode(bytes, number);
    }
    varint::encode_signed(bytes, region.begin.wrapping_sub(previous));
    for number in [region.duration, region.span, region.longest, region.threads.len() as u64] {
        varint::encode(bytes, number);
    }
    for duration in region.threads.iter().flat_map(|thread| thread.to_array()) {
        varint::encode(bytes, duration);
    }
    varint::encode(bytes, region.locks.len() as u64);
    for lock in &region.locks {
        for number in [lock.thread.into(), lock.site.into(), lock.acquisitions, lock.waited, lock.held] {
            varint::encode(bytes, number);
        }
    }
}

fn decode(mut rest: &[u8], has_locks: bool) -> Option<Vec<RegionExecution>> {
    let mut regions: Vec<RegionExecution> = Vec::new();
    while !rest.is_empty() {
        let previous = regions.last().map_or(0, |region| region.begin);
        regions.push(decode_region(&mut rest, previous, has_locks)?);
    }
    Some(regions)
}

fn decode_region(rest: &mut &[u8], previous: i64, has_locks: bool) -> Option<RegionExecution> {
    let mut region = RegionExecution {
        site: varint::decode(rest)? as u32,
        caller: varint::decode(rest)?.checked_sub(1).map(|caller| caller as u16),
        level: varint::decode(rest)? as u8,
        is_unfinished: varint::decode(rest)? != 0,
        executions: varint::decode(rest)?,
        begin: previous.checked_add(varint::decode_signed(rest)?)?,
        duration: varint::decode(rest)?,
        span: varint::decode(rest)?,
        longest: varint::decode(rest)?,
        threads: Vec::new(),
        locks: Vec::new(),
    };
    let threads = varint::decode(rest).filter(|threads| *threads < MAX_THREADS)?;
    for _ in 0..threads {
        let mut durations = [0; 7];
        for duration in &mut durations {
            *duration = varint::decode(rest)?;
        }
        region.threads.push(RegionThread::from_array(durations));
    }
    let locks = if has_locks { varint::decode(rest).filter(|locks| *locks < MAX_LOCKS)? } else { 0 };
    for _ in 0..locks {
        region.locks.push(RegionLock {
            thread: u16::try_from(varint::decode(rest)?).ok()?,
            site: u32::try_from(varint::decode(rest)?).ok()?,
            acquisitions: varint::decode(rest)?,
            waited: varint::decode(rest)?,
            held: varint::decode(rest)?,
        });
    }
    Some(region)
}

/// The file of a rank, with times in ticks; empty if there is none, or if it is damaged.
pub(crate) fn read(folder: &Path, rank: u32) -> Result<Vec<RegionExecution>, Error> {
    let versions: [checked_file::FileVersion<_>; 2] =
        [(MAGIC, &|bytes| decode(bytes, true)), (MAGIC_WITHOUT_LOCKS, &|bytes| decode(bytes, false))];
    checked_file::read_versions(&folder.join(file_name(rank)), &versions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regions() -> Vec<RegionExecution> {
        let thread = |useful| RegionThread { start: 1, useful, barrier: 2, lock: 3, other: 4, mpi: 5, lock_held: 6 };
        let first = RegionExecution {
            site: 7,
            caller: Some(0),
            level: 0,
            is_unfinished: false,
            executions: 1000,
            begin: 500,
            duration: 1 << 40,
            span: 1 << 41,
            longest: 90,
            threads: vec![thread(80), thread(90)],
            locks: vec![RegionLock { thread: 1, site: 9, acquisitions: 3, waited: 3, held: 6 }],
        };
        let second = RegionExecution {
            begin: 100,
            caller: None,
            level: 1,
            is_unfinished: true,
            threads: vec![thread(1)],
            locks: Vec::new(),
            ..first.clone()
        };
        vec![first, second]
    }

    #[test]
    fn regions_survive_the_file() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), 3, &regions()).unwrap();
        assert_eq!(read(folder.path(), 3).unwrap(), regions());
        assert_eq!(write(folder.path(), 4, &[]).unwrap(), 0);
        assert!(!folder.path().join(file_name(4)).exists());
    }

    #[test]
    fn files_without_locks_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let region = RegionExecution { locks: Vec::new(), ..regions()[0].clone() };
        let mut bytes = Vec::new();
        encode(&mut bytes, &region, 0);
        assert_eq!(bytes.pop(), Some(0), "the number of locks");
        checked_file::write(&folder.path().join(file_name(0)), MAGIC_WITHOUT_LOCKS, &bytes).unwrap();
        assert_eq!(read(folder.path(), 0).unwrap(), [region]);
    }

    #[test]
    fn what_is_left_of_a_region_is_the_wait_at_its_end() {
        let region = RegionExecution { duration: 100, ..regions()[0].clone() };
        assert_eq!(region.threads.iter().map(|thread| region.wait_at_end(thread)).collect::<Vec<_>>(), [5, 0]);
    }
}
