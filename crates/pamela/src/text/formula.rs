//! Formulas inside a model: their extent, their value and their symbols.

use std::borrow::Cow;
use std::ops::Range;

use sintonia_formula::{Formula, ParseError, ParseErrorKind, SymbolValues};

use super::deferred_checks::ParamSlot;
use super::error::ModelProblem;
use super::lexer::{Lexer, ModelToken, TokenKind};
use super::parser::{ErrorReported, LocalName, ModelParser};
use sintonia_text::suggestion::nearest_name;

/// The symbol of the number of processes, which a model need not declare.
pub(super) const PROCESSES: &str = "p";

/// A constraint on a constant.
#[derive(Debug, Clone, Copy)]
pub(super) enum ValueConstraint {
    NonNegative,
    Positive,
    UnitInterval,
}

/// The source text of a formula.
struct FormulaSource<'a> {
    bytes: Range<usize>,
    /// Its token, if it consists of one.
    single_token: Option<ModelToken<'a>>,
    /// Whether it contains a comment.
    has_comment: bool,
}

impl<'a> ModelParser<'a> {
    /// A formula over the names in scope.
    pub(super) fn formula(&mut self) -> Result<Formula, ErrorReported> {
        let piece = self.formula_source()?;
        let formula = self.parse_formula(&piece)?;
        self.check_symbols(&formula, &piece);
        Ok(formula)
    }

    /// A formula that must satisfy a constraint if it is constant.
    pub(super) fn constrained_formula(&mut self, what: &'static str, must: ValueConstraint) -> Result<Formula, ErrorReported> {
        let piece = self.formula_source()?;
        let formula = self.parse_formula(&piece)?;
        self.check_symbols(&formula, &piece);
        if let Some(value) = constraint_violation(&formula, must) {
            let must = match must {
                ValueConstraint::NonNegative => "0 or more",
                ValueConstraint::Positive => "above 0",
                ValueConstraint::UnitInterval => "from 0 to 1",
            };
            self.report(piece.bytes, ModelProblem::OutOfRange { what, must, value }, None);
        }
        Ok(formula)
    }

    /// An argument of a procedure: a formula, or a computer.
    pub(super) fn argument(&mut self, to: ParamSlot) -> Result<Formula, ErrorReported> {
        let piece = self.formula_source()?;
        let formula = self.parse_formula(&piece)?;
        match piece.single_token.filter(|token| token.kind == TokenKind::Name) {
            None => self.check_symbols(&formula, &piece),
            Some(name) => match self.local(name.text) {
                Some(LocalName::Parameter(place)) => self.deferred.forwarded.push(((self.procedure, place), to)),
                Some(LocalName::Index) => {}
                None if self.is_parameter(name.text) => {}
                None => self.deferred.undeclared_arguments.push((name.text, to, piece.bytes)),
            },
        }
        Ok(formula)
    }

    /// Consumes the tokens of a formula, up to a comma or parenthesis of the context or a token that no formula contains.
    fn formula_source(&mut self) -> Result<FormulaSource<'a>, ErrorReported> {
        let first = self.lookahead;
        let (mut depth, mut words, mut is_commented) = (0_usize, 0_usize, false);
        loop {
            let token = self.lookahead;
            let is_outer = token.kind == TokenKind::Punct && depth == 0 && matches!(token.text, "," | ")");
            let is_end = token.kind == TokenKind::Punct && matches!(token.text, ";" | "{" | "}" | "||");
            if is_outer || is_end || matches!(token.kind, TokenKind::End | TokenKind::StringLiteral | TokenKind::Unterminated(_)) {
                break;
            }
            match token.text {
                "(" | "[" => depth += 1,
                ")" | "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
            is_commented |= words > 0 && !self.trivia.comments.is_empty();
            words += 1;
            self.advance();
        }
        if words == 0 {
            return self.fail_expected("a formula", None);
        }
        Ok(FormulaSource {
            bytes: first.offset..self.last_end,
            single_token: Some(first).filter(|_| words == 1),
            has_comment: is_commented,
        })
    }

