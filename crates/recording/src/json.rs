//! Files of JSON that carry the version of their format.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::definitions::FORMAT;
use crate::error::{At, Error};

/// Reads a file; one of a newer format is refused before anything else in it is looked at.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let bytes = fs::read(path).at(path)?;
    let wrong = |source| Error::Json { path: path.to_owned(), source };
    let found = serde_json::from_slice::<Version>(&bytes).map_err(wrong)?.format;
    if found > FORMAT {
        return Err(Error::Newer { path: path.to_owned(), found, known: FORMAT });
    }
    serde_json::from_slice(&bytes).map_err(wrong)
}

/// Writes a file aside and renames it, so that it is there completely or not at all.
pub fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), Error> {
    let aside = path.with_extension("json.part");
    let bytes = serde_json::to_vec_pretty(value).map_err(|source| Error::Json { path: path.to_owned(), source })?;
    let mut file = File::create(&aside).at(&aside)?;
    file.write_all(&bytes).and_then(|()| file.sync_all()).at(&aside)?;
    fs::rename(&aside, path).at(path)
}
