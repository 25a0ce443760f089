//! What LogGOPSim's `txt2bin` makes of a text, as its `Parser.hpp` (github.com/spcl/LogGOPSim) lays it out. All numbers are little-endian:
//!
//! - the number 4223 in 8 bytes; the places below count from behind it;
//! - the number of ranks (4 bytes), the largest cpu and nic (1 byte each), and for each rank the place where it begins and ends (8 bytes each);
//! - for each rank the number of its operations and of those that wait for nothing (4 bytes each), the latter by number (4 bytes each), the
//!   operations (39 bytes each), and the numbers of all that wait for another one (4 bytes each).
//!
//! An operation: how many it waits for (4), its type (1), peer (4), size (8), tag (4), cpu (1), nic (1); then how many wait for its end and the
//! first of them in the list behind (4 each), and the same for its begin.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::malformed;
use crate::error::At;
use crate::goal::build::{Builder, Dependency, Described};
use crate::goal::graph::{Goal, Kind};
use crate::{Error, Place};

const MAGIC: u64 = 4223;
/// What LogGOPSim writes there when it simulates with `--save-mem`, which destroys the schedule.
const DESTROYED: u64 = 2342;
const BEHIND_MAGIC: u64 = 8;
const HEADER: u64 = 4 + 1 + 1;
const OPERATION: usize = 39;

/// Whether these are the first bytes of such a file.
pub fn is_magic(first: [u8; 8]) -> bool {
    [MAGIC, DESTROYED].contains(&u64::from_le_bytes(first))
}

/// Reads a schedule of so many bytes, a rank at a time.
pub fn read(mut file: impl Read + Seek, bytes: u64, path: &Path) -> Result<Goal, Error> {
    let wrong = |at: u64, what: &str| malformed(path, Place::Byte(at), what);
    let mut header = [0; (BEHIND_MAGIC + HEADER) as usize];
    file.read_exact(&mut header).map_err(|_| wrong(bytes, "the file ends within its header"))?;
    let header = Bytes(&header);
    if header.u64(0) == Some(DESTROYED) {
        return Err(wrong(0, "LogGOPSim has destroyed this schedule (--save-mem): convert the text again"));
    }
    let count = header.u32(8).map_or(0, u64::from);
    let mut builder = Builder::default();
    builder.ranks(count, bytes / 16).map_err(|what| wrong(8, &what))?;
    let mut table = vec![0; count as usize * 16];
    file.read_exact(&mut table).map_err(|_| wrong(bytes, "the file ends within its table of ranks"))?;
    let (mut block, mut position) = (Vec::new(), HEADER + count * 16);
    for rank in 0..count {
        let row = rank as usize * 16;
        let (begin, end) = (Bytes(&table).u64(row).unwrap_or(0), Bytes(&table).u64(row + 8).unwrap_or(0));
        let at = BEHIND_MAGIC + HEADER + row as u64;
        let length = end.checked_sub(begin).filter(|_| end <= bytes - BEHIND_MAGIC);
        let length = length.ok_or_else(|| wrong(at, &format!("rank {rank} lies outside of the file: is it cut?")))?;
        if begin != position {
            // Never happens with the files of `txt2bin`; seeking drops what has been read ahead.
            file.seek(SeekFrom::Start(BEHIND_MAGIC + begin)).at(path)?;
        }
        position = end;
        block.resize(length as usize, 0);
        file.read_exact(&mut block).at(path)?;
        builder.begin(rank).map_err(|what| wrong(at, &what))?;
        read_rank(Bytes(&block), &mut builder).map_err(|(within, what)| wrong(BEHIND_MAGIC + begin + within as u64, &what))?;
        builder.end().map_err(|what| wrong(at, &what))?;
    }
    builder.finish().map_err(|what| wrong(bytes, &what))
}

/// What is wrong with a rank, and where in its bytes.
type Wrong = (usize, String);

fn read_rank(block: Bytes, builder: &mut Builder) -> Result<(), Wrong> {
    let short = || (0, "a rank ends within its own table".to_owned());
    let (count, roots) = block.u32(0).zip(block.u32(4)).ok_or_else(short)?;
    let first = 8 + roots as usize * 4;
    let behind = first + count as usize * OPERATION;
    if behind > block.0.len() {
        return Err(short());
    }
    for number in 0..count {
        let at = first + number as usize * OPERATION;
        let described = describe(block, at).ok_or_else(|| (at, "this is no operation".to_owned()))?;
        builder.operation(described).map_err(|what| (at, what))?;
    }
    let mut left = (block.0.len() - behind) / 4;
    for on in 0..count {
        let at = first + on as usize * OPERATION;
        for (field, begun) in [(23, false), (31, true)] {
            let (dependents, from) = block.u32(at + field).zip(block.u32(at + field + 4)).ok_or_else(short)?;
            let dependents = dependents as usize;
            left = left
                .checked_sub(dependents)
                .ok_or_else(|| (at + field, "there are more dependencies than the rank has room for".to_owned()))?;
            for index in 0..dependents {
                let waiting = block.u32(behind + (from as usize + index) * 4).filter(|waiting| *waiting < count);
                let waiting = waiting.ok_or_else(|| (at + field, "a dependency names an operation that is not there".to_owned()))?;
                builder.dependency(Dependency { waiting, on, begun });
            }
        }
    }
    Ok(())
}

fn describe(block: Bytes, at: usize) -> Option<Described> {
    let kind = match block.u8(at + 4)? {
        1 => Kind::Send,
        2 => Kind::Receive,
        3 => Kind::Compute,
        _ => return None,
    };
    let (peer, size, tag) = (block.u32(at + 5)?, block.u64(at + 9)?, block.u32(at + 17)?);
    Some(Described { kind, size, peer, tag, cpu: block.u8(at + 21)?, nic: block.u8(at + 22)? })
}

/// Bytes, of which only those are read that are there.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..)?.first_chunk().copied()
    }

    fn u8(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    fn u32(self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    fn u64(self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }
}
