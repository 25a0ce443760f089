//! The queries of the file: what the page asks first, so that it works without the command.

use std::collections::BTreeMap;
use std::sync::Arc;

use sintonia_text::quantity::format_count;

use crate::answer::PageQuery;
use crate::session::{OpenRecording, ViewSession};
use crate::stacks::hottest_functions;
use crate::subjects::SUBJECTS;

/// Further queries: what the page shows at the press of a button.
const EXTRA_QUERIES: &[(&str, &str)] = &[
    ("drawing", "overview=1"),
    ("timeline", "by=thread"),
    ("communication", "collectives=0"),
    ("communication", "by=host"),
    ("communication", "by=host&collectives=0"),
    ("communication", "by=role"),
    ("communication", "by=role&collectives=0"),
];
/// The program graph folded to each depth, as far as it has scopes. Drawings are large, so they come last.
const DEPTH_QUERIES: &[(&str, &str)] = &[
    ("drawing", "depth=1"),
    ("drawing", "depth=2"),
    ("drawing", "depth=3"),
    ("drawing", "depth=4"),
    ("drawing", "depth=5"),
    ("drawing", "depth=6"),
];
/// Query options that keep answers in a file small.
const SIZE_LIMITS: &[(&str, &str)] =
    &[("timeline", "columns=1200"), ("timeline", "rows=256"), ("communication", "most=128"), ("source", "lines=60"), ("lines", "most=200")];
/// Subjects that are asked once for all recordings.
const GLOBAL_SUBJECTS: &[&str] = &["comparison", "scaling", "machine"];
/// Subjects that are left out of files.
const EXCLUDED_SUBJECTS: &[&str] = &["about", "sums", "calls", "messages", "find", "source", "lines", "replayed"];
/// Subjects of recordings with samples.
const SAMPLE_SUBJECTS: &[&str] = &["stacks", "lines"];
/// Queries about recordings with OpenMP regions.
const REGION_QUERIES: &[(&str, &str)] = &[("regions", ""), ("timeline", "by=thread")];
/// The maximum number of ranks whose stacks are embedded one by one, and of functions whose lines are.
const MAX_STACK_RANKS: u32 = 16;
const MAX_LINE_FUNCTIONS: usize = 24;
/// Subjects that take too long for runs with many calls.
const EXPENSIVE_SUBJECTS: &[&str] = &["replay", "placement"];
const MAX_CALLS: u64 = 5_000_000;

/// A query whose answer is embedded in the file.
pub(super) struct EmbeddedQuery {
    /// Index of the recording.
    pub recording: usize,
    /// The subject.
    pub subject: &'static str,
    /// Its options: `overview=1`; empty for the plain query.
    pub options: String,
    /// Whether source files may be read for it.
    pub has_source: bool,
}

impl EmbeddedQuery {
    /// The key of the answer: `drawing?overview=1`.
    pub(super) fn name(&self) -> String {
        if self.options.is_empty() { self.subject.to_owned() } else { format!("{}?{}", self.subject, self.options) }
    }

    /// The key with the recording.
    pub(super) fn key(&self) -> (usize, String) {
        (self.recording, self.name())
    }

    /// The question, with options that keep its answer small.
    pub(super) fn to_question(&self) -> PageQuery {
        let small = SIZE_LIMITS.iter().filter(|(name, _)| *name == self.subject).map(|(_, part)| *part);
        let without_text = (self.subject == "lines" && !self.has_source).then_some("text=0");
        let parts = small.chain(without_text).chain(self.options.split('&')).filter_map(|part| part.split_once('='));
        let query: BTreeMap<String, String> = parts.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        PageQuery { recording: self.recording, subject: self.subject.to_owned(), params: query }
    }

    /// Whether nothing is folded at a smaller depth already, so that another drawing would be the same. The page keeps the depth when it
    /// shows another recording, so all have drawings to the same depth.
    pub(super) fn is_too_deep(&self, open: &ViewSession) -> bool {
        let depth = self.options.strip_prefix("depth=").and_then(|depth| depth.parse::<usize>().ok());
        let deepest = open.recordings.iter().filter_map(|opened| opened.program_depth()).max();
        depth.zip(deepest).is_some_and(|(depth, deepest)| depth > deepest)
    }

    /// The reason if answering would take too long.
    pub(super) fn too_expensive(&self, open: &ViewSession) -> Option<String> {
        let calls = open.recordings.iter().map(|opened| opened.calls()).fold(0, u64::saturating_add);
        let why = || format!("analysing {} calls takes too long for a file; `sintonia view` shows it.", format_count(calls));
        (calls > MAX_CALLS && EXPENSIVE_SUBJECTS.contains(&self.subject)).then(why)
    }
}

/// All queries, the plain ones first because they matter most.
pub(super) fn all_queries(open: &ViewSession, source: bool) -> Vec<EmbeddedQuery> {
    let is_asked = |name: &str| !EXCLUDED_SUBJECTS.contains(&name);
    let plain = SUBJECTS.iter().filter(|subject| is_asked(subject.name) && (subject.is_available)(open)).map(|subject| (subject.name, ""));
    let recordings = |subject: &str| if GLOBAL_SUBJECTS.contains(&subject) { 0..1 } else { 0..open.recordings.len() };
    let has_data = |query: (&str, &str), recording: &OpenRecording| {
        (!SAMPLE_SUBJECTS.contains(&query.0) || recording.has_samples()) && (!REGION_QUERIES.contains(&query) || recording.has_regions())
    };
    let asking = |(subject, particular): (&'static str, &'static str)| {
        let recordings = recordings(subject).filter(|recording| has_data((subject, particular), &open.recordings[*recording]));
        let asked = |recording| EmbeddedQuery { recording, subject, options: particular.to_owned(), has_source: source };
        recordings.map(asked).collect::<Vec<_>>()
    };
    let mut all: Vec<EmbeddedQuery> = plain.chain(EXTRA_QUERIES.iter().copied()).flat_map(&asking).collect();
    if source {
        all.extend(source_queries(open));
    }
    all.extend(stack_queries(open, source));
    all.extend(DEPTH_QUERIES.iter().copied().flat_map(&asking));
    all
}

/// The stacks of single ranks, if there are few, and the lines of the functions with the most samples.
fn stack_queries(open: &ViewSession, has_source: bool) -> Vec<EmbeddedQuery> {
    let mut all = Vec::new();
    for (recording, opened) in open.recordings.iter().enumerate().filter(|(_, opened)| opened.has_samples()) {
        let mut ask = |subject, options| all.push(EmbeddedQuery { recording, subject, options, has_source });
        ask("stacks", "lines=1".to_owned());
        for function in hottest_functions(&opened.recording, MAX_LINE_FUNCTIONS).unwrap_or_default() {
            ask("lines", format!("function={function}"));
        }
        let ranks = opened.recording.header.rank_count();
        for rank in (0..ranks).filter(|_| (2..=MAX_STACK_RANKS).contains(&ranks)) {
            ask("stacks", format!("ranks={rank}"));
        }
    }
    all
}

/// The source around every call site.
fn source_queries(open: &ViewSession) -> Vec<EmbeddedQuery> {
    let of = |(recording, opened): (usize, &Arc<OpenRecording>)| {
        let site = move |site: usize| EmbeddedQuery { recording, subject: "source", options: format!("site={site}"), has_source: true };
        (0..opened.recording.header.sites.len()).map(site).collect::<Vec<_>>()
    };
    open.recordings.iter().enumerate().flat_map(of).collect()
}
