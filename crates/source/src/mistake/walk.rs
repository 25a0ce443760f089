//! The usual mistakes, found by going through the words of a program as its statements want them.
//!
//! This knows far less than a grammar, and takes for right whatever it does not know to be wrong. What it does know are the places where
//! people forget something, and there it says what was expected. It is asked only about texts that are wrong.

use sintonia_text::near::nearest;

use super::brackets;
use super::words::{self, Kind, STATEMENTS, Tongue, Word};
use crate::error::Wrong;
use crate::file::Text;

/// How deep statements and parentheses may stand inside each other; nothing is said of what is deeper.
const MOST_DEPTH: usize = 400;

/// The first mistake of a text that is one of the usual ones.
pub(super) fn mistake(text: &Text, tongue: Tongue) -> Option<Wrong> {
    match words::words(text, tongue) {
        Err(endless) => Some(endless),
        Ok(words) => Walk { text, tongue, words, next: 0, blocks: Vec::new(), depth: 0 }.file().err().flatten().map(|wrong| *wrong),
    }
}

/// Why the walk ends before the end of the text: a mistake, or more depth than it follows.
pub(super) type Stop = Option<Box<Wrong>>;

pub(super) type Step = Result<(), Stop>;

pub(super) struct Walk<'t> {
    pub(super) text: &'t Text,
    pub(super) tongue: Tongue,
    /// The words; the last is the end.
    pub(super) words: Vec<Word<'t>>,
    pub(super) next: usize,
    /// The braces around, the innermost last.
    pub(super) blocks: Vec<Word<'t>>,
    depth: usize,
}

impl<'t> Walk<'t> {
    pub(super) fn peek(&self) -> Word<'t> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Word<'t> {
        self.words[(self.next + ahead).min(self.words.len() - 1)]
    }

