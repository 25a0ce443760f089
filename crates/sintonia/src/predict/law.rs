//! Predictions from a law instead of a model: Amdahl, Gustafson, granularity, what a message takes over a distance.

mod ask;
mod json;
mod plot;
mod screen;

use std::path::Path;

use sintonia_formats::plot::svg;
use sintonia_formula::{Interval, Values};
use sintonia_model::farm::Farm;
use sintonia_model::laws::tasks::{Estimate, Granularity};
use sintonia_model::laws::{Case, Law, Quantity};
use sintonia_model::predict::Figure;
use sintonia_recording::Recording;

use super::Arguments;
use crate::error::wrong_usage;
use crate::progress::Progress;
use crate::{Error, output};
use ask::Asked;

/// What may be anything above is computed with this, and what comes out as large may be anything above too.
const ENDLESS: f64 = 1e15;

/// The laws that speak of granularity.
const GRANULARITY: [&str; 2] = ["all-to-one-simple", "all-to-one-composite"];

/// What is told of all nodes together, in this order.
const FACTS: [Quantity; 7] = [
    Quantity::Granularity,
    Quantity::TimeAlone,
    Quantity::TimeLimit,
    Quantity::SpeedUpLimit,
    Quantity::EfficiencyLimit,
    Quantity::BestNodes,
    Quantity::NodesForEfficiency,
];

/// What a law says.
pub struct Answer {
    /// The law.
    pub law: &'static Law,
    /// Its formulas with the values in them.
    pub formulas: Vec<(Quantity, String)>,
    /// The symbol that changes from row to row.
    pub along: &'static str,
    /// What it says at each value.
    pub rows: Vec<Row>,
    /// What it says of ever more nodes, and of the numbers to choose.
    pub facts: Vec<(Quantity, Figure)>,
}

/// What a law says at one value.
pub struct Row {
    /// The value.
    pub at: f64,
    /// The time.
    pub seconds: Option<Figure>,
    /// What a message takes beyond its own length.
    pub latency: Option<Figure>,
    /// The speed-up.
    pub speedup: Option<Figure>,
    /// The speed-up as a share of the nodes.
    pub efficiency: Option<Figure>,
}

/// Where values come from.
pub enum Origin {
    /// A person.
    Told,
    /// A recording, and what was found in it.
    Recorded(String, Farm, Granularity),
}

/// Answers with the laws that were asked for.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let (efficiency, procs) = (arguments.efficiency, arguments.procs.as_deref());
    let one = |name: &str, values: &str| {
        let answer = ask::of(name, values, procs).and_then(|asked| answer(&asked, efficiency));
        answer.unwrap_or_else(|error| wrong_usage(error))
    };
    let (answers, origin) = match arguments {
        // Values have a sign of equality; a recording may have one in its name.
        Arguments { granularity: Some(text), .. } if !text.contains('=') || Path::new(text).exists() => recorded(text, procs, efficiency)?,
        Arguments { granularity: Some(values), .. } => (GRANULARITY.map(|name| one(name, values)).into(), Origin::Told),
        Arguments { amdahl: Some(values), .. } => (vec![one("amdahl", values)], Origin::Told),
        Arguments { gustafson: Some(values), .. } => (vec![one("gustafson", values)], Origin::Told),
        Arguments { law: Some(words), .. } if words.len() > 1 => (vec![one(&words[0], &words[1..].join(","))], Origin::Told),
        _ => wrong_usage("a model or a law is needed"),
    };
    show(arguments, &answers, &origin)
}

fn show(arguments: &Arguments, answers: &[Answer], origin: &Origin) -> Result<(), Error> {
    if let Some(file) = &arguments.plot {
        output::to_file(file, |out| out.write_all(svg(&plot::of(answers)).as_bytes()))?;
    }
    output::to_stdout(|out| match arguments.json {
        true => output::json_line(out, &json::Shown::of(answers, origin)),
        false => out.write_all(screen::show(answers, origin, arguments.efficiency).as_bytes()),
    })
}

