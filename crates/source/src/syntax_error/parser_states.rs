//! Syntax errors described by the states of the parser.
//!
//! Known are the parser state after each token it could place, and the tokens that are valid in that state.

use std::collections::BTreeSet;

use tree_sitter::{Language, Node};

use crate::error::SourceDiagnostic;
use crate::source_file::SourceFile;

/// How many alternatives are listed.
const MAX_EXPECTED: usize = 4;

/// Integer literals in the grammars.
const NUMBERS: [&str; 2] = ["decimal_integer_literal", "number_literal"];

/// Describes the error and what is expected there.
pub(crate) fn describe(node: Node<'_>, language: &Language, text: &SourceFile) -> SourceDiagnostic {
    if node.is_missing() {
        let at = end_of_previous_token(&text.text, node.start_byte());
        return SourceDiagnostic::new(text.pos_at(at), format!("expected {}", symbol_text(node.kind()))).with_source_line(&text.text);
    }
    // Most of an error node is correct by itself: the error is the token behind the last one that the parser could place. If that token
    // would be valid, it is the last placed token itself.
    let (first, placed) = error_leaves(node);
    let behind = placed.map(|leaf| (leaf, start_of_next_token(&text.text, leaf.end_byte())));
    let wrong_behind = behind.and_then(|(leaf, at)| unexpected_token(text, at, leaf.next_parse_state(), language));
    let itself = placed.unwrap_or(first);
    let state = previous_leaf(itself).map_or(0, |leaf| leaf.next_parse_state());
    let wrong_itself = || unexpected_token(text, itself.start_byte(), state, language);
    wrong_behind.or_else(wrong_itself).or_else(|| unclosed_bracket(node, text)).unwrap_or_else(|| {
        let found = found(text, itself.start_byte());
        SourceDiagnostic::new(text.pos_at(itself.start_byte()), format!("unexpected {found}")).with_source_line(&text.text)
    })
}

