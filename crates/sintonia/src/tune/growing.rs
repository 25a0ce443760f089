//! The log of a tuning as it grows beside the recording, so that others can look on (`sintonia view`). It is written again as a whole when the run
//! is over: here nothing may get in the way of the tuning, so what cannot be written is left out.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use sintonia_tune::decision::{self, Entry};

use crate::output;

/// The log as far as it is known.
#[derive(Default)]
pub struct Growing {
    folder: Arc<OnceLock<PathBuf>>,
    /// What came before the folder was known.
    waiting: Vec<u8>,
    file: Option<File>,
}

impl Growing {
    /// Where to say what the folder of the recording is, once that is known; without it nothing is written.
    pub fn folder(&self) -> Arc<OnceLock<PathBuf>> {
        Arc::clone(&self.folder)
    }

    /// Another entry.
    pub fn add(&mut self, entry: &Entry) {
        // A line is written in one piece, so that readers see all of it or nothing.
        if output::json_line(&mut self.waiting, entry).is_err() {
            return;
        }
        if self.file.is_none() {
            let open = |folder: &PathBuf| OpenOptions::new().create(true).append(true).open(folder.join(decision::FILE)).ok();
            self.file = self.folder.get().and_then(open);
        }
        if let Some(file) = &mut self.file {
            let before = file.metadata().map(|metadata| metadata.len());
            if file.write_all(&self.waiting).is_ok() {
                self.waiting.clear();
            } else if let Ok(length) = before {
                // The next entry must not stand behind a half of this one; both are tried again then.
                let _ = file.set_len(length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_written_is_tried_again_with_the_next_entry() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join(decision::FILE);
        std::os::unix::fs::symlink("/dev/full", &log).unwrap();
        let problem = Entry::Problem { time_s: 1.0, what: "late".into() };
        let mut growing = Growing::default();
        growing.folder().set(folder.path().to_owned()).unwrap();
        growing.add(&problem);
        std::fs::remove_file(&log).unwrap();
        growing.file = None;
        growing.add(&problem);
        assert_eq!(decision::read(&log).unwrap().map_or(0, |log| log.len()), 2);
    }

    #[test]
    fn entries_are_there_as_soon_as_the_folder_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let log = || decision::read(&folder.path().join(decision::FILE)).unwrap().map_or(0, |log| log.len());
        let problem = Entry::Problem { time_s: 1.0, what: "late".into() };
        let mut growing = Growing::default();
        growing.add(&problem);
        assert_eq!(log(), 0);
        growing.folder().set(folder.path().to_owned()).unwrap();
        growing.add(&problem);
        assert_eq!(log(), 2);
        growing.add(&problem);
        assert_eq!(log(), 3);
    }
}
