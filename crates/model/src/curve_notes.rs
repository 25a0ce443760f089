//! What a reader of a fitted formula must know: that it does not fit, where the growth changes, and what was left out.

use sintonia_fit::measurements::DataPoint;
use sintonia_fit::scaling::{ScalingModel, next_value};
use sintonia_text::quantity::{format_plural, format_seconds};

use crate::curve::FittedCurve;
use crate::fitted_term::round_to_four_digits;
use crate::run::RANKS_PARAMETER;

/// More runs that were left out are only counted.
const MAX_NAMED_RUNS: usize = 3;

/// What is to be said of a scaling model.
struct CurveNotes<'a> {
    model: &'a ScalingModel,
    idle_ranks: usize,
    /// The measured settings.
    settings: &'a [Vec<f64>],
    unit: &'a str,
}

impl FittedCurve {
    /// Sentences about the formula. `settings` are those measured, and `unit` is that of the values.
    pub fn notes(&self, settings: &[Vec<f64>], unit: &str) -> Vec<String> {
        let Some((model, idle_ranks)) = self.scaling_model() else { return Vec::new() };
        let notes = CurveNotes { model, idle_ranks, settings, unit };
        [notes.misfit(), notes.change(), notes.disturbed(), notes.outliers()].into_iter().flatten().collect()
    }

    /// The same about a formula whose form was given: that it does not fit.
    pub fn given_form_notes(&self) -> Vec<String> {
        let contradicted = self.scaling_model().filter(|(model, _)| model.is_contradicted());
        let note = |(model, _): (&ScalingModel, usize)| {
            let percent = model.error_percent.in_sample;
            format!("the given form does not fit: it differs from the measurements by {percent:.0} % on average, more than they scatter")
        };
        contradicted.map(note).into_iter().collect()
    }
}

