//! Predictions from the model of a program's source (`.pam`), which nobody needs to have run.

mod json;
mod plot;
mod screen;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use sintonia_formats::plot::svg;
use sintonia_formula::{Interval, Values};
use sintonia_machine::Machine;
use sintonia_model::forecast::Question;
use sintonia_model::predict::Figure;
use sintonia_model::run::RANKS;
use sintonia_pamela::compile::Shares;
use sintonia_pamela::estimate::{Allocation, ClosedForms, Estimate, Estimator, Setting};
use sintonia_pamela::model::Model;

use super::{Arguments, question};
use crate::error::wrong_usage;
use crate::{Error, output};

/// More predictions than this are a mistake.
const MOST: usize = 100_000;

/// Everything that was predicted.
pub struct Outlook<'a> {
    /// What the model is called.
    pub name: String,
    /// What the machine is called.
    pub machine: &'a str,
    /// The model with its costs.
    pub estimator: &'a Estimator<'a>,
    /// Its times as formulas.
    pub closed: ClosedForms,
    /// One for each combination of values, those that differ only in the number of processes next to each other.
    pub rows: Vec<Row>,
    /// The number of processes that speed-ups are counted from.
    pub base: u64,
    /// The least efficiency that is enough.
    pub efficiency: f64,
    /// How tasks come to workers.
    pub allocation: Allocation,
}

/// One prediction.
pub struct Row {
    /// How many processes or workers there are.
    pub processes: u64,
    /// The values of the parameters that were given.
    pub parameters: BTreeMap<String, f64>,
    /// What it takes.
    pub estimate: Estimate,
    /// The speed-up over the base.
    pub speedup: Figure,
}

impl Row {
    /// The speed-up as a share of the processes.
    pub fn efficiency(&self) -> Figure {
        self.speedup.map(|speedup| speedup / self.processes as f64)
    }
}

/// The numbers of processes to choose among those asked for.
pub struct Best {
    /// The fastest.
    pub time: u64,
    /// The most that are efficient enough.
    pub efficiency: Option<u64>,
}

impl Outlook<'_> {
    /// The rows of each combination of the other parameters.
    pub fn sweeps(&self) -> Vec<&[Row]> {
        self.rows.chunk_by(|a, b| a.parameters == b.parameters).collect()
    }

    /// The numbers of processes to choose in a sweep.
    pub fn best(&self, sweep: &[Row]) -> Option<Best> {
        let fastest = sweep.iter().min_by(|a, b| a.estimate.seconds[1].total_cmp(&b.estimate.seconds[1]))?;
        let enough = sweep.iter().filter(|row| row.efficiency()[1] >= self.efficiency * (1.0 - 1e-12)).map(|row| row.processes).max();
        Some(Best { time: fastest.processes, efficiency: enough })
    }
}

/// Predicts from a model of a program's source.
pub fn run(path: &Path, arguments: &Arguments) -> Result<(), Error> {
    let about = |error: &dyn Display| Error::Other(format!("{}: {error}", path.display()));
    let Some(file) = &arguments.machine else {
        wrong_usage(
            "the model of a program says what is done, not what that costs: --machine FILE.machine.toml is needed (sintonia bench)",
        );
    };
    let shares = arguments.taken.iter().try_fold(Shares::new(), |shares, text| shares.with(text));
    let shares = shares.unwrap_or_else(|error| wrong_usage(format!("--taken {error}")));
    let model = Model::read(path).map_err(|error| Error::Other(error.to_string()))?;
    let machine = Machine::read(file).map_err(|error| Error::Other(error.to_string()))?;
    let mut estimator = Estimator::new(&model, &machine, &shares).map_err(|error| about(&error))?;
    let question = question(arguments);
    let allocation = if arguments.mixed { Allocation::Mixed } else { Allocation::Static };
    let (rows, base) = rows(&mut estimator, &question, &machine, allocation).map_err(|error| about(&error))?;
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let closed = ClosedForms::of(estimator.analysis());
    let machine = &machine.about.name;
    let outlook = Outlook { name, machine, estimator: &estimator, closed, rows, base, efficiency: question.efficiency, allocation };
    if let Some(file) = &arguments.plot {
        output::to_file(file, |out| out.write_all(svg(&plot::of(&outlook)).as_bytes()))?;
    }
    output::to_stdout(|out| match arguments.json {
        true => output::json_line(out, &json::Shown::of(&outlook)),
        false => out.write_all(screen::show(&outlook, arguments.explain).as_bytes()),
    })
}

