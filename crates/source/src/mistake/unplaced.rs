//! What cannot stand where it does, by the states of the parser.
//!
//! What is known is the state of the parser after each word it could place, and what could have followed.

use std::collections::BTreeSet;

use tree_sitter::{Language, Node};

use crate::error::Wrong;
use crate::file::Text;

/// How many things that could stand somewhere are named.
const MOST_EXPECTED: usize = 4;

/// What grammars call whole numbers.
const NUMBERS: [&str; 2] = ["decimal_integer_literal", "number_literal"];

/// What is wrong there, and what could stand there instead.
pub(super) fn described(node: Node<'_>, language: &Language, text: &Text) -> Wrong {
    if node.is_missing() {
        let at = before(&text.text, node.start_byte());
        return Wrong::at(text.place(at), format!("expected {}", shown(node.kind()))).in_text(&text.text);
    }
    // Most of a wrong part is right by itself: what does not fit is what follows its last word that the parser could place. Where even that
    // could follow, it is the word itself.
    let (first, placed) = leaves(node);
    let behind = placed.map(|leaf| (leaf, after(&text.text, leaf.end_byte())));
    let wrong_behind = behind.and_then(|(leaf, at)| unfit(text, at, leaf.next_parse_state(), language));
    let itself = placed.unwrap_or(first);
    let state = previous_leaf(itself).map_or(0, |leaf| leaf.next_parse_state());
    let wrong_itself = || unfit(text, itself.start_byte(), state, language);
    wrong_behind.or_else(wrong_itself).or_else(|| unclosed(node, text)).unwrap_or_else(|| {
        let found = found(text, itself.start_byte());
        Wrong::at(text.place(itself.start_byte()), format!("{found} cannot stand here")).in_text(&text.text)
    })
}

/// A parenthesis that is closed by another one, or never, in what is wrong and what is behind it.
fn unclosed(wrong: Node<'_>, text: &Text) -> Option<Wrong> {
    const PAIRS: [(&str, &str); 3] = [("(", ")"), ("[", "]"), ("{", "}")];
    let mut open: Vec<(Node<'_>, &str)> = Vec::new();
    let tell = |(opening, closing): (Node<'_>, &str), at: usize| {
        let opened = text.place(opening.start_byte());
        let problem = format!("expected `{closing}` for the `{}` of line {}, column {}", opening.kind(), opened.line, opened.column);
        Wrong::at(text.place(at), format!("{problem}, found {}", found(text, at))).in_text(&text.text)
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

/// What is wrong at a place where the parser is in a state; nothing if what stands there could, or the state says nothing.
fn unfit(text: &Text, at: usize, state: u16, language: &Language) -> Option<Wrong> {
    let mut symbols = language.lookahead_iterator(state).filter(|_| state != 0)?;
    let names: BTreeSet<&str> =
        symbols.iter_names().filter(|name| *name != "ERROR" && *name != "end" && !name.contains("comment")).collect();
    let word = word(text.text.get(at..).unwrap_or_default());
    let fits = match word.chars().next() {
        None => false,
        Some(letter) if letter.is_alphabetic() || letter == '_' => names.contains(word) || names.contains("identifier"),
        Some(digit) if digit.is_numeric() => NUMBERS.iter().any(|name| names.contains(name)),
        Some(_) => names.iter().any(|name| name.starts_with(word)),
    };
    if names.is_empty() || fits {
        return None;
    }
    let problem = format!("expected {}, found {}", expected(&names), found(text, at));
    Some(Wrong::at(text.place(at), problem).in_text(&text.text))
}

fn found(text: &Text, at: usize) -> String {
    match word(text.text.get(at..).unwrap_or_default()) {
        "" => "the end of the file".to_owned(),
        word => format!("`{word}`"),
    }
}

/// The last word before a node.
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

/// The first word of a text, or its first sign.
fn word(text: &str) -> &str {
    let belongs = |letter: char| letter.is_alphanumeric() || letter == '_';
    let length = text.find(|letter| !belongs(letter)).unwrap_or(text.len());
    let length = if length == 0 { text.chars().next().map_or(0, char::len_utf8) } else { length };
    &text[..length.min(text.len())]
}

/// Where the next word begins.
fn after(text: &str, at: usize) -> usize {
    text.get(at..).map_or(at, |rest| at + (rest.len() - rest.trim_start().len()))
}

/// The place right behind the last word before an offset, where something missing belongs.
fn before(text: &str, at: usize) -> usize {
    text.get(..at).map_or(at, |before| before.trim_end().len().max(1) - usize::from(before.trim().is_empty()))
}

/// The first word of a wrong part, and the last of those that the parser could place.
fn leaves(node: Node<'_>) -> (Node<'_>, Option<Node<'_>>) {
    let placed = leaves_of(node).filter(|leaf| leaf.next_parse_state() != 0 && !leaf.is_error()).last();
    (leaves_of(node).next().unwrap_or(node), placed)
}

/// The words of a part, in their order.
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

/// What the parser could go on with, in the words of people.
fn expected(names: &BTreeSet<&str>) -> String {
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
    list.extend(signs.map(shown));
    if list.is_empty() {
        list.extend(names.iter().filter(|name| !name.starts_with('_') && !name.contains("_repeat")).map(|name| shown(name)));
    }
    list.truncate(MOST_EXPECTED);
    list.join(" or ")
}

fn shown(name: &str) -> String {
    match name {
        "identifier" => "a name".to_owned(),
        _ => format!("`{name}`"),
    }
}
