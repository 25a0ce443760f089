//! What MPI has beyond messages and collectives: one-sided communication, files, spawned processes, sessions, threads.

use std::collections::BTreeSet;

use sintonia_tests::on_every_mpi;

#[test]
fn c018_one_sided() {
    on_every_mpi("c/018_rma", |_, program, recording| {
        let operations = ["MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Get_accumulate", "MPI_Rput", "MPI_Rget"];
        assert_eq!(recording.counts(&operations), [4, 2, 2, 2, 2, 2]);
        let operations = ["MPI_Fetch_and_op", "MPI_Compare_and_swap", "MPI_Win_lock", "MPI_Win_unlock"];
        assert_eq!(recording.counts(&operations), [1, 1, 1, 1]);
        let epochs = ["MPI_Win_fence", "MPI_Win_post", "MPI_Win_start", "MPI_Win_complete", "MPI_Win_wait"];
        assert_eq!(recording.counts(&epochs), [8, 1, 1, 1, 1]);
        let epochs = ["MPI_Win_lock_all", "MPI_Win_unlock_all", "MPI_Win_flush", "MPI_Win_flush_all", "MPI_Win_flush_local"];
        assert_eq!(recording.counts(&epochs), [2, 2, 2, 2, 1]);
        let windows = ["MPI_Win_create", "MPI_Win_allocate", "MPI_Win_create_dynamic", "MPI_Win_free"];
        assert_eq!(recording.counts(&windows), [2, 2, 2, 6]);
        let calls = recording.calls(0);
        let put = calls.iter().find(|call| call.is_at(program, "put")).expect("the Put was recorded");
        assert_eq!((put.peer, put.sent), (Some(1), 8));
        let get = calls.iter().find(|call| call.is_at(program, "get")).expect("the Get was recorded");
        assert_eq!((get.peer, get.received), (Some(1), 8));
    });
}

#[test]
fn c019_files() {
    on_every_mpi("c/019_io", |_, program, recording| {
        let operations = ["MPI_File_open", "MPI_File_write_at_all", "MPI_File_read_at", "MPI_File_iwrite_at", "MPI_File_close"];
        assert_eq!(recording.counts(&operations), [2; 5]);
        let operations = ["MPI_File_write_ordered", "MPI_File_read", "MPI_File_read_all", "MPI_Wait"];
        assert_eq!(recording.counts(&operations), [2; 4]);
        assert_eq!(recording.calls_at(program, "write_at_all", "MPI_File_write_at_all"), 2);
        assert_eq!(recording.report()["pairs"], serde_json::json!([]), "a file is no message");
    });
}

#[test]
fn c020_spawned_processes() {
    on_every_mpi("c/020_spawn", |_, program, recording| {
        assert_eq!(recording.calls_at(program, "spawn", "MPI_Comm_spawn"), 2);
        assert_eq!(recording.calls_at(program, "send", "MPI_Send"), 2);
        assert_eq!(recording.calls_at(program, "recv", "MPI_Recv"), 2);
    });
}

#[test]
fn c069_processes_spawned_at_the_same_time_have_their_own_parents() {
    on_every_mpi("c/069_simultaneous_spawns", |mpi, program, recording| {
        let (parents, children, rounds) = (2, 2, 2);
        let ranks = parents + parents * children * rounds;
        let report = recording.report();
        assert_eq!(report["ranks"], ranks);
        // Open MPI tells spawned processes who spawned them. With others the parent may be unknown, but not another one.
        let is_named = mpi.name.starts_with("openmpi");
        for child in parents..ranks {
            let calls = recording.calls(child);
            let call = calls.iter().find(|call| call.is_at(program, "recv")).expect("the receive was recorded");
            let parent = call.tag.expect("it has a tag") / 10;
            assert!(call.peer.map_or(!is_named, |peer| peer == parent), "rank {child} received tag {:?}: {:?}", call.tag, call.peer);
            if is_named {
                assert_eq!((recording.pair(parent as u64, child as u64), recording.pair(child as u64, parent as u64)), ((1, 4), (1, 4)));
            }
        }
        if is_named {
            assert_eq!(report["clock_repair"]["violations"], 0, "on one host no call ends before what it waits for");
        }
    });
}

#[test]
fn c021_sessions_without_init() {
    on_every_mpi("c/021_sessions", |_, program, recording| {
        assert_eq!(recording.report()["ranks"], 2);
        assert_eq!(recording.counts(&["MPI_Allreduce", "MPI_Sendrecv"]), [2, 2]);
        assert_eq!((recording.pair(0, 1), recording.pair(1, 0)), ((1, 4), (1, 4)));
        assert_eq!(recording.calls_at(program, "sendrecv", "MPI_Sendrecv"), 2);
    });
}

#[test]
fn c022_threads() {
    on_every_mpi("c/022_threads", |_, program, recording| {
        let calls = recording.calls(0);
        let irecv = calls.iter().find(|call| call.is_at(program, "irecv")).expect("the Irecv was recorded");
        let wait = calls.iter().find(|call| call.is_at(program, "wait")).expect("the Wait was recorded");
        assert_eq!(wait.received_messages(), [(1, 99, 4)]);
        assert_eq!(Some(&wait.completed[0].request), irecv.request.as_ref(), "completed by another thread");
        assert_eq!(recording.pair(0, 1), (80, 320));
        assert_eq!(recording.pair(1, 0), (81, 324));
        for tag in 0..4 {
            let of_tag = calls.iter().filter(|call| call.operation == "MPI_Send" && call.tag == Some(tag));
            let threads: Vec<i64> = of_tag.map(|call| call.thread).collect();
            assert_eq!(threads.len(), 20, "messages with tag {tag}");
            assert_eq!(BTreeSet::from_iter(threads).len(), 1, "each tag has a thread of its own");
        }
        assert_eq!(recording.report()["unmatched"], 0);
    });
}

#[test]
fn c046_many_threads_with_little_stack() {
    on_every_mpi("c/046_small_stack", |_, program, recording| {
        assert_eq!(recording.calls_at(program, "allreduce", "MPI_Allreduce"), 50);
    });
}
