//! The summary of a recording in which every number is known.

use sintonia_insight::{Efficiency, MessageSizeClass, RankPair, RunSummary};
use sintonia_program::process_group::SingleProcess;
use sintonia_recording::Recording;
use sintonia_recording::testing::sample;

fn summary(recording: &Recording) -> RunSummary {
    RunSummary::from_recording(recording, &SingleProcess, &|_, _| ()).unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn time_and_efficiency_follow_their_definitions() {
    let s = summary(&sample::recording());
    assert_eq!((s.ranks, s.calls, s.elapsed_s), (5, 21, 10.0));
    let outside: Vec<f64> = s.per_rank.iter().map(|r| r.outside_s).collect();
    assert_eq!(outside, [5.0, 4.5, 7.0, 5.0]);
    assert_eq!(s.per_rank.iter().map(|r| r.host.as_str()).collect::<Vec<_>>(), ["first", "first", "second", "second"]);
    assert_eq!((s.outside_s.min, s.outside_s.mean, s.outside_s.max), (4.5, 5.375, 7.0));
    assert!(close(s.outside_s.imbalance, 7.0 / 5.375 - 1.0));
    let e = s.efficiency.unwrap();
    assert_eq!(s.work_s, 8.0, "without MPI_Init and MPI_Finalize");
    assert!(close(e.parallel, 5.375 / 8.0) && close(e.load_balance, 5.375 / 7.0) && close(e.communication, 7.0 / 8.0));
}

#[test]
fn calls_are_summed_by_function_and_by_place() {
    let s = summary(&sample::recording());
    let operations: Vec<_> = s.operations.iter().map(|o| (o.operation, o.calls, o.seconds, o.bytes)).collect();
    let expected = [
        ("MPI_Bcast", 4, 4.0, 400),
        ("MPI_Init", 4, 4.0, 0),
        ("MPI_Finalize", 3, 3.0, 0),
        ("MPI_Recv", 2, 3.0, 1000),
        ("MPI_Send", 2, 2.0, 2000),
        ("MPI_Waitall", 1, 0.5, 1000),
        ("MPI_Irecv", 1, 0.0, 0),
        ("MPI_Send_init", 1, 0.0, 0),
        ("MPI_Start", 3, 0.0, 0),
    ];
    assert_eq!(operations, expected);
    let first = &s.call_sites[0];
    assert_eq!((first.source.to_string().as_str(), first.source.line, first.calls), ("src/main.c:4", Some(4), 4));
    assert_eq!(s.call_sites[2].source.to_string(), "finish in libhelp.so.1");
}

#[test]
fn messages_are_summed_by_pair_and_by_size() {
    let s = summary(&sample::recording());
    let pairs = [RankPair { from: 0, to: 1, messages: 2, bytes: 2000 }, RankPair { from: 2, to: 1, messages: 3, bytes: 192 }];
    assert_eq!(s.pairs, pairs);
    let sizes = [MessageSizeClass { up_to: 64, messages: 3, bytes: 192 }, MessageSizeClass { up_to: 1024, messages: 2, bytes: 2000 }];
    assert_eq!(s.sizes, sizes);
    assert_eq!(s.unmatched, 3);
}

#[test]
fn what_is_missing_is_named() {
    let s = summary(&sample::recording());
    assert_eq!(s.incomplete_ranks, [3, 4]);
    assert_eq!(s.incomplete.iter().map(|i| i.why.as_str()).collect::<Vec<_>>(), ["cut short", "no data"]);
    assert_eq!(s.not_recorded, ["calls before MPI_Init"]);
    let unfinished = &s.unfinished[0];
    assert_eq!((unfinished.rank, unfinished.operation, unfinished.source.line), (3, "MPI_Recv", Some(3)));
}

#[test]
fn a_rank_of_which_calls_are_missing_is_not_in_the_efficiencies() {
    let recording = sample::recording().with_header(|header| header.ranks[2].dropped = 100);
    let e = summary(&recording).efficiency.unwrap();
    let mean = (5.0 + 4.5 + 5.0) / 3.0;
    assert!(close(e.load_balance, mean / 5.0), "rank 2 was outside MPI for 7 s, as far as is known: {e:?}");
}

#[test]
fn a_profile_has_the_same_times_and_matches_nothing() {
    let (all, sums) = (summary(&sample::recording()), summary(&sample::profile()));
    assert_eq!((&sums.per_rank, &sums.operations, &sums.call_sites), (&all.per_rank, &all.operations, &all.call_sites));
    let known = all.efficiency.map(|efficiency| Efficiency { serialisation: None, transfer: None, ..efficiency });
    assert_eq!((sums.efficiency, sums.unmatched), (known, 0));
    assert!(sums.wait_states.is_empty() && sums.critical_path.is_none() && sums.ideal_s.is_none());
    assert_eq!(sums.pairs, [RankPair { from: 0, to: 1, messages: 2, bytes: 2000 }]);
}

#[test]
fn as_json_its_fields_are_the_keys() {
    let json = serde_json::to_value(summary(&sample::recording())).unwrap();
    for key in ["ranks", "elapsed_s", "mpi", "calls", "efficiency", "operations", "call_sites", "per_rank", "pairs", "sizes"] {
        assert!(!json[key].is_null(), "{key}");
    }
    assert_eq!(json["mpi"]["abi"], "openmpi");
    assert_eq!((&json["efficiency"]["serialisation"], &json["efficiency"]["transfer"]), (&1.0.into(), &0.875.into()));
    assert_eq!(json["call_sites"][0]["file"], "/home/me/app/src/main.c");
    assert_eq!(json["unfinished"][0]["line"], 3);
    assert_eq!(json["incomplete_ranks"], serde_json::json!([3, 4]));
    let wait = &json["wait_states"][0];
    assert_eq!((&wait["kind"], &wait["seconds"], &wait["line"]), (&"late_sender_wrong_order".into(), &1.0.into(), &3.into()));
    assert_eq!(json["critical_path"]["seconds"], 8.0);
    for key in ["advice", "root_causes", "phases"] {
        assert!(json[key].is_array(), "{key}");
    }
    assert_eq!(json["parameters"]["n"], 4096.0);
}
