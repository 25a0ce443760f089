//! Slots as the leaves of a tree: cores in caches, caches in sockets, sockets in hosts, hosts under switches.
//!
//! Slots are numbered so that every domain of every level is a range of them. Domains of a level may differ in size, so hosts that are not alike
//! are no special case.

/// The levels of a machine, from the whole of it down to the single slots.
#[derive(Clone, Debug, PartialEq)]
pub struct Hierarchy {
    levels: Vec<Level>,
}

/// A level: all slots cut into ranges.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The first slot of each domain, growing from 0; and the number of slots.
    pub starts: Vec<u32>,
    /// How far two slots are apart that are in the same domain of this level and in different ones of the next.
    pub distance: f64,
}

impl Hierarchy {
    /// Levels from the whole machine down; each must cut the one before. The single slots need not be told.
    ///
    /// # Panics
    /// Where a level does not cut the one before it.
    pub fn new(levels: Vec<Level>) -> Hierarchy {
        assert!(
            levels.first().is_some_and(|whole| whole.starts.len() == 2 && whole.starts[0] == 0),
            "the first level is the whole machine"
        );
        for pair in levels.windows(2) {
            let mut finer = pair[1].starts.iter();
            assert!(pair[0].starts.iter().all(|start| finer.any(|other| other == start)), "each level cuts the one before");
        }
        Hierarchy { levels }
    }

    /// A machine whose domains are alike: how many there are in one of the level above, and how far its parts are apart, from the top down.
    pub fn uniform(levels: &[(u32, f64)]) -> Hierarchy {
        let slots: u32 = levels.iter().map(|(count, _)| count).product();
        let mut size = slots;
        let cut = |(count, distance): &(u32, f64)| {
            let starts = (0..=slots / size.max(1)).map(|domain| domain * size).collect();
            size /= count.max(&1);
            Level { starts, distance: *distance }
        };
        Hierarchy::new(levels.iter().map(cut).collect())
    }

    /// The levels, from the whole machine down.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// How many slots there are.
    pub fn slots(&self) -> u32 {
        self.levels[0].starts[1]
    }

    /// How far two slots are apart; nothing from itself.
    pub fn distance(&self, a: u32, b: u32) -> f64 {
        if a == b {
            return 0.0;
        }
        let deepest = self.levels.iter().rev().find(|level| level.domain(a) == level.domain(b));
        deepest.map_or(0.0, |level| level.distance)
    }
}

impl Level {
    /// The domain of a slot.
    pub fn domain(&self, slot: u32) -> usize {
        self.starts.partition_point(|start| *start <= slot) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_as_far_apart_as_the_smallest_domain_of_both_says() {
        let two_hosts_of_two_sockets_of_two_cores = Hierarchy::uniform(&[(2, 10.0), (2, 2.0), (2, 1.0)]);
        let from_first: Vec<f64> = (0..8).map(|slot| two_hosts_of_two_sockets_of_two_cores.distance(0, slot)).collect();
        assert_eq!(from_first, [0.0, 1.0, 2.0, 2.0, 10.0, 10.0, 10.0, 10.0]);
    }

    #[test]
    fn hosts_may_differ_in_size() {
        let whole = Level { starts: vec![0, 7], distance: 10.0 };
        let hosts = Level { starts: vec![0, 4, 7], distance: 1.0 };
        let hierarchy = Hierarchy::new(vec![whole, hosts]);
        assert_eq!((hierarchy.slots(), hierarchy.distance(3, 4), hierarchy.distance(4, 6)), (7, 10.0, 1.0));
    }

    #[test]
    #[should_panic(expected = "each level cuts the one before")]
    fn a_level_that_does_not_cut_the_one_before_is_refused() {
        let whole = Level { starts: vec![0, 8], distance: 10.0 };
        let [hosts, sockets] = [[0, 4, 8], [0, 5, 8]].map(|starts| Level { starts: starts.to_vec(), distance: 1.0 });
        Hierarchy::new(vec![whole, hosts, sockets]);
    }
}
