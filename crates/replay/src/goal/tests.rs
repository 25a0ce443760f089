//! Reference results were obtained with LogGOPSim itself (github.com/spcl/LogGOPSim); `bench/replay/loggopsim.py --check` compares many
//! more.

use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
use sintonia_formats::goal::{GoalSchedule, read};
use sintonia_machine::Machine;

use super::*;
use crate::interval_bound::IntervalBound;

const MACHINE: LogGopsParameters = LogGopsParameters {
    latency_s: 2500e-9,
    overhead_s: 1500e-9,
    gap_s: 1000e-9,
    gap_s_per_byte: 6e-9,
    overhead_s_per_byte: 1e-9,
    eager_bytes: 65535,
};

fn with_goal<T>(text: &str, then: impl FnOnce(&GoalSchedule) -> T) -> T {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    then(&read(file.path()).unwrap())
}

/// End time of each rank in nanoseconds.
fn ends(text: &str) -> Vec<u64> {
    with_goal(text, |goal| simulate(goal, &MACHINE).unwrap().ends_ps.iter().map(|end| end / 1000).collect())
}

fn message(text: &str) -> String {
    with_goal(text, |goal| simulate(goal, &MACHINE).unwrap_err().to_string())
}

fn ranks(ranks: &[&str]) -> String {
    let rank_lines = ranks.iter().enumerate().map(|(rank, text)| format!("rank {rank} {{\n{text}\n}}\n"));
    format!("num_ranks {}\n{}", ranks.len(), rank_lines.collect::<String>())
}

#[test]
fn a_small_message_takes_overhead_latency_and_overhead() {
    assert_eq!(ends(&ranks(&["send 1b to 1 tag 3", "recv 1b from 0 tag 3"])), [1500, 1500 + 2500 + 1500]);
}

#[test]
fn each_further_byte_costs_the_sender_its_share_and_the_receiver_the_larger_one() {
    assert_eq!(ends(&ranks(&["send 101b to 1", "recv 101b from 0"])), [1500 + 100, 1500 + 2500 + 1500 + 600]);
}

#[test]
fn an_unexpected_message_occupies_the_receiver_on_arrival() {
    let late = ranks(&["send 1b to 1", "l1: calc 50000\nl2: recv 1b from 0\nl2 requires l1"]);
    // The CPU is busy at arrival, so it is received afterwards.
    assert_eq!(ends(&late), [1500, 51500]);
}

#[test]
fn a_large_message_is_done_for_its_sender_when_it_meets_its_receive() {
    let sender = "l1: send 100000b to 1\nl2: calc 10\nl2 requires l1";
    let receiver = "l1: calc 900000\nl2: recv 100000b from 0\nl2 requires l1";
    let found = ends(&ranks(&[sender, receiver]));
    // Received after the computation, at 900,000; the receive is posted just then.
    assert_eq!(found, [900_010, 900_000 + 1500 + 99_999 * 6]);
    let begun = ends(&ranks(&[&sender.replace("requires", "irequires"), receiver]));
    assert_eq!(begun[1], found[1]);
}

#[test]
fn two_messages_of_one_interface_are_a_gap_apart() {
    // The gap of 5,001 bytes exceeds the overhead: the second leaves at 31,000.
    let found = ends(&ranks(&["send 5001b to 1\nsend 5001b to 2", "recv 5001b from 0", "recv 5001b from 0"]));
    assert_eq!(found[0], 1000 + 5000 * 6 + 1500 + 5000);
    assert_eq!(found[2] - found[1], 31_000);
}

#[test]
fn receives_match_messages_in_order_including_wildcards() {
    let found =
        ends(&ranks(&["l1: recv 1b from -1 tag 4\nl2: calc 700\nl2 requires l1", "l1: calc 9000\nl2: send 1b to 0 tag 4\nl2 requires l1"]));
    assert_eq!(found, [9000 + 1500 + 2500 + 1500 + 700, 10_500]);
    let any_tag = ends(&ranks(&["recv 1b from 1 tag -1\nrecv 1b from 1 tag 7", "send 1b to 0 tag 7\nsend 1b to 0 tag 7"]));
    assert_eq!(any_tag.len(), 2);
}

#[test]
fn processors_of_a_rank_work_at_the_same_time_and_wait_for_each_other() {
    assert_eq!(ends(&ranks(&["calc 1000 cpu 0\ncalc 700 cpu 1"])), [1000]);
    assert_eq!(ends(&ranks(&["l1: calc 1000 cpu 0\nl2: calc 700 cpu 1\nl2 requires l1"])), [1700]);
    assert_eq!(ends(&ranks(&["l1: calc 1000 cpu 0\nl2: calc 700 cpu 1\nl2 irequires l1"])), [1000]);
}

#[test]
fn interfaces_of_a_rank_send_at_the_same_time() {
    let on = |nic: u8| ranks(&[&format!("send 5001b to 1\nsend 5001b to 2 nic {nic}"), "recv 5001b from 0", "recv 5001b from 0"]);
    assert_eq!(ends(&on(0))[0] - ends(&on(1))[0], 31_000 - 6500);
}

