//! Query `timeline`: the dominant activity in each row and column.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::Serialize;

use super::activity_sums::ActivitySums;
use super::messages::SelectedMessages;
use super::row_groups::row_groups;
use super::thread_lanes::{self, ThreadLane};
use super::{TimelineContext, core_plane, messages, params, thread_raster};
use crate::analysis::{PathInterval, TimelineAnalysis};
use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::cache_file::Error;
use crate::index::{ActivityCanvas, ActivityKind, KIND_COUNT, ThreadIndex, ThreadPainter, TimeWindow};
use crate::rank_groups::RankGroup;

/// Default number of columns and rows, as in a standalone file.
const DEFAULT_SIZE: (usize, usize) = (1000, 256);
const MAX_COLUMNS: usize = 4096;
const MAX_ROWS: usize = 2048;

#[derive(Serialize)]
struct RasterHeader<'a, Row> {
    from: i64,
    to: i64,
    columns: usize,
    calls: u64,
    exact: bool,
    messages: Option<MessageCount>,
    /// Kinds of wait states in the whole run.
    waits: Option<&'a [String]>,
    kinds: &'a [&'static str],
    rows: &'a [Row],
    planes: &'a [&'static str],
    /// Number of bytes after the planes: the share of each kind in the time of all rows, column by column.
    activity: usize,
}

