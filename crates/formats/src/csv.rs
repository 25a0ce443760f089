//! Comma-separated values (RFC 4180), one line per call.

use std::io::{self, Write};
use std::path::Path;

use sintonia_recording::Recording;

use crate::call_columns::{CellValue, REQUEST_COLUMNS, REQUESTS_COLUMN, columns};
use crate::error::PathContext;
use crate::exported_calls::{self, ExportedCall};
use crate::{Error, ExportSummary, single_file};

/// Writes every call of a recording as a line; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    exported_calls::require_calls(&recording.header)?;
    single_file::write(path, |out| {
        write_header_row(out).with_path(path)?;
        for rank in &recording.header.ranks {
            exported_calls::for_each_call(recording, rank.rank, |row| write_row(out, row).with_path(path))?;
            progress();
        }
        Ok(())
    })
}

fn write_header_row(out: &mut impl Write) -> io::Result<()> {
    for column in columns() {
        write!(out, "{},", column.name)?;
    }
    write!(out, "{REQUESTS_COLUMN}\r\n")
}

fn write_row(out: &mut impl Write, row: &ExportedCall) -> io::Result<()> {
    for column in columns() {
        write_cell(out, (column.cell)(row))?;
        out.write_all(b",")?;
    }
    write_requests(out, row)?;
    out.write_all(b"\r\n")
}

/// Requests are separated by spaces, their fields by colons.
fn write_requests(out: &mut impl Write, row: &ExportedCall) -> io::Result<()> {
    for (index, request) in row.listed_requests.iter().enumerate() {
        for (part, column) in REQUEST_COLUMNS.iter().enumerate() {
            let before: &[u8] = match (index, part) {
                (0, 0) => b"",
                (_, 0) => b" ",
                _ => b":",
            };
            out.write_all(before)?;
            write_cell(out, (column.cell)(request))?;
        }
    }
    Ok(())
}

fn write_cell(out: &mut impl Write, cell: CellValue) -> io::Result<()> {
    match cell {
        CellValue::Absent => Ok(()),
        CellValue::Number(number) | CellValue::Special(number, _) => write!(out, "{number}"),
        CellValue::Bool(mark) => out.write_all(if mark { b"true" } else { b"false" }),
        CellValue::Text(text) if text.contains(['"', ',', '\r', '\n']) => write!(out, "\"{}\"", text.replace('"', "\"\"")),
        CellValue::Text(text) => out.write_all(text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{self, example};

    #[test]
    fn a_call_is_a_line_with_what_it_was_about() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.csv");
        let written = write(&example().recording, &path, &|| {}).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!((written.files, written.bytes), (vec![path], text.len() as u64));
        let lines: Vec<&str> = text.split_terminator("\r\n").collect();
        assert_eq!(lines.len(), 1 + example::CALLS);
        assert!(lines[0].starts_with("rank,thread,enter_ns,leave_ns,operation,communicator,"));
        assert!(lines.iter().all(|line| line.split(',').count() > columns().count()));
        let of = |start: &str| lines.iter().find(|line| line.starts_with(start)).copied();
        let send = "0,0,100,300,MPI_Send,0,,,,1,,7,,,1000,,,false,,,false,false,,/src/main.c,2,main,/bin/main,2,false,";
        assert_eq!(of("0,0,100,"), Some(send));
        let wait = "1,0,240,400,MPI_Waitall,,,,,,,,,,,1064,,false,,,false,false,,/src/main.c,4,main,/bin/main,4,false,0:0:0:7:1000 0:1:2:8:64 0:2:::";
        assert_eq!(of("1,0,240,"), Some(wait));
    }

    #[test]
    fn texts_that_would_end_a_field_are_quoted() {
        let shown = |text| {
            let mut out = Vec::new();
            write_cell(&mut out, CellValue::Text(text)).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!([shown("a b"), shown("a,b"), shown("say \"a\"")], ["a b", "\"a,b\"", "\"say \"\"a\"\"\""]);
    }

    #[test]
    fn sums_are_no_calls() {
        let folder = tempfile::tempdir().unwrap();
        let mut example = example();
        example.recording.header.profile = true;
        assert!(matches!(write(&example.recording, &folder.path().join("run.csv"), &|| {}), Err(Error::ProfileOnly)));
    }
}
