//! Recorded calls replayed per second: a stencil with many ranks, written as a recording and replayed from disk.
//!
//! `cargo run --release -p sintonia-replay --example speed -- [ranks] [iterations] [folder]`

use std::path::{Path, PathBuf};
use std::time::Instant;

use sintonia_machine::Machine;
use sintonia_mpi::{FUNCTIONS, FunctionId};
use sintonia_recording::Recording;
use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::definitions::FORMAT_VERSION;
use sintonia_recording::header::{
    CallSiteDefinition, CommunicatorDefinition, LinearClock, ProcessExit as Ended, RecordedRank, RecordingHeader, SourceFrame,
};
use sintonia_recording::raw::{self, RequestRef, part};
use sintonia_recording::sealed::RankFileWriter;
use sintonia_replay::changes::ReplayChanges;
use sintonia_replay::engine::{RecordedNetwork, ReplayCosts, replay};
use sintonia_replay::platform::{IntervalBound, Platform, RankPlacement};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |place: usize, usual: u32| arguments.get(place).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (ranks, iterations) = (number(1, 1024), number(2, 400));
    let folder = arguments.get(3).map_or_else(|| std::env::temp_dir().join(format!("stencil-{ranks}-{iterations}.sin")), PathBuf::from);
    if !folder.exists() {
        write(&folder, ranks, iterations)?;
    }
    let machine = Machine::parse(MACHINE, Path::new("stencil.machine.toml"))?;
    let tree = Machine::parse(&format!("{MACHINE}{}", fat_tree(ranks)), Path::new("tree.machine.toml"))?;
    let costs = |machine: &Machine| {
        Platform::new(machine, ranks, &RankPlacement::Block, IntervalBound::Middle).map(|machine| ReplayCosts::Machine(Box::new(machine)))
    };
    let recorded = ReplayCosts::Recorded(RecordedNetwork::default());
    for (name, costs) in [("machine", costs(&machine)?), ("machine with shared links", costs(&tree)?), ("recorded", recorded)] {
        for _ in 0..3 {
            let begin = Instant::now();
            let recording = Recording::open(&folder)?;
            let outcome = replay(&recording, &costs, &ReplayChanges::default(), None)?;
            let seconds = begin.elapsed().as_secs_f64();
            let rate = outcome.calls as f64 / seconds / 1e6;
            println!("{name}: {} calls in {seconds:.3} s: {rate:.2} M calls/s; the run takes {:.6} s", outcome.calls, outcome.replayed_s);
        }
    }
    Ok(())
}

const MACHINE: &str = r#"
format = 1
[machine]
name = "LogGP"
[network.other_node]
eager_bytes = 65536
send.pieces = [{ intercept_s = 1.5e-6, slope_s_per_byte = 0.0 }]
receive.pieces = [{ intercept_s = 1.5e-6, slope_s_per_byte = 0.0 }]
transfer.pieces = [{ intercept_s = 5.5e-6, slope_s_per_byte = 6e-9 }]
"#;

/// A three-level fat tree; messages of one node share its links.
fn fat_tree(ranks: u32) -> String {
    let levels = format!("[{{ down = 16 }}, {{ down = 8, up = 16 }}, {{ down = {}, up = 8 }}]", ranks.div_ceil(128));
    format!("[topology]\nkind = \"fat_tree\"\nlevels = {levels}\nbandwidth_bytes_per_s = 2e8\nlatency_s = 1e-7\n")
}

/// A halo exchange with four neighbours on a torus, and an allreduce every ten steps.
fn write(folder: &Path, ranks: u32, iterations: u32) -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(folder)?;
    let side = (f64::from(ranks)).sqrt() as u32;
    let mut known = Vec::new();
    for rank in 0..ranks {
        let mut writer = RankFileWriter::create(folder, rank)?;
        let (x, y) = (rank % side, rank / side);
        let neighbours =
            [(x + 1) % side + y * side, (x + side - 1) % side + y * side, x + ((y + 1) % side) * side, x + ((y + side - 1) % side) * side];
        let mut now = 1000;
        let mut call = |shape: &CallDescriptor, after: u64, takes: u64| {
            let enter = now + after;
            now = enter + takes;
            writer.write_call(0, enter, now, shape)
        };
        call(&shape("MPI_Init", 0, 0), 0, 1000)?;
        for iteration in 0..iterations {
            for (direction, peer) in neighbours.iter().enumerate() {
                let work = if direction == 0 { 1_000_000 + u64::from(rank % 7) * 1000 } else { 50 };
                let receive = CallDescriptor {
                    object: 0,
                    peer: *peer as i32,
                    tag: (direction ^ 1) as i32,
                    received: 8192,
                    ..shape("MPI_Irecv", 1, part::REQUEST)
                };
                call(&receive, work, 200)?;
            }
            for (direction, peer) in neighbours.iter().enumerate() {
                let send = CallDescriptor {
                    object: 0,
                    peer: *peer as i32,
                    tag: direction as i32,
                    sent: 8192,
                    ..shape("MPI_Isend", 2, part::REQUEST)
                };
                call(&send, 50, 1000)?;
            }
            call(&wait(&neighbours), 30, 60_000)?;
            if iteration % 10 == 9 {
                call(&CallDescriptor { object: 0, sent: 8, received: 8, ..shape("MPI_Allreduce", 4, 0) }, 100, 30_000)?;
            }
        }
        call(&shape("MPI_Finalize", 5, 0), 100, 1000)?;
        let calls = writer.finish()?.calls;
        let clock = LinearClock { origin_ticks: 0, origin_ns: 0.0, ns_per_tick: 1.0 };
        known.push(RecordedRank { rank, calls, threads: 1, end: Ended::Finalized, clock, ..RecordedRank::default() });
    }
    let header = RecordingHeader {
        format: FORMAT_VERSION,
        command: vec!["./stencil".into()],
        size: ranks as usize,
        ranks: known,
        hosts: vec!["here".into()],
        communicators: vec![CommunicatorDefinition {
            made_by: "MPI_COMM_WORLD".into(),
            members: format!("0-{}", ranks - 1),
            ..CommunicatorDefinition::default()
        }],
        sites: (0..6).map(site).collect(),
        operations: FUNCTIONS.iter().map(|function| function.name.into()).collect(),
        ..RecordingHeader::default()
    };
    header.write(folder)?;
    Ok(())
}

fn shape(name: &str, site: u32, parts: u16) -> CallDescriptor {
    CallDescriptor { site, parts: parts | part::OBJECT, ..CallDescriptor::new(FunctionId::from_name(name).expect("a function of MPI")) }
}

fn wait(neighbours: &[u32; 4]) -> CallDescriptor {
    let listed = |ago: u64| {
        let receive = ago >= 4;
        let peer = if receive { neighbours[7 - ago as usize] as i32 } else { raw::NONE };
        ListedRequest { request: RequestRef::Relative(ago), is_receive: receive, peer, tag: ((7 - ago) ^ 1) as i32, received: 8192 }
    };
    CallDescriptor { requests: (0..8).rev().map(listed).collect(), ..shape("MPI_Waitall", 3, 0) }
}

fn site(line: u32) -> CallSiteDefinition {
    let frame = SourceFrame { function: Some("main".into()), file: Some("stencil.c".into()), line: Some(line + 10) };
    CallSiteDefinition { module: "stencil".into(), offset: u64::from(line), frames: vec![frame] }
}
