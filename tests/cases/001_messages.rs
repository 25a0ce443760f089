//! Point to point: every message is recorded once, with the world ranks, tags and bytes that really travelled,
//! and every request is completed by the call that completed it.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sintonia_tests::{Call, Family, Recording, compare_with_ledgers, on_every_mpi};

#[test]
fn c001_every_send_mode_with_peer_tag_and_bytes() {
    on_every_mpi("c/001_send_modes", |mpi, program, recording| {
        let report = recording.report();
        assert_eq!(report["ranks"], 3);
        assert_eq!(report["unmatched"], 0);
        assert_eq!(report["incomplete_ranks"], Value::Array(vec![]));
        let abi = match mpi.family {
            Family::OpenMpi => "openmpi",
            Family::Mpich => "mpich",
            Family::Standard => "standard",
        };
        assert_eq!(report["mpi"]["abi"], abi);
        assert_eq!(recording.counts(&["MPI_Recv", "MPI_Irecv", "MPI_Wait", "MPI_Barrier"]), [9, 3, 3, 3]);
        for rank in 0..3 {
            let right = (rank + 1) % 3;
            for (index, mode) in ["MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend"].into_iter().enumerate() {
                let calls = recording.calls_of(rank, mode);
                assert_eq!(calls.len(), 1, "{mode} of rank {rank}");
                let index = index as i64;
                assert_eq!(sent(&calls[0]), (Some(right as i64), Some(10 + index), 4 * (index + 1)), "{mode}");
            }
            assert_eq!(recording.pair(rank as u64, right as u64), (4, 40));
            assert_eq!(recording.pair(right as u64, rank as u64), (0, 0));
        }
        assert_eq!(recording.calls_at(program, "send", "MPI_Send"), 1);
        assert_eq!(recording.calls_at(program, "recv", "MPI_Recv"), 1);
        assert_eq!(recording.calls_at(program, "bsend", "MPI_Bsend"), 3);
        assert_eq!(recording.calls_at(program, "rsend", "MPI_Rsend"), 3);
        assert!(recording.calls_of(0, "MPI_Send")[0].is_at(program, "send"));
    });
}

#[test]
fn c001_no_message_arrives_before_it_was_sent() {
    on_every_mpi("c/001_send_modes", |_, _, recording| {
        let error = recording.report()["clock_error_s"].as_f64().expect("clock_error_s is a number");
        for rank in 0..3 {
            let send = &recording.calls_of(rank, "MPI_Send")[0];
            let recv = &recording.calls_of((rank + 1) % 3, "MPI_Recv")[0];
            assert!(recv.leave >= send.enter - error, "sent at {}, received at {}", send.enter, recv.leave);
        }
    });
}

#[test]
fn c001_calls_of_a_rank_follow_each_other() {
    on_every_mpi("c/001_send_modes", |_, _, recording| {
        for rank in 0..3 {
            let calls = recording.calls(rank);
            assert!(calls.windows(2).all(|pair| pair[0].leave <= pair[1].enter), "calls of rank {rank} overlap");
        }
    });
}

#[test]
fn c002_wildcards_are_resolved() {
    on_every_mpi("c/002_wildcards", |_, program, recording| {
        let all = recording.calls(0);
        let at = |site: &str| all.iter().filter(|call| call.is_at(program, site)).collect::<Vec<_>>();
        assert_eq!(at("status")[0].received_messages(), [(1, 101, 4)]);
        assert_eq!(at("ignore")[0].received_messages(), [(2, 102, 8)]);
        assert_eq!(at("irecv")[0].received_messages(), []);
        assert_eq!(at("wait")[0].received_messages(), [(1, 103, 12)]);
        let both: BTreeSet<_> = at("waitall")[0].received_messages().into_iter().collect();
        assert_eq!(both, BTreeSet::from([(1, 104, 16), (2, 105, 20)]));
        assert_eq!(at("backwards")[0].received_messages(), [(2, 106, 24)], "peers are world ranks");
        assert_eq!(recording.pair(1, 0), (3, 32));
        assert_eq!(recording.pair(2, 0), (3, 52));
    });
}

#[test]
fn c003_partial_completions_go_to_the_call_that_completed() {
    on_every_mpi("c/003_waits", |_, program, recording| {
        let calls = recording.calls(0);
        assert_eq!(tags_completed_by(&calls, "MPI_Waitany"), [2]);
        assert_eq!(sorted(tags_completed_by(&calls, "MPI_Waitsome")), [0, 3]);
        assert_eq!(tags_completed_by(&calls, "MPI_Waitall"), [1]);
        each_request_completes_once(&calls, "MPI_Irecv");
        assert_eq!(recording.calls_at(program, "irecv", "MPI_Irecv"), 4);
        assert_eq!(recording.calls_at(program, "waitany", "MPI_Waitany"), 1);
        assert_eq!(recording.calls_at(program, "isend", "MPI_Isend"), 4);
        assert_eq!(recording.pair(1, 0), (4, 16));
    });
}

