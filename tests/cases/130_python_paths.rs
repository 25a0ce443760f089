//! Call paths of Python programs: file, function and line of every frame are those that Python itself sees at the call.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sintonia_mpi::FUNCTIONS;
use sintonia_recording::Recording;
use sintonia_tests::{Mpi, Outcome, Process, for_every_mpi, fresh_dir, record_command, sintonia};

const LEDGER: &str = include_str!("130_python_paths/ledger.py");
const KERNEL: &str = include_str!("130_python_paths/kernel.c");
const EXTENSION: &str = include_str!("130_python_paths/extension.py");
const SHARES: &str = include_str!("130_python_paths/shares.py");

/// Most frames of a path.
const MAX_FRAMES: usize = 64;

/// File, function and line.
type Frame = (String, String, u64);

/// Makes the program that keeps a ledger.
fn write_ledger_program(folder: &Path) {
    std::fs::write(folder.join("program.py"), LEDGER).expect("written");
    std::fs::write(folder.join("imported.py"), "note(), barrier()\n\n\ndef work():\n    note(), barrier()\n").expect("written");
}

/// Records a Python program with these options and arguments.
fn record(mpi: &Mpi, python: &Path, folder: &Path, options: &[&str], arguments: &[&str]) -> (Outcome, PathBuf) {
    let recording = folder.join("run.sin");
    let program: Vec<String> =
        [python.to_str().expect("a path")].iter().chain(&["program.py"]).chain(arguments).map(ToString::to_string).collect();
    let command = record_command(&recording, &[&["--force"], options].concat(), mpi.launch(2, &program));
    let env: Vec<(String, String)> = mpi.env.iter().chain(&mpi.python_env).cloned().collect();
    let outcome = Process::new(command).env(&env).run_in(folder);
    outcome.expect_status(0);
    (outcome, recording)
}

/// What the program noted at each call.
fn ledger(folder: &Path) -> Vec<Vec<Frame>> {
    let text = std::fs::read_to_string(folder.join("ledger.json")).expect("a ledger");
    let notes: Vec<Vec<Frame>> = serde_json::from_str(&text).expect("JSON");
    notes.into_iter().map(|path| path.into_iter().take(MAX_FRAMES).collect()).collect()
}

/// The paths of the barriers of rank 0, in order, innermost first.
fn recorded_paths(recording: &Path) -> Vec<Vec<Frame>> {
    let recording = Recording::open(recording).expect("a recording");
    let mut calls = recording.calls(0).expect("calls");
    let mut paths = Vec::new();
    while let Some(call) = calls.next_call() {
        if FUNCTIONS[usize::from(call.descriptor.function.0)].name == "MPI_Barrier" {
            let sites = std::iter::successors(Some(call.descriptor.site), |site| recording.site(*site).caller);
            let frames = sites.flat_map(|site| recording.site(site).frames.clone());
            let frame = |frame: sintonia_recording::header::SourceFrame| {
                (frame.file.unwrap_or_default(), frame.function.unwrap_or_default(), frame.line.unwrap_or(0).into())
            };
            paths.push(frames.map(frame).collect());
        }
    }
    paths
}

fn expect_same(recorded: &[Vec<Frame>], noted: &[Vec<Frame>], what: &str) {
    for (index, (recorded, noted)) in recorded.iter().zip(noted).enumerate() {
        assert_eq!(recorded, noted, "{what}: call {index}");
    }
    assert_eq!(recorded.len(), noted.len(), "{what}");
    let different: std::collections::BTreeSet<&Vec<Frame>> = noted.iter().collect();
    assert!(noted.len() > 700 && different.len() > 100, "{what}: {} calls, {} paths", noted.len(), different.len());
}

#[test]
fn c130_paths_are_those_that_python_sees() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        write_ledger_program(folder.path());
        let (outcome, recording) = record(mpi, &mpi.python, folder.path(), &[], &["ledger.json"]);
        expect_same(&recorded_paths(&recording), &ledger(folder.path()), &outcome.text());
    });
}

/// Interpreters with a version in their name on `PATH`, and those in `SINTONIA_TEST_PYTHONS`.
fn interpreters() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(pyenv_folders()).collect();
    let versions = (9..=14).map(|minor| format!("python3.{minor}"));
    let mut found: Vec<PathBuf> = versions.flat_map(|name| folders.iter().map(move |folder| folder.join(&name))).collect();
    found.push("/usr/bin/python3".into());
    found.extend(std::env::split_paths(&std::env::var_os("SINTONIA_TEST_PYTHONS").unwrap_or_default()));
    // Scripts that select an interpreter are not one.
    let is_binary = |path: &PathBuf| std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"));
    let mut found: Vec<PathBuf> = found.into_iter().filter(is_binary).filter_map(|path| path.canonicalize().ok()).collect();
    found.sort();
    found.dedup();
    found
}

/// Where pyenv keeps interpreters; on `PATH` are only scripts.
fn pyenv_folders() -> Vec<PathBuf> {
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let root = root.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")));
    let versions = root.and_then(|root| std::fs::read_dir(root.join("versions")).ok()).into_iter().flatten().flatten();
    versions.map(|version| version.path().join("bin")).collect()
}

#[test]
fn c131_every_interpreter_and_calls_without_bindings() {
    let interpreters = interpreters();
    assert!(!interpreters.is_empty());
    for_every_mpi(|mpi| {
        for python in &interpreters {
            let folder = fresh_dir();
            write_ledger_program(folder.path());
            let (outcome, recording) = record(mpi, python, folder.path(), &[], &["ledger.json", mpi.soname]);
            let noted = ledger(folder.path());
            expect_same(&recorded_paths(&recording), &noted, &format!("{}: {}", python.display(), outcome.text()));
            println!("{}: {} calls of {} are right", mpi.name, noted.len(), python.display());
        }
    });
}