    pub(super) fn take(&mut self) -> Word<'t> {
        let word = self.peek();
        self.next = (self.next + 1).min(self.words.len() - 1);
        word
    }

    pub(super) fn wrong(&self, at: usize, problem: String) -> Wrong {
        Wrong::at(self.text.place(at), problem).in_text(&self.text.text)
    }

    /// Something else was expected in place of the next word.
    pub(super) fn unexpected(&self, what: &str) -> Wrong {
        self.wrong(self.peek().at, format!("expected {what}, found {}", self.peek().shown()))
    }

    /// Something was expected right behind the last word.
    pub(super) fn missing(&self, what: &str) -> Wrong {
        let at = self.next.checked_sub(1).map_or(0, |last| self.words[last].end());
        self.wrong(at, format!("expected {what}, found {}", self.peek().shown()))
    }

    /// The closing sign for an opening one was expected right behind the last word.
    pub(super) fn unclosed(&self, open: Word<'t>) -> Wrong {
        let place = self.text.place(open.at);
        let closing = brackets::closing(open.text);
        self.missing(&format!("`{closing}` for the `{}` of line {}, column {}", open.text, place.line, place.column))
    }

    pub(super) fn deeper(&mut self, inside: impl FnOnce(&mut Self) -> Step) -> Step {
        if self.depth >= MOST_DEPTH {
            return Err(None);
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    /// `{ … }` with statements in it.
    pub(super) fn code(&mut self) -> Step {
        self.block(Self::statement)
    }

    /// `{ … }` with something in it, again and again.
    pub(super) fn block(&mut self, mut inside: impl FnMut(&mut Self) -> Step) -> Step {
        let open = self.take();
        self.blocks.push(open);
        while !self.peek().is("}") {
            if self.peek().kind == Kind::End {
                return stop(self.unclosed(brackets::suspect(&self.words, self.text).unwrap_or(open)));
            }
            inside(self)?;
        }
        self.take();
        self.blocks.pop();
        Ok(())
    }

    pub(super) fn statement(&mut self) -> Step {
        self.deeper(Self::statement_inside)
    }

    fn statement_inside(&mut self) -> Step {
        let word = self.peek();
        if word.kind == Kind::Quoted {
            return self.simple();
        }
        match word.text {
            "{" => self.code(),
            "if" => self.condition(),
            "while" | "for" | "switch" => self.headed(),
            "synchronized" if self.tongue == Tongue::Java => self.headed(),
            "do" => self.do_loop(),
            "try" if self.tongue == Tongue::Java => self.tried(),
            "case" | "default" => self.label(),
            "else" => {
                let hint = "there is no `if` that it belongs to: one statement stands between the two, or several in `{` and `}`";
                stop(self.unexpected("a statement").hint(hint))
            }
            "catch" | "finally" if self.tongue == Tongue::Java => {
                stop(self.unexpected("a statement").hint("there is no `try` that it belongs to"))
            }
            "public" | "private" | "protected" | "static" if self.tongue == Tongue::Java => stop(self.not_ended()),
            _ => self.simple(),
        }
    }

    /// Something begins that cannot stand in a routine, so the routine has not ended.
    pub(super) fn not_ended(&self) -> Wrong {
        let Some(open) = brackets::suspect(&self.words, self.text).or(self.blocks.last().copied()) else { return self.unexpected("`}`") };
        let place = self.text.place(open.at);
        self.unexpected(&format!("`}}` for the `{{` of line {}, column {}", place.line, place.column))
    }

    fn condition(&mut self) -> Step {
        self.headed()?;
        if self.peek().is("else") {
            self.take();
            return self.body();
        }
        Ok(())
    }

    /// A word with something in parentheses, and a statement.
    fn headed(&mut self) -> Step {
        self.header()?;
        self.body()
    }

    /// A word with something in parentheses.
    fn header(&mut self) -> Step {
        let word = self.take();
        if !self.peek().is("(") {
            return stop(self.unexpected(&format!("`(` after `{}`", word.text)));
        }
        self.parentheses(Some(word))
    }

    /// What a condition or a loop does.
    fn body(&mut self) -> Step {
        if self.peek().is("}") || self.peek().kind == Kind::End {
            return stop(self.unexpected("a statement"));
        }
        self.statement()
    }

    fn do_loop(&mut self) -> Step {
        self.take();
        self.body()?;
        if !self.peek().is("while") {
            return stop(self.unexpected("`while` with the condition of `do`"));
        }
        self.header()?;
        if self.peek().is(";") {
            self.take();
            return Ok(());
        }
        stop(self.missing("`;`"))
    }

    fn tried(&mut self) -> Step {
        self.take();
        if self.peek().is("(") {
            self.skip()?;
        }
        self.braced("`{` after `try`")?;
        while self.peek().is("catch") {
            self.header()?;
            self.braced("`{` after `catch (…)`")?;
        }
        if self.peek().is("finally") {
            self.take();
            self.braced("`{` after `finally`")?;
        }
        Ok(())
    }

    fn braced(&mut self, what: &str) -> Step {
        if self.peek().is("{") { self.code() } else { stop(self.unexpected(what)) }
    }

    /// A statement that ends with `;`, or a declaration of variables.
    pub(super) fn simple(&mut self) -> Step {
        if self.tongue == Tongue::Java && self.peek().is("@") {
            self.modifiers()?;
        }
        let first = self.peek();
        self.untyped()?;
        self.until_semicolon().map_err(|stop| stop.map(|wrong| Box::new(hinted(*wrong, first))))
    }

    /// Goes on behind parentheses whatever is in them.
    pub(super) fn skip(&mut self) -> Step {
        let open = self.take();
        let mut left = vec![open];
        while let Some(last) = left.last() {
            let word = self.peek();
            match word.text {
                _ if word.kind == Kind::Quoted => {}
                "(" | "[" | "{" => left.push(word),
                ")" | "]" | "}" if brackets::closing(last.text) == word.text => drop(left.pop()),
                _ if word.kind == Kind::End || word.is_one_of(&[")", "]", "}"]) => return stop(self.unclosed(*last)),
                _ => {}
            }
            self.take();
        }
        Ok(())
    }
}

/// What is wrong, with the word that was perhaps meant at the beginning of the statement.
fn hinted(wrong: Wrong, first: Word<'_>) -> Wrong {
    match meant(first).filter(|_| wrong.hint.is_none() && !wrong.problem.starts_with("expected `;`")) {
        Some(near) => wrong.hint(format!("did you mean `{near}`?")),
        None => wrong,
    }
}

/// The word that was meant where a statement begins with a name like it.
pub(super) fn meant(first: Word<'_>) -> Option<&'static str> {
    let long_enough = first.kind == Kind::Name && first.text.len() > 1;
    nearest(first.text, STATEMENTS.into_iter().filter(|_| long_enough)).filter(|near| near.len().abs_diff(first.text.len()) <= 1)
}

pub(super) fn stop<T>(wrong: Wrong) -> Result<T, Stop> {
    Err(Some(Box::new(wrong)))
}
