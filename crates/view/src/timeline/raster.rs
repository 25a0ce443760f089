//! Query `timeline`: the dominant activity in each row and column.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::Serialize;

use super::messages::SelectedMessages;
use super::row_groups::row_groups;
use super::{TimelineContext, messages, params};
use crate::analysis::{PathInterval, TimelineAnalysis};
use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::cache_file::Error;
use crate::index::{ActivityCanvas, ActivityKind, KIND_COUNT, ThreadPainter, TimeWindow};
use crate::rank_groups::RankGroup;

/// Default number of columns and rows, as in a standalone file.
const DEFAULT_SIZE: (usize, usize) = (1000, 256);
const MAX_COLUMNS: usize = 4096;
const MAX_ROWS: usize = 2048;

#[derive(Serialize)]
struct RasterHeader<'a> {
    from: i64,
    to: i64,
    columns: usize,
    calls: u64,
    exact: bool,
    messages: Option<MessageCount>,
    /// Kinds of wait states in the whole run.
    waits: Option<&'a [String]>,
    kinds: [&'static str; KIND_COUNT],
    rows: &'a [RankGroup],
    planes: &'a [&'static str],
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

/// The planes; the last two need the analysis.
const PLANES: [&str; 4] = ["kind", "share", "waiting", "path"];

/// Answers the query.
pub(super) fn answer(context: TimelineContext, query: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let (from, to) = params::time_range(context, query)?;
    let columns = params::bounded_count(query, "columns", DEFAULT_SIZE.0, MAX_COLUMNS)?;
    let max = params::bounded_count(query, "rows", DEFAULT_SIZE.1, MAX_ROWS)?;
    let ranks = params::selected_ranks(context, query)?;
    let rows = row_groups(context, query, &ranks, max)?;
    let window = TimeWindow::new(from, to, columns);
    let paths = context.analysis.map(|analysis| path_by_row(analysis, &rows, &window)).transpose()?;
    let painted = rows.par_iter().enumerate().map_init(
        || context.painter(),
        |painter, (index, row)| {
            let path = paths.as_ref().and_then(|paths| paths.get(index)).map_or(&[][..], Vec::as_slice);
            paint_row(context, painter, row, path, &window)
        },
    );
    let painted: Vec<RasterRow> = painted.collect::<Result<_, Error>>()?;
    let planes = if context.analysis.is_some() { &PLANES[..] } else { &PLANES[..2] };
    let bytes =
        (0..planes.len()).flat_map(|plane| painted.iter().map(move |row| row.planes[plane].as_slice())).collect::<Vec<_>>().concat();
    let header = RasterHeader {
        from: window.from(),
        to: window.to(),
        columns: window.columns(),
        calls: painted.iter().map(|row| row.calls).sum::<f64>() as u64,
        exact: painted.iter().all(|row| row.exact),
        messages: message_count(context, &window, &ranks)?,
        waits: context.analysis.map(TimelineAnalysis::wait_kinds),
        kinds: ActivityKind::NAMES,
        rows: &rows,
        planes,
    };
    Ok(QueryAnswer::Binary { header: serde_json::to_string(&header).unwrap_or_default(), bytes })
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
) -> Result<RasterRow, Error> {
    let mut canvas = ActivityCanvas::<KIND_COUNT>::new(window);
    let (mut exact, mut calls) = (true, 0.0);
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
            calls += painter.count_calls(thread, window.from(), window.to())? as f64;
        }
    }
    let ranks = row.ranks.len() as f32;
    let cells = canvas.cells.iter().enumerate().map(|(column, cell)| dominant_kind(cell, window.width(column) as f32 * ranks));
    let (kind, share) = cells.unzip();
    let mut planes = vec![kind, share];
    if let Some(analysis) = context.analysis {
        planes.push(waiting_plane(context, analysis, row, window)?);
        planes.push(path_plane(path, window));
    }
    Ok(RasterRow { planes, exact, calls })
}

fn waiting_plane(context: TimelineContext, analysis: &TimelineAnalysis, row: &RankGroup, window: &TimeWindow) -> Result<Vec<u8>, Error> {
    let mut canvas = ActivityCanvas::<1>::new(window);
    for first in row.ranks.iter().filter_map(|rank| context.index.threads_of(*rank).first()) {
        canvas.clip(first.active.0, first.active.1);
        analysis.draw_waits(first.rank, first.thread, &mut canvas)?;
    }
    Ok(share_bytes(&canvas, row.ranks.len() as f32))
}

/// The critical path is on one rank at a time, so the ranks of a row are added up.
fn path_plane(path: &[PathInterval], window: &TimeWindow) -> Vec<u8> {
    let mut canvas = ActivityCanvas::<1>::new(window);
    path.iter().for_each(|interval| canvas.paint(interval.from, interval.to, 0));
    share_bytes(&canvas, 1.0)
}

/// Shares of the time of a number of ranks, as bytes.
fn share_bytes(canvas: &ActivityCanvas<1>, ranks: f32) -> Vec<u8> {
    let window = canvas.window();
    canvas.cells.iter().enumerate().map(|(column, cell)| share_byte(cell[0], window.width(column) as f32 * ranks)).collect()
}

/// A share of a time, from 0 to 255.
fn share_byte(ns: f32, time: f32) -> u8 {
    // Rounded by hand: `round` would be a function call, a million times per raster.
    (255.0 * ns / time.max(1.0) + 0.5) as u8
}

/// The dominant kind of a cell, and its share.
fn dominant_kind(cell: &[f32; KIND_COUNT], time: f32) -> (u8, u8) {
    let (mut kind, mut max, mut sum) = (0, cell[0], 0.0);
    for (index, ns) in cell.iter().enumerate() {
        sum += ns;
        if *ns > max {
            (kind, max) = (index, *ns);
        }
    }
    let computing = time - sum;
    if computing >= max {
        (kind, max) = (ActivityKind::Computing as usize, computing);
    }
    (kind as u8, share_byte(max, time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_painted_is_computing() {
        let mut cell = [0.0; KIND_COUNT];
        cell[ActivityKind::Sending as usize] = 30.0;
        assert_eq!(dominant_kind(&cell, 100.0), (ActivityKind::Computing as u8, 179));
        cell[ActivityKind::Collective as usize] = 60.0;
        assert_eq!(dominant_kind(&cell, 100.0), (ActivityKind::Collective as u8, 153));
    }
}
