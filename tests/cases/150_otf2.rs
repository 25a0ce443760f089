//! OTF2: the reference reader takes it without complaint, and nothing is lost on the way out and back.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sintonia_tests::{Mpi, Outcome, Process, Recording, for_every_mpi, fresh_dir, on_every_mpi, record_command, sintonia, workspace};

/// A program with a known call tree, and a reader that only knows enter and leave events.
const TREE: &str = include_str!("145_sample_formats/tree.c");
const ENTER_LEAVE: &str = include_str!("150_otf2/enter_leave.c");

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
            let frames = |name: &str| std::fs::read_to_string(recording.folder().join(name).join("stacks.json")).ok();
            assert_eq!(frames("back.sin"), frames("run.sin"), "{program}");
        });
    }
}

#[test]
fn samples_and_call_paths_are_there_for_every_tool() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let folder = folder.path();
        record_tree(mpi, folder);
        let run = |words: &[&str]| run_in(folder, words).stdout;
        run(&[&sintonia(), "export", "run.sin", "-o", "run.otf2"]);
        run(&["otf2-print", "--silent", "--warnings-as-errors", "run.otf2"]);
        let count = |archive: &str, kind: &str| {
            let printed = run(&["otf2-print", archive]);
            printed.lines().filter(|line| line.split_whitespace().next() == Some(kind)).count()
        };
        let calls = run(&[&sintonia(), "calls", "run.sin", "--json"]).lines().count();
        assert_eq!((count("run.otf2", "CALLING_CONTEXT_ENTER"), count("run.otf2", "CALLING_CONTEXT_LEAVE")), (calls, calls));
        let stacks = |recording: &str| {
            let name = format!("{recording}.collapsed");
            run(&[&sintonia(), "export", recording, "-o", &name, "--by-rank", "--force"]);
            std::fs::read_to_string(folder.join(name)).expect("written")
        };
        let samples: usize =
            stacks("run.sin").lines().map(|line| line.rsplit(' ').next().expect("a count").parse::<usize>().expect("a number")).sum();
        assert!(samples > 100, "{samples}");
        assert_eq!(count("run.otf2", "CALLING_CONTEXT_SAMPLE"), samples);
        assert_eq!(run(&[&enter_leave(folder), "run.otf2"]).trim(), format!("{calls} {calls}"), "with the OTF2 library");
        run(&[&sintonia(), "import", "run.otf2", "-o", "back.sin"]);
        assert_eq!(stacks("back.sin"), stacks("run.sin"));
        run(&[&sintonia(), "export", "run.sin", "-o", "calls.otf2", "--no-samples"]);
        assert_eq!((count("calls.otf2", "ENTER"), count("calls.otf2", "CALLING_CONTEXT_SAMPLE")), (calls, 0));
    });
}

/// Traces of the OTF2 library, with regions or calling contexts: a wrapper is called by two functions.
#[test]
fn a_wrapper_in_the_trace_of_another_tool_is_split_by_its_callers() {
    let folder = fresh_dir();
    for (name, line, callers) in [("regions", 3, ["smooth:5", "solve:20"]), ("unwinding", 4, ["smooth:7", "solve:25"])] {
        let archive = workspace().join(format!("crates/otf2/tests/data/otf2-library/{name}.otf2"));
        let recording = format!("{name}.sin");
        run_in(folder.path(), &[&sintonia(), "import", &archive.to_string_lossy(), "-o", &recording]);
        let report = run_in(folder.path(), &[&sintonia(), "report", &recording]).stdout;
        let graph = run_in(folder.path(), &[&sintonia(), "graph", "--program", &recording]).stdout;
        for caller in callers {
            assert!(report.contains(&format!("from {caller}")), "{report}");
            assert!(graph.contains(&format!("exchange comm.c:{line} < {caller}")), "{graph}");
        }
        assert!(report.contains("in compute (solve.c:3"), "{report}");
    }
}

/// Compiles and records the program as `run.sin`.
fn record_tree(mpi: &Mpi, folder: &Path) {
    std::fs::write(folder.join("tree.c"), TREE).expect("written");
    mpi.compile(&[folder.join("tree.c")], &folder.join("tree"));
    let launch = mpi.launch(2, &["./tree".to_string(), "1".to_string()]);
    let command = record_command(&folder.join("run.sin"), &["--sample", "499"], launch);
    Process::new(command).env(&mpi.env).run_in(folder).expect_status(0);
}

/// Compiles the reader that only knows enter and leave events.
fn enter_leave(folder: &Path) -> String {
    let (source, program) = (folder.join("enter_leave.c"), folder.join("enter_leave"));
    std::fs::write(&source, ENTER_LEAVE).expect("written");
    let status = Command::new("gcc").args(["-Wall", "-o"]).args([&program, &source]).arg("-lopen-trace-format2").status();
    assert!(status.expect("the compiler runs").success());
    program.to_string_lossy().into_owned()
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
        rank.as_object_mut().expect("an object").remove("off_cpu");
    }
    header["sealed_by"].take();
    header
}

fn otf2_print(recording: &Recording, options: &[&str]) -> Outcome {
    run(recording, &[&["otf2-print"], options, &["run.otf2"]].concat())
}

/// Runs a command beside the recording; it must succeed.
fn run(recording: &Recording, words: &[&str]) -> Outcome {
    run_in(recording.folder(), words)
}

fn run_in(folder: &Path, words: &[&str]) -> Outcome {
    let outcome = Process::new(words.iter().map(ToString::to_string)).run_in(folder);
    outcome.expect_no_crash().expect_status(0);
    outcome
}
