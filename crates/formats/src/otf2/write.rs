//! Exports a recording as an OTF2 archive.
//!
//! The calls of each rank are converted to a stream of events; the global definitions come last, because they contain the event counts.

mod calling_contexts;
mod comm_ranks;
mod definitions;
mod event_builder;
mod rank_writer;
mod rma_and_io;

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sintonia_recording::Recording;

use crate::atomic_output::{AtomicOutput, ExportSummary};
use crate::error::{Error, PathContext};
use crate::exported_calls;
use crate::otf2::anchor::{AnchorFile, MAX_CHUNK_SIZE};
use crate::otf2::chunks::{ChunkContent, ChunkWriter};
use crate::otf2::definition_records::DefinitionWriter;
use crate::otf2::event::EventRecord;
use crate::timeline::TimeOrigin;
use calling_contexts::CallingContexts;
use comm_ranks::CommRankMap;
use event_builder::UnmappedOperations;

/// Size of event chunks: OTF2's minimum, because each thread of a rank holds one while it is written.
const EVENT_CHUNK_SIZE: u64 = 256 << 10;
/// Size of definition chunks, unless a definition needs more.
const DEFINITION_CHUNK_SIZE: u64 = 4 << 20;
/// The property that tells Scalasca that every message has both ends.
const COMMUNICATION_COMPLETE: &str = "OTF2::MPI_COMMUNICATION_COMPLETE";

/// The files and the folder that [`write()`] creates or replaces; an error if the folder exists and is no archive folder.
pub fn output_paths(path: &Path) -> Result<[PathBuf; 3], Error> {
    let name = archive_name(path)?;
    let folder = path.with_file_name(&name);
    check_replaceable(&folder)?;
    Ok([path.to_owned(), path.with_file_name(format!("{name}.def")), folder])
}

/// Writes a recording as an OTF2 archive: `NAME.otf2`, the file to open, with `NAME.def` and the folder `NAME` beside it.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    exported_calls::require_calls(&recording.header)?;
    let name = archive_name(path)?;
    check_replaceable(&path.with_file_name(&name))?;
    let output = AtomicOutput::new(path)?;
    let folder = output.staged_path(&name);
    fs::create_dir(&folder).with_path(&folder)?;
    let mut definitions = DefinitionWriter::default();
    let archive = ExportContext {
        recording,
        comm_ranks: CommRankMap::new(recording),
        calling_contexts: CallingContexts::new(&recording.header.sites),
        program_begin: definitions::program_begin(&recording.header, &mut definitions),
        folder,
        time_origin: TimeOrigin::from_header(&recording.header),
    };
    let ranks = (0..recording.header.rank_count()).into_par_iter().map(|rank| {
        let written = rank_writer::write(&archive, rank);
        if recording.header.rank(rank).is_some() {
            progress();
        }
        written
    });
    let ranks = ranks.collect::<Result<Vec<_>, Error>>()?;
    let location_count = definitions::define_all(&archive, &ranks, &mut definitions)?;
    let chunk = write_definitions(&definitions, output.staged_path(&format!("{name}.def")))?;
    let anchor = build_anchor(recording, definitions.len() as u64, chunk, location_count);
    let anchor_file = output.staged_path(&format!("{name}.otf2"));
    fs::write(&anchor_file, anchor.encode()).with_path(&anchor_file)?;
    let notes = UnmappedOperations::notes(ranks.iter().map(|rank| &rank.unmapped));
    let written = output.commit(&[&name, &format!("{name}.def"), &format!("{name}.otf2")])?;
    Ok(ExportSummary { notes, ..written })
}

/// What the parts of an export share.
struct ExportContext<'a> {
    recording: &'a Recording,
    comm_ranks: CommRankMap,
    calling_contexts: CallingContexts,
    /// The event at which each process starts.
    program_begin: EventRecord,
    /// The folder of the locations.
    folder: PathBuf,
    /// Time origin of the archive.
    time_origin: TimeOrigin,
}

/// The common name of an archive's files.
fn archive_name(path: &Path) -> Result<String, Error> {
    let unnamed = || Error::InvalidOutputPath { path: path.to_owned(), what: "is not a valid archive name; expected NAME.otf2".into() };
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".otf2"));
    name.filter(|name| !name.is_empty()).map(str::to_owned).ok_or_else(unnamed)
}

/// The folder may have the name of anything: replace it only if it belongs to an archive.
fn check_replaceable(folder: &Path) -> Result<(), Error> {
    let refuse = || {
        Err(Error::InvalidOutputPath {
            path: folder.to_owned(),
            what: "exists and is not the folder of an archive: the events of the archive would go there".into(),
        })
    };
    if !folder.exists() {
        return Ok(());
    }
    if !folder.is_dir() {
        return refuse();
    }
    for entry in fs::read_dir(folder).with_path(folder)? {
        let name = entry.with_path(folder)?.file_name();
        if !Path::new(&name).extension().is_some_and(|ending| ending == "evt" || ending == "def") {
            return refuse();
        }
    }
    Ok(())
}

/// Writes the definitions; returns the chunk size.
fn write_definitions(definitions: &DefinitionWriter, path: PathBuf) -> Result<u64, Error> {
    let longest = definitions.records().map(<[u8]>::len).max().unwrap_or(0);
    let chunk = ChunkWriter::min_chunk_size(longest).max(DEFINITION_CHUNK_SIZE);
    if chunk > MAX_CHUNK_SIZE {
        let what = "a communicator has more members than OTF2 can list".into();
        return Err(Error::InvalidOutputPath { path, what });
    }
    let mut writer = ChunkWriter::create(path, ChunkContent::Definitions, chunk)?;
    for record in definitions.records() {
        writer.write_definition(record)?;
    }
    writer.finish()?;
    Ok(chunk)
}

fn build_anchor(recording: &Recording, definitions: u64, definition_chunk_size: u64, location_count: u64) -> AnchorFile {
    let header = &recording.header;
    let complete = recording.incomplete_ranks().is_empty() && header.ranks.iter().all(|rank| rank.dropped == 0);
    AnchorFile {
        event_chunk_size: EVENT_CHUNK_SIZE,
        definition_chunk_size,
        location_count,
        definition_count: definitions,
        machine_name: header.hosts.first().cloned().unwrap_or_default(),
        creator: format!("Sintonia {}", env!("CARGO_PKG_VERSION")),
        description: header.command.join(" "),
        properties: if complete { vec![(COMMUNICATION_COMPLETE.into(), "true".into())] } else { Vec::new() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_folder_of_an_archive_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        assert!(check_replaceable(&path).is_ok());
        fs::create_dir(&path).unwrap();
        fs::write(path.join("0.evt"), "").unwrap();
        assert!(check_replaceable(&path).is_ok());
        fs::write(path.join("thesis.tex"), "").unwrap();
        assert!(
            check_replaceable(&path)
                .unwrap_err()
                .to_string()
                .ends_with("run: exists and is not the folder of an archive: the events of the archive would go there")
        );
    }

    #[test]
    fn an_archive_has_the_name_of_its_file() {
        assert_eq!(archive_name(Path::new("a/run.otf2")).unwrap(), "run");
        for name in ["a/run", ".otf2", "/"] {
            assert!(archive_name(Path::new(name)).is_err(), "{name}");
        }
    }
}
