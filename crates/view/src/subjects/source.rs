//! `source`: the source code around a call site. Only files named by call sites of the recording are read.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::session::ViewSession;
use crate::subject::PageSubject;

pub(super) const SUBJECT: PageSubject = PageSubject { name: "source", is_available: |_| true, answer };

/// The maximum size of a source file, in bytes.
const MAX_BYTES: u64 = 8 << 20;
/// The maximum number of lines.
const MAX_LINES: usize = 4000;
/// The maximum length of a line, in characters.
const MAX_LINE_LENGTH: usize = 1000;

fn answer(open: &Arc<ViewSession>, question: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let opened = open.recording_of(question)?;
    let missing = || QueryError::InvalidParameter { parameter: "site".into(), reason: "a call site number is required".into() };
    let number: usize = question.parse_param("site")?.ok_or_else(missing)?;
    let site = opened.recording.header.sites.get(number).ok_or_else(|| QueryError::Unknown(format!("call site {number}")))?;
    let frame = site.frames.iter().find(|frame| frame.file.is_some() && frame.line.is_some());
    let location = frame.and_then(|frame| frame.file.as_deref().zip(frame.line));
    let (file, line) = location.ok_or_else(|| QueryError::Unavailable("The source line of this call site is unknown.".into()))?;
    let text = read_source(Path::new(file)).map_err(|why| QueryError::Unavailable(format!("{file} {why}.")))?;
    let all: Vec<&str> = text.lines().collect();
    let most = question.parse_param("lines")?.unwrap_or(MAX_LINES).clamp(1, MAX_LINES);
    let (first, shown) = lines_around(&all, line as usize, most);
    let lines: Vec<String> = shown.iter().map(|line| line.chars().take(MAX_LINE_LENGTH).collect()).collect();
    Ok(QueryAnswer::json(&json!({"file": file, "first": first, "lines": lines, "line": line})))
}

/// Reads a source file, or says why it cannot be shown.
fn read_source(file: &Path) -> Result<String, String> {
    let real = file.canonicalize().map_err(|_| "does not exist here".to_owned())?;
    let metadata = real.metadata().map_err(|error| format!("cannot be read: {error}"))?;
    // Anything else, such as a device or a pipe, might never end.
    if !metadata.is_file() {
        return Err("is not a regular file".to_owned());
    }
    if metadata.len() > MAX_BYTES {
        return Err("is too large to show".to_owned());
    }
    let opened = File::open(&real).map_err(|error| format!("cannot be read: {error}"))?;
    let mut bytes = Vec::new();
    opened.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.contains(&0) {
        return Err("is not a text file".to_owned());
    }
    // Old sources have other encodings than UTF-8; invalid characters are shown as such.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// At most `most` lines around a line, and the number of the first.
fn lines_around<'a, 'b>(all: &'a [&'b str], line: usize, most: usize) -> (usize, &'a [&'b str]) {
    let begin = line.saturating_sub(most / 2).min(all.len().saturating_sub(most));
    (begin + 1, &all[begin..all.len().min(begin + most)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_long_files_the_lines_around_the_place_are_shown() {
        let lines = vec!["x"; 10_000];
        let shown = |line| {
            let (first, shown) = lines_around(&lines, line, 4000);
            (first, shown.len())
        };
        assert_eq!((shown(1), shown(5000), shown(10_000)), ((1, 4000), (3001, 4000), (6001, 4000)));
        assert_eq!(lines_around(&["a", "b"], 99, 5), (1, &["a", "b"][..]));
    }

    #[test]
    fn only_text_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            read_source(&path)
        };
        assert_eq!(write("a.c", b"int main() {}\n"), Ok("int main() {}\n".into()));
        assert_eq!(write("old.f", b"C Gr\xf6sse\n"), Ok("C Gr\u{fffd}sse\n".into()));
        assert_eq!(write("a.out", b"\x7fELF\0"), Err("is not a text file".into()));
        assert_eq!(read_source(folder.path()), Err("is not a regular file".into()));
        assert_eq!(read_source(Path::new("/dev/zero")), Err("is not a regular file".into()));
        assert_eq!(read_source(&folder.path().join("missing.c")), Err("does not exist here".into()));
    }
}
