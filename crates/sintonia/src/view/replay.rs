//! `replay`: the run with something changed, as `sintonia replay --json` shows it; `?what-if=latency=x2` as on the command line, `?machine=given`
//! on the machine file that was given instead of the network as it was recorded.

use std::sync::Arc;

use sintonia_machine::Machine;
use sintonia_replay::case::{Case, Findings};
use sintonia_replay::what_if::WhatIf;
use sintonia_view::answer::{Answer, Question, Refusal};

use super::open::{Open, Opened, not_there};
use super::slow::{Progress, Task};
use super::subject::Subject;
use super::watched::Watched;
use crate::replay::{Shown, json};
use crate::text;

pub const SUBJECT: Subject =
    Subject { name: "replay", is_there: |open| open.recordings.iter().any(|opened| opened.has_calls().is_ok()), answer };

/// What is to be replayed.
pub struct Wish {
    opened: Arc<Opened>,
    machine: Option<Machine>,
    /// What should be different, as it was told.
    told: String,
    what_ifs: Vec<WhatIf>,
}

impl Wish {
    /// What a question wishes for.
    pub fn of(open: &Open, question: &Question) -> Result<Wish, Refusal> {
        let opened = open.asked(question)?;
        opened.has_calls()?;
        let wrong = |parameter: &str, reason: String| Refusal::Query { parameter: parameter.into(), reason };
        let machine = match question.get("machine") {
            None | Some("recorded") => None,
            Some("given") => Some(open.machine.clone().ok_or_else(|| wrong("machine", "no machine file was given".into()))?),
            Some(other) => return Err(wrong("machine", format!("recorded or given, not `{other}`"))),
        };
        let told = question.get("what-if").unwrap_or_default().to_owned();
        let what_ifs = WhatIf::parse(&told).map_err(|error| wrong("what-if", error.to_string()))?;
        Ok(Wish { opened: Arc::clone(opened), machine, told, what_ifs })
    }

    /// What tells it from other wishes.
    pub fn key(&self, recording: usize) -> String {
        format!("replay {recording} {} {}", self.machine.is_some(), self.told)
    }

    /// The recording.
    pub fn opened(&self) -> &Arc<Opened> {
        &self.opened
    }

    /// The recording, to be replayed for as long as somebody waits for it.
    pub fn watched<'a>(&'a self, progress: &'a Progress) -> Watched<'a> {
        Watched { recording: &self.opened.recording, progress }
    }

    /// The case to replay.
    pub fn case<'a>(&self, watched: &'a Watched<'a>) -> Case<'a> {
        Case { schedule: watched, ends: None, machine: self.machine.clone(), what_ifs: self.what_ifs.clone() }
    }

    /// How many calls are replayed, in all: of most cases there is more than one replay.
    pub fn calls(&self) -> usize {
        let replays = match (&self.machine, self.what_ifs.is_empty()) {
            (Some(_), is_plain) => 3 + usize::from(!is_plain),
            (None, is_plain) => 1 + usize::from(!is_plain),
        };
        usize::try_from(self.opened.calls()).unwrap_or(usize::MAX).saturating_mul(replays)
    }

    fn shown(&self, findings: Findings) -> serde_json::Value {
        json::value(&Shown {
            name: self.opened.name(),
            was_run: true,
            ranks: self.opened.recording.header.rank_count(),
            machine: self.machine.as_ref(),
            changes: std::slice::from_ref(&self.told),
            findings,
            sensitivity: None,
            written: None,
            notes: Vec::new(),
        })
    }
}

fn answer(open: &Arc<Open>, question: &Question) -> Result<Answer, Refusal> {
    let wish = Wish::of(open, question)?;
    let key = wish.key(question.recording);
    let (steps, turn) = (wish.calls(), Some(Arc::clone(&open.replays)));
    let doing = format!("replaying {} calls", text::count(steps as u64)).into();
    let work = move |progress: &Progress| {
        let findings = wish.case(&wish.watched(progress)).run().map_err(not_there)?;
        Ok(Answer::json(&wish.shown(findings)))
    };
    open.kept.answer(&key, Task { doing, steps, turn, work })
}
