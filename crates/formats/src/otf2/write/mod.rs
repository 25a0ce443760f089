//! A recording as an OTF2 archive.
//!
//! Ranks are written one by one, each a stream of calls that becomes a stream of events; what they have in common, the global
//! definitions, comes last, because it says how many events there are.

mod definitions;
mod memory;
mod places;
mod process;
mod rank;
mod sites;

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sintonia_recording::Recording;

use crate::error::{At, Error};
use crate::otf2::anchor::{Anchor, MOST_CHUNK_BYTES};
use crate::otf2::chunks::{Content, Writer};
use crate::otf2::definition::Definitions;
use crate::otf2::event::Event;
use crate::rows;
use crate::timeline::Timeline;
use crate::written::{Aside, Written};
use places::Places;
use process::Missing;
use sites::Sites;

/// Bytes of a chunk of events: the smallest that OTF2 allows, because each thread of a rank holds one while it is written.
const EVENT_CHUNK: u64 = 256 << 10;
/// Bytes of a chunk of definitions, unless one of them needs more.
const DEFINITION_CHUNK: u64 = 4 << 20;
/// What Scalasca relies on: that no message lacks its other end.
const COMPLETE: &str = "OTF2::MPI_COMMUNICATION_COMPLETE";

/// The files and the folder that [`write()`] makes or replaces; an error if the folder's name is that of something else.
pub fn files(path: &Path) -> Result<[PathBuf; 3], Error> {
    let name = archive_name(path)?;
    let folder = path.with_file_name(&name);
    refuse_to_replace(&folder)?;
    Ok([path.to_owned(), path.with_file_name(format!("{name}.def")), folder])
}

/// Writes a recording as an OTF2 archive: `NAME.otf2`, the file to open, and `NAME.def` and the folder `NAME` beside it.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<Written, Error> {
    rows::check_for_calls(&recording.header)?;
    let name = archive_name(path)?;
    refuse_to_replace(&path.with_file_name(&name))?;
    let aside = Aside::beside(path)?;
    let folder = aside.file(&name);
    fs::create_dir(&folder).at(&folder)?;
    let mut definitions = Definitions::default();
    let archive = Archive {
        recording,
        places: Places::new(recording),
        sites: Sites::new(&recording.header.sites),
        program: definitions::program(&recording.header, &mut definitions),
        folder,
        timeline: Timeline::of(&recording.header),
    };
    let ranks = (0..recording.header.rank_count()).into_par_iter().map(|rank| {
        let written = rank::write(&archive, rank);
        if recording.header.rank(rank).is_some() {
            progress();
        }
        written
    });
    let ranks = ranks.collect::<Result<Vec<_>, Error>>()?;
    let locations = definitions::define(&archive, &ranks, &mut definitions)?;
    let chunk = write_definitions(&definitions, aside.file(&format!("{name}.def")))?;
    let anchor = anchor(recording, definitions.len() as u64, chunk, locations);
    let anchor_file = aside.file(&format!("{name}.otf2"));
    fs::write(&anchor_file, anchor.bytes()).at(&anchor_file)?;
    let notes = Missing::notes(ranks.iter().map(|rank| &rank.missing));
    let written = aside.publish(&[&name, &format!("{name}.def"), &format!("{name}.otf2")])?;
    Ok(Written { notes, ..written })
}

/// What the parts of an archive are made from.
struct Archive<'a> {
    recording: &'a Recording,
    places: Places,
    sites: Sites,
    /// The event at which each process begins.
    program: Event,
    /// Where the files of locations go.
    folder: PathBuf,
    /// The times of the archive.
    timeline: Timeline,
}

/// The name that the files of an archive share.
fn archive_name(path: &Path) -> Result<String, Error> {
    let unnamed = || Error::InTheWay { path: path.to_owned(), what: "is no name for an archive; give NAME.otf2".into() };
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".otf2"));
    name.filter(|name| !name.is_empty()).map(str::to_owned).ok_or_else(unnamed)
}

/// The folder of an archive may have the name of anything: it is replaced only if it is one.
fn refuse_to_replace(folder: &Path) -> Result<(), Error> {
    let refuse =
        || Err(Error::InTheWay { path: folder.to_owned(), what: "is in the way: the events of the archive would go there".into() });
    if !folder.exists() {
        return Ok(());
    }
    if !folder.is_dir() {
        return refuse();
    }
    for entry in fs::read_dir(folder).at(folder)? {
        let name = entry.at(folder)?.file_name();
        if !Path::new(&name).extension().is_some_and(|ending| ending == "evt" || ending == "def") {
            return refuse();
        }
    }
    Ok(())
}

/// Writes the definitions and says how large their chunks are.
fn write_definitions(definitions: &Definitions, path: PathBuf) -> Result<u64, Error> {
    let longest = definitions.records().map(<[u8]>::len).max().unwrap_or(0);
    let chunk = Writer::least_chunk(longest).max(DEFINITION_CHUNK);
    if chunk > MOST_CHUNK_BYTES {
        let what = "a communicator has more members than OTF2 can list".into();
        return Err(Error::InTheWay { path, what });
    }
    let mut writer = Writer::create(path, Content::Definitions, chunk)?;
    for record in definitions.records() {
        writer.definition(record)?;
    }
    writer.finish()?;
    Ok(chunk)
}

fn anchor(recording: &Recording, definitions: u64, definition_chunk: u64, locations: u64) -> Anchor {
    let header = &recording.header;
    let complete = recording.incomplete_ranks().is_empty() && header.ranks.iter().all(|rank| rank.dropped == 0);
    Anchor {
        event_chunk: EVENT_CHUNK,
        definition_chunk,
        locations,
        definitions,
        machine: header.hosts.first().cloned().unwrap_or_default(),
        creator: format!("Sintonia {}", env!("CARGO_PKG_VERSION")),
        description: header.command.join(" "),
        properties: if complete { vec![(COMPLETE.into(), "true".into())] } else { Vec::new() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_folder_of_an_archive_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        assert!(refuse_to_replace(&path).is_ok());
        fs::create_dir(&path).unwrap();
        fs::write(path.join("0.evt"), "").unwrap();
        assert!(refuse_to_replace(&path).is_ok());
        fs::write(path.join("thesis.tex"), "").unwrap();
        assert!(
            refuse_to_replace(&path).unwrap_err().to_string().ends_with("run: is in the way: the events of the archive would go there")
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
