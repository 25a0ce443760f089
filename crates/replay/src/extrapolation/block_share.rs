//! Block distribution of whole units: rows of a matrix, points of a plate.

use std::fmt;

use super::process_grid::RankPosition;
use super::value_observation::ValueObservation;

/// Share of a block distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockShare {
    scope: ShareScope,
    units: i64,
    /// Size of a unit.
    unit: i64,
    remainder: RemainderPolicy,
}

/// Who gets the remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RemainderPolicy {
    /// One unit each for the first ranks.
    First,
    /// All for the last rank.
    Last,
    /// Nobody.
    Nobody,
}

/// Among which ranks the units are distributed, and whose share it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShareScope {
    /// All ranks; the share of this rank.
    Ranks,
    /// All ranks; the share of the peer.
    Peers,
    /// All ranks but 0; the share of this rank.
    Workers,
    /// All ranks but 0; the share of the peer.
    PeerWorkers,
    /// Ranks along a grid dimension.
    Dimension(usize),
}

impl ShareScope {
    fn all(dimensions: usize) -> impl Iterator<Item = ShareScope> {
        let along = (0..dimensions).filter(move |_| dimensions > 1).map(ShareScope::Dimension);
        along.chain([ShareScope::Ranks, ShareScope::Peers, ShareScope::Workers, ShareScope::PeerWorkers])
    }

    /// Index in the distribution, and the number of shares.
    fn index_and_count(self, position: RankPosition, peer: Option<u32>) -> Option<(i64, i64)> {
        let (rank, ranks) = (i64::from(position.rank), i64::from(position.rank_count));
        let peer = peer.map(i64::from);
        let found = match self {
            ShareScope::Ranks => (rank, ranks),
            ShareScope::Peers => (peer?, ranks),
            ShareScope::Workers => (rank - 1, ranks - 1),
            ShareScope::PeerWorkers => (peer? - 1, ranks - 1),
            ShareScope::Dimension(d) => (position.coordinate(d).into(), position.grid.side(d).into()),
        };
        (0..found.1).contains(&found.0).then_some(found)
    }
}

impl BlockShare {
    /// The share of the rank or its peer; 0 if it has none.
    pub(super) fn evaluate(&self, position: RankPosition, peer: Option<u32>) -> i64 {
        let Some((index, count)) = self.scope.index_and_count(position, peer) else { return 0 };
        let (whole, rest) = (self.units / count, self.units % count);
        let more = match self.remainder {
            RemainderPolicy::First => i64::from(index < rest),
            RemainderPolicy::Last if index + 1 == count => rest,
            RemainderPolicy::Last | RemainderPolicy::Nobody => 0,
        };
        (whole + more) * self.unit
    }

    /// The distribution that reproduces these numbers, if any.
    pub(super) fn infer(seen: &[ValueObservation]) -> Option<BlockShare> {
        let first = seen.first().filter(|_| seen.iter().all(|one| one.value > 0))?;
        ShareScope::all(first.position.grid.dimensions())
            .find_map(|among| BlockShare::infer_in_scope(among, first.position.rank_count, seen))
    }

    fn infer_in_scope(among: ShareScope, ranks: u32, seen: &[ValueObservation]) -> Option<BlockShare> {
        let unit = seen.iter().fold(0, |unit, one| gcd(unit, one.value));
        let mut shares: Vec<Option<i64>> = Vec::new();
        for one in seen.iter().filter(|one| one.position.rank_count == ranks) {
            let (index, count) = among.index_and_count(one.position, one.peer)?;
            shares.resize(count as usize, None);
            shares[index as usize] = Some(one.value);
        }
        let whole = shares.into_iter().sum::<Option<i64>>().map(|whole| whole / unit);
        let given = [RemainderPolicy::First, RemainderPolicy::Last]
            .into_iter()
            .filter_map(|rest| Some(BlockShare { scope: among, units: whole?, unit, remainder: rest }));
        // If nobody gets the remainder, it is unknown but less than the number of shares: the smallest total that fits is used.
        let least = seen.iter().filter_map(|one| Some(one.value / unit * among.index_and_count(one.position, one.peer)?.1)).max();
        let lost = least.map(|units| BlockShare { scope: among, units, unit, remainder: RemainderPolicy::Nobody });
        given.chain(lost).find(|share| seen.iter().all(|one| share.evaluate(one.position, one.peer) == one.value))
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

impl fmt::Display for BlockShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.units * self.unit;
        match self.scope {
            ShareScope::Dimension(d) => write!(f, "a share of {whole} along dimension {}", d + 1),
            ShareScope::Ranks | ShareScope::Peers => write!(f, "a share of {whole} among all ranks"),
            ShareScope::Workers | ShareScope::PeerWorkers => write!(f, "a share of {whole} among all ranks but 0"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extrapolation::process_grid::GridRule;

    #[test]
    fn the_remainder_may_go_to_the_first_to_the_last_or_to_none() {
        let grids = [3, 4, 7, 11].map(|ranks| (ranks, GridRule::Row.grid(ranks).unwrap()));
        for rest in [RemainderPolicy::First, RemainderPolicy::Last, RemainderPolicy::Nobody] {
            let share = BlockShare { scope: ShareScope::Ranks, units: 100, unit: 8, remainder: rest };
            let positions = |family: &[usize]| {
                let of = |index: &usize| {
                    (0..grids[*index].0)
                        .map(|rank| RankPosition { rank, rank_count: grids[*index].0, grid: &grids[*index].1 })
                        .collect::<Vec<_>>()
                };
                family.iter().flat_map(of).collect::<Vec<_>>()
            };
            let seen: Vec<ValueObservation> = positions(&[0, 1, 2])
                .into_iter()
                .map(|position| ValueObservation { position, iterations: &[], peer: None, value: share.evaluate(position, None) })
                .collect();
            let found = BlockShare::infer(&seen).unwrap();
            assert_eq!(found.remainder, rest);
            assert!(
                positions(&[3]).into_iter().all(|position| found.evaluate(position, None) == share.evaluate(position, None)),
                "{found:?}"
            );
        }
    }
}
