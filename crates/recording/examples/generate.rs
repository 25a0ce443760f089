//! Writes a synthetic recording, to measure how fast recordings are read: `generate FOLDER [CALLS [RANKS [loop|changing|KIND]]]`. The ranks of a
//! `loop` exchange messages with two neighbours and reduce a number, and nothing arrives before it is sent. In a `changing` program the tag
//! and the size of every message differ, and times are arbitrary. The other kinds are those of [`Workload`], such as `communicators`.

use std::error::Error;
use std::path::Path;

use rayon::prelude::*;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::header::{CallSiteDefinition, LinearClock, RecordingHeader};
use sintonia_recording::raw::part;
use sintonia_recording::sealed::{RankFileWriter, WriteStats};
use sintonia_recording::testing::{RecordingBuilder, Workload, collective, irecv, isend, receive, send, wait};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize, usual: &str| arguments.get(index).cloned().unwrap_or(usual.to_owned());
    let folder = argument(0, "generated.sin");
    let (calls, ranks): (u64, u32) = (argument(1, "1000000").parse()?, argument(2, "4").parse()?);
    let kind = argument(3, "loop");
    let changing = kind == "changing";
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    if let Some(workload) = Workload::ALL.into_iter().find(|workload| workload.name() == kind) {
        let recorded = workload.record(folder, calls, ranks);
        println!("{} calls", recorded.header.ranks.iter().map(|rank| rank.calls).sum::<u64>());
        return Ok(());
    }
    let written = match changing {
        true => {
            (0..ranks).into_par_iter().map(|rank| write_changing(folder, rank, ranks, calls / u64::from(ranks))).collect::<Result<_>>()?
        }
        false => write_loop(folder, ranks, calls)?,
    };
    let written: Vec<(WriteStats, i64)> = written;
    let (all, bytes) = written.iter().fold((0, 0), |(calls, bytes), (stats, _)| (calls + stats.calls, bytes + stats.bytes));
    let add = |builder: RecordingBuilder, (stats, end_ns)| builder.written_rank(stats, end_ns);
    written.into_iter().fold(RecordingBuilder::in_folder(folder), add).header(describe).write();
    println!("{all} calls in {bytes} bytes: {:.2} bytes per call", bytes as f64 / all as f64);
    Ok(())
}

const CLOCK: LinearClock = LinearClock { origin_ticks: 1_000_000, origin_ns: 0.0, ns_per_tick: 0.4 };

fn describe(header: &mut RecordingHeader) {
    header.command = vec!["generated".into()];
    header.sites =
        (0..8).map(|n| CallSiteDefinition { module: "generated".into(), offset: 16 * n, caller: None, frames: Vec::new() }).collect();
    header.ranks.iter_mut().for_each(|rank| rank.clock = CLOCK);
}

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Simulates the ranks of a loop step by step and in lockstep, so that every rank waits for what it needs.
fn write_loop(folder: &Path, ranks: u32, calls: u64) -> Result<Vec<(WriteStats, i64)>> {
    let descriptors: Vec<Vec<CallDescriptor>> = (0..ranks).map(|rank| step(rank, ranks)).collect();
    let mut writers: Vec<RankFileWriter> =
        (0..ranks).map(|rank| RankFileWriter::create(folder, rank)).collect::<std::result::Result<_, _>>()?;
    let mut random = fastrand::Rng::with_seed(1);
    let mut now: Vec<u64> = vec![1_000_000; ranks as usize];
    for _ in 0..(calls / u64::from(ranks) / STEP_CALLS).max(1) {
        let mut sent = Vec::new();
        for (rank, writer) in writers.iter_mut().enumerate() {
            // The program computes once per step.
            now[rank] += 20_000 + random.u64(..100_000);
            for descriptor in &descriptors[rank][..4] {
                let enter = now[rank] + 100 + random.u64(..400);
                now[rank] = enter + 300 + random.u64(..1000);
                writer.write_call(0, enter, now[rank], descriptor)?;
            }
            sent.push(now[rank]);
        }
        let mut last = 0;
        for (rank, writer) in writers.iter_mut().enumerate() {
            let neighbour = |by: u32| sent[((rank as u32 + by) % ranks) as usize];
            let enter = now[rank] + 100 + random.u64(..400);
            now[rank] = enter.max(neighbour(1)).max(neighbour(ranks - 1)) + 500 + random.u64(..2000);
            writer.write_call(0, enter, now[rank], &descriptors[rank][4])?;
            now[rank] += 100 + random.u64(..400);
            last = last.max(now[rank]);
        }
        for (rank, writer) in writers.iter_mut().enumerate() {
            let leave = last + 1000 + random.u64(..2000);
            writer.write_call(0, now[rank], leave, &descriptors[rank][5])?;
            now[rank] = leave;
        }
    }
    writers.into_iter().zip(now).map(|(writer, now)| Ok((writer.finish()?, CLOCK.ticks_to_ns(now)))).collect()
}

fn write_changing(folder: &Path, rank: u32, ranks: u32, calls: u64) -> Result<(WriteStats, i64)> {
    let mut writer = RankFileWriter::create(folder, rank)?;
    let mut random = fastrand::Rng::with_seed(u64::from(rank) + 1);
    let mut descriptors = exchange(rank, ranks);
    let mut now = 1_000_000;
    for call in 0..calls {
        let index = call as usize % descriptors.len();
        let (descriptor, bytes) = (&mut descriptors[index], random.u64(..1 << 20));
        descriptor.tag = random.u64(..32 * 1024) as i32;
        if descriptor.parts & part::SENT != 0 {
            descriptor.sent = bytes;
        } else {
            descriptor.received = bytes;
        }
        // The program computes between some calls; a call takes from a few hundred to some ten thousand ticks.
        let enter = now + if index == 0 { 20_000 + random.u64(..100_000) } else { 100 + random.u64(..400) };
        let magnitude = 8 + random.u64(..8);
        let leave = enter + 300 + random.u64(..1 << magnitude);
        writer.write_call(0, enter, leave, &descriptors[index])?;
        now = leave;
    }
    Ok((writer.finish()?, CLOCK.ticks_to_ns(now)))
}

/// Calls per step.
const STEP_CALLS: u64 = 6;

/// Bytes of a message.
const BYTES: u64 = 8192;

/// One step of a program whose ranks form a ring.
fn step(rank: u32, ranks: u32) -> Vec<CallDescriptor> {
    let neighbour = |by: u32| ((rank + by) % ranks) as i32;
    let (left, right) = (neighbour(ranks - 1), neighbour(1));
    let mut wait = wait("MPI_Waitall", &[(3, Some(left)), (2, Some(right)), (1, None), (0, None)]);
    wait.requests.iter_mut().filter(|request| request.is_receive).for_each(|request| request.received = BYTES);
    vec![
        irecv(left).received(BYTES).line(0),
        irecv(right).received(BYTES).line(1),
        isend(left).sent(BYTES).line(2),
        isend(right).sent(BYTES).line(3),
        wait.line(4),
        collective("MPI_Allreduce").sent(8).received(8).line(5),
    ]
}

/// Ping-pong between two ranks.
fn exchange(rank: u32, ranks: u32) -> Vec<CallDescriptor> {
    let peer = ((rank + 1) % ranks) as i32;
    vec![send(peer).sent(BYTES).line(0), receive(peer).received(BYTES).line(1)]
}
