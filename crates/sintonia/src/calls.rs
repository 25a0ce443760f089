//! `sintonia calls`: every recorded call, one line each.

mod row;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use sintonia_insight::Place;
use sintonia_recording::Recording;
use sintonia_recording::table::{Call, CallTable};

use crate::{Error, help, output};
use row::Row;

/// What `sintonia calls` is told.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia calls hello.sin --rank 0"))]
pub struct Arguments {
    /// The recording
    #[arg(value_name = "NAME.sin")]
    recording: PathBuf,
    /// Show only this rank
    #[arg(long, value_name = "R")]
    rank: Option<u32>,
    /// One JSON object per call, on a line of its own
    #[arg(long)]
    json: bool,
}

/// Lists the calls.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let recording = Recording::open(&arguments.recording)?;
    let ranks = ranks(&recording, arguments.rank)?;
    let places: Vec<Place> = recording.header.sites.iter().map(Place::of).collect();
    output::to_stdout(|out| {
        if !arguments.json {
            writeln!(out, "{}", Row::TITLE)?;
        }
        for rank in ranks {
            write_calls(out, rank, &recording.tables(rank)?, &places, arguments.json)?;
        }
        Ok::<(), Error>(())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The ranks to show, if the recording has them.
fn ranks(recording: &Recording, wanted: Option<u32>) -> Result<Vec<u32>, Error> {
    let header = &recording.header;
    if header.profile {
        return Err(Error::Other("the recording holds sums, not calls: record again without --profile, or see `sintonia report`".into()));
    }
    let ranks: Vec<u32> = header.ranks.iter().map(|rank| rank.rank).filter(|rank| wanted.is_none_or(|wanted| wanted == *rank)).collect();
    match wanted {
        Some(rank) if ranks.is_empty() && (rank as usize) < header.size => Err(Error::Other(format!("rank {rank} left no recording"))),
        Some(rank) if ranks.is_empty() => {
            Err(Error::Other(format!("there is no rank {rank}: the recording has ranks 0 to {}", header.size.saturating_sub(1))))
        }
        _ => Ok(ranks),
    }
}

fn write_calls(out: &mut dyn Write, rank: u32, tables: &[CallTable], places: &[Place], json: bool) -> io::Result<()> {
    for call in in_order(tables) {
        let row = Row::of(rank, &call, places.get(call.shape.site as usize));
        if json {
            output::json_line(out, &row)?;
        } else {
            writeln!(out, "{row}")?;
        }
    }
    Ok(())
}

/// The calls of all threads in the order in which they were entered.
fn in_order(tables: &[CallTable]) -> impl Iterator<Item = Call<'_>> {
    let mut threads: Vec<_> = tables.iter().map(|table| table.calls().peekable()).collect();
    std::iter::from_fn(move || {
        let next = threads.iter_mut().filter_map(|calls| calls.peek().map(|call| (call.enter, call.thread)).map(|when| (when, calls)));
        let (_, calls) = next.min_by_key(|(when, _)| *when)?;
        calls.next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_mpi::Operation;
    use sintonia_recording::table::Shape;

    fn table(thread: u16, enter: Vec<i64>) -> CallTable {
        let shapes = vec![Shape::of(Operation::named("MPI_Barrier").unwrap())];
        CallTable { thread, leave: enter.clone(), shape: vec![0; enter.len()], enter, shapes, ..CallTable::default() }
    }

    #[test]
    fn threads_are_merged_by_time() {
        let tables = [table(0, vec![10, 30, 40]), table(1, vec![20, 40])];
        let calls: Vec<(u16, i64)> = in_order(&tables).map(|call| (call.thread, call.enter)).collect();
        assert_eq!(calls, [(0, 10), (1, 20), (0, 30), (0, 40), (1, 40)]);
    }
}
