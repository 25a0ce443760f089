//! What a standalone file holds: the answers to the first queries of the page, as far as they fit.

mod embedded_query;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::answer::{PageQuery, QueryAnswer, QueryError, QueryHandler};
use crate::session::{OpenRecording, ViewSession};
use crate::standalone::StandalonePage;
use crate::subjects::about;
pub use crate::subjects::about::OmittedAnswers;
use crate::subjects::{QuestionHandler, available_subjects};
use embedded_query::EmbeddedQuery;

/// The interval between polls for an answer.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The reason given where an answer would make the file too large.
const FILE_FULL: &str = "This is too large for the file; `sintonia view` shows it.";

/// Why a file cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentsError {
    /// There is no report, without which there is nothing to see.
    #[error("{0}")]
    NoReport(String),
    /// The report does not fit.
    #[error("the report is too large for one file: use `sintonia view`, or fewer recordings")]
    TooLarge,
}

/// The queries that a file answers; with the source around call sites, if wanted.
pub struct PageContents(Vec<EmbeddedQuery>);

impl PageContents {
    /// Everything that can be asked about what is open.
    pub fn new(open: &ViewSession, source: bool) -> PageContents {
        PageContents(embedded_query::all_queries(open, source))
    }

    /// The number of `progress` calls.
    pub fn progress_steps(&self) -> usize {
        self.0.len()
    }

    /// Answers the queries and fills the file.
    pub fn fill(self, page: &mut StandalonePage, open: &Arc<ViewSession>, progress: &dyn Fn()) -> Result<FilledPage, ContentsError> {
        fill_file(page, open, collect_answers(open, self.0, progress)?)
    }
}

/// What a file holds and what it does not.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FilledPage {
    /// The queries without an answer.
    pub left_out: OmittedAnswers,
    /// The source files of which it has lines.
    pub sources: BTreeSet<String>,
}

