//! Encoding of the neighbours in a communicator with a topology.
//!
//! On a grid most ranks have the same neighbours relative to their own rank. The header therefore stores rank offsets, and ranks with equal
//! offsets share an entry, so its size depends on the topology and not on the number of ranks.

use std::collections::{BTreeMap, HashMap};

use crate::definitions::{format_ranks, parse_ranks};
use crate::header::NeighbourClass;
use crate::raw::EXTERNAL;

/// The neighbours of a rank in MPI's order, with [`raw::PROC_NULL`](crate::raw::PROC_NULL) at an edge of a grid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopologyNeighbours {
    /// Ranks it receives from.
    pub sources: Vec<i32>,
    /// Ranks it sends to.
    pub destinations: Vec<i32>,
}

/// Upper limit for neighbours; a header that claims more is damaged.
const MAX_NEIGHBOURS: usize = 1 << 26;

/// Groups the neighbours of ranks into classes for the header.
pub fn encode(ranks: &BTreeMap<u32, TopologyNeighbours>) -> Vec<NeighbourClass> {
    let mut classes: BTreeMap<(String, String), Vec<i32>> = BTreeMap::new();
    for (rank, neighbours) in ranks {
        let offsets = |others: &[i32]| format_ranks(&others.iter().map(|other| rank_offset(*rank, *other)).collect::<Vec<_>>());
        classes.entry((offsets(&neighbours.sources), offsets(&neighbours.destinations))).or_default().push(*rank as i32);
    }
    let class = |((sources, destinations), ranks): (_, Vec<i32>)| NeighbourClass { ranks: format_ranks(&ranks), sources, destinations };
    classes.into_iter().map(class).collect()
}

/// The neighbours of every rank, from the classes of the header.
pub fn decode(classes: &[NeighbourClass]) -> HashMap<u32, TopologyNeighbours> {
    let mut read = HashMap::new();
    let mut remaining = MAX_NEIGHBOURS;
    for class in classes {
        let parse = |text: &String| parse_ranks(text).unwrap_or_default();
        let (sources, destinations) = (parse(&class.sources), parse(&class.destinations));
        for rank in parse(&class.ranks).into_iter().filter_map(|rank| u32::try_from(rank).ok()) {
            let Some(rest) = remaining.checked_sub(1 + sources.len() + destinations.len()) else { return read };
            remaining = rest;
            let others = |offsets: &[i32]| offsets.iter().map(|offset| neighbour_at(rank, *offset)).collect();
            read.insert(rank, TopologyNeighbours { sources: others(&sources), destinations: others(&destinations) });
        }
    }
    read
}

/// Offset from a rank to a neighbour; special values stay as they are.
fn rank_offset(rank: u32, neighbour: i32) -> i32 {
    if neighbour < 0 { neighbour } else { neighbour - rank as i32 }
}

fn neighbour_at(rank: u32, offset: i32) -> i32 {
    if offset <= EXTERNAL {
        return offset;
    }
    offset.checked_add(rank as i32).filter(|neighbour| *neighbour >= 0).unwrap_or(EXTERNAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::PROC_NULL;

    /// A line of ranks, each with a predecessor and a successor.
    fn line(ranks: i32) -> BTreeMap<u32, TopologyNeighbours> {
        let there = |rank: i32| if (0..ranks).contains(&rank) { rank } else { PROC_NULL };
        let both = |rank: i32| vec![there(rank - 1), there(rank + 1)];
        (0..ranks).map(|rank| (rank as u32, TopologyNeighbours { sources: both(rank), destinations: both(rank) })).collect()
    }

    #[test]
    fn a_grid_takes_as_much_room_for_many_ranks_as_for_few() {
        for ranks in [3, 10, 1000] {
            let neighbours = line(ranks);
            let class = encode(&neighbours);
            assert_eq!(class.len(), 3, "the two ends and the middle");
            assert_eq!(decode(&class), neighbours.into_iter().collect());
        }
    }

    #[test]
    fn any_header_is_read() {
        let class = |ranks: &str, sources: &str| NeighbourClass { ranks: ranks.into(), sources: sources.into(), destinations: "x".into() };
        let read = decode(&[class("0,-5,7", "-3,2147483647"), class("1-16777216", "0-16777214")]);
        assert_eq!(read[&7], TopologyNeighbours { sources: vec![4, EXTERNAL], destinations: vec![] });
        assert_eq!(read[&0].sources, [EXTERNAL, i32::MAX]);
        assert!(read.len() < 10, "there is no room for what no topology has");
    }
}
