//! Reads the records of a `.prv`.

use std::path::Path;

use crate::error::Error;
use crate::header::TraceHeader;
use crate::lines::TraceLines;
use crate::record::{Record, RecordLists};

/// Reads a trace, plain or compressed, record by record; a record allocates nothing.
pub struct TraceReader {
    lines: TraceLines,
    header: TraceHeader,
    lists: RecordLists,
}

impl TraceReader {
    /// Opens a `.prv` and reads its header.
    pub fn open(path: impl AsRef<Path>) -> Result<TraceReader, Error> {
        let mut lines = TraceLines::open(path.as_ref())?;
        let header = match lines.next_line()? {
            Some(b"new format") => lines.next_line()?.unwrap_or_default(),
            line => line.unwrap_or_default(),
        };
        let header = TraceHeader::parse(header).map_err(|reason| lines.malformed(reason))?;
        Ok(TraceReader { lines, header, lists: RecordLists::default() })
    }

    /// The first line.
    pub fn header(&self) -> &TraceHeader {
        &self.header
    }

    /// The next record, with its line number.
    pub fn next_record(&mut self) -> Result<Option<(u64, Record<'_>)>, Error> {
        let TraceReader { lines, lists, .. } = self;
        // The lists are borrowed by the record that is returned, so lines without one are passed over first.
        loop {
            match lines.next_line()? {
                None => return Ok(None),
                Some([] | [b'#', ..]) => {}
                Some(_) => break,
            }
        }
        let record = Record::parse(lines.line(), lists).map_err(|reason| lines.malformed(reason))?;
        Ok(record.map(|record| (lines.number(), record)))
    }
}
