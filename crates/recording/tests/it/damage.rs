//! Damaged files: what is readable is read, and the rest is reported.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::*;
use sintonia_recording::definitions::{FORMAT_VERSION, LIVE_DIR};
use sintonia_recording::header::RecordingHeader;
use sintonia_recording::seal::{SealOptions, seal};
use sintonia_recording::{Error, IncompleteReason, Recording};

/// A sealed recording of two ranks with many calls each; the calls of rank 0 are in several blocks, because they are from several threads.
fn recorded() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..2 {
        let mut process = process("here", 1 + rank as u32);
        process.clock(0).world(1, rank, 2).end("finalized", 1 << 40);
        for thread in 1..4 {
            process.streams.push(Stream::new(thread));
        }
        for call in 0..200 {
            let stream = &mut process.streams[call as usize % 4];
            stream.call(1000 + 100 * call, 1050 + 100 * call, &payload("MPI_Send").object(0, 1).tag(call as i32 / 7).sent(call * call));
        }
        process.write(folder.path());
    }
    seal(folder.path(), &SealOptions::default()).unwrap();
    folder
}

fn rank_file(folder: &Path) -> PathBuf {
    folder.join("rank-00000.calls")
}

/// The calls of a rank by thread: enter time and size.
fn calls(recording: &Recording, rank: u32) -> Vec<(u16, i64, u64)> {
    let tables = recording.tables(rank).unwrap();
    tables.iter().flat_map(|table| table.calls().map(|call| (table.thread, call.enter, call.descriptor.sent)).collect::<Vec<_>>()).collect()
}

#[test]
fn a_file_cut_at_any_byte_is_read_up_to_there() {
    let folder = recorded();
    let whole = fs::read(rank_file(folder.path())).unwrap();
    let all = calls(&Recording::open(folder.path()).unwrap(), 0);
    assert_eq!(all.len(), 200);
    let mut most = 0;
    for length in 0..whole.len() {
        fs::write(rank_file(folder.path()), &whole[..length]).unwrap();
        let recording = Recording::open(folder.path()).unwrap();
        let why = recording.incomplete_ranks();
        assert!(matches!(why[..], [(0, IncompleteReason::FileTruncated(at))] if at <= length as u64), "{length}: {why:?}");
        let found = calls(&recording, 0);
        assert!(found.len() >= most && found.iter().all(|call| all.contains(call)), "{length}");
        most = found.len();
        let summed: u64 = recording.totals(0).unwrap().iter().map(|(_, t)| t.calls).sum();
        assert_eq!(summed, most as u64);
        assert_eq!(calls(&recording, 1).len(), 200, "the other rank is whole");
    }
    assert_eq!(most, 150, "only the last block is lost at the last byte");
}

#[test]
fn a_changed_bit_costs_one_block_or_the_end_of_the_file() {
    let folder = recorded();
    let whole = fs::read(rank_file(folder.path())).unwrap();
    let all = calls(&Recording::open(folder.path()).unwrap(), 0);
    // The file header is left alone: its rank is informational, and another format is not damage.
    for bit in (8 * 16..8 * whole.len()).step_by(13) {
        let mut changed = whole.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        fs::write(rank_file(folder.path()), &changed).unwrap();
        let recording = Recording::open(folder.path()).unwrap();
        let found = calls(&recording, 0);
        assert!(found.len() < all.len() && found.len().is_multiple_of(50), "bit {bit}: {} calls", found.len());
        assert!(found.iter().all(|call| all.contains(call)), "bit {bit}");
        let why = recording.incomplete_ranks();
        assert!(matches!(why[..], [(0, IncompleteReason::FileDamaged(_) | IncompleteReason::FileTruncated(_))]), "bit {bit}: {why:?}");
    }
}

#[test]
fn any_bytes_in_a_rank_file_are_read_without_panic() {
    let folder = recorded();
    let whole = fs::read(rank_file(folder.path())).unwrap();
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..500 {
        let mut changed = whole.clone();
        for _ in 0..=random.u64(..8) {
            let place = random.usize(..changed.len());
            changed[place] = random.u8(..);
        }
        repair_checksums(&mut changed, &mut random);
        fs::write(rank_file(folder.path()), &changed).unwrap();
        let recording = Recording::open(folder.path()).unwrap();
        if let (Ok(tables), Ok(_)) = (recording.tables(0), recording.totals(0)) {
            tables.iter().for_each(|table| table.calls().for_each(|call| call.requests().for_each(drop)));
        }
        recording.incomplete_ranks();
    }
}

