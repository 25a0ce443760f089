//! The state of the parser, and error recovery.

use std::collections::HashMap;
use std::ops::Range;

use super::deferred_checks::DeferredChecks;
use super::error::{DiagnosticList, ModelProblem};
use super::lexer::{Lexer, ModelToken, TokenKind, Trivia, UnterminatedKind};
use super::outline::DeclarationOutline;

/// Parsing failed, and a diagnostic has been reported.
#[derive(Debug)]
pub(super) struct ErrorReported;

/// What a local name of a procedure refers to.
#[derive(Debug, Clone, Copy)]
pub(super) enum LocalName {
    /// An index, or the computer of a task.
    Index,
    /// A parameter of the procedure, by its index.
    Parameter(usize),
}

pub(super) struct ModelParser<'a> {
    pub(super) text: &'a str,
    lexer: Lexer<'a>,
    pub(super) lookahead: ModelToken<'a>,
    /// The comments before it.
    pub(super) trivia: Trivia<'a>,
    /// The end of the last token consumed.
    pub(super) last_end: usize,
    pub(super) outline: DeclarationOutline<'a>,
    pub(super) diagnostics: DiagnosticList,
    pub(super) deferred: DeferredChecks<'a>,
    /// The local names in scope, the innermost last.
    pub(super) locals: HashMap<&'a str, Vec<LocalName>>,
    /// The offsets of all indexes, also those out of scope.
    pub(super) indexes: HashMap<&'a str, usize>,
    /// Only parameters of the model declared before this offset are in scope.
    pub(super) declared_before: usize,
    /// The index of the current procedure.
    pub(super) procedure: usize,
    /// The nesting depth of terms.
    pub(super) depth: usize,
    /// Whether a missing closing delimiter has been reported already.
    pub(super) unclosed_reported: bool,
}

impl<'a> ModelParser<'a> {
    pub(super) fn new(text: &'a str) -> ModelParser<'a> {
        let mut lexer = Lexer::new(text);
        let (trivia, lookahead) = lexer.next();
        let outline = DeclarationOutline::scan(text);
        let diagnostics = DiagnosticList::new(!outline.is_balanced);
        ModelParser {
            text,
            lexer,
            lookahead,
            trivia,
            last_end: 0,
            outline,
            diagnostics,
            deferred: DeferredChecks::default(),
            locals: HashMap::new(),
            indexes: HashMap::new(),
            declared_before: usize::MAX,
            procedure: 0,
            depth: 0,
            unclosed_reported: false,
        }
    }

    pub(super) fn advance(&mut self) -> ModelToken<'a> {
        let token = self.lookahead;
        self.last_end = token.end();
        if self.diagnostics.is_full() {
            self.lexer = Lexer::from(self.text, self.text.len());
        }
        (self.trivia, self.lookahead) = self.lexer.next();
        token
    }

    /// Consumes the next token if it is this one.
    pub(super) fn accept(&mut self, sign: &str) -> bool {
        let is_here = self.lookahead.is(sign);
        if is_here {
            self.advance();
        }
        is_here
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<ModelToken<'a>, ErrorReported> {
        if self.lookahead.is(sign) { Ok(self.advance()) } else { self.fail_expected(&format!("`{sign}`"), None) }
    }

    pub(super) fn name(&mut self, what: &str) -> Result<ModelToken<'a>, ErrorReported> {
        match self.lookahead.kind {
            TokenKind::Name => Ok(self.advance()),
            _ => self.fail_expected(what, Some("a name consists of letters, digits and `_` and does not start with a digit")),
        }
    }

    pub(super) fn report(&mut self, bytes: Range<usize>, problem: ModelProblem, hint: Option<String>) {
        self.diagnostics.add(bytes, problem, hint);
    }

    pub(super) fn fail<T>(&mut self, bytes: Range<usize>, problem: ModelProblem, hint: Option<String>) -> Result<T, ErrorReported> {
        self.report(bytes, problem, hint);
        Err(ErrorReported)
    }

    pub(super) fn fail_expected<T>(&mut self, what: &str, hint: Option<&str>) -> Result<T, ErrorReported> {
        self.report_expected(what, hint);
        Err(ErrorReported)
    }

    pub(super) fn report_expected(&mut self, what: &str, hint: Option<&str>) {
        let token = self.lookahead;
        let problem = match token.kind {
            TokenKind::Invalid => ModelProblem::InvalidCharacter(token.text.to_owned()),
            TokenKind::Unterminated(UnterminatedKind::Comment) => ModelProblem::Unterminated("comment"),
            TokenKind::Unterminated(UnterminatedKind::StringLiteral) => ModelProblem::Unterminated("string literal"),
            TokenKind::Unterminated(UnterminatedKind::QuotedName) => ModelProblem::Unterminated("name in backquotes"),
            _ => ModelProblem::Expected { what: what.to_owned(), found: token.describe() },
        };
        self.report(token.offset..token.end(), problem, hint.map(str::to_owned));
    }

    /// The meaning of a local name.
    pub(super) fn local(&self, name: &str) -> Option<LocalName> {
        self.locals.get(name).and_then(|meanings| meanings.last()).copied()
    }

    /// Parses something with a local name in scope.
    pub(super) fn with_local<T>(&mut self, name: &'a str, local: LocalName, read: impl FnOnce(&mut Self) -> T) -> T {
        self.locals.entry(name).or_default().push(local);
        let result = read(self);
        self.locals.entry(name).or_default().pop();
        result
    }

    /// The line of an offset, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        1 + self.text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count()
    }

    /// Whether a block follows, possibly after parentheses: then the name before is meant to be a procedure.
    pub(super) fn block_follows(&self) -> bool {
        let (mut token, mut ahead, mut open) = (self.lookahead, self.lexer.clone(), 0_usize);
        loop {
            match token.text {
                "{" if open == 0 => return true,
                "(" => open += 1,
                ")" => open = open.saturating_sub(1),
                _ if open == 0 => return false,
                ";" | "{" | "}" | "" => return false,
                _ => {}
            }
            token = ahead.next().1;
        }
    }

    /// Skips a term that could not be parsed: up to a separator or the end of the block, or behind a block of its own.
    pub(super) fn skip_term(&mut self) {
        while self.lookahead.kind != TokenKind::End && ![";", "||", "}"].iter().any(|end| self.lookahead.is(end)) {
            if self.advance().is("{") {
                return self.skip_block();
            }
        }
    }

    /// Skips a declaration that could not be parsed, up to its end or the next one.
    pub(super) fn skip_declaration(&mut self) {
        const BEGIN: [&str; 3] = ["parameter", "resource", "language"];
        while self.lookahead.kind != TokenKind::End {
            let token = self.advance();
            if token.is("{") {
                return self.skip_block();
            }
            if token.is(";") || token.is("}") || BEGIN.iter().any(|word| self.lookahead.is_word(word)) {
                return;
            }
        }
    }

    /// Skips to behind the brace that closes the last one consumed.
    fn skip_block(&mut self) {
        let mut open = 1;
        while open > 0 && self.lookahead.kind != TokenKind::End {
            let token = self.advance();
            open += usize::from(token.is("{"));
            open -= usize::from(token.is("}"));
        }
    }
}
