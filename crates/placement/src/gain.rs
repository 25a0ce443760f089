//! The expected gain of a placement, as an interval.

/// A smaller gain is not significant: repeated runs differ by more.
pub const MIN_GAIN: f64 = 0.01;

/// The share of run time that is saved: low, middle and high.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct PlacementGain(pub [f64; 3]);

impl PlacementGain {
    /// From replays: seconds of the recorded and the new placement, each with the machine's figures at their lower bound, middle and upper
    /// bound.
    pub fn from_replays(now: [f64; 3], placed: [f64; 3]) -> PlacementGain {
        let saved = |end: usize| if now[end] > 0.0 { 1.0 - placed[end] / now[end] } else { 0.0 };
        let ends = [0, 1, 2].map(saved);
        PlacementGain([ends.into_iter().fold(f64::INFINITY, f64::min), ends[1], ends.into_iter().fold(f64::NEG_INFINITY, f64::max)])
    }

    /// From the cost alone, if the network is unknown: at least 0, because communication may overlap with computation; at most, MPI time
    /// shrinks in proportion to the cost. The middle is half of that.
    pub fn from_cost(now: f64, placed: f64, share_in_mpi: f64) -> PlacementGain {
        let most = if now > 0.0 { (1.0 - placed / now).max(0.0) * share_in_mpi.clamp(0.0, 1.0) } else { 0.0 };
        PlacementGain([0.0, most / 2.0, most])
    }

    /// Whether the gain is significant.
    pub fn is_significant(self) -> bool {
        self.0[2] >= MIN_GAIN && self.0[1] > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replays_give_an_interval_around_the_middle() {
        let gain = PlacementGain::from_replays([1.0, 2.0, 4.0], [0.9, 1.5, 3.2]);
        let expected = [0.1, 0.25, 0.25];
        assert!(gain.0.iter().zip(expected).all(|(got, want)| (got - want).abs() < 1e-12), "{gain:?}");
        assert!(gain.is_significant());
    }

    #[test]
    fn a_placement_that_makes_the_replay_longer_is_not_worth_it() {
        assert!(!PlacementGain::from_replays([1.0; 3], [1.01; 3]).is_significant());
        assert!(!PlacementGain::from_replays([1.0; 3], [0.995; 3]).is_significant());
    }

    #[test]
    fn without_a_machine_no_more_is_saved_than_mpi_took() {
        assert_eq!(PlacementGain::from_cost(100.0, 50.0, 0.4), PlacementGain([0.0, 0.1, 0.2]));
        assert_eq!(PlacementGain::from_cost(0.0, 0.0, 0.4), PlacementGain([0.0; 3]));
        assert!(!PlacementGain::from_cost(100.0, 100.0, 0.9).is_significant());
    }
}
