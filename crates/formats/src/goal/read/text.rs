//! The text of a schedule, a line at a time:
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! l1: calc 1000
//! l2: send 8b to 1 tag 5 cpu 0 nic 0
//! l2 requires l1
//! }
//! ```
//!
//! The grammar is that of LogGOPSim's `txt2bin.re` (github.com/spcl/LogGOPSim); comments may also stand behind a statement.

use std::io::{BufRead, Read};
use std::path::Path;

use super::labels::Labels;
use super::{Told, malformed};
use crate::error::At;
use crate::goal::build::{Builder, Dependency, Described};
use crate::goal::graph::{ANY, Goal, Kind};
use crate::{Error, Place};

/// No statement is longer; what is longer is no schedule.
const LONGEST_LINE: u64 = 1 << 16;

/// Reads a schedule of so many bytes.
pub fn read(file: impl BufRead, bytes: u64, path: &Path) -> Result<Goal, Error> {
    let mut reader = Reader { builder: Builder::default(), labels: Labels::default(), bytes, in_comment: false };
    let mut lines = Lines::of(file);
    while let Some(text) = lines.next().at(path)? {
        if text.len() as u64 >= LONGEST_LINE {
            return Err(malformed(path, Place::Line(lines.number), "this line is too long for a GOAL schedule"));
        }
        reader.line(text).map_err(|what| malformed(path, Place::Line(lines.number), what))?;
    }
    let end = Place::Line(lines.number);
    if reader.in_comment {
        return Err(malformed(path, end, "the file ends within a comment: a `*/` is missing"));
    }
    reader.builder.finish().map_err(|what| malformed(path, end, what))
}

/// Where an operation of a rank is told.
pub fn place(file: impl BufRead, bytes: u64, rank: usize, operation: usize) -> Option<Told> {
    let mut reader = Reader { builder: Builder::default(), labels: Labels::default(), bytes, in_comment: false };
    let mut lines = Lines::of(file);
    while let Some(text) = lines.next().ok()? {
        reader.line(text).ok()?;
        if reader.builder.knows(rank, operation) {
            let text = String::from_utf8_lossy(text).trim().to_owned();
            return Some(Told { line: lines.number, text });
        }
    }
    None
}

/// Lines of a file, one in memory at a time.
struct Lines<F> {
    file: F,
    line: Vec<u8>,
    number: u64,
}

impl<F: BufRead> Lines<F> {
    fn of(file: F) -> Lines<F> {
        Lines { file, line: Vec::new(), number: 0 }
    }

    fn next(&mut self) -> std::io::Result<Option<&[u8]>> {
        self.line.clear();
        self.number += 1;
        let read = self.file.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut self.line)?;
        Ok((read > 0).then_some(&self.line[..]))
    }
}

struct Reader {
    builder: Builder,
    labels: Labels,
    bytes: u64,
    in_comment: bool,
}

impl Reader {
    fn line(&mut self, text: &[u8]) -> Result<(), String> {
        let mut words = Words { rest: text };
        loop {
            if self.in_comment {
                let Some(end) = words.rest.windows(2).position(|two| two == b"*/") else { return Ok(()) };
                words.rest = &words.rest[end + 2..];
                self.in_comment = false;
            }
            words.skip_blanks();
            match words.rest {
                [] | [b'/', b'/', ..] => return Ok(()),
                [b'/', b'*', rest @ ..] => {
                    words.rest = rest;
                    self.in_comment = true;
                }
                [b'}', rest @ ..] => {
                    words.rest = rest;
                    self.builder.end()?;
                }
                _ => self.statement(&mut words)?,
            }
        }
    }

    fn statement(&mut self, words: &mut Words) -> Result<(), String> {
        match words.name() {
            b"" => Err(words.instead("`rank`, `num_ranks`, `send`, `recv`, `calc`, a label or `}`")),
            b"num_ranks" => {
                let count = words.number("the number of ranks")?;
                self.builder.ranks(count, self.bytes)
            }
            b"rank" => {
                let rank = words.number("the number of the rank")?;
                words.sign(b'{')?;
                self.labels.clear();
                self.builder.begin(rank)
            }
            label => self.labelled(label, words),
        }
    }

    fn labelled(&mut self, label: &[u8], words: &mut Words) -> Result<(), String> {
        if let Some(kind) = kind(label) {
            return self.operation(kind, words).map(|_| ());
        }
        if words.try_sign(b':') {
            let word = words.name();
            let kind = kind(word).ok_or_else(|| words.instead_of(word, "`send`, `recv` or `calc`"))?;
            let operation = self.operation(kind, words)?;
            let new = self.labels.define(label, operation);
            return if new { Ok(()) } else { Err(format!("the label {} names another operation already", show(label))) };
        }
        let begun = match words.name() {
            b"requires" => false,
            b"irequires" => true,
            word => return Err(words.instead_of(word, &format!("`:`, `requires` or `irequires` behind {}", show(label)))),
        };
        let on = words.name();
        let (waiting, on) = (self.find(label)?, self.find(on)?);
        words.end()?;
        self.builder.dependency(Dependency { waiting, on, begun });
        Ok(())
    }