impl CurveNotes<'_> {
    fn misfit(&self) -> Option<String> {
        let percent = self.model.error_percent.in_sample;
        let (tried, runs) = (self.model.tried_forms(), self.telling_runs());
        if self.model.is_contradicted() {
            let predictions = match self.model.average {
                Some(_) => "Predictions come from all forms that explain the measurements.",
                None => "The intervals of predictions allow for that.",
            };
            Some(format!(
                "no formula fits: the one displayed differs from the measurements by {percent:.0} % on average. Tried were {tried}. \
                 {predictions} Runs with {runs} would tell more"
            ))
        } else if self.model.is_undecided() {
            Some(format!(
                "no formula fits, or the measurements scatter: the one displayed differs from them by {percent:.0} % on average. Tried were \
                 {tried}. Repetitions would tell, and runs with {runs}"
            ))
        } else {
            None
        }
    }

    /// Values of each parameter that were not measured: within its widest gap, and beyond.
    fn telling_runs(&self) -> String {
        let values = |(index, name): (usize, &String)| {
            let mut values: Vec<f64> = self.settings.iter().map(|setting| setting[index]).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            let gaps = values.windows(2).map(|pair| (pair[1] / pair[0], (pair[0] * pair[1]).sqrt()));
            let widest = gaps.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, middle)| {
                let are_integers = values.iter().all(|value| value.fract() == 0.0);
                if are_integers { middle.round() } else { round_to_four_digits(middle) }
            });
            let new = widest.into_iter().filter(|value| !values.contains(value)).chain([next_value(&values)]);
            format!("{name} = {}", new.map(|value| value.to_string()).collect::<Vec<_>>().join(" or "))
        };
        self.model.parameters.iter().enumerate().map(values).collect::<Vec<_>>().join(", or ")
    }

    fn change(&self) -> Option<String> {
        let name = &self.model.parameters[0];
        let idle = if name == RANKS_PARAMETER { self.idle_ranks as f64 } else { 0.0 };
        let cut = self.model.average.as_ref()?.change_point()? + idle;
        let values = || self.settings.iter().map(|setting| setting[0]);
        let below = values().filter(|x| *x <= cut).max_by(f64::total_cmp)?;
        let above = values().filter(|x| *x > cut).min_by(f64::total_cmp)?;
        Some(format!("the growth changes between {name} = {below} and {above}; predictions beyond follow what was measured above"))
    }

    fn disturbed(&self) -> Option<String> {
        let runs = &self.model.disturbed;
        let named: Vec<String> = runs.iter().take(MAX_NAMED_RUNS).map(|run| self.describe(run)).collect();
        let more = runs.len().saturating_sub(MAX_NAMED_RUNS);
        let more = if more > 0 { format!(", and {}", format_plural(more as u64, "more value")) } else { String::new() };
        (!runs.is_empty())
            .then(|| format!("left out, because something else on the machine seems to have slowed it down: {}{more}", named.join(", ")))
    }

    /// A value and its setting.
    fn describe(&self, run: &DataPoint) -> String {
        let setting = self.model.parameters.iter().zip(&run.at).map(|(name, value)| {
            let idle = if name == RANKS_PARAMETER { self.idle_ranks as f64 } else { 0.0 };
            format!("{name} = {}", value + idle)
        });
        let values = run.values.iter().map(|value| match self.unit {
            "s" => format_seconds(*value),
            unit => format!("{} {unit}", round_to_four_digits(*value)).trim_end().to_owned(),
        });
        format!("{} at {}", values.collect::<Vec<_>>().join(" and "), setting.collect::<Vec<_>>().join(", "))
    }

    fn outliers(&self) -> Option<String> {
        let count = self.model.noise.outliers;
        (count > 0).then(|| {
            let values = format_plural(count as u64, "value");
            format!("{values} far from the other repetitions: at these settings, the median counts instead of the mean")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(parameters: &[&str], settings: &[Vec<f64>], values: &[f64], idle_ranks: usize) -> Vec<String> {
        let parameters: Vec<String> = parameters.iter().map(ToString::to_string).collect();
        FittedCurve::fit_runs(&parameters, settings, values, idle_ranks).unwrap().notes(settings, "s")
    }

    /// Rises and falls, as no sum of terms with positive coefficients does.
    fn zigzag(x: f64) -> f64 {
        if x.rem_euclid(2.0) < 1.0 { 1.0 } else { 3.0 }
    }

    #[test]
    fn what_was_tried_and_which_runs_would_tell_is_said_where_no_formula_fits() {
        let settings: Vec<Vec<f64>> = (1..=8).flat_map(|n| [vec![f64::from(n)], vec![f64::from(n)]]).collect();
        let values: Vec<f64> = settings.iter().map(|x| zigzag(x[0])).collect();
        let found = notes(&["n"], &settings, &values, 0);
        assert!(found[0].starts_with("no formula fits: the one displayed differs from the measurements by "), "{found:?}");
        assert!(found[0].contains(". Tried were sums of up to three terms ") && found[0].contains("a step"), "{found:?}");
        assert!(found[0].ends_with("Runs with n = 9 would tell more"), "{found:?}");
    }

    #[test]
    fn the_formula_of_workers_is_no_exception() {
        let settings: Vec<Vec<f64>> = (2..=9).flat_map(|p| [vec![f64::from(p)], vec![f64::from(p)]]).collect();
        let values: Vec<f64> = settings.iter().map(|x| zigzag(x[0])).collect();
        let found = notes(&["p"], &settings, &values, 1);
        assert!(found.iter().any(|note| note.starts_with("no formula fits")), "{found:?}");
    }

    #[test]
    fn so_is_no_table_that_is_too_large_to_average_over_forms() {
        let settings: Vec<Vec<f64>> = (1..=40).flat_map(|n| [vec![f64::from(n)], vec![f64::from(n)]]).collect();
        let values: Vec<f64> = settings.iter().map(|x| zigzag(x[0])).collect();
        let found = notes(&["n"], &settings, &values, 0);
        assert!(found[0].starts_with("no formula fits"), "{found:?}");
        let smooth: Vec<f64> = settings.iter().map(|x| 2.0 * x[0] + 1.0).collect();
        assert_eq!(notes(&["n"], &settings, &smooth, 0), Vec::<String>::new());
    }

    #[test]
    fn a_run_that_is_left_out_is_named_with_its_value() {
        let settings: Vec<Vec<f64>> = [100.0, 200.0, 300.0, 400.0, 500.0].iter().flat_map(|n| vec![vec![*n]; 3]).collect();
        let noise = [1.0, 1.01, 0.99].into_iter().cycle();
        let mut values: Vec<f64> = settings.iter().zip(noise).map(|(x, noise)| 1e-6 * x[0].powi(2) * noise).collect();
        values[10] *= 2.0;
        let found = notes(&["n"], &settings, &values, 0);
        assert_eq!(found, ["left out, because something else on the machine seems to have slowed it down: 323 ms at n = 400"]);
    }
}
