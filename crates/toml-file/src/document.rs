//! The text of a file, parsed.

use std::fmt;
use std::path::Path;

use toml::Spanned;
use toml::de::DeTable;

use crate::source::TomlSource;
use crate::{TomlProblem, TomlReadError, TomlTable};

/// A parsed file.
pub struct TomlDocument<'a, E> {
    source: TomlSource<'a, E>,
    table: Spanned<DeTable<'a>>,
}

impl<'a, E: TomlReadError> TomlDocument<'a, E> {
    /// Parses a text; `path` is used in errors.
    pub fn parse(text: &'a str, path: &'a Path) -> Result<TomlDocument<'a, E>, E> {
        let source = TomlSource::new(text, path);
        match DeTable::parse(text) {
            Ok(table) => Ok(TomlDocument { source, table }),
            Err(error) => Err(source.error(error.span().unwrap_or(0..0), TomlProblem::Syntax(error.message().trim().into()))),
        }
    }

    /// The table of the whole file.
    pub fn root(&self) -> TomlTable<'_, E> {
        TomlTable::new(self.source, "at the top".into(), 0..0, self.table.get_ref())
    }
}

impl<E> fmt::Debug for TomlDocument<'_, E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "TomlDocument({})", self.source.path.display())
    }
}
