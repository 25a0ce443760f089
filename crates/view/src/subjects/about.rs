//! `about`: what is open, so that the page knows what it can query.

use std::collections::BTreeMap;

use serde::Serialize;
use sintonia_insight::SourceLocation;
use sintonia_recording::header::{RecordedRank, RecordingHeader};

use crate::answer::QueryAnswer;
use crate::session::{OpenRecording, ViewSession};

/// Answers that a file does not hold, and why: by recording and query (`drawing?overview=1`).
pub type OmittedAnswers = BTreeMap<(usize, String), String>;

/// The recordings, available subjects, and omitted answers.
pub(crate) fn answer(open: &ViewSession, subjects: &[&str], left_out: &OmittedAnswers) -> QueryAnswer {
    let of = |number: usize| left_out.iter().filter(move |((recording, _), _)| *recording == number);
    let reasons = |number: usize| of(number).map(|((_, question), why)| (question.clone(), why.clone())).collect();
    let recordings = open.recordings.iter().enumerate().map(|(number, opened)| OpenRecordingJson::new(opened, reasons(number))).collect();
    QueryAnswer::json(&AboutJson { version: env!("CARGO_PKG_VERSION"), recordings, subjects })
}

#[derive(Serialize)]
struct AboutJson<'a> {
    version: &'static str,
    recordings: Vec<OpenRecordingJson>,
    subjects: &'a [&'a str],
}

/// A recording; `web/src/answers/about.ts` describes the fields.
#[derive(Serialize)]
struct OpenRecordingJson {
    name: String,
    command: Vec<String>,
    ranks: u32,
    calls: u64,
    hosts: Vec<String>,
    host_of: Vec<i64>,
    mpi: String,
    begin_ns: i64,
    end_ns: i64,
    profile: bool,
    incomplete: Vec<IncompleteRankJson>,
    exit_status: Option<i32>,
    sites: Vec<SourceLocation>,
    openmp_threads: usize,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    left_out: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct IncompleteRankJson {
    rank: u32,
    why: String,
}

impl OpenRecordingJson {
    fn new(opened: &OpenRecording, left_out: BTreeMap<String, String>) -> OpenRecordingJson {
        let header = &opened.recording.header;
        let incomplete = opened.recording.incomplete_ranks().into_iter();
        OpenRecordingJson {
            name: opened.name(),
            command: header.command.clone(),
            ranks: header.rank_count(),
            calls: opened.calls(),
            hosts: header.hosts.clone(),
            host_of: (0..header.rank_count()).map(|rank| host_index(header, rank)).collect(),
            mpi: header.mpi.library.clone(),
            begin_ns: header.ranks.iter().map(|rank| rank.begin_ns).min().unwrap_or(0),
            end_ns: header.ranks.iter().map(|rank| rank.end_ns).max().unwrap_or(0),
            profile: header.profile,
            incomplete: incomplete.map(|(rank, why)| IncompleteRankJson { rank, why: why.to_string() }).collect(),
            exit_status: header.exit_status,
            sites: (0..header.sites.len() as u32).map(|site| SourceLocation::of(&opened.recording, site)).collect(),
            openmp_threads: opened.openmp_threads(),
            left_out,
        }
    }
}

/// The host index of a rank, or -1.
fn host_index(header: &RecordingHeader, rank: u32) -> i64 {
    let host = header.rank(rank).map(|rank: &RecordedRank| rank.host).filter(|host| (*host as usize) < header.hosts.len());
    host.map_or(-1, i64::from)
}
