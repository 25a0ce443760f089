//! How far slots are apart, told in a few instructions.
//!
//! Each slot has a code of as many bits for each level as the domains of it need, the top level first. The highest bit in which two codes
//! differ says the level at which their ways part.

use crate::hierarchy::{Hierarchy, Level};
use std::iter::repeat_n;
use std::ops::Range;

/// The codes of slots, and what they mean.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    codes: Vec<u64>,
    /// The distance by the number of bits up to the highest one that differs.
    distances: [f64; 65],
    /// The levels that cut something, from the whole machine down.
    levels: Vec<Domains>,
}

/// The domains of a level.
#[derive(Clone, Debug)]
pub(crate) struct Domains {
    /// The first slot of each domain; and the number of slots.
    pub starts: Vec<u32>,
    /// The domain of each slot.
    pub of: Vec<u32>,
    /// How far two slots are apart that only this level has in one domain.
    pub distance: f64,
}

impl Domains {
    /// The slots of a domain.
    pub fn slots(&self, domain: u32) -> Range<u32> {
        self.starts[domain as usize]..self.starts[domain as usize + 1]
    }

    fn new(level: &Level) -> Domains {
        let sizes = level.starts.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        let of = sizes.zip(0..).flat_map(|(size, domain)| repeat_n(domain, size)).collect();
        Domains { starts: level.starts.clone(), of, distance: level.distance }
    }
}

impl Tree {
    /// The codes of a hierarchy. Levels that 64 bits have no room for, the finest ones, are not told apart.
    pub fn new(hierarchy: &Hierarchy) -> Tree {
        let slots = hierarchy.slots();
        let single: Vec<u32> = (0..=slots).collect();
        let levels = hierarchy.levels();
        let finer = |level: usize| levels.get(level + 1).map_or(&single, |level| &level.starts);
        let mut codes = vec![0u64; slots as usize];
        let mut distances = [0.0; 65];
        let mut free = 64;
        for (place, level) in levels.iter().enumerate() {
            let finer = finer(place);
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
        let cuts = |place: &usize| levels.get(*place).is_some_and(|level| &level.starts != finer(*place));
        let levels = (0..levels.len()).filter(cuts).map(|place| Domains::new(&levels[place])).collect();
        Tree { codes, distances, levels }
    }

    /// The code of each slot.
    pub fn codes(&self) -> &[u64] {
        &self.codes
    }

    /// The levels that cut something, from the whole machine down.
    pub fn levels(&self) -> &[Domains] {
        &self.levels
    }

    /// How far the slots of two codes are apart.
    #[inline]
    pub fn distance(&self, a: u64, b: u64) -> f64 {
        self.distances[64 - (a ^ b).leading_zeros() as usize]
    }
}

/// For each domain of the finer level, which one it is in its domain of the coarser.
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
        let level = |starts: &[u32], distance| Level { starts: starts.to_vec(), distance };
        let uneven = Hierarchy::new(vec![level(&[0, 11], 9.0), level(&[0, 3, 4, 11], 4.0), level(&[0, 3, 4, 6, 11], 1.0)]);
        for hierarchy in [uneven, Hierarchy::uniform(&[(3, 20.0), (1, 12.0), (5, 10.0), (2, 2.0)]), Hierarchy::uniform(&[(1, 3.0)])] {
            let tree = Tree::new(&hierarchy);
            for a in 0..hierarchy.slots() {
                for b in 0..hierarchy.slots() {
                    let told = tree.distance(tree.codes()[a as usize], tree.codes()[b as usize]);
                    assert_eq!(told, hierarchy.distance(a, b), "{a} to {b}");
                }
            }
        }
    }
}
