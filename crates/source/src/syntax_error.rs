//! Helpful messages for syntax errors.
//!
//! The parser recovers from errors, so its tree contains the error somewhere but says little about it. Common errors are found by a scan
//! over the tokens ([`scanner`]); for all others, the parser states tell what could have followed ([`parser_states`]).

mod brackets;
mod declaration;
mod lexer;
mod parser_states;
mod scanner;
mod token_run;

use tree_sitter::{Language, Node};

use crate::error::SourceDiagnostic;
use crate::source_file::SourceFile;
use lexer::SyntaxLanguage;

/// The first error node or missing node.
pub(crate) fn first_error_node(root: Node<'_>) -> Option<Node<'_>> {
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

/// Describes the error and what is expected there.
pub(crate) fn describe_error(node: Node<'_>, language: &Language, text: &SourceFile) -> SourceDiagnostic {
    // Everything before the item that the parser could not parse was correct.
    let right = text.pos_at(enclosing_item(node).start_byte());
    let usual = scanner::find_common_error(text, SyntaxLanguage::from_grammar(language));
    usual.filter(|wrong| wrong.place >= right).unwrap_or_else(|| parser_states::describe(node, language, text))
}

/// The routine or declaration around a node.
fn enclosing_item(node: Node<'_>) -> Node<'_> {
    const ITEMS: [&str; 4] = ["method_declaration", "constructor_declaration", "field_declaration", "function_definition"];
    let mut item = node;
    while let Some(around) = item.parent().filter(|around| around.parent().is_some() && !ITEMS.contains(&item.kind())) {
        item = around;
    }
    item
}

/// A keyword where only a name is allowed; the grammars accept it as a name.
pub(crate) fn misplaced_keyword(root: Node<'_>, language: &Language, text: &SourceFile) -> Option<SourceDiagnostic> {
    let tongue = SyntaxLanguage::from_grammar(language);
    let is_misplaced = |leaf: &Node<'_>| {
        let word = text.text.get(leaf.byte_range()).unwrap_or_default();
        matches!(leaf.kind(), "identifier" | "type_identifier") && tongue.begins_statement(word)
    };
    let leaf = parser_states::leaves_of(root).find(is_misplaced)?;
    let unexpected = || {
        let word = text.text.get(leaf.byte_range()).unwrap_or_default();
        SourceDiagnostic::new(text.pos_at(leaf.start_byte()), format!("expected a name, found `{word}`")).with_source_line(&text.text)
    };
    Some(scanner::find_common_error(text, tongue).unwrap_or_else(unexpected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_are_right_have_no_mistakes() {
        let java = [include_str!("../../../apps/primes/Primes.java"), include_str!("../../../apps/pi/Pi.java")];
        let in_c = [include_str!("../../../apps/matmul.c"), include_str!("../../../apps/stencil.c")];
        let texts = java.map(|text| (text, SyntaxLanguage::Java)).into_iter().chain(in_c.map(|text| (text, SyntaxLanguage::C)));
        for (text, tongue) in texts {
            assert_eq!(scanner::find_common_error(&SourceFile::new("a", text), tongue), None);
        }
    }
}
