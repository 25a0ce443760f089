//! Ranks with incomplete data.
//!
//! If calls are missing, it is unknown when the rank was in MPI, and the loss would count as computation. Such ranks are excluded from the
//! efficiencies and from advice. Damage shows only when a file is read, so the process that reads it informs the others.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_program::process_group::{ProcessGroup, RankDistribution};
use sintonia_recording::{IncompleteReason, Recording};

/// The gaps of a recording; every process of the group knows all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingGaps {
    /// Ranks with incomplete data, and the reason.
    pub incomplete: BTreeMap<u32, String>,
    /// Ranks with missing calls. (A rank that was cut short has all calls it made.)
    pub missing_calls: BTreeSet<u32>,
}

impl RecordingGaps {
    /// The gaps of a recording whose ranks have been read.
    pub fn from_recording(recording: &Recording, comm: &dyn ProcessGroup) -> RecordingGaps {
        let own = RankDistribution::new(recording, comm).own_ranks();
        let found = recording.incomplete_ranks().into_iter().filter(|(rank, _)| own.contains(rank));
        let mine: Vec<(u32, String, bool)> = found.map(|(rank, why)| (rank, why.to_string(), why != IncompleteReason::CutShort)).collect();
        // In a profile, dropped calls lose their call site, but not their time.
        let dropped = recording.header.ranks.iter().filter(|rank| rank.dropped > 0 && !recording.header.profile).map(|rank| rank.rank);
        let mut gaps = RecordingGaps { incomplete: BTreeMap::new(), missing_calls: dropped.collect() };
        for (rank, why, calls_are_missing) in comm.all_gather(mine).into_iter().flatten() {
            gaps.missing_calls.extend(calls_are_missing.then_some(rank));
            gaps.incomplete.insert(rank, why);
        }
        gaps
    }
}
