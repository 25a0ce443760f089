//! Samples: the functions of a program take the shares of time that the program itself measures, and the program is not disturbed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use sintonia_tests::{Mpi, Outcome, Process, for_every_mpi, fresh_dir, record_command, retry_assertions, sintonia};

const TREE: &str = include_str!("114_samples/tree.c");
const SIGNALS: &str = include_str!("114_samples/signals.c");
const WORKER: &str = include_str!("114_samples/worker.c");
const FORBID: &str = include_str!("114_samples/forbid.c");

/// Each case has the cores for itself: shares of time are compared, and advice is held back where ranks have no core.
fn alone() -> MutexGuard<'static, ()> {
    static CORES: Mutex<()> = Mutex::new(());
    CORES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn compile(mpi: &Mpi, folder: &Path, source: &str, options: &[&str], name: &str) {
    let file = folder.join(format!("{name}.c"));
    std::fs::write(&file, source).expect("written");
    let mut command = Command::new(&mpi.cc[0]);
    command.args(&mpi.cc[1..]).args(["-g", "-O2", "-pthread"]).args(options).arg("-o").arg(folder.join(name)).arg(&file).args(&mpi.link);
    assert!(command.status().expect("the compiler runs").success());
}

/// Records a command on two ranks.
fn record(mpi: &Mpi, folder: &Path, options: &[&str], command: &[&str]) -> (Outcome, PathBuf) {
    let recording = folder.join("run.sin");
    let command: Vec<String> = command.iter().map(ToString::to_string).collect();
    let options = [&["--force"], options].concat();
    let outcome = Process::new(record_command(&recording, &options, mpi.launch(2, &command))).env(&mpi.env).run_in(folder);
    outcome.expect_status(0);
    (outcome, recording)
}

fn report(recording: &Path, folder: &Path) -> Value {
    let outcome = Process::new([sintonia().as_str(), "report", "--json", &recording.display().to_string()]).run_in(folder);
    serde_json::from_str(&outcome.expect_status(0).stdout).expect("JSON")
}

/// Share of the computation that each function takes itself.
fn own_shares(report: &Value) -> BTreeMap<String, f64> {
    let functions = report["computation"]["functions"].as_array().expect("functions");
    functions.iter().map(|row| (row["function"].as_str().expect("a name").to_owned(), row["share"].as_f64().expect("a share"))).collect()
}

/// The shares that the program printed.
fn printed_shares(outcome: &Outcome) -> BTreeMap<&str, f64> {
    let share = |line: &'_ str| -> Option<(usize, f64)> {
        let (name, share) = line.split_once(' ')?;
        Some((name.len(), share.parse().ok()?))
    };
    outcome.stdout.lines().filter_map(|line| share(line).map(|(length, share)| (&line[..length], share))).collect()
}

/// Whether the functions take the shares that the program printed, within 3 points.
fn assert_shares(outcome: &Outcome, report: &Value) {
    let (printed, found) = (printed_shares(outcome), own_shares(report));
    let expected = [("inlined", printed["alpha"] + printed["both"] / 2.0), ("beta", printed["beta"] + printed["both"] / 2.0)];
    for (function, share) in expected {
        let sampled = found.get(function).copied().unwrap_or(0.0);
        assert!((sampled - share).abs() <= 0.03, "{function}: {sampled} of {share}\n{found:?}");
    }
    let total = |name: &str| {
        let functions = report["computation"]["functions"].as_array().expect("functions");
        let row = functions.iter().find(|row| row["function"] == name).unwrap_or_else(|| panic!("no {name}"));
        row["total_s"].as_f64().expect("seconds") / report["computation"]["computation_s"].as_f64().expect("seconds")
    };
    assert!((total("both") - printed["both"]).abs() <= 0.03, "{} of {}", total("both"), printed["both"]);
    assert!((total("alpha") - expected[0].1).abs() <= 0.03, "{} of {}", total("alpha"), expected[0].1);
}

/// Bytes of the samples of two ranks, with their counters, if they have any.
fn bytes_of_samples(recording: &Path) -> u64 {
    let names = ["00000", "00001"].into_iter().flat_map(|rank| ["samples", "sample-counters"].map(|kind| format!("rank-{rank}.{kind}")));
    names.filter_map(|name| recording.join(name).metadata().ok()).map(|file| file.len()).sum()
}

#[test]
fn c114_functions_take_the_shares_that_the_program_measures() {
    let _guard = alone();
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(mpi, folder.path(), TREE, &[], "tree");
        // Other work on the cores changes what the program measures after it was sampled.
        retry_assertions(|| {
            let (outcome, recording) = record(mpi, folder.path(), &["--counters", "page-faults,major-faults"], &["./tree", "10"]);
            let report = report(&recording, folder.path());
            assert_shares(&outcome, &report);
            // Two ranks compute 10 s each, by their own clocks.
            let computation_s = report["computation"]["computation_s"].as_f64().expect("seconds");
            assert!((18.0..22.0).contains(&computation_s), "{computation_s}");
            let segment = &report["computation"]["segments"][0];
            assert_eq!(segment["functions"][0]["function"], "inlined", "{segment}");
            assert!(matches!(segment["functions"][0]["caller"].as_str(), Some("alpha")), "{segment}");
            let bytes = bytes_of_samples(&recording);
            let samples = computation_s * 99.0;
            assert!(bytes as f64 <= 12.0 * samples, "{bytes} bytes for some {samples} samples");
        });
    });
}

