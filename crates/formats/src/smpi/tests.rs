use std::fs;

use proptest::prelude::*;
use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::raw::{NONE, RequestRef, part};

use super::*;
use crate::example::{call, example, receive, send, write_recording};
use crate::sim_trace::{CollectiveOp, Completion, TraceEnvelope};

const MERGED: &str = "\
0 init
1 init
0 compute 3e9
0 send 1 7 100 0
0 irecv 1 8 10
0 wait 1 0 8
1 recv 0 7 100 0
1 isend 0 8 10
1 wait 1 0 8
0 allreduce 4 2e9 1
1 allreduce 4 2e9 1
0 finalize
1 finalize
";

fn all(trace: &SmpiTrace, rank: u32) -> Result<Vec<TraceAction>, Error> {
    trace.actions(rank).collect()
}

fn envelope(peer: u32, tag: i32) -> TraceEnvelope {
    TraceEnvelope { peer, tag, communicator: WORLD }
}

#[test]
fn a_merged_trace_has_the_steps_of_each_rank() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.txt");
    fs::write(&path, MERGED).unwrap();
    let trace = open(&path, 1e9).unwrap();
    let reduce = TraceAction::Collective { operation: CollectiveOp::Allreduce, communicator: WORLD, root: None, sent: 16, received: 16 };
    let first = [
        TraceAction::Init,
        TraceAction::Compute { seconds: 3.0 },
        TraceAction::Send { to: envelope(1, 7), bytes: 800, synchronous: false, completion: Completion::Blocking },
        TraceAction::Receive { from: envelope(1, 8), bytes: 10, completion: Completion::Nonblocking },
        TraceAction::Wait { is_send: false, message: envelope(1, 8) },
        reduce,
        TraceAction::Compute { seconds: 2.0 },
        TraceAction::Finalize,
    ];
    assert_eq!((trace.rank_count(), all(&trace, 0).unwrap()), (2, first.to_vec()));
    assert_eq!(all(&trace, 1).unwrap()[3], TraceAction::Wait { is_send: true, message: envelope(0, 8) });
}

