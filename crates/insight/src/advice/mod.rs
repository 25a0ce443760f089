//! Advice: what to change so that the program runs faster, ranked by what it would save.
//!
//! Each rule has one file: what it looks for, which change it proposes, and the words for the people who are told. What a change would
//! save is found by replaying the run with it ([`replay`]). The proposals are weighed in the order of [`RULES`], each on top
//! of those before: where two explain the same wait, the first of them keeps it, and nothing is counted twice.

mod all_to_all_growth;
mod blocking_exchange;
pub mod clues;
mod collective_as_barrier;
pub(crate) mod evidence;
mod io_by_one_rank;
mod late_sender_compute;
mod load_imbalance;
mod message_order;
mod moving_imbalance;
pub mod replay;
mod serialised_master;
mod slow_rank;
mod small_messages;
mod unbalanced_placement;
mod words;

use std::cmp::Reverse;

use serde::Serialize;
use sintonia_recording::Recording;
use sintonia_replay::Error;

use crate::findings::Findings;
use crate::segment::Segment;
use crate::{Place, Summary};
use evidence::Evidence;
use replay::{Change, Replay};

/// What to change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The rule, for programs.
    pub kind: &'static str,
    /// What is wrong, in one sentence.
    pub what: String,
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// The seconds, ranks and shares it rests on.
    pub evidence: String,
    /// What to try.
    pub try_this: String,
    /// Seconds by which the run would get shorter, at best.
    pub saves_s: f64,
    /// How that was estimated.
    pub basis: String,
}

/// A kind of advice.
pub struct Rule {
    /// Its name for programs.
    pub kind: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// What it means, in a few sentences.
    pub help: &'static str,
    /// How the run was changed to see what following it would save.
    pub basis: &'static str,
    /// Where it applies.
    find: fn(&Evidence) -> Vec<Suspect>,
    /// What people are told.
    tell: fn(&Evidence, &Suspect) -> Words,
}

/// All kinds of advice. Those that know more about a wait come before those that would explain it as well: a rank that writes a file computes
/// more than the others as far as MPI can see, and whoever receives from it waits for a late sender.
pub static RULES: &[Rule] = &[
    io_by_one_rank::RULE,
    unbalanced_placement::RULE,
    slow_rank::RULE,
    serialised_master::RULE,
    message_order::RULE,
    small_messages::RULE,
    blocking_exchange::RULE,
    collective_as_barrier::RULE,
    load_imbalance::RULE,
    all_to_all_growth::RULE,
    moving_imbalance::RULE,
    late_sender_compute::RULE,
];

/// What is worth a sentence: one part in so many of the run.
const WORTH: i64 = 100;

/// Waits that are less than one part in so many of the run may as well come from the machine: rules that cannot tell leave them alone.
const NOISE: i64 = 30;

/// How many proposals are weighed; each takes a replay of the whole run.
const WEIGHED: usize = 8;

/// Something that may make the run longer than it has to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// The rule, by place in [`RULES`].
    rule: usize,
    /// The segment it is about, or the call site twice where it is about a call. People are shown the end of it.
    segment: Segment,
    /// The call site at which it was noticed.
    seen_at: u32,
    /// The ranks it is about.
    ranks: Vec<u32>,
    /// What would be better.
    change: Change,
    /// Nanoseconds that it cannot save more than.
    at_most_ns: i64,
    /// Nanoseconds that the run would be shorter.
    saves_ns: i64,
}

impl Suspect {
    /// A suspect in computation.
    fn in_segment(segment: Segment, ranks: Vec<u32>, change: Change, at_most_ns: i64) -> Suspect {
        Suspect { rule: 0, segment, seen_at: segment.to, ranks, change, at_most_ns, saves_ns: 0 }
    }

    /// A suspect at a call.
    fn at_call(site: u32, ranks: Vec<u32>, change: Change, at_most_ns: i64) -> Suspect {
        Suspect::in_segment(Segment { from: site, to: site }, ranks, change, at_most_ns)
    }