#[test]
fn c115_an_imbalance_is_named_by_its_function() {
    let _guard = alone();
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(mpi, folder.path(), TREE, &[], "tree");
        // Beside other work on the cores, advice is held back.
        retry_assertions(|| {
            let (_, recording) = record(mpi, folder.path(), &[], &["./tree", "60", "slow"]);
            let report = report(&recording, folder.path());
            let functions = report["computation"]["functions"].as_array().expect("functions");
            let row = functions.iter().find(|row| row["function"] == "inlined").expect("the function");
            assert_eq!(row["longest_rank"], 1);
            let (longest, mean) = (row["longest_s"].as_f64().expect("seconds"), row["rank_mean_s"].as_f64().expect("seconds"));
            // 24 million rounds on one rank, 15 million on the other.
            assert!((1.1..1.35).contains(&(longest / mean)), "{row}");
            let advice: Vec<&str> =
                report["advice"].as_array().expect("advice").iter().filter_map(|advice| advice["what"].as_str()).collect();
            assert!(advice.iter().any(|what| what.starts_with("Rank 1 computes") && what.contains("most of it in inlined")), "{advice:?}");
        });
    });
}

#[test]
fn c116_threads_that_never_call_mpi_are_sampled() {
    let _guard = alone();
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(mpi, folder.path(), WORKER, &[], "worker");
        let (_, recording) = record(mpi, folder.path(), &[], &["./worker"]);
        let shares = own_shares(&report(&recording, folder.path()));
        assert!(shares.get("worker_loop").is_some_and(|share| *share >= 0.9), "{shares:?}");
    });
}

#[test]
fn c117_signals_timers_threads_and_system_calls_of_the_program_are_not_disturbed() {
    let _guard = alone();
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(mpi, folder.path(), SIGNALS, &[], "signals");
        compile(mpi, folder.path(), FORBID, &[], "forbid");
        let bare = Process::new(mpi.launch(2, &["./signals".to_owned()])).env(&mpi.env).run_in(folder.path());
        let expected = &bare.expect_status(0).stdout;
        assert!(
            expected.contains("rank 0: interrupted 0, threads 300, fork 7, vfork 0, SIGPROF free 1, own signals as expected"),
            "{expected}"
        );
        for (options, command) in [
            (&["--sample", "999"][..], &["./signals"][..]),
            (&["--sample", "999"], &["./forbid", "./signals"]),
            (&["--sample", "off"], &["./signals"]),
        ] {
            let (outcome, _) = record(mpi, folder.path(), options, command);
            assert_eq!(sorted_lines(&outcome.stdout), sorted_lines(expected), "{options:?} {command:?}");
        }
    });
}

/// The ranks print their lines in any order.
fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn c118_where_the_kernel_forbids_events_a_note_says_so_and_a_timer_takes_their_place_on_request() {
    let _guard = alone();
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(mpi, folder.path(), TREE, &[], "tree");
        compile(mpi, folder.path(), FORBID, &[], "forbid");
        let (_, recording) = record(mpi, folder.path(), &[], &["./forbid", "./tree", "1"]);
        let without = report(&recording, folder.path());
        assert!(without["computation"].is_null());
        let notes = without["not_recorded"].to_string();
        assert!(notes.contains("threads were not sampled: the kernel does not allow it without signals"), "{notes}");
        retry_assertions(|| {
            let (outcome, recording) = record(mpi, folder.path(), &["--sample", "99"], &["./forbid", "./tree", "10"]);
            assert_shares(&outcome, &report(&recording, folder.path()));
        });
    });
}

#[test]
fn c119_a_stripped_program_has_less_and_off_has_nothing() {
    let _guard = alone();
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(mpi, folder.path(), TREE, &["-s"], "tree");
        let (_, recording) = record(mpi, folder.path(), &[], &["./tree", "2"]);
        let stripped = report(&recording, folder.path());
        assert!(own_shares(&stripped).get("code in tree").is_some_and(|share| *share >= 0.9), "{stripped}");
        let (_, recording) = record(mpi, folder.path(), &["--sample", "off"], &["./tree", "1"]);
        assert!(report(&recording, folder.path())["computation"].is_null());
        assert!(!recording.join("stacks.json").exists());
        for refused in ["0", "10001", "often"] {
            let command = record_command(&folder.path().join("no.sin"), &["--sample", refused], vec!["true".into()]);
            let outcome = Process::new(command).run_in(folder.path());
            assert!(outcome.status != 0 && outcome.stderr.contains("expected a number from 1 to 10000, or `off`"), "{}", outcome.text());
        }
    });
}
