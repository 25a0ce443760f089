//! Scenarios as a user specifies them: changes combine, and impossible ones are reported.

use std::path::Path;

use sintonia_machine::Machine;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::raw::PROC_NULL;
use sintonia_recording::testing::{TestRecording, record_program};
use sintonia_replay::Error;
use sintonia_replay::engine::ReplaySink;
use sintonia_replay::scenario::{ReplayScenario, ScenarioResult};
use sintonia_replay::schedule::DescribedAction;
use sintonia_replay::sweep::{self, Sweep};
use sintonia_replay::what_if::WhatIf;

/// A message of 1 MB takes 10 us and 1 ms: only latency and bandwidth.
const MACHINE: &str = r#"
format = 1
[machine]
name = "two"
[[node]]
kind = "PC"
count = 8
cores = 1
[network.other_node]
transfer.pieces = [{ intercept_s = 1e-5, slope_s_per_byte = 1e-9 }]
"#;

const STAR: &str = "[topology]\nkind = \"star\"\nnodes = 8\nbandwidth_bytes_per_s = 1e9\nlatency_s = 1e-6\n";

/// Rank 0 computes for 1 ms and sends 1 MB to rank 1.
fn one_message() -> TestRecording {
    record_program(2, |process| match process.rank {
        0 => {
            process.compute(1_000_000);
            process.send(10, 1, 7, 1_000_000);
        }
        _ => process.receive(20, 0, 7, 1_000_000),
    })
}

fn machine(more: &str) -> Machine {
    Machine::parse(&format!("{MACHINE}{more}"), Path::new("two.machine.toml")).unwrap()
}

fn replayed(machine: Option<Machine>, what_if: &str) -> Result<ScenarioResult, String> {
    let made = one_message();
    let case = ReplayScenario { schedule: &made.recording, bounds: None, machine, what_ifs: WhatIf::parse(what_if).unwrap() };
    case.run().map_err(|error| error.to_string())
}

fn seconds(what_if: &str) -> f64 {
    replayed(Some(machine("")), what_if).unwrap().seconds[1]
}

fn is_about(seconds: f64, expected: f64) -> bool {
    (seconds - expected).abs() < 1e-3 * expected
}

#[test]
fn later_changes_act_on_what_earlier_ones_left() {
    assert!(is_about(seconds(""), 2.01e-3), "{}", seconds(""));
    assert!(is_about(seconds("latency=1ms,latency=x2"), 4e-3), "twice what it was changed to");
    assert!(is_about(seconds("latency=x10,latency=x10"), 3e-3), "a hundred times what it was");
    assert!(is_about(seconds("bandwidth=x0.5,bandwidth=x0.5"), 5.01e-3), "a quarter of what it was");
    assert!(is_about(seconds("bandwidth=x0.5,bandwidth=1GB"), 2.01e-3), "what it is told to be");
    assert!(is_about(seconds("compute=x2,compute=x2"), 5.01e-3));
    assert!(is_about(seconds("segment program.c:10 2ms,segment me/program.c:10 x2"), 5.01e-3), "with or without its folder");
}

#[test]
fn a_sweep_acts_on_what_was_changed_before() {
    let made = one_message();
    let what_ifs = WhatIf::parse("latency=1ms,balance=perfect").unwrap();
    let case = ReplayScenario { schedule: &made.recording, bounds: None, machine: Some(machine("")), what_ifs };
    let sweeps = ["latency=x1..x4/3", "bandwidth=x1:x0.5"].map(|text| Sweep::parse(text).unwrap());
    let cells = sweep::run_sweep(&case, &sweeps[0], Some(&sweeps[1])).unwrap();
    // Only rank 0 computes there, so there is nothing to balance.
    let expected = [[3e-3, 4e-3, 6e-3], [4e-3, 5e-3, 7e-3]];
    assert!(cells.iter().zip(expected).all(|(row, expected)| row.iter().zip(expected).all(|(a, b)| is_about(*a, b))), "{cells:?}");
}