/// Makes some of the checksums match, so that the data behind them is parsed.
fn repair_checksums(bytes: &mut [u8], random: &mut fastrand::Rng) {
    let mut at = 16;
    while at + 48 <= bytes.len() {
        let length = u32::from_le_bytes(bytes[at + 12..at + 16].try_into().unwrap()) as usize;
        let Some(end) = (at + 48).checked_add(length).filter(|end| *end <= bytes.len()) else { return };
        if random.u64(..4) > 0 {
            let body = crc32fast::hash(&bytes[at + 48..end]);
            bytes[at + 8..at + 12].copy_from_slice(&body.to_le_bytes());
            let header = crc32fast::hash(&bytes[at + 8..at + 48]);
            bytes[at + 4..at + 8].copy_from_slice(&header.to_le_bytes());
        }
        at = end;
    }
}

#[test]
fn a_missing_file_is_told_and_everything_else_works() {
    let folder = recorded();
    fs::remove_file(rank_file(folder.path())).unwrap();
    let recording = Recording::open(folder.path()).unwrap();
    assert_eq!(recording.incomplete_ranks(), [(0, IncompleteReason::FileMissing)]);
    assert!(recording.tables(0).unwrap().is_empty());
    assert_eq!(calls(&recording, 1).len(), 200);
}

#[test]
fn a_newer_recording_is_refused_by_name_of_both_formats() {
    let folder = recorded();
    fs::write(folder.path().join("recording.json"), format!("{{\"format\": {}, \"else\": []}}", FORMAT_VERSION + 41)).unwrap();
    let Err(error) = Recording::open(folder.path()) else { panic!("it was opened") };
    let text = error.to_string();
    assert!(text.contains(&format!("format {}", FORMAT_VERSION + 41)) && text.contains(&format!("up to {FORMAT_VERSION}")), "{text}");
}

#[test]
fn what_is_no_recording_is_said_not_to_be_one() {
    let folder = tempfile::tempdir().unwrap();
    let text = |path: &Path| Recording::open(path).err().unwrap().to_string();
    assert!(text(&folder.path().join("nothing.sin")).contains("no such recording"));
    assert!(text(folder.path()).contains("not a recording (it has no recording.json)"));
    let file = folder.path().join("file");
    fs::write(&file, "text").unwrap();
    assert!(text(&file).contains("it is a file"));
    fs::write(folder.path().join("recording.json"), "{\"format\": 1,\n \"ranks\": 7}").unwrap();
    assert!(text(folder.path()).contains("recording.json:2:11:"), "{}", text(folder.path()));
    assert!(matches!(seal(folder.path(), &SealOptions::default()), Err(Error::NotARecording { .. })));
}

#[test]
fn a_header_that_tells_of_too_many_processes_is_refused() {
    let folder = recorded();
    let whole = RecordingHeader::read(folder.path()).unwrap();
    let mut far_away = whole.clone();
    far_away.ranks[1].rank = u32::MAX;
    for header in [RecordingHeader { size: usize::MAX, ..whole.clone() }, far_away] {
        header.write(folder.path()).unwrap();
        let error = Recording::open(folder.path()).err().unwrap();
        assert!(error.to_string().contains("more processes than any machine runs"), "{error}");
    }
    whole.write(folder.path()).unwrap();
    assert!(Recording::open(folder.path()).is_ok());
}

#[test]
fn any_bytes_in_the_header_are_refused_or_read_but_never_panic() {
    let folder = recorded();
    let path = folder.path().join("recording.json");
    // Without the long list of functions, so that the changes affect something else.
    let mut header = RecordingHeader::read(folder.path()).unwrap();
    header.operations.truncate(2);
    header.write(folder.path()).unwrap();
    let whole = fs::read(&path).unwrap();
    let mut random = fastrand::Rng::with_seed(9);
    for _ in 0..500 {
        let mut changed = whole.clone();
        let place = random.usize(..changed.len());
        changed[place] = b"0123456789-,:[]{}\"ax"[random.usize(..20)];
        changed.truncate(whole.len() - (random.u64(..4) * random.u64(..50)) as usize);
        fs::write(&path, &changed).unwrap();
        if let Ok(recording) = Recording::open(folder.path()) {
            for rank in 0..2 {
                let _ = (recording.tables(rank), recording.totals(rank));
            }
            let _ = (recording.members(0), recording.remote(0), recording.site(0), recording.incomplete_ranks());
        }
    }
}

