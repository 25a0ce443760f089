//! Files that are made from a recording to answer questions quickly: where they stand, how they are written, whether they can be trusted.
//!
//! ```text
//! sections | contents | bytes of the contents u64 | their checksum u32 | format u32 | 8 bytes that name the kind of file
//! ```
//!
//! Such a file stands in the recording, or if that cannot be written, in the user's cache, or for as long as it is open in a temporary place.
//! One that is damaged, or of another state of the recording, is as good as none.

use std::fs::File;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sintonia_recording::{Recording, header, sealed};

const FOOTER_BYTES: usize = 24;

/// Why such a file cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] sintonia_recording::Error),
    /// The file cannot be written or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// What a file tells of its sections.
pub trait Contents: Serialize + DeserializeOwned {
    /// The name of the file inside a recording.
    const NAME: &'static str;
    /// Names the kind of file.
    const MAGIC: &'static [u8; 8];
    /// The version of its format.
    const FORMAT: u32;

    /// The state of the recording that it was made from.
    fn identity(&self) -> u64;

    /// The sections.
    fn sections(&self) -> &[Section];

    /// Whether everything it tells of is in the first so many bytes of the file.
    fn fits(&self, length: u64) -> bool;
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Its first byte.
    pub at: u64,
    /// Its length.
    pub bytes: u64,
    /// Its checksum.
    pub checksum: u32,
}

/// Whether a part of a file lies in its first so many bytes.
pub fn is_inside(at: u64, bytes: u64, length: u64) -> bool {
    at.checked_add(bytes).is_some_and(|end| end <= length)
}

/// A file, open.
pub struct Store<C> {
    file: File,
    path: PathBuf,
    /// What it tells of its sections.
    pub contents: C,
}

/// A number that is another one when a file of the recording is.
pub fn identity(recording: &Recording) -> u64 {
    let folder = recording.folder();
    let mut check = crc32fast::Hasher::new();
    let mut bytes: u64 = 0;
    let ranks = recording.header.ranks.iter().map(|rank| sealed::file_name(rank.rank));
    for name in ranks.chain([header::FILE.to_owned()]) {
        let file = std::fs::metadata(folder.join(&name)).ok();
        let length = file.as_ref().map_or(u64::MAX, |file| file.len());
        let changed = file.and_then(|file| file.modified().ok()?.duration_since(UNIX_EPOCH).ok()).map_or(0, |time| time.as_nanos());
        check.update(name.as_bytes());
        check.update(&length.to_le_bytes());
        check.update(&changed.to_le_bytes());
        bytes = bytes.wrapping_add(length);
    }
    u64::from(check.finalize()) << 32 | bytes & 0xffff_ffff
}

/// Where the file of a recording can be, the best place first.
fn places<C: Contents>(recording: &Recording, identity: u64) -> Vec<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")));
    let cached = cache.map(|folder| folder.join("sintonia").join(format!("{identity:016x}-{}", C::NAME)));
    [Some(recording.folder().join(C::NAME)), cached].into_iter().flatten().collect()
}

/// The file of a recording in this state, if it is there and sound.
pub fn find<C: Contents>(recording: &Recording, identity: u64) -> Option<Store<C>> {
    places::<C>(recording, identity).iter().find_map(|path| read(path).filter(|store: &Store<C>| store.contents.identity() == identity))
}

/// Reads a file; `None` if it is another one, or damaged.
fn read<C: Contents>(path: &Path) -> Option<Store<C>> {
    let file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let footer_at = length.checked_sub(FOOTER_BYTES as u64)?;
    let mut footer = [0; FOOTER_BYTES];
    file.read_exact_at(&mut footer, footer_at).ok()?;
    let number = |at: usize| u32::from_le_bytes([footer[at], footer[at + 1], footer[at + 2], footer[at + 3]]);
    if &footer[16..] != C::MAGIC || number(12) != C::FORMAT {
        return None;
    }
    let bytes = u64::from(number(0)) | u64::from(number(4)) << 32;
    let at = footer_at.checked_sub(bytes)?;
    let mut contents = vec![0; usize::try_from(bytes).ok()?];
    file.read_exact_at(&mut contents, at).ok()?;
    if crc32fast::hash(&contents) != number(8) {
        return None;
    }
    let contents: C = postcard::from_bytes(&contents).ok()?;
    let sections = contents.sections();
    let inside = sections.iter().all(|section| is_inside(section.at, section.bytes, at)) && contents.fits(at);
    (inside && sections.par_iter().all(|section| is_sound(&file, section))).then_some(())?;
    Some(Store { file, path: path.to_owned(), contents })
}