    fn find(&self, label: &[u8]) -> Result<u32, String> {
        self.labels.find(label).ok_or_else(|| {
            let rank = self.builder.rank().map_or_else(String::new, |rank| format!(" in rank {rank}"));
            format!("no operation before this line{rank} has the label {}: define it first", show(label))
        })
    }

    fn operation(&mut self, kind: Kind, words: &mut Words) -> Result<u32, String> {
        let mut described = Described { kind, size: 0, peer: 0, tag: 0, cpu: 0, nic: 0 };
        match kind {
            Kind::Compute => described.size = words.number("nanoseconds")?,
            Kind::Send | Kind::Receive => {
                described.size = words.number("bytes")?;
                words.word(b"b")?;
                words.word(if kind == Kind::Send { b"to" } else { b"from" })?;
                described.peer = words.rank(kind == Kind::Receive)?;
            }
        }
        if kind != Kind::Compute && words.try_word(b"tag") {
            described.tag = words.tag()?;
        }
        if words.try_word(b"cpu") {
            described.cpu = words.small("cpu")?;
        }
        if kind != Kind::Compute && words.try_word(b"nic") {
            described.nic = words.small("nic")?;
        }
        words.end()?;
        self.builder.operation(described)
    }
}

fn kind(word: &[u8]) -> Option<Kind> {
    match word {
        b"send" => Some(Kind::Send),
        b"recv" => Some(Kind::Receive),
        b"calc" => Some(Kind::Compute),
        _ => None,
    }
}

/// What is left of a line.
struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    fn skip_blanks(&mut self) {
        while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    /// A name, empty if there is none.
    fn name(&mut self) -> &'a [u8] {
        self.skip_blanks();
        let begins = self.rest.first().is_some_and(u8::is_ascii_alphabetic);
        let length = self.rest.iter().position(|letter| !(letter.is_ascii_alphanumeric() || *letter == b'_')).unwrap_or(self.rest.len());
        self.take(if begins { length } else { 0 })
    }

    fn number(&mut self, what: &str) -> Result<u64, String> {
        self.skip_blanks();
        let mut value: u64 = 0;
        let mut length = 0;
        while let Some(digit) = self.rest.get(length).and_then(|letter| letter.checked_sub(b'0')).filter(|digit| *digit < 10) {
            let larger = value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit)));
            value = larger.ok_or_else(|| format!("this number is too large for {what}"))?;
            length += 1;
        }
        if length == 0 {
            return Err(self.instead(&format!("a number: {what}")));
        }
        self.take(length);
        Ok(value)
    }

    /// A rank, or any.
    fn rank(&mut self, any: bool) -> Result<u32, String> {
        if any && self.try_any() {
            return Ok(ANY);
        }
        let rank = self.number("a rank")?;
        u32::try_from(rank).ok().filter(|rank| *rank != ANY).ok_or_else(|| format!("there is no rank {rank}"))
    }

    /// A tag, or any.
    fn tag(&mut self) -> Result<u32, String> {
        if self.try_any() {
            return Ok(ANY);
        }
        let tag = self.number("a tag")?;
        u32::try_from(tag).map_err(|_| format!("the tag {tag} is too large: tags are below {}", u64::from(u32::MAX) + 1))
    }

    /// The number of a processor or network interface.
    fn small(&mut self, what: &str) -> Result<u8, String> {
        let number = self.number(what)?;
        u8::try_from(number).map_err(|_| format!("`{what} {number}` is too large: they are numbered from 0 to 255"))
    }

    fn try_any(&mut self) -> bool {
        self.skip_blanks();
        let any = self.rest.starts_with(b"-1");
        self.take(if any { 2 } else { 0 });
        any
    }

    fn try_sign(&mut self, sign: u8) -> bool {
        self.skip_blanks();
        let there = self.rest.first() == Some(&sign);
        self.take(usize::from(there));
        there
    }

    fn sign(&mut self, sign: u8) -> Result<(), String> {
        if self.try_sign(sign) { Ok(()) } else { Err(self.instead(&format!("`{}`", char::from(sign)))) }
    }

    fn try_word(&mut self, word: &[u8]) -> bool {
        self.skip_blanks();
        let there = self.rest.starts_with(word);
        self.take(if there { word.len() } else { 0 });
        there
    }

    fn word(&mut self, word: &[u8]) -> Result<(), String> {
        if self.try_word(word) { Ok(()) } else { Err(self.instead(&show(word))) }
    }

    /// That the statement ends here.
    fn end(&mut self) -> Result<(), String> {
        self.skip_blanks();
        match self.rest {
            [] | [b'}', ..] | [b'/', b'/' | b'*', ..] => Ok(()),
            _ => Err(self.instead("the end of the line")),
        }
    }

    fn instead(&self, expected: &str) -> String {
        let blank = |letter: &u8| letter.is_ascii_whitespace();
        let found = &self.rest[..self.rest.iter().position(blank).unwrap_or(self.rest.len()).min(40)];
        self.instead_of(found, expected)
    }

    fn instead_of(&self, found: &[u8], expected: &str) -> String {
        if found.is_empty() {
            format!("here the line ends; expected is {expected}")
        } else {
            format!("here is {}; expected is {expected}", show(found))
        }
    }
}

fn show(word: &[u8]) -> String {
    let word: String = String::from_utf8_lossy(word).chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect();
    format!("`{word}`")
}
