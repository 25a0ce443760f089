//! Where a call site is, in the words a person uses for it.

use std::fmt;

use serde::Serialize;
use sintonia_recording::header::Site;

/// The place of a call site: its innermost source line where that is known, else the code around it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The source file.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
    /// The function.
    pub function: Option<String>,
    /// The file of code.
    pub module: String,
    /// Where in the module it is; 0 where the line says it.
    #[serde(skip_serializing_if = "is_zero")]
    pub offset: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Place {
    /// The place of a call site.
    pub fn of(site: &Site) -> Place {
        let frame = site.frames.first().cloned().unwrap_or_default();
        // Several addresses can belong to one line, and to the people who read about it they are the same place.
        let offset = if frame.line.is_some() { 0 } else { site.offset };
        Place { file: frame.file, line: frame.line, function: frame.function, module: site.module.clone(), offset }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match (&self.file, self.line, &self.function) {
            (Some(file), Some(line), _) => write!(f, "{}:{line}", last_two(file)),
            (_, _, Some(function)) => write!(f, "{function} in {}", last(&self.module)),
            _ if self.module.is_empty() => write!(f, "an unknown place"),
            _ => write!(f, "{:#x} in {}", self.offset, last(&self.module)),
        }
    }
}

/// The name of a file of code, without what every Python module's ends with.
fn last(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split(".cpython-").next().unwrap_or(name)
}

/// A file and the folder it is in: enough to tell one from another, and short enough for a table.
fn last_two(path: &str) -> &str {
    match path.rmatch_indices('/').nth(1) {
        Some((slash, _)) => &path[slash + 1..],
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::header::Frame;

    fn site(frames: Vec<Frame>) -> Site {
        Site { module: "/usr/lib/libsolver.so.2".into(), offset: 0x1234, frames }
    }

    fn frame(function: Option<&str>, file: Option<&str>, line: Option<u32>) -> Frame {
        Frame { function: function.map(Into::into), file: file.map(Into::into), line }
    }

    #[test]
    fn the_innermost_line_is_shown_short() {
        let inlined =
            vec![frame(Some("send"), Some("/home/me/lu/src/comm.h"), Some(12)), frame(Some("main"), Some("/home/me/lu.c"), Some(1))];
        let place = Place::of(&site(inlined));
        assert_eq!(place.to_string(), "src/comm.h:12");
        assert_eq!((place.file.as_deref(), place.offset), (Some("/home/me/lu/src/comm.h"), 0));
    }

    #[test]
    fn without_a_line_the_function_or_the_address_is_shown() {
        assert_eq!(Place::of(&site(vec![frame(Some("solve"), None, None)])).to_string(), "solve in libsolver.so.2");
        assert_eq!(Place::of(&site(vec![])).to_string(), "0x1234 in libsolver.so.2");
        assert_eq!(Place::of(&Site::default()).to_string(), "an unknown place");
    }

    #[test]
    fn places_without_a_line_can_be_told_apart_by_programs() {
        let json = |frames| serde_json::to_value(Place::of(&site(frames))).unwrap();
        assert_eq!(json(vec![])["offset"], 0x1234);
        assert_eq!(json(vec![frame(None, Some("lu.c"), Some(1))]).get("offset"), None);
    }

    #[test]
    fn short_paths_stay_as_they_are() {
        for (path, short) in [("lu.c", "lu.c"), ("src/lu.c", "src/lu.c"), ("/lu.c", "/lu.c"), ("/a/lu.c", "a/lu.c"), ("", "")] {
            assert_eq!(last_two(path), short);
        }
    }
}
