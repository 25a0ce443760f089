//! A prediction, as text.

use sintonia_formats::plot;
use sintonia_model::forecast::{Forecast, Row, Set};
use sintonia_model::model::{Model, Uses};
use sintonia_model::predict::{Figure, Predictor};
use sintonia_model::run::RANKS;

use crate::text::{head, percent, seconds, tail, wrapped};

const COLUMNS: usize = 100;
/// More settings than this are explained one by one only at the ends.
const EXPLAINED: usize = 3;
const NAME: usize = 40;

/// Everything that was predicted.
pub fn show(model: &Model, forecast: &Forecast, efficiency: f64, explain: bool) -> String {
    let screen = Screen { model, forecast };
    let mut sections = vec![screen.title(), screen.table(), screen.advice(efficiency)];
    sections.extend(if explain { screen.explanations() } else { Vec::new() });
    sections.extend([screen.drawing(), screen.remarks()]);
    let sections = sections.iter().filter(|lines| !lines.is_empty());
    sections.map(|lines| lines.iter().map(|line| format!("{}\n", line.trim_end())).collect::<String>()).collect::<Vec<_>>().join("\n")
}

struct Screen<'a> {
    model: &'a Model,
    forecast: &'a Forecast,
}

impl Screen<'_> {
    fn title(&self) -> Vec<String> {
        let symbol = crate::fit::symbol(self.model);
        let model = self.model;
        let formula = format!("{symbol}({}) = {} {}", model.names().join(", "), model.formula_at_home(), model.quantity.unit);
        let mut lines = vec![format!("{}: predicted {}", self.model.name, self.model.quantity.name), String::new()];
        lines.extend(hanging(&formula, 6));
        if model.is_exchanged() {
            lines.push("  where it was measured; here, each part times what it costs over what it cost there".into());
        }
        lines
    }

    fn figure(&self, figure: Figure) -> String {
        let value = |value: f64| match self.model.quantity.unit.as_str() {
            "s" => seconds(value),
            unit => format!("{value:.4} {unit}"),
        };
        format!("{:>9} [{}, {}]", value(figure[1]), value(figure[0]), value(figure[2]))
    }

    fn table(&self) -> Vec<String> {
        let others: Vec<usize> = (0..self.model.parameters.len()).filter(|place| self.model.parameters[*place].name != RANKS).collect();
        let heads: String = others.iter().map(|place| format!("{:>9} ", head(&self.model.parameters[*place].name, 9))).collect();
        let title = format!(
            "{heads}{:>7} {:>31}  {:>8} {:>10} {:>10}   takes most",
            "procs", "time, 95 of 100 runs", "speed-up", "efficiency", "cost"
        );
        let mut lines = vec![title];
        for row in &self.forecast.rows {
            let values: String = others.iter().map(|place| format!("{:>9} ", row.setting[*place])).collect();
            lines.push(head(&format!("{values}{}", self.row(row)), COLUMNS + 20));
        }
        lines
    }

    fn row(&self, row: &Row) -> String {
        let middle = |figure: Option<Figure>, show: &dyn Fn(f64) -> String| figure.map_or("-".into(), |figure| show(figure[1]));
        let processes = row.processes.map_or("-".into(), |processes| processes.to_string());
        let speedup = middle(row.speedup, &|value| format!("{value:.2}"));
        let (efficiency, cost) = (middle(row.efficiency, &percent), middle(row.cost, &seconds));
        let most = row.most.as_ref().map(|(name, share)| format!("{:>4} {}", percent(*share), tail(name, 32))).unwrap_or_default();
        format!("{processes:>7} {:>31}  {speedup:>8} {efficiency:>10} {cost:>10}   {most}", self.figure(row.seconds))
    }

    fn advice(&self, efficiency: f64) -> Vec<String> {
        self.forecast.sets.iter().flat_map(|set| self.of_set(set, efficiency)).collect()
    }

    fn of_set(&self, set: &Set, efficiency: f64) -> Vec<String> {
        let Some(line) = &set.line else { return Vec::new() };
        let parameter = &self.model.parameters[line.parameter].name;
        let others = self.model.parameters.iter().zip(&line.base).enumerate().filter(|(place, _)| *place != line.parameter);
        let others: Vec<String> = others.map(|(_, (parameter, value))| format!("{} = {value}", parameter.name)).collect();
        let with = if others.is_empty() { String::new() } else { format!(" for {}", others.join(", ")) };
        let mut lines = Vec::new();
        if let Some(best) = set.best {
            let falls = if best.still_falls { ", and more may be faster still" } else { "" };
            lines.push(format!("Fastest{with}: {} processes{falls}", best.time));
            let share = percent(efficiency);
            lines.push(match best.efficiency {
                Some(most) => format!("Efficiency of at least {share}{with}: up to {most} processes"),
                None => format!("Efficiency of at least {share}{with}: never"),
            });
        }
        for crossing in &set.crossings {
            lines.extend(hanging(
                &format!("From {parameter} = {:.4} on, {} takes more than {}", crossing.at, crossing.above, crossing.below),
                2,
            ));
        }
        lines.into_iter().map(|line| line.trim_start().to_owned()).collect()
    }

    /// The sum term by term, at the settings that were asked for or at both ends.
    fn explanations(&self) -> Vec<Vec<String>> {
        let names = self.model.names();
        let predictor = Predictor::new(self.model, &names);
        let rows = &self.forecast.rows;
        let chosen: Vec<&Row> = match &rows[..] {
            [first, .., last] if rows.len() > EXPLAINED => vec![first, last],
            all => all.iter().collect(),
        };
        chosen.into_iter().map(|row| self.explanation(&predictor, row)).collect()
    }

    fn explanation(&self, predictor: &Predictor, row: &Row) -> Vec<String> {
        let setting: Vec<String> =
            self.model.parameters.iter().zip(&row.setting).map(|(p, value)| format!("{} = {value}", p.name)).collect();
        let mut lines = vec![format!("{}: {}", setting.join(", "), self.figure(row.seconds).trim())];
        if self.model.uses == Uses::Whole {
            lines.extend(self.summands(row));
        }
        let contributions = predictor.contributions(&row.setting);
        let sum: f64 = contributions.iter().filter(|one| one.is_part).map(|one| one.seconds[1]).sum();
        if !contributions.is_empty() {
            lines.push(format!("  the sum of the parts is {}:", seconds(sum)));
        }
        for one in contributions {
            let share = if one.is_part { percent(one.seconds[1] / sum) } else { "role".into() };
            lines.push(format!("  {share:>5}  {:<NAME$} {:>32} = {}", tail(one.name, NAME), self.figure(one.seconds), one.term.formula));
        }
        lines
    }

    /// What the formula of the whole adds up.
    fn summands(&self, row: &Row) -> Vec<String> {
        let names = self.model.names();
        let summands = self.model.whole.as_ref().and_then(|whole| whole.curve.as_ref()).map(|curve| curve.terms()).unwrap_or_default();
        let value = |summand: &sintonia_model::curve::Summand| {
            let value = summand.term.evaluate(&sintonia_model::term::values(&names, &row.setting)).ok()?;
            let figure = summand.coefficient.map(|coefficient| coefficient * value);
            Some(format!("  {:>41}  {:.5e} * {}", self.figure(figure), summand.coefficient[1], summand.term))
        };
        summands.iter().filter_map(value).collect()
    }

    fn drawing(&self) -> Vec<String> {
        let screen = plot::Screen { rows: 10, ..plot::Screen::new(COLUMNS, crate::fit::plot::letters()) };
        let drawn = plot::Plot { residuals: Vec::new(), ..super::plot::of(self.model, self.forecast) };
        plot::text(&drawn, screen).lines().map(str::to_owned).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = Vec::new();
        for (place, parameter) in self.model.parameters.iter().enumerate() {
            let values = || self.forecast.rows.iter().map(|row| row.setting[place]);
            let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
            let (from, to) = (parameter.from, parameter.to);
            let beyond = (most / to).max(from / least);
            if beyond > 1.0 {
                remarks.push(format!("{} goes {beyond:.1} times beyond what was measured ({from} to {to})", parameter.name));
            }
        }
        if let Some(base) = self.forecast.base {
            let counted = if base == 1.0 {
                "one process".into()
            } else {
                format!("{base} processes, the fewest measured, counted as {base} times one")
            };
            remarks.push(format!("speed-ups are over {counted}"));
        }
        if let Some(error) = self.model.error_percent() {
            remarks.push(format!("when it was fitted, the largest runs were predicted from the others with an error of {error:.1} %"));
        }
        let lines: Vec<String> = remarks.iter().chain(&self.model.notes).flat_map(|remark| hanging(remark, 2)).collect();
        if lines.is_empty() { lines } else { [vec!["Keep in mind".to_owned()], lines].concat() }
    }
}

/// A text over as many lines as it needs, all but the first further to the right.
fn hanging(text: &str, by: usize) -> Vec<String> {
    let lines = wrapped(text, COLUMNS - 2 - by);
    lines.into_iter().enumerate().map(|(place, line)| format!("  {}{line}", " ".repeat(if place > 0 { by } else { 0 }))).collect()
}
