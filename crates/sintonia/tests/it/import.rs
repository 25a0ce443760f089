//! Tests of `sintonia import` with an exported recording of known figures.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use sintonia_recording::testing::sample;

/// Runs the command in a directory that contains `run.sin`.
fn sintonia(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sintonia")).current_dir(folder).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Standard output of a successful run.
fn shown(folder: &Path, arguments: &[&str]) -> String {
    let output = sintonia(folder, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error of a failing run.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = sintonia(folder, arguments);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b""[..]));
    String::from_utf8(output.stderr).unwrap()
}

/// A directory with the sample as `run.sin` and as `run.otf2`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    sample::recording().move_to(&folder.path().join("run.sin"));
    shown(folder.path(), &["export", "run.sin", "-o", "run.otf2"]);
    folder
}

#[test]
fn an_import_says_what_it_made() {
    let folder = folder();
    let said = shown(folder.path(), &["import", "run.otf2", "-o", "back.sin"]);
    let expected = format!(
        "21 calls of 5 ranks in back.sin; next: sintonia report back.sin\nnote: Sintonia {} made the trace\n",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(said, expected);
    let json: serde_json::Value =
        serde_json::from_str(&shown(folder.path(), &["import", "run.otf2", "-o", "back.sin", "--force", "--json"])).unwrap();
    assert_eq!((json["recording"].as_str(), json["ranks"].as_u64(), json["calls"].as_u64()), (Some("back.sin"), Some(5), Some(21)));
    assert!(json["notes"].is_array());
}

#[test]
fn the_report_and_the_calls_are_the_same_afterwards() {
    let folder = folder();
    shown(folder.path(), &["import", "run.otf2", "-o", "back.sin"]);
    for verb in [&["report"][..], &["calls"], &["graph"]] {
        let of = |name: &str| shown(folder.path(), &[verb, &[name]].concat()).replace(name, "NAME.sin");
        assert_eq!(of("back.sin"), of("run.sin"), "{verb:?}");
    }
}

#[test]
fn what_cannot_be_read_is_said_with_the_place() {
    let folder = folder();
    let path = folder.path();
    assert!(refused(path, &["import", "none", "-o", "a.sin"]).starts_with("sintonia: none: No such file"));
    let said = refused(path, &["import", "run.sin/recording.json", "-o", "a.sin"]);
    assert!(said.contains("not a supported trace; expected NAME.otf2"), "{said}");
    std::fs::write(path.join("run.def"), b"\x03\x42").unwrap();
    let said = refused(path, &["import", "run.otf2", "-o", "a.sin"]);
    assert_eq!(said, "sintonia: run.def: byte 0: not the start of an OTF2 chunk\n");
    assert!(!path.join("a.sin").exists());
}

#[test]
fn a_recording_is_replaced_only_when_forced() {
    let folder = folder();
    let said = refused(folder.path(), &["import", "run.otf2", "-o", "run.sin"]);
    assert_eq!(said, "sintonia: run.sin already exists: choose another name with -o, or replace it with --force\n");
    shown(folder.path(), &["import", "run.otf2", "-o", "run.sin", "--force"]);
    assert!(shown(folder.path(), &["report", "run.sin"]).contains("21 MPI calls"));
}
