//! However a run ends, what happened before is there, and the report names the ranks that are incomplete.

use sintonia_tests::{Recording, on_every_mpi};

#[test]
fn c033_exit_without_finalize() {
    on_every_mpi("c/033_exit_without_finalize", |_, program, recording| {
        assert_eq!(recording.calls_at(program, "send", "MPI_Send"), 10);
    });
}

#[test]
fn c034_the_status_of_the_program_is_the_status_of_record() {
    on_every_mpi("c/034_status_seven", |_, _, recording| {
        assert_eq!(recording.run.status, 7);
        assert_eq!(recording.count("MPI_Barrier"), 2);
        assert!(incomplete(recording).is_empty());
    });
}

#[test]
fn c035_abort() {
    on_every_mpi("c/035_abort", |_, program, recording| {
        assert_eq!(recording.calls_at(program, "send", "MPI_Send"), 10);
        assert_eq!(recording.calls_at(program, "recv", "MPI_Recv"), 10);
    });
}

#[test]
fn c036_segmentation_fault() {
    on_every_mpi("c/036_segv", |_, program, recording| {
        assert!(incomplete(recording).contains(&1), "{}", recording.report());
        let received = recording.calls_of(1, "MPI_Recv");
        assert_eq!(received.iter().filter(|call| call.is_at(program, "recv")).count(), 10);
    });
}

#[test]
fn c037_sigkill() {
    on_every_mpi("c/037_sigkill", |_, program, recording| {
        assert!(incomplete(recording).contains(&1), "{}", recording.report());
        let calls = recording.calls(1);
        let at = |site: &str| calls.iter().filter(|call| call.is_at(program, site)).count();
        assert_eq!((at("send"), at("recv")), (500, 500));
        let text = recording.sintonia("report", &[]);
        text.expect_no_crash().expect_status(0);
        assert!(text.stdout.contains("incomplete"), "the text report says it, too:\n{}", text.text());
    });
}

#[test]
fn c051_fatal_error() {
    on_every_mpi("c/051_fatal_error", |_, program, recording| {
        assert_eq!(recording.calls_at(program, "barrier", "MPI_Barrier"), 1);
    });
}

fn incomplete(recording: &Recording) -> Vec<u64> {
    let report = recording.report();
    let ranks = report["incomplete_ranks"].as_array().expect("incomplete_ranks is a list");
    ranks.iter().map(|rank| rank.as_u64().expect("a rank")).collect()
}