#[test]
fn a_list_names_a_file_for_each_rank_or_one_for_all() {
    let folder = tempfile::tempdir().unwrap();
    let part = |rank: &str| MERGED.lines().filter(|line| line.starts_with(rank)).collect::<Vec<_>>().join("\n");
    for (name, text) in [
        ("a.txt", part("0")),
        ("b.txt", part("1")),
        ("list", "a.txt\nb.txt\n".to_owned()),
        ("whole.txt", MERGED.to_owned()),
        ("one", "whole.txt".to_owned()),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let steps = |name: &str| {
        let trace = open(&folder.path().join(name), 2e9).unwrap();
        (0..trace.rank_count()).map(|rank| all(&trace, rank).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(steps("list"), steps("one"));
    assert_eq!(steps("one"), steps("whole.txt"));
}

#[test]
fn threads_that_help_each_other_do_not_wait_for_ever_as_one() {
    // On either rank a thread sends while the other waits; the receive ends first.
    let both = |peer: i32| vec![(0, 100, 300, receive("MPI_Recv", peer, 7, 8)), (1, 200, 310, send(peer, 7, 8))];
    let example = write_recording(&[both(1), both(0)]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ti");
    write(&example.recording, &path, &|| ()).unwrap();
    let trace = open(&path, 1e9).unwrap();
    let (other, waited) = (envelope(1, 7), |sent| TraceAction::Wait { is_send: sent, message: envelope(1, 7) });
    let messages: Vec<TraceAction> =
        all(&trace, 0).unwrap().into_iter().filter(|step| !matches!(step, TraceAction::Compute { .. })).collect();
    let receive = TraceAction::Receive { from: other, bytes: 8, completion: Completion::Nonblocking };
    let send = TraceAction::Send { to: other, bytes: 8, synchronous: false, completion: Completion::Nonblocking };
    assert_eq!(messages, [TraceAction::Init, receive, send, waited(false), waited(true), TraceAction::Finalize]);
}

fn understood(line: &str) -> Result<Vec<TraceAction>, String> {
    let mut context = ActionContext { rank: 1, rank_count: 3, flops_per_s: 1.0, default_element_bytes: 1 };
    let mut steps = VecDeque::new();
    parse_action(&mut context, line, &mut steps).map(|()| steps.into())
}

#[test]
fn collectives_give_their_bytes_in_different_forms() {
    let bytes = |line: &str| match understood(line).unwrap()[0] {
        TraceAction::Collective { root, sent, received, .. } => (root, sent, received),
        step => panic!("{step:?}"),
    };
    assert_eq!(bytes("1 barrier"), (None, 0, 0));
    assert_eq!(bytes("1 bcast 5 1 0"), (Some(1), 40, 0));
    assert_eq!(bytes("1 bcast 5"), (Some(0), 0, 5));
    assert_eq!(bytes("1 reduce 5 0 1 1"), (Some(1), 20, 20));
    assert_eq!(bytes("1 gather 5 6 1 0 1"), (Some(1), 40, 72));
    assert_eq!(bytes("1 scatter 5 6 1 0 1"), (Some(1), 120, 24));
    assert_eq!(bytes("1 allgather 5 6"), (None, 5, 18));
    assert_eq!(bytes("1 alltoall 5 6"), (None, 15, 18));
    assert_eq!(bytes("1 gatherv 5 1 2 3 1"), (Some(1), 5, 6));
    assert_eq!(bytes("1 allgatherv 5 1 2 3 0"), (None, 40, 48));
    assert_eq!(bytes("1 scatterv 1 2 3 9 1"), (Some(1), 6, 9));
    assert_eq!(bytes("1 reducescatter 1 2 3 0 0"), (None, 48, 16));
    assert_eq!(bytes("1 alltoallv 100 1 2 3 100 4 5 6"), (None, 6, 15));
}

#[test]
fn sending_and_receiving_at_once_is_three_steps() {
    let steps = [
        TraceAction::Receive { from: envelope(0, 0), bytes: 6 * 4, completion: Completion::Nonblocking },
        TraceAction::Send { to: envelope(2, 0), bytes: 5 * 8, synchronous: false, completion: Completion::Blocking },
        TraceAction::Wait { is_send: false, message: envelope(0, 0) },
    ];
    assert_eq!(understood("1 sendRecv 5 2 6 0 0 1"), Ok(steps.to_vec()));
}

#[test]
fn errors_are_reported() {
    let wrong = |line: &str| understood(line).unwrap_err();
    assert_eq!(wrong("1 dance 5"), "unknown action `dance`");
    assert_eq!(wrong("1 send 9 0 1"), "there is no rank 9: the trace has 3");
    assert!(wrong("1 recv -1 0 1").contains("whose message the trace does not have"));
    assert_eq!(wrong("1 send 2 0"), "the line ends where a number of elements is expected");
    assert_eq!(wrong("1 send 2 0 5 77"), "unknown datatype 77");
    assert_eq!(wrong("1 compute much"), "found `much` where an amount of computation is expected");
    assert_eq!(wrong("1 alltoallv 1 2"), "the line ends before argument 3");
    let folder = tempfile::tempdir().unwrap();
    let message = |text: &str, speed: f64| {
        fs::write(folder.path().join("t"), text).unwrap();
        open(&folder.path().join("t"), speed).unwrap_err().to_string()
    };
    assert!(message(MERGED, 0.0).ends_with("invalid host speed of 0 flop/s; expected a number above zero"));
    assert!(message("", 1.0).ends_with("it has no actions: not an SMPI trace"));
    assert!(message("0 init\n5 init\n", 1.0).ends_with("rank 1 has no actions, but higher ranks have"));
    assert!(message("nowhere.txt\n", 1.0).contains("nowhere.txt"));
}

#[test]
fn a_recording_is_a_list_and_a_file_for_each_rank() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ti");
    let written = write(&example().recording, &path, &|| {}).unwrap();
    assert_eq!(written.notes, ["the threads of a rank are merged into one: SMPI has no threads"]);
    assert_eq!(written.files, output_paths(&path).unwrap());
    let file = |rank: u32| fs::read_to_string(folder.path().join(format!("run.ti_files/rank-{rank}.txt"))).unwrap();
    assert_eq!(file(0), "0 init\n0 send 1 7 1000\n0 compute 10\n0 send 1 7 2000\n0 compute 30\n0 allreduce 8 0\n0 finalize\n");
    let begun = "1 init\n1 irecv 0 7 1000\n1 irecv 2 8 64\n1 isend 2 9 16\n1 compute 10\n1 waitall\n";
    assert_eq!(file(1), format!("{begun}1 recv 0 7 2000\n1 compute 40\n1 allreduce 8 0\n1 finalize\n"));
    assert_eq!(open(&path, 1e9).unwrap().rank_count(), 3);
}

#[test]
fn what_goes_to_each_rank_adds_up_to_what_the_recording_tells() {
    let parts = part::OBJECT | part::SENT | part::RECEIVED;
    let join = |operation: &str, bytes: [u64; 2]| {
        (0, 10, 20, CallDescriptor { object: 0, peer: 1, sent: bytes[0], received: bytes[1], parts, ..call(operation, 5) })
    };
    for (operation, bytes) in [
        ("MPI_Bcast", [[0, 64], [64, 0], [0, 64]]),
        ("MPI_Reduce", [[64, 0], [64, 64], [64, 0]]),
        ("MPI_Gather", [[64, 0], [64, 192], [64, 0]]),
        ("MPI_Scatter", [[0, 64], [192, 64], [0, 64]]),
        ("MPI_Gatherv", [[10, 0], [20, 61], [31, 0]]),
        ("MPI_Scatterv", [[0, 10], [61, 20], [0, 31]]),
        ("MPI_Allgather", [[8, 24]; 3]),
        ("MPI_Alltoallv", [[10, 11], [12, 13], [14, 15]]),
        ("MPI_Reduce_scatter_block", [[24, 8]; 3]),
    ] {
        let example = write_recording(&bytes.map(|bytes| vec![join(operation, bytes)]));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.ti");
        write(&example.recording, &path, &|| {}).unwrap();
        let trace = open(&path, 1e9).unwrap();
        let told = |rank: usize| match all(&trace, rank as u32).unwrap()[1] {
            TraceAction::Collective { sent, received, .. } => [sent, received],
            step => panic!("{step:?}"),
        };
        assert_eq!([0, 1, 2].map(told), bytes, "{operation}");
    }
}

#[test]
fn nonblocking_operations_stand_where_they_are_completed_in_the_order_of_their_begin() {
    let begin = |operation: &str, enter| {
        let parts = part::OBJECT | part::SENT | part::RECEIVED | part::REQUEST;
        (0, enter, enter + 10, CallDescriptor { object: 0, sent: 8, received: 8, parts, ..call(operation, 4) })
    };
    let wait = |ago, enter| {
        let listed = ListedRequest { request: RequestRef::Relative(ago), is_receive: false, peer: NONE, tag: 0, received: 0 };
        (0, enter, enter + 10, CallDescriptor { requests: vec![listed], ..call("MPI_Wait", 5) })
    };
    let calls = || vec![begin("MPI_Ibarrier", 0), begin("MPI_Iallreduce", 10), wait(0, 50), wait(1, 60)];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ti");
    let notes = write(&write_recording(&[calls(), calls(), calls()]).recording, &path, &|| {}).unwrap().notes;
    assert_eq!(notes, ["nonblocking collectives are written where they complete: SMPI has none"]);
    let file = fs::read_to_string(folder.path().join("run.ti_files/rank-0.txt")).unwrap();
    assert_eq!(file, "0 init\n0 compute 30\n0 barrier\n0 allreduce 8 0\n0 finalize\n");
}

#[test]
fn looking_again_and_again_is_no_computation() {
    let test = |enter| (0, enter, enter + 100, CallDescriptor { parts: part::FLAG_FALSE, ..call("MPI_Test", 4) });
    let parts = part::OBJECT;
    let barrier = |enter| (0, enter, enter + 10, CallDescriptor { object: 0, parts, ..call("MPI_Barrier", 5) });
    let calls = || vec![test(0), test(500), test(1000), barrier(51_100)];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ti");
    write(&write_recording(&[calls(), calls(), calls()]).recording, &path, &|| {}).unwrap();
    let file = fs::read_to_string(folder.path().join("run.ti_files/rank-0.txt")).unwrap();
    assert_eq!(file, "0 init\n0 compute 50000\n0 barrier\n0 finalize\n");
}

proptest! {
    #[test]
    fn any_damage_gives_a_trace_or_an_error(at in 0..MERGED.len(), byte: u8, cut in 0..MERGED.len()) {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = MERGED.as_bytes().to_vec();
        bytes[at] = byte;
        for bytes in [&bytes[..], &bytes[..cut]] {
            fs::write(folder.path().join("t"), bytes).unwrap();
            if let Ok(trace) = open(&folder.path().join("t"), 1.0) {
                let _ = (0..trace.rank_count()).map(|rank| all(&trace, rank)).collect::<Result<Vec<_>, _>>();
            }
        }
    }
}
