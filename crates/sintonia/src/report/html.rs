//! `--html`: the page of `sintonia view` as one file, with the answers to what it asks first.

mod question;

use std::collections::BTreeSet;
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
use crate::view::about::{self, LeftOut};
use crate::view::open::{Open, Opened, understood};
use crate::view::page;
use crate::view::subject::{self, Asked};
use crate::{Error, output, text};
use question::Asking;

/// How long to wait before a question is asked again.
const AGAIN: Duration = Duration::from_millis(20);
/// Why an answer is not in the file where it would have become too long.
const NO_ROOM: &str = "There was no room for this in the file: `sintonia view` shows it.";

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
    let mut file = File::new(page).ok_or_else(|| Error::Other("the page that was built in has no place for answers".into()))?;
    let left_out = fill(&mut file, &open, answers(&open, arguments.source)?)?;
    output::to_file(path, |out| file.write(out))?;
    say(path, &open, &left_out)
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

/// What came of a question: an answer, or why there is none.
type Told = (Asking, Result<Answer, String>);

/// Asks everything that the file is to tell.
fn answers(open: &Arc<Open>, source: bool) -> Result<Vec<Told>, Error> {
    let askings = question::all(open, source);
    let progress = Progress::new("making the page", askings.len());
    let asked = Asked(Arc::clone(open));
    let mut told = Vec::new();
    for asking in askings {
        let answer = match asking.takes_too_long(open) {
            Some(why) => Err(why),
            None => ask(&asked, &asking.question()).map_err(|refusal| refusal.to_string()),
        };
        match answer {
            // Without a report there is nothing to see; others may have nothing to tell.
            Err(why) if asking.subject == "report" => return Err(Error::Other(why)),
            answer => told.push((asking, answer)),
        }
        progress.step();
    }
    Ok(told)
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

/// Puts into the file what was answered and fits, and then what is in it; what is not is given back.
fn fill(file: &mut File, open: &Open, told: Vec<Told>) -> Result<LeftOut, Error> {
    // What is in the file is known last, and must fit all the same: it is longest where everything is left out.
    let why = |answer: &Result<Answer, String>| answer.as_ref().err().map_or_else(|| NO_ROOM.to_owned(), String::clone);
    let everything = told.iter().map(|(asking, answer)| (asking.key(), why(answer))).collect();
    file.keep_room(about::answer(open, &subject::names(open), &everything));
    let (mut subjects, mut left_out) = (BTreeSet::from(["about"]), LeftOut::new());
    for (asking, answer) in told {
        let fits = |answer| file.add(asking.recording, &asking.name(), answer);
        match answer.map(fits) {
            Ok(true) => drop(subjects.insert(asking.subject)),
            Ok(false) => drop(left_out.insert(asking.key(), NO_ROOM.to_owned())),
            Err(why) => drop(left_out.insert(asking.key(), why)),
        }
    }
    let names: Vec<&str> = subjects.iter().copied().collect();
    if !subjects.contains("report") || !file.add_last(0, "about", about::answer(open, &names, &left_out)) {
        return Err(Error::Other("there is too much to tell for one file: `sintonia view` shows it, or take fewer recordings".into()));
    }
    Ok(left_out)
}

fn say(path: &Path, open: &Open, left_out: &LeftOut) -> Result<(), Error> {
    let names: Vec<String> = open.recordings.iter().map(|opened| opened.name()).collect();
    notes(&names, left_out).iter().for_each(|note| eprintln!("sintonia: {note}"));
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    output::to_stdout(|out| writeln!(out, "wrote {}: {}", path.display(), text::bytes(bytes)))
}

/// What is not in the file, in sentences: one for each reason, and one for all sources.
fn notes(recordings: &[String], left_out: &LeftOut) -> Vec<String> {
    let (sources, others): (Vec<_>, Vec<_>) = left_out.iter().partition(|((_, question), _)| question.starts_with("source"));
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for ((recording, question), why) in others {
        let name = if recordings.len() > 1 { format!("{question} of {}", recordings[*recording]) } else { question.clone() };
        match reasons.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let mut notes: Vec<String> = reasons.iter().map(|(why, names)| format!("not in the file: {}: {why}", names.join(", "))).collect();
    if let [(_, why), ..] = &sources[..] {
        notes.push(format!("not in the file: the source of {}: {why}", text::plural(sources.len() as u64, "call site")));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(recording: usize, subject: &'static str) -> Asking {
        Asking { recording, subject, particular: String::new() }
    }

    fn report() -> Told {
        (plain(0, "report"), Ok(Answer::Json("{}".into())))
    }

    /// An answer that cannot be packed.
    fn noise(length: usize) -> Result<Answer, String> {
        let next = |state: &u64| Some(state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
        let bytes = std::iter::successors(Some(1), next).map(|state| (state >> 40) as u8).take(length).collect();
        Ok(Answer::Binary { header: "{}".into(), bytes })
    }

    #[test]
    fn what_does_not_fit_or_was_refused_is_left_out_with_the_reason() {
        let told = vec![
            report(),
            (plain(0, "timeline"), noise(4_000_000)),
            (plain(1, "timeline"), noise(1000)),
            (plain(0, "placement"), Err("one rank".into())),
        ];
        let mut file = File::new("<!--ANSWERS-->").unwrap();
        let left_out = fill(&mut file, &Open::default(), told).unwrap();
        let expected = [((0, "timeline".to_owned()), NO_ROOM.to_owned()), ((0, "placement".to_owned()), "one rank".to_owned())];
        assert_eq!(left_out, LeftOut::from(expected));
    }

    #[test]
    fn without_a_report_there_is_no_file() {
        let mut file = File::new("<!--ANSWERS-->").unwrap();
        assert!(fill(&mut file, &Open::default(), vec![(plain(0, "timeline"), noise(1000))]).is_err());
        assert!(fill(&mut file, &Open::default(), vec![(plain(0, "report"), noise(4_000_000))]).is_err());
    }

    #[test]
    fn reasons_are_told_once() {
        let left_out = [
            (0, "timeline", "no calls"),
            (1, "timeline", "no calls"),
            (0, "placement", "one rank"),
            (0, "source?site=1", "a.c is not here"),
            (0, "source?site=2", "b.c is not here"),
        ];
        let left_out = left_out.map(|(recording, question, why)| ((recording, question.to_owned()), why.to_owned())).into();
        let expected = [
            "not in the file: placement of a.sin: one rank",
            "not in the file: timeline of a.sin, timeline of b.sin: no calls",
            "not in the file: the source of 2 call sites: a.c is not here",
        ];
        assert_eq!(notes(&["a.sin".to_owned(), "b.sin".to_owned()], &left_out), expected);
    }
}
