//! Parsing of C with tree-sitter, and syntax errors.

use std::sync::Arc;

use tree_sitter::{Language, Node, Parser, Tree};

use crate::error::SourceDiagnostic;
use crate::file_pos::FilePos;
use crate::source_file::SourceFile;
use crate::syntax_error;

/// Larger files are not parsed.
const MAX_SOURCE_BYTES: usize = 16 << 20;

/// The maximum number of header macros removed from a text.
const MAX_REMOVED_MACROS: usize = 16;

fn language() -> Language {
    tree_sitter_c::LANGUAGE.into()
}

/// Keywords that do not matter for a model and that the grammar does not accept everywhere.
const IGNORED_KEYWORDS: [&str; 4] = ["_Thread_local", "__thread", "_Noreturn", "__extension__"];

/// The text with ignored keywords blanked; offsets stay the same.
pub(super) fn blank_ignored_keywords(text: &str) -> String {
    IGNORED_KEYWORDS.iter().fold(text.to_owned(), |text, word| blank_word(&text, word))
}

/// The text with a word blanked.
fn blank_word(text: &str, word: &str) -> String {
    let mut text = text.to_owned();
    let mut from = 0;
    while let Some(at) = text[from..].find(word).map(|at| at + from) {
        let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
        let end = at + word.len();
        if !is_part(text[..at].chars().next_back()) && !is_part(text[end..].chars().next()) {
            text.replace_range(at..end, &" ".repeat(word.len()));
        }
        from = end;
    }
    text
}

/// The text and its tree. A word that can only be a macro of a header that was not read, such as `RESTRICT`, is blanked if it causes an
/// error: type qualifiers do not matter for a model.
pub(super) fn parse_tolerant(text: &str) -> Option<(String, Tree)> {
    let mut text = blank_ignored_keywords(text);
    let mut found = parse_tree(&text)?;
    for _ in 0..MAX_REMOVED_MACROS {
        let Some(word) = syntax_error::first_error_node(found.root_node()).and_then(|node| macro_like_word_before(node, &text)) else {
            break;
        };
        let shorter = blank_word(&text, &word);
        let next = parse_tree(&shorter)?;
        let place = |tree: &Tree| syntax_error::first_error_node(tree.root_node()).map_or(usize::MAX, |node| node.start_byte());
        if place(&next) <= place(&found) {
            break;
        }
        (text, found) = (shorter, next);
    }
    Some((text, found))
}

/// The word in capitals directly before a node.
fn macro_like_word_before(node: Node, text: &str) -> Option<String> {
    let before = text.get(..node.start_byte())?.trim_end();
    let word = before.rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
    let is_shouted = word.len() > 1 && word.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_');
    is_shouted.then(|| word.to_owned())
}

/// The tree of a text, with or without errors.
pub(super) fn parse_tree(text: &str) -> Option<Tree> {
    if text.len() > MAX_SOURCE_BYTES {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&language()).expect("the grammar is of this version");
    parser.parse(text, None)
}

/// The position of a node.
pub(super) fn node_pos(node: Node, text: &str, file: &Arc<str>) -> FilePos {
    let start = node.start_position();
    let line_start = node.start_byte().saturating_sub(start.column);
    let column = text.get(line_start..node.start_byte()).map_or(start.column, |before| before.chars().count());
    FilePos { file: file.clone(), line: start.row + 1, column: column + 1 }
}

/// The first syntax error.
pub(super) fn first_error(tree: &Tree, text: &str, file: &Arc<str>) -> Option<SourceDiagnostic> {
    let node = syntax_error::first_error_node(tree.root_node())?;
    let wrong = syntax_error::describe_error(node, &language(), &SourceFile::new(file, text));
    Some(match macro_like_word_before(node, text) {
        Some(word) => {
            wrong.with_hint(format!("`{word}` looks like a macro of a header that was not read: only quoted headers next to the file are"))
        }
        None => wrong.with_hint(format!("`mpicc -fsyntax-only {file}` explains it")),
    })
}
