//! The declarations of a PASL file, as they are written.

use std::collections::BTreeSet;

use sintonia_formula::Formula;

use super::application::TASK;
use super::token::{self, Token, Word};
use crate::error::Wrong;
use crate::file::Text;
use sintonia_text::near::nearest;

/// How deep parentheses may stand inside each other.
const MOST_DEPTH: usize = 100;

/// What a file declares, names not yet resolved to batches.
#[derive(Debug, Default)]
pub(super) struct Declarations<'a> {
    pub(super) name: &'a str,
    pub(super) parameters: Vec<(&'a str, Option<Formula>, usize)>,
    pub(super) batches: Vec<Batch<'a>>,
    pub(super) flows: Vec<Flow<'a>>,
}

#[derive(Debug)]
pub(super) struct Batch<'a> {
    pub(super) name: &'a str,
    pub(super) tasks: Formula,
    pub(super) routine: String,
    pub(super) arguments: Vec<Given>,
    pub(super) at: usize,
}

/// An argument; a lone name may be a batch, which is known only when all are.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) name: Option<String>,
    pub(super) value: Formula,
    pub(super) at: usize,
}

#[derive(Debug)]
pub(super) struct Flow<'a> {
    pub(super) from: (&'a str, usize),
    pub(super) to: (&'a str, usize),
    pub(super) bytes: Option<Formula>,
}

/// Reads all declarations of a text.
pub(super) fn declarations(text: &Text) -> Result<Declarations<'_>, Wrong> {
    let words = token::words(text)?;
    let mut reader = Reader { text, words, next: 0, known: BTreeSet::new() };
    let mut found = Declarations::default();
    reader.keyword("application")?;
    found.name = reader.name("the name of the application")?.0;
    reader.sign(";")?;
    loop {
        let token = reader.peek();
        match token.word {
            Word::Name("parameter") => reader.parameter(&mut found)?,
            Word::Name("batch") => found.batches.push(reader.batch()?),
            Word::Name("flow") => found.flows.push(reader.flow()?),
            Word::End => break,
            Word::Name(_) | Word::Sign(_) => {
                return Err(reader.misspelt("`parameter`, `batch` or `flow`", &["parameter", "batch", "flow"]));
            }
        }
    }
    if found.batches.is_empty() {
        return Err(reader.expected("at least one `batch`"));
    }
    Ok(found)
}

