//! Going through the words of a model, with what is known at each of them, and going on behind a mistake.

use std::collections::HashMap;
use std::ops::Range;

use super::error::{Mistakes, Problem};
use super::facts::Facts;
use super::outline::Outline;
use super::token::{Endless, Gap, Kind, Lexer, Token};

/// Something could not be read; what is wrong has been reported.
#[derive(Debug)]
pub(super) struct Failed;

/// What a name stands for inside of a procedure.
#[derive(Debug, Clone, Copy)]
pub(super) enum Local {
    /// A number that counts, or a computer that is counted.
    Index,
    /// A parameter of the procedure, by its place.
    Parameter(usize),
}

/// Reads a text.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    lexer: Lexer<'a>,
    /// The next word.
    pub(super) ahead: Token<'a>,
    /// What stands before it.
    pub(super) gap: Gap<'a>,
    /// The end of the last word taken.
    pub(super) behind: usize,
    pub(super) outline: Outline<'a>,
    pub(super) mistakes: Mistakes,
    pub(super) facts: Facts<'a>,
    /// What is known besides the model's declarations, the innermost last.
    pub(super) locals: HashMap<&'a str, Vec<Local>>,
    /// Where indexes are, or were.
    pub(super) indexes: HashMap<&'a str, usize>,
    /// Parameters of the model count only where they are declared before this.
    pub(super) declared_before: usize,
    /// The procedure that is being read, by its place.
    pub(super) procedure: usize,
    /// How deep terms stand inside each other here.
    pub(super) depth: usize,
    /// Whether it is told already that something lacks its end.
    pub(super) end_is_told: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Reader<'a> {
        let mut lexer = Lexer::new(text);
        let (gap, ahead) = lexer.next();
        let outline = Outline::of(text);
        let mistakes = Mistakes::new(!outline.is_balanced);
        Reader {
            text,
            lexer,
            ahead,
            gap,
            behind: 0,
            outline,
            mistakes,
            facts: Facts::default(),
            locals: HashMap::new(),
            indexes: HashMap::new(),
            declared_before: usize::MAX,
            procedure: 0,
            depth: 0,
            end_is_told: false,
        }
    }

    pub(super) fn take(&mut self) -> Token<'a> {
        let token = self.ahead;
        self.behind = token.end();
        if self.mistakes.are_enough() {
            self.lexer = Lexer::from(self.text, self.text.len());
        }
        (self.gap, self.ahead) = self.lexer.next();
        token
    }

    /// Takes the next word if it is this sign.
    pub(super) fn took(&mut self, sign: &str) -> bool {
        let is_here = self.ahead.is(sign);
        if is_here {
            self.take();
        }
        is_here
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<Token<'a>, Failed> {
        if self.ahead.is(sign) { Ok(self.take()) } else { self.expected(&format!("`{sign}`"), None) }
    }

    pub(super) fn name(&mut self, what: &str) -> Result<Token<'a>, Failed> {
        match self.ahead.kind {
            Kind::Name => Ok(self.take()),
            _ => self.expected(what, Some("a name has letters, digits and `_`, and begins with no digit")),
        }
    }

    pub(super) fn report(&mut self, bytes: Range<usize>, problem: Problem, hint: Option<String>) {
        self.mistakes.add(bytes, problem, hint);
    }

    pub(super) fn fail<T>(&mut self, bytes: Range<usize>, problem: Problem, hint: Option<String>) -> Result<T, Failed> {
        self.report(bytes, problem, hint);
        Err(Failed)
    }

    /// Something else should stand here.
    pub(super) fn expected<T>(&mut self, what: &str, hint: Option<&str>) -> Result<T, Failed> {
        self.report_expected(what, hint);
        Err(Failed)
    }

    pub(super) fn report_expected(&mut self, what: &str, hint: Option<&str>) {
        let token = self.ahead;
        let problem = match token.kind {
            Kind::Strange => Problem::Strange(token.text.to_owned()),
            Kind::Endless(Endless::Comment) => Problem::Endless("comment"),
            Kind::Endless(Endless::Text) => Problem::Endless("text in quotation marks"),
            Kind::Endless(Endless::Quoted) => Problem::Endless("name in backquotes"),
            _ => Problem::Expected { what: what.to_owned(), found: token.found() },
        };
        self.report(token.at..token.end(), problem, hint.map(str::to_owned));
    }

    /// What a name stands for in the procedure.
    pub(super) fn local(&self, name: &str) -> Option<Local> {
        self.locals.get(name).and_then(|meanings| meanings.last()).copied()
    }

    /// Reads something in which a name stands for something.
    pub(super) fn knowing<T>(&mut self, name: &'a str, local: Local, read: impl FnOnce(&mut Self) -> T) -> T {
        self.locals.entry(name).or_default().push(local);
        let result = read(self);
        self.locals.entry(name).or_default().pop();
        result
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        1 + self.text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count()
    }

    /// Whether a block follows what may be parentheses here: then the name before is meant to be a procedure.
    pub(super) fn block_follows(&self) -> bool {
        let (mut token, mut ahead, mut open) = (self.ahead, self.lexer.clone(), 0_usize);
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

    /// Goes to the end of a term that could not be read: before a separator or the end of the block, or behind a block of its own.
    pub(super) fn skip_term(&mut self) {
        while self.ahead.kind != Kind::End && ![";", "||", "}"].iter().any(|end| self.ahead.is(end)) {
            if self.take().is("{") {
                return self.skip_block();
            }
        }
    }

    /// Goes to the end of a declaration that could not be read, or to the next one.
    pub(super) fn skip_declaration(&mut self) {
        const BEGIN: [&str; 3] = ["parameter", "resource", "language"];
        while self.ahead.kind != Kind::End {
            let token = self.take();
            if token.is("{") {
                return self.skip_block();
            }
            if token.is(";") || token.is("}") || BEGIN.iter().any(|word| self.ahead.is_word(word)) {
                return;
            }
        }
    }

    /// Goes behind the brace that closes the one taken last.
    fn skip_block(&mut self) {
        let mut open = 1;
        while open > 0 && self.ahead.kind != Kind::End {
            let token = self.take();
            open += usize::from(token.is("{"));
            open -= usize::from(token.is("}"));
        }
    }
}
