//! Builds the probe and embeds it in the command, so that a user copies only one file to a cluster.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for part in ["probe", "recording", "link", "hook", "mpi"] {
        println!("cargo::rerun-if-changed={}", crates.join(part).display());
    }
    println!("cargo::rerun-if-changed={}", crates.join("../Cargo.lock").display());
    // A separate build: the probe must be optimised even in a debug build, and must not get features that only the command needs. It is the
    // same for every profile, so it is next to their folders.
    let own = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let target = own.ancestors().nth(4).expect("cargo's folders are TARGET/PROFILE/build/PACKAGE/out").join("probe");
    let built = Command::new(std::env::var_os("CARGO").expect("cargo sets CARGO"))
        .args(["build", "--release", "--locked", "--manifest-path"])
        .arg(crates.join("probe/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .env("CARGO_PROFILE_RELEASE_STRIP", "true")
        .env("CARGO_PROFILE_RELEASE_LTO", "fat")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .status()
        .expect("cargo can be started");
    assert!(built.success(), "the probe could not be built");
    println!("cargo::rustc-env=SINTONIA_PROBE_FILE={}", target.join("release/libsintonia_probe.so").display());
}
