//! `tuning`: what was changed while the program ran, also while it still runs; `?after=N` leaves out the first N entries.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use sintonia_recording::definitions::LIVE_FOLDER;
use sintonia_recording::header;
use sintonia_tune::decision::{self, Entry};
use sintonia_view::answer::{Answer, Question, Refusal};

use super::open::{Open, not_there};
use super::subject::Subject;

pub const SUBJECT: Subject = Subject {
    name: "tuning",
    is_there: |open| open.recordings.iter().any(|opened| log(&opened.path).is_file() || is_live(&opened.path)),
    answer,
};

/// A run that is not sealed and has written nothing for so long is over.
const SILENCE: Duration = Duration::from_secs(60);
/// What was decided last is written down when the run is sealed already, within this time.
const LAST_WORDS: Duration = Duration::from_secs(3);

#[derive(Serialize)]
struct Tuning<'a> {
    entries: &'a [Entry],
    live: bool,
    /// When the tuning began, in nanoseconds of the timeline, where both tell the time of day.
    began_ns: Option<i64>,
}

fn log(recording: &Path) -> std::path::PathBuf {
    recording.join(decision::FILE)
}

fn answer(open: &Arc<Open>, question: &Question) -> Result<Answer, Refusal> {
    let opened = open.asked(question)?;
    let path = &opened.path;
    let after = question.number("after")?.unwrap_or(0);
    // Asked first: whatever is written until the run is over is then read, or there is another question.
    let live = is_live(path);
    let found = decision::read(&log(path)).map_err(not_there)?;
    if found.is_none() && !live {
        return Err(Refusal::NotThere("this run was not tuned: `sintonia tune -- COMMAND` tunes one".into()));
    }
    let entries = found.unwrap_or_default();
    let began_ns = began(&entries).zip(opened.recording.header.zero_s).map(|(began, zero)| ((began - zero) * 1e9) as i64);
    Ok(Answer::json(&Tuning { entries: entries.get(after..).unwrap_or_default(), live, began_ns }))
}

/// When the tuning began, in seconds since 1970.
fn began(entries: &[Entry]) -> Option<f64> {
    entries.iter().find_map(|entry| match entry {
        Entry::Began { since_1970_s, .. } => Some(*since_1970_s),
        _ => None,
    })
}

/// Whether the run of a recording still goes on, as far as its folder tells.
fn is_live(recording: &Path) -> bool {
    let live = recording.join(LIVE_FOLDER);
    let is_sealed = !live.is_dir() || recording.join(header::FILE).exists();
    let log = log(recording);
    if is_sealed { is_fresh(&log, LAST_WORDS) } else { has_its_command(&live) || is_fresh(&log, SILENCE) || is_fresh(&live, SILENCE) }
}

/// Whether the command that records it runs here: its number stands at the beginning of the token. A number may be that of another program
/// by now, or be meant for another host.
fn has_its_command(live: &Path) -> bool {
    let token = std::fs::read_to_string(live.join("token")).unwrap_or_default();
    let process = token.split('-').next().and_then(|number| number.parse::<u32>().ok());
    let name = process.and_then(|process| std::fs::read_to_string(format!("/proc/{process}/comm")).ok());
    name.is_some_and(|name| name.starts_with("sintonia"))
}

/// Whether something was written lately.
fn is_fresh(path: &Path, lately: Duration) -> bool {
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
        assert!(!is_live(folder.path()), "there is nothing");
        fs::create_dir(folder.path().join(LIVE_FOLDER)).unwrap();
        fs::write(folder.path().join(LIVE_FOLDER).join("token"), format!("{}-1", std::process::id())).unwrap();
        assert!(is_live(folder.path()));
        fs::write(folder.path().join(header::FILE), "{}").unwrap();
        assert!(!is_live(folder.path()));
        fs::write(log(folder.path()), "").unwrap();
        assert!(is_live(folder.path()), "its last words may still come");
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
        assert!(!has_its_command(folder.path()));
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
