//! Syntax of variables: a name followed by fields, elements and dereferences: `grid.nx`, `work->chunk`, `file.c:table[3]`.

use crate::error::SymbolError;

/// A variable as written by the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VariablePath {
    /// The source file, if given.
    pub file: Option<String>,
    /// The name, with namespaces or module.
    pub name: String,
    /// The steps after the name.
    pub steps: Vec<PathStep>,
}

/// One step from a variable to the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathStep {
    /// A field of a struct, or of the struct pointed to.
    Field(String),
    /// An element of an array or behind a pointer, from 0.
    Element(u64),
    /// The target of a pointer.
    Dereference,
}

impl VariablePath {
    /// Parses a variable path.
    pub(crate) fn parse(text: &str) -> Result<VariablePath, SymbolError> {
        let wrong = |part: &str, what: &str| SymbolError::InvalidPath { path: text.into(), part: part.into(), what: what.into() };
        let stars = text.len() - text.trim_start_matches('*').len();
        let (file, rest) = split_file(&text[stars..]);
        let end = rest.find(['.', '[', '-']).unwrap_or(rest.len());
        let (name, mut rest) = rest.split_at(end);
        if name.is_empty() || !name.chars().all(is_name_char) {
            return Err(wrong(name, "a variable begins with a name"));
        }
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(behind) = rest.strip_prefix('[') {
                let (number, behind) = behind.split_once(']').ok_or_else(|| wrong(rest, "`]` is missing"))?;
                steps.push(PathStep::Element(number.trim().parse().map_err(|_| wrong(rest, "an element is a number from 0"))?));
                rest = behind;
            } else if let Some(behind) = rest.strip_prefix("->").or_else(|| rest.strip_prefix('.')) {
                let end = behind.find(|letter| !is_name_char(letter)).unwrap_or(behind.len());
                if end == 0 {
                    return Err(wrong(rest, "the name of a field is missing"));
                }
                steps.push(PathStep::Field(behind[..end].into()));
                rest = &behind[end..];
            } else {
                return Err(wrong(rest, "after a name comes `.field`, `->field` or `[number]`"));
            }
        }
        steps.extend(std::iter::repeat_n(PathStep::Dereference, stars));
        Ok(VariablePath { file, name: name.into(), steps })
    }
}

fn is_name_char(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | ':' | '$' | '%')
}

/// Splits `file.c:name`, but not `module::name`.
fn split_file(text: &str) -> (Option<String>, &str) {
    let end = text.find(['[', '>']).unwrap_or(text.len());
    let colon = text[..end].match_indices(':').map(|(at, _)| at).find(|at| !text[at + 1..].starts_with(':') && !text[..*at].ends_with(':'));
    match colon {
        Some(at) => (Some(text[..at].into()), &text[at + 1..]),
        None => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_step_by_step() {
        let path = VariablePath::parse("solver.c:grid.cells[3]->next").expect("a path");
        assert_eq!((path.file.as_deref(), path.name.as_str()), (Some("solver.c"), "grid"));
        assert_eq!(path.steps, [PathStep::Field("cells".into()), PathStep::Element(3), PathStep::Field("next".into())]);
        let path = VariablePath::parse("*heat::limit").expect("a path");
        assert_eq!((path.file, path.name.as_str(), path.steps), (None, "heat::limit", vec![PathStep::Dereference]));
    }

    #[test]
    fn a_wrong_path_says_where() {
        for (text, part) in [("a[", "["), ("a[x]", "[x]"), ("a.", "."), ("", ""), ("a-b", "-b"), ("a b", "a b")] {
            let Err(SymbolError::InvalidPath { part: found, .. }) = VariablePath::parse(text) else { panic!("{text} is wrong") };
            assert_eq!(found, part);
        }
    }
}
