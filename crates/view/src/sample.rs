//! Recordings for tests.

use std::path::Path;
use std::sync::Arc;

use sintonia_recording::Recording;
use sintonia_recording::testing::{RecordingBuilder, TestCall, call, finalize, init};

/// Writes a recording with these calls into a folder.
pub(crate) fn recording(folder: &Path, ranks: &[Vec<TestCall>]) -> Arc<Recording> {
    Arc::new(RecordingBuilder::in_folder(folder).ranks(ranks).write().recording)
}

/// Many calls of all kinds with pseudo-random times: bursts of short calls, and occasional long ones.
pub(crate) fn arbitrary(seed: u64, calls: usize) -> Vec<TestCall> {
    let mut random = fastrand::Rng::with_seed(seed);
    let names = ["MPI_Send", "MPI_Recv", "MPI_Wait", "MPI_Allreduce", "MPI_Put", "MPI_File_write", "MPI_Pcontrol"];
    let mut now = 1000;
    let mut made = vec![init().at(0, now)];
    for _ in 0..calls {
        let (gap, length) = (random.u64(..9) * random.u64(..300), 1 + random.u64(..9) * random.u64(..300));
        let pause = if random.u64(..200) == 0 { random.u64(..100_000) } else { 0 };
        let enter = now + gap + pause;
        now = enter + length + if random.u64(..300) == 0 { random.u64(..50_000) } else { 0 };
        let line = random.u32(..4);
        made.push(call(names[random.usize(..7)]).line(line).at(enter, now));
    }
    made.push(finalize().at(now + 5, now + 2000));
    made
}
