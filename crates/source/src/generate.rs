//! Models of whole programs: batches of tasks, as PASL describes them, or one routine alone.

use std::collections::BTreeSet;

use sintonia_formula::Formula;
use sintonia_pamela::model::{Computer, Language, Model, Parameter, Procedure, Resource, Term};

use crate::analysis::{Analysis, Parts, Value, bytes_of, folded};
use crate::compile::{Compiled, Note};
use crate::error::{Error, Wrong};
use crate::names::for_model;
use crate::pasl::{Application, Argument, Batch, TASK};
use crate::routine::{Program, Routine, Scalar, Type};
use sintonia_text::near::nearest;

/// Who deals the tasks out and gathers their results.
const COORDINATOR: &str = "coordinator";

/// The model of one routine, which is the whole program.
pub(crate) fn routine(program: &Program, entry: Option<&str>) -> Result<Compiled, Error> {
    let entry = entry_of(program, entry.unwrap_or("main"))?;
    let mut analysis = Analysis::new(program, Language::Java);
    let values: Vec<Value> = entry.parameters.iter().map(|parameter| symbolic(&parameter.name, &parameter.of)).collect();
    let call = analysis.call_with(&entry.name, &values, &entry.place)?.unwrap_or(Term::Sequence(Vec::new()));
    let symbols = match &call {
        Term::Call { arguments, .. } => arguments.iter().flat_map(Formula::symbols).collect(),
        _ => Vec::new(),
    };
    let note = |name: &str| Some(format!("what {} is given as {name}", entry.name));
    let parameters = symbols.into_iter().map(|name| Parameter { note: note(&name), name, value: None }).collect();
    Ok(compiled(parameters, Vec::new(), call, analysis.finish(), None))
}

fn entry_of<'a>(program: &'a Program, name: &str) -> Result<&'a Routine, Error> {
    let is_it = |routine: &&Routine| routine.name == name || routine.name.rsplit('.').next() == Some(name);
    program.routines.iter().find(is_it).ok_or_else(|| {
        let names = || program.routines.iter().map(|routine| routine.name.as_str());
        let short = names().filter_map(|name| name.rsplit('.').next());
        let hint = match nearest(name, names().chain(short)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", names().take(20).collect::<Vec<_>>().join(", ")),
        };
        Error::Files(format!("there is no routine `{name}`; {hint}"))
    })
}

/// What a routine is given where nobody says anything: symbols of the same name.
fn symbolic(name: &str, of: &Type) -> Value {
    match of {
        Type::Scalar(Scalar::Boolean) | Type::Other(_) => Value::unknown(),
        Type::Scalar(_) => Value::known(Formula::symbol(&for_model(name))),
        Type::Array(_) => {
            let (mut lengths, mut of) = (Vec::new(), of);
            while let Type::Array(element) = of {
                let number = if lengths.is_empty() { String::new() } else { format!("_{}", lengths.len() + 1) };
                lengths.push(Some(Formula::symbol(&for_model(&format!("{name}_length{number}")))));
                of = element;
            }
            Value::Array(lengths)
        }
    }
}

/// The model of an application: batches that need nothing of each other at the same time, the tasks of each dealt to workers.
pub(crate) fn application(application: &Application, program: &Program) -> Result<Compiled, Error> {
    let worker =
        ["w", "worker", "w_"].into_iter().find(|name| application.parameters.iter().all(|other| other.name != *name)).unwrap_or("w__");
    let mut builder = Builder {
        application,
        program,
        worker,
        analysis: Analysis::new(program, Language::Java).on(worker),
        extra: Vec::new(),
        notes: Vec::new(),
    };
    let mut levels: Vec<Vec<Term>> = Vec::new();
    for batch in &application.batches {
        let term = builder.batch(batch)?;
        levels.resize_with(levels.len().max(batch.level + 1), Vec::new);
        levels[batch.level].push(term);
    }
    let together = |mut terms: Vec<Term>| if terms.len() == 1 { terms.remove(0) } else { Term::Parallel(terms) };
    let mut steps: Vec<Term> = levels.into_iter().map(together).collect();
    let main = if steps.len() == 1 { steps.remove(0) } else { Term::Sequence(steps) };
    let declared = application.parameters.iter().map(|parameter| Parameter {
        name: parameter.name.clone(),
        value: parameter.value.clone(),
        note: None,
    });
    let parameters = declared.chain(builder.extra).collect();
    let resources = vec![Resource { name: COORDINATOR.to_owned(), multiplicity: Formula::one() }];
    let mut compiled = compiled(parameters, resources, main, builder.analysis.finish(), Some(worker));
    compiled.notes.extend(builder.notes);
    Ok(compiled)
}

fn compiled(mut parameters: Vec<Parameter>, resources: Vec<Resource>, main: Term, parts: Parts, keep: Option<&str>) -> Compiled {
    // What the application declares by the name of something that cannot be derived is meant for it.
    let declared: BTreeSet<String> = parameters.iter().map(|parameter| parameter.name.clone()).collect();
    parameters.extend(parts.parameters.into_iter().filter(|parameter| !declared.contains(&parameter.name)));
    let main = Procedure { name: "main".to_owned(), parameters: Vec::new(), body: main, note: None };
    let procedures = folded(std::iter::once(main).chain(parts.procedures.into_iter().rev()).collect(), keep);
    Compiled { model: Model { language: Language::Java, parameters, resources, procedures }, notes: parts.notes }
}

