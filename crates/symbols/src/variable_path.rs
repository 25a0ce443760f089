//! Syntax of variables: a name followed by fields, elements and dereferences: `grid.nx`, `work->chunk`, `file.c:table[3]`,
//! `cfg%cells(2, 1)`.

use crate::error::SymbolError;

/// A variable as written by the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VariablePath {
    /// The source file, if given.
    pub file: Option<String>,
    /// The name, with namespaces, classes or module.
    pub name: String,
    /// The steps after the name.
    pub steps: Vec<PathStep>,
}

/// One step from a variable to the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathStep {
    /// A field of a struct, or of the struct pointed to.
    Field(String),
    /// An element of an array, of a container or behind a pointer: consecutive indices, as the source would write them.
    Element(Vec<i64>),
    /// The target of a pointer.
    Dereference,
}

impl VariablePath {
    /// Parses a variable path.
    pub(crate) fn parse(text: &str) -> Result<VariablePath, SymbolError> {
        let wrong = |part: &str, what: &str| SymbolError::InvalidPath { path: text.into(), part: part.into(), what: what.into() };
        let stars = text.len() - text.trim_start_matches('*').len();
        let (file, rest) = split_file(&text[stars..]);
        let (name, mut rest) = split_name(rest);
        if name.is_empty() {
            return Err(wrong(rest, "a variable begins with a name"));
        }
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some((open, close)) = brackets(rest) {
                let (inside, behind) =
                    rest[1..].split_once(close).ok_or_else(|| wrong(rest, &format!("`{close}` is missing after `{open}`")))?;
                let indices = inside.split(',').map(|index| index.trim().parse());
                let indices: Vec<i64> =
                    indices.collect::<Result<_, _>>().map_err(|_| wrong(rest, "an element is given by whole numbers"))?;
                match steps.last_mut() {
                    Some(PathStep::Element(all)) => all.extend(indices),
                    _ => steps.push(PathStep::Element(indices)),
                }
                rest = behind;
            } else if let Some(behind) = ["->", ".", "%"].into_iter().find_map(|between| rest.strip_prefix(between)) {
                let end = behind.find(|letter| !is_name_char(letter)).unwrap_or(behind.len());
                if end == 0 {
                    return Err(wrong(rest, "the name of a field is missing"));
                }
                steps.push(PathStep::Field(behind[..end].into()));
                rest = &behind[end..];
            } else {
                return Err(wrong(rest, "after a name comes `.field`, `->field`, `%field`, `[index]` or `(index)`"));
            }
        }
        steps.extend(std::iter::repeat_n(PathStep::Dereference, stars));
        Ok(VariablePath { file, name: name.into(), steps })
    }
}

fn is_name_char(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | ':' | '$')
}

/// The brackets at the beginning of a text.
fn brackets(text: &str) -> Option<(char, char)> {
    [('[', ']'), ('(', ')')].into_iter().find(|(open, _)| text.starts_with(*open))
}

/// Splits a name from what follows. Template arguments belong to it: `Solver<double, 3>::count`.
fn split_name(text: &str) -> (&str, &str) {
    let mut depth = 0;
    let end = text.find(|letter| {
        match letter {
            '<' => depth += 1,
            '>' if depth > 0 => depth -= 1,
            _ => return depth == 0 && !is_name_char(letter),
        }
        false
    });
    text.split_at(end.unwrap_or(text.len()))
}

/// Splits `file.c:name`, but not `module::name`.
pub(crate) fn split_file(text: &str) -> (Option<String>, &str) {
    let end = text.find(['[', '(', '<', '>', '%']).unwrap_or(text.len());
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
        assert_eq!(path.steps, [PathStep::Field("cells".into()), PathStep::Element(vec![3]), PathStep::Field("next".into())]);
        let path = VariablePath::parse("heat::cfg%cells(-1, 2)").expect("a path");
        assert_eq!(path.steps, [PathStep::Field("cells".into()), PathStep::Element(vec![-1, 2])]);
        let path = VariablePath::parse("Grid<double, 3>::table[1][2].n").expect("a path");
        assert_eq!((path.file, path.name.as_str()), (None, "Grid<double, 3>::table"));
        assert_eq!(path.steps, [PathStep::Element(vec![1, 2]), PathStep::Field("n".into())]);
        let path = VariablePath::parse("*heat::limit").expect("a path");
        assert_eq!((path.file, path.name.as_str(), path.steps), (None, "heat::limit", vec![PathStep::Dereference]));
    }

    #[test]
    fn a_wrong_path_says_where() {
        for (text, part) in [("a[", "["), ("a[x]", "[x]"), ("a.", "."), ("", ""), ("a-b", "-b"), ("a b", " b"), ("a(1", "(1")] {
            let Err(SymbolError::InvalidPath { part: found, .. }) = VariablePath::parse(text) else { panic!("{text} is wrong") };
            assert_eq!(found, part);
        }
    }
}
