//! Programs that do unusual things lose nothing of their record: error handlers that jump or throw, children, plugins,
//! names that look like MPI's, a recording switched off and on.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sintonia_tests::{Program, Recording, for_every_mpi, on_every_mpi};

#[test]
fn c024_an_error_handler_that_jumps() {
    on_every_mpi("c/024_error_handler", |_, program, recording| {
        assert_eq!(recording.calls_at(program, "send", "MPI_Send"), 10);
        assert_eq!(recording.pair(0, 1), (10, 40), "a send that failed is no message");
    });
}

#[test]
fn c025_children_by_exec() {
    on_every_mpi("c/025_exec_child", |_, _, recording| complete(recording, &[("MPI_Barrier", 2)]));
}

#[test]
fn c026_children_by_fork() {
    on_every_mpi("c/026_fork", |_, _, recording| complete(recording, &[("MPI_Send", 20), ("MPI_Recv", 20)]));
}

#[test]
fn c027_no_mpi_call() {
    on_every_mpi("c/027_no_mpi", |_, _, recording| {
        assert!(recording.messages().contains("no MPI calls were recorded"), "{}", recording.run.text());
        assert_eq!(recording.run.status, 6);
    });
}

#[test]
fn c030_mpi_opened_at_run_time() {
    on_every_mpi("c/030_dlopen_global", |_, _, recording| complete(recording, &[("MPI_Send", 5), ("MPI_Recv", 5)]));
}

#[test]
fn c031_mpi_in_a_plugin() {
    on_every_mpi("c/031_plugin", |_, program, recording| {
        complete(recording, &[("MPI_Send", 5), ("MPI_Recv", 5)]);
        let send = &recording.calls_of(0, "MPI_Send")[0];
        assert!(send.is_at(program, "send"), "{}:{}", send.file, send.line);
        assert!(send.file.ends_with("031_plugin.lib.c"), "{}", send.file);
    });
}

#[test]
fn c038_an_error_handler_that_throws() {
    on_every_mpi("c/038_exception", |_, program, recording| {
        assert_eq!(recording.calls_at(program, "send", "MPI_Send"), 10);
        assert_eq!(recording.pair(0, 1), (10, 40));
    });
}

#[test]
fn c040_names_of_the_program_itself() {
    on_every_mpi("c/040_own_names", |_, _, recording| {
        complete(recording, &[("MPI_Send", 3), ("MPI_Recv", 3), ("MPI_Wait", 0), ("MPI_Bcast", 0)]);
    });
}

#[test]
fn c043_call_sites() {
    on_every_mpi("c/043_call_sites", |_, program, recording| {
        assert_eq!(recording.calls_at(program, "inlined", "MPI_Allreduce"), 2);
        assert_eq!(recording.calls_at(program, "called", "MPI_Bcast"), 2);
        assert_eq!(recording.calls_at(program, "loop", "MPI_Barrier"), 7);
        assert_eq!(recording.calls_at(program, "one line", "MPI_Scan"), 1);
        assert_eq!(recording.calls_at(program, "one line", "MPI_Exscan"), 1);
        let report = recording.report();
        let sites = report["call_sites"].as_array().expect("call_sites is a list");
        let of = |operation: &str| sites.iter().find(|site| site["operation"] == operation).expect("a call site");
        assert_eq!(of("MPI_Allreduce")["function"], "inlined");
        assert_eq!(of("MPI_Bcast")["function"], "called");
        assert_eq!(of("MPI_Barrier")["function"], "main");
        let file = of("MPI_Barrier")["file"].as_str().expect("a file").to_string();
        assert!(file.ends_with("043_call_sites.c"), "{file}");
    });
}

#[test]
fn c045_a_program_that_goes_elsewhere() {
    on_every_mpi("c/045_elsewhere", |_, _, recording| complete(recording, &[("MPI_Send", 10), ("MPI_Recv", 10)]));
}

#[test]
fn c048_standard_input_reaches_the_program() {
    on_every_mpi("c/048_standard_input", |_, _, recording| {
        assert_eq!(recording.run.stdout, "sum 15\n");
        complete(recording, &[("MPI_Bcast", 2)]);
    });
}

#[test]
fn c052_recording_switched_off_and_on() {
    on_every_mpi("c/052_pcontrol", |_, _, recording| {
        complete(recording, &[("MPI_Send", 8), ("MPI_Recv", 8), ("MPI_Ssend", 0), ("MPI_Allreduce", 2)]);
        assert_eq!(recording.pair(0, 1), (8, 32));
    });
}

#[test]
fn c055_calls_left_by_exceptions() {
    on_every_mpi("c/055_exceptions", |_, _, recording| expect_ledgers(recording, 2, "exception"));
}

#[test]
fn c056_calls_left_by_jumps() {
    on_every_mpi("c/056_jumps", |_, _, recording| expect_ledgers(recording, 2, "jump"));
}