/// The laws of granularity with what a recording says of its tasks.
fn recorded(path: &str, procs: Option<&str>, efficiency: f64) -> Result<(Vec<Answer>, Origin), Error> {
    let other = |error: String| Error::Other(format!("{path}: {error}"));
    let recording = Recording::open(Path::new(path))?;
    let progress = Progress::new("reading ranks", recording.header.ranks.len());
    let farm = Farm::of(&recording, &|| progress.step()).map_err(|error| other(error.to_string()))?;
    drop(progress);
    let found = farm.tasks.granularity().map_err(|error| other(error.to_string()))?;
    let exact = |value: f64| Estimate { value, between: None };
    let values = [("RM", found.computing), ("CM", found.overhead), ("G", found.granularity), ("M", exact(found.tasks as f64))];
    let answers = GRANULARITY.map(|name| {
        let answer = Asked::estimated(name, &values, procs).and_then(|asked| answer(&asked, efficiency));
        answer.unwrap_or_else(|error| wrong_usage(error))
    });
    Ok((answers.into(), Origin::Recorded(path.to_owned(), farm, found)))
}

fn answer(asked: &Asked, efficiency: f64) -> Result<Answer, String> {
    let figure = |of: Quantity, free: &[(&str, f64)]| -> Option<Figure> {
        let middle = exact(&asked.middle, of, free)?;
        if asked.middle == asked.around {
            return Some([middle; 3]);
        }
        let around = asked.around.at(of, free).ok()?;
        let high = if around.high() >= ENDLESS { f64::INFINITY } else { around.high() };
        Some([around.low().min(middle), middle, high.max(middle)])
    };
    let row = |at: &f64| {
        let free = [(asked.along, *at)];
        let [seconds, latency, speedup, efficiency] =
            [Quantity::Time, Quantity::Latency, Quantity::SpeedUp, Quantity::Efficiency].map(|of| figure(of, &free));
        Row { at: *at, seconds, latency, speedup, efficiency }
    };
    let rows: Vec<Row> = asked.values.iter().map(row).collect();
    if let Some(first) = rows.first().filter(|row| row.seconds.is_none() && row.speedup.is_none()) {
        let missing = asked.middle.at(Quantity::Time, &[(asked.along, first.at)]).err();
        return Err(missing.map_or_else(|| format!("{} has no value there", asked.middle.law().title), |error| error.to_string()));
    }
    let law = asked.middle.law();
    let fact = |of: Quantity| {
        let value = figure(of, &[("E", efficiency)])?;
        // Where nothing limits the speed-up, nothing brings the efficiency down, and the time comes to nothing.
        let is_limited = law.equation(Quantity::SpeedUpLimit).is_none() || figure(Quantity::SpeedUpLimit, &[]).is_some();
        (is_limited || !matches!(of, Quantity::EfficiencyLimit | Quantity::TimeLimit)).then_some((of, value))
    };
    Ok(Answer { law, formulas: formulas(&asked.middle), along: asked.along, rows, facts: FACTS.into_iter().filter_map(fact).collect() })
}

/// The value of a quantity, without the rounding that intervals need.
fn exact(case: &Case, of: Quantity, free: &[(&str, f64)]) -> Option<f64> {
    let formula = case.formula(of).ok()?;
    formula.evaluate(&free.iter().fold(Values::new(), |values, (name, value)| values.with(name, *value))).ok()
}

fn formulas(case: &Case) -> Vec<(Quantity, String)> {
    let shown = [Quantity::Time, Quantity::Latency, Quantity::SpeedUp, Quantity::Efficiency];
    shown.into_iter().filter_map(|of| Some((of, case.formula(of).ok()?.to_string()))).collect()
}

/// The interval of an estimate; without one, the value alone.
fn interval(estimate: &Estimate) -> Interval {
    let between = estimate.between.and_then(|(low, high)| Interval::new(low, high.min(ENDLESS).max(low)));
    between.unwrap_or_else(|| Interval::point(estimate.value))
}
