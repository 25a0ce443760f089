//! The parser of declarations and procedures.
//!
//! Any text gives a model or diagnostics with positions. After an error parsing continues with the next term or declaration, so that an
//! editor can show all errors.

use std::collections::HashMap;

use sintonia_formula::Formula;

use super::comment;
use super::error::{DiagnosticList, ModelProblem};
use super::formula::{PROCESSES, ValueConstraint};
use super::lexer::{ModelToken, TokenKind, Trivia};
use super::name::is_reserved;
use super::parser::{ErrorReported, LocalName, ModelParser};
use crate::model::{ModelParameter, PamelaModel, ProcedureDecl, ResourceDecl, SourceLanguage};

/// The model of a text, as far as it could be parsed, and the diagnostics.
pub(super) fn parse(text: &str) -> (PamelaModel, DiagnosticList) {
    let mut reader = ModelParser::new(text);
    let model = reader.model();
    let ModelParser { diagnostics: mut mistakes, deferred: facts, outline, .. } = reader;
    if mistakes.is_empty() {
        facts.check(&outline, &mut mistakes);
    }
    (model, mistakes)
}

impl<'a> ModelParser<'a> {
    fn model(&mut self) -> PamelaModel {
        let mut model = PamelaModel::default();
        while self.lookahead.kind != TokenKind::End {
            if self.declaration(&mut model).is_err() {
                self.diagnostics.declarations_uncertain = true;
                self.skip_declaration();
            }
        }
        self.check_program(&model);
        model
    }

    fn declaration(&mut self, model: &mut PamelaModel) -> Result<(), ErrorReported> {
        let gap = std::mem::take(&mut self.trivia);
        match (self.lookahead.kind, self.lookahead.text) {
            (TokenKind::Name, "language") => model.language = self.language()?,
            (TokenKind::Name, "parameter") => model.parameters.push(self.parameter(gap)?),
            (TokenKind::Name, "resource") => model.resources.push(self.resource()?),
            (TokenKind::Name, _) => model.procedures.push(self.procedure(gap)?),
            (TokenKind::Punct, "}") => {
                let brace = self.lookahead;
                return self.fail(brace.offset..brace.end(), ModelProblem::Unopened, None);
            }
            _ => return self.fail_expected("`parameter`, `resource`, `language` or the name of a procedure", None),
        }
        Ok(())
    }

    fn language(&mut self) -> Result<SourceLanguage, ErrorReported> {
        self.advance();
        let name = self.name("a language")?;
        let language = match name.text {
            "c" => SourceLanguage::C,
            "java" => SourceLanguage::Java,
            other => return self.fail(name.offset..name.end(), ModelProblem::UnknownLanguage(other.into()), None),
        };
        self.expect(";")?;
        Ok(language)
    }

    fn parameter(&mut self, gap: Trivia<'a>) -> Result<ModelParameter, ErrorReported> {
        self.advance();
        let name = self.name("the name of a parameter")?;
        self.check_duplicate(name, self.outline.parameters.get(name.text).copied(), "parameters");
        if name.text == PROCESSES {
            let hint = "it needs no declaration: predict --procs gives it".to_owned();
            self.report(name.offset..name.end(), ModelProblem::ReservedParameter(name.text.into()), Some(hint));
        }
        self.declared_before = name.offset;
        let value = if self.accept("=") { self.formula().map(Some) } else { Ok(None) };
        self.declared_before = usize::MAX;
        let value = value?;
        self.expect(";")?;
        let notes = [comment::leading_comment(gap), comment::trailing_comment(&self.trivia)]
            .into_iter()
            .flatten()
            .reduce(|above, behind| above + "\n" + &behind);
        self.trivia.comments.retain(|comment| !comment.trailing);
        Ok(ModelParameter { name: name.text.into(), value, comment: notes })
    }

    fn resource(&mut self) -> Result<ResourceDecl, ErrorReported> {
        self.advance();
        let name = self.name("the name of a resource")?;
        self.check_duplicate(name, self.outline.resources.get(name.text).copied(), "resources");
        let multiplicity = if self.accept("(") {
            let multiplicity = self.constrained_formula("a multiplicity", ValueConstraint::Positive)?;
            self.expect(")")?;
            multiplicity
        } else {
            Formula::one()
        };
        self.expect(";")?;
        Ok(ResourceDecl { name: name.text.into(), multiplicity })
    }

    fn procedure(&mut self, gap: Trivia<'a>) -> Result<ProcedureDecl, ErrorReported> {
        let name = self.advance();
        if is_reserved(name.text) {
            let hint = "terms belong into procedures, as in main { … }";
            return self.fail(name.offset..name.end(), ModelProblem::Reserved(name.text.into()), Some(hint.into()));
        }
        let place = self.outline.procedure(name.text);
        let first = place.map(|place| self.outline.procedures[place].offset);
        self.check_duplicate(name, first, "procedures");
        let parameters = self.procedure_parameters()?;
        self.accept("=");
        if !self.lookahead.is("{") {
            return self.fail_expected("`{`", Some("a procedure is a name, its parameters, and a block: search(i, w) { … }"));
        }
        self.procedure = place.unwrap_or(0);
        for (place, parameter) in parameters.iter().enumerate() {
            self.locals.entry(parameter.text).or_default().push(LocalName::Parameter(place));
        }
        let body = self.block();
        self.locals.clear();
        self.accept(";");
        let parameters = parameters.iter().map(|parameter| parameter.text.into()).collect();
        Ok(ProcedureDecl { name: name.text.into(), parameters, body: body?, comment: comment::leading_comment(gap) })
    }

    fn procedure_parameters(&mut self) -> Result<Vec<ModelToken<'a>>, ErrorReported> {
        let mut parameters: Vec<ModelToken<'a>> = Vec::new();
        if !self.accept("(") || self.accept(")") {
            return Ok(parameters);
        }
        let mut known = HashMap::new();
        loop {
            let name = self.name("the name of a parameter")?;
            let first = *known.entry(name.text).or_insert(name.offset);
            self.check_duplicate(name, Some(first), "parameters");
            parameters.push(name);
            if !self.accept(",") {
                self.expect(")")?;
                return Ok(parameters);
            }
        }
    }

    /// Reports a name that is already declared.
    fn check_duplicate(&mut self, name: ModelToken<'a>, first: Option<usize>, what: &'static str) {
        if let Some(first) = first.filter(|first| *first != name.offset) {
            let hint = format!("the first one is in line {}", self.line(first));
            self.report(name.offset..name.end(), ModelProblem::Duplicate { what, name: name.text.into() }, Some(hint));
        }
    }

    /// Reports a model without a main procedure, or one whose main procedure has parameters.
    fn check_program(&mut self, model: &PamelaModel) {
        let headers = &self.outline.procedures;
        let Some(program) = headers.iter().find(|header| header.name == "main").or(headers.first()) else {
            if self.diagnostics.is_empty() {
                let hint = "the main procedure is called `main`: main { … }".to_owned();
                self.report(self.text.len()..self.text.len(), ModelProblem::NoProcedure, Some(hint));
            }
            return;
        };
        if program.n_parameters > 0 && !model.procedures.is_empty() && self.diagnostics.is_empty() {
            let (at, name) = (program.offset, program.name);
            let hint = (name != "main").then(|| "the main procedure is `main`, or else the first one".to_owned());
            self.report(at..at + name.len(), ModelProblem::MainParameters(name.into()), hint);
        }
    }
}
