//! The text of a file, parsed.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;

use sintonia_text::source_pos::SourcePos;
use toml::Spanned;
use toml::de::DeTable;

use crate::{TomlProblem, TomlReadError, TomlTable};

/// A parsed file.
pub struct TomlDocument<'a, E> {
    source: TomlSource<'a, E>,
    table: Spanned<DeTable<'a>>,
}

impl<'a, E: TomlReadError> TomlDocument<'a, E> {
    /// Parses a text; `path` is used in errors.
    pub fn parse(text: &'a str, path: &'a Path) -> Result<TomlDocument<'a, E>, E> {
        let source = TomlSource { text, path, error: PhantomData };
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

/// The file that is read, and the type of its errors.
pub(crate) struct TomlSource<'a, E> {
    pub text: &'a str,
    pub path: &'a Path,
    error: PhantomData<fn() -> E>,
}

impl<E> Clone for TomlSource<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for TomlSource<'_, E> {}

impl<E: TomlReadError> TomlSource<'_, E> {
    pub(crate) fn error(&self, span: Range<usize>, problem: impl Into<E::Problem>) -> E {
        E::at(SourcePos::from_span(self.path, self.text, span), problem.into())
    }
}
