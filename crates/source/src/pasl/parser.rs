//! The parser of PASL.

use std::collections::BTreeSet;

use sintonia_formula::Formula;

use super::application::TASK;
use super::lexer::{self, PaslToken, PaslTokenKind};
use crate::error::SourceDiagnostic;
use crate::source_file::SourceFile;
use sintonia_text::suggestion::nearest_name;

/// Maximum nesting depth of parentheses.
const MAX_DEPTH: usize = 100;

/// The declarations of a file, before name resolution.
#[derive(Debug, Default)]
pub(super) struct PaslDeclarations<'a> {
    pub(super) name: &'a str,
    pub(super) parameters: Vec<(&'a str, Option<Formula>, usize)>,
    pub(super) batches: Vec<BatchDecl<'a>>,
    pub(super) flows: Vec<FlowDecl<'a>>,
}

#[derive(Debug)]
pub(super) struct BatchDecl<'a> {
    pub(super) name: &'a str,
    pub(super) tasks: Formula,
    pub(super) routine: String,
    pub(super) arguments: Vec<ArgumentDecl>,
    pub(super) offset: usize,
}

/// An argument; a single name may be a batch, which is resolved later.
#[derive(Debug)]
pub(super) struct ArgumentDecl {
    pub(super) name: Option<String>,
    pub(super) value: Formula,
    pub(super) offset: usize,
}

#[derive(Debug)]
pub(super) struct FlowDecl<'a> {
    pub(super) from: (&'a str, usize),
    pub(super) to: (&'a str, usize),
    pub(super) bytes: Option<Formula>,
}

pub(super) fn parse_declarations(text: &SourceFile) -> Result<PaslDeclarations<'_>, SourceDiagnostic> {
    let words = lexer::tokenize(text)?;
    let mut reader = PaslParser { text, tokens: words, next: 0, declared_parameters: BTreeSet::new() };
    let mut found = PaslDeclarations::default();
    reader.keyword("application")?;
    found.name = reader.name("the name of the application")?.0;
    reader.sign(";")?;
    loop {
        let token = reader.peek();
        match token.kind {
            PaslTokenKind::Name("parameter") => reader.parameter(&mut found)?,
            PaslTokenKind::Name("batch") => found.batches.push(reader.batch()?),
            PaslTokenKind::Name("flow") => found.flows.push(reader.flow()?),
            PaslTokenKind::End => break,
            PaslTokenKind::Name(_) | PaslTokenKind::Punct(_) => {
                return Err(reader.misspelled_error("`parameter`, `batch` or `flow`", &["parameter", "batch", "flow"]));
            }
        }
    }
    if found.batches.is_empty() {
        return Err(reader.expected_error("at least one `batch`"));
    }
    Ok(found)
}

struct PaslParser<'a> {
    text: &'a SourceFile,
    tokens: Vec<PaslToken<'a>>,
    next: usize,
    /// The parameters declared so far.
    declared_parameters: BTreeSet<&'a str>,
}

