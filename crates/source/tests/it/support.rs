//! Shared by tests of compiled programs: models as short text, and counting by executing the model.

use std::collections::BTreeMap;

use sintonia_formula::{Formula, SymbolValues};
use sintonia_pamela::model::{ComputeOp, ModelTerm, PamelaModel};
use sintonia_source::{CompiledModel, SourceFile, compile_texts};

/// The model of a Java file with this text, with an entry method.
pub(crate) fn java(text: &str, entry: &str) -> CompiledModel {
    let compiled = compile_texts(&[SourceFile::new("A.java", text)], Some(entry)).unwrap_or_else(|error| panic!("{error}"));
    compiled.model.check().unwrap_or_else(|error| panic!("{error}\n{}", compiled.model.to_text()));
    compiled
}

/// The model of an application in PASL and Java.
pub(crate) fn application(pasl: &str, java: (&str, &str)) -> CompiledModel {
    let compiled =
        compile_texts(&[SourceFile::new("a.pasl", pasl), SourceFile::new(java.0, java.1)], None).unwrap_or_else(|error| panic!("{error}"));
    compiled.model.check().unwrap_or_else(|error| panic!("{error}\n{}", compiled.model.to_text()));
    compiled
}

/// The error for files with these names and texts.
pub(crate) fn error(files: &[(&str, &str)], entry: Option<&str>) -> String {
    let texts: Vec<SourceFile> = files.iter().map(|(name, text)| SourceFile::new(name, *text)).collect();
    compile_texts(&texts, entry).expect_err("an error").to_string()
}

/// The body of a procedure, one line per term, without comments.
pub(crate) fn lines(model: &PamelaModel, procedure: &str) -> Vec<String> {
    let body = &model.procedures.iter().find(|other| other.name == procedure).expect("the procedure").body;
    let mut lines = Vec::new();
    write(body, 0, false, &mut lines);
    lines
}

/// The same with comments.
pub(crate) fn lines_with_notes(model: &PamelaModel, procedure: &str) -> Vec<String> {
    let body = &model.procedures.iter().find(|other| other.name == procedure).expect("the procedure").body;
    let mut lines = Vec::new();
    write(body, 0, true, &mut lines);
    lines
}

fn write(term: &ModelTerm, depth: usize, notes: bool, lines: &mut Vec<String>) {
    let mut line = |text: String| lines.push(format!("{}{text}", "  ".repeat(depth)));
    match term {
        ModelTerm::Comment(text) if notes => line(format!("// {text}")),
        ModelTerm::Comment(_) => {}
        ModelTerm::Operation { operation, times } if times.is_one() => line(name(operation)),
        ModelTerm::Operation { operation, times } => line(format!("{}({times})", name(operation))),
        ModelTerm::Message { from, to, bytes } => line(format!("send_{}_{}({bytes})", from.0, to.0)),
        ModelTerm::Collective { operation, bytes, processes } => line(format!("{operation:?}({bytes}, {processes})")),
        ModelTerm::Delay(time) => line(format!("delay({time})")),
        ModelTerm::Call { procedure, arguments } => {
            let arguments: Vec<String> = arguments.iter().map(Formula::to_string).collect();
            line(format!("{procedure}({})", arguments.join(", ")));
        }
        ModelTerm::Sequence(terms) => terms.iter().for_each(|term| write(term, depth, notes, lines)),
        ModelTerm::Parallel(terms) => {
            line("together".to_owned());
            terms.iter().for_each(|term| write(term, depth + 1, notes, lines));
        }
        ModelTerm::Loop { index, from, to, body, .. } => {
            line(format!("seq({index}={from},{to})"));
            write(body, depth + 1, notes, lines);
        }
        ModelTerm::Tasks { index, from, to, computer, body } => {
            line(format!("tasks({index}={from},{to}) on {computer}"));
            write(body, depth + 1, notes, lines);
        }
        ModelTerm::If { position: place, share, then, otherwise } => {
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
        ModelTerm::Use { resource, body } => {
            line(format!("use {resource}"));
            write(body, depth + 1, notes, lines);
        }
    }
}

fn name(operation: &ComputeOp) -> String {
    let parts =
        [Some(operation.name.as_str()), operation.data_type.as_deref(), operation.computer.as_ref().map(|computer| computer.0.as_str())];
    parts.into_iter().flatten().collect::<Vec<_>>().join("_")
}

/// The count of each operation, by executing the model iteration by iteration.
pub(crate) fn counted(model: &PamelaModel, values: &[(&str, f64)]) -> BTreeMap<String, f64> {
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
    let values: SymbolValues<f64> = scope.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    formula.evaluate(&values).unwrap_or_else(|problem| panic!("{formula}: {problem}"))
}

fn count(model: &PamelaModel, term: &ModelTerm, scope: &BTreeMap<String, f64>, weight: f64, counts: &mut BTreeMap<String, f64>) {
    match term {
        ModelTerm::Operation { operation, times } => *counts.entry(name(operation)).or_default() += weight * evaluate(times, scope),
        ModelTerm::Call { procedure, arguments } => {
            let called = model.procedures.iter().find(|other| other.name == *procedure).expect("the procedure");
            assert_eq!(called.parameters.len(), arguments.len(), "{procedure}");
            let mut inside: BTreeMap<String, f64> = scope.clone();
            let given = arguments.iter().map(|argument| evaluate(argument, scope));
            inside.extend(called.parameters.iter().cloned().zip(given.collect::<Vec<_>>()));
            count(model, &called.body, &inside, weight, counts);
        }
        ModelTerm::Sequence(terms) | ModelTerm::Parallel(terms) => terms.iter().for_each(|term| count(model, term, scope, weight, counts)),
        ModelTerm::Loop { index, from, to, body, .. } | ModelTerm::Tasks { index, from, to, body, .. } => {
            let (mut round, to) = (evaluate(from, scope), evaluate(to, scope));
            while round <= to {
                let mut inside = scope.clone();
                inside.insert(index.clone(), round);
                inside.insert("w".to_owned(), 1.0);
                count(model, body, &inside, weight, counts);
                round += 1.0;
            }
        }
        ModelTerm::If { share, then, otherwise, .. } => {
            let share = share.as_ref().map_or(0.5, |share| evaluate(share, scope));
            if share > 0.0 {
                count(model, then, scope, weight * share, counts);
            }
            if share < 1.0 {
                count(model, otherwise, scope, weight * (1.0 - share), counts);
            }
        }
        ModelTerm::Use { body, .. } => count(model, body, scope, weight, counts),
        ModelTerm::Comment(_) | ModelTerm::Message { .. } | ModelTerm::Collective { .. } | ModelTerm::Delay(_) => {}
    }
}
