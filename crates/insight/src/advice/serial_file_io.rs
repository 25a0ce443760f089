//! File I/O through the C library that one rank does alone, and the same run with that work divided among all ranks.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use sintonia_program::history::{History, Location};
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_recording::file_io::{FileAccess, FileRecord, RankFileIo};
use sintonia_replay::Error;
use sintonia_replay::changes::MovedWork;
use sintonia_replay::schedule::LocationId;

use super::site_groups::SiteGroups;
use crate::segment::{self, Segment};

/// File I/O in computation that one rank does alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SerialFileIo {
    /// Nanoseconds in it.
    pub ns: i64,
    /// Bytes read and written.
    pub bytes: u64,
    /// The file that takes most of it.
    pub path: String,
    /// The record of that file, operation and call site.
    pub record: Option<FileRecord>,
    /// The run with this work divided among all ranks.
    pub divided: Arc<MovedWork>,
}

/// File I/O of a rank in one execution of a segment.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct SegmentFileIo {
    begin: i64,
    ns: i64,
    bytes: u64,
    segment: Segment,
    rank: u32,
    thread: u32,
    /// The call behind the segment.
    row: u32,
    /// The record that takes most of it.
    record: u32,
}

/// Finds file I/O that one rank does alone for more than `least_ns` nanoseconds, by that rank; every process of the group gets all of it.
pub(super) fn find(
    recording: &Recording,
    history: &History,
    sites: &SiteGroups,
    least_ns: i64,
    comm: &dyn ProcessGroup,
) -> Result<BTreeMap<u32, SerialFileIo>, Error> {
    let own: Vec<Vec<SegmentFileIo>> =
        history.locations.par_iter().map(|location| segment_file_io(recording, location, sites)).collect::<Result<_, Error>>()?;
    let own: Vec<SegmentFileIo> = own.into_iter().flatten().collect();
    let mut all: Vec<SegmentFileIo> = comm.all_to_all(vec![own; comm.size()]).into_iter().flatten().collect();
    all.sort_by_key(|io| (io.rank, io.thread, io.row));
    let mut found = BTreeMap::new();
    for (rank, visits) in alone(&all).into_iter().filter(|(_, visits)| visits.iter().map(|io| io.ns).sum::<i64>() > least_ns) {
        let moved = gather(divide(&visits, history, recording.header.size), comm);
        found.insert(rank, describe(&visits, &recording.file_io(rank)?, moved));
    }
    Ok(found)
}

/// File I/O in the segments of a location.
fn segment_file_io(recording: &Recording, location: &Location, sites: &SiteGroups) -> Result<Vec<SegmentFileIo>, Error> {
    let io = recording.file_io(location.rank)?;
    let Some(thread) = io.threads.iter().find(|thread| thread.thread == location.calls.thread) else { return Ok(Vec::new()) };
    let (mut found, mut next) = (Vec::new(), 0);
    for row in 1..location.len() {
        let (begin, end) = (location.compute_begin(row), location.calls.enter[row]);
        while thread.accesses.get(next).is_some_and(|access| access.end <= begin) {
            next += 1;
        }
        let inside: Vec<&FileAccess> = thread.accesses[next..].iter().take_while(|access| access.begin < end).collect();
        let (Some(segment), Some(first)) = (segment::segment_before(location, row), inside.first()) else { continue };
        let mut records: BTreeMap<u32, i64> = BTreeMap::new();
        let mut bytes = 0;
        for access in &inside {
            let part = (access.end.min(end) - access.begin.max(begin)).max(0) as f64 / (access.end - access.begin).max(1) as f64;
            *records.entry(access.record).or_default() += (access.time as f64 * part) as i64;
            bytes += (access.bytes as f64 * part) as u64;
        }
        let record = records.iter().max_by_key(|(_, ns)| **ns).map_or(0, |(record, _)| *record);
        found.push(SegmentFileIo {
            begin: first.begin.max(begin),
            ns: records.values().sum(),
            bytes,
            segment: sites.representative_segment(segment),
            rank: location.rank,
            thread: location.calls.thread.into(),
            row: row as u32,
            record,
        });
    }
    Ok(found)
}

/// The file I/O of segments in which one rank does nearly all of it, by that rank.
fn alone(all: &[SegmentFileIo]) -> BTreeMap<u32, Vec<SegmentFileIo>> {
    let mut segments: BTreeMap<Segment, BTreeMap<u32, i64>> = BTreeMap::new();
    all.iter().for_each(|io| *segments.entry(io.segment).or_default().entry(io.rank).or_default() += io.ns);
    let mut found: BTreeMap<u32, Vec<SegmentFileIo>> = BTreeMap::new();
    for io in all {
        let ranks = &segments[&io.segment];
        if 10 * ranks[&io.rank] >= 9 * ranks.values().sum::<i64>() {
            found.entry(io.rank).or_default().push(*io);
        }
    }
    found
}

/// Seconds that each of these locations gets, or loses.
fn divide(visits: &[SegmentFileIo], history: &History, size: usize) -> Vec<MovedRow> {
    let mut rows = Vec::new();
    for (index, location) in history.locations.iter().enumerate() {
        let is_main = history.locations_of_rank(location.rank).start == index;
        for io in visits {
            let (share, rank, thread) = (io.ns as f64 / 1e9 / size as f64, location.rank, u32::from(location.calls.thread));
            if (rank, thread) == (io.rank, io.thread) {
                rows.push(MovedRow { seconds: share - io.ns as f64 / 1e9, rank, thread, row: io.row, padding: 0 });
            } else if rank != io.rank && is_main {
                // The call in which this rank is at that time, or which comes next: often it waits there for the other one.
                let row = location.calls.leave.partition_point(|leave| *leave <= io.begin);
                rows.extend((row < location.len()).then_some(MovedRow { seconds: share, rank, thread, row: row as u32, padding: 0 }));
            }
        }
    }
    rows
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct MovedRow {
    seconds: f64,
    rank: u32,
    thread: u32,
    row: u32,
    padding: u32,
}

fn gather(rows: Vec<MovedRow>, comm: &dyn ProcessGroup) -> MovedWork {
    let mut sums: BTreeMap<(u32, u32, u32), f64> = BTreeMap::new();
    for row in comm.all_to_all(vec![rows; comm.size()]).into_iter().flatten() {
        *sums.entry((row.rank, row.thread, row.row)).or_default() += row.seconds;
    }
    let mut moved = MovedWork::default();
    for ((rank, thread, row), seconds) in sums {
        moved.entry(LocationId { rank, thread: thread as u16 }).or_default().push((row.into(), seconds));
    }
    moved
}

fn describe(visits: &[SegmentFileIo], io: &RankFileIo, moved: MovedWork) -> SerialFileIo {
    let mut records: BTreeMap<u32, i64> = BTreeMap::new();
    visits.iter().for_each(|visit| *records.entry(visit.record).or_default() += visit.ns);
    let main = records.iter().max_by_key(|(_, ns)| **ns).and_then(|(record, _)| io.records.get(*record as usize)).cloned();
    SerialFileIo {
        ns: visits.iter().map(|visit| visit.ns).sum(),
        bytes: visits.iter().map(|visit| visit.bytes).sum(),
        path: main.as_ref().map_or_else(String::new, |record| io.files[record.file as usize].clone()),
        record: main,
        divided: Arc::new(moved),
    }
}
