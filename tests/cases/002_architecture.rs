//! The invariants of ARCHITECTURE.md, held against the workspace itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sintonia_tests::{import_circles, workspace};

/// The crates that need `unsafe`: they are inside other people's programs, call the user's MPI, or view words as bytes.
const UNSAFE_CRATES: [&str; 5] = ["hook", "inject", "mpi", "probe", "recording"];

/// What the probe brings into other people's programs, besides Sintonia's own crates.
const PROBE_DEPENDENCIES: [&str; 11] =
    ["crc32fast", "framehop", "getrandom", "hmac", "iced-x86", "libc", "postcard", "serde", "serde_json", "sha2", "thiserror"];

/// Modules that may import each other in a circle: the crate, the modules, and why.
const ACCEPTED_CIRCLES: [(&str, &str, &str); 10] = [
    ("formats", "goal/builder goal/graph goal/read", "a schedule reads itself"),
    ("formats", "import otf2 paraver", "an import calls the readers, which build its recording"),
    ("formats", "otf2/write/definitions otf2/write/event_builder otf2/write/rank_writer", "definitions number what ranks wrote"),
    ("formula", "atom formula monomial sign", "one recursive data type"),
    ("formula", "build derivative fold_extremum substitute sum", "simplifying a fold builds formulas"),
    ("formula", "build/power build/product", "a power is a product, and a product collects powers"),
    (
        "replay",
        "engine/call_step engine/deferred_events engine/overrides engine/result engine/rma engine/state",
        "the state of the simulation, with the data and methods of each topic in its module",
    ),
    ("replay", "extrapolation/loop_nest extrapolation/recording_family", "a family finds its loops by walking them"),
    ("toml-file", "table value", "a table holds values, and a value may be a table"),
    ("tune", "tunlet_file tunlets", "a file is a tunlet, and configures those that are built in"),
];

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
fn no_crate_includes_source_files_of_another() {
    for (name, package) in packages() {
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        let folder = manifest.parent().expect("the folder of a package").canonicalize().expect("a folder");
        for source in sources(&folder) {
            let text = std::fs::read_to_string(&source).expect("a source file");
            for included in text.lines().filter_map(|line| line.trim().strip_prefix("#[path = \"")?.strip_suffix("\"]")) {
                let path = source.parent().expect("its folder").join(included).canonicalize();
                assert!(path.is_ok_and(|path| path.starts_with(&folder)), "{name}: {} includes {included}", source.display());
            }
        }
    }
}

/// The Rust files of a folder and its subfolders.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The command that is installed has nothing in it that only tests need.
#[test]
fn features_for_tests_are_not_in_the_command() {
    let mut cargo = Command::new(env!("CARGO"));
    let arguments = ["tree", "--edges", "normal,features", "--package", "sintonia", "--locked", "--offline"];
    let output = cargo.args(arguments).current_dir(workspace()).output().expect("cargo tree runs");
    let tree = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && tree.contains("sintonia-recording"), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!tree.contains("feature \"testing\""), "{tree}");
}

#[test]
fn the_probe_has_eleven_dependencies() {
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

#[test]
fn modules_import_each_other_in_one_direction_only() {
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    for name in packages().keys() {
        for circle in import_circles(&workspace().join("crates").join(name).join("src")) {
            let is_accepted =
                |(of, modules, _): &(&str, &str, &str)| of == name && circle.iter().all(|one| modules.split(' ').any(|known| known == one));
            match ACCEPTED_CIRCLES.iter().position(is_accepted) {
                Some(accepted) => _ = seen.insert(accepted),
                None => found.push(format!("{name}: {circle:?}")),
            }
        }
    }
    assert!(found.is_empty(), "these import each other; what they share belongs into a module below them: {found:#?}");
    let gone: Vec<_> = ACCEPTED_CIRCLES.iter().enumerate().filter(|(index, _)| !seen.contains(index)).collect();
    assert!(gone.is_empty(), "no circles any more, which need not be accepted: {gone:#?}");
}
