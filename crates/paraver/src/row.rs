//! The `.row`: names of resources.

use std::fmt;
use std::path::Path;

use crate::error::Error;
use crate::lines::TraceLines;
use crate::text::single_line;

/// The names of a trace's resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceNames {
    /// Each level, such as `CPU`, `NODE` or `THREAD`, with the names of its resources in order.
    pub levels: Vec<(String, Vec<String>)>,
}

impl ResourceNames {
    /// Reads a `.row`.
    pub fn read(path: impl AsRef<Path>) -> Result<ResourceNames, Error> {
        let mut lines = TraceLines::open(path.as_ref())?;
        let mut names = ResourceNames::default();
        while let Some(line) = lines.next_line()? {
            let line = String::from_utf8_lossy(line);
            match (line.trim(), names.levels.last_mut()) {
                (line, _) if line.starts_with("LEVEL") => {
                    names.levels.push((line.split_whitespace().nth(1).unwrap_or_default().into(), Vec::new()));
                }
                ("", _) | (_, None) => {}
                (name, Some((_, level))) => level.push(name.into()),
            }
        }
        Ok(names)
    }

    /// The names of a level; none if it is not there.
    pub fn level(&self, level: &str) -> &[String] {
        self.levels.iter().find(|(known, _)| known == level).map_or(&[], |(_, names)| names)
    }
}

/// The text of the file.
impl fmt::Display for ResourceNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (level, names)) in self.levels.iter().enumerate() {
            writeln!(f, "{}LEVEL {level} SIZE {}", if index == 0 { "" } else { "\n" }, names.len())?;
            names.iter().try_for_each(|name| writeln!(f, "{}", single_line(name)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_have_the_names_of_the_row() {
        let text = "LEVEL CPU SIZE 2\n1.a\n2.b\n\nLEVEL NODE SIZE 2\na\nb\n\nLEVEL THREAD SIZE 1\nTHREAD 1.1.1\n";
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let names = ResourceNames::read(file.path()).unwrap();
        assert_eq!(names.level("NODE"), ["a", "b"]);
        assert!(names.level("SYSTEM").is_empty());
        assert_eq!(names.to_string(), text);
    }
}
