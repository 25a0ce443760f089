//! The parser of formulas.
//!
//! Any text gives a formula or an error with its position. The nesting depth is limited, so that no text can exhaust the stack.

use std::ops::Range;
use std::str::FromStr;

use thiserror::Error;

use super::lexer::{self, FUNCTIONS, FormulaToken, FormulaTokenKind};
use crate::atom::{Extremum, FoldOp, PiecewiseCase, SymbolId};
use crate::build;
use crate::coefficient::Coefficient;
use crate::formula::Formula;
use crate::rational::Rational;

/// Maximum nesting depth.
pub(crate) const MAX_DEPTH: usize = 128;

/// The text is not a formula.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("at byte {offset}: {kind}")]
pub struct ParseError {
    /// The byte offset of the error.
    pub offset: usize,
    /// What is wrong there.
    pub kind: ParseErrorKind,
}

/// What is wrong with a text.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// Expected a number, a symbol, a function or a parenthesis.
    #[error("expected a formula, found {found}")]
    Formula {
        /// The token found.
        found: String,
    },
    /// Expected a certain token.
    #[error("expected `{sign}`, found {found}")]
    Sign {
        /// The expected token.
        sign: &'static str,
        /// The token found.
        found: String,
    },
    /// There is no such function.
    #[error("there is no function `{name}`; there are {}", FUNCTIONS.join(", "))]
    Function {
        /// The name.
        name: String,
    },
    /// The function takes one formula.
    #[error("`{function}` takes one formula")]
    OneFormula {
        /// The function.
        function: String,
    },
    /// The number has too many digits or too large an exponent.
    #[error("this number has too many digits")]
    TooLong,
    /// The bounds of an interval must be numbers, the lower first.
    #[error("an interval is two numbers, the lower first")]
    Interval,
    /// The nesting is too deep.
    #[error("formulas are nested more than {MAX_DEPTH} deep")]
    TooDeep,
}

impl FromStr for Formula {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Formula, ParseError> {
        Formula::parse(text)
    }
}

impl Formula {
    /// Parses a formula; `docs/formula.md` describes the syntax.
    pub fn parse(text: &str) -> Result<Formula, ParseError> {
        let mut parser = FormulaParser::new(text);
        let formula = parser.sum()?;
        parser.expect_end().map(|()| formula)
    }

    /// Parses a sum as written: its summands with their signs, each with its byte range in the text (without the sign between summands).
    pub fn parse_summands(text: &str) -> Result<Vec<(Range<usize>, Formula)>, ParseError> {
        let mut parser = FormulaParser::new(text);
        let mut summands = Vec::new();
        let mut is_negative = false;
        loop {
            let start = parser.peek().offset;
            let product = parser.product()?;
            summands.push((start..parser.offset, if is_negative { -product } else { product }));
            is_negative = parser.accept("-");
            if !is_negative && !parser.accept("+") {
                return parser.expect_end().map(|()| summands);
            }
        }
    }
}

impl FormulaToken<'_> {
    fn describe(&self) -> String {
        match &self.kind {
            FormulaTokenKind::Number(text) | FormulaTokenKind::Punct(text) => format!("`{text}`"),
            FormulaTokenKind::Name(name) => format!("`{name}`"),
            FormulaTokenKind::Invalid => "an invalid character".to_owned(),
            FormulaTokenKind::End => "the end".to_owned(),
        }
    }

    fn expected_error(&self, sign: &'static str) -> ParseError {
        ParseError { offset: self.offset, kind: ParseErrorKind::Sign { sign, found: self.describe() } }
    }

    fn is(&self, sign: &str) -> bool {
        self.kind == FormulaTokenKind::Punct(sign)
    }
}

/// A multiplied or divided power. `1/(a + b)^2` must become a power of the sum before the square is expanded.
struct SignedPower {
    negative: bool,
    base: Formula,
    exponent: Formula,
}

impl SignedPower {
    fn value(self) -> Formula {
        let power = self.base.pow_formula(&self.exponent);
        if self.negative { -power } else { power }
    }

    fn inverse(self) -> Formula {
        SignedPower { exponent: -self.exponent, ..self }.value()
    }
}