#[test]
fn c057_calls_left_by_the_end_of_their_thread() {
    on_every_mpi("c/057_thread_ends", |_, _, recording| expect_ledgers(recording, 1, "thread end"));
}

#[test]
fn c058_a_call_in_progress_at_exit() {
    on_every_mpi("c/058_exit_in_handler", |_, program, recording| {
        let sends = recording.printed_calls(0, "MPI_Send");
        assert_eq!(sends.len(), 11);
        let unfinished: Vec<&Value> = sends.iter().filter(|send| send["unfinished"] == true).collect();
        assert_eq!(unfinished.len(), 1, "{sends:#?}");
        assert_eq!(unfinished[0]["line"], program.line("left"));
        let seconds = unfinished[0]["leave_s"].as_f64().expect("a time") - unfinished[0]["enter_s"].as_f64().expect("a time");
        assert!(seconds >= 0.02, "the handler took as long, {seconds} s");
        assert_eq!(recording.report()["left_calls"], 0);
    });
}

#[test]
fn c059_a_signal_handler_that_jumps() {
    for_every_mpi(|mpi| {
        let program = Program::find("c/059_signal_jumps");
        program.build(mpi).expect("builds");
        let recording = Recording::record(mpi, &program, &["--memory", "1M"]);
        recording.run.expect_status(0);
        let ledger = std::fs::read_to_string(recording.folder().join("ledger")).expect("the program wrote a ledger");
        let numbers: Vec<u64> = ledger.split_whitespace().map(|number| number.parse().expect("a number")).collect();
        let (entered, completed, jumps) = (numbers[0], numbers[1], numbers[2]);
        let header = std::fs::read_to_string(recording.path.join("recording.json")).expect("a header");
        let header: Value = serde_json::from_str(&header).expect("JSON");
        let lost = header["ranks"][0]["dropped"].as_u64().unwrap_or(0);
        let sends = recording.count("MPI_Send");
        let shown = format!("{entered} entered, {completed} completed, {jumps} jumps; {sends} recorded, {lost} lost");
        assert!(completed <= sends + lost && sends <= entered && sends + lost <= entered + jumps, "{shown}");
    });
}

/// Calls that the program counted itself.
struct LedgerLine {
    entered: usize,
    left: usize,
    /// Time in those that it left, at most.
    seconds: f64,
}

/// Every call in the ledgers of the ranks is recorded, and those that were left are marked and end in time.
fn expect_ledgers(recording: &Recording, ranks: usize, left_by: &str) {
    let mut all_left = 0;
    for rank in 0..ranks {
        for (operation, line) in read_ledger(recording, rank) {
            let calls = recording.printed_calls(rank, &operation);
            assert_eq!(calls.len(), line.entered, "{operation} of rank {rank}");
            let left: Vec<&Value> = calls.iter().filter(|call| !call["left_by"].is_null()).collect();
            assert_eq!(left.len(), line.left, "{operation} of rank {rank}");
            for call in &left {
                assert_eq!(
                    (&call["left_by"], &call["error"], &call["unfinished"]),
                    (&json!(left_by), &Value::Null, &Value::Null),
                    "{call}"
                );
            }
            let time = |call: &&Value, key: &str| call[key].as_f64().expect("a time");
            let seconds: f64 = left.iter().map(|call| time(call, "leave_s") - time(call, "enter_s")).sum();
            assert!(seconds <= line.seconds * 1.001, "{operation} of rank {rank}: {seconds} s, but at most {} s were", line.seconds);
            all_left += left.len();
        }
    }
    let report = recording.report();
    assert_eq!(report["left_calls"], all_left);
    assert_eq!((&report["unfinished"], &report["not_recorded"]), (&json!([]), &json!([])));
    let text = recording.sintonia("report", &[]);
    assert!(text.stdout.contains("calls were left by an exception, a jump (longjmp) or the end of their thread"), "{}", text.text());
}

fn read_ledger(recording: &Recording, rank: usize) -> BTreeMap<String, LedgerLine> {
    let text = std::fs::read_to_string(recording.folder().join(format!("ledger.{rank}"))).expect("the program wrote a ledger");
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |index: usize| words[index].parse().expect("a number");
        (words[0].to_owned(), LedgerLine { entered: number(1), left: number(2), seconds: words[3].parse().expect("seconds") })
    };
    text.lines().map(line).collect()
}

/// All ranks ended well, and these operations were called so often.
fn complete(recording: &Recording, expected: &[(&str, u64)]) {
    let report = recording.report();
    assert_eq!(report["ranks"], 2);
    assert_eq!(report["incomplete_ranks"], json!([]));
    for (operation, times) in expected {
        assert_eq!(recording.count(operation), *times, "{operation}");
    }
}
