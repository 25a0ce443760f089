//! Formulas inside a model: where they end, what they are, and whether everything in them is known.

use std::borrow::Cow;
use std::ops::Range;

use sintonia_formula::{Expected, Formula, ParseError, Values};

use super::error::Problem;
use super::facts::Slot;
use super::reader::{Failed, Local, Reader};
use super::token::{Kind, Lexer, Token};
use sintonia_text::near::nearest;

/// The symbol for the number of processes, which a model need not declare.
pub(super) const PROCESSES: &str = "p";

/// What a number may be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Must {
    NotBeNegative,
    BePositive,
    BeShare,
}

/// The text of a formula.
struct Piece<'a> {
    bytes: Range<usize>,
    /// Its only word, if it has one only.
    only: Option<Token<'a>>,
    /// Whether a comment stands in it.
    is_commented: bool,
}

impl<'a> Reader<'a> {
    /// A formula of what is known here.
    pub(super) fn formula(&mut self) -> Result<Formula, Failed> {
        let piece = self.piece()?;
        let formula = self.read(&piece)?;
        self.check_symbols(&formula, &piece);
        Ok(formula)
    }

    /// A formula whose value, if it is a number, must be of some kind.
    pub(super) fn number(&mut self, what: &'static str, must: Must) -> Result<Formula, Failed> {
        let piece = self.piece()?;
        let formula = self.read(&piece)?;
        self.check_symbols(&formula, &piece);
        if let Some(value) = outside(&formula, must) {
            let must = match must {
                Must::NotBeNegative => "0 or more",
                Must::BePositive => "above 0",
                Must::BeShare => "from 0 to 1",
            };
            self.report(piece.bytes, Problem::Range { what, must, value }, None);
        }
        Ok(formula)
    }

    /// What is given to a procedure: a formula, or a computer.
    pub(super) fn argument(&mut self, to: Slot) -> Result<Formula, Failed> {
        let piece = self.piece()?;
        let formula = self.read(&piece)?;
        match piece.only.filter(|token| token.kind == Kind::Name) {
            None => self.check_symbols(&formula, &piece),
            Some(name) => match self.local(name.text) {
                Some(Local::Parameter(place)) => self.facts.handed_on.push(((self.procedure, place), to)),
                Some(Local::Index) => {}
                None if self.is_parameter(name.text) => {}
                None => self.facts.free.push((name.text, to, piece.bytes)),
            },
        }
        Ok(formula)
    }

    /// Takes the words up to the end of a formula: a comma or a parenthesis of what stands around it, or what no formula can have.
    fn piece(&mut self) -> Result<Piece<'a>, Failed> {
        let first = self.ahead;
        let (mut depth, mut words, mut is_commented) = (0_usize, 0_usize, false);
        loop {
            let token = self.ahead;
            let is_outer = token.kind == Kind::Sign && depth == 0 && matches!(token.text, "," | ")");
            let is_end = token.kind == Kind::Sign && matches!(token.text, ";" | "{" | "}" | "||");
            if is_outer || is_end || matches!(token.kind, Kind::End | Kind::Text | Kind::Endless(_)) {
                break;
            }
            match token.text {
                "(" | "[" => depth += 1,
                ")" | "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
            is_commented |= words > 0 && !self.gap.comments.is_empty();
            words += 1;
            self.take();
        }
        if words == 0 {
            return self.expected("a formula", None);
        }
        Ok(Piece { bytes: first.at..self.behind, only: Some(first).filter(|_| words == 1), is_commented })
    }