/// Number of messages.
#[derive(Serialize)]
#[serde(untagged)]
enum MessageCount {
    Few(usize),
    Many(&'static str),
}

/// A row of the raster.
struct RasterRow {
    /// Bytes of each plane.
    planes: Vec<Vec<u8>>,
    exact: bool,
    calls: f64,
}

/// The planes that need the analysis, after `kind` and `share`.
const ANALYSIS_PLANES: [&str; 2] = ["waiting", "path"];

/// The last plane, if it is known when ranks had no core.
const CORE_PLANE: &str = "no-core";

/// Answers the query.
pub(super) fn answer(context: TimelineContext, query: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let (from, to) = params::time_range(context, query)?;
    let columns = params::bounded_count(query, "columns", DEFAULT_SIZE.0, MAX_COLUMNS)?;
    let max = params::bounded_count(query, "rows", DEFAULT_SIZE.1, MAX_ROWS)?;
    let ranks = params::selected_ranks(context, query)?;
    let window = TimeWindow::new(from, to, columns);
    if query.param("by") == Some("thread") {
        let lanes = thread_lanes::lanes(context.index, context.regions.read(context.recording)?, &ranks, max);
        let sums = ActivitySums::new(window.columns(), thread_raster::THREAD_KIND_COUNT);
        let painted = paint_lanes(context, &lanes, &window, &sums)?;
        return encode(context, &window, &ranks, (&lanes, &thread_raster::kind_names()), &painted, sums);
    }
    let rows = row_groups(context, query, &ranks, max)?;
    let sums = ActivitySums::new(window.columns(), KIND_COUNT);
    let painted = paint_rows(context, &rows, &window, &sums)?;
    encode(context, &window, &ranks, (&rows, &ActivityKind::NAMES), &painted, sums)
}

/// The answer of painted rows, given with the names of kinds.
fn encode<Row: Serialize>(
    context: TimelineContext,
    window: &TimeWindow,
    ranks: &[u32],
    (rows, kinds): (&[Row], &[&'static str]),
    painted: &[RasterRow],
    sums: ActivitySums,
) -> Result<QueryAnswer, QueryError> {
    let mut planes = vec!["kind", "share"];
    planes.extend(ANALYSIS_PLANES.iter().filter(|_| context.analysis.is_some()));
    planes.extend((!context.cores.read(context.recording)?.is_empty()).then_some(CORE_PLANE));
    let cells = (0..planes.len()).flat_map(|plane| painted.iter().map(move |row| row.planes[plane].as_slice()));
    let activity = sums.into_shares();
    let bytes = cells.chain([activity.as_slice()]).collect::<Vec<_>>().concat();
    let header = RasterHeader {
        from: window.from(),
        to: window.to(),
        columns: window.columns(),
        calls: painted.iter().map(|row| row.calls).sum::<f64>() as u64,
        exact: painted.iter().all(|row| row.exact),
        messages: message_count(context, window, ranks)?,
        waits: context.analysis.map(TimelineAnalysis::wait_kinds),
        kinds,
        rows,
        planes: &planes,
        activity: activity.len(),
    };
    Ok(QueryAnswer::Binary { header: serde_json::to_string(&header).unwrap_or_default(), bytes })
}

fn paint_rows(context: TimelineContext, rows: &[RankGroup], window: &TimeWindow, sums: &ActivitySums) -> Result<Vec<RasterRow>, Error> {
    let paths = context.analysis.map(|analysis| path_by_row(analysis, rows, window)).transpose()?;
    let painted = rows.par_iter().enumerate().map_init(
        || context.painter(),
        |painter, (index, row)| {
            let path = paths.as_ref().and_then(|paths| paths.get(index)).map_or(&[][..], Vec::as_slice);
            let mut painted = paint_row(context, painter, row, path, window, sums)?;
            painted.planes.extend(core_plane(context, row, window)?);
            Ok(painted)
        },
    );
    painted.collect()
}

fn core_plane(context: TimelineContext, row: &RankGroup, window: &TimeWindow) -> Result<Option<Vec<u8>>, Error> {
    let cores = context.cores.read(context.recording)?;
    let plane = || core_plane::shares(cores, row, window).into_iter().map(|share| share_byte(share, 1.0)).collect();
    Ok((!cores.is_empty()).then(plane))
}

/// Paints threads. Waits, the critical path and missing cores are those of threads that call MPI.
fn paint_lanes(context: TimelineContext, lanes: &[ThreadLane], window: &TimeWindow, sums: &ActivitySums) -> Result<Vec<RasterRow>, Error> {
    // The critical path and the time without a core are known of the first thread of each rank.
    let of_rank = |lane: &ThreadLane| (lane.mpi_thread == 0 && lane.thread == 0).then_some(lane.rank);
    let rows: Vec<RankGroup> = lanes.iter().map(|lane| RankGroup::new(String::new(), of_rank(lane).into_iter().collect())).collect();
    let paths = context.analysis.map(|analysis| path_by_row(analysis, &rows, window)).transpose()?;
    let regions = context.regions.read(context.recording)?;
    let painted = lanes.par_iter().enumerate().map_init(
        || context.painter(),
        |painter, (index, lane)| {
            let own = regions.get(&lane.rank).map_or(&[][..], Vec::as_slice);
            let painted = thread_raster::paint(context, painter, lane, own, window)?;
            sums.add(&painted.cells);
            let widths: Vec<f32> = (0..window.columns()).map(|column| window.width(column) as f32).collect();
            let (kind, share) = painted.cells.iter().zip(&widths).map(|(cell, time)| dominant_in(cell, *time)).unzip();
            let mut planes = vec![kind, share];
            if let Some((analysis, paths)) = context.analysis.zip(paths.as_ref()) {
                let threads = context.index.threads_of(lane.rank).iter();
                let thread = threads.filter(|thread| lane.thread == 0 && thread.thread == lane.mpi_thread);
                planes.push(waiting_plane(analysis, thread, window, &widths)?);
                planes.push(path_plane(&paths[index], window));
            }
            planes.extend(core_plane(context, &rows[index], window)?);
            Ok(RasterRow { planes, exact: painted.exact, calls: painted.calls })
        },
    );
    painted.collect()
}

fn message_count(context: TimelineContext, window: &TimeWindow, ranks: &[u32]) -> Result<Option<MessageCount>, Error> {
    let Some(analysis) = context.analysis else { return Ok(None) };
    Ok(Some(match messages::select_messages(context, analysis, (window.from(), window.to()), ranks, messages::DEFAULT_LIMIT)? {
        SelectedMessages::TooMany(_) => MessageCount::Many("many"),
        SelectedMessages::Listed(messages) => MessageCount::Few(messages.len()),
    }))
}

/// Parts of the critical path by row.
fn path_by_row(analysis: &TimelineAnalysis, rows: &[RankGroup], window: &TimeWindow) -> Result<Vec<Vec<PathInterval>>, Error> {
    let row_of: HashMap<u32, usize> =
        rows.iter().enumerate().flat_map(|(index, row)| row.ranks.iter().map(move |rank| (*rank, index))).collect();
    let mut paths = vec![Vec::new(); rows.len()];
    for interval in analysis.critical_path(window.from(), window.to())? {
        if let Some(row) = row_of.get(&interval.rank) {
            paths[*row].push(interval);
        }
    }
    Ok(paths)
}

fn paint_row(
    context: TimelineContext,
    painter: &mut ThreadPainter,
    row: &RankGroup,
    path: &[PathInterval],
    window: &TimeWindow,
    sums: &ActivitySums,
) -> Result<RasterRow, Error> {
    let mut canvas = ActivityCanvas::<KIND_COUNT>::new(window);
    let (mut exact, mut calls) = (true, 0.0);
    let mut others = OtherThreads::new(window);
    for rank in &row.ranks {
        let threads = context.index.threads_of(*rank);
        match threads.first() {
            Some(first) => {
                let drawn = painter.draw(first, &mut canvas)?;
                (exact, calls) = (exact && drawn.exact, calls + drawn.calls);
            }
            None => {
                canvas.clip(window.from(), window.to());
                canvas.paint(window.from(), window.to(), ActivityKind::Absent as usize);
            }
        }
        for thread in threads.iter().skip(1) {
            exact &= others.draw(painter, thread)?;
            calls += painter.count_calls(thread, window.from(), window.to())? as f64;
        }
    }
    let ranks = row.ranks.len() as f32;
    let active: Vec<f32> = (0..canvas.cells.len()).map(|column| window.width(column) as f32 * ranks + others.active(column)).collect();
    others.add_to(&mut canvas);
    canvas.cells.iter_mut().zip(&active).for_each(|(cell, time)| fill_with_computing(cell, *time));
    sums.add(&canvas.cells);
    let (kind, share) = canvas.cells.iter().zip(&active).map(|(cell, time)| dominant_in(cell, *time)).unzip();
    let mut planes = vec![kind, share];
    if let Some(analysis) = context.analysis {
        let threads = row.ranks.iter().flat_map(|rank| context.index.threads_of(*rank));
        planes.push(waiting_plane(analysis, threads, window, &active)?);
        planes.push(path_plane(path, window));
    }
    Ok(RasterRow { planes, exact, calls })
}

/// What threads other than the main ones do in a row. Before its first call and after its last, such a thread does not count.
struct OtherThreads<'a> {
    canvas: Option<ActivityCanvas<'a, KIND_COUNT>>,
    window: &'a TimeWindow,
    number: usize,
}

impl<'a> OtherThreads<'a> {
    fn new(window: &'a TimeWindow) -> OtherThreads<'a> {
        OtherThreads { canvas: None, window, number: 0 }
    }

    /// Adds a thread, and returns whether it was painted from single calls.
    fn draw(&mut self, painter: &mut ThreadPainter, thread: &ThreadIndex) -> Result<bool, Error> {
        self.number += 1;
        let canvas = self.canvas.get_or_insert_with(|| ActivityCanvas::new(self.window));
        Ok(painter.draw(thread, canvas)?.exact)
    }

    /// Nanoseconds for which they are active in a column.
    fn active(&self, column: usize) -> f32 {
        let absent = |canvas: &ActivityCanvas<KIND_COUNT>| canvas.cells[column][ActivityKind::Absent as usize];
        self.canvas.as_ref().map_or(0.0, |canvas| (self.window.width(column) as f32 * self.number as f32 - absent(canvas)).max(0.0))
    }

    fn add_to(&self, all: &mut ActivityCanvas<KIND_COUNT>) {
        for (sum, cell) in all.cells.iter_mut().zip(self.canvas.iter().flat_map(|canvas| &canvas.cells)) {
            let present = sum.iter_mut().zip(cell).enumerate().filter(|(kind, _)| *kind != ActivityKind::Absent as usize);
            present.for_each(|(_, (sum, ns))| *sum += ns);
        }
    }
}

/// The share of waiting in the active time of each column.
fn waiting_plane<'a>(
    analysis: &TimelineAnalysis,
    threads: impl Iterator<Item = &'a ThreadIndex>,
    window: &TimeWindow,
    active: &[f32],
) -> Result<Vec<u8>, Error> {
    let mut canvas = ActivityCanvas::<1>::new(window);
    for thread in threads {
        canvas.clip(thread.active.0, thread.active.1);
        analysis.draw_waits(thread.rank, thread.thread, &mut canvas)?;
    }
    Ok(canvas.cells.iter().zip(active).map(|(cell, time)| share_byte(cell[0], *time)).collect())
}

/// The critical path is on one rank at a time, so the ranks of a row are added up.
fn path_plane(path: &[PathInterval], window: &TimeWindow) -> Vec<u8> {
    let mut canvas = ActivityCanvas::<1>::new(window);
    path.iter().for_each(|interval| canvas.paint(interval.from, interval.to, 0));
    canvas.cells.iter().enumerate().map(|(column, cell)| share_byte(cell[0], window.width(column) as f32)).collect()
}

/// A share of a time, from 0 to 255.
fn share_byte(ns: f32, time: f32) -> u8 {
    // Rounded by hand: `round` would be a function call, a million times per raster.
    (255.0 * ns / time.max(1.0) + 0.5) as u8
}

/// What is not painted of the time of a cell is computing.
fn fill_with_computing(cell: &mut [f32; KIND_COUNT], time: f32) {
    cell[ActivityKind::Computing as usize] += (time - cell.iter().sum::<f32>()).max(0.0);
}

/// The dominant kind of a cell whose kinds add up to its time, and its share. Of equal ones, computing is taken.
fn dominant_in(cell: &[f32], time: f32) -> (u8, u8) {
    let computing = ActivityKind::Computing as usize;
    let (mut kind, mut max) = (computing, cell[computing]);
    for (index, ns) in cell.iter().enumerate() {
        if *ns > max {
            (kind, max) = (index, *ns);
        }
    }
    (kind as u8, share_byte(max, time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_painted_is_computing() {
        let dominant = |mut cell: [f32; KIND_COUNT]| {
            fill_with_computing(&mut cell, 100.0);
            dominant_in(&cell, 100.0)
        };
        let mut cell = [0.0; KIND_COUNT];
        cell[ActivityKind::Sending as usize] = 30.0;
        assert_eq!(dominant(cell), (ActivityKind::Computing as u8, 179));
        cell[ActivityKind::Collective as usize] = 60.0;
        assert_eq!(dominant(cell), (ActivityKind::Collective as u8, 153));
    }
}
