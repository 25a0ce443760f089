//! Call points: operations at call sites, with all addresses of one source line merged. (A compiler that unrolls a loop creates several.)

use std::hash::Hash;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use sintonia_mpi::FunctionId;
use sintonia_recording::call_table::RecordedCall;
use sintonia_recording::header::{RecordingHeader, SourceFrame};

/// Which call sites are the same source line.
#[derive(Debug, Default)]
pub struct SiteAliases {
    /// For each call site, the first one with the same source line.
    first: Vec<u32>,
}

impl SiteAliases {
    /// Groups the call sites of a recording.
    pub fn from_header(header: &RecordingHeader) -> SiteAliases {
        let mut known = FxHashMap::default();
        let first = header.sites.iter().zip(0..).map(|(site, number)| {
            let has_line = site.frames.first().is_some_and(|frame| frame.line.is_some());
            if has_line { *known.entry((&site.module, lines(&site.frames))).or_insert(number) } else { number }
        });
        SiteAliases { first: first.collect() }
    }

    /// The call site that represents the source line of this one.
    pub fn canonical(&self, site: u32) -> u32 {
        self.first.get(site as usize).copied().unwrap_or(site)
    }
}

/// The inlining stack of a call site: its line, and the lines at which it was inlined.
fn lines(frames: &[SourceFrame]) -> Vec<(Option<&str>, Option<&str>, Option<u32>)> {
    frames.iter().map(|frame| (frame.function.as_deref(), frame.file.as_deref(), frame.line)).collect()
}

/// An operation at a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "(u16, u32)", into = "(u16, u32)")]
pub struct CallPoint {
    /// The MPI function.
    pub operation: FunctionId,
    /// The representative call site.
    pub site: u32,
}

impl From<(u16, u32)> for CallPoint {
    fn from((operation, site): (u16, u32)) -> CallPoint {
        CallPoint { operation: FunctionId(operation), site }
    }
}

impl From<CallPoint> for (u16, u32) {
    fn from(point: CallPoint) -> (u16, u32) {
        (point.operation.0, point.site)
    }
}

impl SiteAliases {
    /// The call point of a call.
    pub fn call_point(&self, call: &RecordedCall) -> CallPoint {
        CallPoint { operation: call.descriptor.function, site: self.canonical(call.descriptor.site) }
    }
}

/// Assigns consecutive ids to values.
#[derive(Debug)]
pub struct IdMap<T> {
    /// The values, by id.
    pub items: Vec<T>,
    ids: FxHashMap<T, usize>,
}

impl<T> Default for IdMap<T> {
    fn default() -> Self {
        IdMap { items: Vec::new(), ids: FxHashMap::default() }
    }
}

impl<T: Copy + Eq + Hash> IdMap<T> {
    /// The id of a value; a new one if it has none.
    pub fn get_or_insert(&mut self, item: T) -> usize {
        *self.ids.entry(item).or_insert_with(|| {
            self.items.push(item);
            self.items.len() - 1
        })
    }

    /// The id of a value, if it has one.
    pub fn get(&self, item: T) -> Option<usize> {
        self.ids.get(&item).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::header::CallSiteDefinition;

    #[test]
    fn two_addresses_of_one_line_are_one_place() {
        let frame = |line| SourceFrame { line, ..SourceFrame::default() };
        let site = |offset, line| CallSiteDefinition { module: "a.out".into(), offset, frames: vec![frame(line)] };
        let header = RecordingHeader {
            sites: vec![site(1, Some(5)), site(2, Some(6)), site(3, Some(5)), site(4, None), site(5, None)],
            ..RecordingHeader::default()
        };
        let sites = SiteAliases::from_header(&header);
        assert_eq!([0, 1, 2, 3, 4, 9].map(|site| sites.canonical(site)), [0, 1, 0, 3, 4, 9]);
    }
}