#[test]
fn c132_native_frames_of_an_extension_are_below_those_of_python() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("kernel.c"), KERNEL).expect("written");
        let mut command = std::process::Command::new(&mpi.cc[0]);
        command.args(&mpi.cc[1..]).args(["-O1", "-g", "-fPIC", "-shared", "-o"]).arg(at("kernel.so")).arg(at("kernel.c")).args(&mpi.link);
        assert!(command.status().expect("the compiler runs").success());
        std::fs::write(at("program.py"), EXTENSION).expect("written");
        let names = |options: &[&str]| -> Vec<Vec<String>> {
            let (_, recording) = record(mpi, &mpi.python, folder.path(), options, &[]);
            let name = |(_, function, line): Frame| if line > 0 { format!("{function}:{line}") } else { function };
            recorded_paths(&recording).into_iter().map(|path| path.into_iter().map(name).collect()).collect()
        };
        let below = ["synchronise:5", "kernel:11"];
        let expected = vec![
            [&below[..], &["work:8", "left:12", "<module>:18"]].concat(),
            [&below[..], &["work:8", "right:15", "<module>:18"]].concat(),
            vec!["right:15", "<module>:18"],
        ];
        assert_eq!(names(&[]), expected);
        assert_eq!(names(&["--callpath", "3"]), expected.iter().map(|path| path[..path.len().min(3)].to_vec()).collect::<Vec<_>>());
        // Without call paths there are no Python frames either: the function of the bindings is named.
        let off = names(&["--callpath", "off"]);
        assert_eq!(off[..2], [["synchronise:5"], ["synchronise:5"]]);
        assert_eq!(off[2], ["mpi4py.MPI.Comm.Barrier"]);
    });
}

#[test]
fn c133_readers_show_lines_of_python() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        write_ledger_program(folder.path());
        let (_, recording) = record(mpi, &mpi.python, folder.path(), &[], &["ledger.json"]);
        let recording = recording.display().to_string();
        let run = |arguments: &[&str]| {
            let command: Vec<String> = [sintonia().as_str()].iter().chain(arguments).map(ToString::to_string).collect();
            Process::new(command).run_in(folder.path()).expect_status(0).stdout.clone()
        };
        let report: Value = serde_json::from_str(&run(&["report", "--json", &recording])).expect("JSON");
        let sites = report["call_sites"].as_array().expect("call sites");
        let barriers: Vec<&Value> = sites.iter().filter(|site| site["operation"] == "MPI_Barrier").collect();
        assert!(barriers.iter().all(|site| site["line"].is_u64() && site["function"].is_string()), "{barriers:#?}");
        let wrapper: u64 = barriers.iter().filter(|site| site["function"] == "wrapper").filter_map(|site| site["calls"].as_u64()).sum();
        let noted = ledger(folder.path()).iter().filter(|path| path[0].1 == "wrapper").count() as u64;
        assert_eq!(wrapper, 2 * noted);
        assert!(run(&["report", &recording]).contains("program.py:"));
        assert!(run(&["graph", "--program", &recording]).contains("program.py:"));
        run(&["export", "--to", "otf2", "-o", "trace.otf2", &recording]);
        let trace = Process::new(["otf2-print", "-G", "trace.otf2"]).run_in(folder.path());
        let definitions = &trace.expect_status(0).stdout;
        let has = |kind: &str, text: &str| definitions.lines().any(|line| line.starts_with(kind) && line.contains(text));
        assert!(has("SOURCE_CODE_LOCATION", "program.py\"") && has("REGION ", "\"several_lines\"") && has("CALLING_CONTEXT ", "\"main\""));
    });
}

/// Shares of the computation, with what was called, from the report.
fn sampled_shares(recording: &Path, folder: &Path) -> BTreeMap<String, f64> {
    let outcome = Process::new([sintonia().as_str(), "report", "--json", &recording.display().to_string()]).run_in(folder);
    let report: Value = serde_json::from_str(&outcome.expect_status(0).stdout).expect("JSON");
    let computation = &report["computation"];
    let all = computation["computation_s"].as_f64().expect("seconds");
    let rows = computation["functions"].as_array().expect("functions").iter();
    rows.map(|row| (row["function"].as_str().expect("a name").to_owned(), row["total_s"].as_f64().expect("seconds") / all)).collect()
}

#[test]
fn c134_samples_have_the_functions_of_python_and_of_the_libraries_they_call() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        std::fs::write(folder.path().join("program.py"), SHARES).expect("written");
        let (outcome, recording) = record(mpi, &mpi.python, folder.path(), &[], &["8"]);
        let found = sampled_shares(&recording, folder.path());
        for line in outcome.stdout.lines() {
            let (name, share) = line.split_once(' ').expect("a share");
            let (share, sampled): (f64, f64) = (share.parse().expect("a number"), found.get(name).copied().unwrap_or(0.0));
            // Of all that is sampled, starting Python and importing mpi4py is not measured by the program.
            assert!((sampled - share).abs() <= 0.05, "{name}: {sampled} of {share}\n{found:?}");
        }
        let count = found.get("count").copied().unwrap_or(0.0);
        assert!((count - found["alpha"]).abs() <= 0.02, "alpha calls only that: {found:?}");
        let interpreter = found.keys().find(|name| name.starts_with("_PyEval_"));
        assert_eq!(interpreter, None, "frames of the interpreter are left out: {found:?}");
    });
}
