//! JSON files with a format version.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::definitions::FORMAT_VERSION;
use crate::error::{Error, WithPath};

/// Reads a file. The version is checked first, so a newer format is reported as such.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let bytes = fs::read(path).with_path(path)?;
    let json_error = |source| Error::Json { path: path.to_owned(), source };
    let found = serde_json::from_slice::<Version>(&bytes).map_err(json_error)?.format;
    if found > FORMAT_VERSION {
        return Err(Error::NewerFormat { path: path.to_owned(), found, known: FORMAT_VERSION });
    }
    serde_json::from_slice(&bytes).map_err(json_error)
}

/// Writes to a temporary file and renames it, so that the file is complete or absent.
pub(crate) fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), Error> {
    let temporary = path.with_extension("json.part");
    let bytes = serde_json::to_vec_pretty(value).map_err(|source| Error::Json { path: path.to_owned(), source })?;
    let mut file = File::create(&temporary).with_path(&temporary)?;
    file.write_all(&bytes).and_then(|()| file.sync_all()).with_path(&temporary)?;
    fs::rename(&temporary, path).with_path(path)
}
