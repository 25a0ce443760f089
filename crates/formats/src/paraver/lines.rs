//! Reads the files of a trace line by line, plain or compressed, and says where something was wrong.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::error::At;
use crate::{Error, Place};

/// A line longer than this is none: the longest ones list the tasks of the largest machines.
const MOST_LINE: u64 = 64 << 20;
/// The first bytes of a compressed file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The lines of a file.
pub struct Lines {
    path: PathBuf,
    reader: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    /// Opens a file; whether it is compressed shows in its first bytes.
    pub fn open(path: &Path) -> Result<Lines, Error> {
        let mut file = BufReader::with_capacity(1 << 18, File::open(path).at(path)?);
        let compressed = file.fill_buf().at(path)?.starts_with(&GZIP);
        let reader: Box<dyn BufRead> = match compressed {
            true => Box::new(BufReader::with_capacity(1 << 18, MultiGzDecoder::new(file))),
            false => Box::new(file),
        };
        Ok(Lines { path: path.to_owned(), reader, line: Vec::new(), number: 0 })
    }

    /// The next line, without its end.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, Error> {
        self.line.clear();
        self.number += 1;
        let read = self.reader.by_ref().take(MOST_LINE).read_until(b'\n', &mut self.line);
        match read {
            Ok(0) => return Ok(None),
            Ok(read) if read as u64 == MOST_LINE => return Err(self.wrong("the line never ends")),
            Ok(_) => {}
            Err(error) if is_damage(&error) => return Err(self.wrong("the compressed file is cut or damaged here")),
            Err(source) => return Err(Error::Io { path: self.path.clone(), source }),
        }
        while self.line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line.pop();
        }
        Ok(Some(&self.line))
    }

    /// The number of the line that was read last.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The line that was read last.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// An error about the line that was read last.
    pub fn wrong(&self, what: impl Into<String>) -> Error {
        Error::Malformed { path: self.path.clone(), place: Place::Line(self.number), what: what.into() }
    }
}

fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
}

/// The numbers of a line, which have colons between them.
pub struct Fields<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    /// Those of this text.
    pub fn of(text: &'a [u8]) -> Fields<'a> {
        Fields { rest: Some(text) }
    }

    /// Whether there are none left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_none()
    }

    /// The next one; `None` if there is none, or it is no number.
    pub fn number(&mut self) -> Option<u64> {
        let field = self.text()?;
        if field.is_empty() {
            return None;
        }
        field.iter().try_fold(0u64, |value, byte| {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 { None } else { value.checked_mul(10)?.checked_add(digit.into()) }
        })
    }

    /// The next one, which may be less than nothing and is then taken as nothing.
    pub fn value(&mut self) -> Option<u64> {
        let below = self.rest.is_some_and(|rest| rest.starts_with(b"-"));
        if below {
            self.rest = self.rest.map(|rest| &rest[1..]);
        }
        self.number().map(|value| if below { 0 } else { value })
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let colon = rest.iter().position(|byte| *byte == b':');
        self.rest = colon.map(|colon| &rest[colon + 1..]);
        Some(&rest[..colon.unwrap_or(rest.len())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn lines(content: &[u8]) -> Result<Vec<String>, Error> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        let mut lines = Lines::open(file.path())?;
        let mut all = Vec::new();
        while let Some(line) = lines.next_line()? {
            all.push(String::from_utf8_lossy(line).into_owned());
        }
        Ok(all)
    }

    #[test]
    fn a_compressed_file_reads_like_a_plain_one() {
        let text = b"one\ntwo\r\n\nlast";
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        let compressed = encoder.finish().unwrap();
        assert_eq!(lines(text).unwrap(), ["one", "two", "", "last"]);
        assert_eq!(lines(&compressed).unwrap(), lines(text).unwrap());
        let error = lines(&compressed[..compressed.len() - 4]).unwrap_err().to_string();
        assert!(error.contains("cut or damaged"), "{error}");
    }

    #[test]
    fn fields_are_numbers() {
        let mut fields = Fields::of(b"1:22::-5:18446744073709551616:x");
        assert_eq!((fields.number(), fields.number(), fields.number(), fields.value()), (Some(1), Some(22), None, Some(0)));
        assert_eq!((fields.number(), fields.is_empty(), fields.number(), fields.is_empty()), (None, false, None, true));
        assert_eq!(fields.number(), None);
    }
}
