//! Small files of a recording that are read as a whole: eight bytes that name the format, the content, and a CRC-32 of both.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::error::{Error, WithPath};

/// The name of a format.
pub(crate) type Magic = [u8; 8];

/// Writes a file and returns its size in bytes; none if there is no content.
pub(crate) fn write(path: &Path, magic: &Magic, content: &[u8]) -> Result<u64, Error> {
    if content.is_empty() {
        return Ok(0);
    }
    let mut bytes = [&magic[..], content].concat();
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    fs::write(path, &bytes).with_path(path)?;
    Ok(bytes.len() as u64)
}

/// Reads a file and decodes its content; the default if there is none, or if it is damaged.
pub(crate) fn read<T: Default>(path: &Path, magic: &Magic, decode: impl Fn(&[u8]) -> Option<T>) -> Result<T, Error> {
    read_versions(path, &[(magic, &decode)])
}

/// How the content of a file of this format is decoded.
pub(crate) type FileVersion<'a, T> = (&'a Magic, &'a dyn Fn(&[u8]) -> Option<T>);

/// Reads a file that may have one of several formats.
pub(crate) fn read_versions<T: Default>(path: &Path, versions: &[FileVersion<T>]) -> Result<T, Error> {
    match fs::read(path) {
        Ok(bytes) => {
            let mut decoded = versions.iter().filter_map(|(magic, decode)| decode(content(&bytes, magic)?));
            Ok(decoded.next().unwrap_or_default())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(T::default()),
        Err(source) => Err(Error::Io { path: path.to_owned(), source }),
    }
}

fn content<'a>(bytes: &'a [u8], magic: &Magic) -> Option<&'a [u8]> {
    let (checked, checksum) = bytes.split_last_chunk::<4>()?;
    if crc32fast::hash(checked) == u32::from_le_bytes(*checksum) { checked.strip_prefix(magic) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_survives_a_file_and_damage_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let read = |magic| read(&path, magic, |content| Some(content.to_vec())).unwrap();
        assert!(read(b"FILEKIND").is_empty());
        assert_eq!(write(&path, b"FILEKIND", &[]).unwrap(), 0);
        assert!(!path.exists());
        assert_eq!(write(&path, b"FILEKIND", &[1, 2, 3]).unwrap(), 15);
        assert_eq!((read(b"FILEKIND"), read(b"FILEKINE")), (vec![1, 2, 3], vec![]));
        let bytes = fs::read(&path).unwrap();
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 0x10;
            fs::write(&path, &damaged).unwrap();
            assert!(read(b"FILEKIND").is_empty(), "byte {position}");
            fs::write(&path, &bytes[..position]).unwrap();
            assert!(read(b"FILEKIND").is_empty(), "truncated at {position}");
        }
    }
}