/// All predictions, and the number of processes that their speed-ups are counted from.
fn rows(estimator: &mut Estimator, question: &Question, machine: &Machine, allocation: Allocation) -> Result<(Vec<Row>, u64), String> {
    let mut given = question.parameters.clone();
    let processes = given.remove(RANKS).unwrap_or_else(|| doubling(machine));
    let processes: Vec<u64> = processes.into_iter().map(|processes| processes as u64).collect();
    let mut settings: Vec<BTreeMap<String, f64>> = vec![BTreeMap::new()];
    for (name, values) in &given {
        settings = settings.iter().flat_map(|setting| values.iter().map(|value| with(setting, name, *value))).collect();
        if settings.len().saturating_mul(processes.len()) > MOST {
            return Err(format!("more than {MOST} combinations of values are asked for"));
        }
    }
    let mut at = |workers: u64, parameters: &BTreeMap<String, f64>| {
        let parameters: Values<Interval> = parameters.iter().map(|(name, value)| (name.as_str(), Interval::point(*value))).collect();
        estimator.at(&Setting { workers, parameters, allocation }).map_err(|error| error.to_string())
    };
    let fewest = processes.iter().copied().min().unwrap_or(1);
    let base = match question.base {
        Some(base) => base as u64,
        None if runs_alone(at(1, &settings[0]), at(fewest, &settings[0])?) => 1,
        None => fewest,
    };
    let mut rows = Vec::new();
    for parameters in settings {
        let alone = at(base, &parameters)?.seconds;
        for processes in &processes {
            let estimate = at(*processes, &parameters)?;
            let speedup = speedup(alone, base, estimate.seconds);
            rows.push(Row { processes: *processes, parameters: parameters.clone(), estimate, speedup });
        }
    }
    Ok((rows, base))
}

/// Whether one process does what several do. A master without workers has an answer too, but its work is not done.
fn runs_alone(alone: Result<Estimate, String>, together: Estimate) -> bool {
    alone.is_ok_and(|alone| alone.work >= together.work / 2.0)
}

fn with(setting: &BTreeMap<String, f64>, name: &str, value: f64) -> BTreeMap<String, f64> {
    let mut setting = setting.clone();
    setting.insert(name.to_owned(), value);
    setting
}

/// As many times faster as the same costs say: whether they are low or high, they are so for both.
fn speedup(alone: Figure, base: u64, seconds: Figure) -> Figure {
    let ratios = [0, 1, 2].map(|level: usize| if seconds[level] > 0.0 { base as f64 * alone[level] / seconds[level] } else { 1.0 });
    [ratios.into_iter().fold(f64::INFINITY, f64::min), ratios[1], ratios.into_iter().fold(0.0, f64::max)]
}

