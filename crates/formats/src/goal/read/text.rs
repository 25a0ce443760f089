//! The text form of a schedule, line by line:
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
//! The grammar is that of LogGOPSim's `txt2bin.re` (github.com/spcl/LogGOPSim); comments may also follow a statement.

use std::io::{BufRead, Read};
use std::path::Path;

use super::labels::OperationLabels;
use super::{SourceLine, malformed};
use crate::error::PathContext;
use crate::goal::builder::{GoalBuilder, OpDependency, OpDescription};
use crate::goal::graph::{ANY, GoalOpKind, GoalSchedule};
use crate::{Error, FilePosition};

/// Longer lines are rejected.
const MAX_LINE_BYTES: u64 = 1 << 16;

/// Reads a schedule from a file of this size.
pub(super) fn read(file: impl BufRead, bytes: u64, path: &Path) -> Result<GoalSchedule, Error> {
    let mut reader = TextParser { builder: GoalBuilder::default(), labels: OperationLabels::default(), bytes, in_comment: false };
    let mut lines = BoundedLines::new(file);
    while let Some(text) = lines.next_line().with_path(path)? {
        if text.len() as u64 >= MAX_LINE_BYTES {
            return Err(malformed(path, FilePosition::Line(lines.number), "this line is too long for a GOAL schedule"));
        }
        reader.parse_line(text).map_err(|what| malformed(path, FilePosition::Line(lines.number), what))?;
    }
    let end = FilePosition::Line(lines.number);
    if reader.in_comment {
        return Err(malformed(path, end, "the file ends within a comment: a `*/` is missing"));
    }
    reader.builder.finish().map_err(|what| malformed(path, end, what))
}

/// The source line of an operation.
pub(super) fn find_source_line(file: impl BufRead, bytes: u64, rank: usize, operation: usize) -> Option<SourceLine> {
    let mut reader = TextParser { builder: GoalBuilder::default(), labels: OperationLabels::default(), bytes, in_comment: false };
    let mut lines = BoundedLines::new(file);
    while let Some(text) = lines.next_line().ok()? {
        reader.parse_line(text).ok()?;
        if reader.builder.has_operation(rank, operation) {
            let text = String::from_utf8_lossy(text).trim().to_owned();
            return Some(SourceLine { line: lines.number, text });
        }
    }
    None
}

/// Lines of a file, one in memory at a time.
struct BoundedLines<F> {
    file: F,
    line: Vec<u8>,
    number: u64,
}

impl<F: BufRead> BoundedLines<F> {
    fn new(file: F) -> BoundedLines<F> {
        BoundedLines { file, line: Vec::new(), number: 0 }
    }

    fn next_line(&mut self) -> std::io::Result<Option<&[u8]>> {
        self.line.clear();
        self.number += 1;
        let read = self.file.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut self.line)?;
        Ok((read > 0).then_some(&self.line[..]))
    }
}

struct TextParser {
    builder: GoalBuilder,
    labels: OperationLabels,
    bytes: u64,
    in_comment: bool,
}

impl TextParser {
    fn parse_line(&mut self, text: &[u8]) -> Result<(), String> {
        let mut cursor = LineCursor { rest: text };
        loop {
            if self.in_comment {
                let Some(end) = cursor.rest.windows(2).position(|two| two == b"*/") else { return Ok(()) };
                cursor.rest = &cursor.rest[end + 2..];
                self.in_comment = false;
            }
            cursor.skip_blanks();
            match cursor.rest {
                [] | [b'/', b'/', ..] => return Ok(()),
                [b'/', b'*', rest @ ..] => {
                    cursor.rest = rest;
                    self.in_comment = true;
                }
                [b'}', rest @ ..] => {
                    cursor.rest = rest;
                    self.builder.end_rank()?;
                }
                _ => self.parse_statement(&mut cursor)?,
            }
        }
    }

    fn parse_statement(&mut self, cursor: &mut LineCursor) -> Result<(), String> {
        match cursor.take_name() {
            b"" => Err(cursor.unexpected("`rank`, `num_ranks`, `send`, `recv`, `calc`, a label or `}`")),
            b"num_ranks" => {
                let count = cursor.take_number("the number of ranks")?;
                self.builder.set_rank_count(count, self.bytes)
            }
            b"rank" => {
                let rank = cursor.take_number("the number of the rank")?;
                cursor.expect_char(b'{')?;
                self.labels.clear();
                self.builder.begin_rank(rank)
            }
            label => self.parse_labelled(label, cursor),
        }
    }

    fn parse_labelled(&mut self, label: &[u8], cursor: &mut LineCursor) -> Result<(), String> {
        if let Some(kind) = op_kind(label) {
            return self.parse_operation(kind, cursor).map(|_| ());
        }
        if cursor.try_char(b':') {
            let word = cursor.take_name();
            let kind = op_kind(word).ok_or_else(|| cursor.unexpected_token(word, "`send`, `recv` or `calc`"))?;
            let operation = self.parse_operation(kind, cursor)?;
            let new = self.labels.define(label, operation);
            return if new { Ok(()) } else { Err(format!("the label {} is already defined", quote(label))) };
        }
        let start_only = match cursor.take_name() {
            b"requires" => false,
            b"irequires" => true,
            word => return Err(cursor.unexpected_token(word, &format!("`:`, `requires` or `irequires` after {}", quote(label)))),
        };
        let prerequisite = cursor.take_name();
        let (dependent, prerequisite) = (self.find_label(label)?, self.find_label(prerequisite)?);
        cursor.expect_end()?;
        self.builder.add_dependency(OpDependency { dependent, prerequisite, start_only });
        Ok(())
    }

