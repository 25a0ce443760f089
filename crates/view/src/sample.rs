//! Recordings for tests.

use std::path::Path;
use std::sync::Arc;

use sintonia_mpi::{FUNCTIONS, FunctionId};
use sintonia_recording::Recording;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::definitions::FORMAT_VERSION;
use sintonia_recording::header::{CallSiteDefinition, CommunicatorDefinition, LinearClock, ProcessExit, RecordedRank, RecordingHeader};
use sintonia_recording::raw::part;
use sintonia_recording::sealed::RankFileWriter;

/// A call: thread, enter time, leave time, descriptor.
pub(crate) type SampleCall = (u16, u64, u64, CallDescriptor);

/// Writes a recording with these calls; one tick is one nanosecond.
pub(crate) fn recording(folder: &Path, ranks: &[Vec<SampleCall>]) -> Arc<Recording> {
    write(folder, ranks, |_| ());
    Arc::new(Recording::open(folder).unwrap())
}

/// The same, with a modified header.
pub(crate) fn write(folder: &Path, ranks: &[Vec<SampleCall>], change: impl FnOnce(&mut RecordingHeader)) {
    let mut known = Vec::new();
    for (rank, calls) in ranks.iter().enumerate() {
        let mut writer = RankFileWriter::create(folder, rank as u32).unwrap();
        for (thread, enter, leave, descriptor) in calls {
            writer.write_call(*thread, *enter, *leave, descriptor).unwrap();
        }
        let written = writer.finish().unwrap();
        let threads = calls.iter().map(|call| call.0).max().map_or(0, |last| u32::from(last) + 1);
        let end_ns = calls.iter().map(|call| call.2).max().unwrap_or(0) as i64;
        let clock = LinearClock { origin_ticks: 0, origin_ns: 0.0, ns_per_tick: 1.0 };
        known.push(RecordedRank {
            rank: rank as u32,
            calls: written.calls,
            threads,
            end_ns,
            end: ProcessExit::Finalized,
            clock,
            ..RecordedRank::default()
        });
    }
    let members = format!("0-{}", ranks.len().max(1) - 1);
    let mut header = RecordingHeader {
        format: FORMAT_VERSION,
        hosts: vec!["here".into()],
        size: ranks.len(),
        ranks: known,
        communicators: vec![CommunicatorDefinition { made_by: "MPI_COMM_WORLD".into(), members, ..CommunicatorDefinition::default() }],
        sites: (0..4).map(|n| CallSiteDefinition { module: "program".into(), offset: n, ..CallSiteDefinition::default() }).collect(),
        operations: FUNCTIONS.iter().map(|function| function.name.to_owned()).collect(),
        ..RecordingHeader::default()
    };
    change(&mut header);
    header.write(folder).unwrap();
}

/// A call descriptor with only the function set.
pub(crate) fn descriptor(name: &str) -> CallDescriptor {
    CallDescriptor::new(FunctionId::from_name(name).unwrap())
}

/// A send on `MPI_COMM_WORLD`.
pub(crate) fn send(peer: i32) -> CallDescriptor {
    CallDescriptor { object: 0, peer, tag: 7, sent: 100, site: 1, parts: part::OBJECT | part::TAG | part::SENT, ..descriptor("MPI_Send") }
}

/// The matching receive.
pub(crate) fn receive(peer: i32) -> CallDescriptor {
    CallDescriptor {
        object: 0,
        peer,
        tag: 7,
        received: 100,
        site: 2,
        parts: part::OBJECT | part::TAG | part::RECEIVED,
        ..descriptor("MPI_Recv")
    }
}

/// Many calls of all kinds with pseudo-random times: bursts of short calls, and occasional long ones.
pub(crate) fn arbitrary(seed: u64, calls: usize) -> Vec<SampleCall> {
    let mut random = SampleRng(seed);
    let names = ["MPI_Send", "MPI_Recv", "MPI_Wait", "MPI_Allreduce", "MPI_Put", "MPI_File_write", "MPI_Pcontrol"];
    let mut now = 1000;
    let mut made = vec![(0, 0, now, descriptor("MPI_Init"))];
    for _ in 0..calls {
        let (gap, length) = (random.below(9) * random.below(300), 1 + random.below(9) * random.below(300));
        let pause = if random.below(200) == 0 { random.below(100_000) } else { 0 };
        let enter = now + gap + pause;
        now = enter + length + if random.below(300) == 0 { random.below(50_000) } else { 0 };
        let descriptor = CallDescriptor { site: random.below(4) as u32, ..descriptor(names[random.below(7) as usize]) };
        made.push((0, enter, now, descriptor));
    }
    made.push((0, now + 5, now + 2000, descriptor("MPI_Finalize")));
    made
}

/// Deterministic pseudo-random numbers.
pub(crate) struct SampleRng(pub u64);

impl SampleRng {
    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}
