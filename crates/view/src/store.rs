//! Files that are made from a recording to answer questions quickly: where they stand, how they are written, whether they can be trusted.
//!
//! ```text
//! sections | contents | bytes of the contents u64 | their checksum u32 | format u32 | 8 bytes that name the kind of file
//! ```
//!
//! Such a file stands in the recording, or if that cannot be written, in the user's cache, or for as long as it is open in a temporary place.
//! One that is damaged, or of another state of the recording, is as good as none.

use std::fs::{DirBuilder, DirEntry, File, Metadata};
use std::os::unix::fs::{DirBuilderExt, FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sintonia_recording::{Recording, header, sealed};

use crate::aside::{self, Aside};

const FOOTER_BYTES: usize = 24;
/// Names of files that are not whole yet begin so.
const UNFINISHED: &str = ".view.";
/// What nobody has looked for in this time is not kept in the cache any longer: it can be made again.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

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
    /// The recording is another one by now.
    #[error("the recording has changed since it was opened: start view again")]
    Changed,
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

/// What tells a file from another one of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    length: u64,
    /// When it was written last, in nanoseconds.
    written: u128,
}

impl Stamp {
    /// The stamp of a file.
    pub fn of(file: &Metadata) -> Stamp {
        let written = file.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Stamp { length: file.len(), written: written.map_or(0, |time| time.as_nanos()) }
    }
}

/// The state of a recording's files.
pub struct Stamps {
    /// For each rank that the header tells of, in order; none where there is no file.
    pub ranks: Vec<Option<Stamp>>,
    header: Option<Stamp>,
}

impl Stamps {
    /// The present state.
    pub fn of(recording: &Recording) -> Stamps {
        let stamp = |name: &str| std::fs::metadata(recording.folder().join(name)).ok().map(|file| Stamp::of(&file));
        let ranks = recording.header.ranks.iter().map(|rank| stamp(&sealed::file_name(rank.rank))).collect();
        Stamps { ranks, header: stamp(header::FILE) }
    }

    /// A number that is another one when a file of the recording is.
    pub fn identity(&self, recording: &Recording) -> u64 {
        let mut check = crc32fast::Hasher::new();
        let mut bytes: u64 = 0;
        let names = recording.header.ranks.iter().map(|rank| sealed::file_name(rank.rank)).chain([header::FILE.to_owned()]);
        for (name, stamp) in names.zip(self.ranks.iter().chain([&self.header])) {
            let stamp = stamp.unwrap_or(Stamp { length: u64::MAX, written: 0 });
            check.update(name.as_bytes());
            check.update(&stamp.length.to_le_bytes());
            check.update(&stamp.written.to_le_bytes());
            bytes = bytes.wrapping_add(stamp.length);
        }
        u64::from(check.finalize()) << 32 | bytes & 0xffff_ffff
    }
}

/// Where files stand for recordings that cannot be written.
fn cache() -> Option<PathBuf> {
    let told = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    Some(told.or_else(|| Some(std::env::home_dir()?.join(".cache")))?.join("sintonia"))
}

/// The name of a file in the cache.
fn cached_name(identity: u64, name: &str) -> String {
    format!("{identity:016x}-{name}")
}

/// Whether a file of the cache was made here, by its name.
fn is_cached(name: &str) -> bool {
    name.split_once('-').is_some_and(|(identity, name)| {
        identity.len() == 16 && identity.bytes().all(|digit| digit.is_ascii_hexdigit()) && name.starts_with("view.")
    })
}

/// Where the file of a recording can be, the best place first.
fn places<C: Contents>(recording: &Recording, identity: u64) -> Vec<PathBuf> {
    let cached = cache().map(|folder| folder.join(cached_name(identity, C::NAME)));
    [Some(recording.folder().join(C::NAME)), cached].into_iter().flatten().collect()
}

/// Removes what somebody left half made who was killed, and what nobody needs any more.
pub fn sweep(recording: &Recording) {
    let cache = cache();
    [Some(recording.folder()), cache.as_deref()].into_iter().flatten().for_each(|folder| aside::sweep(folder, UNFINISHED));
    cache.iter().for_each(|folder| forget(folder, SystemTime::now() - KEPT));
}

/// Removes what nobody has looked for in the cache since a moment. Who has it open keeps it.
fn forget(cache: &Path, since: SystemTime) {
    let files = std::fs::read_dir(cache).into_iter().flatten().flatten();
    let is_old = |file: &DirEntry| file.metadata().and_then(|known| known.modified()).is_ok_and(|used| used < since);
    for file in files.filter(|file| is_cached(&file.file_name().to_string_lossy()) && is_old(file)) {
        // It stays where it cannot be removed, and is in nobody's way.
        let _ = std::fs::remove_file(file.path());
    }
}

/// The file of a recording in this state, if it is there and sound.
pub fn find<C: Contents>(recording: &Recording, identity: u64) -> Option<Store<C>> {
    let of_this_state = |store: &Store<C>| store.contents.identity() == identity;
    let found = places::<C>(recording, identity).iter().find_map(|path| read(path).filter(of_this_state))?;
    if !found.path.starts_with(recording.folder()) {
        // In the cache, what is looked for is kept; who may only read it has no say in that.
        let _ = found.file.set_modified(SystemTime::now());
    }
    Some(found)
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
        let Ok(aside) = begun(recording, &path) else { continue };
        match write(aside.file(), &path, &fill) {
            // A full disk is no reason to show nothing.
            Err(Error::Io { .. }) => continue,
            Err(error) => return Err(error),
            // Under its name it would lie beside a recording that it is not of.
            Ok(_) if Stamps::of(recording).identity(recording) != identity => return Err(Error::Changed),
            Ok(contents) => {
                if let Ok(file) = aside.name(&path) {
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

/// A file that is to have this name. Whoever may read the recording may read what was made from it, and nobody else.
fn begun(recording: &Recording, path: &Path) -> std::io::Result<Aside> {
    const USUAL: u32 = 0o644;
    let known = std::fs::metadata(recording.folder().join(header::FILE));
    let mode = known.map_or(USUAL, |file| file.permissions().mode() & 0o666) | 0o600;
    let folder = path.parent().ok_or(std::io::ErrorKind::NotFound)?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Aside::new(folder, &format!("{UNFINISHED}{name}."), mode)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_looks_for_is_not_kept_in_the_cache() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let make = |name: &str, used: SystemTime| File::create(folder.path().join(name)).unwrap().set_modified(used).unwrap();
        let (old, used, another) = (cached_name(1, "view.index"), cached_name(2, "view.analysis"), "0-view.index".to_owned());
        make(&old, now - KEPT - Duration::from_secs(60));
        make(&used, now - KEPT + Duration::from_secs(60));
        make(&another, UNIX_EPOCH);
        forget(folder.path(), now - KEPT);
        let is_there = |name: &String| folder.path().join(name).exists();
        assert_eq!([&old, &used, &another].map(is_there), [false, true, true]);
    }
}
