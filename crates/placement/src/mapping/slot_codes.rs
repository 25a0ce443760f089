//! Fast distances between slots.
//!
//! Each slot has a code with enough bits per level to number the domains, top level first. The highest bit in which two codes differ gives
//! the level at which the slots separate.

use crate::hierarchy::{HierarchyLevel, SlotHierarchy};
use std::iter::repeat_n;
use std::ops::Range;

/// The codes of all slots.
#[derive(Clone, Debug)]
pub(crate) struct SlotCodes {
    codes: Vec<u64>,
    /// Distance by the number of bits up to the highest differing one.
    distances: [f64; 65],
    /// The levels with more than one part, from the whole machine down.
    levels: Vec<LevelDomains>,
}

/// The domains of a level.
#[derive(Clone, Debug)]
pub(crate) struct LevelDomains {
    /// The first slot of each domain, followed by the number of slots.
    pub starts: Vec<u32>,
    /// The domain of each slot.
    pub domain_of_slot: Vec<u32>,
    /// Distance of two slots whose smallest common domain is on this level.
    pub distance: f64,
}

impl LevelDomains {
    /// The slots of a domain.
    pub(super) fn slots(&self, domain: u32) -> Range<u32> {
        self.starts[domain as usize]..self.starts[domain as usize + 1]
    }

    fn new(level: &HierarchyLevel) -> LevelDomains {
        let sizes = level.starts.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        let domain_of_slot = sizes.zip(0..).flat_map(|(size, domain)| repeat_n(domain, size)).collect();
        LevelDomains { starts: level.starts.clone(), domain_of_slot, distance: level.distance }
    }
}

impl SlotCodes {
    /// The codes of a hierarchy. The finest levels, if they exceed 64 bits, are not distinguished.
    pub(super) fn new(hierarchy: &SlotHierarchy) -> SlotCodes {
        let slots = hierarchy.slot_count();
        let single: Vec<u32> = (0..=slots).collect();
        let levels = hierarchy.levels();
        let finer = |level: usize| levels.get(level + 1).map_or(&single, |level| &level.starts);
        let mut codes = vec![0u64; slots as usize];
        let mut distances = [0.0; 65];
        let mut free = 64;
        for (index, level) in levels.iter().enumerate() {
            let finer = finer(index);
            let children = children(&level.starts, finer);
            let most = children.iter().max().map_or(0, |child| child + 1);
            let bits = (most.max(1)).next_power_of_two().trailing_zeros();
            if bits > free {
                break;
            }
            free -= bits;
            for (domain, child) in children.into_iter().enumerate() {
                codes[finer[domain] as usize..finer[domain + 1] as usize]
                    .iter_mut()
                    .for_each(|code| *code |= u64::from(child).checked_shl(free).unwrap_or(0));
            }
            distances[free as usize + 1..(free + bits) as usize + 1].fill(level.distance);
        }
        let cuts = |index: &usize| levels.get(*index).is_some_and(|level| &level.starts != finer(*index));
        let levels = (0..levels.len()).filter(cuts).map(|index| LevelDomains::new(&levels[index])).collect();
        SlotCodes { codes, distances, levels }
    }

    /// The code of each slot.
    pub(super) fn codes(&self) -> &[u64] {
        &self.codes
    }

    /// The levels with more than one part, from the whole machine down.
    pub(super) fn levels(&self) -> &[LevelDomains] {
        &self.levels
    }

    /// Distance of the slots with these codes.
    #[inline]
    pub(super) fn distance(&self, a: u64, b: u64) -> f64 {
        self.distances[64 - (a ^ b).leading_zeros() as usize]
    }
}

/// Index of each finer domain within its coarser domain.
fn children(coarser: &[u32], finer: &[u32]) -> Vec<u32> {
    let mut coarser = coarser.iter().peekable();
    let mut child = 0;
    let count = |start: &u32| {
        child += 1;
        while coarser.next_if(|first| *first <= start).is_some() {
            child = 0;
        }
        child
    };
    finer[..finer.len() - 1].iter().map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_hierarchy() {
        let level = |starts: &[u32], distance| HierarchyLevel { starts: starts.to_vec(), distance };
        let uneven = SlotHierarchy::new(vec![level(&[0, 11], 9.0), level(&[0, 3, 4, 11], 4.0), level(&[0, 3, 4, 6, 11], 1.0)]);
        for hierarchy in [uneven, SlotHierarchy::uniform(&[(3, 20.0), (1, 12.0), (5, 10.0), (2, 2.0)]), SlotHierarchy::uniform(&[(1, 3.0)])]
        {
            let tree = SlotCodes::new(&hierarchy);
            for a in 0..hierarchy.slot_count() {
                for b in 0..hierarchy.slot_count() {
                    let options = tree.distance(tree.codes()[a as usize], tree.codes()[b as usize]);
                    assert_eq!(options, hierarchy.distance(a, b), "{a} to {b}");
                }
            }
        }
    }
}
