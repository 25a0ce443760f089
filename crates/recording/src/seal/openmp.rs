//! The OpenMP regions of a process, from its raw file.

use std::fs;
use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, WithPath};
use crate::openmp::{self, RegionExecution, RegionLock, RegionThread};
use crate::raw::openmp::{MAGIC, RECORD_WORDS, RawLock, RawRegion, RawSummary, RawThread};
use crate::seal::process::ProcessDefinitions;
use crate::seal::raw_records::raw_records;

/// A region of the raw file.
struct RegionRecords<'a> {
    region: RawRegion,
    threads: &'a [RawThread],
    summary: Option<RawSummary>,
    locks: &'a [RawLock],
}

/// The call sites of the regions of a process, and of its locks.
pub(super) fn sites(process: &ProcessDefinitions) -> Result<Vec<u64>, Error> {
    let (mut sites, mut known) = (Vec::new(), FxHashSet::default());
    for_each_region(process, |records| {
        let used = std::iter::once(records.region.site).chain(records.locks.iter().map(|lock| lock.site));
        sites.extend(used.filter(|site| known.insert(*site)));
    })?;
    Ok(sites)
}

/// Writes the regions of a rank and returns the size of the file in bytes. Damaged records are passed over.
pub(super) fn write(folder: &Path, rank: u32, process: &ProcessDefinitions, sites: &FxHashMap<u64, u32>) -> Result<u64, Error> {
    let mut regions = Vec::new();
    for_each_region(process, |records| {
        if let (Some(site), Ok(begin)) = (sites.get(&records.region.site), i64::try_from(records.region.begin)) {
            let locks = records.locks.iter().filter_map(|lock| Some(sealed_lock(lock, *sites.get(&lock.site)?))).collect();
            regions.push(RegionExecution { locks, ..sealed(&records, *site, begin) });
        }
    })?;
    regions.sort_by_key(|region| region.begin);
    openmp::write(folder, rank, &regions)
}

fn sealed_lock(lock: &RawLock, site: u32) -> RegionLock {
    let (acquisitions, waited, held) = (lock.acquisitions.into(), lock.waited as u64, lock.held as u64);
    RegionLock { thread: lock.thread, site, acquisitions, waited, held }
}

fn sealed(records: &RegionRecords, site: u32, begin: i64) -> RegionExecution {
    let RegionRecords { region, summary, .. } = records;
    let threads: Vec<RegionThread> =
        records.threads.iter().map(|thread| RegionThread::from_array(thread.durations.map(|duration| duration as u64))).collect();
    let longest = threads.iter().map(|thread| thread.useful).max().unwrap_or(0);
    RegionExecution {
        site,
        caller: region.caller,
        level: region.level,
        is_unfinished: region.is_unfinished,
        executions: region.executions.into(),
        begin,
        duration: region.duration,
        span: summary.map_or(region.duration, |summary| summary.span as u64),
        longest: summary.map_or(longest, |summary| summary.longest as u64),
        threads,
        locks: Vec::new(),
    }
}

/// Calls a function with every region of the raw file that is there as a whole.
fn for_each_region(process: &ProcessDefinitions, mut use_region: impl FnMut(RegionRecords)) -> Result<(), Error> {
    let Some(path) = &process.openmp else { return Ok(()) };
    let bytes = fs::read(path).with_path(path)?;
    let mut records = raw_records::<RECORD_WORDS>(&bytes, MAGIC);
    let (mut threads, mut locks) = (Vec::new(), Vec::new());
    while let Some(record) = records.next() {
        let Some(region) = RawRegion::from_words(record) else { continue };
        // After a damaged record the next region is looked for.
        let mut ahead = records.clone();
        threads.clear();
        threads.extend(ahead.by_ref().take(region.threads.into()).map_while(RawThread::from_words));
        let summary = if region.has_summary { ahead.next().and_then(RawSummary::from_words) } else { None };
        if threads.len() == usize::from(region.threads) && summary.is_some() == region.has_summary {
            locks.clear();
            while let Some(lock) = ahead.clone().next().and_then(RawLock::from_words) {
                locks.push(lock);
                ahead.next();
            }
            use_region(RegionRecords { region, threads: &threads, summary, locks: &locks });
            records = ahead;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_record_costs_its_region_only() {
        let region = |begin, executions| RawRegion {
            begin,
            duration: 10,
            site: 5,
            caller: None,
            threads: 2,
            level: 0,
            is_unfinished: false,
            executions,
            has_summary: executions > 1,
        };
        let thread = |number, useful| RawThread { number, durations: [0.0, useful, 0.0, 0.0, 0.0, 0.0, 0.0] }.to_words();
        let records = [
            [MAGIC, 0, 0, 0],
            region(100, 1).to_words(),
            thread(0, 4.0),
            thread(1, 9.0),
            RawLock { thread: 1, site: 6, acquisitions: 2, waited: 3.0, held: 4.0 }.to_words(),
            region(200, 1).to_words(),
            [1, 2, 3, 4],
            thread(1, 9.0),
            region(50, 3).to_words(),
            thread(0, 4.0),
            thread(1, 3.0),
            RawSummary { longest: 5.0, span: 60.0 }.to_words(),
            [0; 4],
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host-1.omp");
        fs::write(&path, records.iter().flatten().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
        let process = ProcessDefinitions { openmp: Some(path), ..ProcessDefinitions::default() };
        assert_eq!(sites(&process).unwrap(), [5, 6]);
        write(folder.path(), 0, &process, &[(5, 1), (6, 2)].into_iter().collect()).unwrap();
        let found = openmp::read(folder.path(), 0).unwrap();
        let summary: Vec<_> = found.iter().map(|region| (region.begin, region.executions, region.longest, region.span)).collect();
        assert_eq!(summary, [(50, 3, 5, 60), (100, 1, 9, 10)]);
        assert_eq!(found[1].locks, [RegionLock { thread: 1, site: 2, acquisitions: 2, waited: 3, held: 4 }]);
    }
}
