//! Files of the user as text with places.

use std::path::Path;
use std::sync::Arc;

use crate::error::Error;
use crate::place::Place;

/// The text of a file, and what is needed to say where something is in it.
#[derive(Debug, Clone)]
pub struct Text {
    /// The file, as the user named it.
    pub file: Arc<str>,
    /// What it says.
    pub text: String,
    /// The offsets at which lines begin.
    lines: Vec<usize>,
}

impl Text {
    /// A text that is at hand.
    pub fn new(file: &str, text: impl Into<String>) -> Text {
        let text = text.into();
        let lines = std::iter::once(0).chain(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1)).collect();
        Text { file: file.into(), text, lines }
    }

    /// The text of a file.
    pub fn read(path: &Path) -> Result<Text, Error> {
        let bytes = std::fs::read(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
        let text =
            String::from_utf8(bytes).map_err(|wrong| Error::NotText { path: path.to_owned(), at: wrong.utf8_error().valid_up_to() })?;
        Ok(Text::new(&path.display().to_string(), text))
    }

    /// Where the byte with this offset is.
    pub fn place(&self, at: usize) -> Place {
        let at = at.min(self.text.len());
        let line = self.lines.partition_point(|begin| *begin <= at).max(1);
        let before = self.text.as_bytes()[self.lines[line - 1]..at].iter();
        let column = before.filter(|byte| **byte & 0xC0 != 0x80).count() + 1;
        Place { file: self.file.clone(), line, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_characters_from_one() {
        let text = Text::new("a", "né\nb");
        let place = |at| (text.place(at).line, text.place(at).column);
        assert_eq!([place(0), place(1), place(3), place(4), place(99)], [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]);
    }
}
