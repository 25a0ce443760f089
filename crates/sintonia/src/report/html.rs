//! `--html`: the page of `sintonia view` as one file, with the answers to its first queries.

mod embedded_query;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sintonia_insight::RunSummary;
use sintonia_program::process_group::ProcessGroup;
use sintonia_view::answer::{PageQuery, QueryAnswer, QueryError, QueryHandler};
use sintonia_view::standalone::StandalonePage;

use super::ReportArgs;
use crate::fit::check_writable;
use crate::progress::ProgressBar;
use crate::view::about::{self, OmittedAnswers};
use crate::view::page;
use crate::view::session::{OpenRecording, ViewSession, summarise};
use crate::view::subjects::{self, QuestionHandler};
use crate::{Error, output, text};
use embedded_query::EmbeddedQuery;

/// The interval between polls for an answer.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The reason given where an answer would make the file too large.
const FILE_FULL: &str = "This is too large for the file; `sintonia view` shows it.";

/// Writes the file, in parallel with other processes or alone.
pub(super) fn write(path: &Path, args: &ReportArgs, group: &dyn ProcessGroup) -> Result<(), Error> {
    let page = page()?;
    check_writable(path)?;
    let open = Arc::new(ViewSession::recordings(&args.recordings)?);
    for opened in &open.recordings {
        let progress = ProgressBar::new("reading ranks", RunSummary::progress_steps(&opened.recording));
        opened.set_summary(summarise(&opened.recording, group, &|| progress.step())?);
    }
    if group.own_index() > 0 {
        return Ok(());
    }
    open.recordings.iter().for_each(wait_for_analysis);
    let mut file = StandalonePage::new(page).ok_or_else(|| Error::Other("the embedded page cannot hold answers".into()))?;
    let left_out = fill_file(&mut file, &open, collect_answers(&open, args.source)?)?;
    output::write_file(path, |out| file.write_to(out))?;
    print_written(path, &open, &left_out)
}

/// Runs the timeline's analysis of waits and messages; recordings without a timeline have nothing to analyse.
fn wait_for_analysis(opened: &Arc<OpenRecording>) {
    let analysed = || {
        opened.with_timeline(|timeline| {
            timeline.run_analysis();
            Ok(QueryAnswer::Json(String::new()))
        })
    };
    while let Ok(QueryAnswer::Pending { .. }) = analysed() {
        thread::sleep(POLL_INTERVAL);
    }
}

/// A query with its answer, or why there is none.
type QueryResult = (EmbeddedQuery, Result<QueryAnswer, String>);

/// Collects the answers for the file.
fn collect_answers(open: &Arc<ViewSession>, source: bool) -> Result<Vec<QueryResult>, Error> {
    let queries = embedded_query::all_queries(open, source);
    let progress = ProgressBar::new("making the page", queries.len());
    let handler = QuestionHandler(Arc::clone(open));
    let mut results = Vec::new();
    for query in queries {
        let answer = match query.too_expensive(open) {
            Some(why) => Err(why),
            None => wait_for_answer(&handler, &query.to_question()).map_err(|refusal| refusal.to_string()),
        };
        match answer {
            // Without a report there is nothing to see; other subjects are optional.
            Err(why) if query.subject == "report" => return Err(Error::Other(why)),
            answer => results.push((query, answer)),
        }
        progress.step();
    }
    Ok(results)
}

/// Repeats a query until there is an answer.
fn wait_for_answer(handler: &QuestionHandler, question: &PageQuery) -> Result<QueryAnswer, QueryError> {
    loop {
        match handler.handle(question)? {
            QueryAnswer::Pending { .. } => thread::sleep(POLL_INTERVAL),
            answer => return Ok(answer),
        }
    }
}

