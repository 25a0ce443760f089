//! `--html`: the page of `sintonia view` as one file, with the answers to what it asks first.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sintonia_insight::Summary;
use sintonia_program::company::Company;
use sintonia_view::answer::{Answer, Answers, Question, Refusal};
use sintonia_view::file::File;

use super::Arguments;
use crate::fit::may_write;
use crate::progress::Progress;
use crate::view::open::{Open, Opened, understood};
use crate::view::subject::{Asked, SUBJECTS};
use crate::view::{about, page};
use crate::{Error, output, text};

/// How long to wait before a question is asked again.
const AGAIN: Duration = Duration::from_millis(20);
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

/// Writes the file, together with others or alone.
pub fn write(path: &Path, arguments: &Arguments, company: &dyn Company) -> Result<(), Error> {
    let page = page()?;
    may_write(path)?;
    let open = Arc::new(Open::recordings(&arguments.recordings)?);
    for opened in &open.recordings {
        let progress = Progress::new("reading ranks", Summary::steps(&opened.recording));
        opened.set_summary(understood(&opened.recording, company, &|| progress.step())?);
    }
    if company.here() > 0 {
        return Ok(());
    }
    open.recordings.iter().for_each(analyse);
    let answers = answers(&open, arguments.source)?;
    let mut file = File::new(page).ok_or_else(|| Error::Other("the page that was built in has no place for answers".into()))?;
    let mut subjects: Vec<&str> = answers.iter().map(|(asking, _)| asking.subject).chain(["about"]).collect();
    subjects.sort_unstable();
    subjects.dedup();
    file.add(0, "about", about::answer(&open, &subjects));
    let mut left_out = Vec::new();
    for (asking, answer) in answers {
        if !file.add(asking.recording, &asking.name(), answer) {
            left_out.push(asking.name());
        }
    }
    output::to_file(path, |out| file.write(out))?;
    say(path, &left_out)
}

/// Has the timeline look for waits and messages before it is drawn; a recording without one has nothing to look at.
fn analyse(opened: &Arc<Opened>) {
    let analysed = || {
        opened.with_timeline(|timeline| {
            timeline.analyse();
            Ok(Answer::Json(String::new()))
        })
    };
    while let Ok(Answer::Working { .. }) = analysed() {
        thread::sleep(AGAIN);
    }
}

/// What is asked for the file.
struct Asking {
    recording: usize,
    subject: &'static str,
    /// What in particular: `overview=1`; nothing for the plain question.
    particular: String,
}

impl Asking {
    fn name(&self) -> String {
        if self.particular.is_empty() { self.subject.to_owned() } else { format!("{}?{}", self.subject, self.particular) }
    }

    /// The question, asked so that its answer is small.
    fn question(&self) -> Question {
        let small = SMALL.iter().filter(|(name, _)| *name == self.subject).map(|(_, part)| *part);
        let parts = small.chain(self.particular.split('&')).filter_map(|part| part.split_once('='));
        let query: BTreeMap<String, String> = parts.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Question { recording: self.recording, subject: self.subject.to_owned(), query }
    }
}

/// The answers to all questions that have one, the plain ones first: they are worth more.
fn answers(open: &Arc<Open>, source: bool) -> Result<Vec<(Asking, Answer)>, Error> {
    let mut askings = askings(open);
    if source {
        askings.extend(sources(open));
    }
    let progress = Progress::new("making the page", askings.len());
    let asked = Asked(Arc::clone(open));
    let mut answers = Vec::new();
    for asking in askings {
        match ask(&asked, &asking.question()) {
            Ok(answer) => answers.push((asking, answer)),
            // Without a report there is nothing to see; others may have nothing to tell.
            Err(refusal) if asking.subject == "report" => return Err(Error::Other(refusal.to_string())),
            Err(_) => {}
        }
        progress.step();
    }
    Ok(answers)
}

fn askings(open: &Open) -> Vec<Asking> {
    let calls: u64 = open.recordings.iter().flat_map(|opened| &opened.recording.header.ranks).map(|rank| rank.calls).sum();
    let is_asked = |name: &str| !NOT_IN_FILES.contains(&name) && (calls <= MOST_CALLS || !OF_SHORT_RUNS.contains(&name));
    let plain = SUBJECTS.iter().filter(|subject| is_asked(subject.name) && (subject.is_there)(open)).map(|subject| (subject.name, ""));
    let recordings = |subject: &str| if OF_ALL.contains(&subject) { 0..1 } else { 0..open.recordings.len() };
    let asking = |(subject, particular): (&'static str, &str)| {
        recordings(subject).map(move |recording| Asking { recording, subject, particular: particular.to_owned() }).collect::<Vec<_>>()
    };
    plain.chain(ALSO_ASKED.iter().copied()).flat_map(asking).collect()
}

/// The source around every call site.
fn sources(open: &Open) -> Vec<Asking> {
    let of = |(recording, opened): (usize, &Arc<Opened>)| {
        let site = move |site: usize| Asking { recording, subject: "source", particular: format!("site={site}") };
        (0..opened.recording.header.sites.len()).map(site).collect::<Vec<_>>()
    };
    open.recordings.iter().enumerate().flat_map(of).collect()
}

/// Asks until there is an answer.
fn ask(asked: &Asked, question: &Question) -> Result<Answer, Refusal> {
    loop {
        match asked.answer(question)? {
            Answer::Working { .. } => thread::sleep(AGAIN),
            answer => return Ok(answer),
        }
    }
}

fn say(path: &Path, left_out: &[String]) -> Result<(), Error> {
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    output::to_stdout(|out| {
        writeln!(out, "wrote {}: {}", path.display(), text::bytes(bytes))?;
        left_out.iter().try_for_each(|name| writeln!(out, "note: there was no room for `{name}`: `sintonia view` shows it"))
    })
}
