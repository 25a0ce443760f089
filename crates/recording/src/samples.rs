//! Samples of the stacks of threads, by the time they run on a processor.
//!
//! `stacks.json` has the frames of all stacks, each under its caller. `rank-00000.samples` holds, as LEB128 numbers: for each thread its
//! number, the number of samples that were lost, the number of samples, and for each sample the distance in ticks from the previous one
//! (signed) and `frame << 3 | truncated << 2 | in MPI << 1 | in the kernel`. A CRC-32 of all that ends the file. A rank without samples has none.

use std::borrow::Cow;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::checked_file::{self, Magic};
use crate::definitions::FORMAT_VERSION;
use crate::error::Error;
use crate::json;
use crate::sealed::varint;

const MAGIC: &Magic = b"SINSMPLS";
const FRAMES_FILE: &str = "stacks.json";

/// A function in a stack, at a line of the source, under its caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StackFrame {
    /// The frame of its caller, by index, which is less than its own; none for `main` and the function of a thread, and where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<u32>,
    /// The function, if it has a symbol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The source file, with debug information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The executable or library; empty for code that is in no file.
    pub module: String,
}

impl StackFrame {
    /// The name of the function; without a symbol, one that tells its file.
    pub fn name(&self) -> Cow<'_, str> {
        let file_name = self.module.rsplit('/').next().unwrap_or_default();
        match &self.function {
            Some(function) => function.into(),
            None if file_name.is_empty() => "generated code".into(),
            None => format!("code in {file_name}").into(),
        }
    }
}

/// The stack of a thread at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// In nanoseconds since the start of the recording (in the file: in ticks).
    pub time: i64,
    /// Its innermost frame.
    pub frame: u32,
    /// Whether the thread was in the kernel, called by that frame.
    pub in_kernel: bool,
    /// Whether the thread was in an MPI call: the innermost frame is then the call site.
    pub in_mpi: bool,
    /// Whether the stack goes on above its outermost frame.
    pub is_truncated: bool,
}

/// The samples of one thread, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadSamples {
    /// The thread's number in its process; threads that never called MPI have numbers after those of the others.
    pub thread: u16,
    /// How many more were taken, but not kept.
    pub lost: u64,
    /// The samples.
    pub samples: Vec<Sample>,
}

/// All frames of a recording.
#[derive(Serialize, Deserialize)]
struct StackFile {
    format: u32,
    frames: Vec<StackFrame>,
}

fn file_name(rank: u32) -> String {
    format!("rank-{rank:05}.samples")
}

/// Writes the frames of a recording; nothing if there are none.
pub fn write_frames(folder: &Path, frames: Vec<StackFrame>) -> Result<(), Error> {
    if frames.is_empty() { Ok(()) } else { json::write(&folder.join(FRAMES_FILE), &StackFile { format: FORMAT_VERSION, frames }) }
}

/// The frames of a recording; none in one without samples.
pub(crate) fn read_frames(folder: &Path) -> Result<Vec<StackFrame>, Error> {
    let path = folder.join(FRAMES_FILE);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let file: StackFile = json::read(&path)?;
    let mut frames = file.frames;
    // A caller is defined before; anything else is damaged.
    for (frame, index) in frames.iter_mut().zip(0..) {
        frame.caller = frame.caller.filter(|caller| *caller < index);
    }
    Ok(frames)
}

/// Writes the file of a rank, with times in ticks; none if there are no samples.
pub fn write(folder: &Path, rank: u32, threads: &[ThreadSamples]) -> Result<(), Error> {
    let mut bytes = Vec::new();
    for thread in threads.iter().filter(|thread| !thread.samples.is_empty() || thread.lost > 0) {
        encode(&mut bytes, thread);
    }
    checked_file::write(&folder.join(file_name(rank)), MAGIC, &bytes).map(drop)
}

