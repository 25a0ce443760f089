//! The region of interest of a report: a part of the run that all its figures are about.
//!
//! The region is found in the history of the whole run, and made a recording of its own ([`HistoryExcerpt`]); the analyses do not know that it
//! is one. Only the waits are those of the whole run: what a call in the region waited for may be outside of it.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;
use sintonia_program::graph::ProgramGraph;
use sintonia_program::history::{CallId, ExcerptRow, ExcerptRowKind, History, HistoryExcerpt, Location, RegionWindow};
use sintonia_program::process_group::SingleProcess;
use sintonia_program::region::{RegionError, RegionSelection, SelectedRegion};
use sintonia_recording::Recording;
use sintonia_recording::file_io::UnlocatedCalls;
use sintonia_recording::header::{RecordedRank, RecordingHeader};
use sintonia_recording::host::OffCpuSource;
use sintonia_replay::Error;
use sintonia_text::quantity::{format_plural, format_seconds};

use crate::phase_efficiency::{PhasesOfExcerpt, RowPhases};
use crate::seconds::seconds;
use crate::wait_states::{self, WaitInstance};

/// A part of a recording.
pub struct RegionOfInterest {
    /// The part as a recording.
    pub recording: Recording,
    /// What it is.
    pub description: RegionDescription,
    /// From its earliest begin to its latest end over all ranks, in nanoseconds since the start of the recording.
    pub span: Range<i64>,
    /// The waits of each location in it, by rank and thread.
    waits: BTreeMap<(u32, u32), Vec<WaitInstance>>,
    /// The phases of the whole run.
    pub(crate) phases: PhasesOfExcerpt,
}

/// What a region of interest is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegionDescription {
    /// Its name, as in "iterations 10 to 19 of the loop main (lu.c:30)".
    pub name: String,
    /// The ranks that have a part in it.
    pub ranks: Vec<u32>,
    /// Seconds from the begin of the run until the first rank begins with it.
    pub begin_s: f64,
    /// Seconds from the begin of the run until the last rank is done with it.
    pub end_s: f64,
    /// Seconds of the rank that spends most time in it.
    pub seconds: f64,
    /// Seconds of the whole run.
    pub run_s: f64,
    /// The most windows of a thread: the region is left and entered again.
    pub windows: usize,
    /// What is only known of the whole run, and therefore not in the report.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_known: Vec<String>,
}

/// Why there is no such region.
#[derive(Debug, thiserror::Error)]
pub enum RegionOfInterestError {
    /// The selection does not fit the run.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// The recording cannot be analysed.
    #[error(transparent)]
    Analysis(#[from] Error),
}

impl RegionOfInterest {
    /// Selects a part of a recording. Every process of a group needs all of it, so each finds it by itself.
    pub fn select(recording: Recording, selection: &RegionSelection) -> Result<RegionOfInterest, RegionOfInterestError> {
        if recording.header.profile {
            return Err(RegionError::Profile.into());
        }
        let history = History::read(&recording, &SingleProcess, &|| ()).map_err(Error::from)?;
        let graph = ProgramGraph::from_history(&recording, &history, &SingleProcess, &|| ()).map_err(Error::from)?;
        let region = SelectedRegion::find(&recording, &history, &graph, selection)?;
        let excerpt = HistoryExcerpt::new(&recording, &history, &region.windows);
        let cut = WaitCutter::new(&history, &excerpt.rows);
        let waits = wait_states::find_waits(&history);
        let key = |location: &Location| (location.rank, location.calls.thread.into());
        let of_location = |(index, location): (usize, &Location)| (key(location), cut.waits_of(index, &waits[index]));
        let waits = history.locations.iter().enumerate().map(of_location).collect();
        let locations = history.locations.iter().zip(&excerpt.rows);
        let rows = locations.map(|(location, rows)| (key(location), phases_of_rows(&graph, location, rows))).collect();
        let span = span_of(&region, &recording.header);
        let mut description = RegionDescription::new(&recording.header, &history, &region, &span);
        let phases = PhasesOfExcerpt { tree: graph.phases, rows };
        let whole = recording.header.ranks.clone();
        let recording = recording.restricted_to(excerpt.recording).map_err(Error::from)?;
        description.not_known = not_known(&whole, &recording)?;
        Ok(RegionOfInterest { recording, description, span, waits, phases })
    }

