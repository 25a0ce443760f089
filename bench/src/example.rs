//! Runs the examples of other crates, which make recordings and take them apart.

use std::path::Path;
use std::process::Command;

use crate::error::Error;

/// Has the recording crate's own example write a recording.
pub(crate) fn generate(folder: &Path, calls: u64, ranks: u32, kind: &str) -> Result<(), Error> {
    let _ = std::fs::remove_dir_all(folder);
    eprintln!("generating {}", folder.display());
    run("sintonia-recording", "generate", folder, &[calls.to_string(), ranks.to_string(), kind.into()]).map(drop)
}

/// Runs an example on a recording, and gives what it prints.
pub(crate) fn run(package: &str, example: &str, folder: &Path, arguments: &[String]) -> Result<String, Error> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let failed = |why: String| Error::Failed { command: format!("the example `{example}` of {package}"), why };
    let ended = Command::new(cargo)
        .args(["run", "--quiet", "--release", "--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml")])
        .args(["--package", package, "--example", example, "--"])
        .arg(folder)
        .args(arguments)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    match ended.status.success() {
        true => Ok(String::from_utf8_lossy(&ended.stdout).into_owned()),
        false => Err(failed(String::from_utf8_lossy(&ended.stderr).trim().to_owned())),
    }
}
