//! Source files with positions.

use std::path::Path;
use std::sync::Arc;

use crate::error::Error;
use crate::file_pos::FilePos;

/// The text of a file, with the table of its lines.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// The path, as the user gave it.
    pub name: Arc<str>,
    /// Its text.
    pub text: String,
    /// The offsets of line starts.
    line_starts: Vec<usize>,
}

impl SourceFile {
    /// A file whose text is in memory.
    pub fn new(file: &str, text: impl Into<String>) -> SourceFile {
        let text = text.into();
        let line_starts =
            std::iter::once(0).chain(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1)).collect();
        SourceFile { name: file.into(), text, line_starts }
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<SourceFile, Error> {
        let bytes = std::fs::read(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
        let text =
            String::from_utf8(bytes).map_err(|wrong| Error::NotUtf8 { path: path.to_owned(), at: wrong.utf8_error().valid_up_to() })?;
        Ok(SourceFile::new(&path.display().to_string(), text))
    }

    /// The position of a byte offset.
    pub fn pos_at(&self, at: usize) -> FilePos {
        let at = at.min(self.text.len());
        let line = self.line_starts.partition_point(|begin| *begin <= at).max(1);
        let before = self.text.as_bytes()[self.line_starts[line - 1]..at].iter();
        let column = before.filter(|byte| **byte & 0xC0 != 0x80).count() + 1;
        FilePos { file: self.name.clone(), line, column }
    }
}

impl Error {
    /// Adds the source line from one of these files.
    pub(crate) fn with_source_line(self, texts: &[SourceFile]) -> Error {
        match self {
            Error::Invalid(wrong) if wrong.line.is_none() => match texts.iter().find(|text| text.name == wrong.place.file) {
                Some(text) => wrong.with_source_line(&text.text).into(),
                None => Error::Invalid(wrong),
            },
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_characters_from_one() {
        let text = SourceFile::new("a", "né\nb");
        let place = |at| (text.pos_at(at).line, text.pos_at(at).column);
        assert_eq!([place(0), place(1), place(3), place(4), place(99)], [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]);
    }
}
