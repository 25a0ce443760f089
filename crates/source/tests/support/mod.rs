//! What tests of compiled programs share: models as short text, and models counted by going through them.

#![allow(dead_code)]

use std::collections::BTreeMap;

use sintonia_formula::{Formula, Values};
use sintonia_pamela::model::{Model, Operation, Term};
use sintonia_source::{Compiled, Text, compile_texts};

/// The model of a Java file with this text, from a method.
pub fn java(text: &str, entry: &str) -> Compiled {
    let compiled = compile_texts(&[Text::new("A.java", text)], Some(entry)).unwrap_or_else(|error| panic!("{error}"));
    compiled.model.check().unwrap_or_else(|error| panic!("{error}\n{}", compiled.model.to_text()));
    compiled
}

/// The model of an application in PASL and Java.
pub fn application(pasl: &str, java: (&str, &str)) -> Compiled {
    let compiled = compile_texts(&[Text::new("a.pasl", pasl), Text::new(java.0, java.1)], None).unwrap_or_else(|error| panic!("{error}"));
    compiled.model.check().unwrap_or_else(|error| panic!("{error}\n{}", compiled.model.to_text()));
    compiled
}

/// What is wrong with files of these names and texts.
pub fn error(files: &[(&str, &str)], entry: Option<&str>) -> String {
    let texts: Vec<Text> = files.iter().map(|(name, text)| Text::new(name, *text)).collect();
    compile_texts(&texts, entry).expect_err("an error").to_string()
}

/// The body of a procedure, one line for each term, without notes.
pub fn lines(model: &Model, procedure: &str) -> Vec<String> {
    let body = &model.procedures.iter().find(|other| other.name == procedure).expect("the procedure").body;
    let mut lines = Vec::new();
    write(body, 0, false, &mut lines);
    lines
}

/// The same with notes.
pub fn lines_with_notes(model: &Model, procedure: &str) -> Vec<String> {
    let body = &model.procedures.iter().find(|other| other.name == procedure).expect("the procedure").body;
    let mut lines = Vec::new();
    write(body, 0, true, &mut lines);
    lines
}

fn write(term: &Term, depth: usize, notes: bool, lines: &mut Vec<String>) {
    let mut line = |text: String| lines.push(format!("{}{text}", "  ".repeat(depth)));
    match term {
        Term::Note(text) if notes => line(format!("// {text}")),
        Term::Note(_) => {}
        Term::Operation { operation, times } if times.is_one() => line(name(operation)),
        Term::Operation { operation, times } => line(format!("{}({times})", name(operation))),
        Term::Message { from, to, bytes } => line(format!("send_{}_{}({bytes})", from.0, to.0)),
        Term::Group { operation, bytes, processes } => line(format!("{operation:?}({bytes}, {processes})")),
        Term::Delay(time) => line(format!("delay({time})")),
        Term::Call { procedure, arguments } => {
            let arguments: Vec<String> = arguments.iter().map(Formula::to_string).collect();
            line(format!("{procedure}({})", arguments.join(", ")));
        }
        Term::Sequence(terms) => terms.iter().for_each(|term| write(term, depth, notes, lines)),
        Term::Parallel(terms) => {
            line("together".to_owned());
            terms.iter().for_each(|term| write(term, depth + 1, notes, lines));
        }
        Term::Loop { index, from, to, body, .. } => {
            line(format!("seq({index}={from},{to})"));
            write(body, depth + 1, notes, lines);
        }
        Term::Tasks { index, from, to, computer, body } => {
            line(format!("tasks({index}={from},{to}) on {computer}"));
            write(body, depth + 1, notes, lines);
        }
        Term::If { place, share, then, otherwise } => {
            let share = share.as_ref().map(|share| format!(" ({share})")).unwrap_or_default();
            line(format!("if {}{share}", place.as_deref().unwrap_or("-")));
            write(then, depth + 1, notes, lines);
            let mut rest = Vec::new();
            write(otherwise, depth + 1, notes, &mut rest);
            if !rest.is_empty() {
                lines.push(format!("{}else", "  ".repeat(depth)));
                lines.extend(rest);
            }
        }
        Term::Use { resource, body } => {
            line(format!("use {resource}"));
            write(body, depth + 1, notes, lines);
        }
    }
}

fn name(operation: &Operation) -> String {
    let parts = [Some(operation.name.as_str()), operation.of.as_deref(), operation.on.as_ref().map(|computer| computer.0.as_str())];
    parts.into_iter().flatten().collect::<Vec<_>>().join("_")
}

/// How often each operation is done, counted by going through the model round by round.
pub fn counted(model: &Model, values: &[(&str, f64)]) -> BTreeMap<String, f64> {
    let mut scope: BTreeMap<String, f64> = BTreeMap::new();
    for parameter in &model.parameters {
        if let Some(value) = &parameter.value {
            let known = evaluate(value, &scope);
            scope.insert(parameter.name.clone(), known);
        }
    }
    scope.extend(values.iter().map(|(name, value)| ((*name).to_owned(), *value)));
    let mut counts = BTreeMap::new();
    let main = model.procedures.iter().find(|procedure| procedure.name == "main").expect("main");
    count(model, &main.body, &scope, 1.0, &mut counts);
    counts
}

fn evaluate(formula: &Formula, scope: &BTreeMap<String, f64>) -> f64 {
    let values: Values<f64> = scope.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    formula.evaluate(&values).unwrap_or_else(|problem| panic!("{formula}: {problem}"))
}

fn count(model: &Model, term: &Term, scope: &BTreeMap<String, f64>, weight: f64, counts: &mut BTreeMap<String, f64>) {
    match term {
        Term::Operation { operation, times } => *counts.entry(name(operation)).or_default() += weight * evaluate(times, scope),
        Term::Call { procedure, arguments } => {
            let called = model.procedures.iter().find(|other| other.name == *procedure).expect("the procedure");
            assert_eq!(called.parameters.len(), arguments.len(), "{procedure}");
            let mut inside: BTreeMap<String, f64> = scope.clone();
            let given = arguments.iter().map(|argument| evaluate(argument, scope));
            inside.extend(called.parameters.iter().cloned().zip(given.collect::<Vec<_>>()));
            count(model, &called.body, &inside, weight, counts);
        }
        Term::Sequence(terms) | Term::Parallel(terms) => terms.iter().for_each(|term| count(model, term, scope, weight, counts)),
        Term::Loop { index, from, to, body, .. } | Term::Tasks { index, from, to, body, .. } => {
            let (mut round, to) = (evaluate(from, scope), evaluate(to, scope));
            while round <= to {
                let mut inside = scope.clone();
                inside.insert(index.clone(), round);
                inside.insert("w".to_owned(), 1.0);
                count(model, body, &inside, weight, counts);
                round += 1.0;
            }
        }
        Term::If { share, then, otherwise, .. } => {
            let share = share.as_ref().map_or(0.5, |share| evaluate(share, scope));
            if share > 0.0 {
                count(model, then, scope, weight * share, counts);
            }
            if share < 1.0 {
                count(model, otherwise, scope, weight * (1.0 - share), counts);
            }
        }
        Term::Use { body, .. } => count(model, body, scope, weight, counts),
        Term::Note(_) | Term::Message { .. } | Term::Group { .. } | Term::Delay(_) => {}
    }
}
