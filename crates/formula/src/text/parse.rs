//! Formulas from text.
//!
//! Any text gives a formula or an error that says where; how deep formulas may stand inside each other is limited, so that no text can
//! exhaust the stack.

use std::str::FromStr;

use thiserror::Error;

use super::token::{self, FUNCTIONS, Token, Word};
use crate::atom::{Extreme, How, Piece, Symbol};
use crate::build;
use crate::formula::Formula;
use crate::number::Number;
use crate::rational::Rational;

/// How deep formulas may stand inside each other.
pub(crate) const MOST_DEPTH: usize = 128;

/// The text is not a formula.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("at byte {at}: {expected}")]
pub struct ParseError {
    /// The offset, in bytes, of what could not be read.
    pub at: usize,
    /// What was wrong with it.
    pub expected: Expected,
}

/// What was wrong with a text.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Expected {
    /// A number, a symbol, a function or a parenthesis should stand here.
    #[error("expected a formula, found {found}")]
    Formula {
        /// What stands there.
        found: String,
    },
    /// A certain sign or word should stand here.
    #[error("expected `{sign}`, found {found}")]
    Sign {
        /// What should stand there.
        sign: &'static str,
        /// What stands there.
        found: String,
    },
    /// The name before the parenthesis is no function.
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
    /// The ends of an interval must be numbers, the lower first.
    #[error("an interval is two numbers, the lower first")]
    Interval,
    /// Formulas stand too deep inside each other.
    #[error("formulas stand more than {MOST_DEPTH} deep inside each other")]
    TooDeep,
}

impl FromStr for Formula {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Formula, ParseError> {
        Formula::parse(text)
    }
}

impl Formula {
    /// Reads a formula; the syntax is described in `docs/formula.md`.
    pub fn parse(text: &str) -> Result<Formula, ParseError> {
        let mut reader = Reader { text, ahead: None, behind: 0, depth: 0 };
        let formula = reader.sum()?;
        match reader.take() {
            Token { word: Word::End, .. } => Ok(formula),
            other => Err(other.not_a("end of the formula")),
        }
    }
}

impl Token<'_> {
    fn found(&self) -> String {
        match &self.word {
            Word::Number(text) | Word::Sign(text) => format!("`{text}`"),
            Word::Name(name) => format!("`{name}`"),
            Word::Strange => "something that begins no word".to_owned(),
            Word::End => "the end".to_owned(),
        }
    }

    fn not_a(&self, sign: &'static str) -> ParseError {
        ParseError { at: self.at, expected: Expected::Sign { sign, found: self.found() } }
    }

    fn is(&self, sign: &str) -> bool {
        self.word == Word::Sign(sign)
    }
}

/// A power that is multiplied or divided by. `1/(a + b)^2` must become a power of the sum before the square is multiplied out.
struct Operand {
    negative: bool,
    base: Formula,
    exponent: Formula,
}

impl Operand {
    fn value(self) -> Formula {
        let power = self.base.to_the(&self.exponent);
        if self.negative { -power } else { power }
    }

    fn inverse(self) -> Formula {
        Operand { exponent: -self.exponent, ..self }.value()
    }
}

