//! Files derived from a recording, to answer queries quickly: location, format, validation.
//!
//! ```text
//! sections | table of contents | its length u64 | its checksum u32 | format version u32 | magic number (8 bytes)
//! ```
//!
//! Such a file is stored in the recording, or if that is not writable, in the user's cache directory, or as a last resort in an unnamed
//! temporary file. A file that is damaged or does not match the state of the recording is ignored.

use std::fs::{DirBuilder, DirEntry, File, Metadata};
use std::os::unix::fs::{DirBuilderExt, FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sintonia_recording::{Recording, header, sealed};

use crate::temp_files::{self, LockedTempFile};

const FOOTER_BYTES: usize = 24;
/// Name prefix of incomplete files.
const TEMP_PREFIX: &str = ".view.";
/// Unused files are removed from the cache after this time; they can be created again.
const CACHE_RETENTION: Duration = Duration::from_secs(30 * 24 * 3600);

/// Why such a file cannot be created or read.
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
        /// The cause.
        source: std::io::Error,
    },
    /// The recording was replaced in the meantime.
    #[error("the recording has changed since it was opened: start view again")]
    Changed,
}

/// What a type of file says about its sections.
pub(crate) trait CacheContents: Serialize + DeserializeOwned {
    /// Name of the file inside a recording.
    const FILE_NAME: &'static str;
    /// Identifies the type of file.
    const MAGIC: &'static [u8; 8];
    /// Version of the format.
    const FORMAT_VERSION: u32;

    /// Whether everything it refers to lies within a file of this length.
    fn is_valid(&self, length: u64) -> bool;
}

/// The table of contents of a file.
#[derive(Serialize, Deserialize)]
struct TableOfContents<C> {
    /// Identifies the state of the recording it was created from.
    identity: u64,
    /// All sections, in order.
    sections: Vec<FileSection>,
    contents: C,
}

/// A section of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileSection {
    /// Offset in the file.
    at: u64,
    /// Length in bytes.
    bytes: u64,
    /// CRC-32 of the bytes.
    checksum: u32,
}

/// Whether a range of bytes lies within a file of this length.
pub(crate) fn is_in_bounds(at: u64, bytes: u64, length: u64) -> bool {
    at.checked_add(bytes).is_some_and(|end| end <= length)
}

/// An open file.
pub(crate) struct CacheFile<C> {
    file: File,
    path: PathBuf,
    /// Identifies the state of the recording it was created from.
    pub identity: u64,
    /// What it says about its sections.
    pub contents: C,
}

/// Distinguishes versions of a file with the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileStamp {
    length: u64,
    /// Modification time in nanoseconds.
    modified_ns: u128,
}

impl FileStamp {
    /// The stamp of a file with these metadata.
    pub(crate) fn from_metadata(file: &Metadata) -> FileStamp {
        let written = file.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        FileStamp { length: file.len(), modified_ns: written.map_or(0, |time| time.as_nanos()) }
    }
}

/// State of the files of a recording.
pub(crate) struct RecordingStamps {
    /// One per rank in the header, in order; `None` if the file is missing.
    pub ranks: Vec<Option<FileStamp>>,
    header: Option<FileStamp>,
}

impl RecordingStamps {
    /// The current state.
    pub(crate) fn from_recording(recording: &Recording) -> RecordingStamps {
        let stamp = |name: &str| std::fs::metadata(recording.folder().join(name)).ok().map(|file| FileStamp::from_metadata(&file));
        let ranks = recording.header.ranks.iter().map(|rank| stamp(&sealed::file_name(rank.rank))).collect();
        RecordingStamps { ranks, header: stamp(header::FILE_NAME) }
    }

    /// A number that changes when any file of the recording does.
    pub(crate) fn identity(&self, recording: &Recording) -> u64 {
        let mut check = crc32fast::Hasher::new();
        let mut bytes: u64 = 0;
        let names = recording.header.ranks.iter().map(|rank| sealed::file_name(rank.rank)).chain([header::FILE_NAME.to_owned()]);
        for (name, stamp) in names.zip(self.ranks.iter().chain([&self.header])) {
            let stamp = stamp.unwrap_or(FileStamp { length: u64::MAX, modified_ns: 0 });
            check.update(name.as_bytes());
            check.update(&stamp.length.to_le_bytes());
            check.update(&stamp.modified_ns.to_le_bytes());
            bytes = bytes.wrapping_add(stamp.length);
        }
        u64::from(check.finalize()) << 32 | bytes & 0xffff_ffff
    }
}