#[test]
fn c004_tests_that_fail_complete_nothing() {
    on_every_mpi("c/004_tests", |_, _, recording| {
        let calls = recording.calls(0);
        assert_eq!(tags_completed_by(&calls, "MPI_Test"), [0]);
        assert_eq!(tags_completed_by(&calls, "MPI_Testany"), [1]);
        assert_eq!(sorted(tags_completed_by(&calls, "MPI_Testsome")), [2, 3]);
        assert_eq!(sorted(tags_completed_by(&calls, "MPI_Testall")), [4, 5, 6, 7]);
        each_request_completes_once(&calls, "MPI_Irecv");
    });
}

#[test]
fn c005_requests_completed_at_once() {
    on_every_mpi("c/005_self", |_, program, recording| {
        assert_eq!(recording.counts(&["MPI_Isend", "MPI_Irecv", "MPI_Waitall"]), [100, 100, 100]);
        let expected: Vec<_> = (0..100).map(|tag| (0, tag, 8)).collect();
        assert_eq!(recording.received(0), expected);
        each_request_completes_once(&recording.calls(0), "MPI_Irecv");
        assert_eq!(recording.calls_at(program, "waitall", "MPI_Waitall"), 100);
    });
}

#[test]
fn c006_a_persistent_request_is_a_message_each_time_it_is_started() {
    on_every_mpi("c/006_persistent", |_, program, recording| {
        assert_eq!(recording.pair(0, 1), (12, 104));
        assert_eq!(recording.pair(1, 0), (0, 0));
        assert_eq!(recording.counts(&["MPI_Send_init", "MPI_Ssend_init", "MPI_Recv_init"]), [2, 1, 3]);
        assert_eq!(recording.counts(&["MPI_Start", "MPI_Startall", "MPI_Request_free"]), [10, 6, 7]);
        let mut expected = vec![(0, 1, 8); 5];
        expected.extend([(0, 2, 4); 3]);
        expected.extend([(0, 3, 12); 3]);
        expected.push((0, 4, 16));
        assert_eq!(sorted(recording.received(1)), expected);
        assert_eq!(recording.calls_at(program, "start", "MPI_Start"), 10);
    });
}

#[test]
fn c007_partitioned() {
    on_every_mpi("c/007_partitioned", |_, program, recording| {
        assert_eq!(recording.counts(&["MPI_Psend_init", "MPI_Precv_init", "MPI_Start", "MPI_Wait"]), [1, 1, 4, 4]);
        assert_eq!(recording.counts(&["MPI_Pready", "MPI_Pready_range", "MPI_Pready_list"]), [2, 2, 2]);
        assert_eq!(recording.pair(0, 1), (2, 64));
        assert_eq!(recording.calls_at(program, "pready", "MPI_Pready"), 2);
    });
}

#[test]
fn c008_sendrecv_has_two_ends_and_proc_null_none() {
    on_every_mpi("c/008_sendrecv", |_, program, recording| {
        for rank in 0..3 {
            let (left, right) = ((rank + 2) % 3, (rank + 1) % 3);
            let all = recording.calls(rank as usize);
            let at = |site: &str| all.iter().find(|call| call.is_at(program, site)).expect("the call was recorded");
            assert_eq!(sent(at("sendrecv")), (Some(right), Some(1), 8));
            assert_eq!(at("sendrecv").received_messages(), [(left, 1, 8)]);
            assert_eq!(at("wildcard").received_messages(), [(left, 2, 8)]);
            assert_eq!(sent(at("replace")), (Some(right), Some(3), 4));
            assert_eq!(at("replace").received_messages(), [(left, 3, 4)]);
        }
        assert_eq!(recording.pair(0, 1), (4, 24));
        assert_eq!(recording.pair(1, 2), (4, 24));
        assert_eq!(recording.pair(2, 0), (3, 20), "what goes to MPI_PROC_NULL is no message");
        assert_eq!(recording.report()["unmatched"], 0);
    });
}

#[test]
fn c009_probed_messages_are_received_once() {
    on_every_mpi("c/009_probe", |_, program, recording| {
        assert_eq!(recording.received(0), [(1, 21, 4), (1, 22, 8), (1, 23, 12), (1, 24, 16)]);
        assert_eq!(recording.pair(1, 0), (4, 40));
        assert_eq!(recording.calls_at(program, "mrecv", "MPI_Mrecv"), 1);
        assert_eq!(recording.calls_at(program, "imrecv", "MPI_Imrecv"), 1);
        assert_eq!(recording.counts(&["MPI_Probe", "MPI_Mprobe"]), [1, 2]);
    });
}

#[test]
fn c039_large_counts_appear_under_their_plain_names() {
    on_every_mpi("c/039_large_count", |_, program, recording| {
        let operations = ["MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Bcast", "MPI_Allreduce"];
        assert_eq!(recording.counts(&operations), [4, 2, 1, 1, 2, 2]);
        assert_eq!(recording.pair(0, 1), (3, 36));
        assert_eq!(recording.calls_at(program, "send", "MPI_Send"), 1);
    });
}

