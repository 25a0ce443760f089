//! The binary form made by LogGOPSim's `txt2bin`, as in its `Parser.hpp` (github.com/spcl/LogGOPSim). All numbers are little-endian:
//!
//! - the number 4223 in 8 bytes; offsets below count from behind it;
//! - the number of ranks (4 bytes), the largest cpu and nic (1 byte each), and begin and end offset of each rank (8 bytes each);
//! - for each rank the number of its operations and of those without dependencies (4 bytes each), the numbers of the latter (4 bytes each),
//!   the operations (39 bytes each), and the numbers of all dependents (4 bytes each).
//!
//! An operation: number of prerequisites (4), type (1), peer (4), size (8), tag (4), cpu (1), nic (1); then count and first index of the
//! dependents on its end (4 each), and the same for its start.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::malformed;
use crate::error::PathContext;
use crate::goal::builder::{GoalBuilder, OpDependency, OpDescription};
use crate::goal::graph::{GoalOpKind, GoalSchedule};
use crate::{Error, FilePosition};

const MAGIC: u64 = 4223;
/// Written by LogGOPSim's `--save-mem`, which destroys the schedule.
const DESTROYED: u64 = 2342;
const MAGIC_BYTES: u64 = 8;
const HEADER_BYTES: u64 = 4 + 1 + 1;
const OPERATION_BYTES: usize = 39;

/// Whether a file starts like a binary schedule.
pub(super) fn is_magic(first: [u8; 8]) -> bool {
    [MAGIC, DESTROYED].contains(&u64::from_le_bytes(first))
}

/// Reads a schedule from a file of this size, one rank at a time.
pub(super) fn read(mut file: impl Read + Seek, bytes: u64, path: &Path) -> Result<GoalSchedule, Error> {
    let wrong = |at: u64, what: &str| malformed(path, FilePosition::Byte(at), what);
    let mut header = [0; (MAGIC_BYTES + HEADER_BYTES) as usize];
    file.read_exact(&mut header).map_err(|_| wrong(bytes, "the file ends within its header"))?;
    let header = BlockBytes(&header);
    if header.u64(0) == Some(DESTROYED) {
        return Err(wrong(0, "LogGOPSim has destroyed this schedule (--save-mem): convert the text again"));
    }
    let count = header.u32(8).map_or(0, u64::from);
    let mut builder = GoalBuilder::default();
    builder.set_rank_count(count, bytes / 16).map_err(|what| wrong(8, &what))?;
    let mut table = vec![0; count as usize * 16];
    file.read_exact(&mut table).map_err(|_| wrong(bytes, "the file ends within its table of ranks"))?;
    let (mut block, mut position) = (Vec::new(), HEADER_BYTES + count * 16);
    for rank in 0..count {
        let row = rank as usize * 16;
        let (begin, end) = (BlockBytes(&table).u64(row).unwrap_or(0), BlockBytes(&table).u64(row + 8).unwrap_or(0));
        let at = MAGIC_BYTES + HEADER_BYTES + row as u64;
        let length = end.checked_sub(begin).filter(|_| end <= bytes - MAGIC_BYTES);
        let length = length.ok_or_else(|| wrong(at, &format!("rank {rank} extends beyond the file: is it truncated?")))?;
        if begin != position {
            // Never happens with files from `txt2bin`; seeking drops the read-ahead.
            file.seek(SeekFrom::Start(MAGIC_BYTES + begin)).with_path(path)?;
        }
        position = end;
        block.resize(length as usize, 0);
        file.read_exact(&mut block).with_path(path)?;
        builder.begin_rank(rank).map_err(|what| wrong(at, &what))?;
        read_rank(BlockBytes(&block), &mut builder).map_err(|(within, what)| wrong(MAGIC_BYTES + begin + within as u64, &what))?;
        builder.end_rank().map_err(|what| wrong(at, &what))?;
    }
    builder.finish().map_err(|what| wrong(bytes, &what))
}

/// Offset within the rank and error message.
type OffsetError = (usize, String);

fn read_rank(block: BlockBytes, builder: &mut GoalBuilder) -> Result<(), OffsetError> {
    let short = || (0, "a rank is truncated".to_owned());
    let (count, roots) = block.u32(0).zip(block.u32(4)).ok_or_else(short)?;
    let first = 8 + roots as usize * 4;
    let behind = first + count as usize * OPERATION_BYTES;
    if behind > block.0.len() {
        return Err(short());
    }
    for number in 0..count {
        let at = first + number as usize * OPERATION_BYTES;
        let description = decode_operation(block, at).ok_or_else(|| (at, "this is not an operation".to_owned()))?;
        builder.add_operation(description).map_err(|what| (at, what))?;
    }
    let mut remaining = (block.0.len() - behind) / 4;
    for prerequisite in 0..count {
        let at = first + prerequisite as usize * OPERATION_BYTES;
        for (field, start_only) in [(23, false), (31, true)] {
            let (dependents, from) = block.u32(at + field).zip(block.u32(at + field + 4)).ok_or_else(short)?;
            let dependents = dependents as usize;
            remaining = remaining
                .checked_sub(dependents)
                .ok_or_else(|| (at + field, "there are more dependencies than the rank has room for".to_owned()))?;
            for index in 0..dependents {
                let dependent = block.u32(behind + (from as usize + index) * 4).filter(|dependent| *dependent < count);
                let dependent = dependent.ok_or_else(|| (at + field, "a dependency refers to a missing operation".to_owned()))?;
                builder.add_dependency(OpDependency { dependent, prerequisite, start_only });
            }
        }
    }
    Ok(())
}

fn decode_operation(block: BlockBytes, at: usize) -> Option<OpDescription> {
    let kind = match block.u8(at + 4)? {
        1 => GoalOpKind::Send,
        2 => GoalOpKind::Receive,
        3 => GoalOpKind::Compute,
        _ => return None,
    };
    let (peer, size, tag) = (block.u32(at + 5)?, block.u64(at + 9)?, block.u32(at + 17)?);
    Some(OpDescription { kind, size, peer, tag, cpu: block.u8(at + 21)?, nic: block.u8(at + 22)? })
}

/// Bytes with bounds-checked reads.
#[derive(Clone, Copy)]
struct BlockBytes<'a>(&'a [u8]);

impl BlockBytes<'_> {
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
