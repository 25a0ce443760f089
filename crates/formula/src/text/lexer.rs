//! The lexer of formulas.

/// Names that are followed by parentheses.
pub(crate) const FUNCTIONS: [&str; 9] = ["log2", "ln", "sqrt", "ceil", "floor", "max", "min", "sum", "pieces"];

/// A token and its byte offset.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FormulaToken<'a> {
    pub(crate) offset: usize,
    pub(crate) kind: FormulaTokenKind<'a>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FormulaTokenKind<'a> {
    Number(&'a str),
    Name(String),
    /// One of `+ - * / ^ ( ) [ ] , : =` or `..`.
    Punct(&'a str),
    /// A character that starts no token, or a name without its closing backquote.
    Invalid,
    End,
}

const PUNCTUATION: &str = "+-*/^()[],:=";

/// Whether a name needs no backquotes.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_alphabetic() || first == '_') && letters.all(is_name_char)
}

fn is_name_char(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The first token at or after an offset, and the offset behind it.
pub(crate) fn next_token(text: &str, from: usize) -> (FormulaToken<'_>, usize) {
    let rest = &text[from..];
    let trimmed = rest.trim_start();
    let at = from + rest.len() - trimmed.len();
    let token = |word| FormulaToken { offset: at, kind: word };
    let Some(first) = trimmed.chars().next() else { return (token(FormulaTokenKind::End), at) };
    if trimmed.starts_with("..") {
        return (token(FormulaTokenKind::Punct(&trimmed[..2])), at + 2);
    }
    if first.is_ascii_digit() || (first == '.' && trimmed[1..].starts_with(|next: char| next.is_ascii_digit())) {
        let length = number_length(trimmed.as_bytes());
        return (token(FormulaTokenKind::Number(&trimmed[..length])), at + length);
    }
    if PUNCTUATION.contains(first) {
        return (token(FormulaTokenKind::Punct(&trimmed[..1])), at + 1);
    }
    if first == '`' {
        return match quoted_name(trimmed) {
            Some((name, length)) => (token(FormulaTokenKind::Name(name)), at + length),
            None => (token(FormulaTokenKind::Invalid), text.len()),
        };
    }
    if first.is_alphabetic() || first == '_' {
        let length = trimmed.find(|letter| !is_name_char(letter)).unwrap_or(trimmed.len());
        return (token(FormulaTokenKind::Name(trimmed[..length].to_owned())), at + length);
    }
    (token(FormulaTokenKind::Invalid), at + first.len_utf8())
}

/// The length of a number: digits, a decimal point that does not start `..`, and an exponent.
fn number_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut length = digits(0);
    if bytes.get(length) == Some(&b'.') && bytes.get(length + 1).is_some_and(u8::is_ascii_digit) {
        length += 1 + digits(length + 1);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits((length + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}

/// A name in backquotes, and its length including them.
fn quoted_name(text: &str) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '`' => return Some((name, at + 1)),
            '\\' => name.push(letters.next()?.1),
            other => name.push(other),
        }
    }
    None
}
