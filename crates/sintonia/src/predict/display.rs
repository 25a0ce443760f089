//! Prints a prediction as text.

use sintonia_model::breakdown::{TimeComponent, breakdown, total};
use sintonia_model::forecast::{Forecast, MAX_SWEEPS, PredictionRow, SweepForecast};
use sintonia_model::model::PredictionBasis;
use sintonia_model::predict::EstimateRange;
use sintonia_model::run::RANKS_PARAMETER;
use sintonia_model::working_set::CacheCrossing;

use crate::fit::plot::fixed_parameters;
use crate::fit::quantity_symbol;
use crate::text::{binary_bytes, format_percent, format_plural, truncate_end, truncate_start};
use crate::text_layout::{
    TextColumn, estimate_text, hanging_indent, join_sections, remarks, render_plot, render_table, short_number, with_unit,
};

/// With more settings than this, only the first and the last are explained.
const MAX_EXPLAINED: usize = 3;
const NAME_WIDTH: usize = 40;
const FORMULA_WIDTH: usize = 60;

/// The size of a cache in the units of data sheets: `48 KiB`, `1280 KiB`, `2 MiB`.
fn cache_size(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) { binary_bytes(bytes) } else { format!("{} KiB", bytes >> 10) }
}

/// All predictions.
pub(super) fn render(forecast: &Forecast, efficiency: f64, explain: bool) -> String {
    let screen = ForecastText(forecast);
    let mut sections = vec![screen.title(), screen.table(), screen.best(efficiency), screen.dominant_ranges()];
    sections.extend(if explain { screen.explanations() } else { Vec::new() });
    sections.extend([super::plot::plot_forecast(forecast).map(render_plot).unwrap_or_default(), screen.remarks()]);
    join_sections(sections)
}

struct ForecastText<'a>(&'a Forecast<'a>);

