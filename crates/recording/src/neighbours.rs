//! Who hands data to whom in a communicator with a topology.
//!
//! On a grid most ranks have the same neighbours seen from themselves: one before, one after, ten before, ten after. So a header keeps
//! differences from a rank to its neighbours, and ranks with the same differences share an entry: its size depends on the topology, not
//! on how many ranks there are.

use std::collections::{BTreeMap, HashMap};

use crate::definitions::{read_ranks, write_ranks};
use crate::header::Neighbourhood;
use crate::raw::OUTSIDE;

/// The neighbours of a rank in their order; [`raw::PROC_NULL`](crate::raw::PROC_NULL) stands where a grid ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// Those that send to it.
    pub sources: Vec<i32>,
    /// Those that it sends to.
    pub destinations: Vec<i32>,
}

/// More neighbours than any topology has: a header that claims more is damaged.
const MOST: usize = 1 << 26;

/// The neighbours of ranks as a header keeps them.
pub fn write(ranks: &BTreeMap<u32, Neighbours>) -> Vec<Neighbourhood> {
    let mut alike: BTreeMap<(String, String), Vec<i32>> = BTreeMap::new();
    for (rank, neighbours) in ranks {
        let differences = |others: &[i32]| write_ranks(&others.iter().map(|other| difference(*rank, *other)).collect::<Vec<_>>());
        alike.entry((differences(&neighbours.sources), differences(&neighbours.destinations))).or_default().push(*rank as i32);
    }
    let written = |((sources, destinations), ranks): (_, Vec<i32>)| Neighbourhood { ranks: write_ranks(&ranks), sources, destinations };
    alike.into_iter().map(written).collect()
}

/// The neighbours of every rank that a header knows them of.
pub fn read(neighbourhoods: &[Neighbourhood]) -> HashMap<u32, Neighbours> {
    let mut read = HashMap::new();
    let mut room = MOST;
    for neighbourhood in neighbourhoods {
        let numbers = |text: &String| read_ranks(text).unwrap_or_default();
        let (sources, destinations) = (numbers(&neighbourhood.sources), numbers(&neighbourhood.destinations));
        for rank in numbers(&neighbourhood.ranks).into_iter().filter_map(|rank| u32::try_from(rank).ok()) {
            let Some(left) = room.checked_sub(1 + sources.len() + destinations.len()) else { return read };
            room = left;
            let others = |differences: &[i32]| differences.iter().map(|difference| neighbour(rank, *difference)).collect();
            read.insert(rank, Neighbours { sources: others(&sources), destinations: others(&destinations) });
        }
    }
    read
}

/// From a rank to a neighbour; what is no rank keeps its meaning.
fn difference(rank: u32, neighbour: i32) -> i32 {
    if neighbour < 0 { neighbour } else { neighbour - rank as i32 }
}

fn neighbour(rank: u32, difference: i32) -> i32 {
    if difference <= OUTSIDE {
        return difference;
    }
    difference.checked_add(rank as i32).filter(|neighbour| *neighbour >= 0).unwrap_or(OUTSIDE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::PROC_NULL;

    /// A line of ranks, each with one before it and one after it.
    fn line(ranks: i32) -> BTreeMap<u32, Neighbours> {
        let there = |rank: i32| if (0..ranks).contains(&rank) { rank } else { PROC_NULL };
        let both = |rank: i32| vec![there(rank - 1), there(rank + 1)];
        (0..ranks).map(|rank| (rank as u32, Neighbours { sources: both(rank), destinations: both(rank) })).collect()
    }

    #[test]
    fn a_grid_takes_as_much_room_for_many_ranks_as_for_few() {
        for ranks in [3, 10, 1000] {
            let neighbours = line(ranks);
            let written = write(&neighbours);
            assert_eq!(written.len(), 3, "the two ends and the middle");
            assert_eq!(read(&written), neighbours.into_iter().collect());
        }
    }

    #[test]
    fn any_header_is_read() {
        let neighbourhood =
            |ranks: &str, sources: &str| Neighbourhood { ranks: ranks.into(), sources: sources.into(), destinations: "x".into() };
        let read = read(&[neighbourhood("0,-5,7", "-3,2147483647"), neighbourhood("1-16777216", "0-16777214")]);
        assert_eq!(read[&7], Neighbours { sources: vec![4, OUTSIDE], destinations: vec![] });
        assert_eq!(read[&0].sources, [OUTSIDE, i32::MAX]);
        assert!(read.len() < 10, "there is no room for what no topology has");
    }
}
