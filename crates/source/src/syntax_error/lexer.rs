//! The lexer for Java and C.

use tree_sitter::Language;

use crate::error::SourceDiagnostic;
use crate::source_file::SourceFile;

/// The language of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyntaxLanguage {
    Java,
    C,
}

/// Keywords that start a statement, in both languages.
pub(super) const STATEMENT_KEYWORDS: [&str; 11] =
    ["if", "else", "for", "while", "do", "switch", "case", "return", "break", "continue", "default"];
/// Keywords that start a statement only in Java.
const JAVA_STATEMENT_KEYWORDS: [&str; 4] = ["try", "catch", "finally", "throw"];
/// Modifiers before the type of a declaration.
pub(super) const JAVA_MODIFIERS: [&str; 11] =
    ["public", "private", "protected", "static", "final", "abstract", "native", "synchronized", "transient", "volatile", "strictfp"];
const C_MODIFIERS: [&str; 8] = ["static", "extern", "inline", "const", "volatile", "register", "restrict", "typedef"];
const JAVA_TYPE_KEYWORDS: [&str; 9] = ["void", "boolean", "byte", "short", "char", "int", "long", "float", "double"];
const C_TYPE_KEYWORDS: [&str; 12] =
    ["void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "struct", "union", "enum"];
const JAVA_OTHER_KEYWORDS: [&str; 11] =
    ["class", "interface", "enum", "extends", "implements", "import", "package", "instanceof", "new", "throws", "assert"];
const C_OTHER_KEYWORDS: [&str; 2] = ["goto", "sizeof"];

impl SyntaxLanguage {
    pub(super) fn from_grammar(language: &Language) -> SyntaxLanguage {
        if language.id_for_node_kind("class_declaration", true) == 0 { SyntaxLanguage::C } else { SyntaxLanguage::Java }
    }

    pub(super) fn begins_statement(self, word: &str) -> bool {
        STATEMENT_KEYWORDS.contains(&word) || self == SyntaxLanguage::Java && JAVA_STATEMENT_KEYWORDS.contains(&word)
    }

    pub(super) fn is_modifier(self, word: &str) -> bool {
        if self == SyntaxLanguage::Java { JAVA_MODIFIERS.contains(&word) } else { C_MODIFIERS.contains(&word) }
    }

    pub(super) fn is_type(self, word: &str) -> bool {
        if self == SyntaxLanguage::Java { JAVA_TYPE_KEYWORDS.contains(&word) } else { C_TYPE_KEYWORDS.contains(&word) }
    }

    fn is_reserved(self, word: &str) -> bool {
        let other = if self == SyntaxLanguage::Java { JAVA_OTHER_KEYWORDS.contains(&word) } else { C_OTHER_KEYWORDS.contains(&word) };
        other || self.begins_statement(word) || self.is_modifier(word) || self.is_type(word)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LexemeKind {
    Name,
    Keyword,
    Number,
    /// A string or character literal.
    Quoted,
    Punct,
    End,
}

/// A token and its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lexeme<'t> {
    pub(super) text: &'t str,
    pub(super) kind: LexemeKind,
    pub(super) offset: usize,
    pub(super) is_first_on_line: bool,
}

impl Lexeme<'_> {
    pub(super) fn end(&self) -> usize {
        self.offset + self.text.len()
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.text == text && self.kind != LexemeKind::Quoted
    }

    pub(super) fn is_one_of(&self, texts: &[&str]) -> bool {
        self.kind != LexemeKind::Quoted && texts.contains(&self.text)
    }

    /// Whether an operand may end with it.
    pub(super) fn ends_operand(&self) -> bool {
        matches!(self.kind, LexemeKind::Name | LexemeKind::Number | LexemeKind::Quoted) || self.is_one_of(&[")", "]"])
    }

    pub(super) fn describe(&self) -> String {
        if self.kind == LexemeKind::End { "the end of the file".to_owned() } else { format!("`{}`", self.text) }
    }
}

/// Punctuation of more than one character, the longest first.
const MULTI_CHAR_PUNCTUATION: [&str; 27] = [
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

/// All tokens of a text, ending with the end; an error for an unterminated literal or comment.
pub(super) fn tokenize(text: &SourceFile, tongue: SyntaxLanguage) -> Result<Vec<Lexeme<'_>>, SourceDiagnostic> {
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
            at += delimited_length(text, at, "/*", "*/", "comment")?;
        } else if letter == '#' && first && tongue == SyntaxLanguage::C {
            at += directive_length(rest);
        } else {
            let (length, kind) = next_token(text, at, letter, tongue)?;
            words.push(Lexeme { text: &rest[..length], kind, offset: at, is_first_on_line: first });
            first = false;
            at += length;
        }
    }
    words.push(Lexeme { text: "", kind: LexemeKind::End, offset: source.trim_end().len(), is_first_on_line: true });
    Ok(words)
}

