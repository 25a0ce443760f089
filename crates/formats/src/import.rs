//! Recordings made from files of other tools.
//!
//! Whatever the format, the result is a sealed recording like one of Sintonia's own: a folder with one file of calls per rank and a
//! header. Times in it are nanoseconds since the first event.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use sintonia_mpi::FUNCTIONS;
use sintonia_recording::definitions::FORMAT;
use sintonia_recording::header::{Clock, Header};

use crate::Error;
use crate::error::At;
use crate::written::Aside;
use crate::{otf2, paraver};

/// What an import made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// How many processes.
    pub ranks: usize,
    /// How many MPI calls.
    pub calls: u64,
    /// What was left out or could not be understood, one sentence each.
    pub notes: Vec<String>,
}

/// Makes a recording from a trace of another tool, whose format its content says: an OTF2 archive or a folder that holds one, or a Paraver
/// trace. What is at `into` is replaced.
pub fn import(path: &Path, into: &Path) -> Result<Imported, Error> {
    match Format::of(path)? {
        Some(Format::Otf2) => otf2::read(path, into),
        Some(Format::Paraver) => paraver::read(path, into),
        None => {
            let what = "no trace that can be read; give NAME.otf2 (or the folder it is in), NAME.prv or NAME.prv.gz";
            Err(Error::Unreadable { path: path.to_owned(), what: what.into() })
        }
    }
}

/// A format that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Otf2,
    Paraver,
}

impl Format {
    /// What a file begins with, or a folder holds.
    fn of(path: &Path) -> Result<Option<Format>, Error> {
        if path.is_dir() {
            return Ok(Some(Format::Otf2));
        }
        let mut begin = Vec::new();
        File::open(path).at(path)?.take(8).read_to_end(&mut begin).at(path)?;
        Ok(match &begin[..] {
            [3, 0x42 | 0x23, b'O', b'T', b'F', b'2', ..] => Some(Format::Otf2),
            // Some of Paraver's traces say "new format" on a line before the first one; many are compressed.
            b"#Paraver" | b"new form" | [0x1f, 0x8b, ..] => Some(Format::Paraver),
            _ => None,
        })
    }
}

/// The clock of imported ranks: ticks are nanoseconds since the recording began.
pub const CLOCK: Clock = Clock { origin_ticks: 0, origin_ns: 0.0, ns_per_tick: 1.0 };

/// A recording that is being made aside.
pub struct NewRecording {
    aside: Aside,
    name: String,
    folder: PathBuf,
}

impl NewRecording {
    /// Begins a recording that will be at `into`.
    pub fn begin(into: &Path) -> Result<NewRecording, Error> {
        let name = into.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| Error::InTheWay { path: into.to_owned(), what: "is no name for a recording".into() })?.to_owned();
        let aside = Aside::beside(into)?;
        let folder = aside.file(&name);
        fs::create_dir(&folder).at(&folder)?;
        Ok(NewRecording { aside, name, folder })
    }

    /// The folder for the files of ranks.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds the header, completed by what this version writes, and moves everything where it belongs.
    pub fn finish(self, header: Header) -> Result<(), Error> {
        let header = Header {
            format: FORMAT,
            sealed_by: env!("CARGO_PKG_VERSION").into(),
            operations: FUNCTIONS.iter().map(|function| function.name.to_owned()).collect(),
            ..header
        };
        header.write(&self.folder)?;
        self.aside.publish(&[&self.name])?;
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
        let cases: [(&[u8], Option<Format>); 7] = [
            (b"\x03\x42OTF2\0\x03", Some(Format::Otf2)),
            (b"\x03\x23OTF2\0\x03", Some(Format::Otf2)),
            (b"#Paraver (01/01/2024 at 00:00):", Some(Format::Paraver)),
            (b"new format\n#Paraver (01/01/2024 at 00:00):", Some(Format::Paraver)),
            (b"\x1f\x8b\x08", Some(Format::Paraver)),
            (b"SINCALLS", None),
            (b"", None),
        ];
        for (content, format) in cases {
            fs::write(&path, content).unwrap();
            assert_eq!(Format::of(&path).unwrap(), format, "{content:?}");
        }
        assert!(import(&path, &folder.path().join("a.sin")).unwrap_err().to_string().contains("no trace that can be read"));
        assert!(import(folder.path(), &folder.path().join("a.sin")).unwrap_err().to_string().contains("holds no file NAME.otf2"));
        assert!(import(&folder.path().join("none"), &path).unwrap_err().to_string().contains("No such file"));
    }
}
