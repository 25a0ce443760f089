//! Recorded calls replayed per second: a stencil with many ranks, written as a recording and replayed from disk.
//!
//! `cargo run --release -p sintonia-replay --example speed -- [ranks] [iterations] [folder]`

use std::path::{Path, PathBuf};
use std::time::Instant;

use sintonia_machine::Machine;
use sintonia_recording::Recording;
use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::raw::{self, RequestRef};
use sintonia_recording::testing::{RecordingBuilder, TestCall, call, collective, finalize, init, irecv, isend};
use sintonia_replay::changes::ReplayChanges;
use sintonia_replay::engine::{RecordedNetwork, ReplayCosts, replay};
use sintonia_replay::platform::{IntervalBound, Platform, RankPlacement};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |place: usize, usual: u32| arguments.get(place).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (ranks, iterations) = (number(1, 1024), number(2, 400));
    let folder = arguments.get(3).map_or_else(|| std::env::temp_dir().join(format!("stencil-{ranks}-{iterations}.sin")), PathBuf::from);
    if !folder.exists() {
        let stencil = RecordingBuilder::in_folder(&folder).source("stencil.c");
        stencil.ranks((0..ranks).map(|rank| stencil_calls(rank, ranks, iterations))).write();
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

/// The calls of a rank: a halo exchange with four neighbours on a torus, and an allreduce every ten steps.
fn stencil_calls(rank: u32, ranks: u32, iterations: u32) -> Vec<TestCall> {
    let side = (f64::from(ranks)).sqrt() as u32;
    let (x, y) = (rank % side, rank / side);
    let neighbours =
        [(x + 1) % side + y * side, (x + side - 1) % side + y * side, x + ((y + 1) % side) * side, x + ((y + side - 1) % side) * side]
            .map(|peer| peer as i32);
    let (mut now, mut calls) = (1000, Vec::new());
    let mut add = |descriptor: CallDescriptor, after: u64, takes: u64| {
        let enter = now + after;
        now = enter + takes;
        calls.push(descriptor.at(enter, now));
    };
    add(init().line(10), 0, 1000);
    for iteration in 0..iterations {
        for (direction, peer) in neighbours.into_iter().enumerate() {
            let work = if direction == 0 { 1_000_000 + u64::from(rank % 7) * 1000 } else { 50 };
            add(irecv(peer).tag((direction ^ 1) as i32).received(BYTES).line(11), work, 200);
        }
        for (direction, peer) in neighbours.into_iter().enumerate() {
            add(isend(peer).tag(direction as i32).sent(BYTES).line(12), 50, 1000);
        }
        add(wait(&neighbours).line(13), 30, 60_000);
        if iteration % 10 == 9 {
            add(collective("MPI_Allreduce").sent(8).received(8).line(14), 100, 30_000);
        }
    }
    add(finalize().line(15), 100, 1000);
    calls
}

/// Bytes of a message.
const BYTES: u64 = 8192;

fn wait(neighbours: &[i32; 4]) -> CallDescriptor {
    let listed = |ago: u64| {
        let receive = ago >= 4;
        let peer = if receive { neighbours[7 - ago as usize] } else { raw::NONE };
        ListedRequest { request: RequestRef::Relative(ago), is_receive: receive, peer, tag: ((7 - ago) ^ 1) as i32, received: BYTES }
    };
    call("MPI_Waitall").requests((0..8).rev().map(listed))
}
