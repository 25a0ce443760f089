//! A prediction, as text.

use sintonia_model::forecast::{Forecast, LOOKED_AT, Row, Set};
use sintonia_model::made_of::{Ingredient, made_of, sum};
use sintonia_model::model::Uses;
use sintonia_model::predict::Figure;
use sintonia_model::run::RANKS;

use crate::fit::page::{Column, amount, drawing, figure, hanging, number, page, remarks, table};
use crate::fit::plot::others;
use crate::fit::symbol;
use crate::text::{head, percent, plural, tail};

/// Of more settings than this, only the first and the last are explained.
const EXPLAINED: usize = 3;
const NAME: usize = 40;
const FORMULA: usize = 60;

/// Everything that was predicted.
pub fn show(forecast: &Forecast, efficiency: f64, explain: bool) -> String {
    let screen = Screen(forecast);
    let mut sections = vec![screen.title(), screen.table(), screen.best(efficiency), screen.most()];
    sections.extend(if explain { screen.explanations() } else { Vec::new() });
    sections.extend([super::plot::of(forecast).map(drawing).unwrap_or_default(), screen.remarks()]);
    page(sections)
}

struct Screen<'a>(&'a Forecast<'a>);

impl Screen<'_> {
    fn title(&self) -> Vec<String> {
        let model = self.0.model;
        let name = if model.name == model.quantity.name { String::new() } else { format!("{}: ", model.name) };
        let formula = format!("{}({}) = {:.4} {}", symbol(model), model.names().join(", "), model.formula_at_home(), model.quantity.unit);
        let mut lines = vec![format!("{name}{} as predicted", model.quantity.name), String::new()];
        lines.extend(hanging(&formula, 6));
        if model.is_exchanged() {
            lines.push("  where it was measured; here, each part times what it costs over what it cost there".into());
        }
        lines
    }

    fn amount(&self, value: f64) -> String {
        amount(value, &self.0.model.quantity.unit)
    }

    fn table(&self) -> Vec<String> {
        let (model, rows) = (self.0.model, &self.0.rows);
        let others = (0..model.parameters.len()).filter(|place| model.parameters[*place].name != RANKS);
        let parameter = |place: usize| {
            let values = rows.iter().map(|row| number(row.setting[place])).collect();
            Column::numbers(head(&model.parameters[place].name, 16), values)
        };
        let processes = rows.iter().map(|row| row.processes.map(number).unwrap_or_default()).collect();
        let time = |value: f64| self.amount(value);
        let figures = |head: &str, of: &dyn Fn(&Row) -> Option<Figure>, show: &dyn Fn(f64) -> String| {
            Column::figures(head, &rows.iter().map(of).collect::<Vec<_>>(), show)
        };
        let quantity = if model.quantity.name == "time" { "time" } else { symbol(model) };
        table(others.map(parameter).chain([
            Column::numbers("processes", processes),
            figures(quantity, &|row| Some(row.seconds), &time),
            figures("speed-up", &|row| row.speedup, &|value| format!("{value:.2}")),
            figures("efficiency", &|row| row.efficiency, &percent),
            figures("cost", &|row| row.cost.filter(|_| model.quantity.unit == "s"), &time),
        ]))
    }

    /// The numbers of processes to choose.
    fn best(&self, efficiency: f64) -> Vec<String> {
        let line = |set: &Set| {
            let (best, with) = (set.best?, self.others(set));
            let falls = if best.still_falls { ", and more may be faster still" } else { "" };
            let share = percent(efficiency);
            let enough = match best.efficiency {
                Some(most) if best.still_enough => format!("up to {} processes and beyond", number(most[1])),
                Some(most) => format!("up to {} processes", figure(most, &number)),
                None => "with no number of processes".into(),
            };
            let fastest = format!("Fastest{with}: {} processes{falls}", figure(best.time, &number));
            Some([fastest, format!("Efficiency of at least {share}{with}: {enough}")])
        };
        self.0.sets.iter().filter_map(line).flatten().collect()
    }

    /// The values of the parameters that do not change, in words.
    fn others(&self, set: &Set) -> String {
        let others = others(self.0.model, &set.line);
        if others.is_empty() { others } else { format!(" for {others}") }
    }

    /// What limits the program, and up to where.
    fn most(&self) -> Vec<String> {
        let of_set = |set: &Set| {
            let parameter = &self.0.model.parameters[set.line.parameter].name;
            let until = |end: Option<Figure>, place: usize| match end {
                Some(end) => format!("up to {parameter} = {}", figure(end, &number)),
                None if place == 0 => format!("for every {parameter}"),
                None => "beyond".into(),
            };
            let share = |[first, last]: [f64; 2]| match [first, last].map(percent) {
                [first, last] if first == last => first,
                [first, last] => format!("{first} to {last}"),
            };
            let reigns = || set.reigns.iter();
            let mut lines = table([
                Column::texts("", reigns().enumerate().map(|(place, reign)| until(reign.until, place)).collect()),
                Column::texts("", reigns().map(|reign| tail(&reign.name, FORMULA)).collect()),
                Column::texts("", reigns().map(|reign| share(reign.shares)).collect()),
            ]);
            lines.iter_mut().take(1).for_each(|head| *head = format!("What takes most of the time{}", self.others(set)));
            lines
        };
        let one = self.0.rows.first().filter(|_| self.0.sets.is_empty()).and_then(|row| row.most.as_ref());
        if let Some((name, share)) = one.filter(|(_, share)| *share < 0.995) {
            return vec![format!("What takes most of the time: {}, {}", tail(name, FORMULA), percent(*share))];
        }
        // Where there is but one thing, nothing is to be told.
        let is_told = |set: &&Set| set.reigns.len() > 1 || set.reigns.iter().any(|reign| reign.shares[0].min(reign.shares[1]) < 0.995);
        self.0.sets.iter().filter(is_told).flat_map(of_set).collect()
    }

    /// The sum term by term, at the settings that were asked for or at both ends.
    fn explanations(&self) -> Vec<Vec<String>> {
        let rows = &self.0.rows;
        let chosen: Vec<&Row> = match &rows[..] {
            [first, .., last] if rows.len() > EXPLAINED => vec![first, last],
            all => all.iter().collect(),
        };
        chosen.into_iter().map(|row| self.explanation(row)).collect()
    }

    fn explanation(&self, row: &Row) -> Vec<String> {
        let model = self.0.model;
        let time = |value: f64| self.amount(value);
        let setting: Vec<String> =
            model.parameters.iter().zip(&row.setting).map(|(p, value)| format!("{} = {}", p.name, number(*value))).collect();
        let with = if setting.is_empty() { model.quantity.name.clone() } else { setting.join(", ") };
        let ingredients = made_of(model, self.0.predictor, &row.setting);
        let sum = sum(&ingredients);
        let each = |show: &dyn Fn(&Ingredient) -> String| ingredients.iter().map(show).collect::<Vec<String>>();
        let mut lines = vec![format!("{with}: {}", figure(row.seconds, &time))];
        let columns = table([
            Column::numbers("", each(&|one| if one.is_role { "at least".into() } else { percent(one.value[1] / sum) })),
            Column::texts("", each(&|one| tail(&one.name, NAME))),
            Column::figures("", &ingredients.iter().map(|one| Some(one.value)).collect::<Vec<_>>(), &time),
            Column::texts("", each(&|one| head(&one.formula, FORMULA))),
        ]);
        lines.extend(columns.into_iter().skip(1));
        let told = row.seconds[1];
        if model.uses == Uses::Whole && !model.is_exchanged() && (sum / told - 1.0).abs() > 0.01 {
            let text = format!(
                "These add up to {}. Other formulas explain what was measured as well; all of them together, each as likely as it is, give {}.",
                time(sum),
                time(told)
            );
            lines.extend(hanging(&text, 0));
        }
        lines
    }

    fn remarks(&self) -> Vec<String> {
        let (model, rows) = (self.0.model, &self.0.rows);
        let mut told: Vec<String> = Vec::new();
        for (place, parameter) in model.parameters.iter().enumerate() {
            let values = || rows.iter().map(|row| row.setting[place]);
            let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
            let (from, to) = (parameter.from, parameter.to);
            let beyond = (most / to).max(from / least);
            if beyond > 1.0 {
                told.push(format!("{} goes {beyond:.1} times beyond what was measured ({from} to {to})", parameter.name));
            }
        }
        let is_sure = |row: &Row| row.seconds[2] - row.seconds[0] <= 1e-9 * row.seconds[2];
        told.push(match rows.iter().all(is_sure) {
            true => "the formula was written without an error (error_percent), so there are no intervals".into(),
            false => "intervals hold 95 of 100 runs, if the program goes on as it did where it was measured".into(),
        });
        if let Some(base) = self.0.base.filter(|_| rows.iter().any(|row| row.speedup.is_some())) {
            let counted = if base == 1.0 { "1 process".into() } else { format!("{base} processes, which count as {base} without losses") };
            told.push(format!("speed-ups are over {counted}; another base is chosen with --base"));
        }
        if let Some(error) = model.error_percent() {
            told.push(format!("when it was fitted, the largest runs were predicted from the others with an error of {error:.1} %"));
        }
        if self.0.sets.len() == LOOKED_AT {
            told.push(format!("what to choose and what takes most is told of {} at most", plural(LOOKED_AT as u64, "combination")));
        }
        remarks(told.iter().chain(&model.notes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_model::forecast::Question;
    use sintonia_model::model::Model;
    use sintonia_model::predict::Predictor;
    use std::path::Path;

    fn shown(values: &[(&str, &[f64])], explain: bool) -> String {
        let text = "format = 1\n[model]\nname = \"lu\"\nformula = \"2e-9*n^3/p + 1e-4*p\"\n\
                    [[parameter]]\nname = \"n\"\nfrom = 100\nto = 1000\n[[parameter]]\nname = \"p\"\nfrom = 1\nto = 16\n";
        let model = Model::parse(text, Path::new("lu")).unwrap();
        let names = model.names();
        let predictor = Predictor::new(&model, &names);
        let parameters = values.iter().map(|(name, values)| (name.to_string(), values.to_vec())).collect();
        let question = Question { parameters, efficiency: 0.5, base: None };
        show(&Forecast::of(&model, &predictor, &question).unwrap(), 0.5, explain)
    }

    #[test]
    fn a_prediction_looks_like_this() {
        let expected = "\
lu: time as predicted

  T(n, p) = 2e-9*n^3/p + 0.0001*p s

     n  processes  time     speed-up  efficiency  cost
  2000          2   8.00 s    2.00    100 %       16.0 s
  2000        256  88.1 ms  181.61     71 %       22.6 s
  2000       1024   118 ms  135.57     13 %        121 s

Fastest for n = 2000: 383 [383, 417] processes
Efficiency of at least 50 % for n = 2000: up to 400 processes

What takes most of the time for n = 2000
  up to p = 400  2e-9*n^3/p  100 % to 53 %
  beyond         0.0001*p    52 % to 87 %

lu: time over p with n = 2000
";
        let shown = shown(&[("n", &[2000.0]), ("p", &[2.0, 256.0, 1024.0])], false);
        assert!(shown.starts_with(expected), "{shown}");
        assert!(shown.contains("p goes 64.0 times beyond what was measured (1 to 16)"), "{shown}");
    }

    #[test]
    fn an_explanation_adds_up_term_by_term() {
        let shown = shown(&[("n", &[1000.0]), ("p", &[100.0])], true);
        let expected = "\
What takes most of the time: 2e-9*n^3/p, 67 %

n = 1000, p = 100: 30.0 ms
  67 %  20.0 ms  2e-9*n^3/p
  33 %  10.0 ms  0.0001*p
";
        assert!(shown.contains(expected), "{shown}");
    }
}