#[test]
fn changes_that_need_a_machine_are_reported() {
    for change in ["eager=0", "contention=off", "wildcards=arrival", "algorithm=closed", "placement=cyclic", "nodes=2"] {
        let error = replayed(None, change).unwrap_err();
        assert!(error.contains("needs a machine file"), "{change}: {error}");
    }
    for change in ["latency=x2", "compute=x2", "balance=perfect", "noise=5%", "segment program.c:10 x2"] {
        assert!(replayed(None, change).is_ok(), "{change}");
    }
}

#[test]
fn wildcards_are_not_matched_again_with_shared_links() {
    let error = replayed(Some(machine(STAR)), "wildcards=arrival").unwrap_err();
    assert!(error.contains("contention=off"), "{error}");
    assert!(replayed(Some(machine(STAR)), "wildcards=arrival,contention=off").is_ok());
    assert!(replayed(Some(machine("")), "wildcards=arrival").is_ok());
}

#[test]
fn an_unknown_algorithm_in_the_machine_file_is_reported() {
    for (wrong, expected) in [
        ("allreduce = \"rign\"", "allreduce = \"rign\": no algorithm `rign` for allreduce (did you mean `ring`?)"),
        ("scan = \"ring\"", "`ring` does not implement scan"),
        ("library = \"mpichh\"", "did you mean `mpich`?"),
        ("library = \"ring\"", "no selection rules for MPI library `ring`"),
    ] {
        let error = replayed(Some(machine(&format!("[collectives]\n{wrong}\n"))), "").unwrap_err();
        assert!(error.starts_with("in [collectives] of the machine file") && error.contains(expected), "{error}");
    }
    assert!(replayed(Some(machine("[collectives]\nlibrary = \"closed\"\nallreduce = \"ring\"\n")), "").is_ok());
}

#[test]
fn the_interval_knows_every_figure_that_is_one() {
    let made = record_program(2, |process| match process.rank {
        0 => (0..100).for_each(|_| process.bsend(10, 1, 7, 8)),
        _ => (0..100).for_each(|_| process.receive(20, 0, 7, 8)),
    });
    let machine = machine("buffered_send.pieces = [{ intercept_s = [1e-6, 2e-6, 3e-6], slope_s_per_byte = 0.0 }]\n");
    let [low, middle, high] =
        ReplayScenario { schedule: &made.recording, bounds: None, machine: Some(machine), what_ifs: Vec::new() }.run().unwrap().seconds;
    assert!(low < 0.6 * middle && high > 1.4 * middle, "{low} {middle} {high}");
}

#[test]
fn requests_to_proc_null_are_counted_and_completed() {
    let made = record_program(2, |process| {
        let other = 1 - process.signed_rank();
        for _ in 0..10 {
            process.irecv(10, PROC_NULL, 7, 8);
            process.irecv(11, other, 7, 8);
            process.isend(12, PROC_NULL, 7, 8);
            process.compute(1_000_000 * u64::from(process.rank));
            process.isend(13, other, 7, 8);
            process.wait_all(14);
        }
    });
    let outcome = |machine| {
        let case = ReplayScenario { schedule: &made.recording, bounds: None, machine, what_ifs: Vec::new() };
        case.run().unwrap().outcome
    };
    let (recorded, there) = (outcome(None), outcome(Some(machine(""))));
    assert!([&recorded, &there].iter().all(|outcome| outcome.unmatched.sends + outcome.unmatched.receives == 0), "{recorded:?} {there:?}");
    assert!(there.ranks[0].replayed_s > 0.01, "rank 0 waits for rank 1, ten times a millisecond: {:?}", there.ranks);
}

