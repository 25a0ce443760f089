//! Finds an unclosed brace by the indentation.

use super::lexer::Lexeme;
use crate::source_file::SourceFile;

/// The closing bracket of an opening one.
pub(super) fn closing(open: &str) -> &'static str {
    match open {
        "(" => ")",
        "[" => "]",
        _ => "}",
    }
}

/// The first `{` whose `}` is less indented than its own line: probably that `}` was meant for another one.
pub(super) fn suspect_brace<'t>(words: &[Lexeme<'t>], text: &SourceFile) -> Option<Lexeme<'t>> {
    let mut open: Vec<(Lexeme<'t>, usize)> = Vec::new();
    let mut indented = 0;
    for word in words {
        if word.is_first_on_line {
            indented = text.pos_at(word.offset).column;
        }
        if word.is("{") {
            open.push((*word, indented));
        } else if word.is("}") {
            let (opened, column) = open.pop()?;
            if word.is_first_on_line && indented < column {
                return Some(opened);
            }
        }
    }
    None
}