#[test]
fn c042_a_cancelled_receive_is_no_message() {
    on_every_mpi("c/042_odd_requests", |_, _, recording| {
        assert_eq!(recording.counts(&["MPI_Irecv", "MPI_Cancel", "MPI_Wait"]), [2, 2, 4]);
        assert_eq!(recording.received(0), []);
        assert_eq!((recording.pair(0, 1), recording.pair(1, 0)), ((0, 0), (0, 0)));
    });
}

#[test]
fn c054_sizes_of_messages() {
    on_every_mpi("c/054_large_messages", |_, _, recording| {
        let report = recording.report();
        let sizes = report["sizes"].as_array().expect("sizes is a list");
        let total = |key: &str| sizes.iter().map(|class| class[key].as_u64().expect("a number")).sum::<u64>();
        assert_eq!((total("messages"), total("bytes")), (6, 8_002_002));
        let filled = sizes.iter().filter(|class| class["messages"] != 0);
        assert_eq!(filled.map(|class| class["messages"].clone()).collect::<Vec<_>>(), [2, 2, 2]);
        assert_eq!(recording.pair(0, 1), (6, 8_002_002));
        assert_eq!(recording.received(1)[2], (0, 2, 4_000_000));
    });
}

#[test]
fn c061_a_wait_names_the_request_it_was_given() {
    on_every_mpi("c/061_out_of_order", |_, program, recording| {
        let calls = recording.calls(0);
        let tag = |request: &Value| calls.iter().find(|call| call.request.as_ref() == Some(request)).and_then(|call| call.tag);
        let completed = |site: &str| {
            let at_site = calls.iter().filter(|call| call.is_at(program, site));
            at_site.flat_map(|call| call.completed.iter().map(|completion| tag(&completion.request))).collect::<Vec<_>>()
        };
        assert_eq!(completed("second"), [Some(2); 50]);
        assert_eq!(completed("first"), [Some(1); 50]);
        assert_eq!(completed("copy"), [Some(3); 50], "no other send is pending");
        let one_of_three = completed("one_of_three");
        assert_eq!(one_of_three.len(), 50);
        let right = |tag: &Option<i64>| tag.is_none_or(|tag| tag == 5);
        assert!(one_of_three.iter().all(right), "not known, unless the library gave it a handle of its own: {one_of_three:?}");
        assert_eq!(recording.report()["unmatched"], 0);
    });
}

#[test]
fn c062_completions_agree_with_the_ledger_of_the_program() {
    on_every_mpi("c/062_request_ledger", |mpi, _, recording| {
        for (rank, (completions, unknown)) in compare_with_ledgers(recording, 2).into_iter().enumerate() {
            println!("{}: rank {rank}: {completions} completions, {unknown} of them of unknown requests", mpi.name);
        }
        let report = recording.report();
        assert_eq!(report["unmatched"], 0);
    });
}

#[test]
fn c063_requests_of_a_wait_that_was_left() {
    on_every_mpi("c/063_left_waits", |_, _, recording| {
        compare_with_ledgers(recording, 2);
        let report = recording.report();
        assert_eq!((&report["left_calls"], &report["not_recorded"]), (&json!(42), &json!([])));
        // Of each of the two calls that were left unseen in the middle, two receives, if the library had completed them.
        let unmatched = report["unmatched"].as_u64().expect("a number");
        assert!(unmatched <= 8, "{unmatched}");
    });
}

fn sent(call: &Call) -> (Option<i64>, Option<i64>, i64) {
    (call.peer, call.tag, call.sent)
}

fn tags_completed_by(calls: &[Call], operation: &str) -> Vec<i64> {
    let of_operation = calls.iter().filter(|call| call.operation == operation);
    of_operation.flat_map(Call::received_messages).map(|(_, tag, _)| tag).collect()
}

/// Each request made by `operation` has an identity of its own and is completed by exactly one call.
fn each_request_completes_once(calls: &[Call], operation: &str) {
    let made = calls.iter().filter(|call| call.operation == operation);
    let made: Vec<&Value> = made.map(|call| call.request.as_ref().expect("a request has an identity")).collect();
    for request in &made {
        let completed = calls.iter().flat_map(|call| &call.completed);
        let times = completed.filter(|completion| completion.request == **request).count();
        assert_eq!(times, 1, "completions of request {request}");
    }
    let distinct: BTreeSet<String> = made.iter().map(ToString::to_string).collect();
    assert_eq!(distinct.len(), made.len(), "two requests share an identity");
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list
}

/// Kept as a check that the helpers of the harness agree with each other.
#[test]
fn counts_and_calls_agree() {
    on_every_mpi("c/001_send_modes", |_, _, recording: &Recording| {
        let listed: usize = (0..3).map(|rank| recording.calls_of(rank, "MPI_Recv").len()).sum();
        assert_eq!(listed as u64, recording.count("MPI_Recv"));
        let report = recording.report();
        let all: usize = (0..3).map(|rank| recording.calls(rank).len()).sum();
        assert_eq!(report["calls"], all);
        let by_rank = report["per_rank"].as_array().expect("per_rank is a list");
        let sum: u64 = by_rank.iter().map(|rank| rank["calls"].as_u64().expect("a number")).sum();
        assert_eq!(sum, all as u64);
    });
}
