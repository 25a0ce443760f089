//! Where a main thread waited for another thread of its rank to end.
//!
//! Joining a thread is no MPI call and not recorded. A thread that makes its last MPI call while the main thread is between two calls is taken
//! to have been waited for. A thread that polls most of the time is excluded: its end is
//! requested by another thread.

use sintonia_program::history::{History, Location};
use sintonia_recording::raw::part;

/// The index of the location whose last call ended last between two calls of the main thread, the later of which is in this row; `None` if
/// none did, or if the location is not that of a main thread.
pub(crate) fn joined_location(history: &History, location: &Location, row: usize) -> Option<usize> {
    let mut threads = history.locations_of_rank(location.rank);
    let main = threads.next()?;
    if threads.is_empty() || history.locations[main].calls.thread != location.calls.thread {
        return None;
    }
    let (begin, end) = (location.compute_begin(row), location.calls.enter[row]);
    let last_leave = |index: &usize| history.locations[*index].calls.leave.last().copied();
    let ended = threads.filter(|index| last_leave(index).is_some_and(|leave| begin < leave && leave <= end));
    ended.filter(|index| !polls_mostly(&history.locations[*index])).max_by_key(|index| (last_leave(index), *index))
}

fn polls_mostly(location: &Location) -> bool {
    let calls = &location.calls;
    let found_nothing = |id: &&u32| calls.descriptors[**id as usize].parts & part::FLAG_FALSE != 0;
    calls.descriptor_ids.iter().filter(found_nothing).count() > calls.len() / 2
}
