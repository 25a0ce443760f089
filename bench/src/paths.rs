//! Where things are: what is measured, and where the figures go.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::Error;

/// The folder for everything a measurement makes.
pub(crate) fn folder() -> Result<PathBuf, Error> {
    let folder = target().join("bench");
    std::fs::create_dir_all(&folder).map_err(Error::at(&folder))?;
    Ok(folder)
}

/// The sintonia to measure: `SINTONIA_BIN`, or the one built with this program.
pub(crate) fn sintonia() -> Result<PathBuf, Error> {
    let path = std::env::var_os("SINTONIA_BIN").map_or_else(|| target().join("release/sintonia"), PathBuf::from);
    path.canonicalize().map_err(|_| Error::NoSintonia { path })
}

/// Writes figures for programs (`NAME.json`) and for people (`NAME.md`), and prints the latter.
pub(crate) fn publish(name: &str, figures: &impl Serialize, text: &str) -> Result<(), Error> {
    let folder = folder()?;
    let mut json = serde_json::to_string_pretty(figures).expect("figures are plain data");
    json.push('\n');
    for (extension, content) in [("json", json.as_str()), ("md", text)] {
        let path = folder.join(name).with_extension(extension);
        std::fs::write(&path, content).map_err(Error::at(&path))?;
    }
    println!("{text}");
    eprintln!("also in {}.json and .md", folder.join(name).display());
    Ok(())
}

/// Bytes in the files of a folder.
pub(crate) fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(about) if about.is_dir() => bytes_in(&entry.path()),
            Ok(about) => about.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Cargo's target folder: where this program itself was built.
fn target() -> PathBuf {
    let exe = std::env::current_exe().unwrap_or_default();
    let marked = exe.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    marked.map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), Path::to_path_buf)
}
