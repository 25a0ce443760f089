//! Syntax errors from the tree of the parser: where they are, and what could have followed there ([`parser_states`]).
//!
//! The message names the compiler to run for an explanation of the mistake.

mod parser_states;

pub(crate) use parser_states::describe as describe_error;

use tree_sitter::Node;

use crate::error::SourceDiagnostic;
use crate::source_file::SourceFile;

/// Keywords of Java that start a statement, or continue one.
const STATEMENT_KEYWORDS: [&str; 15] =
    ["if", "else", "for", "while", "do", "switch", "case", "return", "break", "continue", "default", "try", "catch", "finally", "throw"];

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

/// A keyword of Java where only a name is allowed; the grammar accepts it as a name.
pub(crate) fn misplaced_keyword(root: Node<'_>, text: &SourceFile) -> Option<SourceDiagnostic> {
    let word = |leaf: Node<'_>| text.text.get(leaf.byte_range()).unwrap_or_default();
    let is_misplaced =
        |leaf: &Node<'_>| matches!(leaf.kind(), "identifier" | "type_identifier") && STATEMENT_KEYWORDS.contains(&word(*leaf));
    let leaf = parser_states::leaves_of(root).find(is_misplaced)?;
    let problem = format!("expected a name, found `{}`", word(leaf));
    Some(SourceDiagnostic::new(text.pos_at(leaf.start_byte()), problem).with_source_line(&text.text))
}
