//! Predictions from a model of the program's source (`.pam`), without any run.

mod display;
mod json;
mod plot;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use sintonia_formats::plot::render_svg;
use sintonia_formula::{Interval, SymbolValues};
use sintonia_machine::Machine;
use sintonia_model::forecast::PredictionQuery;
use sintonia_model::predict::EstimateRange;
use sintonia_model::run::RANKS_PARAMETER;
use sintonia_pamela::compile::BranchShares;
use sintonia_pamela::estimate::{AllocationPolicy, ClosedForms, EstimateRequest, ModelEstimator, TimeEstimate};
use sintonia_pamela::model::PamelaModel;

use super::{PredictArgs, build_query};
use crate::error::usage_error;
use crate::{Error, output};

/// More predictions than this are refused.
const MAX_PREDICTIONS: usize = 100_000;

/// All predictions.
pub(super) struct SourcePredictions<'a> {
    /// The name of the model.
    pub name: String,
    /// The name of the machine.
    pub machine: &'a str,
    /// The estimator of the model's costs.
    pub estimator: &'a ModelEstimator<'a>,
    /// Its times as formulas.
    pub closed_forms: ClosedForms,
    /// One row per combination of values; those that differ only in the number of processes are adjacent.
    pub rows: Vec<SourcePredictionRow>,
    /// The number of processes that speed-ups are relative to.
    pub speedup_base: u64,
    /// The minimum acceptable efficiency.
    pub efficiency: f64,
    /// How tasks are assigned to workers.
    pub allocation: AllocationPolicy,
}

/// One prediction.
pub(super) struct SourcePredictionRow {
    /// The number of processes or workers.
    pub processes: u64,
    /// The given parameter values.
    pub parameters: BTreeMap<String, f64>,
    /// The estimate.
    pub estimate: TimeEstimate,
    /// The speed-up over the base.
    pub speedup: EstimateRange,
}

impl SourcePredictionRow {
    /// The parallel efficiency.
    pub(super) fn efficiency(&self) -> EstimateRange {
        self.speedup.map(|speedup| speedup / self.processes as f64)
    }
}

/// Numbers of processes to choose among the requested ones.
pub(super) struct BestOfSweep {
    /// The fastest.
    pub time: u64,
    /// The largest that is efficient enough.
    pub efficiency: Option<u64>,
}

impl SourcePredictions<'_> {
    /// The rows of each combination of the other parameters.
    pub(super) fn sweeps(&self) -> Vec<&[SourcePredictionRow]> {
        self.rows.chunk_by(|a, b| a.parameters == b.parameters).collect()
    }

    /// Numbers of processes to choose in a sweep.
    pub(super) fn best(&self, sweep: &[SourcePredictionRow]) -> Option<BestOfSweep> {
        let fastest = sweep.iter().min_by(|a, b| a.estimate.seconds[1].total_cmp(&b.estimate.seconds[1]))?;
        let enough = sweep.iter().filter(|row| row.efficiency()[1] >= self.efficiency * (1.0 - 1e-12)).map(|row| row.processes).max();
        Some(BestOfSweep { time: fastest.processes, efficiency: enough })
    }
}

/// Predicts from a model of the program's source.
pub(super) fn run(path: &Path, args: &PredictArgs) -> Result<(), Error> {
    let about = |error: &dyn Display| Error::Other(format!("{}: {error}", path.display()));
    let Some(file) = &args.machine else {
        usage_error("a PROGRAM.pam has no costs: --machine FILE.machine.toml is required (see sintonia bench)");
    };
    let shares = args.taken.iter().try_fold(BranchShares::new(), |shares, text| shares.with_text(text));
    let shares = shares.unwrap_or_else(|error| usage_error(format!("--taken {error}")));
    let model = PamelaModel::read(path).map_err(|error| Error::Other(error.to_string()))?;
    let machine = Machine::read(file).map_err(|error| Error::Other(error.to_string()))?;
    let mut estimator = ModelEstimator::new(&model, &machine, &shares).map_err(|error| about(&error))?;
    let question = build_query(args);
    let allocation = if args.mixed { AllocationPolicy::Mixed } else { AllocationPolicy::Static };
    let (rows, base) = predict_rows(&mut estimator, &question, &machine, allocation).map_err(|error| about(&error))?;
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let closed = ClosedForms::from_analysis(estimator.analysis());
    let machine = &machine.metadata.name;
    let predictions = SourcePredictions {
        name,
        machine,
        estimator: &estimator,
        closed_forms: closed,
        rows,
        speedup_base: base,
        efficiency: question.efficiency,
        allocation,
    };
    if let Some(file) = &args.plot {
        output::write_file(file, |out| out.write_all(render_svg(&plot::plot_predictions(&predictions)).as_bytes()))?;
    }
    output::write_stdout(|out| match args.json {
        true => output::write_json_line(out, &json::SourcePredictionsJson::new(&predictions)),
        false => out.write_all(display::render(&predictions, args.explain).as_bytes()),
    })
}