struct Builder<'a> {
    application: &'a Application,
    program: &'a Program,
    worker: &'a str,
    analysis: Analysis<'a>,
    /// Parameters for what the application leaves open.
    extra: Vec<Parameter>,
    notes: Vec<Note>,
}

impl<'a> Builder<'a> {
    fn batch(&mut self, batch: &Batch) -> Result<Term, Error> {
        let routine = self.routine(batch)?;
        let (mut values, mut sent) = (Vec::new(), Formula::zero());
        for (argument, parameter) in batch.arguments.iter().zip(&routine.parameters) {
            match (argument, &parameter.of) {
                (Argument::Number { value, .. }, Type::Scalar(of)) => {
                    let whole = !matches!(of, Scalar::Float | Scalar::Double) && !self.analysis.facts_mut().is_whole(value);
                    values.push(Value::known(if whole { value.floor() } else { value.clone() }));
                    sent += Formula::integer(bytes_of(&parameter.of));
                }
                (Argument::Results { batch, .. }, Type::Array(_)) => {
                    let from = &self.application.batches[*batch];
                    values.push(Value::Array(vec![Some(from.tasks.clone())]));
                    sent += &from.tasks * &self.result_bytes(*batch)?;
                }
                (Argument::Number { place, .. }, _) => {
                    let problem = format!("`{}` of {} is no number", parameter.name, routine.name);
                    return Err(Wrong::at(place.clone(), problem)
                        .hint("an array is given by the name of the batch whose results it holds")
                        .into());
                }
                (Argument::Results { place, .. }, _) => {
                    return Err(Wrong::at(
                        place.clone(),
                        format!("`{}` of {} is no array, which the results of a batch are", parameter.name, routine.name),
                    )
                    .into());
                }
            }
        }
        let position = self.application.batches.iter().position(|other| other.name == batch.name).unwrap_or(0);
        let back = self.result_bytes(position)?;
        let call = self.analysis.call_with(&routine.name, &values, &batch.place)?.unwrap_or(Term::Sequence(Vec::new()));
        let (coordinator, worker) = (Computer("0".to_owned()), Computer(self.worker.to_owned()));
        let held = |resource: &str, body: Term| Term::Use { resource: resource.to_owned(), body: Box::new(body) };
        let body = Term::Sequence(vec![
            held(COORDINATOR, Term::Message { from: coordinator.clone(), to: worker.clone(), bytes: sent }),
            held(self.worker, call),
            held(COORDINATOR, Term::Message { from: worker, to: coordinator, bytes: back }),
        ]);
        Ok(Term::Tasks {
            index: TASK.to_owned(),
            from: Formula::one(),
            to: batch.tasks.clone(),
            computer: self.worker.to_owned(),
            body: Box::new(body),
        })
    }

    /// The routine that a batch runs, with as many parameters as it is given.
    fn routine(&self, batch: &Batch) -> Result<&'a Routine, Error> {
        let of_name = |routine: &&Routine| match routine.name.strip_prefix(batch.routine.as_str()) {
            Some("") => true,
            Some(rest) => rest.strip_prefix('_').is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit())),
            None => false,
        };
        let named: Vec<&Routine> = self.program.routines.iter().filter(of_name).collect();
        if let Some(routine) = named.iter().find(|routine| routine.parameters.len() == batch.arguments.len()) {
            return Ok(routine);
        }
        let wrong = match named.first() {
            Some(routine) => {
                let (takes, given) = (routine.parameters.len(), batch.arguments.len());
                Wrong::at(batch.place.clone(), format!("{} takes {takes} arguments, batch `{}` gives {given}", routine.name, batch.name))
            }
            None => {
                let names = || self.program.routines.iter().map(|routine| routine.name.as_str());
                let wrong =
                    Wrong::at(batch.place.clone(), format!("batch `{}` runs `{}`, which no Java file has", batch.name, batch.routine));
                match nearest(&batch.routine, names()) {
                    Some(near) => wrong.hint(format!("did you mean `{near}`?")),
                    None if self.program.routines.is_empty() => wrong.hint("name the Java files, or put them beside the PASL file"),
                    None => wrong.hint(format!("there are {}", names().take(20).collect::<Vec<_>>().join(", "))),
                }
            }
        };
        Err(wrong.into())
    }

    /// How many bytes a result of a batch has: as a flow says, or as its type is large.
    fn result_bytes(&mut self, position: usize) -> Result<Formula, Error> {
        let said = self.application.flows.iter().filter(|flow| flow.from == position).filter_map(|flow| flow.bytes.clone());
        let said: Vec<Formula> = said.collect();
        if !said.is_empty() {
            return Ok(Formula::max_of(said));
        }
        let batch = &self.application.batches[position];
        Ok(match &self.routine(batch)?.returns {
            None => Formula::zero(),
            Some(of @ Type::Scalar(_)) => Formula::integer(bytes_of(of)),
            Some(_) => self.unknown_bytes(batch),
        })
    }

    fn unknown_bytes(&mut self, batch: &Batch) -> Formula {
        let name = for_model(&format!("bytes_{}", batch.name));
        let known = self.application.parameters.iter().map(|parameter| &parameter.name);
        if known.chain(self.extra.iter().map(|parameter| &parameter.name)).all(|known| *known != name) {
            let note = Some(format!("bytes of one result of batch {}", batch.name));
            self.extra.push(Parameter { name: name.clone(), value: None, note });
            let text =
                format!("how large a result of `{}` is cannot be derived: say it in a flow, or give it with -p {name}=…", batch.name);
            self.notes.push(Note { place: batch.place.clone(), text });
        }
        Formula::symbol(&name)
    }
}
