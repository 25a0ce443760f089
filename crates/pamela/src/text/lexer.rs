//! The lexer of models.
//!
//! Tokens are produced one at a time, so that a large model needs no more memory than its tree. Comments are returned as trivia of the
//! token that follows; the parser decides which declaration they belong to.

/// A token and its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ModelToken<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
    pub(super) offset: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Letters, digits and `_`.
    Name,
    /// A name in backquotes, as in formulas.
    QuotedName,
    /// Starts with a digit.
    Number,
    /// A string literal with its quotes.
    StringLiteral,
    /// One of `{ } ( ) [ ] ; , = + - * / ^ : . ||`.
    Punct,
    /// An unterminated delimiter; the token is the opening delimiter.
    Unterminated(UnterminatedKind),
    /// A character that starts no token.
    Invalid,
    /// The end of the text.
    End,
}

/// What is unterminated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnterminatedKind {
    Comment,
    StringLiteral,
    QuotedName,
}

/// What precedes a token.
#[derive(Debug, Default)]
pub(super) struct Trivia<'a> {
    pub(super) comments: Vec<SourceComment<'a>>,
    /// Whether an empty line directly precedes the token.
    pub(super) after_empty_line: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SourceComment<'a> {
    /// Including its delimiters.
    pub(super) text: &'a str,
    /// Whether it is on the line on which the token before it ends.
    pub(super) trailing: bool,
    /// Whether an empty line precedes it.
    pub(super) after_empty_line: bool,
}

impl ModelToken<'_> {
    pub(super) fn end(&self) -> usize {
        self.offset + self.text.len()
    }

    pub(super) fn is(&self, sign: &str) -> bool {
        self.kind == TokenKind::Punct && self.text == sign
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Name && self.text == word
    }

    /// The token as shown in messages.
    pub(super) fn describe(&self) -> String {
        const LONGEST: usize = 40;
        match self.kind {
            TokenKind::End => "the end of the text".to_owned(),
            _ if self.text.chars().nth(LONGEST).is_some() => format!("`{}…`", self.text.chars().take(LONGEST).collect::<String>()),
            _ => format!("`{}`", self.text),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        // Some editors write a byte-order mark.
        Lexer { text, offset: if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 } }
    }

    pub(super) fn from(text: &'a str, offset: usize) -> Lexer<'a> {
        Lexer { text, offset }
    }

    /// The next token with its trivia; the end is returned repeatedly.
    pub(super) fn next(&mut self) -> (Trivia<'a>, ModelToken<'a>) {
        let mut gap = Trivia::default();
        let mut trailing = self.offset > 0;
        loop {
            let newlines = self.skip_whitespace();
            trailing &= newlines == 0;
            let Some(length) = comment_length(&self.text[self.offset..]) else {
                gap.after_empty_line = newlines > 1;
                return (gap, self.token());
            };
            let text = &self.text[self.offset..self.offset + length];
            gap.comments.push(SourceComment { text, trailing, after_empty_line: newlines > 1 });
            self.offset += length;
        }
    }

    /// Skips whitespace; returns the number of newlines in it.
    fn skip_whitespace(&mut self) -> usize {
        let rest = &self.text[self.offset..];
        let blanks = &rest[..rest.len() - rest.trim_start().len()];
        self.offset += blanks.len();
        blanks.bytes().filter(|byte| *byte == b'\n').count()
    }

    fn token(&mut self) -> ModelToken<'a> {
        let rest = &self.text[self.offset..];
        let (kind, length) = classify(rest);
        let token = ModelToken { kind, text: &rest[..length], offset: self.offset };
        self.offset += match kind {
            TokenKind::Unterminated(UnterminatedKind::Comment) => rest.len(),
            TokenKind::Unterminated(_) => rest.find('\n').unwrap_or(rest.len()),
            _ => length,
        };
        token
    }
}