    fn parse_formula(&mut self, piece: &FormulaSource<'a>) -> Result<Formula, ErrorReported> {
        match piece.single_token {
            Some(ModelToken { kind: TokenKind::Name, text, .. }) => return Ok(Formula::symbol(text)),
            Some(ModelToken { kind: TokenKind::Number, text, .. }) if text.len() < 18 && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                return Ok(Formula::integer(text.parse().expect("digits that fit")));
            }
            _ => {}
        }
        let text = &self.text[piece.bytes.clone()];
        let text = if piece.has_comment { without_comments(text) } else { text.into() };
        Formula::parse(&text).or_else(|error| self.formula_error(piece, &text, error))
    }

    fn formula_error<T>(
        &mut self,
        piece: &FormulaSource<'a>,
        text: &str,
        ParseError { offset: at, kind: expected }: ParseError,
    ) -> Result<T, ErrorReported> {
        let (problem, hint) = match expected {
            ParseErrorKind::Sign { sign: "end of the formula", found } => {
                let hint = match found.as_str() {
                    "`..`" => Some("in a model, bounds are separated by a comma, as in seq(i=1,n)"),
                    _ => text[..at].contains('\n').then_some("is a `;` or a `)` missing before this?"),
                };
                (ModelProblem::Expected { what: "the end of the formula".to_owned(), found }, hint.map(str::to_owned))
            }
            other => (ModelProblem::Formula(other), None),
        };
        let begin = piece.bytes.start + at;
        let bytes = if at < text.len() {
            begin..begin + Lexer::from(text, at).next().1.text.len()
        } else {
            self.lookahead.offset..self.lookahead.end()
        };
        self.fail(bytes, problem, hint)
    }

    /// Whether a symbol is a parameter of the model declared before this point, or the number of processes.
    fn is_parameter(&self, name: &str) -> bool {
        name == PROCESSES || self.outline.parameters.get(name).is_some_and(|at| *at < self.declared_before)
    }

    fn check_symbols(&mut self, formula: &Formula, piece: &FormulaSource<'a>) {
        match piece.single_token {
            Some(ModelToken { kind: TokenKind::Number, .. }) => {}
            Some(ModelToken { kind: TokenKind::Name, text, .. }) => self.check_symbol(text, piece),
            _ => formula.symbols().iter().for_each(|symbol| self.check_symbol(symbol, piece)),
        }
    }

    fn check_symbol(&mut self, symbol: &str, piece: &FormulaSource<'a>) {
        match self.local(symbol) {
            Some(LocalName::Parameter(place)) => self.deferred.numeric_parameters.push((self.procedure, place)),
            Some(LocalName::Index) => {}
            None if self.is_parameter(symbol) => {}
            None => {
                let bytes = self.find_symbol(symbol, piece).unwrap_or(piece.bytes.clone());
                let hint = self.unknown_symbol_hint(symbol);
                self.report(bytes, ModelProblem::UnknownSymbol(symbol.to_owned()), Some(hint));
            }
        }
    }

    /// The position of a symbol in a formula.
    fn find_symbol(&self, symbol: &str, piece: &FormulaSource<'a>) -> Option<Range<usize>> {
        let mut lexer = Lexer::from(&self.text[..piece.bytes.end], piece.bytes.start);
        let mut words = std::iter::from_fn(|| Some(lexer.next().1).filter(|token| token.kind != TokenKind::End));
        let found = words.find(|token| token.text.trim_matches('`') == symbol)?;
        Some(found.offset..found.end())
    }

    /// A suggestion for an undefined symbol.
    fn unknown_symbol_hint(&self, symbol: &str) -> String {
        if let Some(at) = self.indexes.get(symbol) {
            return format!("the index `{symbol}` of line {} is only in scope inside its loop", self.line(*at));
        }
        if let Some(at) = self.outline.parameters.get(symbol) {
            return format!("it is declared later, in line {}: move the declaration up", self.line(*at));
        }
        let near = nearest_name(symbol, self.outline.parameters.keys().chain(self.locals.keys()).copied());
        near.map_or_else(|| format!("declare it: parameter {symbol};"), |near| format!("did you mean `{near}`?"))
    }
}

/// The text of a constant formula that violates a constraint.
fn constraint_violation(formula: &Formula, must: ValueConstraint) -> Option<String> {
    /// Larger formulas are not constants, and take time.
    const PLAIN: u64 = 4;
    let value = match formula.as_exact() {
        Some(exact) => exact.to_interval(),
        None if formula.size() <= PLAIN && formula.symbols().is_empty() => formula.enclose(&SymbolValues::new()).ok()?,
        None => return None,
    };
    let is_inside = match must {
        ValueConstraint::NonNegative => value.low() >= 0.0,
        ValueConstraint::Positive => value.low() > 0.0,
        ValueConstraint::UnitInterval => value.low() >= 0.0 && value.high() <= 1.0,
    };
    (!is_inside).then(|| formula.to_string())
}

/// A text with its comments blanked, so that offsets stay the same.
fn without_comments(text: &str) -> Cow<'_, str> {
    let mut blank = String::with_capacity(text.len());
    let mut lexer = Lexer::from(text, 0);
    loop {
        let (_, token) = lexer.next();
        blank.extend(std::iter::repeat_n(' ', token.offset - blank.len()));
        if token.kind == TokenKind::End {
            return blank.into();
        }
        blank.push_str(token.text);
    }
}
