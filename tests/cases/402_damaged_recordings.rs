//! Recordings that are not, of another time, or damaged: an answer or an error that says what to do, never a crash.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sintonia_tests::{Mpi, Outcome, Process, Program, Recording, fresh_dir, sintonia};

#[test]
fn a_folder_that_is_no_recording() {
    let folder = fresh_dir();
    std::fs::create_dir(folder.path().join("plain")).expect("a folder");
    std::fs::write(folder.path().join("plain/notes.txt"), "nothing").expect("a file");
    refused(&report(&folder.path().join("plain")), "plain");
}

#[test]
fn a_file_that_is_no_recording() {
    let folder = fresh_dir();
    let file = folder.path().join("picture.png");
    std::fs::write(&file, [0x89, b'P', b'N', b'G', 0, 255, 1]).expect("a file");
    refused(&report(&file), "picture.png");
}

#[test]
fn nothing_at_all() {
    let folder = fresh_dir();
    refused(&report(&folder.path().join("missing.sin")), "missing.sin");
}

#[test]
fn a_recording_of_a_newer_format() {
    let recording = small();
    let path = recording.path.join("recording.json");
    let text = std::fs::read_to_string(&path).expect("recording.json");
    let mut description: Value = serde_json::from_str(&text).expect("recording.json is JSON");
    let format = description["format"].as_u64().expect("format is a number");
    description["format"] = (format + 1).into();
    std::fs::write(&path, description.to_string()).expect("recording.json can be written");
    refused(&report(&recording.path), "newer");
}

#[test]
fn a_missing_file_is_named_or_its_rank_is() {
    let recording = small();
    let mut named = false;
    for file in files(&recording.path) {
        let copy = Copy::of(&recording.path);
        std::fs::remove_file(copy.path.join(&file)).expect("a file can be removed");
        let outcome = report(&copy.path);
        readable_or_refused(&outcome, &file);
        let parsed: Option<Value> = serde_json::from_str(&outcome.stdout).ok();
        named |= parsed.is_some_and(|report| report["incomplete_ranks"] == serde_json::json!([1]));
    }
    assert!(named, "without the file of rank 1, rank 1 is incomplete and the others are not");
}

#[test]
fn a_file_cut_short_at_any_byte() {
    let recording = small();
    for file in files(&recording.path) {
        let whole = std::fs::read(recording.path.join(&file)).expect("a file of the recording");
        let copy = Copy::of(&recording.path);
        for length in positions(whole.len()) {
            std::fs::write(copy.path.join(&file), &whole[..length]).expect("a shorter file");
            readable_or_refused(&report(&copy.path), &file);
        }
    }
}

#[test]
fn a_file_with_any_byte_changed() {
    let recording = small();
    for file in files(&recording.path) {
        let whole = std::fs::read(recording.path.join(&file)).expect("a file of the recording");
        let copy = Copy::of(&recording.path);
        for position in positions(whole.len()) {
            let Some(byte) = whole.get(position) else { continue };
            let mut changed = whole.clone();
            changed[position] = byte ^ 0x55;
            std::fs::write(copy.path.join(&file), changed).expect("a changed file");
            readable_or_refused(&report(&copy.path), &file);
        }
    }
}

#[test]
fn a_file_of_nothing_but_noise() {
    let recording = small();
    for file in files(&recording.path) {
        let copy = Copy::of(&recording.path);
        let mut seed = 0x1234_5678_9abc_def1_u64;
        let noise: Vec<u8> = (0..5000)
            .map(|_| {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                seed as u8
            })
            .collect();
        std::fs::write(copy.path.join(&file), noise).expect("a file of noise");
        readable_or_refused(&report(&copy.path), &file);
    }
}

#[test]
fn calls_and_graph_survive_damage_too() {
    let recording = small();
    for file in files(&recording.path) {
        let whole = std::fs::read(recording.path.join(&file)).expect("a file of the recording");
        let copy = Copy::of(&recording.path);
        for part in [0, 1, 2, 3] {
            std::fs::write(copy.path.join(&file), &whole[..whole.len() * part / 4]).expect("a shorter file");
            readable_or_refused(&verb("calls", &copy.path, &["--rank", "1", "--json"]), &file);
            readable_or_refused(&verb("graph", &copy.path, &["--communication", "-o", "damaged.graph"]), &file);
        }
    }
}

#[test]
fn a_rank_that_was_not_there() {
    let recording = small();
    let outcome = verb("calls", &recording.path, &["--rank", "99", "--json"]);
    outcome.expect_no_crash().expect_status(1);
    assert!(outcome.stderr.contains("99"), "{}", outcome.text());
}

fn small() -> Recording {
    let recording = Recording::record(&Mpi::available()[0], &Program::find("c/002_wildcards"), &[]);
    recording.run.expect_status(0);
    recording
}

fn report(path: &Path) -> Outcome {
    verb("report", path, &["--json"])
}

fn verb(verb: &str, path: &Path, options: &[&str]) -> Outcome {
    let mut command = vec![sintonia(), verb.to_string(), path.display().to_string()];
    command.extend(options.iter().map(ToString::to_string));
    Process::new(command).limit(20).run_in(path.parent().expect("a folder"))
}

fn refused(outcome: &Outcome, word: &str) {
    outcome.expect_no_crash().expect_status(1);
    assert!(outcome.stderr.contains(word), "the message has no {word:?}: {}", outcome.text());
}

fn readable_or_refused(outcome: &Outcome, file: &Path) {
    outcome.expect_no_crash();
    assert!([0, 1].contains(&outcome.status), "{}: status {}\n{}", file.display(), outcome.status, outcome.text());
    assert!(outcome.status == 0 || !outcome.stderr.is_empty(), "{}: refused without a word", file.display());
}

/// The start and the end byte by byte, and some positions between.
fn positions(length: usize) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..length.min(40)).chain(length.saturating_sub(20)..length).collect();
    positions.extend((0..40).map(|step| length * step / 40));
    positions.sort_unstable();
    positions.dedup();
    positions
}

/// The files of a recording, relative to it.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the recording").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(root).expect("inside").to_path_buf());
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "an empty recording");
    found
}

/// A copy of a recording, to be damaged.
struct Copy {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Copy {
    fn of(original: &Path) -> Copy {
        let folder = fresh_dir();
        let path = folder.path().join("copy.sin");
        for file in files(original) {
            let to = path.join(&file);
            std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder of the copy");
            std::fs::copy(original.join(&file), to).expect("a file of the copy");
        }
        Copy { path, _folder: folder }
    }
}
