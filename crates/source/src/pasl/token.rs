//! The words of PASL.

use crate::error::Wrong;
use crate::file::Text;

/// A word with its place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) word: Word<'a>,
    /// The offset of its first byte.
    pub(super) at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word<'a> {
    Name(&'a str),
    /// Anything else that is not blank: a number, a sign.
    Sign(&'a str),
    End,
}

impl Word<'_> {
    pub(super) fn shown(&self) -> String {
        match self {
            Word::Name(text) | Word::Sign(text) => format!("`{text}`"),
            Word::End => "the end of the file".to_owned(),
        }
    }
}

/// All words of a text; the last is its end.
pub(super) fn words(text: &Text) -> Result<Vec<Token<'_>>, Wrong> {
    let source = text.text.as_str();
    let (mut words, mut at) = (Vec::new(), 0);
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(inside) = rest.strip_prefix("/*") {
            let end = inside.find("*/");
            end.ok_or_else(|| Wrong::at(text.place(at), "this comment has no end").in_text(source).hint("close it with `*/`"))? + 4
        } else if first.is_whitespace() {
            first.len_utf8()
        } else {
            let word = word(rest, first);
            words.push(Token { word, at });
            match word {
                Word::Name(text) | Word::Sign(text) => text.len(),
                Word::End => 0,
            }
        };
        at += length;
    }
    words.push(Token { word: Word::End, at });
    Ok(words)
}

fn word(rest: &str, first: char) -> Word<'_> {
    let belongs = |letter: char| letter.is_alphanumeric() || letter == '_';
    if first.is_alphabetic() || first == '_' {
        return Word::Name(&rest[..rest.find(|letter| !belongs(letter)).unwrap_or(rest.len())]);
    }
    if first.is_ascii_digit() {
        return Word::Sign(&rest[..rest.find(|letter: char| !belongs(letter) && letter != '.').unwrap_or(rest.len())]);
    }
    let length = if rest.starts_with("->") { 2 } else { first.len_utf8() };
    Word::Sign(&rest[..length])
}
