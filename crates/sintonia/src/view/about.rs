//! `about`: what is open, so that the page knows what it can ask.

use std::collections::BTreeMap;

use serde::Serialize;
use sintonia_insight::Place;
use sintonia_recording::header::{Header, Rank};
use sintonia_view::answer::Answer;

use super::open::{Open, Opened};
use super::subject::{self, Subject};

pub const SUBJECT: Subject =
    Subject { name: "about", is_there: |_| true, answer: |open, _| Ok(answer(open, &subject::names(open), &LeftOut::new())) };

/// What a file does not hold, and why: by recording and question (`drawing?overview=1`).
pub type LeftOut = BTreeMap<(usize, String), String>;

/// What is open, where these subjects can be asked about and those questions have no answer.
pub fn answer(open: &Open, subjects: &[&str], left_out: &LeftOut) -> Answer {
    let of = |number: usize| left_out.iter().filter(move |((recording, _), _)| *recording == number);
    let whys = |number: usize| of(number).map(|((_, question), why)| (question.clone(), why.clone())).collect();
    let recordings = open.recordings.iter().enumerate().map(|(number, opened)| Recorded::of(opened, whys(number))).collect();
    Answer::json(&About { version: env!("CARGO_PKG_VERSION"), recordings, subjects })
}

#[derive(Serialize)]
struct About<'a> {
    version: &'static str,
    recordings: Vec<Recorded>,
    subjects: &'a [&'a str],
}

/// A recording, in words that `web/src/answers/about.ts` explains.
#[derive(Serialize)]
struct Recorded {
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
    incomplete: Vec<Incomplete>,
    exit_status: Option<i32>,
    sites: Vec<Place>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    left_out: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct Incomplete {
    rank: u32,
    why: String,
}

impl Recorded {
    fn of(opened: &Opened, left_out: BTreeMap<String, String>) -> Recorded {
        let header = &opened.recording.header;
        let incomplete = opened.recording.incomplete_ranks().into_iter();
        Recorded {
            name: opened.name(),
            command: header.command.clone(),
            ranks: header.rank_count(),
            calls: opened.calls(),
            hosts: header.hosts.clone(),
            host_of: (0..header.rank_count()).map(|rank| host(header, rank)).collect(),
            mpi: header.mpi.library.clone(),
            begin_ns: header.ranks.iter().map(|rank| rank.begin_ns).min().unwrap_or(0),
            end_ns: header.ranks.iter().map(|rank| rank.end_ns).max().unwrap_or(0),
            profile: header.profile,
            incomplete: incomplete.map(|(rank, why)| Incomplete { rank, why: why.to_string() }).collect(),
            exit_status: header.exit_status,
            sites: header.sites.iter().map(Place::of).collect(),
            left_out,
        }
    }
}

/// The host of a rank by number, or -1.
fn host(header: &Header, rank: u32) -> i64 {
    let host = header.rank(rank).map(|rank: &Rank| rank.host).filter(|host| (*host as usize) < header.hosts.len());
    host.map_or(-1, i64::from)
}
