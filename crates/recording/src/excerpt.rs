//! A part of a recording in place of the whole: what every reader gets if only a region of interest counts.
//!
//! The parts are time windows of each thread, since ranks reach the same iteration at different times. The calls are given as tables; what
//! is stored with times (samples, counters, OpenMP regions, time off the processor) is cut by the windows when it is read. Of what is
//! stored as sums, the usage of processors follows from the time off them, and sums of file accesses from the accesses that have times; page
//! faults and memory are not in a part.

use std::collections::BTreeMap;
use std::ops::Range;

use sintonia_mpi::FunctionId;

use crate::call_table::{CallDescriptor, CallTable};
use crate::raw::part;

/// A function without any effect on other ranks: it stands for the time between two windows of a thread.
const OUTSIDE_FUNCTION: &str = "MPI_Pcontrol";

/// The value of such a call, which no other one has.
const OUTSIDE_VALUE: i32 = i32::MIN;

/// The part of a thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadExcerpt {
    /// Its windows in nanoseconds since the start of the recording, in order.
    pub windows: Vec<Range<i64>>,
    /// Its calls. A call that communicates with one outside of the part is without that communication; time between two windows is a call
    /// ([`CallDescriptor::outside_excerpt`]).
    pub calls: CallTable,
    /// The same calls with all their communication, without those that count in another part.
    pub counted: CallTable,
    /// Nanoseconds in the windows of calls that count in another part, by function, call site, and the object that they were made on, opened
    /// or closed.
    pub uncounted_ns: BTreeMap<(FunctionId, u32, u32), u64>,
}

impl ThreadExcerpt {
    /// Number of calls that count.
    pub fn counted_calls(&self) -> u64 {
        self.counted.len() as u64
    }

    /// Nanoseconds between its windows.
    pub fn outside_ns(&self) -> u64 {
        self.windows.windows(2).map(|pair| u64::try_from(pair[1].start - pair[0].end).unwrap_or(0)).sum()
    }
}

/// A part of a recording: the threads of each rank, the main thread first. Ranks that are not in it have no data.
pub type RecordingExcerpt = BTreeMap<u32, Vec<ThreadExcerpt>>;

impl CallDescriptor {
    /// Time between two windows of a part of a recording, at the site that [`Recording::restricted_to`](crate::Recording::restricted_to)
    /// adds as the last one.
    pub fn outside_excerpt(site: u32) -> CallDescriptor {
        let function = FunctionId::from_name(OUTSIDE_FUNCTION).unwrap_or(FunctionId(0));
        CallDescriptor { site, parts: part::UNFINISHED, value: OUTSIDE_VALUE, ..CallDescriptor::new(function) }
    }

    /// Whether it stands for time between two windows of a part of a recording.
    pub fn is_outside_excerpt(&self) -> bool {
        self.value == OUTSIDE_VALUE && self.parts == part::UNFINISHED
    }

    /// The piece of a call that counts in another part: its time, without any effect.
    pub fn uncounted_piece(&self) -> CallDescriptor {
        CallDescriptor { site: self.site, parts: part::UNFINISHED, ..CallDescriptor::new(self.function) }
    }
}
