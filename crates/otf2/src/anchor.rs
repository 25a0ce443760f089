//! The anchor file `NAME.otf2`: format, chunk sizes, and numbers of locations and definitions.

use std::fs;
use std::path::Path;

use crate::buffer::{BufferReader, BufferWrite, Endianness};
use crate::error::{Error, PathContext};

/// The longest anchor file that is read.
const MAX_ANCHOR_BYTES: u64 = 1 << 24;
/// First byte of every file and chunk; the byte order follows.
pub(crate) const CHUNK_HEADER: u8 = 3;
/// The record that ends a file.
pub(crate) const END_OF_FILE: u8 = 2;
/// The largest chunk size OTF2 allows.
pub(crate) const MAX_CHUNK_SIZE: u64 = 1 << 24;

const MAGIC: &[u8] = b"OTF2\0";
const ANCHOR_FORMAT: u8 = 3;
const TRACE_FORMAT: u8 = 2;
const VERSION: [u8; 3] = [3, 0, 0];
const POSIX: u8 = 1;
const NOT_COMPRESSED: u8 = 1;
/// Offsets of the chunk sizes, the file substrate and the compression.
const CHUNK_SIZES_OFFSET: usize = 12;
const SUBSTRATE_OFFSET: usize = 28;
const COMPRESSION_OFFSET: usize = 29;

/// The content of an anchor file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorFile {
    /// Size of event chunks in bytes.
    pub event_chunk_size: u64,
    /// Size of definition chunks in bytes.
    pub definition_chunk_size: u64,
    /// Number of locations with event files.
    pub location_count: u64,
    /// Number of global definitions.
    pub definition_count: u64,
    /// Where the trace was made.
    pub machine_name: String,
    /// The tool that made it.
    pub creator: String,
    /// What the trace is about.
    pub description: String,
    /// Trace properties by name.
    pub properties: Vec<(String, String)>,
}

impl AnchorFile {
    /// The bytes of the file.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![CHUNK_HEADER, Endianness::WRITTEN_MARK];
        bytes.extend_from_slice(MAGIC);
        bytes.extend([ANCHOR_FORMAT, TRACE_FORMAT]);
        bytes.extend(VERSION);
        bytes.put_full_u64(self.event_chunk_size);
        bytes.put_full_u64(self.definition_chunk_size);
        bytes.extend([POSIX, NOT_COMPRESSED]);
        bytes.put_full_u64(self.location_count);
        bytes.put_full_u64(self.definition_count);
        for text in [&self.machine_name, &self.creator, &self.description] {
            bytes.put_string(text);
        }
        bytes.put_full_u32(self.properties.len() as u32);
        for (name, value) in &self.properties {
            bytes.put_string(name);
            bytes.put_string(value);
        }
        let identity = self.trace_id();
        bytes.put_full_u64(identity);
        // No snapshots, no thumbnails.
        bytes.put_full_u32(0);
        bytes.put_full_u32(0);
        bytes.extend([END_OF_FILE, 0]);
        bytes
    }

    /// A reproducible id that other archives are unlikely to have.
    fn trace_id(&self) -> u64 {
        let texts = [&self.machine_name, &self.description].into_iter().flat_map(|text| text.bytes());
        texts.fold(self.definition_count ^ self.location_count << 32, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    /// Reads an anchor file.
    pub fn read(path: &Path) -> Result<AnchorFile, Error> {
        let malformed = |at: usize, what: &str| Error::Malformed { path: path.to_owned(), offset: at as u64, reason: what.into() };
        if fs::metadata(path).with_path(path)?.len() > MAX_ANCHOR_BYTES {
            return Err(malformed(0, "too long for an anchor file"));
        }
        let bytes = fs::read(path).with_path(path)?;
        let order = match bytes[..] {
            [CHUNK_HEADER, mark, ..] => Endianness::from_mark(mark),
            _ => None,
        };
        let order = order.filter(|_| bytes[2..].starts_with(MAGIC)).ok_or_else(|| malformed(0, "not an OTF2 anchor file"))?;
        let mut reader = BufferReader::new(&bytes, order);
        match parse(&mut reader) {
            Some((anchor, [POSIX, NOT_COMPRESSED])) => {
                let fits = |chunk: u64| (64..=MAX_CHUNK_SIZE).contains(&chunk);
                if !fits(anchor.event_chunk_size) || !fits(anchor.definition_chunk_size) {
                    return Err(malformed(CHUNK_SIZES_OFFSET, "invalid chunk sizes"));
                }
                Ok(anchor)
            }
            Some((_, [POSIX, _])) => Err(malformed(COMPRESSION_OFFSET, "compressed archives are not supported")),
            Some(_) => Err(malformed(SUBSTRATE_OFFSET, "SIONlib archives are not supported")),
            None => Err(malformed(reader.position(), "the anchor file is truncated")),
        }
    }
}

fn parse(reader: &mut BufferReader) -> Option<(AnchorFile, [u8; 2])> {
    reader.take(2 + MAGIC.len())?;
    let [format, ..] = *reader.take(5)?.first_chunk::<5>()?;
    let (event_chunk_size, definition_chunk_size) = (reader.full_u64()?, reader.full_u64()?);
    let how = [reader.u8()?, reader.u8()?];
    let (location_count, definition_count) = (reader.full_u64()?, reader.full_u64()?);
    let (machine_name, creator, description) = (reader.string()?, reader.string()?, reader.string()?);
    let count = if format > 1 { reader.full_u32()? } else { 0 };
    let mut properties = Vec::new();
    for _ in 0..count {
        properties.push((reader.string()?, reader.string()?));
    }
    Some((
        AnchorFile {
            event_chunk_size,
            definition_chunk_size,
            location_count,
            definition_count,
            machine_name,
            creator,
            description,
            properties,
        },
        how,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor() -> AnchorFile {
        AnchorFile {
            event_chunk_size: 1 << 18,
            definition_chunk_size: 1 << 22,
            location_count: 2,
            definition_count: 40,
            machine_name: "there".into(),
            creator: "a tool".into(),
            description: String::new(),
            properties: vec![("A::B".into(), "true".into())],
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.otf2");
        fs::write(&path, anchor().encode()).unwrap();
        assert_eq!(AnchorFile::read(&path).unwrap(), anchor());
    }

    #[test]
    fn invalid_and_truncated_files_are_reported_with_the_position() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.otf2");
        let read = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            AnchorFile::read(&path).unwrap_err().to_string()
        };
        assert!(read(b"").ends_with("byte 0: not an OTF2 anchor file"));
        assert!(read(b"\x03\x42OTF3\0").ends_with("byte 0: not an OTF2 anchor file"));
        let whole = anchor().encode();
        // The last numbers are of no use to us, and old archives do not have them.
        for length in 7..whole.len() - 18 {
            assert!(read(&whole[..length]).ends_with("the anchor file is truncated"), "{length}");
        }
        let mut compressed = whole.clone();
        compressed[29] = 2;
        assert!(read(&compressed).ends_with("byte 29: compressed archives are not supported"));
        let mut absurd = whole;
        absurd[12..20].fill(0xff);
        assert!(read(&absurd).ends_with("byte 12: invalid chunk sizes"));
    }
}