    fn read(&mut self, piece: &Piece<'a>) -> Result<Formula, Failed> {
        match piece.only {
            Some(Token { kind: Kind::Name, text, .. }) => return Ok(Formula::symbol(text)),
            Some(Token { kind: Kind::Number, text, .. }) if text.len() < 18 && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                return Ok(Formula::integer(text.parse().expect("digits that fit")));
            }
            _ => {}
        }
        let text = &self.text[piece.bytes.clone()];
        let text = if piece.is_commented { without_comments(text) } else { text.into() };
        Formula::parse(&text).or_else(|error| self.bad_formula(piece, &text, error))
    }

    fn bad_formula<T>(&mut self, piece: &Piece<'a>, text: &str, ParseError { at, expected }: ParseError) -> Result<T, Failed> {
        let (problem, hint) = match expected {
            Expected::Sign { sign: "end of the formula", found } => {
                let hint = match found.as_str() {
                    "`..`" => Some("in a model, bounds stand behind a comma, as in seq(i=1,n)"),
                    _ => text[..at].contains('\n').then_some("is a `;` or a `)` missing before?"),
                };
                (Problem::Expected { what: "the end of the formula".to_owned(), found }, hint.map(str::to_owned))
            }
            other => (Problem::Formula(other), None),
        };
        let begin = piece.bytes.start + at;
        let bytes =
            if at < text.len() { begin..begin + Lexer::from(text, at).next().1.text.len() } else { self.ahead.at..self.ahead.end() };
        self.fail(bytes, problem, hint)
    }

    /// Whether a symbol is a parameter of the model that is known here, or the number of processes.
    fn is_parameter(&self, name: &str) -> bool {
        name == PROCESSES || self.outline.parameters.get(name).is_some_and(|at| *at < self.declared_before)
    }

    fn check_symbols(&mut self, formula: &Formula, piece: &Piece<'a>) {
        match piece.only {
            Some(Token { kind: Kind::Number, .. }) => {}
            Some(Token { kind: Kind::Name, text, .. }) => self.check_symbol(text, piece),
            _ => formula.symbols().iter().for_each(|symbol| self.check_symbol(symbol, piece)),
        }
    }

    fn check_symbol(&mut self, symbol: &str, piece: &Piece<'a>) {
        match self.local(symbol) {
            Some(Local::Parameter(place)) => self.facts.numbers.push((self.procedure, place)),
            Some(Local::Index) => {}
            None if self.is_parameter(symbol) => {}
            None => {
                let bytes = self.place_of(symbol, piece).unwrap_or(piece.bytes.clone());
                let hint = self.hint_at(symbol);
                self.report(bytes, Problem::UnknownSymbol(symbol.to_owned()), Some(hint));
            }
        }
    }

    /// Where a symbol stands in a formula.
    fn place_of(&self, symbol: &str, piece: &Piece<'a>) -> Option<Range<usize>> {
        let mut lexer = Lexer::from(&self.text[..piece.bytes.end], piece.bytes.start);
        let mut words = std::iter::from_fn(|| Some(lexer.next().1).filter(|token| token.kind != Kind::End));
        let found = words.find(|token| token.text.trim_matches('`') == symbol)?;
        Some(found.at..found.end())
    }

    /// What may be meant by a symbol that is not known.
    fn hint_at(&self, symbol: &str) -> String {
        if let Some(at) = self.indexes.get(symbol) {
            return format!("the `{symbol}` of line {} is known only inside of what it counts", self.line(*at));
        }
        if let Some(at) = self.outline.parameters.get(symbol) {
            return format!("it is declared only in line {}: move that before this", self.line(*at));
        }
        let near = nearest(symbol, self.outline.parameters.keys().chain(self.locals.keys()).copied());
        near.map_or_else(|| format!("declare it: parameter {symbol};"), |near| format!("did you mean `{near}`?"))
    }
}

/// The value of a formula that is a number, or an interval, if it is not what it must be.
fn outside(formula: &Formula, must: Must) -> Option<String> {
    /// Longer ones are no plain numbers, and take time.
    const PLAIN: u64 = 4;
    let value = match formula.as_exact() {
        Some(exact) => exact.enclosing(),
        None if formula.size() <= PLAIN && formula.symbols().is_empty() => formula.enclose(&Values::new()).ok()?,
        None => return None,
    };
    let is_inside = match must {
        Must::NotBeNegative => value.low() >= 0.0,
        Must::BePositive => value.low() > 0.0,
        Must::BeShare => value.low() >= 0.0 && value.high() <= 1.0,
    };
    (!is_inside).then(|| formula.to_string())
}

/// A text with blanks instead of its comments, so that everything else stays where it is.
fn without_comments(text: &str) -> Cow<'_, str> {
    let mut blank = String::with_capacity(text.len());
    let mut lexer = Lexer::from(text, 0);
    loop {
        let (_, token) = lexer.next();
        blank.extend(std::iter::repeat_n(' ', token.at - blank.len()));
        if token.kind == Kind::End {
            return blank.into();
        }
        blank.push_str(token.text);
    }
}