/// The kind and length of the first token.
fn classify(text: &str) -> (TokenKind, usize) {
    let Some(first) = text.chars().next() else { return (TokenKind::End, 0) };
    match first {
        '{' | '}' | '(' | ')' | '[' | ']' | ';' | ',' | '=' | '+' | '-' | '*' | '^' | ':' | '.' => (TokenKind::Punct, 1),
        '|' if text.starts_with("||") => (TokenKind::Punct, 2),
        '/' if text.starts_with("/*") => (TokenKind::Unterminated(UnterminatedKind::Comment), 2),
        '/' => (TokenKind::Punct, 1),
        '"' => quoted_length(text)
            .map_or((TokenKind::Unterminated(UnterminatedKind::StringLiteral), 1), |length| (TokenKind::StringLiteral, length)),
        '`' => {
            quoted_length(text).map_or((TokenKind::Unterminated(UnterminatedKind::QuotedName), 1), |length| (TokenKind::QuotedName, length))
        }
        _ if first.is_ascii_digit() => (TokenKind::Number, name_length(text)),
        _ if first.is_alphabetic() || first == '_' => (TokenKind::Name, name_length(text)),
        _ => (TokenKind::Invalid, first.len_utf8()),
    }
}

fn name_length(text: &str) -> usize {
    text.find(|letter| !is_name_char(letter)).unwrap_or(text.len())
}

pub(super) fn is_name_char(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The length of a literal that ends with its first character, on the same line and not escaped.
fn quoted_length(text: &str) -> Option<usize> {
    let mut letters = text.char_indices();
    let (_, mark) = letters.next()?;
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\n' => return None,
            '\\' if letters.next().is_none_or(|(_, escaped)| escaped == '\n') => return None,
            _ if letter == mark => return Some(at + mark.len_utf8()),
            _ => {}
        }
    }
    None
}

/// The length of the terminated comment at the start of the text, if any.
fn comment_length(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let inside = text.strip_prefix("/*")?;
    inside.find("*/").map(|end| end + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<(TokenKind, &str)> {
        let mut lexer = Lexer::new(text);
        let all = std::iter::from_fn(|| Some(lexer.next().1).filter(|token| token.kind != TokenKind::End));
        all.map(|token| (token.kind, token.text)).collect()
    }

    #[test]
    fn a_text_falls_into_words() {
        use TokenKind::*;
        let expected =
            [(Name, "seq"), (Punct, "("), (Name, "i"), (Punct, "="), (Number, "1"), (Punct, ","), (QuotedName, "`a;b`"), (Punct, ")")];
        assert_eq!(words("seq(i=1, `a;b`) "), expected);
        assert_eq!(words("a||b"), [(Name, "a"), (Punct, "||"), (Name, "b")]);
        assert_eq!(words(r#""a\"b" x"#), [(StringLiteral, r#""a\"b""#), (Name, "x")]);
        assert_eq!(words("1e-3 ü@"), [(Number, "1e"), (Punct, "-"), (Number, "3"), (Name, "ü"), (Invalid, "@")]);
    }

    #[test]
    fn what_has_no_end_is_a_word_of_its_own() {
        assert_eq!(words("a /* b\nc"), [(TokenKind::Name, "a"), (TokenKind::Unterminated(UnterminatedKind::Comment), "/*")]);
        assert_eq!(words("\"a\nb"), [(TokenKind::Unterminated(UnterminatedKind::StringLiteral), "\""), (TokenKind::Name, "b")]);
        assert_eq!(words("`a\\\nb"), [(TokenKind::Unterminated(UnterminatedKind::QuotedName), "`"), (TokenKind::Name, "b")]);
    }

    #[test]
    fn comments_come_with_the_word_behind_them() {
        let mut lexer = Lexer::new("a // one\n\n/* two */ b");
        assert!(lexer.next().0.comments.is_empty());
        let (gap, token) = lexer.next();
        assert_eq!((token.text, gap.after_empty_line), ("b", false));
        let told: Vec<_> = gap.comments.iter().map(|comment| (comment.text, comment.trailing, comment.after_empty_line)).collect();
        assert_eq!(told, [("// one", true, false), ("/* two */", false, true)]);
    }
}