struct Reader<'a> {
    text: &'a Text,
    words: Vec<Token<'a>>,
    next: usize,
    /// The parameters declared so far.
    known: BTreeSet<&'a str>,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Token<'a> {
        self.words[self.next.min(self.words.len() - 1)]
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn wrong(&self, at: usize, problem: impl Into<String>) -> Wrong {
        Wrong::at(self.text.place(at), problem).in_text(&self.text.text)
    }

    fn expected(&self, what: &str) -> Wrong {
        let token = self.peek();
        self.wrong(token.at, format!("expected {what}, found {}", token.word.shown()))
    }

    /// The same, with the one of some words that was perhaps meant.
    fn misspelt(&self, what: &str, words: &[&str]) -> Wrong {
        let wrong = self.expected(what);
        match self.peek().word {
            Word::Name(name) if !words.contains(&name) => match nearest(name, words.iter().copied()) {
                Some(near) => wrong.hint(format!("did you mean `{near}`?")),
                None => wrong,
            },
            _ => wrong,
        }
    }

    fn sign(&mut self, sign: &str) -> Result<usize, Wrong> {
        match self.peek().word {
            Word::Sign(found) if found == sign => Ok(self.take().at),
            _ => Err(self.expected(&format!("`{sign}`"))),
        }
    }

    fn is(&self, sign: &str) -> bool {
        self.peek().word == Word::Sign(sign)
    }

    fn keyword(&mut self, keyword: &str) -> Result<(), Wrong> {
        match self.peek().word {
            Word::Name(found) if found == keyword => {
                self.take();
                Ok(())
            }
            _ => Err(self.expected(&format!("`{keyword}`"))),
        }
    }

    fn name(&mut self, what: &str) -> Result<(&'a str, usize), Wrong> {
        match self.peek() {
            Token { word: Word::Name(name), at } => {
                self.take();
                Ok((name, at))
            }
            _ => Err(self.expected(what)),
        }
    }

    fn parameter(&mut self, found: &mut Declarations<'a>) -> Result<(), Wrong> {
        self.take();
        let (name, at) = self.name("the name of the parameter")?;
        if name == TASK {
            return Err(self.wrong(at, "`task` is the number of a task and cannot be a parameter"));
        }
        if self.known.contains(name) {
            return Err(self.wrong(at, format!("there is a parameter `{name}` already")));
        }
        let value = if self.is("=") {
            self.take();
            Some(self.formula(&[";"], false)?)
        } else {
            None
        };
        self.sign(";")?;
        self.known.insert(name);
        found.parameters.push((name, value, at));
        Ok(())
    }

    fn batch(&mut self) -> Result<Batch<'a>, Wrong> {
        self.take();
        let (name, at) = self.name("the name of the batch")?;
        let open = self.sign("{")?;
        let (mut tasks, mut run) = (None, None);
        while !self.is("}") {
            match self.peek().word {
                Word::Name("tasks") if tasks.is_none() => {
                    self.key()?;
                    tasks = Some(self.formula(&[";", "}"], false)?);
                    self.end_of_entry()?;
                }
                Word::Name("run") if run.is_none() => {
                    self.key()?;
                    run = Some(self.run()?);
                    self.end_of_entry()?;
                }
                Word::Name(key @ ("tasks" | "run")) => return Err(self.wrong(self.peek().at, format!("this batch has `{key}` already"))),
                Word::End => return Err(self.unclosed(open)),
                _ => return Err(self.misspelt("`tasks:`, `run:` or `}`", &["tasks", "run"])),
            }
        }
        self.take();
        let (routine, arguments) =
            run.ok_or_else(|| self.wrong(at, format!("batch `{name}` does not say what it runs")).hint("add `run: Class.method(…);`"))?;
        Ok(Batch { name, tasks: tasks.unwrap_or_else(Formula::one), routine, arguments, at })
    }

    fn flow(&mut self) -> Result<Flow<'a>, Wrong> {
        self.take();
        let from = self.name("the name of a batch")?;
        self.sign("->")?;
        let to = self.name("the name of a batch")?;
        let mut bytes = None;
        if self.is("{") {
            let open = self.take().at;
            while !self.is("}") {
                match self.peek().word {
                    Word::Name("bytes") if bytes.is_none() => {
                        self.key()?;
                        bytes = Some(self.formula(&[";", "}"], false)?);
                        self.end_of_entry()?;
                    }
                    Word::End => return Err(self.unclosed(open)),
                    _ => return Err(self.misspelt("`bytes:` once, or `}`", &["bytes"])),
                }
            }
            self.take();
            if self.is(";") {
                self.take();
            }
        } else {
            self.sign(";")?;
        }
        Ok(Flow { from, to, bytes })
    }

    fn unclosed(&self, open: usize) -> Wrong {
        let place = self.text.place(open);
        self.expected("`}`").hint(format!("it closes the `{{` of line {}", place.line))
    }

    fn key(&mut self) -> Result<(), Wrong> {
        self.take();
        self.sign(":").map(|_| ())
    }

    /// The `;` after an entry, which may be left away before `}`.
    fn end_of_entry(&mut self) -> Result<(), Wrong> {
        if self.is("}") { Ok(()) } else { self.sign(";").map(|_| ()) }
    }

    fn run(&mut self) -> Result<(String, Vec<Given>), Wrong> {
        let (mut routine, _) = self.name("a method, as `Primes.search`").map(|(name, at)| (name.to_owned(), at))?;
        self.sign(".").map_err(|wrong| wrong.hint("a method is named with its class, as `Primes.search`"))?;
        loop {
            routine.push('.');
            routine.push_str(self.name("the name of a method")?.0);
            if !self.is(".") {
                break;
            }
            self.take();
        }
        self.sign("(")?;
        let mut arguments = Vec::new();
        while !self.is(")") {
            let at = self.peek().at;
            let name = match self.words.get(self.next..self.next + 2) {
                Some([Token { word: Word::Name(name), .. }, Token { word: Word::Sign("," | ")"), .. }]) => Some((*name).to_owned()),
                _ => None,
            };
            let value = self.formula(&[",", ")"], true)?;
            arguments.push(Given { name, value, at });
            if self.is(",") {
                self.take();
                if self.is(")") {
                    return Err(self.expected("an argument after `,`"));
                }
            }
        }
        self.take();
        Ok((routine, arguments))
    }

    /// A formula up to one of these signs outside of parentheses. Its names must be parameters; `of_task` also allows `task` and, as a
    /// lone name, what may be a batch.
    fn formula(&mut self, ends: &[&str], of_task: bool) -> Result<Formula, Wrong> {
        let begin = self.peek().at;
        let first = self.next;
        let mut open = Vec::new();
        loop {
            let token = self.peek();
            match token.word {
                Word::End => return Err(self.expected(&format!("`{}`", ends[0]))),
                Word::Sign(sign) if open.is_empty() && ends.contains(&sign) => break,
                Word::Sign("(" | "[") => open.push(token.at),
                Word::Sign(")" | "]") if open.pop().is_none() => return Err(self.expected(&format!("`{}`", ends[0]))),
                Word::Sign(";" | "{" | "}") => return Err(self.expected("`)`")),
                _ => {}
            }
            if open.len() > MOST_DEPTH {
                return Err(self.wrong(token.at, format!("parentheses stand more than {MOST_DEPTH} deep inside each other")));
            }
            self.take();
        }
        let end = self.peek().at;
        let slice = without_comments(&self.text.text[begin..end]);
        let formula = Formula::parse(&slice).map_err(|wrong| self.wrong(begin + wrong.at.min(end - begin), wrong.expected.to_string()))?;
        let lone = of_task && self.next == first + 1;
        for symbol in formula.symbols() {
            let known = self.known.contains(symbol.as_str()) || lone || of_task && symbol == TASK;
            if !known {
                return Err(self.unknown(&symbol, first, of_task));
            }
        }
        Ok(formula)
    }

    fn unknown(&self, symbol: &str, first: usize, of_task: bool) -> Wrong {
        let at = self.words[first..self.next]
            .iter()
            .find(|token| token.word == Word::Name(symbol))
            .map_or(self.words[first].at, |token| token.at);
        let known = self.known.iter().copied().chain(of_task.then_some(TASK));
        let wrong = self.wrong(at, format!("there is no parameter `{symbol}` before this"));
        match nearest(symbol, known) {
            Some(near) => wrong.hint(format!("did you mean `{near}`?")),
            None if symbol == TASK => wrong.hint("`task` has a meaning only in the arguments of `run`"),
            None => wrong.hint(format!("declare it with `parameter {symbol};`")),
        }
    }
}

/// The same text with blanks in place of comments, so that offsets stay.
fn without_comments(text: &str) -> String {
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
