//! The anchor file `NAME.otf2`: what kind of archive it is, and how many locations and definitions it has.

use std::fs;
use std::path::Path;

use crate::error::{At, Error, Place};
use crate::otf2::bytes::{Order, Put, Reader};

/// The longest anchor file that is read: they hold a few strings.
const MOST_BYTES: u64 = 1 << 24;
/// The first byte of every file: the order of bytes follows.
pub const ORDER_RECORD: u8 = 3;
/// The record that ends a file.
pub const END_OF_FILE: u8 = 2;
/// Chunks cannot be larger.
pub const MOST_CHUNK_BYTES: u64 = 1 << 24;

const MAGIC: &[u8] = b"OTF2\0";
const ANCHOR_FORMAT: u8 = 3;
const TRACE_FORMAT: u8 = 2;
const VERSION: [u8; 3] = [3, 0, 0];
const POSIX: u8 = 1;
const NOT_COMPRESSED: u8 = 1;
/// Where the sizes of chunks, the kind of container and the compression stand.
const CHUNKS_AT: usize = 12;
const CONTAINER_AT: usize = 28;
const COMPRESSION_AT: usize = 29;

/// What an anchor file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Bytes of a chunk of events.
    pub event_chunk: u64,
    /// Bytes of a chunk of definitions.
    pub definition_chunk: u64,
    /// How many locations there are.
    pub locations: u64,
    /// How many global definitions there are.
    pub definitions: u64,
    /// Where it was made.
    pub machine: String,
    /// The tool that made it.
    pub creator: String,
    /// What it is.
    pub description: String,
    /// Anything else, by name.
    pub properties: Vec<(String, String)>,
}

impl Anchor {
    /// The file as bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![ORDER_RECORD, Order::WRITTEN];
        bytes.extend_from_slice(MAGIC);
        bytes.extend([ANCHOR_FORMAT, TRACE_FORMAT]);
        bytes.extend(VERSION);
        bytes.put_full_u64(self.event_chunk);
        bytes.put_full_u64(self.definition_chunk);
        bytes.extend([POSIX, NOT_COMPRESSED]);
        bytes.put_full_u64(self.locations);
        bytes.put_full_u64(self.definitions);
        for text in [&self.machine, &self.creator, &self.description] {
            bytes.put_string(text);
        }
        bytes.put_full_u32(self.properties.len() as u32);
        for (name, value) in &self.properties {
            bytes.put_string(name);
            bytes.put_string(value);
        }
        let identity = self.identity();
        bytes.put_full_u64(identity);
        // Snapshots and thumbnails: there are none.
        bytes.put_full_u32(0);
        bytes.put_full_u32(0);
        bytes.extend([END_OF_FILE, 0]);
        bytes
    }

    /// A number that other archives are unlikely to have, and the same one whenever the same recording is written.
    fn identity(&self) -> u64 {
        let texts = [&self.machine, &self.description].into_iter().flat_map(|text| text.bytes());
        texts.fold(self.definitions ^ self.locations << 32, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    /// Reads an anchor file.
    pub fn read(path: &Path) -> Result<Anchor, Error> {
        let malformed =
            |at: usize, what: &str| Error::Malformed { path: path.to_owned(), place: Place::Byte(at as u64), what: what.into() };
        if fs::metadata(path).at(path)?.len() > MOST_BYTES {
            return Err(malformed(0, "an anchor file is never this long"));
        }
        let bytes = fs::read(path).at(path)?;
        let order = match bytes[..] {
            [ORDER_RECORD, mark, ..] => Order::from_mark(mark),
            _ => None,
        };
        let order = order.filter(|_| bytes[2..].starts_with(MAGIC)).ok_or_else(|| malformed(0, "no anchor file of an OTF2 trace"))?;
        let mut reader = Reader::new(&bytes, order);
        match parse(&mut reader) {
            Some((anchor, [POSIX, NOT_COMPRESSED])) => {
                let fits = |chunk: u64| (64..=MOST_CHUNK_BYTES).contains(&chunk);
                if !fits(anchor.event_chunk) || !fits(anchor.definition_chunk) {
                    return Err(malformed(CHUNKS_AT, "the sizes of chunks make no sense"));
                }
                Ok(anchor)
            }
            Some((_, [POSIX, _])) => Err(malformed(COMPRESSION_AT, "the archive is compressed, which is not read")),
            Some(_) => Err(malformed(CONTAINER_AT, "the archive is not in files of its own (SIONlib), which is not read")),
            None => Err(malformed(reader.at(), "the anchor file ends too early")),
        }
    }
}

fn parse(reader: &mut Reader) -> Option<(Anchor, [u8; 2])> {
    reader.take(2 + MAGIC.len())?;
    let [format, ..] = *reader.take(5)?.first_chunk::<5>()?;
    let (event_chunk, definition_chunk) = (reader.full_u64()?, reader.full_u64()?);
    let how = [reader.u8()?, reader.u8()?];
    let (locations, definitions) = (reader.full_u64()?, reader.full_u64()?);
    let (machine, creator, description) = (reader.string()?, reader.string()?, reader.string()?);
    let count = if format > 1 { reader.full_u32()? } else { 0 };
    let mut properties = Vec::new();
    for _ in 0..count {
        properties.push((reader.string()?, reader.string()?));
    }
    Some((Anchor { event_chunk, definition_chunk, locations, definitions, machine, creator, description, properties }, how))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor() -> Anchor {
        Anchor {
            event_chunk: 1 << 18,
            definition_chunk: 1 << 22,
            locations: 2,
            definitions: 40,
            machine: "there".into(),
            creator: "a tool".into(),
            description: String::new(),
            properties: vec![("A::B".into(), "true".into())],
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.otf2");
        fs::write(&path, anchor().bytes()).unwrap();
        assert_eq!(Anchor::read(&path).unwrap(), anchor());
    }

    #[test]
    fn wrong_and_cut_files_are_told_with_the_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.otf2");
        let read = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            Anchor::read(&path).unwrap_err().to_string()
        };
        assert!(read(b"").ends_with("byte 0: no anchor file of an OTF2 trace"));
        assert!(read(b"\x03\x42OTF3\0").ends_with("byte 0: no anchor file of an OTF2 trace"));
        let whole = anchor().bytes();
        // The last numbers are of no use to us, and old archives do not have them.
        for length in 7..whole.len() - 18 {
            assert!(read(&whole[..length]).ends_with("the anchor file ends too early"), "{length}");
        }
        let mut compressed = whole.clone();
        compressed[29] = 2;
        assert!(read(&compressed).ends_with("byte 29: the archive is compressed, which is not read"));
        let mut absurd = whole;
        absurd[12..20].fill(0xff);
        assert!(read(&absurd).ends_with("byte 12: the sizes of chunks make no sense"));
    }
}
