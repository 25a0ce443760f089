//! Counters: what the kernel counts between two MPI calls and between two samples, beside what the program counts itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sintonia_tests::{Mpi, Outcome, Process, for_every_mpi, fresh_dir, record_command, retry_assertions, sintonia};

const PAGES: &str = include_str!("147_counters/pages.c");
const FORBID: &str = include_str!("114_samples/forbid.c");

fn compile(mpi: &Mpi, folder: &Path) {
    for (name, source) in [("pages", PAGES), ("forbid", FORBID)] {
        let file = folder.join(name).with_extension("c");
        std::fs::write(&file, source).expect("written");
        let mut command = Command::new(&mpi.cc[0]);
        command.args(&mpi.cc[1..]).args(["-g", "-O2", "-o"]).arg(folder.join(name)).arg(&file).args(&mpi.link);
        assert!(command.status().expect("the compiler runs").success());
    }
}

fn record(mpi: &Mpi, folder: &Path, options: &[&str]) -> (Outcome, PathBuf) {
    record_program(mpi, folder, options, &["./pages"])
}

fn record_program(mpi: &Mpi, folder: &Path, options: &[&str], program: &[&str]) -> (Outcome, PathBuf) {
    let recording = folder.join("run.sin");
    let options = [&["--force"], options].concat();
    let program: Vec<String> = program.iter().map(ToString::to_string).collect();
    let command = record_command(&recording, &options, mpi.launch(2, &program));
    let outcome = Process::new(command).env(&mpi.env).run_in(folder);
    outcome.expect_status(0);
    (outcome, recording)
}

fn report(recording: &Path, folder: &Path, options: &[&str]) -> Outcome {
    let recording = recording.display().to_string();
    let mut command = vec![sintonia(), "report".into(), recording];
    command.extend(options.iter().map(ToString::to_string));
    let outcome = Process::new(command).run_in(folder);
    outcome.expect_status(0);
    outcome
}

fn json_report(recording: &Path, folder: &Path) -> Value {
    serde_json::from_str(&report(recording, folder, &["--json"]).stdout).expect("JSON")
}

fn counters(recording: &Path, folder: &Path) -> Value {
    json_report(recording, folder)["counters"].clone()
}

/// The page faults that the program has printed: for each rank those of `grow` and those of `reuse`.
fn printed_faults(outcome: &Outcome) -> [(f64, f64); 2] {
    let printed: Vec<f64> = outcome.stdout.split_whitespace().map(|number| number.parse().expect("a number")).collect();
    [(printed[0], printed[1]), (printed[2], printed[3])]
}

/// The first segment behind each call path is not counted: that it is long is not known yet.
fn assert_faults_are_those_printed(outcome: &Outcome, counters: &Value) {
    for (rank, (grown, reused)) in printed_faults(outcome).into_iter().enumerate() {
        assert_about(value(&counters["ranks"][rank], counters, "page-faults"), grown + reused);
    }
}

fn value(row: &Value, counters: &Value, name: &str) -> f64 {
    let index = counters["counters"].as_array().expect("counters").iter().position(|counter| counter["name"] == name);
    row["values"][index.unwrap_or_else(|| panic!("{name} was not counted"))].as_f64().expect("a value")
}

/// A little more is touched by the clock and by the call itself.
fn assert_about(counted: f64, by_program: f64) {
    assert!(counted >= by_program && counted <= 1.05 * by_program + 100.0, "{counted}, and {by_program} by the program");
}

#[test]
fn c147_page_faults_are_those_that_the_program_counts() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(mpi, folder.path());
        // Shares of time and of samples are compared: beside other work on the cores they vary.
        retry_assertions(|| {
            let options = ["--sample", "999", "--counters", "page-faults,minor-faults,major-faults"];
            let (outcome, recording) = record(mpi, folder.path(), &options);
            let counters = counters(&recording, folder.path());
            assert_faults_are_those_printed(&outcome, &counters);
            for row in counters["ranks"].as_array().expect("ranks") {
                let [all, minor, major] = ["page-faults", "minor-faults", "major-faults"].map(|name| value(row, &counters, name));
                assert_eq!(all, minor + major);
            }
            let allreduce = PAGES.lines().position(|line| line.contains("MPI_Allreduce")).expect("a line") + 1;
            let segments = counters["segments"].as_array().expect("segments");
            let growing = segments.iter().find(|segment| segment["to"]["line"] == allreduce).expect("the segment before the reduction");
            let [(first, _), (second, _)] = printed_faults(&outcome);
            assert_about(value(growing, &counters, "page-faults"), first + second);
            assert!(counters["share"].as_f64().expect("a share") > 0.7, "{}", counters["share"]);
            // Samples: nearly all faults are in the function that touches new pages.
            let functions = counters["functions"].as_array().expect("functions");
            let faults = |row: &Value| value(row, &counters, "page-faults");
            let all: f64 = functions.iter().map(faults).sum();
            let grow: f64 = functions.iter().filter(|row| row["function"] == "grow").map(faults).sum();
            assert!(grow > 0.8 * all, "{functions:?}");
            let text = report(&recording, folder.path(), &["--all"]).stdout;
            assert!(text.contains("Counters (") && text.contains("page-faults"), "{text}");
        });
    });
}

#[test]
fn c148_counters_can_be_chosen_and_switched_off() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(mpi, folder.path());
        let (_, recording) = record(mpi, folder.path(), &["--counters", "off"]);
        assert_eq!(counters(&recording, folder.path()), Value::Null);
        let names = |rank: &str| std::fs::exists(recording.join(format!("rank-{rank}.counters"))).expect("known");
        assert!(!names("00000") && !names("00001"));
        let (_, recording) = record(mpi, folder.path(), &["--sample", "off", "--counters", "minor-faults"]);
        let counted = counters(&recording, folder.path());
        assert_eq!((counted["counters"].as_array().map(Vec::len), &counted["functions"]), (Some(1), &Value::Null));
        let wrong = Process::new(record_command(&recording, &["--counters", "nonsense"], mpi.launch(2, &["./pages".into()])));
        let outcome = wrong.env(&mpi.env).run_in(folder.path());
        assert_ne!(outcome.status, 0);
        assert!(outcome.stderr.contains("'nonsense' is not an event; known are cycles, instructions"), "{}", outcome.stderr);
    });
}

#[test]
fn c149_page_faults_are_counted_where_nothing_else_is_and_a_program_may_forbid_it_later() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(mpi, folder.path());
        // By default: on a host without counters of the processor, and everywhere if the kernel gives no events.
        let (outcome, recording) = record(mpi, folder.path(), &[]);
        let default = counters(&recording, folder.path());
        if default["counters"][0]["name"] == "page-faults" {
            assert_faults_are_those_printed(&outcome, &default);
        } else {
            assert_eq!(default["counters"][0]["name"], "instructions", "{default}");
        }
        let (outcome, recording) = record_program(mpi, folder.path(), &[], &["./forbid", "./pages"]);
        let forbidden = json_report(&recording, folder.path());
        assert_faults_are_those_printed(&outcome, &forbidden["counters"]);
        let notes = forbidden["not_recorded"].to_string();
        assert!(
            notes.contains("of the counters only page faults were recorded, and not with samples: the kernel does not allow it"),
            "{notes}"
        );
        let (outcome, _) = record_program(mpi, folder.path(), &["--counters", "page-faults"], &["./pages", "filter"]);
        assert_eq!(outcome.stdout.split_whitespace().count(), 4, "{}", outcome.text());
    });
}