struct Reader<'a> {
    text: &'a str,
    /// The next word, when it was looked at already, and the offset behind it.
    ahead: Option<(Token<'a>, usize)>,
    /// The offset behind the last word taken.
    behind: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn peek(&mut self) -> &Token<'a> {
        let (text, behind) = (self.text, self.behind);
        &self.ahead.get_or_insert_with(|| token::next(text, behind)).0
    }

    fn take(&mut self) -> Token<'a> {
        let (token, behind) = self.ahead.take().unwrap_or_else(|| token::next(self.text, self.behind));
        self.behind = behind;
        token
    }

    /// Takes the next word if it is this sign.
    fn took(&mut self, sign: &str) -> bool {
        let here = self.peek().is(sign);
        if here {
            self.take();
        }
        here
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), ParseError> {
        let token = self.take();
        if token.is(sign) { Ok(()) } else { Err(token.not_a(sign)) }
    }

    fn expect_word(&mut self, word: &'static str) -> Result<(), ParseError> {
        match self.take() {
            Token { word: Word::Name(name), .. } if name == word => Ok(()),
            other => Err(other.not_a(word)),
        }
    }

    /// Reads something inside something else.
    fn inside<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, ParseError>) -> Result<T, ParseError> {
        if self.depth == MOST_DEPTH {
            return Err(ParseError { at: self.peek().at, expected: Expected::TooDeep });
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn sum(&mut self) -> Result<Formula, ParseError> {
        let mut result = self.product()?;
        loop {
            if self.took("+") {
                result += self.product()?;
            } else if self.took("-") {
                result += -self.product()?;
            } else {
                return Ok(result);
            }
        }
    }

    fn product(&mut self) -> Result<Formula, ParseError> {
        let mut factors = vec![self.signed()?.value()];
        loop {
            if self.took("*") {
                factors.push(self.signed()?.value());
            } else if self.took("/") {
                factors.push(self.signed()?.inverse());
            } else {
                return Ok(build::product_of(factors));
            }
        }
    }

    /// Signs bind less tightly than powers: `-n^2` is `-(n^2)`.
    fn signed(&mut self) -> Result<Operand, ParseError> {
        let mut negative = false;
        loop {
            if self.took("-") {
                negative = !negative;
            } else if !self.took("+") {
                let (base, exponent) = self.power()?;
                return Ok(Operand { negative, base, exponent });
            }
        }
    }

    fn power(&mut self) -> Result<(Formula, Formula), ParseError> {
        let base = self.single()?;
        if !self.took("^") {
            return Ok((base, Formula::one()));
        }
        let exponent = self.inside(Self::signed)?.value();
        Ok((base, exponent))
    }

    fn single(&mut self) -> Result<Formula, ParseError> {
        let token = self.take();
        match &token.word {
            Word::Number(text) => number(text, token.at),
            Word::Sign("(") => {
                let inner = self.inside(Self::sum)?;
                self.expect(")")?;
                Ok(inner)
            }
            Word::Sign("[") => self.interval(token.at),
            Word::Name(name) if self.peek().is("(") && !self.text[token.at..].starts_with('`') => self.inside(|reader| {
                reader.take();
                let value = reader.call(name, token.at)?;
                reader.expect(")")?;
                Ok(value)
            }),
            Word::Name(name) => Ok(Formula::symbol(name)),
            _ => Err(ParseError { at: token.at, expected: Expected::Formula { found: token.found() } }),
        }
    }

    fn interval(&mut self, at: usize) -> Result<Formula, ParseError> {
        let low = self.inside(Self::sum)?;
        self.expect(",")?;
        let high = self.inside(Self::sum)?;
        self.expect("]")?;
        match (low.as_exact(), high.as_exact()) {
            (Some(low), Some(high)) if low <= high => Ok(Formula::number(Number::between(low.clone(), high.clone()))),
            _ => Err(ParseError { at, expected: Expected::Interval }),
        }
    }

    /// A function, behind its opening parenthesis.
    fn call(&mut self, name: &str, at: usize) -> Result<Formula, ParseError> {
        let one: fn(&Formula) -> Formula = match name {
            "max" => return self.extreme(Extreme::Max),
            "min" => return self.extreme(Extreme::Min),
            "sum" => return self.range(How::Sum, None),
            "pieces" => return self.pieces(),
            "log2" => Formula::log2,
            "ln" => Formula::ln,
            "sqrt" => Formula::sqrt,
            "ceil" => Formula::ceil,
            "floor" => Formula::floor,
            _ => return Err(ParseError { at, expected: Expected::Function { name: name.to_owned() } }),
        };
        let inner = self.sum()?;
        if self.peek().is(",") {
            return Err(ParseError { at, expected: Expected::OneFormula { function: name.to_owned() } });
        }
        Ok(one(&inner))
    }

    /// The entries of a maximum, or the range over which it is taken.
    fn extreme(&mut self, side: Extreme) -> Result<Formula, ParseError> {
        let first = self.peek().clone();
        if let Word::Name(_) = first.word {
            let (kept, behind) = (self.ahead.clone(), self.behind);
            self.take();
            if self.peek().is("=") {
                return self.range(How::Extreme(side), Some(first));
            }
            (self.ahead, self.behind) = (kept, behind);
        }
        let mut entries = vec![self.sum()?];
        while self.took(",") {
            entries.push(self.sum()?);
        }
        Ok(build::extreme(side, entries))
    }

    /// `i=1..n, body`, of which the index may have been taken already.
    fn range(&mut self, how: How, index: Option<Token<'a>>) -> Result<Formula, ParseError> {
        let token = index.unwrap_or_else(|| self.take());
        let Word::Name(index) = &token.word else { return Err(token.not_a("an index")) };
        self.expect("=")?;
        let from = self.sum()?;
        self.expect("..")?;
        let to = self.sum()?;
        self.expect(",")?;
        let body = self.sum()?;
        Ok(build::fold(how, &Symbol::named(index), index, &from, &to, &body))
    }

    /// `n, up to 64: formula, beyond: formula`.
    fn pieces(&mut self) -> Result<Formula, ParseError> {
        let variable = self.sum()?;
        let mut list = Vec::new();
        while self.took(",") {
            let bound = if matches!(&self.peek().word, Word::Name(name) if name == "beyond") {
                self.take();
                None
            } else {
                self.expect_word("up")?;
                self.expect_word("to")?;
                Some(self.sum()?)
            };
            self.expect(":")?;
            list.push(Piece { up_to: bound, formula: self.sum()? });
        }
        if list.is_empty() {
            return Err(self.take().not_a(","));
        }
        Ok(build::pieces(&variable, list))
    }
}

fn number(text: &str, at: usize) -> Result<Formula, ParseError> {
    Rational::parse(text).map(Formula::exact).ok_or(ParseError { at, expected: Expected::TooLong })
}