    /// The waits in the region, by location of its history.
    pub(crate) fn waits(&self, history: &History) -> Vec<Vec<WaitInstance>> {
        let of_location = |location: &Location| self.waits.get(&(location.rank, location.calls.thread.into())).cloned().unwrap_or_default();
        history.locations.iter().map(of_location).collect()
    }
}

/// The phases of the rows of a location in the part.
fn phases_of_rows(graph: &ProgramGraph, location: &Location, rows: &[ExcerptRow]) -> Vec<Option<RowPhases>> {
    let all: Vec<Option<RowPhases>> = RowPhases::of_location(graph, location).collect();
    let of_row = |row: &ExcerptRow| {
        let phases = all[row.source as usize].filter(|_| row.kind.is_time_in_call())?;
        Some(RowPhases { is_counted: row.kind == ExcerptRowKind::Call, ..phases })
    };
    rows.iter().map(of_row).collect()
}

fn run_begin(header: &RecordingHeader) -> i64 {
    header.ranks.iter().map(|rank| rank.begin_ns).min().unwrap_or(0)
}

fn span_of(region: &SelectedRegion, header: &RecordingHeader) -> Range<i64> {
    let windows = || region.windows.iter().flatten();
    let begin = windows().map(|window| window.time.start).min();
    let end = windows().map(|window| window.time.end).max();
    begin.unwrap_or(run_begin(header))..end.unwrap_or(run_begin(header))
}

/// What the report of the part cannot tell, given the ranks of the whole run.
fn not_known(whole: &[RecordedRank], part: &Recording) -> Result<Vec<String>, Error> {
    let mut unlocated = UnlocatedCalls::default();
    for rank in &part.header.ranks {
        let of_rank = part.file_io(rank.rank)?.unlocated;
        unlocated.calls = unlocated.calls.saturating_add(of_rank.calls);
        unlocated.time = unlocated.time.saturating_add(of_rank.time);
    }
    let files = (unlocated.calls > 0).then(|| {
        let (calls, time) = (format_plural(unlocated.calls, "call"), format_seconds(unlocated.time as f64 / 1e9));
        format!("{calls} on files ({time}) of which it is not known whether they were in it")
    });
    let is_timed = |rank: &RecordedRank| rank.usage.is_empty() || rank.off_cpu == Some(OffCpuSource::ContextSwitches);
    let processor_time = (!whole.iter().all(is_timed)).then(|| "processor time of the threads".to_owned());
    let memory = whole.iter().any(|rank| rank.memory.is_some() || !rank.usage.is_empty()).then(|| "memory and page faults".to_owned());
    Ok([files, processor_time, memory].into_iter().flatten().collect())
}

impl RegionDescription {
    fn new(header: &RecordingHeader, history: &History, region: &SelectedRegion, span: &Range<i64>) -> RegionDescription {
        let run_begin = run_begin(header);
        let run_end = header.ranks.iter().map(|rank| rank.end_ns).max().unwrap_or(0);
        let length = |windows: &Vec<RegionWindow>| windows.iter().map(|window| window.time.end - window.time.start).sum::<i64>();
        let parts = history.locations.iter().zip(&region.windows).filter(|(_, windows)| !windows.is_empty());
        let mut ranks: Vec<u32> = parts.map(|(location, _)| location.rank).collect();
        ranks.dedup();
        RegionDescription {
            name: region.name.clone(),
            ranks,
            begin_s: seconds(span.start - run_begin),
            end_s: seconds(span.end - run_begin),
            seconds: seconds(region.windows.iter().map(length).max().unwrap_or(0)),
            run_s: seconds(run_end - run_begin),
            windows: region.windows.iter().map(Vec::len).max().unwrap_or(0),
            not_known: Vec::new(),
        }
    }
}

/// Cuts the waits of a whole history by the windows of a part.
struct WaitCutter<'a> {
    history: &'a History,
    rows: &'a [Vec<ExcerptRow>],
    /// For each call of each location, its row in the part; empty for a location without any part.
    row_of_call: Vec<Vec<u32>>,
}