impl<'a> PaslParser<'a> {
    fn peek(&self) -> PaslToken<'a> {
        self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn advance(&mut self) -> PaslToken<'a> {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn error(&self, at: usize, problem: impl Into<String>) -> SourceDiagnostic {
        SourceDiagnostic::new(self.text.pos_at(at), problem).with_source_line(&self.text.text)
    }

    fn expected_error(&self, what: &str) -> SourceDiagnostic {
        let token = self.peek();
        self.error(token.offset, format!("expected {what}, found {}", token.kind.describe()))
    }

    /// The same, with a suggestion.
    fn misspelled_error(&self, what: &str, words: &[&str]) -> SourceDiagnostic {
        let wrong = self.expected_error(what);
        match self.peek().kind {
            PaslTokenKind::Name(name) if !words.contains(&name) => match nearest_name(name, words.iter().copied()) {
                Some(near) => wrong.with_hint(format!("did you mean `{near}`?")),
                None => wrong,
            },
            _ => wrong,
        }
    }

    fn sign(&mut self, sign: &str) -> Result<usize, SourceDiagnostic> {
        match self.peek().kind {
            PaslTokenKind::Punct(found) if found == sign => Ok(self.advance().offset),
            _ => Err(self.expected_error(&format!("`{sign}`"))),
        }
    }

    fn is(&self, sign: &str) -> bool {
        self.peek().kind == PaslTokenKind::Punct(sign)
    }

    fn keyword(&mut self, keyword: &str) -> Result<(), SourceDiagnostic> {
        match self.peek().kind {
            PaslTokenKind::Name(found) if found == keyword => {
                self.advance();
                Ok(())
            }
            _ => Err(self.expected_error(&format!("`{keyword}`"))),
        }
    }

    fn name(&mut self, what: &str) -> Result<(&'a str, usize), SourceDiagnostic> {
        match self.peek() {
            PaslToken { kind: PaslTokenKind::Name(name), offset: at } => {
                self.advance();
                Ok((name, at))
            }
            _ => Err(self.expected_error(what)),
        }
    }

    fn parameter(&mut self, found: &mut PaslDeclarations<'a>) -> Result<(), SourceDiagnostic> {
        self.advance();
        let (name, at) = self.name("the name of the parameter")?;
        if name == TASK {
            return Err(self.error(at, "`task` is the number of a task and cannot be a parameter"));
        }
        if self.declared_parameters.contains(name) {
            return Err(self.error(at, format!("there is already a parameter `{name}`")));
        }
        let value = if self.is("=") {
            self.advance();
            Some(self.formula(&[";"], false)?)
        } else {
            None
        };
        self.sign(";")?;
        self.declared_parameters.insert(name);
        found.parameters.push((name, value, at));
        Ok(())
    }

    fn batch(&mut self) -> Result<BatchDecl<'a>, SourceDiagnostic> {
        self.advance();
        let (name, at) = self.name("the name of the batch")?;
        let open = self.sign("{")?;
        let (mut tasks, mut run) = (None, None);
        while !self.is("}") {
            match self.peek().kind {
                PaslTokenKind::Name("tasks") if tasks.is_none() => {
                    self.key()?;
                    tasks = Some(self.formula(&[";", "}"], false)?);
                    self.end_of_entry()?;
                }
                PaslTokenKind::Name("run") if run.is_none() => {
                    self.key()?;
                    run = Some(self.run()?);
                    self.end_of_entry()?;
                }
                PaslTokenKind::Name(key @ ("tasks" | "run")) => {
                    return Err(self.error(self.peek().offset, format!("this batch already has `{key}`")));
                }
                PaslTokenKind::End => return Err(self.unclosed_error(open)),
                _ => return Err(self.misspelled_error("`tasks:`, `run:` or `}`", &["tasks", "run"])),
            }
        }
        self.advance();
        let (routine, arguments) =
            run.ok_or_else(|| self.error(at, format!("batch `{name}` has no `run`")).with_hint("add `run: Class.method(…);`"))?;
        Ok(BatchDecl { name, tasks: tasks.unwrap_or_else(Formula::one), routine, arguments, offset: at })
    }

    fn flow(&mut self) -> Result<FlowDecl<'a>, SourceDiagnostic> {
        self.advance();
        let from = self.name("the name of a batch")?;
        self.sign("->")?;
        let to = self.name("the name of a batch")?;
        let mut bytes = None;
        if self.is("{") {
            let open = self.advance().offset;
            while !self.is("}") {
                match self.peek().kind {
                    PaslTokenKind::Name("bytes") if bytes.is_none() => {
                        self.key()?;
                        bytes = Some(self.formula(&[";", "}"], false)?);
                        self.end_of_entry()?;
                    }
                    PaslTokenKind::End => return Err(self.unclosed_error(open)),
                    _ => return Err(self.misspelled_error("`bytes:` once, or `}`", &["bytes"])),
                }
            }
            self.advance();
            if self.is(";") {
                self.advance();
            }
        } else {
            self.sign(";")?;
        }
        Ok(FlowDecl { from, to, bytes })
    }

    fn unclosed_error(&self, open: usize) -> SourceDiagnostic {
        let place = self.text.pos_at(open);
        self.expected_error("`}`").with_hint(format!("it closes the `{{` of line {}", place.line))
    }

    fn key(&mut self) -> Result<(), SourceDiagnostic> {
        self.advance();
        self.sign(":").map(|_| ())
    }

    /// The `;` after an entry, optional before `}`.
    fn end_of_entry(&mut self) -> Result<(), SourceDiagnostic> {
        if self.is("}") { Ok(()) } else { self.sign(";").map(|_| ()) }
    }

    fn run(&mut self) -> Result<(String, Vec<ArgumentDecl>), SourceDiagnostic> {
        let (mut routine, _) = self.name("a method, as `Primes.search`").map(|(name, at)| (name.to_owned(), at))?;
        self.sign(".").map_err(|wrong| wrong.with_hint("qualify the method with its class, as in `Primes.search`"))?;
        loop {
            routine.push('.');
            routine.push_str(self.name("the name of a method")?.0);
            if !self.is(".") {
                break;
            }
            self.advance();
        }
        self.sign("(")?;
        let mut arguments = Vec::new();
        while !self.is(")") {
            let at = self.peek().offset;
            let name = match self.tokens.get(self.next..self.next + 2) {
                Some([PaslToken { kind: PaslTokenKind::Name(name), .. }, PaslToken { kind: PaslTokenKind::Punct("," | ")"), .. }]) => {
                    Some((*name).to_owned())
                }
                _ => None,
            };
            let value = self.formula(&[",", ")"], true)?;
            arguments.push(ArgumentDecl { name, value, offset: at });
            if self.is(",") {
                self.advance();
                if self.is(")") {
                    return Err(self.expected_error("an argument after `,`"));
                }
            }
        }
        self.advance();
        Ok((routine, arguments))
    }

    /// A formula up to one of these tokens outside of parentheses. Its symbols must be parameters; `of_task` also allows `task` and, as a
    /// single name, a batch.
    fn formula(&mut self, ends: &[&str], of_task: bool) -> Result<Formula, SourceDiagnostic> {
        let begin = self.peek().offset;
        let first = self.next;
        let mut open = Vec::new();
        loop {
            let token = self.peek();
            match token.kind {
                PaslTokenKind::End => return Err(self.expected_error(&format!("`{}`", ends[0]))),
                PaslTokenKind::Punct(sign) if open.is_empty() && ends.contains(&sign) => break,
                PaslTokenKind::Punct("(" | "[") => open.push(token.offset),
                PaslTokenKind::Punct(")" | "]") if open.pop().is_none() => return Err(self.expected_error(&format!("`{}`", ends[0]))),
                PaslTokenKind::Punct(";" | "{" | "}") => return Err(self.expected_error("`)`")),
                _ => {}
            }
            if open.len() > MAX_DEPTH {
                return Err(self.error(token.offset, format!("parentheses are nested more than {MAX_DEPTH} deep")));
            }
            self.advance();
        }
        let end = self.peek().offset;
        let slice = blank_comments(&self.text.text[begin..end]);
        let formula = Formula::parse(&slice).map_err(|wrong| self.error(begin + wrong.offset.min(end - begin), wrong.kind.to_string()))?;
        let lone = of_task && self.next == first + 1;
        for symbol in formula.symbols() {
            let known = self.declared_parameters.contains(symbol.as_str()) || lone || of_task && symbol == TASK;
            if !known {
                return Err(self.unknown_parameter_error(&symbol, first, of_task));
            }
        }
        Ok(formula)
    }

    fn unknown_parameter_error(&self, symbol: &str, first: usize, of_task: bool) -> SourceDiagnostic {
        let at = self.tokens[first..self.next]
            .iter()
            .find(|token| token.kind == PaslTokenKind::Name(symbol))
            .map_or(self.tokens[first].offset, |token| token.offset);
        let known = self.declared_parameters.iter().copied().chain(of_task.then_some(TASK));
        let wrong = self.error(at, format!("there is no parameter `{symbol}` before this"));
        match nearest_name(symbol, known) {
            Some(near) => wrong.with_hint(format!("did you mean `{near}`?")),
            None if symbol == TASK => wrong.with_hint("`task` is only defined in the arguments of `run`"),
            None => wrong.with_hint(format!("declare it with `parameter {symbol};`")),
        }
    }
}

/// The text with comments blanked, so that offsets stay the same.
fn blank_comments(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        let length = if rest[begin..].starts_with("//") {
            rest[begin..].find('\n').unwrap_or(rest.len() - begin)
        } else {
            rest[begin + 2..].find("*/").map_or(rest.len() - begin, |end| end + 4)
        };
        result.push_str(&rest[..begin]);
        result.push_str(&" ".repeat(length));
        rest = &rest[begin + length..];
    }
    result.push_str(rest);
    result
}
