//! How whole numbers grow with the number of ranks: a law that hits every one of them.

use std::fmt;

use super::grid::Spot;

/// What a number grows with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// A power of the number of ranks, as a fraction.
    Power(i32, i32),
    /// The number of the other ranks.
    Others,
    /// The logarithm of the number of ranks, rounded up.
    Log,
    /// The length of the grid along a dimension.
    Side(usize),
    /// Its inverse.
    PerSide(usize),
    /// The inverse of the product of the grid's lengths but for one.
    PerOtherSides(usize),
}

impl Growth {
    fn all(dimensions: usize) -> Vec<Growth> {
        use Growth::*;
        let mut all = vec![Power(1, 1), Power(-1, 1), Others, Log, Power(1, 2), Power(-1, 2), Power(2, 1), Power(-2, 1)];
        if dimensions > 1 {
            all.extend((0..dimensions).flat_map(|d| [PerSide(d), Side(d)]));
        }
        if dimensions > 2 {
            all.extend((0..dimensions).map(PerOtherSides));
        }
        all.extend([Power(-2, 3), Power(-1, 3), Power(1, 3), Power(2, 3), Power(3, 2), Power(-3, 2)]);
        all
    }

    fn of(self, spot: Spot) -> f64 {
        let ranks = f64::from(spot.ranks);
        match self {
            Growth::Power(above, below) => ranks.powf(f64::from(above) / f64::from(below)),
            Growth::Others => ranks - 1.0,
            Growth::Log => f64::from(spot.ranks.next_power_of_two().ilog2()),
            Growth::Side(d) => f64::from(spot.grid.side(d)),
            Growth::PerSide(d) => 1.0 / f64::from(spot.grid.side(d)),
            Growth::PerOtherSides(d) => f64::from(spot.grid.side(d)) / ranks,
        }
    }
}

/// A number that grows: `start + slope * growth`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    start: f64,
    slope: f64,
    growth: Growth,
}

impl Law {
    /// The number among so many ranks.
    pub fn of(&self, spot: Spot) -> i64 {
        (self.start + self.slope * self.growth.of(spot)).round() as i64
    }

    /// The law that hits all these numbers, if there is one. They must be of at least two numbers of ranks, and positive.
    pub fn explaining(seen: &[(Spot, i64)]) -> Option<Law> {
        let (least, most) = (seen.iter().min_by_key(|(spot, _)| spot.ranks)?, seen.iter().max_by_key(|(spot, _)| spot.ranks)?);
        if least.0.ranks == most.0.ranks || seen.iter().any(|(_, value)| *value < 0) {
            return None;
        }
        let mut different: Vec<u32> = seen.iter().map(|(spot, _)| spot.ranks).collect();
        different.sort_unstable();
        different.dedup();
        let growths = || Growth::all(least.0.grid.dimensions()).into_iter();
        let through_nothing = growths().map(|growth| Law { start: 0.0, slope: most.1 as f64 / growth.of(most.0), growth });
        let with_start = growths().filter(|_| different.len() > 2).map(|growth| Law::through(growth, *least, *most));
        through_nothing.chain(with_start).find(|law| seen.iter().all(|(spot, value)| law.hits(*spot, *value)))
    }

    fn through(growth: Growth, least: (Spot, i64), most: (Spot, i64)) -> Law {
        let slope = (most.1 - least.1) as f64 / (growth.of(most.0) - growth.of(least.0));
        Law { start: least.1 as f64 - slope * growth.of(least.0), slope, growth }
    }

    fn hits(&self, spot: Spot, value: i64) -> bool {
        let law = self.start + self.slope * self.growth.of(spot);
        law.is_finite() && (law - value as f64).abs() <= 1e-6 + 1e-9 * (value as f64).abs()
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slope = shown(self.slope);
        match self.growth {
            Growth::Power(1, 1) => write!(f, "{slope} p"),
            Growth::Power(-1, 1) => write!(f, "{slope} / p"),
            Growth::Power(above, 1) => write!(f, "{slope} p^{above}"),
            Growth::Power(above, below) => write!(f, "{slope} p^({above}/{below})"),
            Growth::Others => write!(f, "{slope} (p - 1)"),
            Growth::Log => write!(f, "{slope} log2(p)"),
            Growth::Side(d) => write!(f, "{slope} x side {}", d + 1),
            Growth::PerSide(d) => write!(f, "{slope} / side {}", d + 1),
            Growth::PerOtherSides(d) => write!(f, "{slope} / the sides but {}", d + 1),
        }?;
        if self.start.abs() < 1e-6 { Ok(()) } else { write!(f, " {:+}", (self.start * 1e6).round() / 1e6) }
    }
}

fn shown(number: f64) -> String {
    format!("{}", (number * 1e3).round() / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::more_ranks::grid::GridRule;

    #[test]
    fn a_law_is_found_from_the_family_and_goes_on_beyond_it() {
        let grids: Vec<_> = [4, 8, 16, 64].map(|ranks| (ranks, GridRule::Even(vec![0, 1]).grid(ranks).unwrap())).into();
        let spots: Vec<Spot> = grids.iter().map(|(ranks, grid)| Spot { rank: 0, ranks: *ranks, grid }).collect();
        let found = |values: [i64; 3]| {
            let seen: Vec<(Spot, i64)> = spots.iter().copied().zip(values).collect();
            Law::explaining(&seen).map(|law| (law.to_string(), law.of(spots[3])))
        };
        assert_eq!(found([3, 7, 15]), Some(("1 (p - 1)".into(), 63)));
        assert_eq!(found([6, 9, 12]), Some(("3 log2(p)".into(), 18)));
        assert_eq!(found([4096, 2048, 1024]), Some(("16384 / p".into(), 256)));
        assert_eq!(found([512, 256, 256]), Some(("1024 / side 1".into(), 128)));
        assert_eq!(found([10, 14, 22]), Some(("1 p +6".into(), 70)));
        assert_eq!(found([10, 11, 30]), None);
    }
}
