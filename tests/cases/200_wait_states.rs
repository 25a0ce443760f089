//! Every wait state, in a program that has exactly that one: it is found at the call that waits, on the ranks that wait, by the
//! amount that the program measured itself, and nothing else is found. Programs in which nothing waits get no finding.

use std::collections::BTreeMap;

use serde_json::Value;
use sintonia_tests::{Injected, Program, Recording, check_with_retries, is_at};

/// How far the found seconds may be from the injected ones.
const TOLERANCE: f64 = 0.10;
/// How much of the injected seconds may be found as another kind: what a busy machine adds to any run.
const NOISE: f64 = 0.15;
/// How much of a clean run any wait may take.
const CLEAN: f64 = 0.05;

/// A call that may wait: the marker of its line and its operation.
type Place = (&'static str, &'static str);

#[test]
fn c200_a_receive_waits_for_its_sender() {
    waits("c/200_late_sender", "late_sender", &[("recv", "MPI_Recv")], &[1]);
}

#[test]
fn c201_a_wait_for_a_receive_waits_for_its_sender() {
    waits("c/201_late_sender_wait", "late_sender", &[("wait", "MPI_Wait")], &[1]);
}

#[test]
fn c202_a_wait_for_several_receives_waits_for_the_latest_sender_once() {
    waits("c/202_late_sender_waitall", "late_sender", &[("waitall", "MPI_Waitall")], &[0]);
}

#[test]
fn c203_messages_of_one_sender_are_received_in_the_wrong_order() {
    waits("c/203_wrong_order", "late_sender_wrong_order", &[("first", "MPI_Recv")], &[1]);
}

#[test]
fn c204_messages_of_two_senders_are_received_in_the_wrong_order() {
    waits("c/204_wrong_order_two_sources", "late_sender_wrong_order", &[("first", "MPI_Recv")], &[0]);
}

#[test]
fn c205_a_send_waits_for_its_receiver() {
    waits("c/205_late_receiver", "late_receiver", &[("send", "MPI_Send")], &[0]);
}

#[test]
fn c206_a_wait_for_a_send_waits_for_its_receiver() {
    waits("c/206_late_receiver_wait", "late_receiver", &[("wait", "MPI_Wait")], &[0]);
}

#[test]
fn c207_a_barrier_waits_for_the_last_rank() {
    waits("c/207_wait_at_barrier", "wait_at_barrier", &[("barrier", "MPI_Barrier")], &[0, 1]);
}

#[test]
fn c208_collectives_of_all_with_all_wait_for_the_last_rank() {
    let places = [("allreduce", "MPI_Allreduce"), ("allgatherv", "MPI_Allgatherv"), ("alltoall", "MPI_Alltoall")];
    waits("c/208_wait_at_nxn", "wait_at_nxn", &places, &[0]);
}

#[test]
fn c209_a_broadcast_waits_for_its_root() {
    waits("c/209_late_broadcast", "late_broadcast", &[("bcast", "MPI_Bcast"), ("scatter", "MPI_Scatter")], &[1, 2]);
}

#[test]
fn c210_the_root_of_a_reduction_waits_for_the_others() {
    waits("c/210_early_reduce", "early_reduce", &[("reduce", "MPI_Reduce"), ("gather", "MPI_Gather")], &[0]);
}

#[test]
fn c211_a_scan_waits_for_the_ranks_before_it() {
    let places = [("scan", "MPI_Scan"), ("exscan", "MPI_Exscan")];
    // The algorithm of MPICH makes the first rank wait as well.
    check_with_retries("c/211_early_scan", |program, recording| {
        let found = |ranks: &[u64]| finds(program, recording, "early_scan", &places, ranks);
        found(&[2]).or_else(|_| found(&[0, 2]))
    });
}

#[test]
fn c212_a_barrier_keeps_a_rank_after_all_have_come() {
    waits("c/212_barrier_completion", "barrier_completion", &[("barrier", "MPI_Barrier")], &[1]);
}

#[test]
fn c213_a_collective_keeps_a_rank_after_all_have_come() {
    waits("c/213_nxn_completion", "nxn_completion", &[("allreduce", "MPI_Allreduce")], &[1]);
}

#[test]
fn c214_the_start_of_mpi_keeps_a_rank_after_another_has_left() {
    waits("c/214_init_completion", "init_completion", &[("init", "MPI_Init")], &[1]);
}

#[test]
fn c215_the_end_of_mpi_waits_for_the_last_rank() {
    waits("c/215_wait_at_finalize", "wait_at_finalize", &[("finalize", "MPI_Finalize")], &[0]);
}

#[test]
fn c216_an_access_waits_for_the_window_to_be_posted() {
    let places = [("start", "MPI_Win_start"), ("put", "MPI_Put"), ("complete", "MPI_Win_complete")];
    waits("c/216_late_post", "late_post", &places, &[0]);
}

#[test]
fn c217_a_target_waits_while_its_origin_still_works() {
    waits("c/217_early_wait", "early_wait", &[("wait", "MPI_Win_wait")], &[1]);
}

#[test]
fn c218_a_target_waits_for_an_origin_that_has_nothing_more_to_access() {
    waits("c/218_late_complete", "late_complete", &[("wait", "MPI_Win_wait")], &[1]);
}

#[test]
fn c219_a_fence_waits_for_the_last_rank() {
    waits("c/219_wait_at_fence", "wait_at_fence", &[("fence", "MPI_Win_fence")], &[0]);
}

#[test]
fn c220_a_lock_waits_for_the_rank_that_holds_it() {
    let places = [("lock", "MPI_Win_lock"), ("put", "MPI_Put"), ("unlock", "MPI_Win_unlock")];
    waits("c/220_lock_competition", "lock_competition", &places, &[1]);
}

