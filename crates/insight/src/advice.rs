//! Advice: changes that would make the program faster, in the order in which to make them.
//!
//! Each rule has one file: detection, proposed change, and text. The saving is estimated by replaying the run with the change
//! ([`what_if`]). Candidates are evaluated in the order of [`RULES`], each on top of the accepted ones: if two explain the same wait, the
//! first one gets it, and nothing is counted twice.

mod all_to_all_growth;
mod blocking_exchange;
mod collective_as_barrier;
mod computation_waits;
pub mod core_shortage;
mod eager_limit;
mod early_completion;
mod excess_function;
mod excess_traffic;
mod files_by_one_rank;
mod frequent_rma_sync;
mod imbalance;
pub mod inputs;
mod io_by_one_rank;
mod large_tasks;
mod late_receiver_compute;
mod late_rma_partner;
mod late_sender_compute;
mod load_imbalance;
mod merged_calls;
mod message_order;
mod missing_prefetch;
mod missing_progress;
mod moving_imbalance;
mod phrases;
mod pickled_messages;
mod pipeline_fill;
pub mod poll_gaps;
mod polling_interval;
mod relay_chain;
pub mod relays;
mod role_imbalance;
pub(crate) mod rule_context;
mod run_variation;
mod saving;
mod savings;
mod send_waits;
pub mod serial_file_io;
pub mod serial_part;
mod serialised_exchange;
mod serialised_master;
pub mod site_groups;
mod slow_rank;
mod small_collectives;
mod small_messages;
mod synchronous_send;
mod task_farm;
pub mod thread_imbalance;
pub mod thread_lock_competition;
mod tiny_tasks;
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
pub use saving::Saving;
use savings::{MissingCores, SavingLimits, WorthwhileCandidates};
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
    /// What it saves after the changes before it in the list; `None` if it cannot be estimated.
    #[serde(flatten, serialize_with = "saving::serialize")]
    pub saving: Option<Saving>,
    /// Seconds that it saves together with the changes before it; `None` if that was not replayed.
    pub together_s: Option<f64>,
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
    pickled_messages::RULE,
    tiny_tasks::RULE,
    large_tasks::RULE,
    message_order::RULE,
    polling_interval::RULE,
    missing_prefetch::RULE,
    serialised_master::RULE,
    small_messages::RULE,
    small_collectives::RULE,
    frequent_rma_sync::RULE,
    synchronous_send::RULE,
    eager_limit::RULE,
    missing_progress::RULE,
    late_receiver_compute::RULE,
    blocking_exchange::RULE,
    collective_as_barrier::RULE,
    early_completion::RULE,
    late_rma_partner::RULE,
    role_imbalance::RULE,
    load_imbalance::RULE,
    all_to_all_growth::RULE,
    moving_imbalance::RULE,
    serialised_exchange::RULE,
    pipeline_fill::RULE,
    late_sender_compute::RULE,
];

/// Minimum saving: one part in this many of the run.
const MIN_SAVING_SHARE: i64 = 50;

/// Waits below one part in this many of the run may be system noise; rules that cannot distinguish them skip them.
const NOISE_SHARE: i64 = 30;

/// Maximum number of candidates that are replayed.
const MAX_CANDIDATES: usize = 12;

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
    /// Which of the cases of its rule it is.
    case: usize,
    /// The proposed change.
    change: WhatIfChange,
    /// Upper bound of the saving in nanoseconds.
    max_saving_ns: i64,
    /// What it saves after the candidates before it.
    saving: Saving,
    /// Nanoseconds that it saves together with the candidates before it.
    together_ns: i64,
}

