//! An application with known parameters: number of tasks, and the arguments of each.

use std::collections::BTreeMap;

use sintonia_formula::{Formula, Rational};
use sintonia_source::pasl::{BatchArgument, PaslApplication, TASK};

use crate::{Error, TaskValue};

#[derive(Debug)]
pub(crate) struct ExecutionPlan {
    pub name: String,
    pub parameters: Vec<(String, Rational)>,
    pub batches: Vec<PlannedBatch>,
}

/// Tasks that differ only in their number.
#[derive(Debug)]
pub(crate) struct PlannedBatch {
    pub name: String,
    pub routine: String,
    pub tasks: usize,
    /// Batches that must complete first.
    pub dependencies: Vec<usize>,
    arguments: Vec<TaskArgument>,
}

#[derive(Debug)]
pub(crate) enum TaskArgument {
    /// A formula of the task number.
    Number(Formula),
    /// The results of a batch.
    Results(usize),
}

/// Most tasks of a batch.
const MAX_TASKS: i64 = 10_000_000;

impl ExecutionPlan {
    /// The plan of an application with these parameter values.
    pub(crate) fn new(application: &PaslApplication, given: &[(String, Rational)]) -> Result<ExecutionPlan, Error> {
        let values = parameter_values(application, given)?;
        let known = |formula: &Formula| {
            application.parameters.iter().fold(formula.clone(), |formula, parameter| match values.get(&parameter.name) {
                Some(value) => formula.substitute(&parameter.name, &Formula::from_rational(value.clone())),
                None => formula,
            })
        };
        let batches = application.batches.iter().enumerate().map(|(index, batch)| {
            let wrong = |problem: String| Error::Other(format!("{}: the batch {} {problem}", batch.pos, batch.name));
            let tasks = evaluate_exact(&known(&batch.tasks)).map_err(|problem| wrong(format!("has a number of tasks that {problem}")))?;
            let count = tasks.floor().to_i64().filter(|count| (1..=MAX_TASKS).contains(count));
            let tasks = count.ok_or_else(|| wrong(format!("would have {tasks} tasks: from 1 to {MAX_TASKS} are allowed")))?;
            let argument = |argument: &BatchArgument| match argument {
                BatchArgument::Number { value, .. } => TaskArgument::Number(known(value)),
                BatchArgument::Results { batch, .. } => TaskArgument::Results(*batch),
            };
            Ok(PlannedBatch {
                name: batch.name.clone(),
                routine: batch.routine.clone(),
                tasks: tasks as usize,
                dependencies: application.flows.iter().filter(|flow| flow.to == index).map(|flow| flow.from).collect(),
                arguments: batch.arguments.iter().map(argument).collect(),
            })
        });
        Ok(ExecutionPlan {
            name: application.name.clone(),
            batches: batches.collect::<Result<_, Error>>()?,
            parameters: values.into_iter().collect(),
        })
    }

    /// Batches that no other depends on: their results are those of the application.
    pub(crate) fn final_batches(&self) -> impl Iterator<Item = usize> {
        (0..self.batches.len()).filter(|one| self.batches.iter().all(|batch| !batch.dependencies.contains(one)))
    }

    /// Classes whose methods are tasks, each with a routine that needs it.
    pub(crate) fn classes(&self) -> BTreeMap<&str, &str> {
        self.batches.iter().filter_map(|batch| Some((batch.routine.rsplit_once('.')?.0, batch.routine.as_str()))).collect()
    }
}

impl PlannedBatch {
    /// Arguments of a task, counted from 0; `results` are those of completed batches, as arrays.
    pub(crate) fn arguments<'a>(
        &self,
        index: usize,
        results: &'a [Option<TaskValue>],
    ) -> Result<Vec<std::borrow::Cow<'a, TaskValue>>, Error> {
        use std::borrow::Cow;
        let task = Formula::integer(index as i64 + 1);
        let argument = |(position, argument): (usize, &TaskArgument)| match argument {
            TaskArgument::Results(batch) => {
                Ok(results.get(*batch).and_then(Option::as_ref).map_or(Cow::Owned(TaskValue::Void), Cow::Borrowed))
            }
            TaskArgument::Number(formula) => number_value(&formula.substitute(TASK, &task))
                .map(Cow::Owned)
                .map_err(|problem| Error::Other(format!("argument {} of task {} of {} {problem}", position + 1, index + 1, self.name))),
        };
        self.arguments.iter().enumerate().map(argument).collect()
    }
}

