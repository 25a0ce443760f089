//! The picture: for each row and column what was done most of the time.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::Serialize;

use super::messages::Messages;
use super::rows::rows;
use super::{View, ask, messages};
use crate::analysis::{Analysis, Stretch};
use crate::answer::{Answer, Question, Refusal};
use crate::index::{Canvas, Drawer, KINDS, Kind, Window};
use crate::rows::Row;
use crate::store::Error;

/// Columns and rows where none are asked for: a page in a file holds such a picture.
const USUAL: (usize, usize) = (1000, 256);
const MOST_COLUMNS: usize = 4096;
const MOST_ROWS: usize = 2048;

#[derive(Serialize)]
struct Header<'a> {
    from: i64,
    to: i64,
    columns: usize,
    calls: u64,
    exact: bool,
    messages: Option<Count>,
    /// The kinds of waits in all of the run.
    waits: Option<&'a [String]>,
    kinds: [&'static str; KINDS],
    rows: &'a [Row],
    planes: &'a [&'static str],
}

/// How many messages there are.
#[derive(Serialize)]
#[serde(untagged)]
enum Count {
    Few(usize),
    Many(&'static str),
}

/// One row of the picture.
struct Painted {
    /// What is in each plane.
    planes: Vec<Vec<u8>>,
    exact: bool,
    calls: f64,
}

/// The planes; the last two need the analysis.
const PLANES: [&str; 4] = ["kind", "share", "waiting", "path"];

/// Answers the question.
pub fn answer(view: View, question: &Question) -> Result<Answer, Refusal> {
    let (from, to) = ask::moments(view, question)?;
    let columns = ask::count(question, "columns", USUAL.0, MOST_COLUMNS)?;
    let most = ask::count(question, "rows", USUAL.1, MOST_ROWS)?;
    let ranks = ask::ranks(view, question)?;
    let rows = rows(view, question, &ranks, most)?;
    let window = Window::new(from, to, columns);
    let paths = view.analysis.map(|analysis| path_of(analysis, &rows, &window)).transpose()?;
    let painted = rows.par_iter().enumerate().map_init(
        || view.drawer(),
        |drawer, (number, row)| {
            let path = paths.as_ref().and_then(|paths| paths.get(number)).map_or(&[][..], Vec::as_slice);
            paint(view, drawer, row, path, &window)
        },
    );
    let painted: Vec<Painted> = painted.collect::<Result<_, Error>>()?;
    let planes = if view.analysis.is_some() { &PLANES[..] } else { &PLANES[..2] };
    let bytes =
        (0..planes.len()).flat_map(|plane| painted.iter().map(move |row| row.planes[plane].as_slice())).collect::<Vec<_>>().concat();
    let header = Header {
        from: window.from(),
        to: window.to(),
        columns: window.columns(),
        calls: painted.iter().map(|row| row.calls).sum::<f64>() as u64,
        exact: painted.iter().all(|row| row.exact),
        messages: count(view, &window, &ranks)?,
        waits: view.analysis.map(Analysis::kinds),
        kinds: Kind::NAMES,
        rows: &rows,
        planes,
    };
    Ok(Answer::Binary { header: serde_json::to_string(&header).unwrap_or_default(), bytes })
}

fn count(view: View, window: &Window, ranks: &[u32]) -> Result<Option<Count>, Error> {
    let Some(analysis) = view.analysis else { return Ok(None) };
    Ok(Some(match messages::between(view, analysis, (window.from(), window.to()), ranks, messages::USUAL)? {
        Messages::Many(_) => Count::Many("many"),
        Messages::Few(messages) => Count::Few(messages.len()),
    }))
}

/// The stretches of the critical path that lie on each row.
fn path_of(analysis: &Analysis, rows: &[Row], window: &Window) -> Result<Vec<Vec<Stretch>>, Error> {
    let row_of: HashMap<u32, usize> =
        rows.iter().enumerate().flat_map(|(number, row)| row.ranks.iter().map(move |rank| (*rank, number))).collect();
    let mut paths = vec![Vec::new(); rows.len()];
    for stretch in analysis.path(window.from(), window.to())? {
        if let Some(row) = row_of.get(&stretch.rank) {
            paths[*row].push(stretch);
        }
    }
    Ok(paths)
}

fn paint(view: View, drawer: &mut Drawer, row: &Row, path: &[Stretch], window: &Window) -> Result<Painted, Error> {
    let mut canvas = Canvas::<KINDS>::new(window);
    let (mut exact, mut calls) = (true, 0.0);
    for rank in &row.ranks {
        let threads = view.index.threads_of(*rank);
        match threads.first() {
            Some(first) => {
                let drawn = drawer.draw(first, &mut canvas)?;
                (exact, calls) = (exact && drawn.exact, calls + drawn.calls);
            }
            None => {
                canvas.clip(window.from(), window.to());
                canvas.paint(window.from(), window.to(), Kind::Absent as usize);
            }
        }
        for thread in threads.iter().skip(1) {
            calls += drawer.count(thread, window.from(), window.to())? as f64;
        }
    }
    let ranks = row.ranks.len() as f32;
    let cells = canvas.cells.iter().enumerate().map(|(column, cell)| most(cell, window.width(column) as f32 * ranks));
    let (kind, share) = cells.unzip();
    let mut planes = vec![kind, share];
    if let Some(analysis) = view.analysis {
        planes.push(waiting(view, analysis, row, window)?);
        planes.push(on_path(path, window));
    }
    Ok(Painted { planes, exact, calls })
}

fn waiting(view: View, analysis: &Analysis, row: &Row, window: &Window) -> Result<Vec<u8>, Error> {
    let mut canvas = Canvas::<1>::new(window);
    for first in row.ranks.iter().filter_map(|rank| view.index.threads_of(*rank).first()) {
        canvas.clip(first.active.0, first.active.1);
        analysis.draw_waits(first.rank, first.thread, &mut canvas)?;
    }
    Ok(parts(&canvas, row.ranks.len() as f32))
}

/// The path is on one rank at a time, so ranks that share a row have it together.
fn on_path(path: &[Stretch], window: &Window) -> Vec<u8> {
    let mut canvas = Canvas::<1>::new(window);
    path.iter().for_each(|stretch| canvas.paint(stretch.from, stretch.to, 0));
    parts(&canvas, 1.0)
}

/// What is on a canvas as parts of the time of so many ranks.
fn parts(canvas: &Canvas<1>, ranks: f32) -> Vec<u8> {
    let window = canvas.window();
    canvas.cells.iter().enumerate().map(|(column, cell)| part(cell[0], window.width(column) as f32 * ranks)).collect()
}

/// A part of a time, from 0 to 255.
fn part(ns: f32, time: f32) -> u8 {
    // Rounded by hand: `round` would be called as a function, a million times for a picture.
    (255.0 * ns / time.max(1.0) + 0.5) as u8
}

/// The kind that took most of a cell's time, and its share of it.
fn most(cell: &[f32; KINDS], time: f32) -> (u8, u8) {
    let (mut kind, mut most, mut sum) = (0, cell[0], 0.0);
    for (number, ns) in cell.iter().enumerate() {
        sum += ns;
        if *ns > most {
            (kind, most) = (number, *ns);
        }
    }
    let computing = time - sum;
    if computing >= most {
        (kind, most) = (Kind::Computing as usize, computing);
    }
    (kind as u8, part(most, time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_painted_is_computing() {
        let mut cell = [0.0; KINDS];
        cell[Kind::Sending as usize] = 30.0;
        assert_eq!(most(&cell, 100.0), (Kind::Computing as u8, 179));
        cell[Kind::Collective as usize] = 60.0;
        assert_eq!(most(&cell, 100.0), (Kind::Collective as u8, 153));
    }
}
