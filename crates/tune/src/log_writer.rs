//! Appends to the tuning log next to the recording while the program runs, so that `sintonia view` can follow. The log is rewritten as a whole
//! at the end, so write errors here are ignored: nothing may disturb the tuning.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crate::decision::{self, TuningLogEntry};

/// Appends entries to the log.
#[derive(Default)]
pub struct TuningLogWriter {
    folder: Arc<OnceLock<PathBuf>>,
    /// Entries from before the folder was known.
    pending: Vec<u8>,
    file: Option<File>,
}

impl TuningLogWriter {
    /// Where to store the folder of the recording once it is known; nothing is written without it.
    pub fn folder_cell(&self) -> Arc<OnceLock<PathBuf>> {
        Arc::clone(&self.folder)
    }

    /// Appends an entry.
    pub fn append(&mut self, entry: &TuningLogEntry) {
        // A line is written in one piece, so that readers see all of it or nothing.
        if serde_json::to_writer(&mut self.pending, entry).is_err() {
            return;
        }
        self.pending.push(b'\n');
        if self.file.is_none() {
            let open = |folder: &PathBuf| OpenOptions::new().create(true).append(true).open(folder.join(decision::LOG_FILE)).ok();
            self.file = self.folder.get().and_then(open);
        }
        if let Some(file) = &mut self.file {
            let before = file.metadata().map(|metadata| metadata.len());
            if file.write_all(&self.pending).is_ok() {
                self.pending.clear();
            } else if let Ok(length) = before {
                // Remove a partial write; both entries are tried again next time.
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
        let log = folder.path().join(decision::LOG_FILE);
        std::os::unix::fs::symlink("/dev/full", &log).unwrap();
        let problem = TuningLogEntry::Problem { time_s: 1.0, what: "late".into() };
        let mut growing = TuningLogWriter::default();
        growing.folder_cell().set(folder.path().to_owned()).unwrap();
        growing.append(&problem);
        std::fs::remove_file(&log).unwrap();
        growing.file = None;
        growing.append(&problem);
        assert_eq!(decision::read_log(&log).unwrap().map_or(0, |log| log.len()), 2);
    }

    #[test]
    fn entries_are_there_as_soon_as_the_folder_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let log = || decision::read_log(&folder.path().join(decision::LOG_FILE)).unwrap().map_or(0, |log| log.len());
        let problem = TuningLogEntry::Problem { time_s: 1.0, what: "late".into() };
        let mut growing = TuningLogWriter::default();
        growing.append(&problem);
        assert_eq!(log(), 0);
        growing.folder_cell().set(folder.path().to_owned()).unwrap();
        growing.append(&problem);
        assert_eq!(log(), 2);
        growing.append(&problem);
        assert_eq!(log(), 3);
    }
}
