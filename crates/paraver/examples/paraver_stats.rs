//! Counts what a trace contains: records, time per state, events per type and messages.
//!
//!     cargo run -p sintonia-paraver --example paraver_stats -- trace.prv

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use sintonia_paraver::{Error, Record, TraceLabelFile, TraceReader};

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: paraver_stats NAME.prv");
        return ExitCode::from(2);
    };
    match print(Path::new(&path)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn print(path: &Path) -> Result<(), Error> {
    let plain = if path.extension().is_some_and(|ending| ending == "gz") { path.with_extension("") } else { path.to_owned() };
    let pcf = plain.with_extension("pcf");
    let labels = if pcf.exists() { TraceLabelFile::read(&pcf)? } else { TraceLabelFile::default() };
    let mut trace = TraceReader::open(path)?;
    let unit_ns = trace.header().unit_ns;
    let (mut states, mut events, mut messages, mut bytes) = (BTreeMap::new(), BTreeMap::new(), 0u64, 0u64);
    while let Some((_, record)) = trace.next_record()? {
        match record {
            Record::State { begin, end, state, .. } => *states.entry(state).or_insert(0u64) += end.saturating_sub(begin),
            Record::Events { events: all, .. } => all.iter().for_each(|(kind, _)| *events.entry(*kind).or_insert(0u64) += 1),
            Record::Communication { size, .. } => {
                messages += 1;
                bytes = bytes.saturating_add(size);
            }
            _ => {}
        }
    }
    let header = trace.header();
    println!("{} applications, {} tasks", header.applications.len(), header.applications.iter().map(Vec::len).sum::<usize>());
    for (state, time) in states {
        let name = labels.states.iter().find(|known| known.state == state).map_or("", |known| &known.name);
        println!("state {state:>4} {:>16.9} s  {name}", time as f64 * unit_ns as f64 * 1e-9);
    }
    for (kind, count) in events {
        let mut types = labels.event_types.iter().flat_map(|block| &block.types);
        println!("event {kind:>9} {count:>12}  {}", types.find(|known| known.event_type == kind).map_or("", |known| &known.label));
    }
    println!("{messages} messages, {bytes} bytes");
    Ok(())
}
