//! Predictions from a law instead of a model: Amdahl, Gustafson, granularity, message times.

mod display;
mod json;
mod law_query;
mod plot;

use std::path::Path;

use sintonia_formats::plot::render_svg;
use sintonia_formula::{Interval, SymbolValues};
use sintonia_model::laws::task_times::{MeanEstimate, TaskGranularity};
use sintonia_model::laws::{LawInstance, LawQuantity, PerformanceLaw};
use sintonia_model::master_worker::MasterWorkerRun;
use sintonia_model::predict::EstimateRange;
use sintonia_recording::Recording;

use super::PredictArgs;
use crate::error::usage_error;
use crate::progress::ProgressBar;
use crate::{Error, output};
use law_query::LawQuery;

/// Stands in for infinity in interval arithmetic; results at least as large are infinite.
const EFFECTIVELY_INFINITE: f64 = 1e15;

/// The granularity laws.
const GRANULARITY_LAWS: [&str; 2] = ["all-to-one-simple", "all-to-one-composite"];

/// Reported quantities that do not depend on the row, in this order.
const REPORTED_QUANTITIES: [LawQuantity; 7] = [
    LawQuantity::Granularity,
    LawQuantity::SerialTime,
    LawQuantity::TimeLimit,
    LawQuantity::SpeedUpLimit,
    LawQuantity::EfficiencyLimit,
    LawQuantity::BestNodes,
    LawQuantity::NodesForEfficiency,
];

/// The evaluation of a law.
pub(super) struct LawAnswer {
    /// The law.
    pub law: &'static PerformanceLaw,
    /// Its formulas with the values inserted.
    pub formulas: Vec<(LawQuantity, String)>,
    /// The symbol that varies from row to row.
    pub variable: &'static str,
    /// The results at each value.
    pub rows: Vec<LawRow>,
    /// Limits and numbers of nodes to choose.
    pub facts: Vec<(LawQuantity, EstimateRange)>,
}

/// The results at one value.
pub(super) struct LawRow {
    /// The value.
    pub at: f64,
    /// The time.
    pub seconds: Option<EstimateRange>,
    /// The latency of a message.
    pub latency: Option<EstimateRange>,
    /// The speed-up.
    pub speedup: Option<EstimateRange>,
    /// The parallel efficiency.
    pub efficiency: Option<EstimateRange>,
}

/// Where values come from.
pub(super) enum ValueOrigin {
    /// The command line.
    Given,
    /// A recording, with what was found in it.
    Recorded(String, MasterWorkerRun, TaskGranularity),
}

/// Evaluates the requested laws.
pub(super) fn run(args: &PredictArgs) -> Result<(), Error> {
    let (efficiency, procs) = (args.efficiency, args.procs.as_deref());
    let one = |name: &str, values: &str| {
        let answer = law_query::parse(name, values, procs).and_then(|query| evaluate_law(&query, efficiency));
        answer.unwrap_or_else(|error| usage_error(error))
    };
    let (answers, origin) = match args {
        // Values contain an equals sign, but so may the name of a recording.
        PredictArgs { granularity: Some(text), .. } if !text.contains('=') || Path::new(text).exists() => {
            evaluate_recording(text, procs, efficiency)?
        }
        PredictArgs { granularity: Some(values), .. } => (GRANULARITY_LAWS.map(|name| one(name, values)).into(), ValueOrigin::Given),
        PredictArgs { amdahl: Some(values), .. } => (vec![one("amdahl", values)], ValueOrigin::Given),
        PredictArgs { gustafson: Some(values), .. } => (vec![one("gustafson", values)], ValueOrigin::Given),
        PredictArgs { law: Some(words), .. } if words.len() > 1 => (vec![one(&words[0], &words[1..].join(","))], ValueOrigin::Given),
        _ => usage_error("a model or a law is required"),
    };
    print(args, &answers, &origin)
}

fn print(args: &PredictArgs, answers: &[LawAnswer], origin: &ValueOrigin) -> Result<(), Error> {
    if let Some(file) = &args.plot {
        output::write_file(file, |out| out.write_all(render_svg(&plot::plot_answers(answers)).as_bytes()))?;
    }
    output::write_stdout(|out| match args.json {
        true => output::write_json_line(out, &json::LawAnswersJson::new(answers, origin)),
        false => out.write_all(display::render(answers, origin, args.efficiency).as_bytes()),
    })
}