/// Directory of files for recordings that are not writable.
fn cache_dir() -> Option<PathBuf> {
    let xdg_cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    Some(xdg_cache.or_else(|| Some(std::env::home_dir()?.join(".cache")))?.join("sintonia"))
}

fn cache_file_name(identity: u64, name: &str) -> String {
    format!("{identity:016x}-{name}")
}

/// Whether a file name in the cache was created by this module.
fn is_cache_file_name(name: &str) -> bool {
    name.split_once('-').is_some_and(|(identity, name)| {
        identity.len() == 16 && identity.bytes().all(|digit| digit.is_ascii_hexdigit()) && name.starts_with("view.")
    })
}

/// Paths where the file of a recording may be, preferred first.
fn candidate_paths<C: CacheContents>(recording: &Recording, identity: u64) -> Vec<PathBuf> {
    let cached = cache_dir().map(|folder| folder.join(cache_file_name(identity, C::FILE_NAME)));
    [Some(recording.folder().join(C::FILE_NAME)), cached].into_iter().flatten().collect()
}

/// Removes incomplete files of killed processes, and expired files.
pub(crate) fn remove_stale(recording: &Recording) {
    let cache = cache_dir();
    [Some(recording.folder()), cache.as_deref()].into_iter().flatten().for_each(|folder| temp_files::remove_stale(folder, TEMP_PREFIX));
    cache.iter().for_each(|folder| evict_unused(folder, SystemTime::now() - CACHE_RETENTION));
}

/// Removes cached files not used since a time. Open files remain usable.
fn evict_unused(cache: &Path, since: SystemTime) {
    let files = std::fs::read_dir(cache).into_iter().flatten().flatten();
    let is_old = |file: &DirEntry| file.metadata().and_then(|metadata| metadata.modified()).is_ok_and(|used| used < since);
    for file in files.filter(|file| is_cache_file_name(&file.file_name().to_string_lossy()) && is_old(file)) {
        // Best effort.
        let _ = std::fs::remove_file(file.path());
    }
}

/// The file for this state of a recording, if it exists and is valid.
pub(crate) fn find<C: CacheContents>(recording: &Recording, identity: u64) -> Option<CacheFile<C>> {
    let is_current = |store: &CacheFile<C>| store.identity == identity;
    let found = candidate_paths::<C>(recording, identity).iter().find_map(|path| open_valid(path).filter(is_current))?;
    if !found.path.starts_with(recording.folder()) {
        // Marks the cached file as used; fails without write permission.
        let _ = found.file.set_modified(SystemTime::now());
    }
    Some(found)
}

/// Opens a file; `None` if it is of another type or damaged.
fn open_valid<C: CacheContents>(path: &Path) -> Option<CacheFile<C>> {
    let file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let footer_at = length.checked_sub(FOOTER_BYTES as u64)?;
    let mut footer = [0; FOOTER_BYTES];
    file.read_exact_at(&mut footer, footer_at).ok()?;
    let number = |at: usize| u32::from_le_bytes([footer[at], footer[at + 1], footer[at + 2], footer[at + 3]]);
    if &footer[16..] != C::MAGIC || number(12) != C::FORMAT_VERSION {
        return None;
    }
    let bytes = u64::from(number(0)) | u64::from(number(4)) << 32;
    let at = footer_at.checked_sub(bytes)?;
    let mut contents = vec![0; usize::try_from(bytes).ok()?];
    file.read_exact_at(&mut contents, at).ok()?;
    if crc32fast::hash(&contents) != number(8) {
        return None;
    }
    let TableOfContents { identity, sections, contents }: TableOfContents<C> = postcard::from_bytes(&contents).ok()?;
    let inside = sections.iter().all(|section| is_in_bounds(section.at, section.bytes, at)) && contents.is_valid(at);
    (inside && sections.par_iter().all(|section| checksum_matches(&file, section))).then_some(())?;
    Some(CacheFile { file, path: path.to_owned(), identity, contents })
}

fn checksum_matches(file: &File, section: &FileSection) -> bool {
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

/// Appends sections to a file, from several threads.
pub(crate) struct SectionWriter<'a> {
    file: &'a File,
    path: &'a Path,
    sections: Mutex<Vec<FileSection>>,
}

