//! An application with its parameters known: how many tasks there are, and what each is given.

use std::collections::BTreeMap;

use sintonia_formula::{Formula, Rational};
use sintonia_source::pasl::{Application, Argument, TASK};

use crate::{Error, Value};

/// What is to be done.
#[derive(Debug)]
pub struct Plan {
    pub name: String,
    pub parameters: Vec<(String, Rational)>,
    pub batches: Vec<Batch>,
}

/// Tasks that differ in nothing but their number.
#[derive(Debug)]
pub struct Batch {
    pub name: String,
    pub routine: String,
    pub tasks: usize,
    /// The batches that must be done before.
    pub after: Vec<usize>,
    arguments: Vec<Given>,
}

/// What a task is given.
#[derive(Debug)]
pub enum Given {
    /// A formula of the number of the task.
    Number(Formula),
    /// The results of a batch.
    Results(usize),
}

/// No batch has more tasks.
const MOST: i64 = 10_000_000;

impl Plan {
    /// The plan of an application with these values of its parameters.
    pub fn new(application: &Application, given: &[(String, Rational)]) -> Result<Plan, Error> {
        let values = values(application, given)?;
        let known = |formula: &Formula| {
            application.parameters.iter().fold(formula.clone(), |formula, parameter| match values.get(&parameter.name) {
                Some(value) => formula.substitute(&parameter.name, &Formula::exact(value.clone())),
                None => formula,
            })
        };
        let batches = application.batches.iter().enumerate().map(|(index, batch)| {
            let wrong = |problem: String| Error::Other(format!("{}: the batch {} {problem}", batch.place, batch.name));
            let tasks = exact(&known(&batch.tasks)).map_err(|problem| wrong(format!("has a number of tasks that {problem}")))?;
            let count = tasks.floor().to_i64().filter(|count| (1..=MOST).contains(count));
            let tasks = count.ok_or_else(|| wrong(format!("would have {tasks} tasks: it must be one at least and {MOST} at most")))?;
            let argument = |argument: &Argument| match argument {
                Argument::Number { value, .. } => Given::Number(known(value)),
                Argument::Results { batch, .. } => Given::Results(*batch),
            };
            Ok(Batch {
                name: batch.name.clone(),
                routine: batch.routine.clone(),
                tasks: tasks as usize,
                after: application.flows.iter().filter(|flow| flow.to == index).map(|flow| flow.from).collect(),
                arguments: batch.arguments.iter().map(argument).collect(),
            })
        });
        Ok(Plan {
            name: application.name.clone(),
            batches: batches.collect::<Result<_, Error>>()?,
            parameters: values.into_iter().collect(),
        })
    }

    /// The batches that no other waits for: their results are those of the application.
    pub fn last(&self) -> impl Iterator<Item = usize> {
        (0..self.batches.len()).filter(|one| self.batches.iter().all(|batch| !batch.after.contains(one)))
    }

    /// The classes whose methods tasks are, each with one that needs it.
    pub fn classes(&self) -> BTreeMap<&str, &str> {
        self.batches.iter().filter_map(|batch| Some((batch.routine.rsplit_once('.')?.0, batch.routine.as_str()))).collect()
    }
}

impl Batch {
    /// What the task with that number, from 0, is given; `results` are those of a batch as an array.
    pub fn arguments<'a>(&self, index: usize, results: &'a [Option<Value>]) -> Result<Vec<std::borrow::Cow<'a, Value>>, Error> {
        use std::borrow::Cow;
        let task = Formula::integer(index as i64 + 1);
        let of = |(position, given): (usize, &Given)| match given {
            Given::Results(batch) => Ok(results.get(*batch).and_then(Option::as_ref).map_or(Cow::Owned(Value::Nothing), Cow::Borrowed)),
            Given::Number(formula) => number(&formula.substitute(TASK, &task))
                .map(Cow::Owned)
                .map_err(|problem| Error::Other(format!("argument {} of task {} of {} {problem}", position + 1, index + 1, self.name))),
        };
        self.arguments.iter().enumerate().map(of).collect()
    }
}