    fn find_label(&self, label: &[u8]) -> Result<u32, String> {
        self.labels.find(label).ok_or_else(|| {
            let rank = self.builder.current_rank().map_or_else(String::new, |rank| format!(" in rank {rank}"));
            format!("no operation before this line{rank} has the label {}", quote(label))
        })
    }

    fn parse_operation(&mut self, kind: GoalOpKind, cursor: &mut LineCursor) -> Result<u32, String> {
        let mut description = OpDescription { kind, size: 0, peer: 0, tag: 0, cpu: 0, nic: 0 };
        match kind {
            GoalOpKind::Compute => description.size = cursor.take_number("nanoseconds")?,
            GoalOpKind::Send | GoalOpKind::Receive => {
                description.size = cursor.take_number("bytes")?;
                cursor.expect_word(b"b")?;
                cursor.expect_word(if kind == GoalOpKind::Send { b"to" } else { b"from" })?;
                description.peer = cursor.take_rank(kind == GoalOpKind::Receive)?;
            }
        }
        if kind != GoalOpKind::Compute && cursor.try_word(b"tag") {
            description.tag = cursor.take_tag()?;
        }
        if cursor.try_word(b"cpu") {
            description.cpu = cursor.take_u8("cpu")?;
        }
        if kind != GoalOpKind::Compute && cursor.try_word(b"nic") {
            description.nic = cursor.take_u8("nic")?;
        }
        cursor.expect_end()?;
        self.builder.add_operation(description)
    }
}

fn op_kind(word: &[u8]) -> Option<GoalOpKind> {
    match word {
        b"send" => Some(GoalOpKind::Send),
        b"recv" => Some(GoalOpKind::Receive),
        b"calc" => Some(GoalOpKind::Compute),
        _ => None,
    }
}

/// The unparsed rest of a line.
struct LineCursor<'a> {
    rest: &'a [u8],
}

impl<'a> LineCursor<'a> {
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

    /// A name; empty if there is none.
    fn take_name(&mut self) -> &'a [u8] {
        self.skip_blanks();
        let begins = self.rest.first().is_some_and(u8::is_ascii_alphabetic);
        let length = self.rest.iter().position(|letter| !(letter.is_ascii_alphanumeric() || *letter == b'_')).unwrap_or(self.rest.len());
        self.take(if begins { length } else { 0 })
    }

    fn take_number(&mut self, what: &str) -> Result<u64, String> {
        self.skip_blanks();
        let mut value: u64 = 0;
        let mut length = 0;
        while let Some(digit) = self.rest.get(length).and_then(|letter| letter.checked_sub(b'0')).filter(|digit| *digit < 10) {
            let larger = value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit)));
            value = larger.ok_or_else(|| format!("this number is too large for {what}"))?;
            length += 1;
        }
        if length == 0 {
            return Err(self.unexpected(&format!("a number: {what}")));
        }
        self.take(length);
        Ok(value)
    }

    fn take_rank(&mut self, any: bool) -> Result<u32, String> {
        if any && self.try_wildcard() {
            return Ok(ANY);
        }
        let rank = self.take_number("a rank")?;
        u32::try_from(rank).ok().filter(|rank| *rank != ANY).ok_or_else(|| format!("there is no rank {rank}"))
    }

    fn take_tag(&mut self) -> Result<u32, String> {
        if self.try_wildcard() {
            return Ok(ANY);
        }
        let tag = self.take_number("a tag")?;
        u32::try_from(tag).map_err(|_| format!("the tag {tag} is too large: tags are below {}", u64::from(u32::MAX) + 1))
    }

    /// A CPU or NIC number.
    fn take_u8(&mut self, what: &str) -> Result<u8, String> {
        let number = self.take_number(what)?;
        u8::try_from(number).map_err(|_| format!("`{what} {number}` is too large: they are numbered from 0 to 255"))
    }

    fn try_wildcard(&mut self) -> bool {
        self.skip_blanks();
        let any = self.rest.starts_with(b"-1");
        self.take(if any { 2 } else { 0 });
        any
    }

    fn try_char(&mut self, sign: u8) -> bool {
        self.skip_blanks();
        let there = self.rest.first() == Some(&sign);
        self.take(usize::from(there));
        there
    }

    fn expect_char(&mut self, sign: u8) -> Result<(), String> {
        if self.try_char(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{}`", char::from(sign)))) }
    }

    fn try_word(&mut self, word: &[u8]) -> bool {
        self.skip_blanks();
        let there = self.rest.starts_with(word);
        self.take(if there { word.len() } else { 0 });
        there
    }

    fn expect_word(&mut self, word: &[u8]) -> Result<(), String> {
        if self.try_word(word) { Ok(()) } else { Err(self.unexpected(&quote(word))) }
    }

    /// The end of the statement.
    fn expect_end(&mut self) -> Result<(), String> {
        self.skip_blanks();
        match self.rest {
            [] | [b'}', ..] | [b'/', b'/' | b'*', ..] => Ok(()),
            _ => Err(self.unexpected("the end of the line")),
        }
    }

    fn unexpected(&self, expected: &str) -> String {
        let blank = |letter: &u8| letter.is_ascii_whitespace();
        let found = &self.rest[..self.rest.iter().position(blank).unwrap_or(self.rest.len()).min(40)];
        self.unexpected_token(found, expected)
    }

    fn unexpected_token(&self, found: &[u8], expected: &str) -> String {
        if found.is_empty() {
            format!("the line ends here; expected {expected}")
        } else {
            format!("found {}; expected {expected}", quote(found))
        }
    }
}

fn quote(word: &[u8]) -> String {
    let word: String = String::from_utf8_lossy(word).chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect();
    format!("`{word}`")
}
