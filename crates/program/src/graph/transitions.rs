//! First pass over the ranks: all call points, and the transitions that no thread takes twice.
//!
//! Programs call helpers from many places, so a graph of call points alone would connect unrelated parts of the program. A path is
//! therefore cut at transitions no thread takes twice, and at first visits of a call point. The sections in between are *fragments*,
//! straight or a loop (see [`super::node_context`]).

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use sintonia_recording::call_paths::CallPaths;
use sintonia_recording::call_table::RecordedCall;
use sintonia_recording::header::RecordingHeader;
use sintonia_recording::{Error, Recording};

use super::call_points::{CallPoint, IdMap};

/// The call points of a program and its unique transitions.
#[derive(Debug, Default)]
pub struct TransitionTable {
    sites: CallPaths,
    /// Call points by id.
    pub points: IdMap<CallPoint>,
    /// Transitions between call points that no thread takes twice.
    once: FxHashSet<(usize, usize)>,
}

/// The transitions of one rank, with the maximum count over its threads.
#[derive(Default, Serialize, Deserialize)]
pub struct RankTransitions {
    /// Call points, by ids local to the rank.
    points: Vec<CallPoint>,
    max_counts: FxHashMap<(usize, usize), u64>,
}

/// Counts the transitions of one rank.
#[derive(Default)]
struct TransitionCounter {
    points: IdMap<CallPoint>,
    threads: FxHashMap<u16, ThreadTransitions>,
}

/// Counts the transitions of one thread.
#[derive(Default)]
struct ThreadTransitions {
    last_point: Option<usize>,
    counts: FxHashMap<(usize, usize), u64>,
}

impl RankTransitions {
    /// Counts the transitions of one rank of a recording.
    pub fn from_recording(recording: &Recording, rank: u32, sites: &CallPaths) -> Result<RankTransitions, Error> {
        let mut counting = TransitionCounter::default();
        let mut calls = recording.calls(rank)?;
        while let Some(call) = calls.next_call() {
            counting.count(&call, sites);
        }
        Ok(counting.finish())
    }

    #[cfg(test)]
    pub fn from_calls<'a>(calls: impl Iterator<Item = RecordedCall<'a>>, sites: &CallPaths) -> RankTransitions {
        let mut counting = TransitionCounter::default();
        calls.for_each(|call| counting.count(&call, sites));
        counting.finish()
    }
}

impl TransitionCounter {
    fn count(&mut self, call: &RecordedCall, sites: &CallPaths) {
        let point = self.points.get_or_insert(CallPoint::of_call(call, sites));
        let thread = self.threads.entry(call.thread).or_default();
        if let Some(before) = thread.last_point.replace(point) {
            *thread.counts.entry((before, point)).or_default() += 1;
        }
    }

    fn finish(self) -> RankTransitions {
        let mut max = FxHashMap::default();
        for (step, count) in self.threads.into_values().flat_map(|thread| thread.counts) {
            keep_max(&mut max, step, count);
        }
        RankTransitions { points: self.points.items, max_counts: max }
    }
}

impl TransitionTable {
    /// Merges the transitions of all ranks.
    pub fn from_ranks(header: &RecordingHeader, ranks: Vec<RankTransitions>) -> TransitionTable {
        let mut transitions = TransitionTable { sites: CallPaths::new(&header.sites), ..TransitionTable::default() };
        let mut max = FxHashMap::default();
        for steps in ranks {
            let number: Vec<usize> = steps.points.iter().map(|point| transitions.points.get_or_insert(*point)).collect();
            for ((from, to), count) in steps.max_counts {
                keep_max(&mut max, (number[from], number[to]), count);
            }
        }
        transitions.once = max.into_iter().filter(|(_, count)| *count == 1).map(|(step, _)| step).collect();
        transitions
    }

    /// The call point of a call, if any rank visited it.
    pub fn point(&self, call: &RecordedCall) -> Option<usize> {
        self.points.get(CallPoint::of_call(call, &self.sites))
    }
}

/// Position of a thread on its path: last call point and current fragment. Once its rank has been read, only the fragment matters.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct PathPosition {
    /// Number of completed fragments.
    pub fragment: usize,
    #[serde(skip)]
    last_point: Option<usize>,
    #[serde(skip)]
    seen: FxHashSet<usize>,
}

impl PathPosition {
    /// Moves to a call point; returns whether a new fragment begins there.
    pub fn advance(&mut self, point: usize, transitions: &TransitionTable) -> bool {
        let Some(before) = self.last_point.replace(point) else {
            self.seen.insert(point);
            return false;
        };
        let new = self.seen.insert(point) || transitions.once.contains(&(before, point));
        self.fragment += usize::from(new);
        new
    }
}

fn keep_max(max: &mut FxHashMap<(usize, usize), u64>, step: (usize, usize), count: u64) {
    let kept = max.entry(step).or_default();
    *kept = count.max(*kept);
}