/// Evaluates the granularity laws with the task times of a recording.
fn evaluate_recording(path: &str, procs: Option<&str>, efficiency: f64) -> Result<(Vec<LawAnswer>, ValueOrigin), Error> {
    let other = |error: String| Error::Other(format!("{path}: {error}"));
    let recording = Recording::open(Path::new(path))?;
    let progress = ProgressBar::new("reading ranks", recording.header.ranks.len());
    let master_worker = MasterWorkerRun::from_recording(&recording, &|| progress.step()).map_err(|error| other(error.to_string()))?;
    drop(progress);
    let found = master_worker.tasks.granularity().map_err(|error| other(error.to_string()))?;
    let exact = |value: f64| MeanEstimate { value, interval: None };
    let values = [("RM", found.computing), ("CM", found.overhead), ("G", found.granularity), ("M", exact(found.tasks as f64))];
    let answers = GRANULARITY_LAWS.map(|name| {
        let answer = LawQuery::from_estimates(name, &values, procs).and_then(|query| evaluate_law(&query, efficiency));
        answer.unwrap_or_else(|error| usage_error(error))
    });
    Ok((answers.into(), ValueOrigin::Recorded(path.to_owned(), master_worker, found)))
}

fn evaluate_law(query: &LawQuery, efficiency: f64) -> Result<LawAnswer, String> {
    let figure = |of: LawQuantity, free: &[(&str, f64)]| -> Option<EstimateRange> {
        let middle = point_value(&query.middle, of, free)?;
        if query.middle == query.intervals {
            return Some([middle; 3]);
        }
        let around = query.intervals.evaluate_at(of, free).ok()?;
        let high = if around.high() >= EFFECTIVELY_INFINITE { f64::INFINITY } else { around.high() };
        Some([around.low().min(middle), middle, high.max(middle)])
    };
    let row = |at: &f64| {
        let free = [(query.variable, *at)];
        let [seconds, latency, speedup, efficiency] =
            [LawQuantity::Time, LawQuantity::Latency, LawQuantity::SpeedUp, LawQuantity::Efficiency].map(|of| figure(of, &free));
        LawRow { at: *at, seconds, latency, speedup, efficiency }
    };
    let rows: Vec<LawRow> = query.values.iter().map(row).collect();
    if let Some(first) = rows.first().filter(|row| row.seconds.is_none() && row.speedup.is_none()) {
        let missing = query.middle.evaluate_at(LawQuantity::Time, &[(query.variable, first.at)]).err();
        return Err(missing.map_or_else(|| format!("{} has no value there", query.middle.law().title), |error| error.to_string()));
    }
    let law = query.middle.law();
    let fact = |of: LawQuantity| {
        let value = figure(of, &[("E", efficiency)])?;
        // Without a limit of the speed-up, neither efficiency nor time has one.
        let is_limited = law.equation(LawQuantity::SpeedUpLimit).is_none() || figure(LawQuantity::SpeedUpLimit, &[]).is_some();
        (is_limited || !matches!(of, LawQuantity::EfficiencyLimit | LawQuantity::TimeLimit)).then_some((of, value))
    };
    Ok(LawAnswer {
        law,
        formulas: law_formulas(&query.middle),
        variable: query.variable,
        rows,
        facts: REPORTED_QUANTITIES.into_iter().filter_map(fact).collect(),
    })
}

/// The value of a quantity without outward rounding.
fn point_value(case: &LawInstance, of: LawQuantity, free: &[(&str, f64)]) -> Option<f64> {
    let formula = case.formula(of).ok()?;
    formula.evaluate(&free.iter().fold(SymbolValues::new(), |values, (name, value)| values.with_value(name, *value))).ok()
}

fn law_formulas(case: &LawInstance) -> Vec<(LawQuantity, String)> {
    let shown = [LawQuantity::Time, LawQuantity::Latency, LawQuantity::SpeedUp, LawQuantity::Efficiency];
    shown.into_iter().filter_map(|of| Some((of, case.formula(of).ok()?.to_string()))).collect()
}

/// The interval of an estimate; without one, the value itself.
fn estimate_interval(estimate: &MeanEstimate) -> Interval {
    let between = estimate.interval.and_then(|(low, high)| Interval::new(low, high.min(EFFECTIVELY_INFINITE).max(low)));
    between.unwrap_or_else(|| Interval::point(estimate.value))
}
