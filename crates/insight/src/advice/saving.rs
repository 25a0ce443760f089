//! What a change saves: a range, because a recording does not tell everything about the changed run.

use serde::{Serialize, Serializer};

/// By what share of itself a saving usually differs at most from what the replay finds: a replay cannot know what exactly is changed. Nine of
/// ten savings of the programs in `tests/twins` lie within the range that this makes (docs/advice-corpus.md).
const METHOD_ERROR: f64 = 0.15;

/// How many standard deviations two runs may differ by.
const RUN_DEVIATIONS: f64 = 2.0;

/// Nanoseconds that a change saves, under cautious, likely and favourable assumptions about what was not recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saving {
    /// Under cautious assumptions; the change may even cost time.
    pub low_ns: i64,
    /// Under the most likely assumptions.
    pub likely_ns: i64,
    /// Under favourable assumptions.
    pub high_ns: i64,
}

impl Saving {
    /// Nanoseconds saved under cautious, likely and favourable assumptions with the cores as recorded, and under likely ones without the
    /// effect of missing cores. That effect is only known up to the difference, so half of it is likely.
    pub(super) fn between([cautious, likely, favourable]: [i64; 3], with_cores: i64) -> Saving {
        let ends = [cautious, likely, favourable];
        let (low, high) = (ends.into_iter().fold(i64::MAX, i64::min), ends.into_iter().fold(i64::MIN, i64::max));
        let effect = with_cores - likely;
        Saving { low_ns: low + effect.min(0), likely_ns: likely + effect / 2, high_ns: high + effect.max(0) }
    }

    /// The same if it is measured in other runs than the recorded one, which took `run_ns`; `variation` is the standard deviation of the time
    /// of a run, as a share of it.
    pub(super) fn of_other_runs(self, run_ns: i64, variation: f64) -> Saving {
        let remaining_ns = (run_ns - self.likely_ns).max(0) as f64;
        let between_runs_ns = RUN_DEVIATIONS * std::f64::consts::SQRT_2 * variation * remaining_ns;
        let margin_ns = (METHOD_ERROR * self.likely_ns.abs() as f64 + between_runs_ns) as i64;
        Saving { low_ns: self.low_ns - margin_ns, likely_ns: self.likely_ns, high_ns: (self.high_ns + margin_ns).min(run_ns) }
    }

    /// A saving without uncertainty.
    pub(crate) fn exactly(ns: i64) -> Saving {
        Saving { low_ns: ns, likely_ns: ns, high_ns: ns }
    }

    /// The same in seconds.
    pub(crate) fn exactly_seconds(seconds: f64) -> Saving {
        Saving::exactly((seconds * 1e9).round() as i64)
    }

    /// Under cautious assumptions, in seconds.
    pub fn low_s(&self) -> f64 {
        self.low_ns as f64 * 1e-9
    }

    /// Under the most likely assumptions, in seconds.
    pub fn likely_s(&self) -> f64 {
        self.likely_ns as f64 * 1e-9
    }

    /// Under favourable assumptions, in seconds.
    pub fn high_s(&self) -> f64 {
        self.high_ns as f64 * 1e-9
    }
}

/// The fields of a saving in JSON; `null` if it is not known.
pub(super) fn serialize<S: Serializer>(saving: &Option<Saving>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Fields {
        saves_s: Option<f64>,
        saves_low_s: Option<f64>,
        saves_high_s: Option<f64>,
    }
    let [saves_s, saves_low_s, saves_high_s] = [Saving::likely_s, Saving::low_s, Saving::high_s].map(|end| saving.as_ref().map(end));
    Fields { saves_s, saves_low_s, saves_high_s }.serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_runs_differ_and_a_replay_is_not_exact() {
        let saving = Saving { low_ns: 300, likely_ns: 400, high_ns: 450 }.of_other_runs(1000, 0.01);
        // 15 % of 400, and twice the standard deviation of the difference of two runs of 600.
        assert_eq!(saving, Saving { low_ns: 224, likely_ns: 400, high_ns: 526 });
        assert_eq!(Saving::exactly(900).of_other_runs(1000, 0.2).high_ns, 1000, "no more than the run");
    }
}
