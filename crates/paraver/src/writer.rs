//! Writes the records of a `.prv`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::{Error, PathContext};
use crate::header::TraceHeader;
use crate::record::Record;

/// Writes a trace. Records have to be in the order of time; communicators come first.
pub struct TraceWriter {
    path: PathBuf,
    out: TraceOutput,
    line: Vec<u8>,
}

/// A plain or compressed file.
enum TraceOutput {
    Plain(BufWriter<File>),
    Compressed(GzEncoder<BufWriter<File>>),
}

impl TraceWriter {
    /// Creates a `.prv`, compressed if its name ends with `.gz`, and writes the header.
    pub fn create(path: impl AsRef<Path>, header: &TraceHeader) -> Result<TraceWriter, Error> {
        let path = path.as_ref().to_owned();
        let file = BufWriter::with_capacity(1 << 20, File::create(&path).with_path(&path)?);
        let out = match path.extension().is_some_and(|ending| ending == "gz") {
            true => TraceOutput::Compressed(GzEncoder::new(file, Compression::fast())),
            false => TraceOutput::Plain(file),
        };
        let mut writer = TraceWriter { path, out, line: Vec::new() };
        writer.write_line(header.to_line().as_bytes())?;
        Ok(writer)
    }

    /// Appends a record.
    pub fn write(&mut self, record: &Record) -> Result<(), Error> {
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        record.encode(&mut line);
        let written = self.write_line(&line);
        self.line = line;
        written
    }

    /// Appends the line of a record that was [encoded](Record::encode) before.
    pub fn write_line(&mut self, line: &[u8]) -> Result<(), Error> {
        let out: &mut dyn Write = match &mut self.out {
            TraceOutput::Plain(file) => file,
            TraceOutput::Compressed(encoder) => encoder,
        };
        out.write_all(line).and_then(|()| out.write_all(b"\n")).with_path(&self.path)
    }

    /// Completes the file.
    pub fn finish(self) -> Result<(), Error> {
        let finished = match self.out {
            TraceOutput::Plain(mut file) => file.flush(),
            TraceOutput::Compressed(encoder) => encoder.finish().and_then(|mut file| file.flush()),
        };
        finished.with_path(&self.path)
    }
}
