//! Recordings made from traces of other tools.
//!
//! The result is a sealed recording: a folder with one file of calls per rank and a header. Times are nanoseconds since the first event.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use sintonia_mpi::FUNCTIONS;
use sintonia_recording::definitions::FORMAT_VERSION;
use sintonia_recording::header::{LinearClock, RecordingHeader};

use crate::Error;
use crate::atomic_output::AtomicOutput;
use crate::error::PathContext;
use crate::{otf2, paraver};

/// Summary of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// Number of processes.
    pub ranks: usize,
    /// Number of MPI calls.
    pub calls: u64,
    /// What was left out or not understood, one sentence each.
    pub notes: Vec<String>,
}

/// Imports a trace; its content determines the format: an OTF2 archive (or the folder that contains it) or a Paraver trace. Replaces
/// `into`.
pub fn import(path: &Path, into: &Path) -> Result<ImportSummary, Error> {
    match TraceFormat::detect(path)? {
        Some(TraceFormat::Otf2) => otf2::read(path, into),
        Some(TraceFormat::Paraver) => paraver::read(path, into),
        None => {
            let what = "not a supported trace; expected NAME.otf2 (or its folder), NAME.prv or NAME.prv.gz";
            Err(Error::Unreadable { path: path.to_owned(), what: what.into() })
        }
    }
}

/// A supported trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TraceFormat {
    Otf2,
    Paraver,
}

impl TraceFormat {
    /// Detects the format by the first bytes; a folder can only hold OTF2.
    fn detect(path: &Path) -> Result<Option<TraceFormat>, Error> {
        if path.is_dir() {
            return Ok(Some(TraceFormat::Otf2));
        }
        let mut begin = Vec::new();
        File::open(path).with_path(path)?.take(8).read_to_end(&mut begin).with_path(path)?;
        Ok(match &begin[..] {
            [3, 0x42 | 0x23, b'O', b'T', b'F', b'2', ..] => Some(TraceFormat::Otf2),
            // Some of Paraver's traces say "new format" on a line before the first one; many are compressed.
            b"#Paraver" | b"new form" | [0x1f, 0x8b, ..] => Some(TraceFormat::Paraver),
            _ => None,
        })
    }
}

/// The clock of imported ranks: ticks are nanoseconds since the start of the recording.
pub const NANOSECOND_CLOCK: LinearClock = LinearClock { origin_ticks: 0, origin_ns: 0.0, ns_per_tick: 1.0 };

/// A recording in a staging folder.
pub struct StagedRecording {
    output: AtomicOutput,
    name: String,
    folder: PathBuf,
}

impl StagedRecording {
    /// Begins a recording that will be moved to `into`.
    pub fn create(into: &Path) -> Result<StagedRecording, Error> {
        let name = into.file_name().and_then(|name| name.to_str());
        let name = name
            .ok_or_else(|| Error::InvalidOutputPath { path: into.to_owned(), what: "is not a valid name for a recording".into() })?
            .to_owned();
        let output = AtomicOutput::new(into)?;
        let folder = output.staged_path(&name);
        fs::create_dir(&folder).with_path(&folder)?;
        Ok(StagedRecording { output, name, folder })
    }

    /// The folder for the files of the ranks.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes the header, completed with this version's format and operations, and moves the recording into place.
    pub fn finish(self, header: RecordingHeader) -> Result<(), Error> {
        let header = RecordingHeader {
            format: FORMAT_VERSION,
            sealed_by: env!("CARGO_PKG_VERSION").into(),
            operations: FUNCTIONS.iter().map(|function| function.name.to_owned()).collect(),
            ..header
        };
        header.write(&self.folder)?;
        self.output.commit(&[&self.name])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_says_the_format_whatever_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        let cases: [(&[u8], Option<TraceFormat>); 7] = [
            (b"\x03\x42OTF2\0\x03", Some(TraceFormat::Otf2)),
            (b"\x03\x23OTF2\0\x03", Some(TraceFormat::Otf2)),
            (b"#Paraver (01/01/2024 at 00:00):", Some(TraceFormat::Paraver)),
            (b"new format\n#Paraver (01/01/2024 at 00:00):", Some(TraceFormat::Paraver)),
            (b"\x1f\x8b\x08", Some(TraceFormat::Paraver)),
            (b"SINCALLS", None),
            (b"", None),
        ];
        for (content, format) in cases {
            fs::write(&path, content).unwrap();
            assert_eq!(TraceFormat::detect(&path).unwrap(), format, "{content:?}");
        }
        assert!(import(&path, &folder.path().join("a.sin")).unwrap_err().to_string().contains("not a supported trace"));
        assert!(import(folder.path(), &folder.path().join("a.sin")).unwrap_err().to_string().contains("contains no file NAME.otf2"));
        assert!(import(&folder.path().join("none"), &path).unwrap_err().to_string().contains("No such file"));
    }
}
