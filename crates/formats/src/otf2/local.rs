//! The definitions of one location: how its own numbers become those of the global definitions, and its clock that of all.

use std::collections::HashMap;
use std::path::Path;

use crate::error::Error;
use crate::otf2::bytes::{Reader, UNDEFINED};
use crate::otf2::chunks::{Chunks, Content};

/// What the events of a location name by numbers of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapped {
    /// A string.
    String = 0,
    /// An attribute.
    Attribute = 1,
    /// A region.
    Region = 3,
    /// A group.
    Group = 4,
    /// A communicator.
    Communicator = 6,
    /// A parameter.
    Parameter = 7,
    /// A window.
    Window = 8,
    /// A place in the source.
    SourceLocation = 9,
    /// A calling context.
    CallingContext = 10,
    /// A file.
    IoHandle = 13,
}

const KINDS: usize = 16;
const MAPPING_TABLE: u8 = 5;
const CLOCK_OFFSET: u8 = 6;
const DENSE: u8 = 0;

/// From the numbers of a location to those of the global definitions.
#[derive(Default)]
pub struct Ids {
    maps: [Option<Map>; KINDS],
}

enum Map {
    Dense(Vec<u64>),
    Sparse(HashMap<u64, u64>),
}

impl Ids {
    /// The global number.
    #[inline]
    pub fn global(&self, what: Mapped, number: u32) -> u32 {
        let found = match &self.maps[what as usize] {
            _ if number == UNDEFINED => None,
            None => None,
            Some(Map::Dense(numbers)) => numbers.get(number as usize),
            Some(Map::Sparse(numbers)) => numbers.get(&number.into()),
        };
        found.map_or(number, |global| u32::try_from(*global).unwrap_or(UNDEFINED))
    }

    /// Reads a number and gives the global one.
    #[inline]
    pub fn read(&self, what: Mapped, content: &mut Reader) -> Option<u32> {
        content.u32().map(|number| self.global(what, number))
    }

    fn add(&mut self, mut content: Reader) -> Option<()> {
        let (what, count, mode) = (content.u8()?, content.u64()?, content.u8()?);
        // Each number takes at least a byte: a count that is out of proportion is refused before room is made for it.
        if count > content.left() as u64 {
            return None;
        }
        let map = if mode == DENSE {
            Map::Dense((0..count).map(|_| content.u64()).collect::<Option<_>>()?)
        } else {
            Map::Sparse((0..count).map(|_| Some((content.u64()?, content.u64()?))).collect::<Option<_>>()?)
        };
        if let Some(place) = self.maps.get_mut(usize::from(what)) {
            *place = Some(map);
        }
        Some(())
    }
}

/// How far the clock of a location is from the clock of all: known at some moments, a straight line between them.
#[derive(Default)]
pub struct ClockCorrection {
    known: Vec<(u64, i64)>,
    /// How wrong it can be, in ticks.
    pub deviation: f64,
    /// Which two known moments the latest time asked for lay between.
    at: usize,
}

impl ClockCorrection {
    fn add(&mut self, mut content: Reader) -> Option<()> {
        let (time, offset, deviation) = (content.full_u64()?, content.u64()? as i64, content.f64()?);
        if self.known.last().is_none_or(|(last, _)| *last < time) {
            self.known.push((time, offset));
        }
        if deviation.is_finite() {
            self.deviation = self.deviation.max(deviation);
        }
        Some(())
    }

    /// The time on the clock of all; times are asked for in order. One known moment alone does not make a line, and is ignored as the
    /// OTF2 library does.
    #[inline]
    pub fn correct(&mut self, time: u64) -> u64 {
        if self.known.len() < 2 {
            return time;
        }
        while self.at + 2 < self.known.len() && time > self.known[self.at + 1].0 {
            self.at += 1;
        }
        let ((begin, from), (end, to)) = (self.known[self.at], self.known[self.at + 1]);
        let slope = (to as f64 - from as f64) / (end - begin) as f64;
        let since = if time >= begin { (time - begin) as f64 } else { -((begin - time) as f64) };
        time.saturating_add_signed(from.saturating_add((slope * since).round_ties_even() as i64))
    }
}

/// What the definitions of a location say.
#[derive(Default)]
pub struct Local {
    /// Its numbers.
    pub ids: Ids,
    /// Its clock.
    pub clock: ClockCorrection,
}

/// Reads the definitions of a location; where there are none, its numbers and clock are those of all.
pub fn read(path: &Path, chunk: u64) -> Result<Local, Error> {
    let mut local = Local::default();
    if !path.exists() {
        return Ok(local);
    }
    let mut chunks = Chunks::open(path, Content::Definitions, chunk)?;
    loop {
        let at = chunks.position();
        let Some(record) = chunks.next(|_, _| None)? else { return Ok(local) };
        let understood = match record.kind {
            MAPPING_TABLE => local.ids.add(record.content),
            CLOCK_OFFSET => local.clock.add(record.content),
            _ => Some(()),
        };
        understood.ok_or_else(|| chunks.malformed(at, "a definition of this location makes no sense"))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_interpolated_and_the_line_goes_on_at_both_ends() {
        let mut clock = ClockCorrection { known: vec![(1000, 10), (2000, 20), (3000, 0)], ..ClockCorrection::default() };
        assert_eq!([500, 1000, 1500, 2000, 2500, 4000].map(|time| clock.correct(time)), [505, 1010, 1515, 2020, 2510, 3980]);
        let mut alone = ClockCorrection { known: vec![(1000, 10)], ..ClockCorrection::default() };
        assert_eq!(alone.correct(5), 5);
    }

    #[test]
    fn numbers_without_a_map_are_global() {
        let mut ids = Ids::default();
        ids.maps[Mapped::Region as usize] = Some(Map::Dense(vec![7, 8]));
        ids.maps[Mapped::Communicator as usize] = Some(Map::Sparse(HashMap::from([(5, 1)])));
        assert_eq!([0, 1, 2, UNDEFINED].map(|number| ids.global(Mapped::Region, number)), [7, 8, 2, UNDEFINED]);
        assert_eq!([5, 6].map(|number| ids.global(Mapped::Communicator, number)), [1, 6]);
        assert_eq!(ids.global(Mapped::Window, 3), 3);
    }
}
