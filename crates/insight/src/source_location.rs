//! Source locations of call sites, as shown to users.

use std::fmt;

use serde::Serialize;
use sintonia_recording::Recording;
use sintonia_recording::header::CallSiteDefinition;
use sintonia_text::function_name::short_function_name;
use sintonia_text::path::short_file_name;

/// The source location of a call site: its innermost source line if known, else the code around it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct SourceLocation {
    /// The source file.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
    /// The function.
    pub function: Option<String>,
    /// The executable or library.
    pub module: String,
    /// Offset in the module; 0 if the line is known.
    #[serde(skip_serializing_if = "is_zero")]
    pub offset: u64,
    /// The callers that tell it from other call sites of the same line, nearest first, as `function:line`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl SourceLocation {
    /// The source location of a call site.
    pub fn from_site(site: &CallSiteDefinition) -> SourceLocation {
        let frame = site.frames.first().cloned().unwrap_or_default();
        // Several addresses of one source line are the same location for the user.
        let offset = if frame.line.is_some() { 0 } else { site.offset };
        let (file, line, function, module) = (frame.file, frame.line, frame.function, site.module.clone());
        SourceLocation { file, line, function, module, offset, callers: Vec::new() }
    }

    /// The source location of a call site of a recording, with the callers that tell it from others of the same line.
    pub fn of(recording: &Recording, site: u32) -> SourceLocation {
        let callers = recording.call_paths().distinguishing_callers(site);
        let callers = callers.iter().map(|caller| caller_name(recording.site(caller.site), caller.frame)).collect();
        SourceLocation { callers, ..SourceLocation::from_site(recording.site(site)) }
    }

    /// The place without its callers.
    pub fn line_only(&self) -> SourceLocation {
        SourceLocation { callers: Vec::new(), ..self.clone() }
    }
}

/// A function of a call path, as `function:line`.
fn caller_name(site: &CallSiteDefinition, frame: usize) -> String {
    let Some(frame) = site.frames.get(frame) else { return format!("{:#x} in {}", site.offset, short_file_name(&site.module)) };
    let function = frame.function.as_deref().map_or("?".to_owned(), short_function_name);
    frame.line.map_or_else(|| function.clone(), |line| format!("{function}:{line}"))
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.fmt_line(f)?;
        if !self.callers.is_empty() {
            write!(f, " from {}", self.callers.join(" < "))?;
        }
        Ok(())
    }
}

impl SourceLocation {
    fn fmt_line(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match (&self.file, self.line, &self.function) {
            (Some(file), Some(line), _) => write!(f, "{}:{line}", file_with_folder(file)),
            (_, _, Some(function)) => write!(f, "{} in {}", short_function_name(function), short_file_name(&self.module)),
            _ if self.module.is_empty() => write!(f, "an unknown place"),
            _ => write!(f, "{:#x} in {}", self.offset, short_file_name(&self.module)),
        }
    }
}

/// A file name with its folder: unambiguous enough, and short enough for a table.
fn file_with_folder(path: &str) -> &str {
    match path.rmatch_indices('/').nth(1) {
        Some((slash, _)) => &path[slash + 1..],
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::header::SourceFrame;

    fn site(frames: Vec<SourceFrame>) -> CallSiteDefinition {
        CallSiteDefinition { module: "/usr/lib/libsolver.so.2".into(), offset: 0x1234, caller: None, frames }
    }

    fn frame(function: Option<&str>, file: Option<&str>, line: Option<u32>) -> SourceFrame {
        SourceFrame { function: function.map(Into::into), file: file.map(Into::into), line }
    }

    #[test]
    fn the_innermost_line_is_shown_short() {
        let inlined =
            vec![frame(Some("send"), Some("/home/me/lu/src/comm.h"), Some(12)), frame(Some("main"), Some("/home/me/lu.c"), Some(1))];
        let place = SourceLocation::from_site(&site(inlined));
        assert_eq!(place.to_string(), "src/comm.h:12");
        assert_eq!((place.file.as_deref(), place.offset), (Some("/home/me/lu/src/comm.h"), 0));
    }

    #[test]
    fn without_a_line_the_function_or_the_address_is_shown() {
        assert_eq!(SourceLocation::from_site(&site(vec![frame(Some("solve"), None, None)])).to_string(), "solve in libsolver.so.2");
        let signature = "std::__basic_file<char>::open(char const*, std::_Ios_Openmode, int)";
        assert_eq!(
            SourceLocation::from_site(&site(vec![frame(Some(signature), None, None)])).to_string(),
            "std::__basic_file<…>::open in libsolver.so.2"
        );
        assert_eq!(SourceLocation::from_site(&site(vec![])).to_string(), "0x1234 in libsolver.so.2");
        assert_eq!(SourceLocation::from_site(&CallSiteDefinition::default()).to_string(), "an unknown place");
    }

    #[test]
    fn places_without_a_line_can_be_told_apart_by_programs() {
        let json = |frames| serde_json::to_value(SourceLocation::from_site(&site(frames))).unwrap();
        assert_eq!(json(vec![])["offset"], 0x1234);
        assert_eq!(json(vec![frame(None, Some("lu.c"), Some(1))]).get("offset"), None);
    }

    #[test]
    fn short_paths_stay_as_they_are() {
        for (path, short) in [("lu.c", "lu.c"), ("src/lu.c", "src/lu.c"), ("/lu.c", "/lu.c"), ("/a/lu.c", "a/lu.c"), ("", "")] {
            assert_eq!(file_with_folder(path), short);
        }
    }
}