/// Adds answers to the file as far as they fit, and then the table of contents; returns what was omitted.
fn fill_file(file: &mut StandalonePage, open: &ViewSession, results: Vec<QueryResult>) -> Result<OmittedAnswers, Error> {
    // The table of contents is known last but must fit: it is longest if everything is omitted.
    let why = |answer: &Result<QueryAnswer, String>| answer.as_ref().err().map_or_else(|| FILE_FULL.to_owned(), String::clone);
    let everything = results.iter().map(|(query, answer)| (query.key(), why(answer))).collect();
    file.reserve(about::answer(open, &subjects::available_subjects(open), &everything));
    let (mut subjects, mut left_out) = (BTreeSet::from(["about"]), OmittedAnswers::new());
    for (query, answer) in results {
        let fits = |answer| file.add_answer(query.recording, &query.name(), answer);
        match answer.map(fits) {
            Ok(true) => drop(subjects.insert(query.subject)),
            Ok(false) => drop(left_out.insert(query.key(), FILE_FULL.to_owned())),
            Err(why) => drop(left_out.insert(query.key(), why)),
        }
    }
    let names: Vec<&str> = subjects.iter().copied().collect();
    if !subjects.contains("report") || !file.add_reserved(0, "about", about::answer(open, &names, &left_out)) {
        return Err(Error::Other("the report is too large for one file: use `sintonia view`, or fewer recordings".into()));
    }
    Ok(left_out)
}

fn print_written(path: &Path, open: &ViewSession, left_out: &OmittedAnswers) -> Result<(), Error> {
    let names: Vec<String> = open.recordings.iter().map(|opened| opened.name()).collect();
    omission_notes(&names, left_out).iter().for_each(|note| eprintln!("sintonia: {note}"));
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    output::write_stdout(|out| writeln!(out, "wrote {}: {}", path.display(), text::format_bytes(bytes)))
}

/// What is not in the file: one sentence per reason, and one for all sources.
fn omission_notes(recordings: &[String], left_out: &OmittedAnswers) -> Vec<String> {
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
        notes.push(format!("not in the file: the source of {}: {why}", text::format_plural(sources.len() as u64, "call site")));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(recording: usize, subject: &'static str) -> EmbeddedQuery {
        EmbeddedQuery { recording, subject, options: String::new() }
    }

    fn report() -> QueryResult {
        (plain(0, "report"), Ok(QueryAnswer::Json("{}".into())))
    }

    /// An answer that cannot be packed.
    fn noise(length: usize) -> Result<QueryAnswer, String> {
        let mut bytes = vec![0; length];
        fastrand::Rng::with_seed(1).fill(&mut bytes);
        Ok(QueryAnswer::Binary { header: "{}".into(), bytes })
    }

    #[test]
    fn what_does_not_fit_or_was_refused_is_left_out_with_the_reason() {
        let results = vec![
            report(),
            (plain(0, "timeline"), noise(4_000_000)),
            (plain(1, "timeline"), noise(1000)),
            (plain(0, "placement"), Err("one rank".into())),
        ];
        let mut file = StandalonePage::new("<!--ANSWERS-->").unwrap();
        let left_out = fill_file(&mut file, &ViewSession::default(), results).unwrap();
        let expected = [((0, "timeline".to_owned()), FILE_FULL.to_owned()), ((0, "placement".to_owned()), "one rank".to_owned())];
        assert_eq!(left_out, OmittedAnswers::from(expected));
    }

    #[test]
    fn without_a_report_there_is_no_file() {
        let mut file = StandalonePage::new("<!--ANSWERS-->").unwrap();
        assert!(fill_file(&mut file, &ViewSession::default(), vec![(plain(0, "timeline"), noise(1000))]).is_err());
        assert!(fill_file(&mut file, &ViewSession::default(), vec![(plain(0, "report"), noise(4_000_000))]).is_err());
    }

    #[test]
    fn reasons_are_told_once() {
        let left_out = [
            (0, "timeline", "no calls"),
            (1, "timeline", "no calls"),
            (0, "placement", "one rank"),
            (0, "source?site=1", "a.c does not exist here"),
            (0, "source?site=2", "b.c does not exist here"),
        ];
        let left_out = left_out.map(|(recording, question, why)| ((recording, question.to_owned()), why.to_owned())).into();
        let expected = [
            "not in the file: placement of a.sin: one rank",
            "not in the file: timeline of a.sin, timeline of b.sin: no calls",
            "not in the file: the source of 2 call sites: a.c does not exist here",
        ];
        assert_eq!(omission_notes(&["a.sin".to_owned(), "b.sin".to_owned()], &left_out), expected);
    }
}