impl SectionWriter<'_> {
    /// Writes a section and returns its offset in the file.
    pub(crate) fn append(&self, bytes: &[u8]) -> Result<u64, Error> {
        let at = self.reserve(bytes.len() as u64, crc32fast::hash(bytes));
        let written = self.file.write_all_at(bytes, at);
        written.map_err(|source| Error::Io { path: self.path.to_owned(), source })?;
        Ok(at)
    }

    fn reserve(&self, bytes: u64, checksum: u32) -> u64 {
        let mut sections = self.sections.lock().unwrap_or_else(PoisonError::into_inner);
        let at = end(&sections);
        sections.push(FileSection { at, bytes, checksum });
        at
    }
}

/// Where the last section ends.
fn end(sections: &[FileSection]) -> u64 {
    sections.last().map_or(0, |last| last.at + last.bytes)
}

/// Creates a file at the first writable path: as a temporary file that is renamed when complete.
pub(crate) fn create<C: CacheContents>(
    recording: &Recording,
    identity: u64,
    fill: impl Fn(&SectionWriter) -> Result<C, Error>,
) -> Result<CacheFile<C>, Error> {
    for path in candidate_paths::<C>(recording, identity) {
        let Ok(temp_file) = create_temp_file(recording, &path) else { continue };
        match write_contents(temp_file.file(), &path, identity, &fill) {
            // A full disk must not prevent showing the recording.
            Err(Error::Io { .. }) => continue,
            Err(error) => return Err(error),
            // Do not store a file that does not match the recording.
            Ok(_) if RecordingStamps::from_recording(recording).identity(recording) != identity => return Err(Error::Changed),
            Ok(contents) => {
                if let Ok(file) = temp_file.persist(&path) {
                    return Ok(CacheFile { file, path, identity, contents });
                }
            }
        }
    }
    let path = std::env::temp_dir();
    let file = tempfile::tempfile().map_err(|source| Error::Io { path: path.clone(), source })?;
    let contents = write_contents(&file, &path, identity, &fill)?;
    Ok(CacheFile { file, path, identity, contents })
}

/// A temporary file to be renamed to this path, with the read permissions of the recording.
fn create_temp_file(recording: &Recording, path: &Path) -> std::io::Result<LockedTempFile> {
    const DEFAULT_MODE: u32 = 0o644;
    let metadata = std::fs::metadata(recording.folder().join(header::FILE_NAME));
    let mode = metadata.map_or(DEFAULT_MODE, |file| file.permissions().mode() & 0o666) | 0o600;
    let folder = path.parent().ok_or(std::io::ErrorKind::NotFound)?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    LockedTempFile::new(folder, &format!("{TEMP_PREFIX}{name}."), mode)
}

fn write_contents<C: CacheContents>(
    file: &File,
    path: &Path,
    identity: u64,
    fill: impl Fn(&SectionWriter) -> Result<C, Error>,
) -> Result<C, Error> {
    let writer = SectionWriter { file, path, sections: Mutex::default() };
    let contents = fill(&writer)?;
    let sections = writer.sections.into_inner().unwrap_or_else(PoisonError::into_inner);
    let end = end(&sections);
    let table = TableOfContents { identity, sections, contents };
    let failed = |source: std::io::Error| Error::Io { path: path.to_owned(), source };
    let mut bytes = postcard::to_allocvec(&table).map_err(|error| failed(std::io::Error::other(error)))?;
    let (length, checksum) = (bytes.len() as u64, crc32fast::hash(&bytes));
    bytes.extend(length.to_le_bytes());
    bytes.extend(checksum.to_le_bytes());
    bytes.extend(C::FORMAT_VERSION.to_le_bytes());
    bytes.extend(C::MAGIC);
    file.write_all_at(&bytes, end).map_err(failed)?;
    Ok(table.contents)
}

impl<C> CacheFile<C> {
    /// Reads a range of the file into `bytes`.
    pub(crate) fn read_at(&self, at: u64, length: usize, bytes: &mut Vec<u8>) -> Result<(), Error> {
        bytes.resize(length, 0);
        self.file.read_exact_at(bytes, at).map_err(|source| Error::Io { path: self.path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_files_are_evicted_from_the_cache() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let make = |name: &str, used: SystemTime| File::create(folder.path().join(name)).unwrap().set_modified(used).unwrap();
        let (old, used, another) = (cache_file_name(1, "view.index"), cache_file_name(2, "view.analysis"), "0-view.index".to_owned());
        make(&old, now - CACHE_RETENTION - Duration::from_secs(60));
        make(&used, now - CACHE_RETENTION + Duration::from_secs(60));
        make(&another, UNIX_EPOCH);
        evict_unused(folder.path(), now - CACHE_RETENTION);
        let is_there = |name: &String| folder.path().join(name).exists();
        assert_eq!([&old, &used, &another].map(is_there), [false, true, true]);
    }
}