fn next_token(text: &SourceFile, at: usize, letter: char, tongue: SyntaxLanguage) -> Result<(usize, LexemeKind), SourceDiagnostic> {
    let rest = &text.text[at..];
    let belongs = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    let until = |other: &dyn Fn(char) -> bool| rest.find(|letter| !other(letter)).unwrap_or(rest.len());
    if letter.is_ascii_digit() {
        let length = until(&|letter| belongs(letter) || letter == '.');
        return if is_number(&rest[..length]) { Ok((length, LexemeKind::Number)) } else { Err(invalid_number(text, at, &rest[..length])) };
    }
    if belongs(letter) {
        let length = until(&belongs);
        return Ok((length, if tongue.is_reserved(&rest[..length]) { LexemeKind::Keyword } else { LexemeKind::Name }));
    }
    if rest.starts_with("\"\"\"") && tongue == SyntaxLanguage::Java {
        return Ok((delimited_length(text, at, "\"\"\"", "\"\"\"", "string literal")?, LexemeKind::Quoted));
    }
    if letter == '"' || letter == '\'' {
        return Ok((quoted_length(text, at, letter)?, LexemeKind::Quoted));
    }
    let sign = MULTI_CHAR_PUNCTUATION.iter().find(|sign| rest.starts_with(**sign)).map_or(letter.len_utf8(), |sign| sign.len());
    Ok((sign, LexemeKind::Punct))
}

/// Whether a word that starts with a digit may be a number. What follows the sign of an exponent is another token.
fn is_number(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let of_base = ["0x", "0b", "0o"].iter().any(|prefix| lower.starts_with(prefix));
    of_base || lower.chars().all(|letter| letter.is_ascii_digit() || "._eulfdij".contains(letter))
}

fn invalid_number(text: &SourceFile, at: usize, word: &str) -> SourceDiagnostic {
    let wrong = SourceDiagnostic::new(text.pos_at(at), format!("expected a number or a name, found `{word}`")).with_source_line(&text.text);
    wrong.with_hint("names cannot start with a digit")
}

/// The length of something between two delimiters.
fn delimited_length(text: &SourceFile, at: usize, begin: &str, end: &str, what: &str) -> Result<usize, SourceDiagnostic> {
    let inside = at + begin.len();
    match text.text[inside..].find(end) {
        Some(length) => Ok(begin.len() + length + end.len()),
        None => Err(unterminated(text, at, what, end)),
    }
}

/// The length of a quoted literal, which ends on its line.
fn quoted_length(text: &SourceFile, at: usize, mark: char) -> Result<usize, SourceDiagnostic> {
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
    Err(unterminated(text, at, if mark == '"' { "string literal" } else { "character literal" }, &mark.to_string()))
}

fn unterminated(text: &SourceFile, at: usize, what: &str, end: &str) -> SourceDiagnostic {
    SourceDiagnostic::new(text.pos_at(at), format!("unterminated {what}: expected `{end}`")).with_source_line(&text.text)
}

/// The length of a directive with its continuation lines.
fn directive_length(rest: &str) -> usize {
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        length += line.len();
        if !line.trim_end().ends_with('\\') {
            break;
        }
    }
    // The newline belongs to what follows, which is then first on its line.
    rest[..length].trim_end_matches('\n').len()
}
