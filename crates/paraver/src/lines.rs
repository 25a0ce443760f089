//! Reads the files of a trace line by line, plain or compressed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::error::{Error, PathContext};

/// Longer lines are rejected; the longest ones list the tasks of the largest machines.
const MAX_LINE_BYTES: u64 = 64 << 20;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The lines of a file.
pub(crate) struct TraceLines {
    path: PathBuf,
    reader: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
}

impl TraceLines {
    /// Opens a file; compression is detected by its first bytes.
    pub(crate) fn open(path: &Path) -> Result<TraceLines, Error> {
        let mut file = BufReader::with_capacity(1 << 18, File::open(path).with_path(path)?);
        let compressed = file.fill_buf().with_path(path)?.starts_with(&GZIP_MAGIC);
        let reader: Box<dyn BufRead> = match compressed {
            true => Box::new(BufReader::with_capacity(1 << 18, MultiGzDecoder::new(file))),
            false => Box::new(file),
        };
        Ok(TraceLines { path: path.to_owned(), reader, line: Vec::new(), number: 0 })
    }

    /// The next line without its terminator.
    pub(crate) fn next_line(&mut self) -> Result<Option<&[u8]>, Error> {
        self.line.clear();
        self.number += 1;
        let read = self.reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut self.line);
        match read {
            Ok(0) => return Ok(None),
            Ok(read) if read as u64 == MAX_LINE_BYTES => return Err(self.malformed("the line is too long")),
            Ok(_) => {}
            Err(error) if is_corruption(&error) => return Err(self.malformed("the compressed file is truncated or damaged here")),
            Err(source) => return Err(Error::Io { path: self.path.clone(), source }),
        }
        while self.line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line.pop();
        }
        Ok(Some(&self.line))
    }

    /// Number of the current line.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The current line.
    pub(crate) fn line(&self) -> &[u8] {
        &self.line
    }

    /// An error at the current line.
    pub(crate) fn malformed(&self, what: impl Into<String>) -> Error {
        Error::Malformed { path: self.path.clone(), line: self.number, reason: what.into() }
    }
}

fn is_corruption(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
}

/// The colon-separated fields of a line.
pub(crate) struct ColonFields<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> ColonFields<'a> {
    pub(crate) fn new(text: &'a [u8]) -> ColonFields<'a> {
        ColonFields { rest: Some(text) }
    }

    /// Whether none are left.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_none()
    }

    /// The next field; `None` if there is none or it is not a number.
    pub(crate) fn next_number(&mut self) -> Option<u64> {
        let field = self.next_field()?;
        if field.is_empty() {
            return None;
        }
        field.iter().try_fold(0u64, |value, byte| {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 { None } else { value.checked_mul(10)?.checked_add(digit.into()) }
        })
    }

    /// The next field; negative numbers become 0.
    pub(crate) fn next_value(&mut self) -> Option<u64> {
        let below = self.rest.is_some_and(|rest| rest.starts_with(b"-"));
        if below {
            self.rest = self.rest.map(|rest| &rest[1..]);
        }
        self.next_number().map(|value| if below { 0 } else { value })
    }

    fn next_field(&mut self) -> Option<&'a [u8]> {
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
        let mut lines = TraceLines::open(file.path())?;
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
        assert!(error.contains("truncated or damaged"), "{error}");
    }

    #[test]
    fn fields_are_numbers() {
        let mut fields = ColonFields::new(b"1:22::-5:18446744073709551616:x");
        assert_eq!(
            (fields.next_number(), fields.next_number(), fields.next_number(), fields.next_value()),
            (Some(1), Some(22), None, Some(0))
        );
        assert_eq!((fields.next_number(), fields.is_empty(), fields.next_number(), fields.is_empty()), (None, false, None, true));
        assert_eq!(fields.next_number(), None);
    }
}
