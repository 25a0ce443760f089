//! Archives that measurements come in: ZIP (experiments of Extra-P) and TAR (Cube files), read from memory.
//!
//! Only what these tools write is read. Any bytes give a member or an error with the offset of what is wrong.

use flate2::Crc;
use flate2::read::{DeflateDecoder, GzDecoder};
use std::io::Read;

/// More than this after decompression is refused: profiles and experiments have megabytes.
pub(super) const MAX_MEMBER_BYTES: u64 = 1 << 30;

/// Why a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem} (at byte {offset})")]
pub struct ArchiveError {
    /// The offset in bytes of what is wrong.
    pub offset: usize,
    /// What is wrong.
    pub problem: String,
}

impl ArchiveError {
    pub(super) fn new(offset: usize, problem: impl Into<String>) -> Self {
        Self { offset, problem: problem.into() }
    }
}

/// A little-endian number in some bytes; an error if they end before it.
pub(super) fn little_endian<const SIZE: usize>(bytes: &[u8], offset: usize) -> Result<u64, ArchiveError> {
    let field = offset.checked_add(SIZE).and_then(|end| bytes.get(offset..end));
    let field = field.ok_or_else(|| ArchiveError::new(bytes.len(), "the file ends too early"))?;
    Ok(from_le_bytes(field))
}

/// The number in these bytes, of which the first is the lowest.
pub(super) fn from_le_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, push_byte)
}

/// The number in these bytes, of which the first is the highest.
pub(super) fn from_be_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, push_byte)
}

fn push_byte(value: u64, byte: &u8) -> u64 {
    value << 8 | u64::from(*byte)
}

/// A part of some bytes; an error if they end before it.
pub(super) fn slice(bytes: &[u8], offset: usize, length: u64) -> Result<&[u8], ArchiveError> {
    let end = usize::try_from(length).ok().and_then(|length| offset.checked_add(length));
    end.and_then(|end| bytes.get(offset..end)).ok_or_else(|| ArchiveError::new(bytes.len(), "the file ends too early"))
}

/// Whether these bytes are a ZIP archive.
pub(super) fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// The entry of a member in the directory at the end of a ZIP archive.
struct ZipEntry<'a> {
    name: &'a [u8],
    offset: usize,
    method: u64,
    is_encrypted: bool,
    checksum: u32,
    packed_size: u64,
    size: u64,
    header_offset: usize,
}

const END_SIGNATURE: &[u8] = b"PK\x05\x06";
const END_SIZE: usize = 22;
const ENTRY_SIGNATURE: &[u8] = b"PK\x01\x02";
const ENTRY_SIZE: usize = 46;
const HEADER_SIGNATURE: &[u8] = b"PK\x03\x04";
const HEADER_SIZE: usize = 30;
/// The longest comment behind the directory.
const MAX_COMMENT: usize = 65_535;

/// The content of a member of a ZIP archive; `None` if there is no such member.
pub(super) fn read_zip_member(bytes: &[u8], name: &str) -> Result<Option<Vec<u8>>, ArchiveError> {
    let first = bytes.len().saturating_sub(END_SIZE + MAX_COMMENT);
    let end = bytes[first..].windows(END_SIGNATURE.len()).rposition(|window| window == END_SIGNATURE);
    let end = first + end.ok_or_else(|| ArchiveError::new(bytes.len(), "this is not a ZIP archive, or its end is missing"))?;
    let count = little_endian::<2>(bytes, end + 10)?;
    let mut offset = little_endian::<4>(bytes, end + 16)? as usize;
    for _ in 0..count {
        let entry = read_entry(bytes, offset)?;
        if entry.name == name.as_bytes() {
            return unpack_entry(bytes, &entry).map(Some);
        }
        offset = entry.offset + ENTRY_SIZE + entry.name.len();
        offset += (little_endian::<2>(bytes, entry.offset + 30)? + little_endian::<2>(bytes, entry.offset + 32)?) as usize;
    }
    Ok(None)
}

