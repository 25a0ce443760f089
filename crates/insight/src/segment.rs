//! Segments: the computation between two MPI calls, named by the call sites around it; and how long each rank spent in each.

use std::collections::{BTreeMap, HashMap};

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use sintonia_program::company::Company;
use sintonia_program::history::{History, Line};

/// The computation between two call sites, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct Segment {
    /// The call before.
    pub from: u32,
    /// The call after.
    pub to: u32,
}

/// How long one rank spent in a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Spent {
    /// Nanoseconds.
    pub ns: i64,
    /// How often it was there.
    pub times: u64,
}

/// The segments of a run, and what each rank spent in them.
pub type Segments = BTreeMap<Segment, BTreeMap<u32, Spent>>;

/// The call site of a call.
pub fn site(line: &Line, row: usize) -> u32 {
    line.calls.shapes[line.calls.shape[row] as usize].site
}

/// The segment before a call; there is none before the first.
pub fn before(line: &Line, row: usize) -> Option<Segment> {
    (row > 0).then(|| Segment { from: site(line, row - 1), to: site(line, row) })
}

/// How long the segment before a call took, in nanoseconds.
pub fn length(line: &Line, row: usize) -> i64 {
    line.calls.enter[row] - line.computes_from(row)
}

/// The segments of all ranks; every process of the company gets them all.
pub fn segments(history: &History, company: &dyn Company) -> Segments {
    let lines: Vec<HashMap<Segment, Spent>> = history.lines.par_iter().map(of_line).collect();
    let mut rows: Vec<Row> = Vec::new();
    for (line, segments) in history.lines.iter().zip(lines) {
        rows.extend(segments.into_iter().map(|(segment, spent)| Row { segment, spent, rank: line.rank, padding: 0 }));
    }
    let mut all = Segments::new();
    for row in company.swap(vec![rows; company.size()]).into_iter().flatten() {
        let spent = all.entry(row.segment).or_default().entry(row.rank).or_default();
        spent.ns += row.spent.ns;
        spent.times += row.spent.times;
    }
    all
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Row {
    spent: Spent,
    segment: Segment,
    rank: u32,
    padding: u32,
}

fn of_line(line: &Line) -> HashMap<Segment, Spent> {
    let mut segments: HashMap<Segment, Spent> = HashMap::new();
    for row in 1..line.len() {
        if let Some(segment) = before(line, row) {
            let spent = segments.entry(segment).or_default();
            spent.ns += length(line, row);
            spent.times += 1;
        }
    }
    segments
}