impl AdviceCandidate {
    /// A candidate about computation.
    fn in_segment(segment: Segment, ranks: Vec<u32>, change: WhatIfChange, max_saving_ns: i64) -> AdviceCandidate {
        let saving = Saving::default();
        AdviceCandidate { rule: 0, segment, noticed_at: segment.to, ranks, case: 0, change, max_saving_ns, saving, together_ns: 0 }
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
            WhatIfChange::Calls(sites, _) | WhatIfChange::CallTimes(sites, _) => sites,
            _ => &[],
        }
    }

    /// Sets the call site at which it was detected.
    fn noticed_at(self, site: u32) -> AdviceCandidate {
        AdviceCandidate { noticed_at: site, ..self }
    }

    /// Sets which of the cases of its rule it is.
    fn of_case(self, case: usize) -> AdviceCandidate {
        AdviceCandidate { case, ..self }
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
    /// The candidates, in the order in which to make the changes. A change that saves much only after another one comes after it.
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
        let mut inputs = AdviceInputs::from_history(recording, history, waits, &replay, sites.clone(), cores.off_cpu(), comm);
        inputs.serial_file_io = serial_file_io::find(recording, history, &sites, inputs.run_ns / MIN_SAVING_SHARE, comm)?;
        let limits = SavingLimits { worth_ns: inputs.run_ns / MIN_SAVING_SHARE, missing_cores: missing_cores(cores, inputs.run_ns) };
        let candidates = find_candidates(&RuleContext::new(recording, findings, &inputs), limits.worth_ns);
        let WorthwhileCandidates { mut list, held_back } = savings::evaluate(&candidates, &replay, limits, comm, progress)?;
        let variation = run_variation::relative_variation(&inputs.loads);
        list.iter_mut().for_each(|candidate| candidate.saving = candidate.saving.of_other_runs(inputs.run_ns, variation));
        Ok(AdviceCandidates { inputs, list, held_back })
    }
}

fn missing_cores(cores: &CoreFindings, run_ns: i64) -> MissingCores {
    match cores.shortage() {
        None => MissingCores::Never,
        Some(_) if cores.counts_only_computing() => MissingCores::Known,
        Some(shortage) => {
            // A rank that waits for a core delays the others by that time at most.
            let share = shortage.ranks.iter().map(|rank| rank.share()).fold(0.0, f64::max);
            MissingCores::AtMost((share * run_ns as f64) as i64)
        }
    }
}

/// The most promising candidates, in the order of their rules.
fn find_candidates(context: &RuleContext, worth_ns: i64) -> Vec<AdviceCandidate> {
    let mut candidates: Vec<AdviceCandidate> = Vec::new();
    for (rule, find) in RULES.iter().map(|rule| rule.find).enumerate() {
        let found = find(context).into_iter().filter(|candidate| candidate.max_saving_ns > worth_ns);
        candidates.extend(found.map(|candidate| AdviceCandidate { rule, ..candidate }));
    }
    candidates.sort_by_key(|candidate| Reverse(candidate.max_saving_ns));
    candidates.truncate(MAX_CANDIDATES);
    candidates.sort_by_key(|candidate| (candidate.rule, Reverse(candidate.max_saving_ns)));
    candidates
}

impl Advice {
    /// The advice for a run of this many seconds: what to do about missing cores, then the changes in the order in which to make them.
    pub(crate) fn from_candidates(
        recording: &Recording,
        findings: &RunFindings,
        candidates: &AdviceCandidates,
        cores: &CoreFindings,
        elapsed_s: f64,
    ) -> Vec<Advice> {
        let context = RuleContext::new(recording, findings, &candidates.inputs);
        let advice = candidates.list.iter().map(|candidate| Advice::new(&context, candidate));
        let possible = advice.filter(|advice| advice.saving.is_some_and(|saving| saving.likely_s() < elapsed_s));
        core_shortage::advice(&recording.header, cores).into_iter().chain(possible).collect()
    }

    /// Advice about the threads of OpenMP, for a run of this many seconds.
    pub(crate) fn from_openmp(report: &OpenMpReport, elapsed_s: f64) -> Vec<Advice> {
        let min_saving_s = elapsed_s / MIN_SAVING_SHARE as f64;
        let mut advice = thread_imbalance::advice(report, min_saving_s);
        advice.extend(thread_lock_competition::advice(report, min_saving_s));
        advice.extend(serial_part::advice(report, min_saving_s));
        let run_ns = (elapsed_s * 1e9) as i64;
        let of_other_runs = |saving: Saving| saving.of_other_runs(run_ns, run_variation::MIN_VARIATION);
        advice.iter_mut().for_each(|advice| advice.saving = advice.saving.map(of_other_runs));
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
            saving: Some(candidate.saving),
            together_s: Some(candidate.together_ns as f64 * 1e-9),
            basis: rule.basis.into(),
        }
    }
}
