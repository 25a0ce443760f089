//! Which brace is not closed, told by how the lines are indented.

use super::words::Word;
use crate::file::Text;

/// What closes what an opening sign opens.
pub(super) fn closing(open: &str) -> &'static str {
    match open {
        "(" => ")",
        "[" => "]",
        _ => "}",
    }
}

/// The first `{` whose `}` stands farther left than the line that it is on: probably that `}` was meant for another one.
pub(super) fn suspect<'t>(words: &[Word<'t>], text: &Text) -> Option<Word<'t>> {
    let mut open: Vec<(Word<'t>, usize)> = Vec::new();
    let mut indented = 0;
    for word in words {
        if word.first {
            indented = text.place(word.at).column;
        }
        if word.is("{") {
            open.push((*word, indented));
        } else if word.is("}") {
            let (opened, column) = open.pop()?;
            if word.first && indented < column {
                return Some(opened);
            }
        }
    }
    None
}