/// One worker, two, four, up to all cores of a machine.
fn doubling(machine: &Machine) -> Vec<f64> {
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

    fn answered<T>(values: &[(&str, &[f64])], show: impl Fn(&Outlook) -> T) -> T {
        answered_of(MODEL, values, show)
    }

    fn answered_of<T>(text: &str, values: &[(&str, &[f64])], show: impl Fn(&Outlook) -> T) -> T {
        let (model, machine) = (Model::parse(text, "pi.pam").unwrap(), Machine::parse(MACHINE, Path::new("lab")).unwrap());
        let mut estimator = Estimator::new(&model, &machine, &Shares::new()).unwrap();
        let parameters = values.iter().map(|(name, values)| (name.to_string(), values.to_vec())).collect();
        let question = Question { parameters, efficiency: 0.5, base: None };
        let (rows, base) = rows(&mut estimator, &question, &machine, Allocation::Static).unwrap();
        let closed = ClosedForms::of(estimator.analysis());
        let (name, allocation) = ("pi".to_owned(), Allocation::Static);
        show(&Outlook { name, machine: "lab", estimator: &estimator, closed, rows, base, efficiency: 0.5, allocation })
    }

    #[test]
    fn without_numbers_of_processes_they_double_up_to_all_cores() {
        assert_eq!(answered(&[], |outlook| outlook.rows.iter().map(|row| row.processes).collect::<Vec<_>>()), [1, 2, 4, 8]);
    }

    #[test]
    fn speed_ups_of_a_master_with_workers_count_from_where_there_are_workers() {
        let base = |text: &str| {
            let (model, machine) = (Model::parse(text, "m.pam").unwrap(), Machine::parse(MACHINE, Path::new("lab")).unwrap());
            let parameters = [("p".to_owned(), vec![2.0, 4.0])].into_iter().collect();
            let question = Question { parameters, efficiency: 0.5, base: None };
            rows(&mut Estimator::new(&model, &machine, &Shares::new()).unwrap(), &question, &machine, Allocation::Static).unwrap().1
        };
        assert_eq!(base("main { delay(1e-3) ; par(r=1,p - 1) sum_double_r(1e9/(p - 1)) }"), 2);
        assert_eq!(base("main { delay(1e-3) ; par(r=0,p - 1) sum_double_r(1e9/p) }"), 1);
    }

    #[test]
    fn every_combination_of_values_is_predicted() {
        let settings = answered(&[("n", &[10.0, 20.0]), ("p", &[1.0, 2.0])], |outlook| {
            outlook.rows.iter().map(|row| (row.parameters["n"], row.processes)).collect::<Vec<_>>()
        });
        assert_eq!(settings, [(10.0, 1), (10.0, 2), (20.0, 1), (20.0, 2)]);
    }

    #[test]
    fn the_screen_tells_what_rules_and_what_to_choose() {
        let screen = answered(&[], |outlook| screen::show(outlook, true));
        for line in [
            "pi: time on lab as predicted",
            "          1  500 ms [400, 600]",
            "Fastest of these: 8 processes",
            "  delay        40 %  100 %\n  sum_double   60 %    0 %\n",
            "  8 workers on PC (8 cores), factor 1\n",
            "condition (Pi.java:9) taken to hold half of the time; --taken PLACE=SHARE says how often",
        ] {
            assert!(screen.contains(line), "{line} is not in\n{screen}");
        }
        assert!(screen.contains("ruled by") && screen.contains("coordinator"), "{screen}");
    }

    #[test]
    fn it_is_told_when_bounds_are_only_likely() {
        let text = "parameter n; main { tasks(i=1,n) on w { seq(d=1,100) seq(k=1,ceil(100*i/d)) sum_double_w } }";
        let told = |n: f64| {
            let screen = answered_of(text, &[("n", &[n])], |outlook| screen::show(outlook, false));
            screen.split_whitespace().collect::<Vec<_>>().join(" ").contains("only some of them were looked at")
        };
        assert_eq!([told(20.0), told(1000.0)], [false, true]);
        let shown = answered_of(text, &[("n", &[1000.0])], |outlook| serde_json::to_value(json::Shown::of(outlook)).unwrap());
        assert_eq!(shown["predictions"][0]["is_sampled"], true);
    }

    #[test]
    fn what_takes_no_time_has_no_largest_part() {
        let screen = answered_of("main {}", &[], |outlook| screen::show(outlook, true));
        assert!(!screen.contains("What takes most of the time"), "{screen}");
    }

    #[test]
    fn programs_get_formula_predictions_and_the_best() {
        let shown = answered(&[("p", &[1.0, 4.0])], |outlook| serde_json::to_value(json::Shown::of(outlook)).unwrap());
        assert_eq!(shown["best"]["time"], 4);
        assert_eq!(shown["predictions"][1]["procs"], 4);
        assert_eq!(shown["predictions"][1]["rules"], "no contention");
        let shares = shown["predictions"][0]["shares"].as_array().unwrap().iter().map(|share| share["value"].as_f64().unwrap());
        assert!((shares.sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(shown["formula"].as_str().unwrap().contains("t_sum_double_w"));
    }
}
