//! Local definitions of a location: mapping of local to global ids, and clock offsets.

use std::collections::HashMap;
use std::path::Path;

use crate::error::Error;
use crate::otf2::buffer::{BufferReader, UNDEFINED_UINT32};
use crate::otf2::chunks::{ChunkContent, ChunkReader};

/// OTF2's mapping types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MappingType {
    String = 0,
    Attribute = 1,
    Region = 3,
    Group = 4,
    Communicator = 6,
    Parameter = 7,
    Window = 8,
    /// Source code locations.
    SourceLocation = 9,
    CallingContext = 10,
    IoHandle = 13,
}

const MAPPING_TYPES: usize = 16;
const MAPPING_TABLE: u8 = 5;
const CLOCK_OFFSET: u8 = 6;
const DENSE: u8 = 0;

/// Maps local ids to global ones.
#[derive(Default)]
pub(super) struct IdMappings {
    maps: [Option<MappingTable>; MAPPING_TYPES],
}

enum MappingTable {
    Dense(Vec<u64>),
    Sparse(HashMap<u64, u64>),
}

impl IdMappings {
    #[inline]
    pub(super) fn to_global(&self, what: MappingType, number: u32) -> u32 {
        let found = match &self.maps[what as usize] {
            _ if number == UNDEFINED_UINT32 => None,
            None => None,
            Some(MappingTable::Dense(numbers)) => numbers.get(number as usize),
            Some(MappingTable::Sparse(numbers)) => numbers.get(&number.into()),
        };
        found.map_or(number, |global| u32::try_from(*global).unwrap_or(UNDEFINED_UINT32))
    }

    /// Reads a local id and maps it.
    #[inline]
    pub(super) fn read_global(&self, what: MappingType, content: &mut BufferReader) -> Option<u32> {
        content.u32().map(|number| self.to_global(what, number))
    }

    fn add_mapping_table(&mut self, mut content: BufferReader) -> Option<()> {
        let (what, count, mode) = (content.u8()?, content.u64()?, content.u8()?);
        // Each number takes at least a byte: refuse absurd counts before allocating.
        if count > content.remaining() as u64 {
            return None;
        }
        let map = if mode == DENSE {
            MappingTable::Dense((0..count).map(|_| content.u64()).collect::<Option<_>>()?)
        } else {
            MappingTable::Sparse((0..count).map(|_| Some((content.u64()?, content.u64()?))).collect::<Option<_>>()?)
        };
        if let Some(slot) = self.maps.get_mut(usize::from(what)) {
            *slot = Some(map);
        }
        Some(())
    }
}

/// Offsets of a location's clock to the global clock at some times, with linear interpolation between them.
#[derive(Default)]
pub(super) struct ClockCorrection {
    offsets: Vec<(u64, i64)>,
    /// Largest deviation in ticks.
    pub deviation: f64,
    /// The interval of the latest query.
    segment: usize,
}

impl ClockCorrection {
    fn add_clock_offset(&mut self, mut content: BufferReader) -> Option<()> {
        let (time, offset, deviation) = (content.full_u64()?, content.u64()? as i64, content.f64()?);
        if self.offsets.last().is_none_or(|(last, _)| *last < time) {
            self.offsets.push((time, offset));
        }
        if deviation.is_finite() {
            self.deviation = self.deviation.max(deviation);
        }
        Some(())
    }

    /// The global time; queries come in order. A single offset is ignored, as in the OTF2 library.
    #[inline]
    pub(super) fn correct(&mut self, time: u64) -> u64 {
        if self.offsets.len() < 2 {
            return time;
        }
        while self.segment + 2 < self.offsets.len() && time > self.offsets[self.segment + 1].0 {
            self.segment += 1;
        }
        let ((begin, from), (end, to)) = (self.offsets[self.segment], self.offsets[self.segment + 1]);
        let slope = (to as f64 - from as f64) / (end - begin) as f64;
        let since = if time >= begin { (time - begin) as f64 } else { -((begin - time) as f64) };
        time.saturating_add_signed(from.saturating_add((slope * since).round_ties_even() as i64))
    }
}

/// The local definitions of a location.
#[derive(Default)]
pub(super) struct LocalDefinitions {
    pub ids: IdMappings,
    /// Clock offsets.
    pub clock: ClockCorrection,
}

/// Reads the local definitions of a location; without a file, ids and clock are global.
pub(super) fn read(path: &Path, chunk: u64) -> Result<LocalDefinitions, Error> {
    let mut local = LocalDefinitions::default();
    if !path.exists() {
        return Ok(local);
    }
    let mut chunks = ChunkReader::open(path, ChunkContent::Definitions, chunk)?;
    loop {
        let at = chunks.position();
        let Some(record) = chunks.next_record(|_, _| None)? else { return Ok(local) };
        let understood = match record.record_type {
            MAPPING_TABLE => local.ids.add_mapping_table(record.content),
            CLOCK_OFFSET => local.clock.add_clock_offset(record.content),
            _ => Some(()),
        };
        understood.ok_or_else(|| chunks.malformed(at, "invalid local definition"))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_interpolated_and_the_line_goes_on_at_both_ends() {
        let mut clock = ClockCorrection { offsets: vec![(1000, 10), (2000, 20), (3000, 0)], ..ClockCorrection::default() };
        assert_eq!([500, 1000, 1500, 2000, 2500, 4000].map(|time| clock.correct(time)), [505, 1010, 1515, 2020, 2510, 3980]);
        let mut alone = ClockCorrection { offsets: vec![(1000, 10)], ..ClockCorrection::default() };
        assert_eq!(alone.correct(5), 5);
    }

    #[test]
    fn numbers_without_a_map_are_global() {
        let mut ids = IdMappings::default();
        ids.maps[MappingType::Region as usize] = Some(MappingTable::Dense(vec![7, 8]));
        ids.maps[MappingType::Communicator as usize] = Some(MappingTable::Sparse(HashMap::from([(5, 1)])));
        assert_eq!([0, 1, 2, UNDEFINED_UINT32].map(|number| ids.to_global(MappingType::Region, number)), [7, 8, 2, UNDEFINED_UINT32]);
        assert_eq!([5, 6].map(|number| ids.to_global(MappingType::Communicator, number)), [1, 6]);
        assert_eq!(ids.to_global(MappingType::Window, 3), 3);
    }
}
