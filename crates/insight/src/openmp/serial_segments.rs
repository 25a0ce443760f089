//! Where the main thread of a rank computes outside parallel regions for longest.

use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use sintonia_program::history::{History, Location};
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_recording::openmp::RegionExecution;
use sintonia_replay::Error;

use crate::segment::{self, Segment};

/// The segment with the most computation outside regions, by rank; only of ranks that had regions.
pub(crate) fn main_serial_segments(
    recording: &Recording,
    history: &History,
    comm: &dyn ProcessGroup,
) -> Result<BTreeMap<u32, Segment>, Error> {
    let main_threads = history.locations.par_iter().filter(|location| location.calls.thread == 0);
    let find = |location: &Location| {
        let regions = recording.openmp_regions(location.rank)?;
        let main = if regions.is_empty() { None } else { longest_serial(location, &regions) };
        Ok(main.map(|segment| RankSegment { segment, rank: location.rank }))
    };
    let own: Vec<RankSegment> = main_threads.map(find).collect::<Result<Vec<_>, Error>>()?.into_iter().flatten().collect();
    let all = comm.all_to_all(vec![own; comm.size()]).into_iter().flatten();
    Ok(all.map(|row| (row.rank, row.segment)).collect())
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct RankSegment {
    segment: Segment,
    rank: u32,
}

fn longest_serial(location: &Location, regions: &[RegionExecution]) -> Option<Segment> {
    let mut outer: Vec<&RegionExecution> = regions.iter().filter(|region| region.level == 0).collect();
    outer.sort_by_key(|region| region.begin);
    let mut serial_ns: FxHashMap<Segment, i64> = FxHashMap::default();
    let mut next = 0;
    for row in 1..location.len() {
        let (begin, end) = (location.compute_begin(row), location.calls.enter[row]);
        while outer.get(next).is_some_and(|region| region.end() <= begin) {
            next += 1;
        }
        let inside = outer[next..].iter().take_while(|region| region.begin < end);
        let parallel_ns: i64 = inside.map(|region| overlap_ns(region, begin, end)).sum();
        if let Some(segment) = segment::segment_before(location, row) {
            *serial_ns.entry(segment).or_default() += end - begin - parallel_ns;
        }
    }
    serial_ns.into_iter().max_by_key(|(segment, ns)| (*ns, *segment)).map(|(segment, _)| segment)
}

/// The part of a region between two times; several executions are evenly spread over their span.
fn overlap_ns(region: &RegionExecution, begin: i64, end: i64) -> i64 {
    let overlap = (region.end().min(end) - region.begin.max(begin)).max(0);
    (overlap as f64 * region.duration as f64 / region.span.max(1) as f64) as i64
}
