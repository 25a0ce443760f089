//! A recording exported as a trace of another tool takes as long as the recording itself when replayed.

use std::path::Path;

use sintonia_formats::{dimemas, smpi};
use sintonia_machine::Machine;
use sintonia_recording::testing::{TestProcess, TestRecording, record_program};
use sintonia_replay::scenario::ReplayScenario;
use sintonia_replay::schedule::Schedule;

/// Latency, bytes and overheads; rendezvous above 10 kB.
const MACHINE: &str = r#"
format = 1
[machine]
name = "eight"
[[node]]
kind = "PC"
count = 8
cores = 1
[network.other_node]
eager_bytes = 10000
send.pieces = [{ intercept_s = 1e-6, slope_s_per_byte = 0.0 }]
receive.pieces = [{ intercept_s = 2e-6, slope_s_per_byte = 0.0 }]
transfer.pieces = [{ intercept_s = 1e-5, slope_s_per_byte = 1e-9 }]
"#;

/// End time of each rank on the machine.
fn ends(schedule: &dyn Schedule) -> Vec<f64> {
    let machine = Machine::parse(MACHINE, Path::new("eight.machine.toml")).unwrap();
    let findings = ReplayScenario { schedule, bounds: None, machine: Some(machine), what_ifs: Vec::new() }.run().unwrap();
    findings.outcome.ranks.iter().map(|rank| rank.replayed_s).collect()
}

/// What is missing in the trace, and the end times in it and in the recording.
fn compared(made: &TestRecording, name: &str) -> (Vec<String>, Vec<f64>, Vec<f64>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let (notes, found) = match name.ends_with(".dim") {
        true => (dimemas::write(&made.recording, &path, &|| {}).unwrap().notes, ends(&dimemas::open(&path).unwrap())),
        false => (smpi::write(&made.recording, &path, &|| {}).unwrap().notes, ends(&smpi::open(&path, 1e9).unwrap())),
    };
    (notes, found, ends(&made.recording))
}

fn are_about(found: &[f64], expected: &[f64]) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-8)
}

/// Compares both formats with the recording.
fn assert_same(ranks: u32, notes: [&[&str]; 2], program: impl Fn(&mut TestProcess)) {
    let made = record_program(ranks, |process| {
        process.init();
        process.compute(1_000_000 + 10_000 * u64::from(process.rank));
        program(process);
        process.compute(500_000);
        process.finalize();
    });
    for (name, expected_notes) in ["run.dim", "run.ti"].into_iter().zip(notes) {
        let (told, found, expected) = compared(&made, name);
        assert!(are_about(&found, &expected), "{name}: {found:?} and not {expected:?}");
        assert!(told.len() == expected_notes.len() && told.iter().zip(expected_notes).all(|(a, b)| a.contains(b)), "{name}: {told:?}");
    }
}

#[test]
fn blocking_messages_small_and_large_take_as_long() {
    assert_same(2, [&[], &[]], |process| {
        for bytes in [0, 8, 100_000] {
            match process.rank {
                0 => process.send(10, 1, 7, bytes),
                _ => process.receive(20, 0, 7, bytes),
            }
            process.compute(20_000);
        }
    });
}

#[test]
fn nonblocking_messages_wait_where_the_recording_waits() {
    let no_waits: &[&str] = &["waits for nonblocking sends are left out: Dimemas has none"];
    assert_same(4, [no_waits, &[]], |process| {
        let (here, ranks) = (process.signed_rank(), 4);
        for round in 0..5 {
            process.irecv(10, (here + ranks - 1) % ranks, round, 4096);
            process.isend(11, (here + 1) % ranks, round, 4096);
            process.compute(5_000 * (1 + here as u64));
            process.wait_all(12);
        }
    });
}

#[test]
fn send_receive_does_not_block() {
    assert_same(3, [&[], &[]], |process| {
        let here = process.signed_rank();
        process.send_receive(10, (here + 1) % 3, (here + 2) % 3, 5, 50_000);
    });
}

#[test]
fn operations_of_all_take_as_long() {
    assert_same(4, [&[], &[]], |process| {
        process.collective(10, "MPI_Barrier", 0, -1, [0, 0]);
        let at_root = |bytes: [u64; 2], others: [u64; 2]| if process.rank == 2 { bytes } else { others };
        let (broadcast, gather) = (at_root([800, 0], [0, 800]), at_root([100, 400], [100, 0]));
        process.collective(11, "MPI_Bcast", 0, 2, broadcast);
        process.collective(12, "MPI_Gather", 0, 2, gather);
        process.collective(13, "MPI_Allreduce", 0, -1, [64, 64]);
        process.collective(14, "MPI_Alltoall", 0, -1, [4000, 4000]);
        process.collective(15, "MPI_Allgather", 0, -1, [100, 400]);
    });
}

#[test]
fn the_match_of_a_wildcard_receive_is_known() {
    assert_same(3, [&[], &[]], |process| match process.rank {
        0 => {
            process.receive_any(10, 2, 1, 64);
            process.receive_any(11, 1, 1, 64);
        }
        _ => process.send(20, 0, 1, 64),
    });
}

#[test]
fn persistent_messages_are_written_each_time_they_are_started() {
    let no_waits: &[&str] = &["waits for nonblocking sends are left out: Dimemas has none"];
    assert_same(2, [no_waits, &[]], |process| {
        process.recv_init(10, 1 - process.signed_rank(), 3, 2000);
        process.send_init(11, 1 - process.signed_rank(), 3, 2000);
        for _ in 0..3 {
            process.start_all(12);
            process.wait_all(13);
        }
    });
}

#[test]
fn what_is_on_a_part_of_the_ranks_is_played_to_its_end() {
    let made = record_program(4, |process| {
        process.init();
        let part = process.split(10, |rank| rank % 2);
        process.collective(11, "MPI_Allreduce", part, -1, [64, 64]);
        process.collective(12, "MPI_Allgatherv", part, -1, [100, 200]);
        process.finalize();
    });
    let barriers = "communicator and window creation, fences and collective file access are written as barriers";
    let messages = "collectives of a subset of the ranks are written as messages: SMPI has only those of all ranks";
    for (name, notes) in [("run.dim", vec![barriers]), ("run.ti", vec![barriers, messages])] {
        let (told, found, expected) = compared(&made, name);
        assert_eq!(told, notes, "{name}");
        assert!(found.iter().zip(&expected).all(|(found, expected)| (0.5..2.0).contains(&(found / expected))), "{found:?} {expected:?}");
    }
}
