//! The words of a model's text.
//!
//! They are read one at a time, so that a large model costs no more memory than its tree. Comments are no words, but they are handed over
//! beside the word that follows: whoever reads the text knows which of them belong to something.

/// A word, and where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) at: usize,
}

/// What kind of word it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters, digits and `_`.
    Name,
    /// A name in backquotes, as formulas may have.
    Quoted,
    /// What begins with a digit.
    Number,
    /// A text in quotation marks, with them.
    Text,
    /// One of `{ } ( ) [ ] ; , = + - * / ^ : . ||`.
    Sign,
    /// Something that has no end; the word is how it begins.
    Endless(Endless),
    /// A character that begins no word.
    Strange,
    /// The end of the text.
    End,
}

/// What needs an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endless {
    Comment,
    Text,
    Quoted,
}

/// What stands before a word.
#[derive(Debug, Default)]
pub(super) struct Gap<'a> {
    pub(super) comments: Vec<Comment<'a>>,
    /// Whether an empty line stands right before the word.
    pub(super) empty_line: bool,
}

/// A comment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comment<'a> {
    /// With the signs that make it one.
    pub(super) text: &'a str,
    /// Whether it stands on the line on which the word before it ends.
    pub(super) trailing: bool,
    /// Whether an empty line stands before it.
    pub(super) after_empty_line: bool,
}

impl Token<'_> {
    pub(super) fn end(&self) -> usize {
        self.at + self.text.len()
    }

    pub(super) fn is(&self, sign: &str) -> bool {
        self.kind == Kind::Sign && self.text == sign
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Name && self.text == word
    }

    /// What it is called in a message.
    pub(super) fn found(&self) -> String {
        const LONGEST: usize = 40;
        match self.kind {
            Kind::End => "the end of the text".to_owned(),
            _ if self.text.chars().nth(LONGEST).is_some() => format!("`{}…`", self.text.chars().take(LONGEST).collect::<String>()),
            _ => format!("`{}`", self.text),
        }
    }
}

/// Goes through the words of a text.
#[derive(Debug, Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        // Some editors mark the text's encoding in front of it.
        Lexer { text, at: if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 } }
    }

    /// From here on.
    pub(super) fn from(text: &'a str, at: usize) -> Lexer<'a> {
        Lexer { text, at }
    }

    /// The next word with what stands before it; the last one comes again and again.
    pub(super) fn next(&mut self) -> (Gap<'a>, Token<'a>) {
        let mut gap = Gap::default();
        let mut trailing = self.at > 0;
        loop {
            let newlines = self.blanks();
            trailing &= newlines == 0;
            let Some(length) = comment_length(&self.text[self.at..]) else {
                gap.empty_line = newlines > 1;
                return (gap, self.word());
            };
            let text = &self.text[self.at..self.at + length];
            gap.comments.push(Comment { text, trailing, after_empty_line: newlines > 1 });
            self.at += length;
        }
    }

    /// Skips blanks; how many lines end in them.
    fn blanks(&mut self) -> usize {
        let rest = &self.text[self.at..];
        let blanks = &rest[..rest.len() - rest.trim_start().len()];
        self.at += blanks.len();
        blanks.bytes().filter(|byte| *byte == b'\n').count()
    }

    fn word(&mut self) -> Token<'a> {
        let rest = &self.text[self.at..];
        let (kind, length) = classify(rest);
        let token = Token { kind, text: &rest[..length], at: self.at };
        self.at += match kind {
            Kind::Endless(Endless::Comment) => rest.len(),
            Kind::Endless(_) => rest.find('\n').unwrap_or(rest.len()),
            _ => length,
        };
        token
    }
}

/// What the text begins with, and how many bytes that has.
fn classify(text: &str) -> (Kind, usize) {
    let Some(first) = text.chars().next() else { return (Kind::End, 0) };
    match first {
        '{' | '}' | '(' | ')' | '[' | ']' | ';' | ',' | '=' | '+' | '-' | '*' | '^' | ':' | '.' => (Kind::Sign, 1),
        '|' if text.starts_with("||") => (Kind::Sign, 2),
        '/' if text.starts_with("/*") => (Kind::Endless(Endless::Comment), 2),
        '/' => (Kind::Sign, 1),
        '"' => enclosed(text).map_or((Kind::Endless(Endless::Text), 1), |length| (Kind::Text, length)),
        '`' => enclosed(text).map_or((Kind::Endless(Endless::Quoted), 1), |length| (Kind::Quoted, length)),
        _ if first.is_ascii_digit() => (Kind::Number, name_length(text)),
        _ if first.is_alphabetic() || first == '_' => (Kind::Name, name_length(text)),
        _ => (Kind::Strange, first.len_utf8()),
    }
}

fn name_length(text: &str) -> usize {
    text.find(|letter| !is_of_name(letter)).unwrap_or(text.len())
}

/// Whether names may have this letter.
pub(super) fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The length of what ends with the character it begins with, on the same line and without a `\` before it.
fn enclosed(text: &str) -> Option<usize> {
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

/// The length of the comment that the text begins with, if it does and the comment ends.
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

    fn words(text: &str) -> Vec<(Kind, &str)> {
        let mut lexer = Lexer::new(text);
        let all = std::iter::from_fn(|| Some(lexer.next().1).filter(|token| token.kind != Kind::End));
        all.map(|token| (token.kind, token.text)).collect()
    }

    #[test]
    fn a_text_falls_into_words() {
        use Kind::*;
        let expected = [(Name, "seq"), (Sign, "("), (Name, "i"), (Sign, "="), (Number, "1"), (Sign, ","), (Quoted, "`a;b`"), (Sign, ")")];
        assert_eq!(words("seq(i=1, `a;b`) "), expected);
        assert_eq!(words("a||b"), [(Name, "a"), (Sign, "||"), (Name, "b")]);
        assert_eq!(words(r#""a\"b" x"#), [(Text, r#""a\"b""#), (Name, "x")]);
        assert_eq!(words("1e-3 ü@"), [(Number, "1e"), (Sign, "-"), (Number, "3"), (Name, "ü"), (Strange, "@")]);
    }

    #[test]
    fn what_has_no_end_is_a_word_of_its_own() {
        assert_eq!(words("a /* b\nc"), [(Kind::Name, "a"), (Kind::Endless(Endless::Comment), "/*")]);
        assert_eq!(words("\"a\nb"), [(Kind::Endless(Endless::Text), "\""), (Kind::Name, "b")]);
        assert_eq!(words("`a\\\nb"), [(Kind::Endless(Endless::Quoted), "`"), (Kind::Name, "b")]);
    }

    #[test]
    fn comments_come_with_the_word_behind_them() {
        let mut lexer = Lexer::new("a // one\n\n/* two */ b");
        assert!(lexer.next().0.comments.is_empty());
        let (gap, token) = lexer.next();
        assert_eq!((token.text, gap.empty_line), ("b", false));
        let told: Vec<_> = gap.comments.iter().map(|comment| (comment.text, comment.trailing, comment.after_empty_line)).collect();
        assert_eq!(told, [("// one", true, false), ("/* two */", false, true)]);
    }
}
