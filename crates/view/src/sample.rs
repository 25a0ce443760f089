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
    let mut random = SampleRng(seed);
    let names = ["MPI_Send", "MPI_Recv", "MPI_Wait", "MPI_Allreduce", "MPI_Put", "MPI_File_write", "MPI_Pcontrol"];
    let mut now = 1000;
    let mut made = vec![init().at(0, now)];
    for _ in 0..calls {
        let (gap, length) = (random.below(9) * random.below(300), 1 + random.below(9) * random.below(300));
        let pause = if random.below(200) == 0 { random.below(100_000) } else { 0 };
        let enter = now + gap + pause;
        now = enter + length + if random.below(300) == 0 { random.below(50_000) } else { 0 };
        let line = random.below(4) as u32;
        made.push(call(names[random.below(7) as usize]).line(line).at(enter, now));
    }
    made.push(finalize().at(now + 5, now + 2000));
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
