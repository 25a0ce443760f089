//! Global ids of the local ones of a location.

use std::collections::HashMap;

use crate::buffer::{BufferReader, BufferWrite};

const MAPPING_TYPES: usize = 16;
const DENSE: u8 = 0;
const SPARSE: u8 = 1;

/// Global ids of local ones.
#[derive(Clone, Debug, PartialEq)]
pub enum MappingTable {
    /// By local id, from 0.
    Dense(Vec<u64>),
    /// Of some local ids.
    Sparse(HashMap<u64, u64>),
}

impl MappingTable {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            MappingTable::Dense(globals) => {
                out.put_u64(globals.len() as u64);
                out.push(DENSE);
                globals.iter().for_each(|global| out.put_u64(*global));
            }
            MappingTable::Sparse(globals) => {
                out.put_u64(globals.len() as u64);
                out.push(SPARSE);
                let mut pairs: Vec<_> = globals.iter().collect();
                pairs.sort_unstable();
                for (local, global) in pairs {
                    out.put_u64(*local);
                    out.put_u64(*global);
                }
            }
        }
    }

    #[inline]
    fn get(&self, local: u64) -> Option<u64> {
        match self {
            MappingTable::Dense(globals) => globals.get(usize::try_from(local).ok()?).copied(),
            MappingTable::Sparse(globals) => globals.get(&local).copied(),
        }
    }
}

/// Maps local ids to global ones.
#[derive(Default)]
pub(crate) struct IdMappings {
    maps: [Option<MappingTable>; MAPPING_TYPES],
}

impl IdMappings {
    #[inline]
    pub(crate) fn to_global(&self, mapping_type: u8, number: u32) -> u32 {
        match &self.maps[usize::from(mapping_type)] {
            Some(map) if number != u32::MAX => map.get(number.into()).map_or(number, |global| u32::try_from(global).unwrap_or(u32::MAX)),
            _ => number,
        }
    }

    #[inline]
    pub(crate) fn to_global_u64(&self, mapping_type: u8, number: u64) -> u64 {
        self.maps[usize::from(mapping_type)].as_ref().and_then(|map| map.get(number)).unwrap_or(number)
    }

    /// Adds a mapping table as it is encoded in a record.
    pub(crate) fn add_mapping_table(&mut self, content: &mut BufferReader) -> Option<()> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::MappingType;

    #[test]
    fn numbers_without_a_map_are_global() {
        let mut ids = IdMappings::default();
        ids.maps[3] = Some(MappingTable::Dense(vec![7, 8]));
        ids.maps[6] = Some(MappingTable::Sparse(HashMap::from([(5, 1)])));
        assert_eq!([0, 1, 2, u32::MAX].map(|number| ids.to_global(MappingType::REGION.0, number)), [7, 8, 2, u32::MAX]);
        assert_eq!([5, 6].map(|number| ids.to_global(MappingType::COMM.0, number)), [1, 6]);
        assert_eq!(ids.to_global(MappingType::RMA_WIN.0, 3), 3);
    }
}
