//! The lexer of PASL.

use crate::error::SourceDiagnostic;
use crate::source_file::SourceFile;

/// A token and its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PaslToken<'a> {
    pub(super) kind: PaslTokenKind<'a>,
    pub(super) offset: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PaslTokenKind<'a> {
    Name(&'a str),
    /// Anything else except whitespace: a number, punctuation.
    Punct(&'a str),
    End,
}

impl PaslTokenKind<'_> {
    pub(super) fn describe(&self) -> String {
        match self {
            PaslTokenKind::Name(text) | PaslTokenKind::Punct(text) => format!("`{text}`"),
            PaslTokenKind::End => "the end of the file".to_owned(),
        }
    }
}

/// All tokens of a text; the last is the end.
pub(super) fn tokenize(text: &SourceFile) -> Result<Vec<PaslToken<'_>>, SourceDiagnostic> {
    let source = text.text.as_str();
    let (mut words, mut at) = (Vec::new(), 0);
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(inside) = rest.strip_prefix("/*") {
            let end = inside.find("*/");
            end.ok_or_else(|| {
                SourceDiagnostic::new(text.pos_at(at), "unterminated comment").with_source_line(source).with_hint("close it with `*/`")
            })? + 4
        } else if first.is_whitespace() {
            first.len_utf8()
        } else {
            let word = next_token(rest, first);
            words.push(PaslToken { kind: word, offset: at });
            match word {
                PaslTokenKind::Name(text) | PaslTokenKind::Punct(text) => text.len(),
                PaslTokenKind::End => 0,
            }
        };
        at += length;
    }
    words.push(PaslToken { kind: PaslTokenKind::End, offset: at });
    Ok(words)
}

fn next_token(rest: &str, first: char) -> PaslTokenKind<'_> {
    let belongs = |letter: char| letter.is_alphanumeric() || letter == '_';
    if first.is_alphabetic() || first == '_' {
        return PaslTokenKind::Name(&rest[..rest.find(|letter| !belongs(letter)).unwrap_or(rest.len())]);
    }
    if first.is_ascii_digit() {
        return PaslTokenKind::Punct(&rest[..rest.find(|letter: char| !belongs(letter) && letter != '.').unwrap_or(rest.len())]);
    }
    let length = if rest.starts_with("->") { 2 } else { first.len_utf8() };
    PaslTokenKind::Punct(&rest[..length])
}
