//! The invariants of ARCHITECTURE.md, held against the workspace itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sintonia_tests::workspace;

/// The crates that need `unsafe`: they are inside other people's programs, call the user's MPI, or view words as bytes.
const UNSAFE_CRATES: [&str; 5] = ["hook", "inject", "mpi", "probe", "recording"];

/// What the probe brings into other people's programs, besides Sintonia's own crates.
const PROBE_DEPENDENCIES: [&str; 10] = ["crc32fast", "getrandom", "hmac", "iced-x86", "libc", "postcard", "serde", "serde_json", "sha2", "thiserror"];

/// Crate name to floor, from the drawing in ARCHITECTURE.md: its lines begin with the number of a floor.
fn floors() -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(workspace().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let drawing = text.split("## Floors").nth(1).expect("a section Floors").split("\n## ").next().expect("its text");
    let mut floors = BTreeMap::new();
    for line in drawing.lines().filter(|line| line.starts_with("    ")) {
        let mut words = line.split_whitespace();
        let Some(floor) = words.next().and_then(|word| word.parse().ok()) else { continue };
        for name in words {
            assert_eq!(floors.insert(name.to_string(), floor), None, "{name} is drawn twice");
        }
    }
    floors
}

/// The packages under `crates/`, as cargo describes them.
fn packages() -> BTreeMap<String, Value> {
    let mut cargo = Command::new(env!("CARGO"));
    let output = cargo.args(["metadata", "--format-version", "1", "--no-deps", "--locked", "--offline"]).current_dir(workspace()).output();
    let output = output.expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let folder = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        let relative = manifest.parent()?.strip_prefix(workspace().join("crates")).ok()?;
        Some(relative.display().to_string())
    };
    packages.filter_map(|package| Some((folder(package)?, package.clone()))).collect()
}

/// Names of the dependencies of a package that go into what is built, not only into tests and build scripts.
fn dependencies(package: &Value) -> BTreeSet<String> {
    let all = package["dependencies"].as_array().expect("dependencies").iter();
    let is_built_in = |dependency: &&Value| dependency["kind"].is_null() && dependency["optional"] == false;
    all.filter(is_built_in).map(|dependency| dependency["name"].as_str().expect("a name").to_string()).collect()
}

#[test]
fn every_crate_is_on_one_floor_and_uses_only_lower_ones() {
    let (floors, packages) = (floors(), packages());
    let drawn: BTreeSet<&String> = floors.keys().collect();
    assert_eq!(drawn, packages.keys().collect(), "the crates drawn in ARCHITECTURE.md are those of the workspace");
    for (name, package) in &packages {
        for used in dependencies(package).iter().filter_map(|used| used.strip_prefix("sintonia-")) {
            assert!(floors[used] < floors[name], "{name} (floor {}) uses {used} (floor {})", floors[name], floors[used]);
        }
    }
}

#[test]
fn unsafe_code_is_forbidden_outside_five_crates() {
    for name in packages().keys() {
        let sources = ["src/lib.rs", "src/main.rs"].map(|file| workspace().join("crates").join(name).join(file));
        for source in sources.iter().filter(|source| source.is_file()) {
            let text = std::fs::read_to_string(source).expect("a source file");
            let forbids = text.contains("#![forbid(unsafe_code)]");
            assert_eq!(forbids, !UNSAFE_CRATES.contains(&name.as_str()), "{}: forbid(unsafe_code)", source.display());
        }
    }
}

#[test]
fn the_probe_has_ten_dependencies() {
    let packages = packages();
    let mut seen = BTreeSet::from(["probe".to_string()]);
    let mut next = vec!["probe".to_string()];
    let mut foreign = BTreeSet::new();
    while let Some(name) = next.pop() {
        for used in dependencies(&packages[&name]) {
            match used.strip_prefix("sintonia-") {
                Some(own) if seen.insert(own.to_string()) => next.push(own.to_string()),
                Some(_) => {}
                None => _ = foreign.insert(used),
            }
        }
    }
    assert_eq!(foreign, PROBE_DEPENDENCIES.map(String::from).into());
}