fn read_entry(bytes: &[u8], offset: usize) -> Result<ZipEntry<'_>, ArchiveError> {
    if slice(bytes, offset, 4)? != ENTRY_SIGNATURE {
        return Err(ArchiveError::new(offset, "an entry of the archive's directory was expected here"));
    }
    let number = |at: usize| little_endian::<4>(bytes, offset + at);
    let name_length = little_endian::<2>(bytes, offset + 28)?;
    Ok(ZipEntry {
        name: slice(bytes, offset + ENTRY_SIZE, name_length)?,
        offset,
        method: little_endian::<2>(bytes, offset + 10)?,
        is_encrypted: little_endian::<2>(bytes, offset + 8)? & 1 != 0,
        checksum: number(16)? as u32,
        packed_size: number(20)?,
        size: number(24)?,
        header_offset: number(42)? as usize,
    })
}

fn unpack_entry(bytes: &[u8], entry: &ZipEntry) -> Result<Vec<u8>, ArchiveError> {
    let header = entry.header_offset;
    if slice(bytes, header, 4)? != HEADER_SIGNATURE {
        return Err(ArchiveError::new(header, "a member of the archive was expected here"));
    }
    let names = little_endian::<2>(bytes, header + 26)? + little_endian::<2>(bytes, header + 28)?;
    let content = header + HEADER_SIZE + names as usize;
    let packed = slice(bytes, content, entry.packed_size)?;
    let damaged = || ArchiveError::new(content, "this member of the archive is damaged");
    let unpacked = match entry.method {
        _ if entry.is_encrypted => return Err(ArchiveError::new(entry.offset, "this member of the archive is encrypted")),
        0 => packed.to_vec(),
        8 => read_limited(DeflateDecoder::new(packed), entry.size.min(MAX_MEMBER_BYTES)).ok_or_else(damaged)?,
        other => return Err(ArchiveError::new(entry.offset, format!("compression method {other} is not supported"))),
    };
    let mut checksum = Crc::new();
    checksum.update(&unpacked);
    if unpacked.len() as u64 == entry.size && checksum.sum() == entry.checksum { Ok(unpacked) } else { Err(damaged()) }
}

/// Everything that can be read; `None` after an error, or if it is more than the limit.
pub(super) fn read_limited(reader: impl Read, limit: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = reader.take(limit + 1).read_to_end(&mut bytes).ok()?;
    (read as u64 <= limit).then_some(bytes)
}

/// Decompressed if it is compressed with gzip.
pub(super) fn gunzip(bytes: Vec<u8>) -> Result<Vec<u8>, ArchiveError> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    read_limited(GzDecoder::new(&bytes[..]), MAX_MEMBER_BYTES).ok_or_else(|| ArchiveError::new(0, "the gzip compression is damaged"))
}

const TAR_BLOCK: usize = 512;

/// The content of a member of a TAR archive, and its offset; `None` if there is no such member. Checksums are ignored: those of
/// CubeWriter 4.8 are wrong.
pub(super) fn find_tar_member<'a>(bytes: &'a [u8], name: &str) -> Result<Option<(usize, &'a [u8])>, ArchiveError> {
    let mut offset = 0;
    while offset < bytes.len() {
        let header = slice(bytes, offset, TAR_BLOCK as u64)?;
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        let size = tar_size(&header[124..136])
            .ok_or_else(|| ArchiveError::new(offset + 124, "the size of a member of the archive was expected here"))?;
        let content = slice(bytes, offset + TAR_BLOCK, size)?;
        let own = header[..100].split(|byte| *byte == 0).next().unwrap_or_default();
        if own.strip_prefix(b"./").unwrap_or(own) == name.as_bytes() {
            return Ok(Some((offset + TAR_BLOCK, content)));
        }
        offset += TAR_BLOCK + content.len().next_multiple_of(TAR_BLOCK);
    }
    Ok(None)
}

/// A size in octal digits, or in binary if the first bit is set.
fn tar_size(field: &[u8]) -> Option<u64> {
    if field[0] == 0x80 {
        return Some(from_be_bytes(&field[4..]));
    }
    let digits = field.iter().skip_while(|byte| **byte == b' ').take_while(|byte| !matches!(**byte, 0 | b' '));
    digits.copied().try_fold(0_u64, |size, digit| matches!(digit, b'0'..=b'7').then(|| size << 3 | u64::from(digit - b'0')))
}
