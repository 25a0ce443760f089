//! A duration for every call of a location, in little memory.

use rustc_hash::FxHashMap;

/// Marks a duration that is stored apart.
const STORED_APART: u32 = u32::MAX;

/// Durations of the calls of a location, in nanoseconds. Almost all are shorter than four seconds and take four bytes; the others are stored
/// apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallDurations {
    short_ns: Vec<u32>,
    /// The other durations, by row.
    other_ns: FxHashMap<usize, i64>,
}

impl CallDurations {
    /// No durations yet, with memory for this number of calls.
    pub fn with_capacity(calls: usize) -> CallDurations {
        CallDurations { short_ns: Vec::with_capacity(calls), other_ns: FxHashMap::default() }
    }

    /// Adds the duration of the next call.
    pub fn push(&mut self, ns: i64) {
        let short_ns = u32::try_from(ns).unwrap_or(STORED_APART);
        if short_ns == STORED_APART {
            self.other_ns.insert(self.short_ns.len(), ns);
        }
        self.short_ns.push(short_ns);
    }

    /// The duration of a call; `None` if the row does not exist.
    pub fn get(&self, row: usize) -> Option<i64> {
        match *self.short_ns.get(row)? {
            STORED_APART => self.other_ns.get(&row).copied(),
            short_ns => Some(short_ns.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_is_kept_exactly() {
        let all = [0, 1, 4_294_967_294, 4_294_967_295, 4_294_967_296, -1, i64::MAX, i64::MIN, 7];
        let mut durations = CallDurations::with_capacity(all.len());
        all.into_iter().for_each(|ns| durations.push(ns));
        assert_eq!(
            (0..=all.len()).map(|row| durations.get(row)).collect::<Vec<_>>(),
            all.map(Some).into_iter().chain([None]).collect::<Vec<_>>()
        );
    }
}
