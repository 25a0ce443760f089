//! However a run ends, what happened before is there, and the report names the ranks that are incomplete.

use std::path::Path;

use serde_json::Value;
use sintonia_tests::{Mpi, NormalizedRun, Outcome, Program, Recording, for_every_mpi, fresh_dir, on_every_mpi, record_command};

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

#[test]
fn c064_a_callback_that_ends_the_program() {
    let program = Program::find("c/064_ends_in_callbacks");
    for_every_mpi(|mpi| {
        for (place, operation, ways) in [
            ("handler", "MPI_Send", &["exit", "_exit", "quick_exit", "abort", "kill"][..]),
            ("operator", "MPI_Reduce_local", &["_exit", "abort"]),
            ("copy", "MPI_Comm_dup", &["quick_exit", "kill"]),
        ] {
            for how in ways {
                let recording = record_like_bare(mpi, &program, [how, place]);
                assert_eq!(recording.printed_calls(0, "MPI_Ssend").len(), 10, "{how} in the {place}");
                let calls = recording.printed_calls(0, operation);
                assert_eq!(calls.len(), 1, "{how} in the {place}: {calls:#?}");
                assert_eq!((&calls[0]["unfinished"], &calls[0]["line"]), (&Value::Bool(true), &program.line(place).into()), "{calls:#?}");
                let seconds = calls[0]["leave_s"].as_f64().expect("a time") - calls[0]["enter_s"].as_f64().expect("a time");
                assert!(seconds >= 0.02, "{how} in the {place}: the callback took as long, {seconds} s");
            }
        }
    });
}

/// Records a run with these arguments, which must do the same as without Sintonia.
fn record_like_bare(mpi: &Mpi, program: &Program, arguments: [&str; 2]) -> Recording {
    let (bare, folder) = (fresh_dir(), fresh_dir());
    let mut command = program.build(mpi).expect("a C program");
    command.truncate(1);
    command.extend(arguments.map(String::from));
    let launch = mpi.launch(1, &command);
    let output = folder.path().join("run.sin");
    let expected = program.process(mpi, launch.clone()).run_in(bare.path());
    let run = program.process(mpi, record_command(&output, &[], launch)).run_in(folder.path());
    // What the launcher says of it on stderr, and how often, differs from run to run.
    let printed = |run: &Outcome, folder: &Path| (run.status, NormalizedRun::new(run, folder).stdout);
    assert_eq!(printed(&run, folder.path()), printed(&expected, bare.path()), "{arguments:?} with {}", mpi.name);
    Recording::at(run, output, folder)
}

fn incomplete(recording: &Recording) -> Vec<u64> {
    let report = recording.report();
    let ranks = report["incomplete_ranks"].as_array().expect("incomplete_ranks is a list");
    ranks.iter().map(|rank| rank.as_u64().expect("a rank")).collect()
}
