//! Collectives: each is recorded once per rank, with its root as a world rank, and is no point-to-point message.

use std::collections::BTreeSet;

use sintonia_tests::on_every_mpi;

#[test]
fn c010_every_blocking_collective() {
    on_every_mpi("c/010_collectives", |_, program, recording| {
        let once = [
            "MPI_Barrier",
            "MPI_Bcast",
            "MPI_Gatherv",
            "MPI_Scatterv",
            "MPI_Allgatherv",
            "MPI_Alltoallv",
            "MPI_Alltoallw",
            "MPI_Reduce_scatter",
            "MPI_Reduce_scatter_block",
            "MPI_Scan",
            "MPI_Exscan",
        ];
        assert_eq!(recording.counts(&once), [3; 11]);
        let twice = ["MPI_Gather", "MPI_Scatter", "MPI_Allgather", "MPI_Alltoall", "MPI_Reduce", "MPI_Allreduce"];
        assert_eq!(recording.counts(&twice), [6; 6]);
        assert_eq!(recording.report()["pairs"], serde_json::json!([]), "collectives are no messages");
        for rank in 0..3 {
            for operation in ["MPI_Bcast", "MPI_Gather", "MPI_Scatterv", "MPI_Reduce"] {
                let calls = recording.calls_of(rank, operation);
                assert!(calls.iter().all(|call| call.root == Some(1)), "root of {operation} on rank {rank}");
            }
            let bcast = &recording.calls_of(rank, "MPI_Bcast")[0];
            assert_eq!(if rank == 1 { bcast.sent } else { bcast.received }, 36, "bytes of Bcast on rank {rank}");
        }
        for (site, operation) in [("barrier", "MPI_Barrier"), ("reduce", "MPI_Reduce"), ("allreduce", "MPI_Allreduce")] {
            assert_eq!(recording.calls_at(program, site, operation), 3, "{operation}");
        }
    });
}

#[test]
fn c011_nonblocking_collectives_are_completed_together() {
    on_every_mpi("c/011_nonblocking_collectives", |_, _, recording| {
        let operations = [
            "MPI_Ibarrier",
            "MPI_Ibcast",
            "MPI_Igather",
            "MPI_Igatherv",
            "MPI_Iscatter",
            "MPI_Iscatterv",
            "MPI_Iallgather",
            "MPI_Iallgatherv",
            "MPI_Ialltoall",
            "MPI_Ialltoallv",
            "MPI_Ialltoallw",
            "MPI_Ireduce",
            "MPI_Iallreduce",
            "MPI_Ireduce_scatter",
            "MPI_Ireduce_scatter_block",
            "MPI_Iscan",
            "MPI_Iexscan",
        ];
        assert_eq!(recording.counts(&operations), [3; 17]);
        for rank in 0..3 {
            let waitall = &recording.calls_of(rank, "MPI_Waitall")[0];
            let started: BTreeSet<String> = recording
                .calls(rank)
                .iter()
                .filter(|call| operations[1..].contains(&call.operation.as_str()))
                .filter_map(|call| call.request.as_ref().map(ToString::to_string))
                .collect();
            let completed: BTreeSet<String> = waitall.completed.iter().map(|done| done.request.to_string()).collect();
            assert!(completed.is_subset(&started), "rank {rank} completed what it had not started");
            let tests = recording.calls_of(rank, "MPI_Test");
            let barrier = recording.calls_of(rank, "MPI_Ibarrier")[0].request.clone().expect("a request");
            let completions = tests.iter().flat_map(|test| &test.completed).filter(|done| done.request == barrier);
            assert_eq!(completions.count(), 1, "the Ibarrier of rank {rank} completes once");
        }
    });
}

#[test]
fn c012_neighbourhood_collectives() {
    on_every_mpi("c/012_neighbourhood", |_, program, recording| {
        let forms = ["allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"];
        for form in forms {
            let both = [format!("MPI_Neighbor_{form}"), format!("MPI_Ineighbor_{form}")];
            assert_eq!(recording.counts(&[&both[0], &both[1]]), [3, 3], "{form}");
        }
        assert_eq!(recording.counts(&["MPI_Cart_create", "MPI_Dist_graph_create_adjacent", "MPI_Comm_free"]), [3, 3, 6]);
        assert_eq!(recording.calls_at(program, "neighbor_allgather", "MPI_Neighbor_allgather"), 3);
    });
}

#[test]
fn c041_persistent_collectives() {
    on_every_mpi("c/041_persistent_collectives", |_, _, recording| {
        let operations = ["MPI_Bcast_init", "MPI_Allreduce_init", "MPI_Startall", "MPI_Waitall", "MPI_Request_free"];
        assert_eq!(recording.counts(&operations), [2, 2, 6, 6, 4]);
        assert_eq!(recording.report()["pairs"], serde_json::json!([]));
    });
}

#[test]
fn c044_what_mpi_calls_back_is_not_counted_twice() {
    on_every_mpi("c/044_callbacks", |_, program, recording| {
        assert_eq!(recording.counts(&["MPI_Allreduce", "MPI_Comm_dup", "MPI_Comm_free"]), [2, 2, 2]);
        assert_eq!(recording.calls_at(program, "allreduce", "MPI_Allreduce"), 2);
    });
}

#[test]
fn c053_waiting_for_a_slow_rank_shows() {
    on_every_mpi("c/053_imbalance", |_, program, recording| {
        let report = recording.report();
        let rank = |number: usize, key: &str| report["per_rank"][number][key].as_f64().expect("seconds");
        assert!(rank(0, "mpi_s") > rank(1, "mpi_s"), "rank 0 waits: {}", report["per_rank"]);
        assert!(rank(1, "outside_s") > rank(0, "outside_s"), "rank 1 works: {}", report["per_rank"]);
        let efficiency = |key: &str| report["efficiency"][key].as_f64().expect("a ratio");
        for key in ["parallel", "load_balance", "communication"] {
            assert!((0.0..=1.0).contains(&efficiency(key)), "{key} is {}", efficiency(key));
        }
        assert!(efficiency("load_balance") < 0.9, "{}", report["efficiency"]);
        let product = efficiency("load_balance") * efficiency("communication");
        assert!((product - efficiency("parallel")).abs() < 0.01, "{}", report["efficiency"]);
        let sites = report["call_sites"].as_array().expect("call_sites is a list");
        let inside = |site: &&serde_json::Value| !["MPI_Init", "MPI_Finalize"].contains(&site["operation"].as_str().unwrap_or_default());
        let slowest = sites.iter().find(inside).expect("a call site");
        assert_eq!(slowest["operation"], "MPI_Barrier", "the call site that takes most time comes first");
        assert_eq!(slowest["line"], program.line("barrier"));
    });
}
