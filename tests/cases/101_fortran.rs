//! Fortran in its three families, `mpif.h`, `use mpi` and `use mpi_f08`: recorded once (some libraries call their own C
//! functions), under the C names, with call sites in the Fortran source.

use sintonia_tests::{Program, Recording, on_every_mpi};

const FAMILIES: [&str; 3] = ["f77", "f90", "f08"];

fn in_every_family(program: &str, check: impl Fn(&Program, &Recording)) {
    for family in FAMILIES {
        println!("{family}");
        on_every_mpi(&format!("{family}/{program}"), |_, program, recording| {
            recording.run.expect_status(0);
            check(program, recording);
        });
    }
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
        let at = |site: &str| calls.iter().filter(|call| call.is_at(program, site)).collect::<Vec<_>>();
        assert_eq!(at("recv")[0].received_messages(), [(1, 1, 4)]);
        assert_eq!(at("ignore")[0].received_messages(), [(1, 2, 8)]);
        assert_eq!(at("irecv").len(), 3);
        assert!(!at("iprobe").is_empty() && !at("test").is_empty());
        let mut by_waitsome: Vec<_> = at("waitsome").iter().flat_map(|call| call.received_messages()).collect();
        by_waitsome.sort_unstable();
        assert_eq!(by_waitsome, [(1, 4, 16), (1, 6, 24)], "indices count from 1, in MPICH 4.0's mpi_f08 from 0");
        assert_eq!(at("waitall")[0].received_messages().len(), 2);
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
        assert_eq!(recording.calls_at(program, "start", "MPI_Start"), 4);
        assert_eq!(recording.calls_at(program, "startall", "MPI_Startall"), 4);
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
