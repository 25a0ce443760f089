//! The words of a program in Java or C, as far as mistakes are looked for in them.

use tree_sitter::Language;

use crate::error::Wrong;
use crate::file::Text;

/// The language of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tongue {
    Java,
    C,
}

/// Words that begin a statement, in both languages.
pub(super) const STATEMENTS: [&str; 11] = ["if", "else", "for", "while", "do", "switch", "case", "return", "break", "continue", "default"];
/// Words that begin a statement in Java alone.
const STATEMENTS_OF_JAVA: [&str; 4] = ["try", "catch", "finally", "throw"];
/// What a declaration may begin with before its type.
pub(super) const MODIFIERS_OF_JAVA: [&str; 11] =
    ["public", "private", "protected", "static", "final", "abstract", "native", "synchronized", "transient", "volatile", "strictfp"];
const MODIFIERS_OF_C: [&str; 8] = ["static", "extern", "inline", "const", "volatile", "register", "restrict", "typedef"];
const TYPES_OF_JAVA: [&str; 9] = ["void", "boolean", "byte", "short", "char", "int", "long", "float", "double"];
const TYPES_OF_C: [&str; 12] = ["void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "struct", "union", "enum"];
const OTHERS_OF_JAVA: [&str; 11] =
    ["class", "interface", "enum", "extends", "implements", "import", "package", "instanceof", "new", "throws", "assert"];
const OTHERS_OF_C: [&str; 2] = ["goto", "sizeof"];

impl Tongue {
    pub(super) fn of(language: &Language) -> Tongue {
        if language.id_for_node_kind("class_declaration", true) == 0 { Tongue::C } else { Tongue::Java }
    }

    pub(super) fn begins_statement(self, word: &str) -> bool {
        STATEMENTS.contains(&word) || self == Tongue::Java && STATEMENTS_OF_JAVA.contains(&word)
    }

    pub(super) fn is_modifier(self, word: &str) -> bool {
        if self == Tongue::Java { MODIFIERS_OF_JAVA.contains(&word) } else { MODIFIERS_OF_C.contains(&word) }
    }

    pub(super) fn is_type(self, word: &str) -> bool {
        if self == Tongue::Java { TYPES_OF_JAVA.contains(&word) } else { TYPES_OF_C.contains(&word) }
    }

    fn is_reserved(self, word: &str) -> bool {
        let other = if self == Tongue::Java { OTHERS_OF_JAVA.contains(&word) } else { OTHERS_OF_C.contains(&word) };
        other || self.begins_statement(word) || self.is_modifier(word) || self.is_type(word)
    }
}

/// What a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Name,
    /// A name that means something in the language.
    Reserved,
    Number,
    /// A text or a letter in quotation marks.
    Quoted,
    Sign,
    End,
}

/// A word with its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word<'t> {
    pub(super) text: &'t str,
    pub(super) kind: Kind,
    pub(super) at: usize,
    /// Whether it is the first of its line.
    pub(super) first: bool,
}

impl Word<'_> {
    pub(super) fn end(&self) -> usize {
        self.at + self.text.len()
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.text == text && self.kind != Kind::Quoted
    }

    pub(super) fn is_one_of(&self, texts: &[&str]) -> bool {
        self.kind != Kind::Quoted && texts.contains(&self.text)
    }

    /// Whether an operand may end with it.
    pub(super) fn ends_operand(&self) -> bool {
        matches!(self.kind, Kind::Name | Kind::Number | Kind::Quoted) || self.is_one_of(&[")", "]"])
    }

    pub(super) fn shown(&self) -> String {
        if self.kind == Kind::End { "the end of the file".to_owned() } else { format!("`{}`", self.text) }
    }
}

/// Signs of more than one letter, the longest first.
const SIGNS: [&str; 27] = [
    ">>>=",
    "<<=",
    ">>=",
    ">>>",
    "...",
    "->",
    "::",
    "++",
    "--",
    "&&",
    "||",
    "==",
    "!=",
    "<=",
    ">=",
    "+=",
    "-=",
    "*=",
    "/=",
    "%=",
    "&=",
    "|=",
    "^=",
    "<<",
    ">>",
    "\"\"\"",
    "@interface",
];

