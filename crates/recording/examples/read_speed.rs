//! Reads a recording on one core, rank by rank, and prints the calls per second: `read_speed FOLDER`.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use sintonia_recording::Recording;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("which recording?")?;
    let recording = Recording::open(Path::new(&folder))?;
    let bytes: u64 = std::fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len())).sum();
    let calls: u64 = recording.header.ranks.iter().map(|rank| rank.calls).sum();
    println!("{calls} calls, {:.2} bytes per call", bytes as f64 / calls as f64);
    measure("into tables", calls, || {
        recording
            .header
            .ranks
            .iter()
            .try_fold(0, |sum, rank| Ok(sum + recording.tables(rank.rank)?.iter().map(|t| t.len() as u64).sum::<u64>()))
    })?;
    measure("into totals", calls, || {
        recording
            .header
            .ranks
            .iter()
            .try_fold(0, |sum, rank| Ok(sum + recording.totals(rank.rank)?.iter().map(|(_, t)| t.calls).sum::<u64>()))
    })?;
    Ok(())
}

fn measure(what: &str, calls: u64, read: impl Fn() -> Result<u64, sintonia_recording::Error>) -> Result<(), Box<dyn Error>> {
    let (begin, processor) = (Instant::now(), processor_seconds()?);
    let found = read()?;
    let (seconds, processor) = (begin.elapsed().as_secs_f64(), processor_seconds()? - processor);
    assert_eq!(found, calls, "every call is read");
    let speed = |seconds: f64| calls as f64 / seconds / 1e6;
    println!(
        "{what}: {:.1} million calls per second of processor time, {:.1} per second of elapsed time",
        speed(processor),
        speed(seconds)
    );
    Ok(())
}

/// CPU time of this process, because elapsed time depends on the load of the machine.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let nanoseconds: f64 = text.split_whitespace().next().ok_or("empty /proc/self/schedstat")?.parse()?;
    Ok(nanoseconds / 1e9)
}
