//! The syntax tree of a Java file, or what is wrong with its syntax.

use tree_sitter::{Language, Parser, Tree};

use crate::error::Wrong;
use crate::file::Text;
use crate::mistake;

/// The tree of a file without any syntax error.
pub(super) fn tree(text: &Text) -> Result<Tree, Wrong> {
    let language: Language = tree_sitter_java::LANGUAGE.into();
    let whole = |problem: &str| Wrong::at(text.place(0), problem.to_owned());
    let mut parser = Parser::new();
    parser.set_language(&language).map_err(|_| whole("the grammar of Java is of another version than its parser"))?;
    let tree = parser.parse(&text.text, None).ok_or_else(|| whole("the file could not be parsed"))?;
    match mistake::first(tree.root_node()) {
        Some(node) => Err(mistake::described(node, &language, text)),
        None => mistake::misplaced_word(tree.root_node(), &language, text).map_or(Ok(tree), Err),
    }
}