/// Values of all parameters: those given, else the application's defaults.
fn parameter_values(application: &PaslApplication, given: &[(String, Rational)]) -> Result<BTreeMap<String, Rational>, Error> {
    let names = || application.parameters.iter().map(|parameter| parameter.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some((name, _)) = given.iter().find(|(name, _)| application.parameters.iter().all(|parameter| parameter.name != *name)) {
        return Err(Error::Other(format!("{} has no parameter `{name}`; it has: {}", application.name, names())));
    }
    let mut values: BTreeMap<String, Rational> = BTreeMap::new();
    for parameter in &application.parameters {
        let explicit = given.iter().rev().find(|(name, _)| *name == parameter.name).map(|(_, value)| value.clone());
        let default = || {
            let name = &parameter.name;
            let formula = parameter.value.as_ref().ok_or_else(|| {
                Error::Other(format!("{}: the parameter `{name}` has no value: give one with -p {name}=…", parameter.pos))
            })?;
            let formula = values
                .iter()
                .fold(formula.clone(), |formula, (name, value)| formula.substitute(name, &Formula::from_rational(value.clone())));
            evaluate_exact(&formula).map_err(|problem| Error::Other(format!("{}: the value of `{name}` {problem}", parameter.pos)))
        };
        let value = explicit.map_or_else(default, Ok)?;
        values.insert(parameter.name.clone(), value);
    }
    Ok(values)
}

/// The value of a formula without symbols.
fn evaluate_exact(formula: &Formula) -> Result<Rational, String> {
    if let Some(value) = formula.as_exact() {
        return Ok(value.clone());
    }
    // Roots and logarithms have no exact value; the nearest number is used.
    let value = formula.evaluate(&Default::default()).map_err(|problem| format!("cannot be computed: {problem}"))?;
    Rational::from_f64_exact(value).ok_or_else(|| format!("is not a number: {value}"))
}

fn number_value(formula: &Formula) -> Result<TaskValue, String> {
    let value = evaluate_exact(formula)?;
    let whole = value.floor().to_i64().ok_or_else(|| format!("is too large: {value}"))?;
    Ok(TaskValue::Number(whole, value.to_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_source::{SourceFile, pasl};

    fn plan(text: &str, given: &[(&str, &str)]) -> Result<ExecutionPlan, Error> {
        let text = SourceFile::new("app.pasl", text);
        let given: Vec<_> = given.iter().map(|(name, value)| (name.to_string(), Rational::parse(value).unwrap())).collect();
        ExecutionPlan::new(&pasl::parse(&text).unwrap(), &given)
    }

    const PRIMES: &str = "application primes;\nparameter tasks = 4;\nparameter upto = 250 * tasks;\n\
        batch search { tasks: tasks; run: Primes.search((task - 1) * upto / tasks, task * upto / tasks); }\n\
        batch total { tasks: 1; run: Primes.total(search); }\nflow search -> total { bytes: 8; }\n";

    #[test]
    fn every_task_has_arguments_of_its_own() {
        let plan = plan(PRIMES, &[("upto", "999")]).unwrap();
        let numbers = plan.batches[0].arguments(1, &[]).unwrap();
        assert_eq!((numbers[0].as_ref(), numbers[1].as_ref()), (&TaskValue::Number(249, 249.75), &TaskValue::Number(499, 499.5)));
        let results = [Some(TaskValue::Longs(vec![1, 2, 3, 4])), None];
        assert_eq!(plan.batches[1].arguments(0, &results).unwrap()[0].as_ref(), results[0].as_ref().unwrap());
        assert_eq!(
            (plan.batches[0].tasks, plan.batches[1].dependencies.clone(), plan.final_batches().collect::<Vec<_>>()),
            (4, vec![0], vec![1])
        );
    }

    #[test]
    fn parameters_may_depend_on_those_before() {
        let plan = plan(PRIMES, &[("tasks", "2")]).unwrap();
        assert_eq!(plan.batches[0].arguments(1, &[]).unwrap()[1].as_ref(), &TaskValue::Number(500, 500.0));
    }

    #[test]
    fn errors_name_the_parameter() {
        for (given, message) in [
            (&[("ubto", "1")][..], "primes has no parameter `ubto`; it has: tasks, upto"),
            (&[("tasks", "0"), ("upto", "5")], "the batch search would have 0 tasks"),
        ] {
            let error = plan(PRIMES, given).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let error = plan(&PRIMES.replace(" = 4", ""), &[]).unwrap_err().to_string();
        assert!(error.contains("app.pasl:2") && error.contains("give one with -p tasks=…"), "{error}");
    }
}
