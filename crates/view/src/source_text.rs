//! Source files of the recorded program, as far as they can be read and shown.
//!
//! A recording may come from somebody else and name any file: only those that are named like source code are read.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The maximum size of a source file, in bytes.
const MAX_BYTES: u64 = 8 << 20;
/// The maximum number of lines of an excerpt.
pub(crate) const MAX_LINES: usize = 4000;
/// The maximum length of a line, in characters.
const MAX_LINE_LENGTH: usize = 1000;

/// Extensions of source files, in lower case.
const EXTENSIONS: &[&str] = &[
    "adb", "ads", "c", "c++", "cc", "chpl", "cl", "cpp", "cu", "cuh", "cxx", "d", "f", "f03", "f08", "f77", "f90", "f95", "for", "fpp",
    "ftn", "go", "h", "h++", "hh", "hip", "hpp", "hxx", "i", "ii", "inc", "inl", "ipp", "ispc", "java", "jl", "m", "mm", "mod", "nim",
    "pas", "pxd", "pxi", "py", "pyx", "r", "rs", "s", "scala", "swift", "tcc", "tpp", "txx", "upc", "zig",
];

/// Lines of a source file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SourceExcerpt {
    /// The number of the first line.
    pub first: usize,
    /// The lines; long ones are truncated.
    pub lines: Vec<String>,
}

/// At most `most` lines of a file around a line, or why it cannot be shown.
pub(crate) fn excerpt(file: &str, line: usize, most: usize) -> Result<SourceExcerpt, String> {
    let text = read_source(Path::new(file)).map_err(|why| format!("{file} {why}."))?;
    let all: Vec<&str> = text.lines().collect();
    let (first, shown) = lines_around(&all, line, most.clamp(1, MAX_LINES));
    Ok(SourceExcerpt { first, lines: shown.iter().map(|line| line.chars().take(MAX_LINE_LENGTH).collect()).collect() })
}

/// Reads a source file, or says why it cannot be shown.
fn read_source(file: &Path) -> Result<String, String> {
    let real = file.canonicalize().map_err(|_| "does not exist here".to_owned())?;
    let metadata = real.metadata().map_err(|error| format!("cannot be read: {error}"))?;
    if ![file, real.as_path()].into_iter().all(is_named_like_source) {
        return Err("is not named like source code".to_owned());
    }
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

fn is_named_like_source(file: &Path) -> bool {
    let extension = file.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()))
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
        assert_eq!(write("a.c", b"\x7fELF\0"), Err("is not a text file".into()));
        let directory = folder.path().join("b.c");
        std::fs::create_dir(&directory).unwrap();
        assert_eq!(read_source(&directory), Err("is not a regular file".into()));
        assert_eq!(read_source(&folder.path().join("missing.c")), Err("does not exist here".into()));
    }

    #[test]
    fn only_what_is_named_like_source_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let other = Err("is not named like source code".to_owned());
        assert_eq!(read_source(Path::new("/etc/passwd")), other);
        assert_eq!(read_source(Path::new("/dev/zero")), other);
        let link = folder.path().join("link.c");
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        assert_eq!(read_source(&link), other);
        let named = |name: &str| is_named_like_source(Path::new(name));
        assert!(["a.F90", "a.cpp", "a.py", "a.S"].into_iter().all(named) && !["id_rsa", "a.pem", ".c", "c"].into_iter().any(named));
    }
}
