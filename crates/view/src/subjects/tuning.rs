//! `tuning`: the tuning log, also of a run in progress; `?after=N` skips the first N entries.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use sintonia_recording::definitions::LIVE_DIR;
use sintonia_recording::header;
use sintonia_tune::decision::{self, TuningLogEntry};

use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::session::{ViewSession, to_refusal};
use crate::subject::PageSubject;

pub(super) const SUBJECT: PageSubject = PageSubject {
    name: "tuning",
    is_available: |open| open.recordings.iter().any(|opened| log_path(&opened.path).is_file() || is_running(&opened.path)),
    answer,
};

/// A run that is not sealed and has written nothing for this long is over.
const STALE_AFTER: Duration = Duration::from_secs(60);
/// The last entries are written within this time after sealing.
const FINAL_WRITE_TIME: Duration = Duration::from_secs(3);

#[derive(Serialize)]
struct TuningJson<'a> {
    entries: &'a [TuningLogEntry],
    live: bool,
    /// When the tuning began, in nanoseconds of the timeline, if both have wall-clock times.
    began_ns: Option<i64>,
}

fn log_path(recording: &Path) -> std::path::PathBuf {
    recording.join(decision::LOG_FILE)
}

fn answer(open: &Arc<ViewSession>, question: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let opened = open.recording_of(question)?;
    let path = &opened.path;
    let after = question.parse_param("after")?.unwrap_or(0);
    // Checked before reading: what is written afterwards is read, or the page asks again.
    let live = is_running(path);
    let found = decision::read_log(&log_path(path)).map_err(to_refusal)?;
    if found.is_none() && !live {
        return Err(QueryError::Unavailable("this run was not tuned; see `sintonia tune`".into()));
    }
    let entries = found.unwrap_or_default();
    let began_ns = decision::start_time(&entries).zip(opened.recording.header.zero_s).map(|(began, zero)| ((began - zero) * 1e9) as i64);
    Ok(QueryAnswer::json(&TuningJson { entries: entries.get(after..).unwrap_or_default(), live, began_ns }))
}

/// Whether the run of a recording is still in progress, as far as its folder shows.
fn is_running(recording: &Path) -> bool {
    let live = recording.join(LIVE_DIR);
    let is_sealed = !live.is_dir() || recording.join(header::FILE_NAME).exists();
    let log = log_path(recording);
    if is_sealed {
        is_recent(&log, FINAL_WRITE_TIME)
    } else {
        is_command_running(&live) || is_recent(&log, STALE_AFTER) || is_recent(&live, STALE_AFTER)
    }
}

/// Whether the recording command is running here: its process ID begins the token. The ID may have been reused, or be of another host.
fn is_command_running(live: &Path) -> bool {
    let token = std::fs::read_to_string(live.join("token")).unwrap_or_default();
    let process = token.split('-').next().and_then(|number| number.parse::<u32>().ok());
    let name = process.and_then(|process| std::fs::read_to_string(format!("/proc/{process}/comm")).ok());
    name.is_some_and(|name| name.starts_with("sintonia"))
}

/// Whether something was written recently.
fn is_recent(path: &Path, lately: Duration) -> bool {
    let changed = std::fs::metadata(path).and_then(|metadata| metadata.modified());
    changed.is_ok_and(|changed| changed.elapsed().map_or(true, |since| since < lately))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_run_goes_on_until_it_is_sealed() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_running(folder.path()), "there is nothing");
        fs::create_dir(folder.path().join(LIVE_DIR)).unwrap();
        fs::write(folder.path().join(LIVE_DIR).join("token"), format!("{}-1", std::process::id())).unwrap();
        assert!(is_running(folder.path()));
        fs::write(folder.path().join(header::FILE_NAME), "{}").unwrap();
        assert!(!is_running(folder.path()));
        fs::write(log_path(folder.path()), "").unwrap();
        assert!(is_running(folder.path()), "its last words may still come");
    }

    #[test]
    fn a_number_that_another_program_has_by_now_tells_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        fs::write(folder.path().join("token"), format!("{}-1", other.id())).unwrap();
        // Until it has become `sleep`, it is a copy of this process.
        let is_another = || fs::read_to_string(format!("/proc/{}/comm", other.id())).is_ok_and(|name| name.trim() == "sleep");
        while !is_another() {
            std::thread::yield_now();
        }
        assert!(!is_command_running(folder.path()));
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
