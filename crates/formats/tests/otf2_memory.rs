//! OTF2 is written and read as a stream: a recording six times as long needs no more memory.
//!
//! The system counts the memory of the whole process, so this test is alone in its program.

use std::fs;
use std::path::Path;

use sintonia_formats::otf2;
use sintonia_recording::Recording;
use sintonia_recording::testing::{RecordingBuilder, irecv, isend, wait};

/// A rank that sends to itself, with calls that all differ.
fn record(folder: &Path, rounds: u64) {
    let round = |round: u64| {
        let (tag, bytes, now) = ((round % 30_000) as i32, round * 8, round * 100);
        let mut wait = wait("MPI_Waitall", &[(1, None), (0, Some(0))]);
        (wait.requests[1].tag, wait.requests[1].received) = (tag, bytes);
        let (send, receive) = (isend(0).tag(tag).sent(bytes), irecv(0).tag(tag).received(bytes));
        [send.at(now, now + 10), receive.at(now + 20, now + 30), wait.at(now + 40, now + 50)]
    };
    RecordingBuilder::in_folder(folder).rank((0..rounds).flat_map(round)).write();
}

/// The most memory the process had while it did this, in KiB.
fn peak(work: impl FnOnce()) -> u64 {
    fs::write("/proc/self/clear_refs", "5").expect("the system forgets the peak so far");
    work();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the system knows the peak");
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Peaks of writing and reading a recording of this many rounds.
fn peaks(rounds: u64) -> [u64; 2] {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    record(&at("run.sin"), rounds);
    let written = peak(|| _ = otf2::write(&Recording::open(&at("run.sin")).unwrap(), &at("run.otf2"), &|| ()).unwrap());
    let read = peak(|| assert_eq!(otf2::read(&at("run.otf2"), &at("back.sin")).unwrap().calls, 3 * rounds));
    [written, read]
}

#[test]
fn memory_does_not_grow_with_the_length_of_the_run() {
    // More than one block of calls, which is what is in memory at a time.
    let rounds = 30_000;
    // What is allocated once and kept is there after the first time.
    peaks(rounds);
    let (short, long) = (peaks(rounds), peaks(6 * rounds));
    for (what, short, long) in [("writing", short[0], long[0]), ("reading", short[1], long[1])] {
        // The system does not give all memory back at once; holding every event would take twice as much.
        assert!(long < short + short / 2, "{what} needed {short} KiB, and {long} KiB for six times as much");
    }
}
