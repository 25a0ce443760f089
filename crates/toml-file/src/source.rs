//! The file that is read; tables and values report their errors through it.

use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;

use sintonia_text::source_pos::SourcePos;

use crate::TomlReadError;

/// The file that is read, and the type of its errors.
pub(crate) struct TomlSource<'a, E> {
    pub text: &'a str,
    pub path: &'a Path,
    error: PhantomData<fn() -> E>,
}

impl<'a, E> TomlSource<'a, E> {
    pub(crate) fn new(text: &'a str, path: &'a Path) -> TomlSource<'a, E> {
        TomlSource { text, path, error: PhantomData }
    }
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
