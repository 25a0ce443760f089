//! Sets of ranks of a group: who waits for whom is kept for many ranks at a time.

use std::ops::Range;

/// Ranks of a group, as sorted ranges that neither overlap nor touch: the subtrees of most algorithms are few ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankSet(Vec<(u32, u32)>);

impl RankSet {
    fn from_ranges(mut ranges: Vec<(u32, u32)>) -> RankSet {
        ranges.sort_unstable();
        ranges.dedup_by(|next, kept| {
            let joins = next.0 <= kept.1;
            if joins {
                kept.1 = kept.1.max(next.1);
            }
            joins
        });
        RankSet(ranges)
    }

    /// Adds the ranks of another set.
    pub fn insert_all(&mut self, other: &RankSet) {
        if other.0.iter().all(|(first, end)| self.covers(*first, *end)) {
            return;
        }
        self.0.extend_from_slice(&other.0);
        *self = RankSet::from_ranges(std::mem::take(&mut self.0));
    }

    fn covers(&self, first: u32, end: u32) -> bool {
        let index = self.0.partition_point(|range| range.0 <= first);
        index > 0 && self.0[index - 1].1 >= end
    }

    pub(crate) fn without(&self, rank: u32) -> RankSet {
        let parts = |&(first, end): &(u32, u32)| match (first..end).contains(&rank) {
            true => [(first, rank), (rank + 1, end)],
            false => [(first, end), (end, end)],
        };
        RankSet(self.0.iter().flat_map(parts).filter(|(first, end)| first < end).collect())
    }

    /// The set of the ranks that are `steps` further on in a group of this size.
    pub(crate) fn rotated(&self, steps: u32, size: u32) -> RankSet {
        let moved = |&(first, end): &(u32, u32)| match (first + steps, end + steps) {
            (first, end) if first >= size => [(first - size, end - size), (0, 0)],
            (first, end) if end > size => [(first, size), (0, end - size)],
            range => [range, (0, 0)],
        };
        RankSet::from_ranges(self.0.iter().flat_map(moved).filter(|(first, end)| first < end).collect())
    }

    /// Whether a rank is in the set.
    pub fn contains(&self, rank: u32) -> bool {
        self.covers(rank, rank + 1)
    }

    /// The ranks, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|(first, end)| *first..*end)
    }

    /// The highest rank.
    pub fn last(&self) -> Option<u32> {
        self.0.last().map(|(_, end)| end - 1)
    }

    /// Removes the highest rank.
    pub fn pop(&mut self) -> Option<u32> {
        let (first, end) = self.0.last_mut()?;
        *end -= 1;
        let (rank, is_empty) = (*end, first == end);
        if is_empty {
            self.0.pop();
        }
        Some(rank)
    }

    /// Number of ranks.
    pub fn len(&self) -> usize {
        self.0.iter().map(|(first, end)| (end - first) as usize).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Range<u32>> for RankSet {
    fn from(ranks: Range<u32>) -> RankSet {
        RankSet(if ranks.is_empty() { Vec::new() } else { vec![(ranks.start, ranks.end)] })
    }
}

impl FromIterator<u32> for RankSet {
    fn from_iter<T: IntoIterator<Item = u32>>(ranks: T) -> RankSet {
        RankSet::from_ranges(ranks.into_iter().map(|rank| (rank, rank + 1)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(set: &RankSet) -> Vec<u32> {
        set.iter().collect()
    }

    #[test]
    fn ranks_in_a_row_are_one_range() {
        let set: RankSet = [5, 1, 2, 3, 2].into_iter().collect();
        assert_eq!((set.0.as_slice(), set.len()), ([(1, 4), (5, 6)].as_slice(), 4));
        assert_eq!(ranks(&set), [1, 2, 3, 5]);
        assert_eq!(ranks(&set.without(2)), [1, 3, 5]);
        assert_eq!(RankSet::from(3..3), RankSet::default());
        assert!(set.contains(3) && !set.contains(4));
    }

    #[test]
    fn a_rotated_set_continues_at_rank_0() {
        let set: RankSet = [0, 3, 4].into_iter().collect();
        assert_eq!(ranks(&set.rotated(1, 6)), [1, 4, 5]);
        assert_eq!(ranks(&set.rotated(2, 6)), [0, 2, 5]);
        assert_eq!(set.rotated(2, 5).0, [(0, 3)], "ranges that meet are one");
        assert_eq!(RankSet::from(0..5).rotated(3, 5), RankSet::from(0..5));
    }

    #[test]
    fn the_highest_rank_is_taken_out_first() {
        let mut set: RankSet = [1, 2, 5].into_iter().collect();
        assert_eq!(set.last(), Some(5));
        assert_eq!(std::iter::from_fn(|| set.pop()).collect::<Vec<_>>(), [5, 2, 1]);
        assert!(set.is_empty() && set.last().is_none());
    }
}
