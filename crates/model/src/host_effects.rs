//! What the host adds to the time that the formulas give: waiting for cores, and other levels of memory.

use crate::curve::NORMAL_95_QUANTILE;
use crate::experiment::Experiment;
use crate::fitted_term::round_to_four_digits;
use crate::run::MeasuredRun;
use crate::working_set::WorkingSet;

/// What the host adds to the formulas.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostEffects {
    /// Waiting for cores in runs that had enough of them; `None` if it is not known.
    pub scheduling: Option<SchedulingTime>,
    /// The memory of a rank, and the caches.
    pub working_set: Option<WorkingSet>,
}

impl HostEffects {
    pub(crate) fn from_experiment(experiment: &Experiment) -> HostEffects {
        HostEffects {
            scheduling: SchedulingTime::from_runs(&experiment.runs),
            working_set: WorkingSet::from_runs(&experiment.parameters, &experiment.settings, &experiment.runs),
        }
    }
}

/// By how much waiting for cores lengthened runs, in percent of the time without it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SchedulingTime {
    /// The mean over the runs.
    pub mean_percent: f64,
    /// The standard deviation of a run.
    pub spread_percent: f64,
}

impl SchedulingTime {
    /// The waiting in runs in which it was not noticeable: a noticeable one is exceptional, and reported. `None` without such a run.
    pub(crate) fn from_runs(runs: &[MeasuredRun]) -> Option<SchedulingTime> {
        let usual = runs.iter().filter(|run| run.core_waits.is_none() && run.seconds > 0.0);
        let percent: Vec<f64> = usual.filter_map(|run| Some(100.0 * run.scheduling_s? / run.seconds)).collect();
        let count = percent.len() as f64;
        let mean = percent.iter().sum::<f64>() / count;
        let variance = percent.iter().map(|percent| (percent - mean).powi(2)).sum::<f64>() / (count - 1.0);
        // One run says nothing of the spread: the waiting itself is taken for it.
        let spread_percent = if percent.len() > 1 { variance.sqrt() } else { mean };
        (!percent.is_empty())
            .then(|| SchedulingTime { mean_percent: round_to_four_digits(mean), spread_percent: round_to_four_digits(spread_percent) })
    }

    /// The factor on the time of a run: low, middle and high.
    pub(crate) fn factors(self) -> [f64; 3] {
        let off = NORMAL_95_QUANTILE * self.spread_percent;
        [(self.mean_percent - off).max(0.0), self.mean_percent, self.mean_percent + off].map(|percent| 1.0 + percent / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunCoreWaits;

    fn run(scheduling_s: Option<f64>, statement: Option<&str>) -> MeasuredRun {
        let core_waits = statement.map(|statement| RunCoreWaits {
            statement: statement.into(),
            recorded_s: 9.0,
            is_removed: true,
            has_communication: true,
        });
        MeasuredRun { seconds: 2.0, scheduling_s, core_waits, ..MeasuredRun::default() }
    }

    #[test]
    fn scheduling_is_what_usual_runs_waited_for() {
        let runs = [run(Some(0.02), None), run(Some(0.06), None), run(Some(7.0), Some("8 ranks shared 2 cores.")), run(None, None)];
        let found = SchedulingTime::from_runs(&runs).unwrap();
        assert!((found.mean_percent - 2.0).abs() < 1e-12 && (found.spread_percent - 1.414).abs() < 1e-12, "{found:?}");
        let [low, middle, high] = found.factors();
        assert!(low == 1.0 && (middle - 1.02).abs() < 1e-12 && (high - 1.0477).abs() < 1e-4, "a run is never shorter: {low} {high}");
        assert_eq!(SchedulingTime::from_runs(&runs[2..]), None);
    }
}
