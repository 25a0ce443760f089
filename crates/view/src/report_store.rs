//! The report of a recording, stored beside the index: when the recording is opened again, it is there at once.

use serde::{Deserialize, Serialize};
use sintonia_recording::Recording;

use crate::cache_file::{self, CacheContents, FileStamp, RecordingStamps};

/// A report as JSON.
#[derive(Serialize, Deserialize)]
struct StoredReport {
    /// The command that made it: another version may come to other findings.
    command: CommandIdentity,
    json: String,
}

/// Identifies a build of the command.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CommandIdentity {
    version: String,
    stamp: Option<FileStamp>,
}

impl CommandIdentity {
    fn current() -> CommandIdentity {
        let executable = std::env::current_exe().and_then(std::fs::metadata).ok();
        CommandIdentity { version: env!("CARGO_PKG_VERSION").to_owned(), stamp: executable.map(|file| FileStamp::from_metadata(&file)) }
    }
}

impl CacheContents for StoredReport {
    const FILE_NAME: &'static str = "view.report";
    const MAGIC: &'static [u8; 8] = b"SINREPRT";
    const FORMAT_VERSION: u32 = 1;

    fn is_valid(&self, _: u64) -> bool {
        true
    }
}

/// The stored report of a recording as it is now, if this command made it.
pub(crate) fn find(recording: &Recording) -> Option<String> {
    let identity = RecordingStamps::from_recording(recording).identity(recording);
    let stored = cache_file::find::<StoredReport>(recording, identity)?.contents;
    (stored.command == CommandIdentity::current()).then_some(stored.json)
}

/// Stores a report. A recording that cannot be written to, or has changed meanwhile, has none.
pub(crate) fn store(recording: &Recording, json: &str) {
    let identity = RecordingStamps::from_recording(recording).identity(recording);
    let fill = |_: &cache_file::SectionWriter| Ok(StoredReport { command: CommandIdentity::current(), json: json.to_owned() });
    drop(cache_file::create(recording, identity, fill));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_report_is_found_until_the_recording_changes() {
        let folder = tempfile::tempdir().unwrap();
        let recording = sample::recording(folder.path(), &[sample::arbitrary(1, 100)]);
        assert_eq!(find(&recording), None);
        store(&recording, "{}");
        assert_eq!(find(&recording).as_deref(), Some("{}"));
        let header = std::fs::File::options().write(true).open(folder.path().join("recording.json")).unwrap();
        header.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(find(&recording), None);
    }

    #[test]
    fn a_damaged_report_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let recording = sample::recording(folder.path(), &[sample::arbitrary(1, 100)]);
        store(&recording, "{}");
        let path = folder.path().join("view.report");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[0] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(find(&recording), None);
    }
}
