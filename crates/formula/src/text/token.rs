//! The words of written formulas.

/// Names that are followed by parentheses.
pub(crate) const FUNCTIONS: [&str; 9] = ["log2", "ln", "sqrt", "ceil", "floor", "max", "min", "sum", "pieces"];

/// A word with the offset of its first byte.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) at: usize,
    pub(crate) word: Word<'a>,
}

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Word<'a> {
    Number(&'a str),
    Name(String),
    /// One of `+ - * / ^ ( ) [ ] , : =` or `..`.
    Sign(&'a str),
    /// A character that begins no word, or a name without its closing backquote.
    Strange,
    End,
}

const SIGNS: &str = "+-*/^()[],:=";

/// Whether a name can be written without backquotes.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_alphabetic() || first == '_') && letters.all(is_of_name)
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The first word at or after an offset, and the offset behind it.
pub(crate) fn next(text: &str, from: usize) -> (Token<'_>, usize) {
    let rest = &text[from..];
    let trimmed = rest.trim_start();
    let at = from + rest.len() - trimmed.len();
    let token = |word| Token { at, word };
    let Some(first) = trimmed.chars().next() else { return (token(Word::End), at) };
    if trimmed.starts_with("..") {
        return (token(Word::Sign(&trimmed[..2])), at + 2);
    }
    if first.is_ascii_digit() || (first == '.' && trimmed[1..].starts_with(|next: char| next.is_ascii_digit())) {
        let length = number_length(trimmed.as_bytes());
        return (token(Word::Number(&trimmed[..length])), at + length);
    }
    if SIGNS.contains(first) {
        return (token(Word::Sign(&trimmed[..1])), at + 1);
    }
    if first == '`' {
        return match quoted_name(trimmed) {
            Some((name, length)) => (token(Word::Name(name)), at + length),
            None => (token(Word::Strange), text.len()),
        };
    }
    if first.is_alphabetic() || first == '_' {
        let length = trimmed.find(|letter| !is_of_name(letter)).unwrap_or(trimmed.len());
        return (token(Word::Name(trimmed[..length].to_owned())), at + length);
    }
    (token(Word::Strange), at + first.len_utf8())
}

/// The length of a number: digits, a point that is not the first of two, and an exponent.
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

/// A name in backquotes, and how long it is with them.
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
