//! What is wrong with a text that is no C, said so that a person can mend it.

use std::sync::Arc;

use tree_sitter::{Language, Node, Parser, Tree};

use crate::error::Wrong;
use crate::file::Text;
use crate::mistake;
use crate::place::Place;

/// The largest source that is read: beyond, nobody wrote it.
const MOST_BYTES: usize = 16 << 20;

/// How many macros of headers are left out of a text.
const MOST_MACROS: usize = 16;

fn language() -> Language {
    tree_sitter_c::LANGUAGE.into()
}

/// Words of C that change nothing for a model, and that the grammar does not know everywhere.
const WITHOUT_MEANING: [&str; 4] = ["_Thread_local", "__thread", "_Noreturn", "__extension__"];

/// The text with blanks for words that have no meaning here; everything keeps its place.
pub fn readable(text: &str) -> String {
    WITHOUT_MEANING.iter().fold(text.to_owned(), |text, word| without(&text, word))
}

/// The text with blanks for a word.
fn without(text: &str, word: &str) -> String {
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

/// The text and its tree. A word that can only be a macro of a header that was not read, such as `RESTRICT`, is left out where it stands in the
/// way: what qualifies a type changes nothing for a model.
pub fn understood(text: &str) -> Option<(String, Tree)> {
    let mut text = readable(text);
    let mut found = tree(&text)?;
    for _ in 0..MOST_MACROS {
        let Some(word) = mistake::first(found.root_node()).and_then(|node| shouted_before(node, &text)) else { break };
        let shorter = without(&text, &word);
        let next = tree(&shorter)?;
        let place = |tree: &Tree| mistake::first(tree.root_node()).map_or(usize::MAX, |node| node.start_byte());
        if place(&next) <= place(&found) {
            break;
        }
        (text, found) = (shorter, next);
    }
    Some((text, found))
}

/// The word in capital letters right before a node.
fn shouted_before(node: Node, text: &str) -> Option<String> {
    let before = text.get(..node.start_byte())?.trim_end();
    let word = before.rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
    let is_shouted = word.len() > 1 && word.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_');
    is_shouted.then(|| word.to_owned())
}

/// The tree of a text, whether or not it is right.
pub fn tree(text: &str) -> Option<Tree> {
    if text.len() > MOST_BYTES {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&language()).expect("the grammar is of this version");
    parser.parse(text, None)
}

/// The place of a node.
pub fn place_of(node: Node, text: &str, file: &Arc<str>) -> Place {
    let start = node.start_position();
    let line_start = node.start_byte().saturating_sub(start.column);
    let column = text.get(line_start..node.start_byte()).map_or(start.column, |before| before.chars().count());
    Place { file: file.clone(), line: start.row + 1, column: column + 1 }
}

/// The first thing in the tree that is no C.
pub fn first_error(tree: &Tree, text: &str, file: &Arc<str>) -> Option<Wrong> {
    let node = mistake::first(tree.root_node())?;
    let wrong = mistake::described(node, &language(), &Text::new(file, text));
    Some(match shouted_before(node, text) {
        Some(word) => wrong.hint(format!(
            "`{word}` looks like a macro of a header that was not read: only headers in quotation marks beside the file are"
        )),
        None => wrong,
    })
}
