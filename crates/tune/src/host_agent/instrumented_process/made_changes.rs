//! When a process made changes: events carry the number of the latest one, because only events after a change count for it.

use std::collections::VecDeque;

/// Changes kept: events are read within milliseconds, so older ones are not asked for.
const MOST_CHANGES: usize = 256;

/// Changes that a process has made.
#[derive(Debug, Default)]
pub(super) struct MadeChanges {
    /// Time in nanoseconds of the host's clock, and number; in the order of the answers.
    changes: VecDeque<(f64, u64)>,
    /// The largest number that is not kept any more.
    forgotten: u64,
}

impl MadeChanges {
    /// Adds a change.
    pub(super) fn add(&mut self, time: f64, number: u64) {
        if self.changes.len() == MOST_CHANGES
            && let Some((_, oldest)) = self.changes.pop_front()
        {
            self.forgotten = self.forgotten.max(oldest);
        }
        self.changes.push_back((time, number));
    }

    /// The largest number among the changes made before a moment; 0 if there is none.
    pub(super) fn latest_at(&self, time: f64) -> u64 {
        self.changes.iter().filter(|(made, _)| *made <= time).map(|(_, number)| *number).fold(self.forgotten, u64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_the_number_of_the_latest_change_before_it() {
        let mut made = MadeChanges::default();
        assert_eq!(made.latest_at(1.0), 0);
        made.add(10.0, 1);
        made.add(30.0, 3);
        made.add(20.0, 2);
        assert_eq!([9.0, 10.0, 25.0, 31.0].map(|time| made.latest_at(time)), [0, 1, 2, 3]);
    }

    #[test]
    fn memory_is_limited() {
        let mut made = MadeChanges::default();
        (1..=1000).for_each(|number| made.add(number as f64, number));
        assert_eq!((made.changes.len(), made.latest_at(2000.0), made.latest_at(5.0)), (MOST_CHANGES, 1000, 744));
    }
}
