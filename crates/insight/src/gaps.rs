//! Ranks of which not everything is known.
//!
//! Where calls are missing it is not known when a rank was in MPI, and what is lost would count as computation: such a rank is neither in
//! the efficiencies nor judged by the advice. What is wrong with a file shows when it is read, so the process that read it tells the
//! others.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_program::company::{Company, Share};
use sintonia_recording::{Incomplete, Recording};

/// The gaps of a recording; every process of the company knows all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// The ranks of which not everything is known, and why, in words.
    pub incomplete: BTreeMap<u32, String>,
    /// The ranks of which calls are missing; one that was cut short left all that it made.
    pub patchy: BTreeSet<u32>,
}

impl Gaps {
    /// The gaps of a recording whose ranks have been read.
    pub fn of(recording: &Recording, company: &dyn Company) -> Gaps {
        let own = Share::new(recording, company).own();
        let found = recording.incomplete_ranks().into_iter().filter(|(rank, _)| own.contains(rank));
        let mine: Vec<(u32, String, bool)> = found.map(|(rank, why)| (rank, why.to_string(), why != Incomplete::CutShort)).collect();
        // In sums, calls for which there was no room are without their place, but their time is there.
        let dropped = recording.header.ranks.iter().filter(|rank| rank.dropped > 0 && !recording.header.profile).map(|rank| rank.rank);
        let mut gaps = Gaps { incomplete: BTreeMap::new(), patchy: dropped.collect() };
        for (rank, why, calls_are_missing) in company.gather(mine).into_iter().flatten() {
            gaps.patchy.extend(calls_are_missing.then_some(rank));
            gaps.incomplete.insert(rank, why);
        }
        gaps
    }
}
