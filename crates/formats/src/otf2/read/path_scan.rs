//! Finds the call paths of all MPI calls of a trace before the calls are read.
//!
//! Calls are written to the recording while they are read, with the number of their call site; so all sites need their number before.
//! Traces that define calling contexts have these paths among their definitions; others have only the enter and leave of regions.

use rayon::prelude::*;

use crate::error::Error;
use crate::otf2::attributes::CallAttribute;
use crate::otf2::event::MpiEvent;
use crate::otf2::read::OpenArchive;
use crate::otf2::read::archive_layout::MpiProcess;
use crate::otf2::read::call_path_tree::CallPathTree;
use crate::otf2::read::location_reader::LocationReader;
use crate::otf2::read::open_regions::{OpenRegions, RegionTransition};

/// The paths of the calls of each process that no calling context gives.
pub(super) fn scan(trace: &OpenArchive) -> Result<Vec<CallPathTree>, Error> {
    if trace.definitions.is_from_sintonia() {
        return Ok(Vec::new());
    }
    trace.layout.processes.par_iter().map(|process| scan_process(trace, process)).collect()
}

fn scan_process(trace: &OpenArchive, process: &MpiProcess) -> Result<CallPathTree, Error> {
    let mut paths = CallPathTree::default();
    for (_, id) in &process.threads {
        let mut location = LocationReader::open(&trace.archive, *id)?;
        let mut open = OpenRegions::default();
        while let Some((_, event)) = location.next_event(&trace.definitions.attributes)? {
            let (region, context) = match event {
                MpiEvent::Enter(region) => (region, None),
                MpiEvent::CallingContextEnter(context, _) => trace.sites.region_of_context(context),
                MpiEvent::Leave(_) | MpiEvent::CallingContextLeave(_) => {
                    open.leave();
                    continue;
                }
                _ => continue,
            };
            let entered = open.enter(region, trace.sites.mpi_function(region).is_some()).ok_or_else(|| location.nesting_error())?;
            if entered == RegionTransition::Call && context.and_then(|context| trace.sites.site_of_context(context)).is_none() {
                let line = location.attributes.get(CallAttribute::SourceLine).map(|line| line as u32);
                open.call_path(line, |caller, step| paths.intern(caller, step));
            }
        }
    }
    Ok(paths)
}
