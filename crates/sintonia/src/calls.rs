//! `sintonia calls`: lists every recorded call, one per line.

mod printed_call;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use sintonia_insight::SourceLocation;
use sintonia_recording::Recording;
use sintonia_recording::call_table::{CallTable, RecordedCall};
use sintonia_recording::off_cpu::{OffCpuTime, ThreadOffCpu};

use crate::{Error, help, output};
use printed_call::PrintedCall;

/// Arguments of `sintonia calls`.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia calls hello.sin --rank 0"))]
pub(crate) struct CallsArgs {
    /// Recording
    #[arg(value_name = "NAME.sin")]
    recording: PathBuf,
    /// List only this rank
    #[arg(long, value_name = "R")]
    rank: Option<u32>,
    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

/// Runs `sintonia calls`.
pub(crate) fn run(args: CallsArgs) -> Result<ExitCode, Error> {
    let recording = Recording::open(&args.recording)?;
    let ranks = select_ranks(&recording, args.rank)?;
    let places: Vec<SourceLocation> = (0..recording.header.sites.len() as u32).map(|site| SourceLocation::of(&recording, site)).collect();
    output::write_stdout(|out| {
        if !args.json {
            writeln!(out, "{}", PrintedCall::HEADER)?;
        }
        for rank in ranks {
            let mut off_cpu = OffCpuByCall::new(recording.off_cpu(rank)?);
            write_calls(out, rank, &recording.tables(rank)?, &mut off_cpu, &places, args.json)?;
        }
        Ok::<(), Error>(())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The ranks to list, if the recording has them.
fn select_ranks(recording: &Recording, wanted: Option<u32>) -> Result<Vec<u32>, Error> {
    let header = &recording.header;
    if header.profile {
        return Err(Error::Other(
            "the recording is a profile without single calls: record again without --profile, or use `sintonia report`".into(),
        ));
    }
    let ranks: Vec<u32> = header.ranks.iter().map(|rank| rank.rank).filter(|rank| wanted.is_none_or(|wanted| wanted == *rank)).collect();
    match wanted {
        Some(rank) if ranks.is_empty() && (rank as usize) < header.size => Err(Error::Other(format!("rank {rank} was not recorded"))),
        Some(rank) if ranks.is_empty() => {
            Err(Error::Other(format!("no rank {rank}: the recording has ranks 0 to {}", header.size.saturating_sub(1))))
        }
        _ => Ok(ranks),
    }
}

fn write_calls(
    out: &mut dyn Write,
    rank: u32,
    tables: &[CallTable],
    off_cpu: &mut OffCpuByCall,
    places: &[SourceLocation],
    json: bool,
) -> io::Result<()> {
    for call in merge_by_time(tables) {
        let (segment, inside) = off_cpu.of(&call);
        let row = PrintedCall::new(rank, &call, places.get(call.descriptor.site as usize)).with_off_cpu(segment, inside);
        if json {
            output::write_json_line(out, &row)?;
        } else {
            writeln!(out, "{row}")?;
        }
    }
    Ok(())
}

/// Time off the processor of calls and of the segments before them.
struct OffCpuByCall {
    /// Each thread, and the return of its previous call.
    threads: BTreeMap<u16, (ThreadOffCpu, Option<i64>)>,
}

impl OffCpuByCall {
    fn new(threads: Vec<ThreadOffCpu>) -> OffCpuByCall {
        OffCpuByCall { threads: threads.into_iter().map(|thread| (thread.thread, (thread, None))).collect() }
    }

    /// Time off the processor in the segment before a call, and in the call. Calls of a thread come in order.
    fn of(&mut self, call: &RecordedCall) -> (OffCpuTime, OffCpuTime) {
        let Some((thread, previous)) = self.threads.get_mut(&call.thread) else { return Default::default() };
        let begin = previous.replace(call.leave).unwrap_or(call.enter);
        (thread.within(begin, call.enter), thread.within(call.enter, call.leave))
    }
}

/// The calls of all threads by entry time.
fn merge_by_time(tables: &[CallTable]) -> impl Iterator<Item = RecordedCall<'_>> {
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
    use sintonia_mpi::FunctionId;
    use sintonia_recording::call_table::CallDescriptor;

    fn table(thread: u16, enter: Vec<i64>) -> CallTable {
        let shapes = vec![CallDescriptor::new(FunctionId::from_name("MPI_Barrier").unwrap())];
        CallTable { thread, leave: enter.clone(), descriptor_ids: vec![0; enter.len()], enter, descriptors: shapes, ..CallTable::default() }
    }

    #[test]
    fn threads_are_merged_by_time() {
        let tables = [table(0, vec![10, 30, 40]), table(1, vec![20, 40])];
        let calls: Vec<(u16, i64)> = merge_by_time(&tables).map(|call| (call.thread, call.enter)).collect();
        assert_eq!(calls, [(0, 10), (1, 20), (0, 30), (0, 40), (1, 40)]);
    }
}
