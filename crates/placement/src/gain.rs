//! What a placement is good for, as honestly as it can be said: an interval, and whether it is worth a file.

/// Less than this share of the objective is nothing: runs differ by more.
pub const WORTH: f64 = 0.01;

/// The share of the time that is saved: low, middle and high.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Gain(pub [f64; 3]);

impl Gain {
    /// What replays say: seconds now and placed, each with the machine as quick as it may be, most likely, and as slow as it may be.
    pub fn of_replays(now: [f64; 3], placed: [f64; 3]) -> Gain {
        let saved = |end: usize| if now[end] > 0.0 { 1.0 - placed[end] / now[end] } else { 0.0 };
        let ends = [0, 1, 2].map(saved);
        Gain([ends.into_iter().fold(f64::INFINITY, f64::min), ends[1], ends.into_iter().fold(f64::NEG_INFINITY, f64::max)])
    }

    /// What can be said where nothing is known of the network: at least nothing is saved, because messages may travel while ranks compute; at
    /// most the time in MPI shrinks as the cost does. The middle is half of that.
    pub fn of_cost(now: f64, placed: f64, share_in_mpi: f64) -> Gain {
        let most = if now > 0.0 { (1.0 - placed / now).max(0.0) * share_in_mpi.clamp(0.0, 1.0) } else { 0.0 };
        Gain([0.0, most / 2.0, most])
    }

    /// Whether it may be worth the trouble.
    pub fn is_worth_it(self) -> bool {
        self.0[2] >= WORTH && self.0[1] > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replays_give_an_interval_around_the_middle() {
        let gain = Gain::of_replays([1.0, 2.0, 4.0], [0.9, 1.5, 3.2]);
        let expected = [0.1, 0.25, 0.25];
        assert!(gain.0.iter().zip(expected).all(|(got, want)| (got - want).abs() < 1e-12), "{gain:?}");
        assert!(gain.is_worth_it());
    }

    #[test]
    fn a_placement_that_makes_the_replay_longer_is_not_worth_it() {
        assert!(!Gain::of_replays([1.0; 3], [1.01; 3]).is_worth_it());
        assert!(!Gain::of_replays([1.0; 3], [0.995; 3]).is_worth_it());
    }

    #[test]
    fn without_a_machine_no_more_is_saved_than_mpi_took() {
        assert_eq!(Gain::of_cost(100.0, 50.0, 0.4), Gain([0.0, 0.1, 0.2]));
        assert_eq!(Gain::of_cost(0.0, 0.0, 0.4), Gain([0.0; 3]));
        assert!(!Gain::of_cost(100.0, 100.0, 0.9).is_worth_it());
    }
}