/// All predictions, and the number of processes that their speed-ups are relative to.
fn predict_rows(
    estimator: &mut ModelEstimator,
    question: &PredictionQuery,
    machine: &Machine,
    allocation: AllocationPolicy,
) -> Result<(Vec<SourcePredictionRow>, u64), String> {
    let mut given = question.parameters.clone();
    let processes = given.remove(RANKS_PARAMETER).unwrap_or_else(|| doubling_workers(machine));
    let processes: Vec<u64> = processes.into_iter().map(|processes| processes as u64).collect();
    let mut settings: Vec<BTreeMap<String, f64>> = vec![BTreeMap::new()];
    for (name, values) in &given {
        settings = settings.iter().flat_map(|setting| values.iter().map(|value| with_value(setting, name, *value))).collect();
        if settings.len().saturating_mul(processes.len()) > MAX_PREDICTIONS {
            return Err(format!("more than {MAX_PREDICTIONS} combinations of values"));
        }
    }
    let mut at = |workers: u64, parameters: &BTreeMap<String, f64>| {
        let parameters: SymbolValues<Interval> = parameters.iter().map(|(name, value)| (name.as_str(), Interval::point(*value))).collect();
        estimator.estimate(&EstimateRequest { workers, parameters, allocation }).map_err(|error| error.to_string())
    };
    let fewest = processes.iter().copied().min().unwrap_or(1);
    let base = match question.speedup_base {
        Some(base) => base as u64,
        None if is_complete_alone(at(1, &settings[0]), at(fewest, &settings[0])?) => 1,
        None => fewest,
    };
    let mut rows = Vec::new();
    for parameters in settings {
        let alone = at(base, &parameters)?.seconds;
        for processes in &processes {
            let estimate = at(*processes, &parameters)?;
            let speedup = speedup(alone, base, estimate.seconds);
            rows.push(SourcePredictionRow { processes: *processes, parameters: parameters.clone(), estimate, speedup });
        }
    }
    Ok((rows, base))
}

/// Whether one process does the work of several. A master without workers has an estimate too, but its work is not done.
fn is_complete_alone(alone: Result<TimeEstimate, String>, together: TimeEstimate) -> bool {
    alone.is_ok_and(|alone| alone.work >= together.work / 2.0)
}

fn with_value(setting: &BTreeMap<String, f64>, name: &str, value: f64) -> BTreeMap<String, f64> {
    let mut setting = setting.clone();
    setting.insert(name.to_owned(), value);
    setting
}

/// The speed-up at low, middle and high costs, which are the same for both times.
fn speedup(alone: EstimateRange, base: u64, seconds: EstimateRange) -> EstimateRange {
    let ratios = [0, 1, 2].map(|level: usize| if seconds[level] > 0.0 { base as f64 * alone[level] / seconds[level] } else { 1.0 });
    [ratios.into_iter().fold(f64::INFINITY, f64::min), ratios[1], ratios.into_iter().fold(0.0, f64::max)]
}