/// The files of a killed process: written blocks, and blocks in memory of which the last is open.
fn killed(folder: &Path) -> [PathBuf; 3] {
    let mut process = process("here", 1);
    process.clock(0).world(1, 0, 1);
    let mut stream = Stream::new(0);
    for call in 0..300 {
        stream.call(1000 + 100 * call, 1050 + 100 * call, &payload("MPI_Send").object(0, 0).tag(call as i32).sent(8));
    }
    let blocks = stream.blocks.len();
    let tail = [stream.block(blocks - 1, false, Some((90_000, &payload("MPI_Recv")))), stream.block(blocks - 2, true, None)].concat();
    process.tails.push((0, tail));
    process.others.push(("t0.calls".into(), stream.bytes(0)[..(blocks - 2) * RAW_BLOCK].to_vec()));
    process.write(folder);
    ["defs", "t0.calls", "t0.tail"].map(|kind| folder.join(LIVE_DIR).join(format!("here-1.{kind}")))
}

#[test]
fn what_processes_leave_can_be_cut_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let files = killed(folder.path());
    let all = calls(&Recording::open(folder.path()).unwrap(), 0);
    assert_eq!(all.len(), 301);
    let mut random = fastrand::Rng::with_seed(4);
    for (place, path) in files.iter().enumerate() {
        let whole = fs::read(path).unwrap();
        for _ in 0..40 {
            let length = random.usize(..whole.len());
            fs::write(path, &whole[..length]).unwrap();
            match Recording::open(folder.path()) {
                Ok(recording) => {
                    let found = calls(&recording, 0);
                    assert!(found.len() <= all.len());
                    let known = |call: &(u16, i64, u64)| all.iter().any(|(_, _, sent)| sent == &call.2);
                    assert!(place == 0 || found.iter().all(known), "{path:?} cut at {length}");
                }
                Err(error) => assert!(place == 0 && matches!(error, Error::NoMpiCalls { .. }), "{path:?} cut at {length}: {error}"),
            }
        }
        fs::write(path, &whole).unwrap();
    }
}

#[test]
fn a_damaged_block_is_counted_or_found_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let [_, written, tail] = killed(folder.path());
    let mut bytes = fs::read(&written).unwrap();
    let lost = RAW_BLOCK + 200;
    bytes[lost] ^= 1;
    fs::write(&written, &bytes).unwrap();
    let recording = Recording::open(folder.path()).unwrap();
    assert_eq!(recording.header.ranks[0].damaged_blocks, 1);
    assert_eq!(recording.incomplete_ranks(), [(0, IncompleteReason::DamagedBlocks(1))]);
    let found = calls(&recording, 0).len();
    assert!(found < 301 && found > 200);
    // The memory still holds the block.
    let mut memory = fs::read(&tail).unwrap();
    bytes[lost] ^= 1;
    memory.extend_from_slice(&bytes[RAW_BLOCK..2 * RAW_BLOCK]);
    fs::write(&tail, &memory).unwrap();
    bytes[lost] ^= 1;
    let recording = Recording::open(folder.path()).unwrap();
    assert_eq!((recording.header.ranks[0].damaged_blocks, calls(&recording, 0).len()), (0, 301));
}

#[test]
fn any_bytes_left_by_processes_are_sealed_without_panic() {
    let folder = tempfile::tempdir().unwrap();
    let files = killed(folder.path());
    let mut random = fastrand::Rng::with_seed(8);
    for round in 0..150 {
        let path = &files[round % 3];
        let whole = fs::read(path).unwrap();
        let mut changed = whole.clone();
        for _ in 0..=random.u64(..6) {
            let place = random.usize(..changed.len().min(4000));
            changed[place] = if round % 3 == 0 { b"0123456789-,:\"x"[random.usize(..15)] } else { random.u8(..) };
        }
        fs::write(path, &changed).unwrap();
        if let Ok(recording) = Recording::open(folder.path()) {
            for rank in recording.header.ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>() {
                let _ = (recording.tables(rank), recording.totals(rank));
            }
        }
        fs::write(path, &whole).unwrap();
    }
}
