//! `sintonia calls`: every recorded call, one line each.

mod row;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use sintonia_insight::Place;
use sintonia_recording::Recording;
use sintonia_recording::raw::part;
use sintonia_recording::table::{Call, CallTable, ListedRequest, RequestId};

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
    for (thread, call, listed) in in_order(tables) {
        let row = Row::of(rank, thread, &call, &listed, places.get(call.shape.site as usize));
        if json {
            output::json_line(out, &row)?;
        } else {
            writeln!(out, "{row}")?;
        }
    }
    Ok(())
}

/// The requests that a call completed or started.
type Listed<'a> = Vec<(RequestId, &'a ListedRequest)>;

/// The calls of all threads in the order in which they were entered.
fn in_order(tables: &[CallTable]) -> impl Iterator<Item = (u16, Call<'_>, Listed<'_>)> {
    let mut threads: Vec<_> = tables.iter().map(|table| (table.thread, whole_calls(table).peekable())).collect();
    std::iter::from_fn(move || {
        let next = threads.iter_mut().filter_map(|(thread, calls)| Some((calls.peek()?.0.enter, *thread, calls)));
        let (_, thread, calls) = next.min_by_key(|(enter, thread, _)| (*enter, *thread))?;
        calls.next().map(|(call, listed)| (thread, call, listed))
    })
}

/// The calls of a thread; a list of requests that takes several records is put together again.
fn whole_calls(table: &CallTable) -> impl Iterator<Item = (Call<'_>, Listed<'_>)> {
    let mut calls = table.calls().peekable();
    std::iter::from_fn(move || {
        let call = calls.next()?;
        let mut listed: Listed = call.listed().collect();
        while let Some(more) = calls.next_if(|call| call.shape.parts & part::CONTINUED != 0) {
            listed.extend(more.listed());
        }
        Some((call, listed))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_mpi::Operation;
    use sintonia_recording::raw::RequestRef;
    use sintonia_recording::table::Shape;

    /// A wait for this many requests, which may carry on the list of the call before it.
    fn wait(requests: u64, mark: u16) -> Shape {
        let request = |ago| ListedRequest { request: RequestRef::Ago(ago), receive: false, peer: 0, tag: 0, received: 0 };
        let requests = (0..requests).map(request).collect();
        Shape { parts: mark, requests, ..Shape::of(Operation::named("MPI_Waitall").unwrap()) }
    }

    fn table(thread: u16, enter: Vec<i64>, shapes: Vec<Shape>) -> CallTable {
        let shape = (0..shapes.len() as u32).collect();
        CallTable { thread, leave: enter.clone(), enter, shape, shapes, ..CallTable::default() }
    }

    #[test]
    fn threads_are_merged_by_time_and_long_lists_put_together() {
        let first = table(0, vec![10, 30, 30, 30], vec![wait(1, 0), wait(4, 0), wait(4, part::CONTINUED), wait(2, part::CONTINUED)]);
        let second = table(1, vec![20, 40], vec![wait(0, 0), wait(1, 0)]);
        let calls: Vec<(u16, i64, usize)> =
            in_order(&[first, second]).map(|(thread, call, listed)| (thread, call.enter, listed.len())).collect();
        assert_eq!(calls, [(0, 10, 1), (1, 20, 0), (0, 30, 10), (1, 40, 1)]);
    }
}
