//! What is wrong with the syntax of a program, said so that a person can mend it.
//!
//! The parser goes on after a mistake, so its tree has the mistake somewhere and says little about it. The mistakes that people usually make
//! are looked for by going through the words of the text ([`walk`]); for all others, the states of the parser tell what could have
//! followed where ([`unplaced`]).

mod brackets;
mod declaration;
mod run;
mod unplaced;
mod walk;
mod words;

use tree_sitter::{Language, Node};

use crate::error::Wrong;
use crate::file::Text;
use words::Tongue;

/// The first node that is wrong, or missing.
pub(crate) fn first(root: Node<'_>) -> Option<Node<'_>> {
    if !root.has_error() {
        return None;
    }
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if node.is_missing() || node.is_error() {
            return Some(node);
        }
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Some(root);
            }
        }
    }
}

/// What is wrong there, and what could stand there instead.
pub(crate) fn described(node: Node<'_>, language: &Language, text: &Text) -> Wrong {
    // What stands before the routine or declaration that the parser could not read was right.
    let right = text.place(item_around(node).start_byte());
    let usual = walk::mistake(text, Tongue::of(language));
    usual.filter(|wrong| wrong.place >= right).unwrap_or_else(|| unplaced::described(node, language, text))
}

/// What a node is part of: a routine, a declaration, or what else stands in a file by itself.
fn item_around(node: Node<'_>) -> Node<'_> {
    const ITEMS: [&str; 4] = ["method_declaration", "constructor_declaration", "field_declaration", "function_definition"];
    let mut item = node;
    while let Some(around) = item.parent().filter(|around| around.parent().is_some() && !ITEMS.contains(&item.kind())) {
        item = around;
    }
    item
}

/// A word that means something in the language but stands where only a name can: the grammars take it for one.
pub(crate) fn misplaced_word(root: Node<'_>, language: &Language, text: &Text) -> Option<Wrong> {
    let tongue = Tongue::of(language);
    let is_misplaced = |leaf: &Node<'_>| {
        let word = text.text.get(leaf.byte_range()).unwrap_or_default();
        matches!(leaf.kind(), "identifier" | "type_identifier") && tongue.begins_statement(word)
    };
    let leaf = unplaced::leaves_of(root).find(is_misplaced)?;
    let unexpected = || {
        let word = text.text.get(leaf.byte_range()).unwrap_or_default();
        Wrong::at(text.place(leaf.start_byte()), format!("expected a name, found `{word}`")).in_text(&text.text)
    };
    Some(walk::mistake(text, tongue).unwrap_or_else(unexpected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_are_right_have_no_mistakes() {
        let java = [include_str!("../../../../apps/primes/Primes.java"), include_str!("../../../../apps/pi/Pi.java")];
        let in_c = [include_str!("../../../../apps/matmul.c"), include_str!("../../../../apps/stencil.c")];
        let texts = java.map(|text| (text, Tongue::Java)).into_iter().chain(in_c.map(|text| (text, Tongue::C)));
        for (text, tongue) in texts {
            assert_eq!(walk::mistake(&Text::new("a", text), tongue), None);
        }
    }
}
