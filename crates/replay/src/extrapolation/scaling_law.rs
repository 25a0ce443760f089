//! Scaling laws that reproduce integers exactly.

use std::fmt;

use super::process_grid::RankPosition;

/// Term of a scaling law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GrowthTerm {
    /// p^(a/b).
    Power(i32, i32),
    /// p - 1.
    Others,
    /// ceil(log2 p).
    Log,
    /// Length of a grid dimension.
    Side(usize),
    /// Inverse of the length of a grid dimension.
    PerSide(usize),
    /// Inverse of the product of all other grid dimensions.
    PerOtherSides(usize),
}

impl GrowthTerm {
    fn all(dimensions: usize) -> Vec<GrowthTerm> {
        use GrowthTerm::*;
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

    fn evaluate(self, position: RankPosition) -> f64 {
        let ranks = f64::from(position.rank_count);
        match self {
            GrowthTerm::Power(above, below) => ranks.powf(f64::from(above) / f64::from(below)),
            GrowthTerm::Others => ranks - 1.0,
            GrowthTerm::Log => f64::from(position.rank_count.next_power_of_two().ilog2()),
            GrowthTerm::Side(d) => f64::from(position.grid.side(d)),
            GrowthTerm::PerSide(d) => 1.0 / f64::from(position.grid.side(d)),
            GrowthTerm::PerOtherSides(d) => f64::from(position.grid.side(d)) / ranks,
        }
    }
}

/// `intercept + slope * growth`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScalingLaw {
    intercept: f64,
    slope: f64,
    growth: GrowthTerm,
}

impl ScalingLaw {
    /// The value for this number of ranks.
    pub(super) fn evaluate(&self, position: RankPosition) -> i64 {
        (self.intercept + self.slope * self.growth.evaluate(position)).round() as i64
    }

    /// The law that reproduces these values, if any. They must be non-negative and from at least two runs.
    pub(super) fn infer(seen: &[(RankPosition, i64)]) -> Option<ScalingLaw> {
        let (least, most) =
            (seen.iter().min_by_key(|(position, _)| position.rank_count)?, seen.iter().max_by_key(|(position, _)| position.rank_count)?);
        if least.0.rank_count == most.0.rank_count || seen.iter().any(|(_, value)| *value < 0) {
            return None;
        }
        let mut different: Vec<u32> = seen.iter().map(|(position, _)| position.rank_count).collect();
        different.sort_unstable();
        different.dedup();
        let growths = || GrowthTerm::all(least.0.grid.dimensions()).into_iter();
        let through_nothing = growths().map(|growth| ScalingLaw { intercept: 0.0, slope: most.1 as f64 / growth.evaluate(most.0), growth });
        let with_start = growths().filter(|_| different.len() > 2).map(|growth| ScalingLaw::through(growth, *least, *most));
        through_nothing.chain(with_start).find(|law| seen.iter().all(|(position, value)| law.matches(*position, *value)))
    }

    fn through(growth: GrowthTerm, least: (RankPosition, i64), most: (RankPosition, i64)) -> ScalingLaw {
        let slope = (most.1 - least.1) as f64 / (growth.evaluate(most.0) - growth.evaluate(least.0));
        ScalingLaw { intercept: least.1 as f64 - slope * growth.evaluate(least.0), slope, growth }
    }

    fn matches(&self, position: RankPosition, value: i64) -> bool {
        let law = self.intercept + self.slope * self.growth.evaluate(position);
        law.is_finite() && (law - value as f64).abs() <= 1e-6 + 1e-9 * (value as f64).abs()
    }
}

impl fmt::Display for ScalingLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slope = round_to_milli(self.slope);
        match self.growth {
            GrowthTerm::Power(1, 1) => write!(f, "{slope} p"),
            GrowthTerm::Power(-1, 1) => write!(f, "{slope} / p"),
            GrowthTerm::Power(above, 1) => write!(f, "{slope} p^{above}"),
            GrowthTerm::Power(above, below) => write!(f, "{slope} p^({above}/{below})"),
            GrowthTerm::Others => write!(f, "{slope} (p - 1)"),
            GrowthTerm::Log => write!(f, "{slope} log2(p)"),
            GrowthTerm::Side(d) => write!(f, "{slope} x side {}", d + 1),
            GrowthTerm::PerSide(d) => write!(f, "{slope} / side {}", d + 1),
            GrowthTerm::PerOtherSides(d) => write!(f, "{slope} / all sides but {}", d + 1),
        }?;
        if self.intercept.abs() < 1e-6 { Ok(()) } else { write!(f, " {:+}", (self.intercept * 1e6).round() / 1e6) }
    }
}

fn round_to_milli(number: f64) -> String {
    format!("{}", (number * 1e3).round() / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extrapolation::process_grid::GridRule;

    #[test]
    fn a_scaling_law_is_inferred_and_extrapolated() {
        let grids: Vec<_> = [4, 8, 16, 64].map(|ranks| (ranks, GridRule::Balanced(vec![0, 1]).grid(ranks).unwrap())).into();
        let positions: Vec<RankPosition> = grids.iter().map(|(ranks, grid)| RankPosition { rank: 0, rank_count: *ranks, grid }).collect();
        let found = |values: [i64; 3]| {
            let seen: Vec<(RankPosition, i64)> = positions.iter().copied().zip(values).collect();
            ScalingLaw::infer(&seen).map(|law| (law.to_string(), law.evaluate(positions[3])))
        };
        assert_eq!(found([3, 7, 15]), Some(("1 (p - 1)".into(), 63)));
        assert_eq!(found([6, 9, 12]), Some(("3 log2(p)".into(), 18)));
        assert_eq!(found([4096, 2048, 1024]), Some(("16384 / p".into(), 256)));
        assert_eq!(found([512, 256, 256]), Some(("1024 / side 1".into(), 128)));
        assert_eq!(found([10, 14, 22]), Some(("1 p +6".into(), 70)));
        assert_eq!(found([10, 11, 30]), None);
    }
}
