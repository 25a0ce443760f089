//! What a rank gets of something that is divided as evenly as whole units allow: rows of a matrix, points of a plate.

use std::fmt;

use super::amount::Seen;
use super::grid::Spot;

/// A share of so many units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    among: Among,
    units: i64,
    /// How large a unit is.
    unit: i64,
    rest: Rest,
}

/// Who gets what is left over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// The first ones, one unit each.
    First,
    /// The last one.
    Last,
    /// Nobody.
    Nobody,
}

/// Among whom something is divided, and whose share it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Among {
    /// All ranks; that of the rank.
    Ranks,
    /// All ranks; that of its peer.
    Peers,
    /// All ranks but the first; that of the rank.
    Workers,
    /// All ranks but the first; that of its peer.
    PeerWorkers,
    /// Those along a dimension of the grid.
    Dimension(usize),
}

impl Among {
    fn all(dimensions: usize) -> impl Iterator<Item = Among> {
        let along = (0..dimensions).filter(move |_| dimensions > 1).map(Among::Dimension);
        along.chain([Among::Ranks, Among::Peers, Among::Workers, Among::PeerWorkers])
    }

    /// The place among them, and how many there are.
    fn place(self, spot: Spot, peer: Option<u32>) -> Option<(i64, i64)> {
        let (rank, ranks) = (i64::from(spot.rank), i64::from(spot.ranks));
        let peer = peer.map(i64::from);
        let found = match self {
            Among::Ranks => (rank, ranks),
            Among::Peers => (peer?, ranks),
            Among::Workers => (rank - 1, ranks - 1),
            Among::PeerWorkers => (peer? - 1, ranks - 1),
            Among::Dimension(d) => (spot.coordinate(d).into(), spot.grid.side(d).into()),
        };
        (0..found.1).contains(&found.0).then_some(found)
    }
}

impl Share {
    /// The share of a rank, or of its peer; 0 if it has none.
    pub fn of(&self, spot: Spot, peer: Option<u32>) -> i64 {
        let Some((place, parts)) = self.among.place(spot, peer) else { return 0 };
        let (whole, rest) = (self.units / parts, self.units % parts);
        let more = match self.rest {
            Rest::First => i64::from(place < rest),
            Rest::Last if place + 1 == parts => rest,
            Rest::Last | Rest::Nobody => 0,
        };
        (whole + more) * self.unit
    }

    /// The share that explains these numbers, if there is one.
    pub fn explaining(seen: &[Seen]) -> Option<Share> {
        let first = seen.first().filter(|_| seen.iter().all(|one| one.value > 0))?;
        Among::all(first.spot.grid.dimensions()).find_map(|among| Share::among(among, first.spot.ranks, seen))
    }

    fn among(among: Among, ranks: u32, seen: &[Seen]) -> Option<Share> {
        let unit = seen.iter().fold(0, |unit, one| gcd(unit, one.value));
        let mut shares: Vec<Option<i64>> = Vec::new();
        for one in seen.iter().filter(|one| one.spot.ranks == ranks) {
            let (place, parts) = among.place(one.spot, one.peer)?;
            shares.resize(parts as usize, None);
            shares[place as usize] = Some(one.value);
        }
        let whole = shares.into_iter().sum::<Option<i64>>().map(|whole| whole / unit);
        let given = [Rest::First, Rest::Last].into_iter().filter_map(|rest| Some(Share { among, units: whole?, unit, rest }));
        // Of what is left to nobody one only knows that it is less than there are parts: the least that explains all shares.
        let least = seen.iter().filter_map(|one| Some(one.value / unit * among.place(one.spot, one.peer)?.1)).max();
        let lost = least.map(|units| Share { among, units, unit, rest: Rest::Nobody });
        given.chain(lost).find(|share| seen.iter().all(|one| share.of(one.spot, one.peer) == one.value))
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.units * self.unit;
        match self.among {
            Among::Dimension(d) => write!(f, "a share of {whole} along dimension {}", d + 1),
            Among::Ranks | Among::Peers => write!(f, "a share of {whole} among all ranks"),
            Among::Workers | Among::PeerWorkers => write!(f, "a share of {whole} among all ranks but 0"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::more_ranks::grid::GridRule;

    #[test]
    fn what_is_left_over_may_go_to_the_first_to_the_last_or_to_nobody() {
        let grids = [3, 4, 7, 11].map(|ranks| (ranks, GridRule::Row.grid(ranks).unwrap()));
        for rest in [Rest::First, Rest::Last, Rest::Nobody] {
            let share = Share { among: Among::Ranks, units: 100, unit: 8, rest };
            let places = |family: &[usize]| {
                let of = |place: &usize| {
                    (0..grids[*place].0).map(|rank| Spot { rank, ranks: grids[*place].0, grid: &grids[*place].1 }).collect::<Vec<_>>()
                };
                family.iter().flat_map(of).collect::<Vec<_>>()
            };
            let seen: Vec<Seen> =
                places(&[0, 1, 2]).into_iter().map(|spot| Seen { spot, rounds: &[], peer: None, value: share.of(spot, None) }).collect();
            let found = Share::explaining(&seen).unwrap();
            assert_eq!(found.rest, rest);
            assert!(places(&[3]).into_iter().all(|spot| found.of(spot, None) == share.of(spot, None)), "{found:?}");
        }
    }
}
