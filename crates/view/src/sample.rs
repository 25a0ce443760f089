//! Recordings for tests, written call by call.

use std::path::Path;
use std::sync::Arc;

use sintonia_mpi::{FUNCTIONS, Operation};
use sintonia_recording::Recording;
use sintonia_recording::definitions::FORMAT;
use sintonia_recording::header::{Clock, Communicator, End, Header, Rank, Site};
use sintonia_recording::raw::part;
use sintonia_recording::sealed::Writer;
use sintonia_recording::table::Shape;

/// A call of a thread: when it was entered and left, and what it was.
pub type SampleCall = (u16, u64, u64, Shape);

/// Writes a recording whose ranks made these calls; one tick is one nanosecond.
pub fn recording(folder: &Path, ranks: &[Vec<SampleCall>]) -> Arc<Recording> {
    write(folder, ranks, |_| ());
    Arc::new(Recording::open(folder).unwrap())
}

/// The same, with something changed in its header.
pub fn write(folder: &Path, ranks: &[Vec<SampleCall>], change: impl FnOnce(&mut Header)) {
    let mut known = Vec::new();
    for (rank, calls) in ranks.iter().enumerate() {
        let mut writer = Writer::create(folder, rank as u32).unwrap();
        for (thread, enter, leave, shape) in calls {
            writer.call(*thread, *enter, *leave, shape).unwrap();
        }
        let written = writer.finish().unwrap();
        let threads = calls.iter().map(|call| call.0).max().map_or(0, |last| u32::from(last) + 1);
        let end_ns = calls.iter().map(|call| call.2).max().unwrap_or(0) as i64;
        let clock = Clock { origin_ticks: 0, origin_ns: 0.0, ns_per_tick: 1.0 };
        known.push(Rank { rank: rank as u32, calls: written.calls, threads, end_ns, end: End::Finalized, clock, ..Rank::default() });
    }
    let members = format!("0-{}", ranks.len().max(1) - 1);
    let mut header = Header {
        format: FORMAT,
        hosts: vec!["here".into()],
        size: ranks.len(),
        ranks: known,
        communicators: vec![Communicator { made_by: "MPI_COMM_WORLD".into(), members, ..Communicator::default() }],
        sites: (0..4).map(|n| Site { module: "program".into(), offset: n, ..Site::default() }).collect(),
        operations: FUNCTIONS.iter().map(|function| function.name.to_owned()).collect(),
        ..Header::default()
    };
    change(&mut header);
    header.write(folder).unwrap();
}

/// A call of which only the function is known.
pub fn shape(name: &str) -> Shape {
    Shape::of(Operation::named(name).unwrap())
}

/// A message on the world.
pub fn send(peer: i32) -> Shape {
    Shape { object: 0, peer, tag: 7, sent: 100, site: 1, parts: part::OBJECT | part::TAG | part::SENT, ..shape("MPI_Send") }
}

/// The other end of it.
pub fn receive(peer: i32) -> Shape {
    Shape { object: 0, peer, tag: 7, received: 100, site: 2, parts: part::OBJECT | part::TAG | part::RECEIVED, ..shape("MPI_Recv") }
}

/// Many calls of all kinds, with times that are different for each seed: bursts of short calls, and long ones now and then.
pub fn arbitrary(seed: u64, calls: usize) -> Vec<SampleCall> {
    let mut random = Random(seed);
    let names = ["MPI_Send", "MPI_Recv", "MPI_Wait", "MPI_Allreduce", "MPI_Put", "MPI_File_write", "MPI_Pcontrol"];
    let mut now = 1000;
    let mut made = vec![(0, 0, now, shape("MPI_Init"))];
    for _ in 0..calls {
        let (gap, length) = (random.below(9) * random.below(300), 1 + random.below(9) * random.below(300));
        let pause = if random.below(200) == 0 { random.below(100_000) } else { 0 };
        let enter = now + gap + pause;
        now = enter + length + if random.below(300) == 0 { random.below(50_000) } else { 0 };
        let shape = Shape { site: random.below(4) as u32, ..shape(names[random.below(7) as usize]) };
        made.push((0, enter, now, shape));
    }
    made.push((0, now + 5, now + 2000, shape("MPI_Finalize")));
    made
}

/// Numbers that are the same in every run.
pub struct Random(pub u64);

impl Random {
    /// A number below a limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}
