//! What runs say of a placement: those with it and those without, in turn, pair by pair.

use sintonia_fit::sample::{self, CONFIDENCE};
use sintonia_fit::student_quantile;

/// How much faster runs are with a placement.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Measured {
    /// Pairs of runs.
    pub rounds: usize,
    /// The median of the runs without it, in seconds.
    pub now_s: f64,
    /// The median of the runs with it.
    pub placed_s: f64,
    /// How many times as fast: the least, the mean and the most, the true one being among them as surely as [`CONFIDENCE`]; all from 0 to
    /// infinity where one pair is all there is.
    pub speed_up: [f64; 3],
}

impl Measured {
    /// Pairs of seconds without and with the placement. Each pair ran one right after the other, so that what slows the machine down for a while
    /// slows down both, and what counts is their ratio. `None` if there are no pairs or times that are no times.
    pub fn of(pairs: &[[f64; 2]]) -> Option<Measured> {
        let logs: Vec<f64> = pairs.iter().map(|[now, placed]| (now / placed).ln()).collect();
        if logs.is_empty() || !logs.iter().all(|log| log.is_finite()) {
            return None;
        }
        let mean = sample::mean(&logs);
        let freedom = logs.len() as f64 - 1.0;
        let half = match logs.len() {
            1 => f64::INFINITY,
            _ => {
                let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / freedom;
                student_quantile(0.5 + 0.5 * CONFIDENCE, freedom) * (variance / logs.len() as f64).sqrt()
            }
        };
        let median = |of: usize| sample::median(&pairs.iter().map(|pair| pair[of]).collect::<Vec<_>>()).ok();
        Some(Measured {
            rounds: pairs.len(),
            now_s: median(0)?,
            placed_s: median(1)?,
            speed_up: [(mean - half).exp(), mean.exp(), (mean + half).exp()],
        })
    }

    /// What can be said of it: faster, slower, or neither for sure.
    pub fn verdict(&self) -> Verdict {
        match self.speed_up {
            [low, ..] if low > 1.0 => Verdict::Faster,
            [_, _, high] if high < 1.0 => Verdict::Slower,
            _ => Verdict::Unsure,
        }
    }
}

/// What runs show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval is above 1.
    Faster,
    /// The whole interval is below 1.
    Slower,
    /// 1 is inside.
    Unsure,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_ratio_is_seen_through_a_machine_that_gets_slower() {
        let pairs = [[2.0, 1.0], [4.1, 2.0], [7.9, 4.0], [16.0, 8.0]];
        let measured = Measured::of(&pairs).unwrap();
        let [low, middle, high] = measured.speed_up;
        assert!(1.9 < low && low < middle && middle < high && high < 2.1, "{measured:?}");
        assert_eq!(measured.verdict(), Verdict::Faster);
    }

    #[test]
    fn the_interval_is_that_of_student() {
        // Logarithms 0 and 1: mean 0.5, standard error 0.5, and 12.706 of it with one degree of freedom.
        let measured = Measured::of(&[[1.0, 1.0], [std::f64::consts::E, 1.0]]).unwrap();
        assert!((measured.speed_up[2].ln() - (0.5 + 0.5 * 12.7062)).abs() < 1e-3);
        assert_eq!(measured.verdict(), Verdict::Unsure);
    }

    #[test]
    fn one_pair_proves_nothing_and_none_says_nothing() {
        let one = Measured::of(&[[2.0, 1.0]]).unwrap();
        assert_eq!((one.speed_up[0], one.speed_up[2], one.verdict()), (0.0, f64::INFINITY, Verdict::Unsure));
        assert_eq!(Measured::of(&[]), None);
        assert_eq!(Measured::of(&[[0.0, 0.0]]), None);
    }
}