    /// The call site that people are shown.
    fn site(&self) -> u32 {
        self.segment.to
    }

    /// The call sites at which calls would be made in another way.
    fn sites(&self) -> &[u32] {
        match &self.change {
            Change::Calls(sites, _) => sites,
            _ => &[],
        }
    }

    /// The same, noticed elsewhere.
    fn seen_at(self, site: u32) -> Suspect {
        Suspect { seen_at: site, ..self }
    }
}

/// The words of a piece of advice.
struct Words {
    what: String,
    evidence: String,
    try_this: String,
}

/// Finds what makes a run longer than it has to be, and weighs it.
pub fn weigh(recording: &Recording, findings: &Findings, replay: &Replay) -> Result<Vec<Suspect>, Error> {
    let evidence = Evidence::new(recording, findings);
    let run_ns = findings.clues.run_ns;
    let mut suspects: Vec<Suspect> = Vec::new();
    for (rule, find) in RULES.iter().map(|rule| rule.find).enumerate() {
        let found = find(&evidence).into_iter().filter(|suspect| suspect.at_most_ns > run_ns / WORTH);
        suspects.extend(found.map(|suspect| Suspect { rule, ..suspect }));
    }
    suspects.sort_by_key(|suspect| Reverse(suspect.at_most_ns));
    suspects.truncate(WEIGHED);
    suspects.sort_by_key(|suspect| (suspect.rule, Reverse(suspect.at_most_ns)));
    let mut worthwhile = in_turn(suspects, replay, run_ns / WORTH)?;
    worthwhile.sort_by_key(|suspect| (Reverse(suspect.saves_ns), suspect.rule));
    Ok(worthwhile)
}

/// Replays the run with one change after another, each on top of those that were worth it, which are returned.
fn in_turn(suspects: Vec<Suspect>, replay: &Replay, worth_ns: i64) -> Result<Vec<Suspect>, Error> {
    if suspects.is_empty() {
        return Ok(suspects);
    }
    let (mut changes, mut length_ns): (Vec<Change>, i64) = (Vec::new(), replay.changed_ns(&[])?);
    let mut worthwhile: Vec<Suspect> = Vec::new();
    for mut suspect in suspects {
        // Of one place the first is the one that knows most: another is worth a sentence where it saves even more than that.
        let told = worthwhile.iter().filter(|other| other.site() == suspect.site());
        let worth_ns = told.map(|other| other.saves_ns).fold(worth_ns, i64::max);
        changes.push(suspect.change.clone());
        let changed_ns = replay.changed_ns(&changes)?;
        suspect.saves_ns = (length_ns - changed_ns).min(suspect.at_most_ns);
        if suspect.saves_ns > worth_ns {
            length_ns = changed_ns;
            worthwhile.push(suspect);
        } else {
            changes.pop();
        }
    }
    Ok(worthwhile)
}

impl Advice {
    /// The advice for a run, most worthwhile first.
    pub fn all(recording: &Recording, summary: &Summary, findings: &Findings) -> Vec<Advice> {
        let evidence = Evidence::new(recording, findings);
        let advice = findings.suspects.iter().map(|suspect| Advice::new(&evidence, suspect));
        advice.filter(|advice| advice.saves_s < summary.elapsed_s).collect()
    }

    fn new(evidence: &Evidence, suspect: &Suspect) -> Advice {
        let rule = &RULES[suspect.rule];
        let Words { what, evidence: rests_on, try_this } = (rule.tell)(evidence, suspect);
        Advice {
            kind: rule.kind,
            what: words::sentence(&what),
            place: evidence.place(suspect.site()),
            evidence: words::sentence(&rests_on),
            try_this,
            saves_s: suspect.saves_ns as f64 / 1e9,
            basis: rule.basis.into(),
        }
    }
}
