//! OTF2: the reference reader takes it without complaint, and nothing is lost on the way out and back.

use serde_json::Value;
use sintonia_tests::{Outcome, Process, Recording, on_every_mpi, sintonia};

/// Programs that end as they should, with every kind of call.
const COMPLETE: [&str; 15] = [
    "c/001_send_modes",
    "c/003_waits",
    "c/004_tests",
    "c/006_persistent",
    "c/008_sendrecv",
    "c/009_probe",
    "c/010_collectives",
    "c/011_nonblocking_collectives",
    "c/015_communicators",
    "c/017_intercommunicator",
    "c/018_rma",
    "c/019_io",
    "c/022_threads",
    "c/042_odd_requests",
    "c/043_call_sites",
];

/// Programs with something unusual: neighbours, spawned processes, errors, a rank that is killed.
const UNUSUAL: [&str; 4] = ["c/012_neighbourhood", "c/020_spawn", "c/023_errors_return", "c/037_sigkill"];

#[test]
fn otf2_print_reads_it_without_complaint() {
    for program in COMPLETE.into_iter().chain(UNUSUAL) {
        on_every_mpi(program, |_, _, recording| {
            recording.export("run.otf2");
            let printed = otf2_print(recording, &["--silent", "--warnings-as-errors"]);
            assert_eq!(printed.stderr, "", "{program}");
            otf2_print(recording, &["--show-all"]);
        });
    }
}

#[test]
fn every_message_has_two_ends_and_its_line() {
    on_every_mpi("c/003_waits", |_, program, recording| {
        recording.export("run.otf2");
        let printed = otf2_print(recording, &["--show-all"]).stdout;
        let count = |kinds: [&str; 2]| printed.lines().filter(|line| kinds.contains(&line.split_whitespace().next().unwrap_or(""))).count();
        assert!(count(["MPI_SEND", "MPI_ISEND"]) > 0);
        assert_eq!(count(["MPI_SEND", "MPI_ISEND"]), count(["MPI_RECV", "MPI_IRECV"]));
        assert!(printed.contains("OTF2::MPI_COMMUNICATION_COMPLETE"), "{printed}");
        let file = program.name.rsplit('/').next().expect("a name");
        assert!(printed.contains("SOURCE_CODE_LOCATION; \"") && printed.contains(&format!("{file}.c:")), "{printed}");
    });
}

#[test]
fn a_run_that_was_cut_does_not_claim_to_be_complete() {
    on_every_mpi("c/037_sigkill", |_, _, recording| {
        recording.export("run.otf2");
        assert!(!otf2_print(recording, &["--show-all"]).stdout.contains("MPI_COMMUNICATION_COMPLETE"));
    });
}

#[test]
fn nothing_is_lost_on_the_way_out_and_back() {
    for program in COMPLETE.into_iter().chain(UNUSUAL) {
        on_every_mpi(program, |_, _, recording| {
            recording.export("run.otf2");
            run(recording, &[&sintonia(), "import", "run.otf2", "-o", "back.sin"]);
            let calls = |name: &str| without_core_times(&run(recording, &[&sintonia(), "calls", name, "--json"]).stdout);
            let (before, after) = (calls("run.sin"), calls("back.sin"));
            for (before, after) in before.lines().zip(after.lines()) {
                assert_eq!(after, before, "{program}");
            }
            assert_eq!(after.lines().count(), before.lines().count(), "{program}");
            assert_eq!(header(recording, "back.sin"), header(recording, "run.sin"), "{program}");
        });
    }
}

/// Calls without the times off the processor, for which an archive has no place.
fn without_core_times(calls: &str) -> String {
    let line = |line: &str| {
        let mut call: Value = serde_json::from_str(line).expect("JSON");
        for key in ["waiting_for_core_s", "blocked_s", "segment_waiting_for_core_s", "segment_blocked_s"] {
            call.as_object_mut().expect("an object").remove(key);
        }
        call.to_string()
    };
    calls.lines().map(line).collect::<Vec<String>>().join("\n")
}

/// What a recording says of its run, without the unit of its ticks, the name of who wrote it, and that for which an archive has no place.
fn header(recording: &Recording, name: &str) -> Value {
    let text = std::fs::read_to_string(recording.folder().join(name).join("recording.json")).expect("a sealed recording");
    let mut header: Value = serde_json::from_str(&text).expect("JSON");
    for rank in header["ranks"].as_array_mut().expect("ranks") {
        rank["clock"].take();
        for key in ["off_cpu", "sampling"] {
            rank.as_object_mut().expect("an object").remove(key);
        }
    }
    header["sealed_by"].take();
    header
}

fn otf2_print(recording: &Recording, options: &[&str]) -> Outcome {
    run(recording, &[&["otf2-print"], options, &["run.otf2"]].concat())
}

/// Runs a command beside the recording; it must succeed.
fn run(recording: &Recording, words: &[&str]) -> Outcome {
    let outcome = Process::new(words.iter().map(ToString::to_string)).run_in(recording.folder());
    outcome.expect_no_crash().expect_status(0);
    outcome
}