impl<'a> WaitCutter<'a> {
    fn new(history: &'a History, rows: &'a [Vec<ExcerptRow>]) -> WaitCutter<'a> {
        let row_of_call = history.locations.iter().zip(rows).map(|(location, rows)| rows_of_calls(location.len(), rows)).collect();
        WaitCutter { history, rows, row_of_call }
    }

    /// The waits of a location in the part.
    fn waits_of(&self, index: usize, waits: &[WaitInstance]) -> Vec<WaitInstance> {
        let calls = &self.history.locations[index].calls;
        let mut cut = Vec::new();
        let pieces = self.rows[index].iter().zip(0..).filter(|(row, _)| row.kind.is_time_in_call());
        for (row, number) in pieces {
            let first = waits.partition_point(|wait| wait.row < row.source);
            // Those with a cause follow each other from the entry of the call; others end when it returns.
            let mut begin = calls.enter[row.source as usize];
            for wait in waits[first..].iter().take_while(|wait| wait.row == row.source) {
                let span = match wait.cause {
                    CallId::NONE => (calls.leave[row.source as usize] - wait.ns, calls.leave[row.source as usize]),
                    _ => (begin, begin + wait.ns),
                };
                begin = if wait.cause == CallId::NONE { begin } else { span.1 };
                let ns = span.1.min(row.span.1) - span.0.max(row.span.0);
                if ns > 0 {
                    cut.push(WaitInstance { row: number, ns, cause: self.in_part(wait.cause), ..*wait });
                }
            }
        }
        cut
    }

    /// A call as the part has it; [`CallId::NONE`] if its thread has no part.
    fn in_part(&self, call: CallId) -> CallId {
        let Some(index) = call.into_option().and_then(|call| self.history.location_index(call)) else { return CallId::NONE };
        self.row_of_call[index].get(call.row as usize).map_or(CallId::NONE, |row| CallId { row: *row, ..call })
    }
}

/// For each call of a location, its last row in the part; for one that has none, the last row before it, or the first.
fn rows_of_calls(calls: usize, rows: &[ExcerptRow]) -> Vec<u32> {
    if rows.is_empty() {
        return Vec::new();
    }
    let (mut own, mut last) = (vec![None; calls], vec![0; calls]);
    for (row, number) in rows.iter().zip(0..) {
        let source = row.source as usize;
        last[source] = number;
        if row.kind.is_time_in_call() {
            own[source] = Some(number);
        }
    }
    let mut before = 0;
    let row_of_call = own.into_iter().zip(last).map(|(own, last)| {
        before = last.max(before);
        own.unwrap_or(before)
    });
    row_of_call.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_program::history::ExcerptRowKind;

    #[test]
    fn a_call_outside_of_the_part_is_the_row_before_it() {
        let row = |kind, source| ExcerptRow { kind, source, span: (0, 0) };
        let rows = [
            row(ExcerptRowKind::Call, 1),
            row(ExcerptRowKind::Piece, 2),
            row(ExcerptRowKind::Outside, 1),
            row(ExcerptRowKind::Piece, 3),
            row(ExcerptRowKind::Call, 4),
        ];
        assert_eq!(rows_of_calls(6, &rows), [0, 0, 1, 3, 4, 4]);
        assert!(rows_of_calls(6, &[]).is_empty());
    }
}
