//! Models from text: declarations and procedures.
//!
//! Any text gives a model or its mistakes, each with its place. Behind a mistake reading goes on with the next term or declaration, so that
//! an editor can show them all.

use std::collections::HashMap;

use sintonia_formula::Formula;

use super::error::{Mistakes, Problem};
use super::formula::{Must, PROCESSES};
use super::name::is_reserved;
use super::note;
use super::reader::{Failed, Local, Reader};
use super::token::{Gap, Kind, Token};
use crate::model::{Language, Model, Parameter, Procedure, Resource};

/// The model of a text, as far as it can be read, and what is wrong with it.
pub(super) fn parse(text: &str) -> (Model, Mistakes) {
    let mut reader = Reader::new(text);
    let model = reader.model();
    let Reader { mut mistakes, facts, outline, .. } = reader;
    if mistakes.is_empty() {
        facts.judge(&outline, &mut mistakes);
    }
    (model, mistakes)
}

impl<'a> Reader<'a> {
    fn model(&mut self) -> Model {
        let mut model = Model::default();
        while self.ahead.kind != Kind::End {
            if self.declaration(&mut model).is_err() {
                self.mistakes.names_unsure = true;
                self.skip_declaration();
            }
        }
        self.check_program(&model);
        model
    }

    fn declaration(&mut self, model: &mut Model) -> Result<(), Failed> {
        let gap = std::mem::take(&mut self.gap);
        match (self.ahead.kind, self.ahead.text) {
            (Kind::Name, "language") => model.language = self.language()?,
            (Kind::Name, "parameter") => model.parameters.push(self.parameter(gap)?),
            (Kind::Name, "resource") => model.resources.push(self.resource()?),
            (Kind::Name, _) => model.procedures.push(self.procedure(gap)?),
            (Kind::Sign, "}") => {
                let brace = self.ahead;
                return self.fail(brace.at..brace.end(), Problem::Unopened, None);
            }
            _ => return self.expected("`parameter`, `resource`, `language` or the name of a procedure", None),
        }
        Ok(())
    }

    fn language(&mut self) -> Result<Language, Failed> {
        self.take();
        let name = self.name("a language")?;
        let language = match name.text {
            "c" => Language::C,
            "java" => Language::Java,
            other => return self.fail(name.at..name.end(), Problem::UnknownLanguage(other.into()), None),
        };
        self.expect(";")?;
        Ok(language)
    }

    fn parameter(&mut self, gap: Gap<'a>) -> Result<Parameter, Failed> {
        self.take();
        let name = self.name("the name of a parameter")?;
        self.check_first(name, self.outline.parameters.get(name.text).copied(), "parameters");
        if name.text == PROCESSES {
            let hint = "it needs no declaration: predict --procs gives it".to_owned();
            self.report(name.at..name.end(), Problem::Processes(name.text.into()), Some(hint));
        }
        self.declared_before = name.at;
        let value = if self.took("=") { self.formula().map(Some) } else { Ok(None) };
        self.declared_before = usize::MAX;
        let value = value?;
        self.expect(";")?;
        let notes = [note::above(gap), note::behind(&self.gap)].into_iter().flatten().reduce(|above, behind| above + "\n" + &behind);
        self.gap.comments.retain(|comment| !comment.trailing);
        Ok(Parameter { name: name.text.into(), value, note: notes })
    }

    fn resource(&mut self) -> Result<Resource, Failed> {
        self.take();
        let name = self.name("the name of a resource")?;
        self.check_first(name, self.outline.resources.get(name.text).copied(), "resources");
        let multiplicity = if self.took("(") {
            let multiplicity = self.number("how many can use a resource", Must::BePositive)?;
            self.expect(")")?;
            multiplicity
        } else {
            Formula::one()
        };
        self.expect(";")?;
        Ok(Resource { name: name.text.into(), multiplicity })
    }

    fn procedure(&mut self, gap: Gap<'a>) -> Result<Procedure, Failed> {
        let name = self.take();
        if is_reserved(name.text) {
            let hint = "terms stand in procedures, as in main { … }";
            return self.fail(name.at..name.end(), Problem::Reserved(name.text.into()), Some(hint.into()));
        }
        let place = self.outline.procedure(name.text);
        let first = place.map(|place| self.outline.procedures[place].at);
        self.check_first(name, first, "procedures");
        let parameters = self.procedure_parameters()?;
        self.took("=");
        if !self.ahead.is("{") {
            return self.expected("`{`", Some("a procedure is a name, its parameters, and a block: search(i, w) { … }"));
        }
        self.procedure = place.unwrap_or(0);
        for (place, parameter) in parameters.iter().enumerate() {
            self.locals.entry(parameter.text).or_default().push(Local::Parameter(place));
        }
        let body = self.block();
        self.locals.clear();
        self.took(";");
        let parameters = parameters.iter().map(|parameter| parameter.text.into()).collect();
        Ok(Procedure { name: name.text.into(), parameters, body: body?, note: note::above(gap) })
    }

    fn procedure_parameters(&mut self) -> Result<Vec<Token<'a>>, Failed> {
        let mut parameters: Vec<Token<'a>> = Vec::new();
        if !self.took("(") || self.took(")") {
            return Ok(parameters);
        }
        let mut known = HashMap::new();
        loop {
            let name = self.name("the name of a parameter")?;
            let first = *known.entry(name.text).or_insert(name.at);
            self.check_first(name, Some(first), "parameters");
            parameters.push(name);
            if !self.took(",") {
                self.expect(")")?;
                return Ok(parameters);
            }
        }
    }

    /// Reports a name that is declared elsewhere already.
    fn check_first(&mut self, name: Token<'a>, first: Option<usize>, what: &'static str) {
        if let Some(first) = first.filter(|first| *first != name.at) {
            let hint = format!("the first one is in line {}", self.line(first));
            self.report(name.at..name.end(), Problem::Twice { what, name: name.text.into() }, Some(hint));
        }
    }

    /// Reports a model that has no program, or one that needs to be given something.
    fn check_program(&mut self, model: &Model) {
        let headers = &self.outline.procedures;
        let Some(program) = headers.iter().find(|header| header.name == "main").or(headers.first()) else {
            if self.mistakes.is_empty() {
                let hint = "the program is the procedure `main`: main { … }".to_owned();
                self.report(self.text.len()..self.text.len(), Problem::NoProcedure, Some(hint));
            }
            return;
        };
        if program.takes > 0 && !model.procedures.is_empty() && self.mistakes.is_empty() {
            let (at, name) = (program.at, program.name);
            let hint = (name != "main").then(|| "the program is the procedure `main`, or else the first one".to_owned());
            self.report(at..at + name.len(), Problem::Given(name.into()), hint);
        }
    }
}
