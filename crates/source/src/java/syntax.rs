//! Parsing of Java with tree-sitter, and syntax errors.

use tree_sitter::{Language, Parser, Tree};

use crate::error::SourceDiagnostic;
use crate::source_file::SourceFile;
use crate::syntax_error;

/// The tree of a file without syntax errors.
pub(super) fn parse_tree(text: &SourceFile) -> Result<Tree, SourceDiagnostic> {
    let language: Language = tree_sitter_java::LANGUAGE.into();
    let whole = |problem: &str| SourceDiagnostic::new(text.pos_at(0), problem.to_owned());
    let mut parser = Parser::new();
    parser.set_language(&language).map_err(|_| whole("the Java grammar does not match the parser version"))?;
    let tree = parser.parse(&text.text, None).ok_or_else(|| whole("the file could not be parsed"))?;
    let wrong = match syntax_error::first_error_node(tree.root_node()) {
        Some(node) => Some(syntax_error::describe_error(node, &language, text)),
        None => syntax_error::misplaced_keyword(tree.root_node(), text),
    };
    wrong.map_or(Ok(tree), |wrong| Err(wrong.with_hint(format!("`javac {}` explains it", text.name))))
}