#[test]
fn a_tree_takes_as_long_as_in_loggopsim() {
    // binary_tree_32.goal of LogGOPSim: 27,500 ns with its default parameters, for any cost per byte.
    let mut rank_lines: Vec<Vec<String>> = vec![Vec::new(); 32];
    for rank in 1..32usize {
        let parent = rank - (1 << rank.ilog2());
        rank_lines[rank].push(format!("l1: recv 1b from {parent} tag 0"));
        let label = rank_lines[parent].iter().filter(|line| line.contains(':')).count() + 1;
        rank_lines[parent].push(format!("l{label}: send 1b to {rank} tag 0"));
        if parent > 0 {
            rank_lines[parent].push(format!("l{label} requires l1"));
        }
    }
    let texts: Vec<String> = rank_lines.iter().map(|lines| lines.join("\n")).collect();
    let found = ends(&ranks(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
    assert_eq!(found.iter().max(), Some(&27_500));
}

#[test]
fn every_operation_and_every_message_is_an_event() {
    let events = with_goal(&ranks(&["send 1b to 1", "l1: recv 1b from 0\nl2: calc 0\nl2 requires l1"]), |goal| {
        simulate(goal, &MACHINE).unwrap().events
    });
    assert_eq!(events, 4);
}

#[test]
fn unmatched_operations_are_reported_with_their_line() {
    let never_sent = message(&ranks(&["calc 5", "calc 5\nl4: recv 8b from 0 tag 6"]));
    assert!(never_sent.contains("1 receive is never matched"), "{never_sent}");
    assert!(never_sent.ends_with("rank 1, line 7 (`l4: recv 8b from 0 tag 6`): a receive from rank 0 with tag 6"), "{never_sent}");
    let never_received = message(&ranks(&["send 8b to 1 tag 6", "recv 8b from 0 tag 5"]));
    assert!(never_received.contains("1 message is never received, 1 receive is never matched"), "{never_received}");
    assert!(never_received.contains("8 bytes to rank 1 with tag 6"), "{never_received}");
}

#[test]
fn a_dependency_cycle_is_reported_with_its_operations() {
    let found = message(&ranks(&["l1: calc 5\nl2: calc 6\nl3: calc 7\nl2 requires l1\nl3 requires l2\nl2 requires l3"]));
    assert!(found.starts_with("cyclic dependencies in rank 0"), "{found}");
    assert!(found.contains("line 4 (`l2: calc 6`)") && found.contains("line 5 (`l3: calc 7`)") && !found.contains("l1: calc"), "{found}");
}

#[test]
fn overflowing_times_are_reported() {
    assert!(message(&ranks(&["calc 18446744073709551615"])).contains("more than 200 days"));
}

#[test]
fn the_parameters_stand_in_a_machine_file() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machine/data/loggp.machine.toml");
    let machine = Machine::read(&path).unwrap();
    let found = LogGopsParameters::from_machine(&machine, IntervalBound::Middle).unwrap();
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1e-9);
    assert!(near(found.latency_s, 2.5e-6) && near(found.overhead_s, 1.5e-6) && near(found.gap_s, 1e-6), "{found:?}");
    assert!(near(found.gap_s_per_byte, 6e-9) && found.overhead_s_per_byte == 0.0 && found.eager_bytes == 65535, "{found:?}");
}

#[test]
fn a_missing_timing_in_the_machine_file_is_reported() {
    let text = "format = 1\n[machine]\nname = \"x\"\n[[node]]\nkind = \"n\"\ncount = 1\ncores = 1\n[network.other_node]\neager_bytes = 5\n";
    let machine = Machine::parse(text, Path::new("x.machine.toml")).unwrap();
    let error = LogGopsParameters::from_machine(&machine, IntervalBound::Low).unwrap_err().to_string();
    assert_eq!(error, "the machine file lacks [network.other_node.send], which GOAL schedules need");
}

proptest! {
    /// Ranks that send around a ring, with random sizes and computations.
    #[test]
    fn no_rank_ends_before_what_it_must_do_and_all_messages_are_counted(
        sizes in prop::collection::vec((1u64..200_000, 0u64..50_000), 2..8),
    ) {
        let count = sizes.len();
        let rank = |rank: usize| {
            let ((size, work), (before, _)) = (sizes[rank], sizes[(rank + count - 1) % count]);
            let (next, last) = ((rank + 1) % count, (rank + count - 1) % count);
            format!("l1: calc {work}\nl2: send {size}b to {next}\nl2 requires l1\nl3: recv {before}b from {last}\nl3 requires l1")
        };
        let texts: Vec<String> = (0..count).map(rank).collect();
        let text = ranks(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let played = with_goal(&text, |goal| simulate(goal, &MACHINE).unwrap());
        prop_assert_eq!(played.events, 4 * count as u64);
        for (rank, end) in played.ends_ps.iter().enumerate() {
            let ((size, work), (before, sender_work)) = (sizes[rank], sizes[(rank + count - 1) % count]);
            let taken_in = 1500 + 2500 + 1500 + (before - 1) * 6;
            prop_assert!(*end / 1000 >= work + 1500 + (size - 1));
            prop_assert!(*end / 1000 >= sender_work + taken_in);
        }
    }

    #[test]
    fn more_of_anything_is_never_faster_for_a_single_message(size in 1u64..1_000_000, more in 1u64..10_000) {
        let seconds = |machine: &LogGopsParameters, size: u64| {
            with_goal(&ranks(&[&format!("send {size}b to 1"), &format!("recv {size}b from 0")]), |goal| simulate(goal, machine).unwrap().seconds())
        };
        let now = seconds(&MACHINE, size);
        prop_assert!(seconds(&MACHINE, size + more) >= now);
        let (farther, slower) = (LogGopsParameters { latency_s: 5e-6, ..MACHINE }, LogGopsParameters { overhead_s: 3e-6, ..MACHINE });
        prop_assert!(seconds(&farther, size) > now);
        prop_assert!(seconds(&slower, size) > now);
    }
}