fn is_sound(file: &File, section: &Section) -> bool {
    let (mut check, mut buffer) = (crc32fast::Hasher::new(), vec![0; 1 << 16]);
    let (mut at, end) = (section.at, section.at + section.bytes);
    while at < end {
        let part = &mut buffer[..((end - at) as usize).min(1 << 16)];
        if file.read_exact_at(part, at).is_err() {
            return false;
        }
        check.update(part);
        at += part.len() as u64;
    }
    check.finalize() == section.checksum
}

/// Adds sections to a file, whichever comes first.
pub struct Appender<'a> {
    file: &'a File,
    path: &'a Path,
    end: Mutex<u64>,
}

impl Appender<'_> {
    /// Writes a section, and says where it is.
    pub fn append(&self, bytes: &[u8]) -> Result<Section, Error> {
        let length = bytes.len() as u64;
        let at = {
            let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
            *end += length;
            *end - length
        };
        let written = self.file.write_all_at(bytes, at);
        written.map_err(|source| Error::Io { path: self.path.to_owned(), source })?;
        Ok(Section { at, bytes: length, checksum: crc32fast::hash(bytes) })
    }
}

/// Makes a file in the best place that can be written: aside, and only when it is whole under its name.
pub fn make<C: Contents>(recording: &Recording, identity: u64, fill: impl Fn(&Appender) -> Result<C, Error>) -> Result<Store<C>, Error> {
    for path in places::<C>(recording, identity) {
        let Some(folder) = path.parent() else { continue };
        // Whoever may read the recording may read what was made from it.
        let permissions = std::fs::Permissions::from_mode(0o644);
        let aside = std::fs::create_dir_all(folder).and_then(|()| tempfile::Builder::new().permissions(permissions).tempfile_in(folder));
        let Ok(aside) = aside else { continue };
        match write(aside.as_file(), &path, &fill) {
            // A full disk is no reason to show nothing.
            Err(Error::Io { .. }) => continue,
            Err(error) => return Err(error),
            Ok(contents) => {
                if let Ok(file) = aside.persist(&path) {
                    return Ok(Store { file, path, contents });
                }
            }
        }
    }
    let path = std::env::temp_dir();
    let file = tempfile::tempfile().map_err(|source| Error::Io { path: path.clone(), source })?;
    let contents = write(&file, &path, &fill)?;
    Ok(Store { file, path, contents })
}

fn write<C: Contents>(file: &File, path: &Path, fill: impl Fn(&Appender) -> Result<C, Error>) -> Result<C, Error> {
    let appender = Appender { file, path, end: Mutex::new(0) };
    let contents = fill(&appender)?;
    let failed = |source: std::io::Error| Error::Io { path: path.to_owned(), source };
    let mut bytes = postcard::to_allocvec(&contents).map_err(|error| failed(std::io::Error::other(error)))?;
    let (length, checksum) = (bytes.len() as u64, crc32fast::hash(&bytes));
    bytes.extend(length.to_le_bytes());
    bytes.extend(checksum.to_le_bytes());
    bytes.extend(C::FORMAT.to_le_bytes());
    bytes.extend(C::MAGIC);
    let end = *appender.end.lock().unwrap_or_else(PoisonError::into_inner);
    file.write_all_at(&bytes, end).map_err(failed)?;
    Ok(contents)
}

impl<C> Store<C> {
    /// Replaces `bytes` by a part of the file.
    pub fn read(&self, at: u64, length: usize, bytes: &mut Vec<u8>) -> Result<(), Error> {
        bytes.resize(length, 0);
        self.file.read_exact_at(bytes, at).map_err(|source| Error::Io { path: self.path.clone(), source })
    }
}