/// Runs the timeline's analysis of waits and messages; recordings without a timeline have nothing to analyse.
pub fn wait_for_analysis(opened: &Arc<OpenRecording>) {
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
fn collect_answers(open: &Arc<ViewSession>, queries: Vec<EmbeddedQuery>, progress: &dyn Fn()) -> Result<Vec<QueryResult>, ContentsError> {
    let handler = QuestionHandler(Arc::clone(open));
    let mut results = Vec::new();
    for query in queries {
        if query.is_too_deep(open) {
            progress();
            continue;
        }
        let answer = match query.too_expensive(open) {
            Some(why) => Err(why),
            None => wait_for_answer(&handler, &query.to_question()).map_err(|refusal| refusal.to_string()),
        };
        match answer {
            // Without a report there is nothing to see; other subjects are optional.
            Err(why) if query.subject == "report" => return Err(ContentsError::NoReport(why)),
            answer => results.push((query, answer)),
        }
        progress();
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

/// Adds answers to the file as far as they fit, and then the table of contents.
fn fill_file(file: &mut StandalonePage, open: &ViewSession, results: Vec<QueryResult>) -> Result<FilledPage, ContentsError> {
    // The table of contents is known last but must fit: it is longest if everything is omitted.
    let why = |answer: &Result<QueryAnswer, String>| answer.as_ref().err().map_or_else(|| FILE_FULL.to_owned(), String::clone);
    let everything = results.iter().map(|(query, answer)| (query.key(), why(answer))).collect();
    file.reserve(about::answer(open, &available_subjects(open), &everything));
    let (mut subjects, mut left_out, mut sources) = (BTreeSet::from(["about"]), OmittedAnswers::new(), BTreeSet::new());
    for (query, answer) in results {
        let source = answer.as_ref().ok().and_then(source_file);
        let fits = |answer| file.add_answer(query.recording, &query.name(), answer);
        match answer.map(fits) {
            Ok(true) => {
                subjects.insert(query.subject);
                sources.extend(source);
            }
            Ok(false) => drop(left_out.insert(query.key(), FILE_FULL.to_owned())),
            Err(why) => drop(left_out.insert(query.key(), why)),
        }
    }
    let names: Vec<&str> = subjects.iter().copied().collect();
    if !subjects.contains("report") || !file.add_reserved(0, "about", about::answer(open, &names, &left_out)) {
        return Err(ContentsError::TooLarge);
    }
    Ok(FilledPage { left_out, sources })
}

/// The source file of which an answer has lines.
fn source_file(answer: &QueryAnswer) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct WithSource {
        file: String,
        lines: Option<serde::de::IgnoredAny>,
        text: Option<SourceLines>,
    }
    #[derive(serde::Deserialize)]
    struct SourceLines {
        #[serde(rename = "lines")]
        _lines: serde::de::IgnoredAny,
    }
    let QueryAnswer::Json(text) = answer else { return None };
    let known: WithSource = serde_json::from_str(text).ok()?;
    (known.lines.is_some() || known.text.is_some()).then_some(known.file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use sintonia_recording::samples::{Sample, StackFrame, ThreadSamples};
    use sintonia_recording::testing::{RecordingBuilder, finalize, init};

    fn plain(recording: usize, subject: &'static str) -> EmbeddedQuery {
        EmbeddedQuery { recording, subject, options: String::new(), has_source: false }
    }

    fn report() -> QueryResult {
        (plain(0, "report"), Ok(QueryAnswer::Json("{}".into())))
    }

    /// An answer that cannot be packed.
    fn noise(length: usize) -> Result<QueryAnswer, String> {
        let next = |state: &u64| Some(state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
        let bytes = std::iter::successors(Some(1), next).map(|state| (state >> 40) as u8).take(length).collect();
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
        assert_eq!(left_out, FilledPage { left_out: expected.into(), ..FilledPage::default() });
    }

    /// A recording with a sample, open; its program has no scopes.
    fn sampled(folder: &Path) -> Arc<ViewSession> {
        let samples = vec![Sample { time: 15, frame: 0, in_kernel: false, in_mpi: false, is_truncated: false }];
        let threads = [ThreadSamples { thread: 0, lost: 0, samples }];
        let main = StackFrame { function: Some("main".into()), ..StackFrame::default() };
        let calls = [init().at(0, 10), finalize().at(20, 30)];
        RecordingBuilder::in_folder(folder).rank(&calls).samples(10, &threads).stack_frames(vec![main]).write();
        Arc::new(ViewSession::open(&[folder.to_owned()]).unwrap())
    }

    #[test]
    fn there_is_no_drawing_beyond_the_deepest_scope() {
        let folder = tempfile::tempdir().unwrap();
        let open = sampled(folder.path());
        let queries = PageContents::new(&open, false).0.into_iter().filter(|query| query.subject == "drawing").collect();
        let answers = collect_answers(&open, queries, &|| ()).unwrap();
        let names: Vec<String> = answers.iter().map(|(query, _)| query.name()).collect();
        assert_eq!(names, ["drawing", "drawing?overview=1", "drawing?depth=1"]);
    }

    #[test]
    fn functions_come_before_drawings_of_other_depths() {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<String> = PageContents::new(&sampled(folder.path()), false).0.iter().map(EmbeddedQuery::name).collect();
        let position = |name: &str| names.iter().position(|other| other == name).unwrap();
        assert!(position("stacks") < position("stacks?lines=1") && position("stacks?lines=1") < position("drawing?depth=1"), "{names:?}");
    }

    #[test]
    fn without_a_report_there_is_no_file() {
        let mut file = StandalonePage::new("<!--ANSWERS-->").unwrap();
        assert!(fill_file(&mut file, &ViewSession::default(), vec![(plain(0, "timeline"), noise(1000))]).is_err());
        assert!(fill_file(&mut file, &ViewSession::default(), vec![(plain(0, "report"), noise(4_000_000))]).is_err());
    }
}