/// A master with wildcard receives that takes two results from each worker and answers each.
fn farm(bytes: [u64; 2]) -> TestRecording {
    record_program(3, |process| match process.rank {
        0 => {
            for worker in [1, 2] {
                for (tag, bytes) in [(7, bytes[0]), (8, bytes[1])] {
                    process.receive_any(10, worker, tag, bytes);
                    process.send(11, worker, 9, 8);
                }
            }
            process.collective(12, "MPI_Barrier", 0, i32::MIN, [0, 0]);
        }
        rank => {
            process.compute(if rank == 1 { 10_000_000 } else { 0 });
            for (tag, bytes) in [(7, bytes[0]), (8, bytes[1])] {
                process.isend(20, 0, tag, bytes);
            }
            process.receive(21, 0, 9, 8);
            process.receive(21, 0, 9, 8);
            process.wait_all(22);
            process.collective(23, "MPI_Barrier", 0, i32::MIN, [0, 0]);
        }
    })
}

/// Messages received by the master (source and tag), and the actions of its calls.
struct Received(Vec<(i32, i32)>, Vec<CallDescriptor>);

impl ReplaySink for Received {
    fn actions(&mut self, line: usize, actions: &[DescribedAction]) -> Result<(), Error> {
        if line == 0 {
            self.1 = actions.iter().map(|described| described.call.clone()).collect();
        }
        Ok(())
    }

    fn call(&mut self, line: usize, action: u32, _: f64, _: f64) -> Result<(), Error> {
        if line == 0 && self.1[action as usize].function.name() == "MPI_Recv" {
            let shape = &self.1[action as usize];
            self.0.push((shape.peer, shape.tag));
        }
        Ok(())
    }
}

fn order(made: &TestRecording, what_if: &str) -> Vec<(i32, i32)> {
    let machine = machine("[network.same_node]\ntransfer.pieces = [{ intercept_s = 1e-6, slope_s_per_byte = 1e-9 }]\n");
    let what_ifs = WhatIf::parse(&format!("wildcards=arrival,{what_if}")).unwrap();
    let case = ReplayScenario { schedule: &made.recording, bounds: None, machine: Some(machine), what_ifs };
    let mut received = Received(Vec::new(), Vec::new());
    case.run_with_sink(&mut received).unwrap();
    received.0
}

#[test]
fn the_first_arrival_is_served_first_even_with_rendezvous() {
    let quick_first = [(2, 7), (2, 8), (1, 7), (1, 8)];
    assert_eq!(order(&farm([8, 8]), ""), quick_first);
    assert_eq!(order(&farm([8, 8]), "eager=0"), quick_first);
}

#[test]
fn a_hundred_workers_are_served_in_arrival_order() {
    let made = record_program(101, |process| match process.rank {
        0 => {
            for worker in 1..=100 {
                process.receive_any(10, worker, 7, 8);
                process.send(11, worker, 9, 8);
            }
            process.collective(12, "MPI_Barrier", 0, i32::MIN, [0, 0]);
        }
        rank => {
            process.compute(1_000_000 * u64::from(101 - rank));
            process.send(20, 0, 7, 8);
            process.receive(21, 0, 9, 8);
            process.collective(22, "MPI_Barrier", 0, i32::MIN, [0, 0]);
        }
    });
    let last_first: Vec<(i32, i32)> = (1..=100).rev().map(|worker| (worker, 7)).collect();
    assert_eq!(order(&made, "nodes=128"), last_first);
}

#[test]
fn messages_of_one_sender_never_overtake_each_other() {
    // On one node nothing delays the small one, and it arrives first.
    assert_eq!(order(&farm([1_000_000, 8]), "placement=0:0:0"), [(2, 7), (2, 8), (1, 7), (1, 8)]);
}

#[test]
fn no_number_of_nodes_takes_more_memory_than_the_ranks() {
    for change in ["nodes=18446744073709551615", "nodes=99999999999,placement=cyclic", "placement=4294967295:0"] {
        let mut machine = machine("");
        if change.contains(':') {
            machine.nodes.clear();
        }
        assert!(replayed(Some(machine), change).is_ok(), "{change}");
    }
    let error = replayed(Some(machine("")), "placement=0:8").unwrap_err();
    assert_eq!(error, "the placement names node 8, but the machine has nodes 0 to 7");
    assert!(replayed(Some(machine("")), "nodes=1").unwrap_err().contains("2 ranks do not fit on its 1 cores"));
}
