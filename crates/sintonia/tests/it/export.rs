//! Tests of `sintonia export`: accepted formats, messages, and constant memory.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use sintonia_recording::testing::{RecordingBuilder, irecv, isend, sample, wait};

/// Runs `sintonia export run.sin` in a directory.
fn export(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sintonia"));
    command.current_dir(folder).args(["export", "run.sin"]).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// A directory with the sample as `run.sin`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    sample::recording().move_to(&folder.path().join("run.sin"));
    folder
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn it_says_what_it_wrote_and_what_is_missing() {
    let folder = folder();
    let output = export(folder.path(), &["-o", "run.goal"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.starts_with("wrote run.goal: "), "{said}");
    assert!(said.ends_with("note: incomplete: rank 3 (cut short), rank 4 (no data)\n"), "{said}");
    let goal = fs::read_to_string(folder.path().join("run.goal")).unwrap();
    assert!(goal.starts_with("num_ranks 5\n") && goal.contains("\nrank 4 {\n"), "a rank that left nothing has its place: {goal}");
}

#[test]
fn every_ending_chooses_its_format() {
    let folder = folder();
    for (file, format) in [
        ("a.otf2", "otf2"),
        ("a.prv", "paraver"),
        ("b.prv.gz", "paraver"),
        ("a.pftrace", "perfetto"),
        ("a.json", "chrome"),
        ("a.parquet", "parquet"),
        ("a.csv", "csv"),
        ("a.goal", "goal"),
        ("a.dim", "dimemas"),
        ("a.ti", "smpi"),
        ("a.graph", "metis"),
    ] {
        let output = export(folder.path(), &["-o", file, "--json"]);
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{file}: {}", text(&output.stderr)));
        assert_eq!(said["format"], format);
        let path = folder.path().join(file);
        assert!(path.is_file() && said["bytes"].as_u64() >= Some(fs::metadata(&path).unwrap().len()), "{file}: {said}");
    }
    assert!(fs::read_dir(folder.path()).unwrap().all(|entry| !text(entry.unwrap().file_name().as_encoded_bytes()).starts_with('.')));
}

#[test]
fn what_is_there_already_stays_unless_forced() {
    let folder = folder();
    fs::write(folder.path().join("run.csv"), "mine").unwrap();
    let refused = export(folder.path(), &["-o", "run.csv"]);
    assert_eq!(
        (refused.status.code(), text(&refused.stderr).as_str()),
        (Some(1), "sintonia: run.csv already exists: replace it with --force\n")
    );
    assert_eq!(fs::read(folder.path().join("run.csv")).unwrap(), b"mine");
    assert!(export(folder.path(), &["-o", "run.csv", "--force"]).status.success());
    assert_ne!(fs::read(folder.path().join("run.csv")).unwrap(), b"mine");
    let onto_itself = export(folder.path(), &["--to", "csv", "-o", "run.sin", "--force"]);
    assert_eq!(text(&onto_itself.stderr), "sintonia: run.sin is a directory: give a file name\n");
}

#[test]
fn a_name_that_says_no_format_is_wrong_usage() {
    let output = export(folder().path(), &["-o", "run.txt"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("run.txt: unknown format: use --to, or one of the extensions .otf2, .prv"));
}

#[test]
fn sums_cannot_be_exported_but_their_graph_can() {
    let folder = tempfile::tempdir().unwrap();
    sample::profile().move_to(&folder.path().join("run.sin"));
    for file in ["run.otf2", "run.prv", "run.pftrace", "run.json", "run.parquet", "run.csv", "run.goal"] {
        let output = export(folder.path(), &["-o", file]);
        assert_eq!(output.status.code(), Some(1), "{file}");
        let said = text(&output.stderr);
        assert!(said.contains("the recording has only a profile (record --profile); there are no calls to export"), "{file}: {said}");
        assert!(!folder.path().join(file).exists());
    }
    assert!(export(folder.path(), &["-o", "run.graph"]).status.success());
}

#[test]
fn a_pipe_gets_the_export_and_nothing_else() {
    let output = export(folder().path(), &["--to", "csv", "-o", "/dev/stdout"]);
    assert!(text(&output.stdout).starts_with("rank,thread,enter_ns,"));
    assert!(!text(&output.stdout).contains("wrote"), "what is said goes elsewhere");
    assert!(text(&output.stderr).starts_with("wrote /dev/stdout"));
}

#[test]
fn memory_does_not_grow_with_the_run() {
    let folder = tempfile::tempdir().unwrap();
    // Even one rank of the short recording fills more than a block, and both fill more than a row group of the table.
    let (short, long) = (folder.path().join("short.sin"), folder.path().join("long.sin"));
    write_pair(&short, 70_000);
    write_pair(&long, 175_000);
    for format in ["csv", "chrome", "perfetto", "goal", "parquet"] {
        let [short, long] = [&short, &long].map(|recording| peak(recording, format));
        assert!(long < short + short / 10 + 1024, "{format}: {short} kB for the short run, {long} kB for the long one");
    }
}

/// Writes a recording of two ranks that exchange a message with a distinct tag in every step.
fn write_pair(folder: &Path, calls: i32) {
    let rank = |peer: i32| {
        (0..calls).map(move |call| {
            let (tag, enter) = (call / 3, 100 * call as u64);
            let descriptor = match call % 3 {
                0 => irecv(peer).tag(tag),
                1 => isend(peer).tag(tag),
                _ => {
                    let mut both = wait("MPI_Waitall", &[(1, Some(peer)), (0, None)]);
                    both.requests[0].tag = tag;
                    both
                }
            };
            descriptor.at(enter, enter + 50)
        })
    };
    RecordingBuilder::in_folder(folder).ranks([rank(1), rank(0)]).write();
}

/// Peak memory of an export in kB when almost everything is written: it cannot get far ahead of the reader of the pipe.
fn peak(recording: &Path, format: &str) -> u64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sintonia"));
    command.arg("export").arg(recording).args(["--to", format, "-o", "/dev/stdout"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut out = child.stdout.take().unwrap();
    let (mut buffer, mut most) = (vec![0; 1 << 20], 0);
    while out.read(&mut buffer).unwrap() > 0 {
        let status = fs::read_to_string(&status).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let held = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        most = held.unwrap_or(0).max(most);
    }
    assert!(child.wait().unwrap().success());
    assert!(most > 0, "the memory of a running process can be seen");
    most
}
