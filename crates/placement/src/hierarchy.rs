//! The machine as a tree with slots as leaves: cores in caches, caches in sockets, sockets in hosts, hosts under switches.
//!
//! Slots are numbered so that every domain of every level is a range. Domains of a level may differ in size, so heterogeneous hosts are no
//! special case.

/// The levels of a machine, from the whole down to single slots.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotHierarchy {
    levels: Vec<HierarchyLevel>,
}

/// A level: a partition of all slots into ranges.
#[derive(Clone, Debug, PartialEq)]
pub struct HierarchyLevel {
    /// The first slot of each domain, starting at 0, followed by the number of slots.
    pub starts: Vec<u32>,
    /// Distance of two slots that are in the same domain of this level and in different domains of the next.
    pub distance: f64,
}

impl SlotHierarchy {
    /// Levels from the whole machine down; each must refine the previous one. The level of single slots is implied.
    ///
    /// # Panics
    /// If a level does not refine the previous one.
    pub fn new(levels: Vec<HierarchyLevel>) -> SlotHierarchy {
        assert!(
            levels.first().is_some_and(|whole| whole.starts.len() == 2 && whole.starts[0] == 0),
            "the first level is the whole machine"
        );
        for pair in levels.windows(2) {
            let mut finer = pair[1].starts.iter();
            assert!(pair[0].starts.iter().all(|start| finer.any(|other| other == start)), "each level cuts the one before");
        }
        SlotHierarchy { levels }
    }

    /// A machine with uniform domains: for each level from the top, the number of parts per domain and their distance.
    pub fn uniform(levels: &[(u32, f64)]) -> SlotHierarchy {
        let slots: u32 = levels.iter().map(|(count, _)| count).product();
        let mut size = slots;
        let cut = |(count, distance): &(u32, f64)| {
            let starts = (0..=slots / size.max(1)).map(|domain| domain * size).collect();
            size /= count.max(&1);
            HierarchyLevel { starts, distance: *distance }
        };
        SlotHierarchy::new(levels.iter().map(cut).collect())
    }

    /// The levels, from the whole machine down.
    pub fn levels(&self) -> &[HierarchyLevel] {
        &self.levels
    }

    /// Number of slots.
    pub fn slot_count(&self) -> u32 {
        self.levels[0].starts[1]
    }

    /// Distance of two slots; 0 for the same slot.
    pub fn distance(&self, a: u32, b: u32) -> f64 {
        if a == b {
            return 0.0;
        }
        let deepest = self.levels.iter().rev().find(|level| level.domain(a) == level.domain(b));
        deepest.map_or(0.0, |level| level.distance)
    }
}

impl HierarchyLevel {
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
        let two_hosts_of_two_sockets_of_two_cores = SlotHierarchy::uniform(&[(2, 10.0), (2, 2.0), (2, 1.0)]);
        let from_first: Vec<f64> = (0..8).map(|slot| two_hosts_of_two_sockets_of_two_cores.distance(0, slot)).collect();
        assert_eq!(from_first, [0.0, 1.0, 2.0, 2.0, 10.0, 10.0, 10.0, 10.0]);
    }

    #[test]
    fn hosts_may_differ_in_size() {
        let whole = HierarchyLevel { starts: vec![0, 7], distance: 10.0 };
        let hosts = HierarchyLevel { starts: vec![0, 4, 7], distance: 1.0 };
        let hierarchy = SlotHierarchy::new(vec![whole, hosts]);
        assert_eq!((hierarchy.slot_count(), hierarchy.distance(3, 4), hierarchy.distance(4, 6)), (7, 10.0, 1.0));
    }

    #[test]
    #[should_panic(expected = "each level cuts the one before")]
    fn a_level_that_does_not_cut_the_one_before_is_refused() {
        let whole = HierarchyLevel { starts: vec![0, 8], distance: 10.0 };
        let [hosts, sockets] = [[0, 4, 8], [0, 5, 8]].map(|starts| HierarchyLevel { starts: starts.to_vec(), distance: 1.0 });
        SlotHierarchy::new(vec![whole, hosts, sockets]);
    }
}
