//! Predictions from a model of the program's source (`.pam`), without any run.

mod display;
mod json;
mod plot;

use std::fmt::Display;
use std::path::Path;

use sintonia_machine::Machine;
use sintonia_model::forecast::PredictionQuery;
use sintonia_model::run::RANKS_PARAMETER;
use sintonia_pamela::compile::BranchShares;
use sintonia_pamela::estimate::{AllocationPolicy, ClosedForms, ModelEstimator};
use sintonia_pamela::model::PamelaModel;
use sintonia_pamela::sweep::{BestOfSweep, SourcePredictionRow, SweepRequest, predict_rows};
use sintonia_plot::render_svg;

use super::{PredictArgs, build_query};
use crate::error::usage_error;
use crate::{Error, output};

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

impl SourcePredictions<'_> {
    /// The rows of each combination of the other parameters.
    pub(super) fn sweeps(&self) -> Vec<&[SourcePredictionRow]> {
        self.rows.chunk_by(|a, b| a.parameters == b.parameters).collect()
    }

    /// Numbers of processes to choose in a sweep.
    pub(super) fn best(&self, sweep: &[SourcePredictionRow]) -> Option<BestOfSweep> {
        BestOfSweep::choose(sweep, self.efficiency)
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
    let machine = Machine::read_widened(file).map_err(|error| Error::Other(error.to_string()))?;
    let mut estimator = ModelEstimator::new(&model, &machine, &shares).map_err(|error| about(&error))?;
    let question = build_query(args);
    let efficiency = question.efficiency;
    let allocation = if args.mixed { AllocationPolicy::Mixed } else { AllocationPolicy::Static };
    let (rows, base) = predict_rows(&mut estimator, &sweep_request(question, allocation), &machine).map_err(|error| about(&error))?;
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let closed = ClosedForms::from_analysis(estimator.analysis());
    let machine = &machine.metadata.name;
    let predictions =
        SourcePredictions { name, machine, estimator: &estimator, closed_forms: closed, rows, speedup_base: base, efficiency, allocation };
    if let Some(file) = &args.plot {
        output::write_file(file, |out| out.write_all(render_svg(&plot::plot_predictions(&predictions)).as_bytes()))?;
    }
    output::write_stdout(|out| match args.json {
        true => output::write_json_line(out, &json::SourcePredictionsJson::new(&predictions)),
        false => out.write_all(display::render(&predictions, args.explain).as_bytes()),
    })
}

/// The request of a query, in whole numbers of processes.
fn sweep_request(question: PredictionQuery, allocation: AllocationPolicy) -> SweepRequest {
    let mut parameters = question.parameters;
    let processes = parameters.remove(RANKS_PARAMETER);
    SweepRequest {
        parameters,
        processes: processes.map(|values| values.into_iter().map(|processes| processes as u64).collect()),
        speedup_base: question.speedup_base.map(|base| base as u64),
        allocation,
    }
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
        let (rows, base) = predict_rows(&mut estimator, &sweep_request(question, AllocationPolicy::Static), &machine).unwrap();
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
                &sweep_request(question, AllocationPolicy::Static),
                &machine,
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