fn encode(bytes: &mut Vec<u8>, thread: &ThreadSamples) {
    varint::encode(bytes, thread.thread.into());
    varint::encode(bytes, thread.lost);
    varint::encode(bytes, thread.samples.len() as u64);
    let mut previous = 0;
    for sample in &thread.samples {
        varint::encode_signed(bytes, sample.time.wrapping_sub(previous));
        let flags = u64::from(sample.is_truncated) << 2 | u64::from(sample.in_mpi) << 1 | u64::from(sample.in_kernel);
        varint::encode(bytes, u64::from(sample.frame) << 3 | flags);
        previous = sample.time;
    }
}

fn decode(mut rest: &[u8]) -> Option<Vec<ThreadSamples>> {
    let mut threads = Vec::new();
    while !rest.is_empty() {
        let thread = u16::try_from(varint::decode(&mut rest)?).ok()?;
        let (lost, count) = (varint::decode(&mut rest)?, varint::decode(&mut rest)?);
        let (mut samples, mut time) = (Vec::new(), 0_i64);
        for _ in 0..count {
            time = time.wrapping_add(varint::decode_signed(&mut rest)?);
            let word = varint::decode(&mut rest)?;
            let is_set = |bit: u32| word >> bit & 1 == 1;
            let frame = u32::try_from(word >> 3).ok()?;
            samples.push(Sample { time, frame, in_kernel: is_set(0), in_mpi: is_set(1), is_truncated: is_set(2) });
        }
        threads.push(ThreadSamples { thread, lost, samples });
    }
    Some(threads)
}

/// The file of a rank, with times in ticks; empty if there is none, or if it is damaged.
pub(crate) fn read(folder: &Path, rank: u32) -> Result<Vec<ThreadSamples>, Error> {
    checked_file::read(&folder.join(file_name(rank)), MAGIC, decode)
}

/// Gives each frame of a rank's samples another index.
pub fn renumber_frames(folder: &Path, rank: u32, indices: &[u32]) -> Result<(), Error> {
    let mut threads = read(folder, rank)?;
    for sample in threads.iter_mut().flat_map(|thread| &mut thread.samples) {
        sample.frame = indices[sample.frame as usize];
    }
    write(folder, rank, &threads)
}

impl ThreadSamples {
    /// Nanoseconds that a sample stands for. Samples that were lost count as those that were kept.
    pub fn sample_ns(&self, period_ns: u64) -> u64 {
        let (kept, lost) = (self.samples.len() as u128, u128::from(self.lost));
        (u128::from(period_ns) * (kept + lost)).checked_div(kept).map_or(period_ns, |ns| ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads() -> Vec<ThreadSamples> {
        let sample = |number: u32| Sample {
            time: 27_000_000 * i64::from(number) + 5_000_000_000_000,
            frame: number % 700,
            in_kernel: number.is_multiple_of(5),
            in_mpi: number.is_multiple_of(3),
            is_truncated: number.is_multiple_of(7),
        };
        let thread = |thread, count| ThreadSamples { thread, lost: 3, samples: (0..count).map(sample).collect() };
        vec![thread(0, 1000), thread(7, 3)]
    }

    #[test]
    fn samples_survive_a_file_and_are_short() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), 2, &threads()).unwrap();
        assert_eq!(read(folder.path(), 2).unwrap(), threads());
        let bytes = folder.path().join(file_name(2)).metadata().unwrap().len();
        assert!(bytes <= 12 * 1003, "{bytes} bytes");
        assert_eq!(read(folder.path(), 3).unwrap(), []);
        write(folder.path(), 3, &[ThreadSamples::default()]).unwrap();
        assert!(!folder.path().join(file_name(3)).exists());
    }

    #[test]
    fn a_damaged_caller_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let frame = |caller| StackFrame { caller, function: Some("work".into()), ..StackFrame::default() };
        write_frames(folder.path(), vec![frame(Some(5)), frame(Some(0)), frame(Some(2))]).unwrap();
        let callers: Vec<_> = read_frames(folder.path()).unwrap().into_iter().map(|frame| frame.caller).collect();
        assert_eq!(callers, [None, Some(0), None]);
    }
}
