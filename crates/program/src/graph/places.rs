//! Call sites as places in the source: a compiler that unrolls a loop makes two addresses of one line, and to the program they are one.

use std::collections::HashMap;
use std::hash::Hash;

use serde::{Deserialize, Serialize};
use sintonia_mpi::Operation;
use sintonia_recording::header::{Frame, Header};
use sintonia_recording::table::Call;

/// Which call sites are the same place.
#[derive(Debug, Default)]
pub struct Places {
    /// For each call site the first one at the same place.
    first: Vec<u32>,
}

impl Places {
    /// The places of a recording's call sites.
    pub fn of(header: &Header) -> Places {
        let mut known = HashMap::new();
        let first = header.sites.iter().zip(0..).map(|(site, number)| {
            let has_line = site.frames.first().is_some_and(|frame| frame.line.is_some());
            if has_line { *known.entry((&site.module, lines(&site.frames))).or_insert(number) } else { number }
        });
        Places { first: first.collect() }
    }

    /// The call site that stands for the place of this one.
    pub fn of_site(&self, site: u32) -> u32 {
        self.first.get(site as usize).copied().unwrap_or(site)
    }
}

/// The place of a call site: its line, and the lines that the functions around it were inlined at.
fn lines(frames: &[Frame]) -> Vec<(Option<&str>, Option<&str>, Option<u32>)> {
    frames.iter().map(|frame| (frame.function.as_deref(), frame.file.as_deref(), frame.line)).collect()
}

/// An operation at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "(u16, u32)", into = "(u16, u32)")]
pub struct Spot {
    /// The MPI function.
    pub operation: Operation,
    /// The call site that stands for its place.
    pub site: u32,
}

impl From<(u16, u32)> for Spot {
    fn from((operation, site): (u16, u32)) -> Spot {
        Spot { operation: Operation(operation), site }
    }
}

impl From<Spot> for (u16, u32) {
    fn from(spot: Spot) -> (u16, u32) {
        (spot.operation.0, spot.site)
    }
}

impl Places {
    /// The spot of a call.
    pub fn spot(&self, call: &Call) -> Spot {
        Spot { operation: call.shape.operation, site: self.of_site(call.shape.site) }
    }
}

/// Numbers for things in the order in which they come.
#[derive(Debug)]
pub struct Numbers<T> {
    /// The things by number.
    pub list: Vec<T>,
    numbers: HashMap<T, usize>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Numbers { list: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Copy + Eq + Hash> Numbers<T> {
    /// The number of a thing; a new one if it has none yet.
    pub fn number(&mut self, thing: T) -> usize {
        *self.numbers.entry(thing).or_insert_with(|| {
            self.list.push(thing);
            self.list.len() - 1
        })
    }

    /// The number of a thing, if it has one.
    pub fn find(&self, thing: T) -> Option<usize> {
        self.numbers.get(&thing).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::header::Site;

    #[test]
    fn two_addresses_of_one_line_are_one_place() {
        let frame = |line| Frame { line, ..Frame::default() };
        let site = |offset, line| Site { module: "a.out".into(), offset, frames: vec![frame(line)] };
        let header =
            Header { sites: vec![site(1, Some(5)), site(2, Some(6)), site(3, Some(5)), site(4, None), site(5, None)], ..Header::default() };
        let places = Places::of(&header);
        assert_eq!([0, 1, 2, 3, 4, 9].map(|site| places.of_site(site)), [0, 1, 0, 3, 4, 9]);
    }
}