/// A bracket that is closed by a wrong one, or never, in the error node or behind it.
fn unclosed_bracket(wrong: Node<'_>, text: &SourceFile) -> Option<SourceDiagnostic> {
    const PAIRS: [(&str, &str); 3] = [("(", ")"), ("[", "]"), ("{", "}")];
    let mut open: Vec<(Node<'_>, &str)> = Vec::new();
    let tell = |(opening, closing): (Node<'_>, &str), at: usize| {
        let opened = text.pos_at(opening.start_byte());
        let problem = format!("expected `{closing}` for the `{}` of line {}, column {}", opening.kind(), opened.line, opened.column);
        SourceDiagnostic::new(text.pos_at(at), format!("{problem}, found {}", found(text, at))).with_source_line(&text.text)
    };
    let mut root = wrong;
    while let Some(parent) = root.parent() {
        root = parent;
    }
    for node in leaves_of(root).skip_while(|leaf| leaf.start_byte() < wrong.start_byte()) {
        if let Some((_, closing)) = PAIRS.iter().find(|(opening, _)| node.kind() == *opening) {
            open.push((node, closing));
        } else if PAIRS.iter().any(|(_, closing)| node.kind() == *closing) {
            match open.pop() {
                Some(last) if last.1 != node.kind() => return Some(tell(last, node.start_byte())),
                Some(_) => {}
                None => return None,
            }
        }
    }
    open.pop().map(|last| tell(last, text.text.trim_end().len()))
}

/// The error at an offset in a parser state; `None` if the token there is valid, or the state is unknown.
fn unexpected_token(text: &SourceFile, at: usize, state: u16, language: &Language) -> Option<SourceDiagnostic> {
    let mut symbols = language.lookahead_iterator(state).filter(|_| state != 0)?;
    let names: BTreeSet<&str> =
        symbols.iter_names().filter(|name| *name != "ERROR" && *name != "end" && !name.contains("comment")).collect();
    let word = first_word(text.text.get(at..).unwrap_or_default());
    let fits = match word.chars().next() {
        None => false,
        Some(letter) if letter.is_alphabetic() || letter == '_' => names.contains(word) || names.contains("identifier"),
        Some(digit) if digit.is_numeric() => NUMBERS.iter().any(|name| names.contains(name)),
        Some(_) => names.iter().any(|name| name.starts_with(word)),
    };
    if names.is_empty() || fits {
        return None;
    }
    let problem = format!("expected {}, found {}", expected_symbols(&names)?, found(text, at));
    Some(SourceDiagnostic::new(text.pos_at(at), problem).with_source_line(&text.text))
}

fn found(text: &SourceFile, at: usize) -> String {
    match first_word(text.text.get(at..).unwrap_or_default()) {
        "" => "the end of the file".to_owned(),
        word => format!("`{word}`"),
    }
}

/// The last token before a node.
fn previous_leaf(node: Node<'_>) -> Option<Node<'_>> {
    let mut node = node;
    while node.prev_sibling().is_none() {
        node = node.parent()?;
    }
    let mut leaf = node.prev_sibling()?;
    while let Some(child) = leaf.child_count().checked_sub(1).and_then(|last| leaf.child(last)) {
        leaf = child;
    }
    Some(leaf)
}

/// The first word of a text, or its first character.
fn first_word(text: &str) -> &str {
    let belongs = |letter: char| letter.is_alphanumeric() || letter == '_';
    let length = text.find(|letter| !belongs(letter)).unwrap_or(text.len());
    let length = if length == 0 { text.chars().next().map_or(0, char::len_utf8) } else { length };
    &text[..length.min(text.len())]
}

/// The offset of the next token.
fn start_of_next_token(text: &str, at: usize) -> usize {
    text.get(at..).map_or(at, |rest| at + (rest.len() - rest.trim_start().len()))
}

/// The offset behind the last token before an offset, where a missing token belongs.
fn end_of_previous_token(text: &str, at: usize) -> usize {
    text.get(..at).map_or(at, |before| before.trim_end().len().max(1) - usize::from(before.trim().is_empty()))
}

/// The first leaf of an error node, and the last one that the parser could place.
fn error_leaves(node: Node<'_>) -> (Node<'_>, Option<Node<'_>>) {
    let placed = leaves_of(node).filter(|leaf| leaf.next_parse_state() != 0 && !leaf.is_error()).last();
    (leaves_of(node).next().unwrap_or(node), placed)
}

/// The leaves of a node, in order.
pub(super) fn leaves_of(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut cursor = node.walk();
    let mut more = true;
    std::iter::from_fn(move || {
        if !more {
            return None;
        }
        while cursor.goto_first_child() {}
        let leaf = cursor.node();
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                more = false;
                break;
            }
        }
        Some(leaf)
    })
}

/// The valid continuations, as text; `None` if they have names only in the grammar.
fn expected_symbols(names: &BTreeSet<&str>) -> Option<String> {
    let has = |name: &str| names.contains(name);
    let mut list = Vec::new();
    if has("while") {
        list.push("a statement".to_owned());
    } else if NUMBERS.iter().any(|name| has(name)) {
        list.push("an expression".to_owned());
    }
    if has("*") && has("/") {
        list.push("an operator".to_owned());
    }
    let signs = [";", ")", ",", "{", "}", "]", ":", "=", "->"].into_iter().filter(|sign| has(sign));
    list.extend(signs.map(symbol_text));
    if list.is_empty() {
        list.extend(names.iter().filter(|name| !name.contains('_')).map(|name| symbol_text(name)));
    }
    list.truncate(MAX_EXPECTED);
    (!list.is_empty()).then(|| list.join(" or "))
}

fn symbol_text(name: &str) -> String {
    match name {
        "identifier" => "a name".to_owned(),
        _ => format!("`{name}`"),
    }
}