struct FormulaParser<'a> {
    text: &'a str,
    /// The lookahead token and the offset behind it.
    lookahead: Option<(FormulaToken<'a>, usize)>,
    /// The offset behind the last token consumed.
    offset: usize,
    depth: usize,
}

impl<'a> FormulaParser<'a> {
    fn new(text: &'a str) -> Self {
        FormulaParser { text, lookahead: None, offset: 0, depth: 0 }
    }

    fn peek(&mut self) -> &FormulaToken<'a> {
        let (text, behind) = (self.text, self.offset);
        &self.lookahead.get_or_insert_with(|| lexer::next_token(text, behind)).0
    }

    fn advance(&mut self) -> FormulaToken<'a> {
        let (token, behind) = self.lookahead.take().unwrap_or_else(|| lexer::next_token(self.text, self.offset));
        self.offset = behind;
        token
    }

    /// Consumes the next token if it is this one.
    fn accept(&mut self, sign: &str) -> bool {
        let here = self.peek().is(sign);
        if here {
            self.advance();
        }
        here
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), ParseError> {
        let token = self.advance();
        if token.is(sign) { Ok(()) } else { Err(token.expected_error(sign)) }
    }

    fn expect_end(&mut self) -> Result<(), ParseError> {
        match self.advance() {
            FormulaToken { kind: FormulaTokenKind::End, .. } => Ok(()),
            other => Err(other.expected_error("end of the formula")),
        }
    }

    fn expect_word(&mut self, word: &'static str) -> Result<(), ParseError> {
        match self.advance() {
            FormulaToken { kind: FormulaTokenKind::Name(name), .. } if name == word => Ok(()),
            other => Err(other.expected_error(word)),
        }
    }

    /// Parses something one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, ParseError>) -> Result<T, ParseError> {
        if self.depth == MAX_DEPTH {
            return Err(ParseError { offset: self.peek().offset, kind: ParseErrorKind::TooDeep });
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn sum(&mut self) -> Result<Formula, ParseError> {
        let mut result = self.product()?;
        loop {
            if self.accept("+") {
                result += self.product()?;
            } else if self.accept("-") {
                result += -self.product()?;
            } else {
                return Ok(result);
            }
        }
    }

    fn product(&mut self) -> Result<Formula, ParseError> {
        let mut factors = vec![self.unary()?.value()];
        loop {
            if self.accept("*") {
                factors.push(self.unary()?.value());
            } else if self.accept("/") {
                factors.push(self.unary()?.inverse());
            } else {
                return Ok(build::product_of(factors));
            }
        }
    }

    /// Signs bind less tightly than powers: `-n^2` is `-(n^2)`.
    fn unary(&mut self) -> Result<SignedPower, ParseError> {
        let mut negative = false;
        loop {
            if self.accept("-") {
                negative = !negative;
            } else if !self.accept("+") {
                let (base, exponent) = self.power()?;
                return Ok(SignedPower { negative, base, exponent });
            }
        }
    }

    fn power(&mut self) -> Result<(Formula, Formula), ParseError> {
        let base = self.primary()?;
        if !self.accept("^") {
            return Ok((base, Formula::one()));
        }
        let exponent = self.nested(Self::unary)?.value();
        Ok((base, exponent))
    }

    fn primary(&mut self) -> Result<Formula, ParseError> {
        let token = self.advance();
        match &token.kind {
            FormulaTokenKind::Number(text) => number(text, token.offset),
            FormulaTokenKind::Punct("(") => {
                let inner = self.nested(Self::sum)?;
                self.expect(")")?;
                Ok(inner)
            }
            FormulaTokenKind::Punct("[") => self.interval(token.offset),
            FormulaTokenKind::Name(name) if self.peek().is("(") && !self.text[token.offset..].starts_with('`') => self.nested(|parser| {
                parser.advance();
                let value = parser.call(name, token.offset)?;
                parser.expect(")")?;
                Ok(value)
            }),
            FormulaTokenKind::Name(name) => Ok(Formula::symbol(name)),
            _ => Err(ParseError { offset: token.offset, kind: ParseErrorKind::Formula { found: token.describe() } }),
        }
    }

    fn interval(&mut self, at: usize) -> Result<Formula, ParseError> {
        let low = self.nested(Self::sum)?;
        self.expect(",")?;
        let high = self.nested(Self::sum)?;
        self.expect("]")?;
        match (low.as_exact(), high.as_exact()) {
            (Some(low), Some(high)) if low <= high => Ok(Formula::from_coefficient(Coefficient::interval(low.clone(), high.clone()))),
            _ => Err(ParseError { offset: at, kind: ParseErrorKind::Interval }),
        }
    }

    /// A function call, behind its opening parenthesis.
    fn call(&mut self, name: &str, at: usize) -> Result<Formula, ParseError> {
        let one: fn(&Formula) -> Formula = match name {
            "max" => return self.extremum(Extremum::Max),
            "min" => return self.extremum(Extremum::Min),
            "sum" => return self.fold(FoldOp::Sum, None),
            "pieces" => return self.piecewise(),
            "log2" => Formula::log2,
            "ln" => Formula::ln,
            "sqrt" => Formula::sqrt,
            "ceil" => Formula::ceil,
            "floor" => Formula::floor,
            _ => return Err(ParseError { offset: at, kind: ParseErrorKind::Function { name: name.to_owned() } }),
        };
        let inner = self.sum()?;
        if self.peek().is(",") {
            return Err(ParseError { offset: at, kind: ParseErrorKind::OneFormula { function: name.to_owned() } });
        }
        Ok(one(&inner))
    }

    /// The entries of an extremum, or the range over which it is taken.
    fn extremum(&mut self, side: Extremum) -> Result<Formula, ParseError> {
        let first = self.peek().clone();
        if let FormulaTokenKind::Name(_) = first.kind {
            let (kept, behind) = (self.lookahead.clone(), self.offset);
            self.advance();
            if self.peek().is("=") {
                return self.fold(FoldOp::Extremum(side), Some(first));
            }
            (self.lookahead, self.offset) = (kept, behind);
        }
        let mut entries = vec![self.sum()?];
        while self.accept(",") {
            entries.push(self.sum()?);
        }
        Ok(build::extremum(side, entries))
    }

    /// `i=1..n, body`; the index may have been consumed already.
    fn fold(&mut self, op: FoldOp, index: Option<FormulaToken<'a>>) -> Result<Formula, ParseError> {
        let token = index.unwrap_or_else(|| self.advance());
        let FormulaTokenKind::Name(index) = &token.kind else { return Err(token.expected_error("an index")) };
        self.expect("=")?;
        let from = self.sum()?;
        self.expect("..")?;
        let to = self.sum()?;
        self.expect(",")?;
        let body = self.sum()?;
        Ok(build::fold(op, &SymbolId::named(index), index, &from, &to, &body))
    }

    /// `n, up to 64: formula, beyond: formula`.
    fn piecewise(&mut self) -> Result<Formula, ParseError> {
        let variable = self.sum()?;
        let mut list = Vec::new();
        while self.accept(",") {
            let bound = if matches!(&self.peek().kind, FormulaTokenKind::Name(name) if name == "beyond") {
                self.advance();
                None
            } else {
                self.expect_word("up")?;
                self.expect_word("to")?;
                Some(self.sum()?)
            };
            self.expect(":")?;
            list.push(PiecewiseCase { up_to: bound, formula: self.sum()? });
        }
        if list.is_empty() {
            return Err(self.advance().expected_error(","));
        }
        Ok(build::piecewise(&variable, list))
    }
}

fn number(text: &str, at: usize) -> Result<Formula, ParseError> {
    Rational::parse(text).map(Formula::from_rational).ok_or(ParseError { offset: at, kind: ParseErrorKind::TooLong })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_taken_apart_where_it_is_written() {
        let text = "a*n^-2 - 2e-9*b*(n + 1)  + c";
        let found = Formula::parse_summands(text).unwrap();
        let shown: Vec<(&str, String)> = found.iter().map(|(span, formula)| (&text[span.clone()], formula.to_string())).collect();
        let expected = [("a*n^-2", "a/n^2"), ("2e-9*b*(n + 1)", "-2e-9*b*n - 2e-9*b"), ("c", "c")];
        assert_eq!(shown, expected.map(|(text, formula)| (text, formula.to_owned())));
        assert_eq!(Formula::parse_summands("a*n + ").unwrap_err().offset, 6);
        assert_eq!(Formula::parse_summands("a*n)").unwrap_err().offset, 3);
    }
}
