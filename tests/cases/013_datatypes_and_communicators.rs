//! Handles that the library uses again stand for what they stand for now: bytes of datatypes, members of communicators.

use serde_json::Value;
use sintonia_tests::{Recording, on_every_mpi};

#[test]
fn c013_bottom() {
    on_every_mpi("c/013_bottom", |_, program, recording| {
        assert_eq!(recording.pair(0, 1), (1, 20));
        assert_eq!(recording.received(1), [(0, 0, 20)]);
        assert_eq!(recording.calls_of(0, "MPI_Bcast")[0].received, 20);
        assert_eq!(recording.calls_at(program, "send", "MPI_Send"), 1);
    });
}

#[test]
fn c014_a_datatype_made_again_has_its_new_size() {
    on_every_mpi("c/014_datatype_reuse", |_, _, recording| {
        let sent: Vec<i64> = recording.calls_of(0, "MPI_Send").iter().map(|call| call.sent).collect();
        assert_eq!(sent, [4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 12, 24, 12]);
        let received: Vec<i64> = recording.received(1).into_iter().map(|(_, _, bytes)| bytes).collect();
        assert_eq!(received, sent);
    });
}

#[test]
fn c015_peers_are_world_ranks_in_every_communicator() {
    on_every_mpi("c/015_communicators", |_, _, recording| {
        // tag, from, to
        let expected =
            [(1, 0, 1), (2, 0, 1), (3, 0, 1), (4, 3, 2), (5, 2, 3), (6, 0, 1), (7, 1, 3), (8, 1, 3), (9, 0, 1), (9, 2, 3), (10, 0, 1)];
        for (tag, from, to) in expected {
            let send = one(recording, "MPI_Send", from, tag);
            let recv = one(recording, "MPI_Recv", to, tag);
            assert_eq!((send.0, recv.0), (Some(to as i64), Some(from as i64)), "message {tag}");
            assert_eq!(send.1, recv.1, "both ends of message {tag} name one communicator");
        }
        let of_rank_0: Vec<Value> = [1, 2, 3, 6, 9, 10].map(|tag| one(recording, "MPI_Send", 0, tag).1).to_vec();
        for (index, communicator) in of_rank_0.iter().enumerate() {
            assert!(!of_rank_0[..index].contains(communicator), "two communicators share an identity: {of_rank_0:?}");
        }
        let operations = ["MPI_Comm_dup", "MPI_Comm_dup_with_info", "MPI_Comm_idup", "MPI_Comm_split"];
        assert_eq!(recording.counts(&operations), [4, 4, 4, 8]);
        let operations = ["MPI_Comm_split_type", "MPI_Comm_create", "MPI_Comm_create_group", "MPI_Cart_create", "MPI_Cart_sub"];
        assert_eq!(recording.counts(&operations), [4, 4, 2, 4, 4]);
    });
}

#[test]
fn c016_a_communicator_made_again_has_its_new_members() {
    on_every_mpi("c/016_communicator_reuse", |_, program, recording| {
        assert_eq!(recording.pair(0, 1), (10, 40));
        assert_eq!(recording.pair(0, 2), (10, 40));
        assert_eq!(recording.pair(2, 1), (10, 40));
        let senders: Vec<i64> = recording.received(1).into_iter().map(|(from, _, _)| from).collect();
        assert_eq!(senders, [0, 2].repeat(10));
        assert_eq!(recording.calls_at(program, "recv", "MPI_Recv"), 30);
        assert_eq!(recording.report()["unmatched"], 0);
    });
}

#[test]
fn c017_peers_in_an_intercommunicator_are_of_the_other_group() {
    on_every_mpi("c/017_intercommunicator", |_, program, recording| {
        for (tag, from, to) in [(1, 0, 2), (2, 3, 1), (3, 1, 3), (4, 2, 3)] {
            let (send, recv) = (one(recording, "MPI_Send", from, tag), one(recording, "MPI_Recv", to, tag));
            assert_eq!((send.0, recv.0), (Some(to as i64), Some(from as i64)), "message {tag}");
        }
        assert_eq!(recording.counts(&["MPI_Intercomm_create", "MPI_Intercomm_merge", "MPI_Bcast", "MPI_Barrier"]), [4; 4]);
        assert_eq!(recording.calls_of(3, "MPI_Bcast")[0].root, Some(1), "the root is a world rank of the other group");
        assert_eq!(recording.calls_at(program, "intercomm_create", "MPI_Intercomm_create"), 4);
    });
}

/// Peer and communicator of the one call of that operation and tag.
fn one(recording: &Recording, operation: &str, rank: usize, tag: i64) -> (Option<i64>, Value) {
    let calls = recording.calls_of(rank, operation);
    let mut found = calls.into_iter().filter(|call| call.tag == Some(tag));
    let call = found.next().unwrap_or_else(|| panic!("rank {rank} has no {operation} with tag {tag}"));
    assert!(found.next().is_none(), "rank {rank} has two {operation} with tag {tag}");
    (call.peer, call.communicator)
}
