//! Fortran in its three families, `mpif.h`, `use mpi` and `use mpi_f08`: recorded once (some libraries call their own C
//! functions), under the C names, with call sites in the Fortran source.

use sintonia_tests::{Call, Program, Recording, compare_with_ledgers, on_every_mpi};

const FAMILIES: [&str; 3] = ["f77", "f90", "f08"];

fn in_every_family(program: &str, check: impl Fn(&Program, &Recording)) {
    let mut failed = Vec::new();
    for family in FAMILIES {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            on_every_mpi(&format!("{family}/{program}"), |_, program, recording| {
                recording.run.expect_status(0);
                check(program, recording);
            });
        }));
        failed.extend(outcome.is_err().then_some(family));
    }
    assert!(failed.is_empty(), "failed in: {}", failed.join(", "));
}

/// The calls made from the marked line. gfortran gives a call at the start of a block at times the line above, which
/// opens the block; the operation tells them apart.
fn calls_at(calls: &[Call], program: &Program, site: &str, operation: &str) -> Vec<Call> {
    let line = program.line(site);
    let name = program.source.file_name().expect("a program has a name").to_string_lossy().into_owned();
    let here = |call: &&Call| call.operation == operation && call.file.ends_with(&name) && (line - 1..=line).contains(&call.line);
    calls.iter().filter(here).cloned().collect()
}

#[test]
fn f101_messages() {
    in_every_family("101_messages", |program, recording| {
        assert_eq!(recording.pair(1, 0), (8, 144));
        let mut received = recording.received(0);
        received.sort_unstable();
        let expected: Vec<_> = (1..=8).map(|tag| (1, tag, 4 * tag)).collect();
        assert_eq!(received, expected, "wildcards resolved, each message once");
        assert_eq!(recording.counts(&["MPI_Send", "MPI_Recv", "MPI_Irecv", "MPI_Wait", "MPI_Waitall"]), [8, 2, 6, 1, 1]);

        let calls = recording.calls(0);
        let at = |site: &str, operation: &str| calls_at(&calls, program, site, operation);
        assert_eq!(at("recv", "MPI_Recv")[0].received_messages(), [(1, 1, 4)]);
        assert_eq!(at("ignore", "MPI_Recv")[0].received_messages(), [(1, 2, 8)]);
        assert_eq!(at("irecv", "MPI_Irecv").len(), 3);
        assert!(!at("iprobe", "MPI_Iprobe").is_empty() && !at("test", "MPI_Test").is_empty());
        let waitsome = at("waitsome", "MPI_Waitsome");
        let mut completed: Vec<_> = waitsome.iter().flat_map(Call::received_messages).collect();
        completed.sort_unstable();
        assert_eq!(completed, [(1, 4, 16), (1, 6, 24)], "indices count from 1, in MPICH 4.0's mpi_f08 from 0");
        assert_eq!(at("waitall", "MPI_Waitall")[0].received_messages().len(), 2);
    });
}

#[test]
fn f102_sentinels() {
    in_every_family("102_sentinels", |program, recording| {
        let operations = ["MPI_Bcast", "MPI_Allreduce", "MPI_Reduce", "MPI_Gather", "MPI_Scatter", "MPI_Sendrecv"];
        assert_eq!(recording.counts(&operations), [2, 4, 2, 2, 2, 2]);
        assert_eq!(recording.pair(0, 1), (1, 16), "MPI_BOTTOM");
        assert_eq!(recording.calls_of(0, "MPI_Bcast")[0].root, Some(1));
        assert_eq!(recording.calls_of(0, "MPI_Bcast")[0].received, 16);
        assert_eq!(recording.calls_at(program, "bcast", "MPI_Bcast"), 2);
        assert_eq!(recording.calls_at(program, "in_place", "MPI_Allreduce"), 2);
        assert_eq!(recording.calls_at(program, "bottom", "MPI_Send"), 1);
    });
}

#[test]
fn f103_characters() {
    in_every_family("103_characters", |program, recording| {
        let operations = ["MPI_File_open", "MPI_File_write_at", "MPI_File_read_at", "MPI_File_close", "MPI_Comm_dup"];
        assert_eq!(recording.counts(&operations), [2; 5]);
        assert_eq!(recording.calls_at(program, "open", "MPI_File_open"), 2);
        assert_eq!(recording.calls_at(program, "write_at", "MPI_File_write_at"), 2);
        assert_eq!(recording.calls_at(program, "dup", "MPI_Comm_dup"), 2);
    });
}

#[test]
fn f104_communicators() {
    in_every_family("104_communicators", |program, recording| {
        assert_eq!(recording.pair(2, 1), (4, 16));
        assert_eq!(recording.received(1), [(2, 3, 4); 4]);
        assert_eq!(recording.counts(&["MPI_Comm_split", "MPI_Cart_create", "MPI_Comm_free"]), [3, 3, 6]);
        assert_eq!(recording.calls_at(program, "split", "MPI_Comm_split"), 3);
        for rank in [1, 2] {
            let calls = recording.calls(rank);
            assert_eq!(calls_at(&calls, program, "start", "MPI_Start").len(), 2);
            assert_eq!(calls_at(&calls, program, "startall", "MPI_Startall").len(), 2);
        }
    });
}

#[test]
fn f105_array_sections() {
    on_every_mpi("f08/105_sections", |_, program, recording| {
        recording.run.expect_status(0);
        assert_eq!(recording.received(1), [(0, 1, 20), (0, 2, 12)]);
        assert_eq!(recording.pair(0, 1), (2, 32));
        assert_eq!(recording.calls_at(program, "send", "MPI_Send"), 1);
        assert_eq!(recording.count("MPI_Recv"), 2);
    });
}

#[test]
fn f106_completions_agree_with_the_ledger_of_the_program() {
    on_every_mpi("f90/106_request_ledger", |mpi, _, recording| {
        recording.run.expect_status(0);
        for (rank, (completions, unknown)) in compare_with_ledgers(recording, 2).into_iter().enumerate() {
            println!("{}: rank {rank}: {completions} completions, {unknown} of them of unknown requests", mpi.name);
        }
        assert_eq!(recording.report()["unmatched"], 0);
    });
}