impl ForecastText<'_> {
    fn title(&self) -> Vec<String> {
        let model = self.0.model;
        let name = if model.name == model.quantity.name { String::new() } else { format!("{}: ", model.name) };
        let formula = format!(
            "{}({}) = {:.4} {}",
            quantity_symbol(model),
            model.parameter_names().join(", "),
            model.reference_formula(),
            model.quantity.unit
        );
        let mut lines = vec![format!("{name}predicted {}", model.quantity.name), String::new()];
        lines.extend(hanging_indent(&formula, 6));
        if model.is_on_other_machine() {
            lines.push("  on the measured machine; predictions have the costs of this one".into());
        }
        lines
    }

    fn amount(&self, value: f64) -> String {
        with_unit(value, &self.0.model.quantity.unit)
    }

    fn table(&self) -> Vec<String> {
        let (model, rows) = (self.0.model, &self.0.rows);
        let others = (0..model.parameters.len()).filter(|index| model.parameters[*index].name != RANKS_PARAMETER);
        let parameter = |index: usize| {
            let values = rows.iter().map(|row| short_number(row.setting[index])).collect();
            TextColumn::right(truncate_end(&model.parameters[index].name, 16), values)
        };
        let processes = rows.iter().map(|row| row.processes.map(short_number).unwrap_or_default()).collect();
        let time = |value: f64| self.amount(value);
        let figures = |head: &str, of: &dyn Fn(&PredictionRow) -> Option<EstimateRange>, show: &dyn Fn(f64) -> String| {
            TextColumn::estimates(head, &rows.iter().map(of).collect::<Vec<_>>(), show)
        };
        let quantity = if model.quantity.name == "time" { "time" } else { quantity_symbol(model) };
        render_table(others.map(parameter).chain([
            TextColumn::right("processes", processes),
            figures(quantity, &|row| Some(row.seconds), &time),
            figures("speed-up", &|row| row.speedup, &|value| format!("{value:.2}")),
            figures("efficiency", &|row| row.efficiency, &format_percent),
            figures("cost", &|row| row.cost.filter(|_| model.quantity.unit == "s"), &time),
        ]))
    }

    /// Numbers of processes to choose.
    fn best(&self, efficiency: f64) -> Vec<String> {
        let line = |set: &SweepForecast| {
            let (best, with) = (set.best?, self.fixed_parameters_suffix(set));
            let falls = if best.still_falls { " (more may be faster)" } else { "" };
            let share = format_percent(efficiency);
            let enough = match best.efficiency {
                Some(most) if best.still_enough => format!("up to {} processes and beyond", short_number(most[1])),
                Some(most) => format!("up to {} processes", estimate_text(most, &short_number)),
                None => "never".into(),
            };
            let fastest = format!("Fastest{with}: {} processes{falls}", estimate_text(best.time, &short_number));
            Some([fastest, format!("Efficiency of at least {share}{with}: {enough}")])
        };
        self.0.sweeps.iter().filter_map(line).flatten().collect()
    }

    /// The fixed parameters, as text.
    fn fixed_parameters_suffix(&self, set: &SweepForecast) -> String {
        let others = fixed_parameters(self.0.model, &set.sweep);
        if others.is_empty() { others } else { format!(" for {others}") }
    }

    /// The dominant components, and up to where.
    fn dominant_ranges(&self) -> Vec<String> {
        let of_set = |set: &SweepForecast| {
            let parameter = &self.0.model.parameters[set.sweep.parameter].name;
            let until = |end: Option<EstimateRange>, index: usize| match end {
                Some(end) => format!("up to {parameter} = {}", estimate_text(end, &short_number)),
                None if index == 0 => format!("for every {parameter}"),
                None => "beyond".into(),
            };
            let share = |[first, last]: [f64; 2]| match [first, last].map(format_percent) {
                [first, last] if first == last => first,
                [first, last] => format!("{first} to {last}"),
            };
            let ranges = || set.dominant_ranges.iter();
            let mut lines = render_table([
                TextColumn::left("", ranges().enumerate().map(|(index, range)| until(range.crossover, index)).collect()),
                TextColumn::left("", ranges().map(|range| truncate_start(&range.name, FORMULA_WIDTH)).collect()),
                TextColumn::left("", ranges().map(|range| share(range.shares)).collect()),
            ]);
            lines.iter_mut().take(1).for_each(|head| *head = format!("Dominant component{}", self.fixed_parameters_suffix(set)));
            lines
        };
        let one = self.0.rows.first().filter(|_| self.0.sweeps.is_empty()).and_then(|row| row.dominant.as_ref());
        if let Some((name, share)) = one.filter(|(_, share)| *share < 0.995) {
            return vec![format!("Dominant component: {}, {}", truncate_start(name, FORMULA_WIDTH), format_percent(*share))];
        }
        // A single component needs no line.
        let is_told = |set: &&SweepForecast| {
            set.dominant_ranges.len() > 1 || set.dominant_ranges.iter().any(|range| range.shares[0].min(range.shares[1]) < 0.995)
        };
        self.0.sweeps.iter().filter(is_told).flat_map(of_set).collect()
    }

    /// The terms of the sum, at the requested settings or at both ends.
    fn explanations(&self) -> Vec<Vec<String>> {
        let rows = &self.0.rows;
        let chosen: Vec<&PredictionRow> = match &rows[..] {
            [first, .., last] if rows.len() > MAX_EXPLAINED => vec![first, last],
            all => all.iter().collect(),
        };
        chosen.into_iter().map(|row| self.explanation(row)).collect()
    }

    fn explanation(&self, row: &PredictionRow) -> Vec<String> {
        let model = self.0.model;
        let time = |value: f64| self.amount(value);
        let setting: Vec<String> =
            model.parameters.iter().zip(&row.setting).map(|(p, value)| format!("{} = {}", p.name, short_number(*value))).collect();
        let with = if setting.is_empty() { model.quantity.name.clone() } else { setting.join(", ") };
        let components = breakdown(model, self.0.predictor, &row.setting);
        let sum = total(&components);
        let each = |show: &dyn Fn(&TimeComponent) -> String| components.iter().map(show).collect::<Vec<String>>();
        let mut lines = vec![format!("{with}: {}", estimate_text(row.seconds, &time))];
        let columns = render_table([
            TextColumn::right("", each(&|one| if one.is_role { "at least".into() } else { format_percent(one.value[1] / sum) })),
            TextColumn::left("", each(&|one| truncate_start(&one.name, NAME_WIDTH))),
            TextColumn::estimates("", &components.iter().map(|one| Some(one.value)).collect::<Vec<_>>(), &time),
            TextColumn::left("", each(&|one| truncate_end(&one.formula, FORMULA_WIDTH))),
        ]);
        lines.extend(columns.into_iter().skip(1));
        lines.extend(self.scheduling().iter().flat_map(|text| hanging_indent(text, 0)));
        let predicted = row.seconds[1];
        if model.uses == PredictionBasis::Whole && !model.is_on_other_machine() && (sum / predicted - 1.0).abs() > 0.01 {
            let text = format!(
                "These add up to {}. Other formulas explain the measurements as well; their weighted average gives {}.",
                time(sum),
                time(predicted)
            );
            lines.extend(hanging_indent(&text, 0));
        }
        lines
    }

    /// The caches that are crossed between the runs and the predictions: for each the first place.
    fn cache_notes(&self) -> Vec<String> {
        let mut crossings: Vec<&CacheCrossing> = Vec::new();
        for crossing in self.0.rows.iter().flat_map(|row| &row.cache_crossings) {
            if !crossings.iter().any(|known| known.cache == crossing.cache && known.is_left == crossing.is_left) {
                crossings.push(crossing);
            }
        }
        let note = |crossing: &CacheCrossing| {
            let place = self.0.model.parameters.iter().zip(&crossing.at).map(|(p, at)| format!("{} = {}", p.name, short_number(*at)));
            let (cache, size, slowdown) = (&crossing.cache, cache_size(crossing.bytes), crossing.slowdown);
            let place = place.collect::<Vec<_>>().join(", ");
            if crossing.is_left {
                format!(
                    "crosses the {cache} cache of {size} at {place}: the data of a rank fits into it in all runs and not beyond, where computation \
                     may take up to {slowdown:.1} times as long; the intervals include that"
                )
            } else {
                format!(
                    "crosses the {cache} cache of {size} at {place}: the data of a rank fits into it there and in no run, so computation may take \
                     as little as {} of the time; the intervals include that",
                    format_percent(1.0 / slowdown)
                )
            }
        };
        crossings.into_iter().map(note).collect()
    }

    /// What waiting for cores adds.
    fn scheduling(&self) -> Option<String> {
        let time = self.0.model.host_effects.scheduling?;
        Some(format!(
            "Waiting for cores adds {:.2} % to the time on average, with a standard deviation of {:.2} %, as in the runs.",
            time.mean_percent, time.spread_percent
        ))
    }

    fn remarks(&self) -> Vec<String> {
        let (model, rows) = (self.0.model, &self.0.rows);
        let mut lines: Vec<String> = Vec::new();
        for (index, parameter) in model.parameters.iter().enumerate() {
            let values = || rows.iter().map(|row| row.setting[index]);
            let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
            let (from, to) = (parameter.from, parameter.to);
            let beyond = (most / to).max(from / least);
            if beyond > 1.0 {
                lines.push(format!("{} is up to {beyond:.1} times outside the measured range ({from} to {to})", parameter.name));
            }
        }
        let is_sure = |row: &PredictionRow| row.seconds[2] - row.seconds[0] <= 1e-9 * row.seconds[2];
        lines.push(match rows.iter().all(is_sure) {
            true => "the formula has no error_percent, so there are no intervals".into(),
            false => "intervals cover 95 % of runs, provided that the measured scaling continues".into(),
        });
        if let Some(base) = self.0.speedup_base.filter(|_| rows.iter().any(|row| row.speedup.is_some())) {
            let counted = if base == 1.0 { "1 process".into() } else { format!("{base} processes, taken as fully efficient") };
            lines.push(format!("speed-ups are relative to {counted} (see --base)"));
        }
        lines.extend(self.cache_notes());
        if let Some(error) = model.error_percent() {
            lines.push(format!("in validation, the largest runs were predicted from the others with an error of {error:.1} %"));
        }
        if self.0.sweeps.len() == MAX_SWEEPS {
            lines.push(format!(
                "best numbers of processes and dominant components are shown for at most {}",
                format_plural(MAX_SWEEPS as u64, "combination")
            ));
        }
        remarks(lines.iter().chain(&model.notes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_model::forecast::PredictionQuery;
    use sintonia_model::model::PerformanceModel;
    use sintonia_model::predict::Predictor;
    use std::path::Path;

    fn shown(values: &[(&str, &[f64])], explain: bool) -> String {
        let text = "format = 1\n[model]\nname = \"lu\"\nformula = \"2e-9*n^3/p + 1e-4*p\"\n\
                    [[parameter]]\nname = \"n\"\nfrom = 100\nto = 1000\n[[parameter]]\nname = \"p\"\nfrom = 1\nto = 16\n";
        let model = PerformanceModel::parse(text, Path::new("lu")).unwrap();
        let names = model.parameter_names();
        let predictor = Predictor::new(&model, &names);
        let parameters = values.iter().map(|(name, values)| (name.to_string(), values.to_vec())).collect();
        let question = PredictionQuery { parameters, efficiency: 0.5, speedup_base: None };
        render(&Forecast::new(&model, &predictor, &question).unwrap(), 0.5, explain)
    }

    #[test]
    fn a_prediction_looks_like_this() {
        let expected = "\
lu: predicted time

  T(n, p) = 2e-9*n^3/p + 0.0001*p s

     n  processes  time     speed-up  efficiency  cost
  2000          2   8.00 s    2.00    100 %       16.0 s
  2000        256  88.1 ms  181.61     71 %       22.6 s
  2000       1024   118 ms  135.57     13 %        121 s

Fastest for n = 2000: 383 [383, 417] processes
Efficiency of at least 50 % for n = 2000: up to 400 processes

Dominant component for n = 2000
  up to p = 400  2e-9*n^3/p  100 % to 53 %
  beyond         0.0001*p    52 % to 87 %

lu: time over p with n = 2000
";
        let shown = shown(&[("n", &[2000.0]), ("p", &[2.0, 256.0, 1024.0])], false);
        assert!(shown.starts_with(expected), "{shown}");
        assert!(shown.contains("p is up to 64.0 times outside the measured range (1 to 16)"), "{shown}");
    }

    #[test]
    fn an_explanation_adds_up_term_by_term() {
        let shown = shown(&[("n", &[1000.0]), ("p", &[100.0])], true);
        let expected = "\
Dominant component: 2e-9*n^3/p, 67 %

n = 1000, p = 100: 30.0 ms
  67 %  20.0 ms  2e-9*n^3/p
  33 %  10.0 ms  0.0001*p
";
        assert!(shown.contains(expected), "{shown}");
    }
}