/// The values of all parameters: those that are given, and for the others what the application says.
fn values(application: &Application, given: &[(String, Rational)]) -> Result<BTreeMap<String, Rational>, Error> {
    let names = || application.parameters.iter().map(|parameter| parameter.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some((name, _)) = given.iter().find(|(name, _)| application.parameters.iter().all(|parameter| parameter.name != *name)) {
        return Err(Error::Other(format!("{} has no parameter `{name}`; it has: {}", application.name, names())));
    }
    let mut values: BTreeMap<String, Rational> = BTreeMap::new();
    for parameter in &application.parameters {
        let told = given.iter().rev().find(|(name, _)| *name == parameter.name).map(|(_, value)| value.clone());
        let own = || {
            let name = &parameter.name;
            let formula = parameter.value.as_ref().ok_or_else(|| {
                Error::Other(format!("{}: the parameter `{name}` has no value: give one with -p {name}=…", parameter.place))
            })?;
            let formula =
                values.iter().fold(formula.clone(), |formula, (name, value)| formula.substitute(name, &Formula::exact(value.clone())));
            exact(&formula).map_err(|problem| Error::Other(format!("{}: the value of `{name}` {problem}", parameter.place)))
        };
        let value = told.map_or_else(own, Ok)?;
        values.insert(parameter.name.clone(), value);
    }
    Ok(values)
}

/// The number that a formula without symbols is.
fn exact(formula: &Formula) -> Result<Rational, String> {
    if let Some(value) = formula.as_exact() {
        return Ok(value.clone());
    }
    // Roots and logarithms have no exact value, and the nearest number stands for them.
    let value = formula.evaluate(&Default::default()).map_err(|problem| format!("cannot be computed: {problem}"))?;
    Rational::exactly(value).ok_or_else(|| format!("is no number: {value}"))
}

fn number(formula: &Formula) -> Result<Value, String> {
    let value = exact(formula)?;
    let whole = value.floor().to_i64().ok_or_else(|| format!("is too large: {value}"))?;
    Ok(Value::Number(whole, value.nearest()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_source::{Text, pasl};

    fn plan(text: &str, given: &[(&str, &str)]) -> Result<Plan, Error> {
        let text = Text::new("app.pasl", text);
        let given: Vec<_> = given.iter().map(|(name, value)| (name.to_string(), Rational::parse(value).unwrap())).collect();
        Plan::new(&pasl::parse(&text).unwrap(), &given)
    }

    const PRIMES: &str = "application primes;\nparameter tasks = 4;\nparameter upto = 250 * tasks;\n\
        batch search { tasks: tasks; run: Primes.search((task - 1) * upto / tasks, task * upto / tasks); }\n\
        batch total { tasks: 1; run: Primes.total(search); }\nflow search -> total { bytes: 8; }\n";

    #[test]
    fn every_task_has_arguments_of_its_own() {
        let plan = plan(PRIMES, &[("upto", "999")]).unwrap();
        let numbers = plan.batches[0].arguments(1, &[]).unwrap();
        assert_eq!((numbers[0].as_ref(), numbers[1].as_ref()), (&Value::Number(249, 249.75), &Value::Number(499, 499.5)));
        let results = [Some(Value::Longs(vec![1, 2, 3, 4])), None];
        assert_eq!(plan.batches[1].arguments(0, &results).unwrap()[0].as_ref(), results[0].as_ref().unwrap());
        assert_eq!((plan.batches[0].tasks, plan.batches[1].after.clone(), plan.last().collect::<Vec<_>>()), (4, vec![0], vec![1]));
    }

    #[test]
    fn parameters_may_depend_on_those_before() {
        let plan = plan(PRIMES, &[("tasks", "2")]).unwrap();
        assert_eq!(plan.batches[0].arguments(1, &[]).unwrap()[1].as_ref(), &Value::Number(500, 500.0));
    }

    #[test]
    fn what_is_wrong_with_a_parameter_is_told() {
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
