//! Advice: changes that would make the program faster, ordered by estimated saving.
//!
//! Each rule has one file: detection, proposed change, and text. The saving is estimated by replaying the run with the change
//! ([`what_if`]). Candidates are evaluated in the order of [`RULES`], each on top of the accepted ones: if two explain the same wait, the
//! first one gets it, and nothing is counted twice.

mod all_to_all_growth;
mod blocking_exchange;
mod collective_as_barrier;
pub mod core_shortage;
mod excess_function;
mod files_by_one_rank;
pub mod inputs;
mod io_by_one_rank;
mod late_sender_compute;
mod load_imbalance;
mod message_order;
mod moving_imbalance;
mod phrases;
pub(crate) mod rule_context;
mod savings;
pub mod serial_file_io;
pub mod serial_part;
mod serialised_master;
pub mod site_groups;
mod slow_rank;
mod small_messages;
pub mod thread_imbalance;
mod unbalanced_placement;
pub mod what_if;

use std::cmp::Reverse;

use serde::Serialize;
use sintonia_program::history::History;
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_replay::Error;

use crate::SourceLocation;
use crate::call_durations::CallDurations;
use crate::core_time::CoreFindings;
use crate::findings::RunFindings;
use crate::openmp::OpenMpReport;
use crate::progress::ShareProgress;
use crate::segment::Segment;
use crate::wait_states::WaitInstance;
use inputs::AdviceInputs;
use rule_context::RuleContext;
use site_groups::SiteGroups;
use what_if::{WhatIfChange, WhatIfReplay};

/// A recommended change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Identifier of the rule.
    pub kind: &'static str,
    /// The problem, in one sentence.
    pub what: String,
    /// The source location.
    #[serde(flatten)]
    pub source: SourceLocation,
    /// The times, ranks and shares it is based on.
    pub evidence: String,
    /// What to try.
    pub try_this: String,
    /// Upper bound of the saving in seconds; `None` if it cannot be estimated.
    pub saves_s: Option<f64>,
    /// How the saving was estimated.
    pub basis: String,
}

/// A rule of advice.
pub struct AdviceRule {
    /// Identifier.
    pub kind: &'static str,
    /// Name.
    pub name: &'static str,
    /// Explanation, in a few sentences.
    pub help: &'static str,
    /// How the replay was changed to estimate the saving.
    pub basis: &'static str,
    /// Finds candidates.
    find: fn(&RuleContext) -> Vec<AdviceCandidate>,
    /// Writes the text of the advice.
    describe: fn(&RuleContext, &AdviceCandidate) -> AdviceText,
}

