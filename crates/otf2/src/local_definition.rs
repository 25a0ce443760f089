//! Local definitions of a location: mapping of local to global ids, and clock offsets.

use std::path::Path;

use crate::buffer::{BufferReader, BufferWrite};
use crate::chunks::{ChunkContent, ChunkReader};
use crate::code::MappingType;
use crate::error::Error;
use crate::field::{Field, set_length};
use crate::id_mappings::{IdMappings, MappingTable};

const MAPPING_TABLE: u8 = 5;
const CLOCK_OFFSET: u8 = 6;

/// A definition that is valid for the events of one location.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LocalDefinition {
    /// The global id of each local one.
    MappingTable {
        /// What the ids refer to.
        mapping_type: MappingType,
        /// The table.
        table: MappingTable,
    },
    /// The offset of the location's clock at a time; it is interpolated between two times.
    ClockOffset {
        /// A timestamp of the location.
        time: u64,
        /// What has to be added to get the global one.
        offset: i64,
        /// Standard deviation of the offset, in ticks.
        standard_deviation: f64,
    },
}

impl LocalDefinition {
    /// Appends the record.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(match self {
            LocalDefinition::MappingTable { .. } => MAPPING_TABLE,
            LocalDefinition::ClockOffset { .. } => CLOCK_OFFSET,
        });
        let begin = out.len();
        out.push(0);
        match self {
            LocalDefinition::MappingTable { mapping_type, table } => {
                mapping_type.write(out);
                table.encode(out);
            }
            LocalDefinition::ClockOffset { time, offset, standard_deviation } => {
                out.put_full_u64(*time);
                offset.write(out);
                out.put_full_u64(standard_deviation.to_bits());
            }
        }
        set_length(out, begin);
    }
}

/// Offsets of a location's clock to the global clock at some times, with linear interpolation between them.
#[derive(Default)]
pub(crate) struct ClockCorrection {
    offsets: Vec<(u64, i64)>,
    /// Largest deviation in ticks.
    pub(crate) deviation: f64,
    /// The interval of the latest query.
    segment: usize,
}

impl ClockCorrection {
    fn add_clock_offset(&mut self, content: &mut BufferReader) -> Option<()> {
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
    pub(crate) fn correct(&mut self, time: u64) -> u64 {
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
pub(crate) struct LocalDefinitions {
    pub(crate) ids: IdMappings,
    /// Clock offsets.
    pub(crate) clock: ClockCorrection,
}

/// Reads the local definitions of a location; without a file, ids and clock are global.
pub(crate) fn read(path: &Path, chunk: u64) -> Result<LocalDefinitions, Error> {
    let mut local = LocalDefinitions::default();
    if !path.exists() {
        return Ok(local);
    }
    let mut chunks = ChunkReader::open(path, ChunkContent::Definitions, chunk)?;
    loop {
        let at = chunks.position();
        let Some(mut record) = chunks.next_record(|_, _| None)? else { return Ok(local) };
        let understood = match record.record_type {
            MAPPING_TABLE => local.ids.add_mapping_table(&mut record.content),
            CLOCK_OFFSET => local.clock.add_clock_offset(&mut record.content),
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
}