/// One worker, two, four, up to all cores of a machine.
fn doubling_workers(machine: &Machine) -> Vec<f64> {
    let cores = machine.nodes.iter().map(|node| node.count as f64 * node.cores as f64).sum::<f64>().max(1.0);
    std::iter::successors(Some(1.0), |workers| Some(workers * 2.0)).take_while(|workers| *workers < cores).chain([cores]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = "resource coordinator; parameter n = 100;
        main { tasks(i=1,n) on w { use(coordinator, delay(1e-3)); sum_double_w(1e6); if \"Pi.java:9\" delay(2e-3) } }";
    const MACHINE: &str = "format = 1\n[machine]\nname = \"lab\"\n[[node]]\nkind = \"PC\"\ncount = 8\ncores = 1\n\
        compute.float64.add = { latency_s = 4e-9, throughput_s = 2e-9 }\n";

    fn answered<T>(values: &[(&str, &[f64])], show: impl Fn(&SourcePredictions) -> T) -> T {
        answered_of(MODEL, values, show)
    }

    fn answered_of<T>(text: &str, values: &[(&str, &[f64])], show: impl Fn(&SourcePredictions) -> T) -> T {
        let (model, machine) = (PamelaModel::parse(text, "pi.pam").unwrap(), Machine::parse(MACHINE, Path::new("lab")).unwrap());
        let mut estimator = ModelEstimator::new(&model, &machine, &BranchShares::new()).unwrap();
        let parameters = values.iter().map(|(name, values)| (name.to_string(), values.to_vec())).collect();
        let question = PredictionQuery { parameters, efficiency: 0.5, speedup_base: None };
        let (rows, base) = predict_rows(&mut estimator, &question, &machine, AllocationPolicy::Static).unwrap();
        let closed = ClosedForms::from_analysis(estimator.analysis());
        let (name, allocation) = ("pi".to_owned(), AllocationPolicy::Static);
        show(&SourcePredictions {
            name,
            machine: "lab",
            estimator: &estimator,
            closed_forms: closed,
            rows,
            speedup_base: base,
            efficiency: 0.5,
            allocation,
        })
    }

    #[test]
    fn without_numbers_of_processes_they_double_up_to_all_cores() {
        assert_eq!(answered(&[], |predictions| predictions.rows.iter().map(|row| row.processes).collect::<Vec<_>>()), [1, 2, 4, 8]);
    }

    #[test]
    fn speed_ups_of_a_master_with_workers_count_from_where_there_are_workers() {
        let base = |text: &str| {
            let (model, machine) = (PamelaModel::parse(text, "m.pam").unwrap(), Machine::parse(MACHINE, Path::new("lab")).unwrap());
            let parameters = [("p".to_owned(), vec![2.0, 4.0])].into_iter().collect();
            let question = PredictionQuery { parameters, efficiency: 0.5, speedup_base: None };
            predict_rows(
                &mut ModelEstimator::new(&model, &machine, &BranchShares::new()).unwrap(),
                &question,
                &machine,
                AllocationPolicy::Static,
            )
            .unwrap()
            .1
        };
        assert_eq!(base("main { delay(1e-3) ; par(r=1,p - 1) sum_double_r(1e9/(p - 1)) }"), 2);
        assert_eq!(base("main { delay(1e-3) ; par(r=0,p - 1) sum_double_r(1e9/p) }"), 1);
    }

    #[test]
    fn every_combination_of_values_is_predicted() {
        let settings = answered(&[("n", &[10.0, 20.0]), ("p", &[1.0, 2.0])], |predictions| {
            predictions.rows.iter().map(|row| (row.parameters["n"], row.processes)).collect::<Vec<_>>()
        });
        assert_eq!(settings, [(10.0, 1), (10.0, 2), (20.0, 1), (20.0, 2)]);
    }

    #[test]
    fn the_screen_tells_what_rules_and_what_to_choose() {
        let screen = answered(&[], |predictions| display::render(predictions, true));
        for line in [
            "pi: predicted time on lab",
            "          1  500 ms [400, 600]",
            "Fastest of these: 8 processes",
            "  delay        40 %  100 %\n  sum_double   60 %    0 %\n",
            "  8 workers on PC (8 cores), factor 1\n",
            "condition (Pi.java:9) assumed to hold half of the time; use --taken PLACE=SHARE",
        ] {
            assert!(screen.contains(line), "{line} is not in\n{screen}");
        }
        assert!(screen.contains("dominated by") && screen.contains("coordinator"), "{screen}");
    }

    #[test]
    fn it_is_told_when_bounds_are_only_likely() {
        let text = "parameter n; main { tasks(i=1,n) on w { seq(d=1,100) seq(k=1,ceil(100*i/d)) sum_double_w } }";
        let told = |n: f64| {
            let screen = answered_of(text, &[("n", &[n])], |predictions| display::render(predictions, false));
            screen.split_whitespace().collect::<Vec<_>>().join(" ").contains("only a sample was evaluated")
        };
        assert_eq!([told(20.0), told(1000.0)], [false, true]);
        let shown = answered_of(text, &[("n", &[1000.0])], |predictions| {
            serde_json::to_value(json::SourcePredictionsJson::new(predictions)).unwrap()
        });
        assert_eq!(shown["predictions"][0]["is_sampled"], true);
    }

    #[test]
    fn what_takes_no_time_has_no_largest_part() {
        let screen = answered_of("main {}", &[], |predictions| display::render(predictions, true));
        assert!(!screen.contains("Dominant operations"), "{screen}");
    }

    #[test]
    fn programs_get_formula_predictions_and_the_best() {
        let shown =
            answered(&[("p", &[1.0, 4.0])], |predictions| serde_json::to_value(json::SourcePredictionsJson::new(predictions)).unwrap());
        assert_eq!(shown["best"]["time"], 4);
        assert_eq!(shown["predictions"][1]["procs"], 4);
        assert_eq!(shown["predictions"][1]["rules"], "no contention");
        let shares = shown["predictions"][0]["shares"].as_array().unwrap().iter().map(|share| share["value"].as_f64().unwrap());
        assert!((shares.sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(shown["formula"].as_str().unwrap().contains("t_sum_double_w"));
    }
}