/// All rules. More specific rules come before those that would also explain the same wait: a rank that writes a file seems to compute more
/// than the others, and a rank that receives from it waits for a late sender.
pub static RULES: &[AdviceRule] = &[
    files_by_one_rank::RULE,
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

/// Minimum saving: one part in this many of the run.
const MIN_SAVING_SHARE: i64 = 100;

/// Waits below one part in this many of the run may be system noise; rules that cannot distinguish them skip them.
const NOISE_SHARE: i64 = 30;

/// Maximum number of candidates that are replayed.
const MAX_CANDIDATES: usize = 8;

/// A candidate for advice.
#[derive(Clone, Debug, PartialEq)]
pub struct AdviceCandidate {
    /// Index in [`RULES`].
    rule: usize,
    /// The segment it is about; for a call, its site twice. The end of the segment is reported.
    segment: Segment,
    /// The call site at which it was detected.
    noticed_at: u32,
    /// The affected ranks.
    ranks: Vec<u32>,
    /// The proposed change.
    change: WhatIfChange,
    /// Upper bound of the saving in nanoseconds.
    max_saving_ns: i64,
    /// Estimated saving in nanoseconds.
    saving_ns: i64,
}

impl AdviceCandidate {
    /// A candidate about computation.
    fn in_segment(segment: Segment, ranks: Vec<u32>, change: WhatIfChange, max_saving_ns: i64) -> AdviceCandidate {
        AdviceCandidate { rule: 0, segment, noticed_at: segment.to, ranks, change, max_saving_ns, saving_ns: 0 }
    }

    /// A candidate about a call.
    fn at_call(site: u32, ranks: Vec<u32>, change: WhatIfChange, at_most_ns: i64) -> AdviceCandidate {
        AdviceCandidate::in_segment(Segment { from: site, to: site }, ranks, change, at_most_ns)
    }

    /// The reported call site.
    fn site(&self) -> u32 {
        self.segment.to
    }

    /// The call sites whose calls would be changed.
    fn sites(&self) -> &[u32] {
        match &self.change {
            WhatIfChange::Calls(sites, _) => sites,
            _ => &[],
        }
    }

    /// Sets the call site at which it was detected.
    fn noticed_at(self, site: u32) -> AdviceCandidate {
        AdviceCandidate { noticed_at: site, ..self }
    }
}

/// The text of a piece of advice.
struct AdviceText {
    what: String,
    evidence: String,
    try_this: String,
}

/// The candidates for advice, and what they rest on; every process of the group has all of it.
#[derive(Debug, Default, PartialEq)]
pub struct AdviceCandidates {
    /// The input of the rules.
    pub inputs: AdviceInputs,
    /// The candidates, largest saving first.
    pub list: Vec<AdviceCandidate>,
    /// Number of candidates that were dropped because ranks without a core explain what they would save.
    pub held_back: usize,
}

impl AdviceCandidates {
    /// Finds candidates in a run, given its findings, history, waits and the own times of its calls. Sends that waited must be marked in
    /// the history.
    pub(crate) fn find(
        recording: &Recording,
        findings: &RunFindings,
        cores: &CoreFindings,
        (history, waits, own_times): (&History, &[Vec<WaitInstance>], Vec<CallDurations>),
        comm: &dyn ProcessGroup,
        progress: &ShareProgress,
    ) -> Result<AdviceCandidates, Error> {
        let (sites, hosts) = (SiteGroups::from_recording(recording), rule_context::host_by_rank(recording));
        let replay = WhatIfReplay::new(recording, history, waits, (&sites, &hosts), own_times, comm);
        let mut inputs = AdviceInputs::from_history(recording, history, &replay, sites.clone(), cores.off_cpu(), comm);
        inputs.serial_file_io = serial_file_io::find(recording, history, &sites, inputs.run_ns / MIN_SAVING_SHARE, comm)?;
        let found = evaluate_rules(&RuleContext::new(recording, findings, &inputs), &replay, comm, progress)?;
        let (all, list) = (found.len(), hold_back(found, cores.explained_ns(inputs.run_ns), inputs.run_ns));
        Ok(AdviceCandidates { inputs, held_back: all - list.len(), list })
    }
}

/// Drops candidates whose saving can be due to ranks that had no core, and takes that time off the others.
fn hold_back(candidates: Vec<AdviceCandidate>, explained_ns: i64, run_ns: i64) -> Vec<AdviceCandidate> {
    let reduced = candidates.into_iter().map(|candidate| AdviceCandidate { saving_ns: candidate.saving_ns - explained_ns, ..candidate });
    reduced.filter(|candidate| candidate.saving_ns > run_ns / MIN_SAVING_SHARE).collect()
}

/// Finds candidates for advice and estimates their savings.
fn evaluate_rules(
    context: &RuleContext,
    replay: &WhatIfReplay,
    comm: &dyn ProcessGroup,
    progress: &ShareProgress,
) -> Result<Vec<AdviceCandidate>, Error> {
    let run_ns = context.run_ns();
    let mut candidates: Vec<AdviceCandidate> = Vec::new();
    for (rule, find) in RULES.iter().map(|rule| rule.find).enumerate() {
        let found = find(context).into_iter().filter(|candidate| candidate.max_saving_ns > run_ns / MIN_SAVING_SHARE);
        candidates.extend(found.map(|candidate| AdviceCandidate { rule, ..candidate }));
    }
    candidates.sort_by_key(|candidate| Reverse(candidate.max_saving_ns));
    candidates.truncate(MAX_CANDIDATES);
    candidates.sort_by_key(|candidate| (candidate.rule, Reverse(candidate.max_saving_ns)));
    let mut worthwhile = savings::accept_in_order(candidates, replay, run_ns / MIN_SAVING_SHARE, comm, progress)?;
    worthwhile.sort_by_key(|candidate| (Reverse(candidate.saving_ns), candidate.rule));
    Ok(worthwhile)
}

impl Advice {
    /// The advice for a run of this many seconds: what to do about missing cores, then the rest with the largest saving first.
    pub(crate) fn from_candidates(
        recording: &Recording,
        findings: &RunFindings,
        candidates: &AdviceCandidates,
        cores: &CoreFindings,
        elapsed_s: f64,
    ) -> Vec<Advice> {
        let context = RuleContext::new(recording, findings, &candidates.inputs);
        let advice = candidates.list.iter().map(|candidate| Advice::new(&context, candidate));
        let possible = advice.filter(|advice| advice.saves_s.is_some_and(|saves_s| saves_s < elapsed_s));
        core_shortage::advice(&recording.header, cores).into_iter().chain(possible).collect()
    }

    /// Advice about the threads of OpenMP, for a run of this many seconds.
    pub(crate) fn from_openmp(report: &OpenMpReport, elapsed_s: f64) -> Vec<Advice> {
        let min_saving_s = elapsed_s / MIN_SAVING_SHARE as f64;
        let mut advice = thread_imbalance::advice(report, min_saving_s);
        advice.extend(serial_part::advice(report, min_saving_s));
        advice
    }

    fn new(context: &RuleContext, candidate: &AdviceCandidate) -> Advice {
        let rule = &RULES[candidate.rule];
        let AdviceText { what, evidence: rests_on, try_this } = (rule.describe)(context, candidate);
        Advice {
            kind: rule.kind,
            what: phrases::capitalise(&what),
            source: context.source_location(candidate.site()),
            evidence: phrases::capitalise(&rests_on),
            try_this,
            saves_s: Some(candidate.saving_ns as f64 / 1e9),
            basis: rule.basis.into(),
        }
    }
}
