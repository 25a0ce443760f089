//! How a variable is written: a name, then fields, elements and what pointers point to: `grid.nx`, `work->chunk`, `file.c:table[3]`.

use crate::problem::Problem;

/// A variable as the user wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The source file, if it was written.
    pub file: Option<String>,
    /// The name, with its namespaces or module.
    pub name: String,
    /// What comes behind it.
    pub steps: Vec<Step>,
}

/// One step from a variable to what is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A field of a structure, or of the structure that is pointed to.
    Field(String),
    /// An element of an array, or behind a pointer, from 0.
    Element(u64),
    /// What is pointed to.
    Target,
}

impl Path {
    /// Reads a path.
    pub fn parse(text: &str) -> Result<Path, Problem> {
        let wrong = |part: &str, what: &str| Problem::WrongPath { path: text.into(), part: part.into(), what: what.into() };
        let stars = text.len() - text.trim_start_matches('*').len();
        let (file, rest) = split_file(&text[stars..]);
        let end = rest.find(['.', '[', '-']).unwrap_or(rest.len());
        let (name, mut rest) = rest.split_at(end);
        if name.is_empty() || !name.chars().all(is_of_name) {
            return Err(wrong(name, "a variable begins with a name"));
        }
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(behind) = rest.strip_prefix('[') {
                let (number, behind) = behind.split_once(']').ok_or_else(|| wrong(rest, "`]` is missing"))?;
                steps.push(Step::Element(number.trim().parse().map_err(|_| wrong(rest, "an element is a number from 0"))?));
                rest = behind;
            } else if let Some(behind) = rest.strip_prefix("->").or_else(|| rest.strip_prefix('.')) {
                let end = behind.find(|letter| !is_of_name(letter)).unwrap_or(behind.len());
                if end == 0 {
                    return Err(wrong(rest, "the name of a field is missing"));
                }
                steps.push(Step::Field(behind[..end].into()));
                rest = &behind[end..];
            } else {
                return Err(wrong(rest, "after a name comes `.field`, `->field` or `[number]`"));
            }
        }
        steps.extend(std::iter::repeat_n(Step::Target, stars));
        Ok(Path { file, name: name.into(), steps })
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | ':' | '$' | '%')
}

/// `file.c:name`, but not `module::name`.
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
        let path = Path::parse("solver.c:grid.cells[3]->next").expect("a path");
        assert_eq!((path.file.as_deref(), path.name.as_str()), (Some("solver.c"), "grid"));
        assert_eq!(path.steps, [Step::Field("cells".into()), Step::Element(3), Step::Field("next".into())]);
        let path = Path::parse("*heat::limit").expect("a path");
        assert_eq!((path.file, path.name.as_str(), path.steps), (None, "heat::limit", vec![Step::Target]));
    }

    #[test]
    fn a_wrong_path_says_where() {
        for (text, part) in [("a[", "["), ("a[x]", "[x]"), ("a.", "."), ("", ""), ("a-b", "-b"), ("a b", "a b")] {
            let Err(Problem::WrongPath { part: found, .. }) = Path::parse(text) else { panic!("{text} is wrong") };
            assert_eq!(found, part);
        }
    }
}