#[test]
fn c221_the_making_of_windows_and_communicators_waits_for_the_last_rank() {
    let places = [("window", "MPI_Win_create"), ("communicator", "MPI_Comm_split")];
    waits("c/221_wait_at_create", "wait_at_create", &places, &[0]);
}

#[test]
fn c222_the_freeing_of_a_window_waits_for_the_last_rank() {
    waits("c/222_wait_at_free", "wait_at_free", &[("free", "MPI_Win_free")], &[0]);
}

#[test]
fn c223_a_nonblocking_collective_waits_where_it_is_completed() {
    waits("c/223_nonblocking_collective", "wait_at_nonblocking_collective", &[("wait", "MPI_Wait")], &[0]);
}

#[test]
fn c224_a_neighbourhood_collective_waits_for_neighbours_only() {
    waits("c/224_neighbour_collective", "wait_at_neighbour_collective", &[("exchange", "MPI_Neighbor_alltoall")], &[2]);
}

#[test]
fn c225_a_partitioned_receive_waits_for_the_last_partition() {
    waits("c/225_partitioned", "wait_at_partitioned", &[("wait", "MPI_Wait")], &[1]);
}

#[test]
fn c226_each_of_several_threads_waits_for_its_sender() {
    waits("c/226_late_sender_threads", "late_sender", &[("recv", "MPI_Recv")], &[1]);
}

#[test]
fn c227_a_rank_that_was_killed_had_waited_before() {
    check_with_retries("c/227_late_sender_killed", |program, recording| {
        let report = recording.report();
        let incomplete = report["incomplete_ranks"].as_array().expect("incomplete_ranks is a list");
        assert!(incomplete.contains(&serde_json::json!(1)), "{report}");
        finds(program, recording, "late_sender", &[("recv", "MPI_Recv")], &[1])
    });
}

#[test]
fn c228_the_opening_of_a_file_waits_for_the_last_rank() {
    waits("c/228_wait_at_collective_io", "wait_at_collective_io", &[("open", "MPI_File_open")], &[0]);
}

#[test]
fn c230_a_balanced_exchange_has_no_finding() {
    check_with_retries("c/230_clean_exchange", clean);
}

#[test]
fn c231_balanced_collectives_have_no_finding() {
    check_with_retries("c/231_clean_collectives", clean);
}

#[test]
fn c232_messages_under_way_during_work_have_no_finding() {
    check_with_retries("c/232_clean_overlap", clean);
}

fn waits(name: &str, kind: &str, places: &[Place], ranks: &[u64]) {
    check_with_retries(name, |program, recording| finds(program, recording, kind, places, ranks));
}

/// All that was injected is found at its call, by its amount, on these ranks, and little else is found.
fn finds(program: &Program, recording: &Recording, kind: &str, places: &[Place], ranks: &[u64]) -> Result<(), String> {
    let injected = Injected::all(recording);
    assert!(!injected.is_empty(), "{} says what it injected\n{}", program.name, recording.run.text());
    let mut found = wait_states(recording);
    for wait in &injected {
        assert_eq!(wait.kind, kind, "{} has one problem", program.name);
        assert!(wait.seconds > 0.3, "{} waits long enough to be distinguished from noise: {wait:?}", program.name);
        let place = places.iter().find(|(site, _)| *site == wait.site);
        let &(site, operation) = place.unwrap_or_else(|| panic!("{} waits at a place of its own: {wait:?}", program.name));
        let at = found.iter().position(|entry| entry["kind"] == kind && is_at(entry, program, site));
        let Some(at) = at else { return Err(format!("{wait:?} is not among {found:#?}")) };
        let entry = found.remove(at);
        if entry["operation"] != operation || entry["ranks"] != serde_json::json!(ranks) {
            return Err(format!("not {operation} on ranks {ranks:?}: {entry:#}"));
        }
        if (seconds(&entry) - wait.seconds).abs() > TOLERANCE * wait.seconds {
            return Err(format!("not the seconds of {wait:?}: {entry:#}"));
        }
    }
    let total: f64 = injected.iter().map(|wait| wait.seconds).sum();
    let others = by_kind(&found);
    let too_much: Vec<_> = others.iter().filter(|(_, seconds)| **seconds > NOISE * total).collect();
    if too_much.is_empty() { Ok(()) } else { Err(format!("beside {total} s of {kind}: {too_much:?}")) }
}

fn clean(_: &Program, recording: &Recording) -> Result<(), String> {
    let report = recording.report();
    let elapsed = report["elapsed_s"].as_f64().expect("elapsed_s is a number");
    let found = wait_states(recording);
    let waiting: Vec<_> = found.iter().filter(|entry| seconds(entry) > CLEAN * elapsed).collect();
    let advice = report["advice"].as_array().expect("advice is a list");
    if waiting.is_empty() && advice.is_empty() { Ok(()) } else { Err(format!("in {elapsed} s: {waiting:#?} {advice:#?}")) }
}

fn wait_states(recording: &Recording) -> Vec<Value> {
    recording.report()["wait_states"].as_array().expect("wait_states is a list").clone()
}

fn seconds(entry: &Value) -> f64 {
    entry["seconds"].as_f64().unwrap_or_else(|| panic!("seconds is not a number: {entry}"))
}

fn by_kind(entries: &[Value]) -> BTreeMap<&str, f64> {
    let mut sums = BTreeMap::new();
    for entry in entries {
        *sums.entry(entry["kind"].as_str().expect("kind is a word")).or_default() += seconds(entry);
    }
    sums
}
