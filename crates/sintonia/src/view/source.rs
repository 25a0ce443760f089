//! `source`: the source around a call site. Only files that call sites of the recording name are read.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use sintonia_view::answer::{Answer, Question, Refusal};

use super::open::Open;
use super::subject::Subject;

pub const SUBJECT: Subject = Subject { name: "source", is_there: |_| true, answer };

/// The most bytes of a file that is read.
const MOST_BYTES: u64 = 8 << 20;
/// The most lines that are shown.
const MOST_LINES: usize = 4000;
/// The most letters of a line.
const MOST_LETTERS: usize = 1000;

fn answer(open: &Arc<Open>, question: &Question) -> Result<Answer, Refusal> {
    let opened = open.asked(question)?;
    let missing = || Refusal::Query { parameter: "site".into(), reason: "the number of a call site is needed".into() };
    let number: usize = question.number("site")?.ok_or_else(missing)?;
    let site = opened.recording.header.sites.get(number).ok_or_else(|| Refusal::Unknown(format!("call site {number}")))?;
    let frame = site.frames.iter().find(|frame| frame.file.is_some() && frame.line.is_some());
    let place = frame.and_then(|frame| frame.file.as_deref().zip(frame.line));
    let (file, line) = place.ok_or_else(|| Refusal::NotThere("The source line of this call site is not known.".into()))?;
    let text = read(Path::new(file)).map_err(|why| Refusal::NotThere(format!("{file} {why}.")))?;
    let all: Vec<&str> = text.lines().collect();
    let most = question.number("lines")?.unwrap_or(MOST_LINES).clamp(1, MOST_LINES);
    let (first, shown) = around(&all, line as usize, most);
    let lines: Vec<String> = shown.iter().map(|line| line.chars().take(MOST_LETTERS).collect()).collect();
    Ok(Answer::json(&json!({"file": file, "first": first, "lines": lines, "line": line})))
}

/// A source file as text, or why it cannot be shown.
fn read(file: &Path) -> Result<String, String> {
    let real = file.canonicalize().map_err(|_| "is not here".to_owned())?;
    let metadata = real.metadata().map_err(|error| format!("cannot be read: {error}"))?;
    // Anything else, a device or a pipe, might never end.
    if !metadata.is_file() {
        return Err("is no file".to_owned());
    }
    if metadata.len() > MOST_BYTES {
        return Err("is too long to be shown".to_owned());
    }
    let opened = File::open(&real).map_err(|error| format!("cannot be read: {error}"))?;
    let mut bytes = Vec::new();
    opened.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.contains(&0) {
        return Err("is no text".to_owned());
    }
    // Old sources are written in other codes than UTF-8; what is strange in them is shown as such.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// At most so many lines around one of them, and the number of the first.
fn around<'a, 'b>(all: &'a [&'b str], line: usize, most: usize) -> (usize, &'a [&'b str]) {
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
            let (first, shown) = around(&lines, line, 4000);
            (first, shown.len())
        };
        assert_eq!((shown(1), shown(5000), shown(10_000)), ((1, 4000), (3001, 4000), (6001, 4000)));
        assert_eq!(around(&["a", "b"], 99, 5), (1, &["a", "b"][..]));
    }

    #[test]
    fn only_text_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            read(&path)
        };
        assert_eq!(write("a.c", b"int main() {}\n"), Ok("int main() {}\n".into()));
        assert_eq!(write("old.f", b"C Gr\xf6sse\n"), Ok("C Gr\u{fffd}sse\n".into()));
        assert_eq!(write("a.out", b"\x7fELF\0"), Err("is no text".into()));
        assert_eq!(read(folder.path()), Err("is no file".into()));
        assert_eq!(read(Path::new("/dev/zero")), Err("is no file".into()));
        assert_eq!(read(&folder.path().join("missing.c")), Err("is not here".into()));
    }
}