/// All words of a text, the last of which is its end; or a text or comment in it that has no end.
pub(super) fn words(text: &Text, tongue: Tongue) -> Result<Vec<Word<'_>>, Wrong> {
    let source = text.text.as_str();
    let (mut words, mut at, mut first) = (Vec::new(), 0, true);
    while let Some(letter) = source[at..].chars().next() {
        let rest = &source[at..];
        if letter.is_whitespace() {
            first |= letter == '\n';
            at += letter.len_utf8();
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += enclosed(text, at, "/*", "*/", "comment")?;
        } else if letter == '#' && first && tongue == Tongue::C {
            at += directive(rest);
        } else {
            let (length, kind) = word(text, at, letter, tongue)?;
            words.push(Word { text: &rest[..length], kind, at, first });
            first = false;
            at += length;
        }
    }
    words.push(Word { text: "", kind: Kind::End, at: source.trim_end().len(), first: true });
    Ok(words)
}

fn word(text: &Text, at: usize, letter: char, tongue: Tongue) -> Result<(usize, Kind), Wrong> {
    let rest = &text.text[at..];
    let belongs = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    let until = |other: &dyn Fn(char) -> bool| rest.find(|letter| !other(letter)).unwrap_or(rest.len());
    if letter.is_ascii_digit() {
        let length = until(&|letter| belongs(letter) || letter == '.');
        return if is_number(&rest[..length]) { Ok((length, Kind::Number)) } else { Err(no_number(text, at, &rest[..length])) };
    }
    if belongs(letter) {
        let length = until(&belongs);
        return Ok((length, if tongue.is_reserved(&rest[..length]) { Kind::Reserved } else { Kind::Name }));
    }
    if rest.starts_with("\"\"\"") && tongue == Tongue::Java {
        return Ok((enclosed(text, at, "\"\"\"", "\"\"\"", "text")?, Kind::Quoted));
    }
    if letter == '"' || letter == '\'' {
        return Ok((quoted(text, at, letter)?, Kind::Quoted));
    }
    let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign)).map_or(letter.len_utf8(), |sign| sign.len());
    Ok((sign, Kind::Sign))
}

/// Whether what begins with a digit may be a number. What is behind the sign of an exponent is another word.
fn is_number(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let of_base = ["0x", "0b", "0o"].iter().any(|prefix| lower.starts_with(prefix));
    of_base || lower.chars().all(|letter| letter.is_ascii_digit() || "._eulfdij".contains(letter))
}

fn no_number(text: &Text, at: usize, word: &str) -> Wrong {
    let wrong = Wrong::at(text.place(at), format!("expected a number or a name, found `{word}`")).in_text(&text.text);
    wrong.hint("no name begins with a digit")
}

/// How long something between two signs is.
fn enclosed(text: &Text, at: usize, begin: &str, end: &str, what: &str) -> Result<usize, Wrong> {
    let inside = at + begin.len();
    match text.text[inside..].find(end) {
        Some(length) => Ok(begin.len() + length + end.len()),
        None => Err(endless(text, at, what, end)),
    }
}

/// How long a text in quotation marks is, which ends on its line.
fn quoted(text: &Text, at: usize, mark: char) -> Result<usize, Wrong> {
    let mut escaped = false;
    for (offset, letter) in text.text[at..].char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => break,
            _ if letter == mark => return Ok(offset + 1),
            _ => {}
        }
    }
    Err(endless(text, at, if mark == '"' { "text" } else { "letter" }, &mark.to_string()))
}

fn endless(text: &Text, at: usize, what: &str, end: &str) -> Wrong {
    Wrong::at(text.place(at), format!("this {what} has no end: expected `{end}`")).in_text(&text.text)
}

/// How long a line for the preprocessor is, with those that continue it.
fn directive(rest: &str) -> usize {
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        length += line.len();
        if !line.trim_end().ends_with('\\') {
            break;
        }
    }
    // What ends the line belongs to what follows, which is then the first of its own.
    rest[..length].trim_end_matches('\n').len()
}
