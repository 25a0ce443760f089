//! What is asked for the file: what the page asks first, so that it has an answer without the command.

use std::collections::BTreeMap;
use std::sync::Arc;

use sintonia_view::answer::Question;

use crate::text;
use crate::view::open::{Open, Opened};
use crate::view::subject::SUBJECTS;

/// What is asked in particular as well: what the page shows at a press of a button.
const ALSO_ASKED: &[(&str, &str)] = &[
    ("drawing", "overview=1"),
    ("communication", "collectives=0"),
    ("communication", "by=host"),
    ("communication", "by=host&collectives=0"),
    ("communication", "by=role"),
    ("communication", "by=role&collectives=0"),
];
/// In a file, questions are asked in this way so that their answers are small.
const SMALL: &[(&str, &str)] =
    &[("timeline", "columns=1200"), ("timeline", "rows=256"), ("communication", "most=128"), ("source", "lines=60")];
/// What is asked once for all recordings.
const OF_ALL: &[&str] = &["comparison", "scaling", "machine"];
/// What is only answered when it is asked in particular.
const NOT_IN_FILES: &[&str] = &["about", "calls", "messages", "find", "source", "replayed"];
/// What takes too long for runs of many calls.
const OF_SHORT_RUNS: &[&str] = &["replay", "placement"];
const MOST_CALLS: u64 = 5_000_000;

/// What is asked for the file.
pub struct Asking {
    /// Which recording it is about.
    pub recording: usize,
    /// What is asked about.
    pub subject: &'static str,
    /// What in particular: `overview=1`; nothing for the plain question.
    pub particular: String,
}

impl Asking {
    /// What the answer is found by: `drawing?overview=1`.
    pub fn name(&self) -> String {
        if self.particular.is_empty() { self.subject.to_owned() } else { format!("{}?{}", self.subject, self.particular) }
    }

    /// What it is told from all others by.
    pub fn key(&self) -> (usize, String) {
        (self.recording, self.name())
    }

    /// The question, asked so that its answer is small.
    pub fn question(&self) -> Question {
        let small = SMALL.iter().filter(|(name, _)| *name == self.subject).map(|(_, part)| *part);
        let parts = small.chain(self.particular.split('&')).filter_map(|part| part.split_once('='));
        let query: BTreeMap<String, String> = parts.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Question { recording: self.recording, subject: self.subject.to_owned(), query }
    }

    /// Why it is not asked, if answering it would take too long.
    pub fn takes_too_long(&self, open: &Open) -> Option<String> {
        let calls = open.recordings.iter().map(|opened| opened.calls()).fold(0, u64::saturating_add);
        let why = || format!("{} calls take too long to be gone through for a file: `sintonia view` shows it.", text::count(calls));
        (calls > MOST_CALLS && OF_SHORT_RUNS.contains(&self.subject)).then(why)
    }
}

/// Everything that is asked, the plain questions first: they are worth more.
pub fn all(open: &Open, source: bool) -> Vec<Asking> {
    let is_asked = |name: &str| !NOT_IN_FILES.contains(&name);
    let plain = SUBJECTS.iter().filter(|subject| is_asked(subject.name) && (subject.is_there)(open)).map(|subject| (subject.name, ""));
    let recordings = |subject: &str| if OF_ALL.contains(&subject) { 0..1 } else { 0..open.recordings.len() };
    let asking = |(subject, particular): (&'static str, &str)| {
        recordings(subject).map(move |recording| Asking { recording, subject, particular: particular.to_owned() }).collect::<Vec<_>>()
    };
    let mut all: Vec<Asking> = plain.chain(ALSO_ASKED.iter().copied()).flat_map(asking).collect();
    if source {
        all.extend(sources(open));
    }
    all
}

/// The source around every call site.
fn sources(open: &Open) -> Vec<Asking> {
    let of = |(recording, opened): (usize, &Arc<Opened>)| {
        let site = move |site: usize| Asking { recording, subject: "source", particular: format!("site={site}") };
        (0..opened.recording.header.sites.len()).map(site).collect::<Vec<_>>()
    };
    open.recordings.iter().enumerate().flat_map(of).collect()
}
