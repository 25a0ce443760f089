//! Python objects that are pickled to be sent.
//!
//! The methods of mpi4py with a small letter (`send`, `recv`, `sendrecv`, `bcast`) pickle objects. They make several MPI calls at one line of
//! Python: a message of unknown size is probed before it is received, and a collective is preceded by one with the size. What samples find at
//! that line outside of MPI is pickling.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_mpi::FunctionRole;
use sintonia_program::samples::SampleActivity;

use super::inputs::SiteCalls;
use super::phrases::{choose_verb, format_bytes, format_ns, format_ranks, format_share};
use super::rule_context::RuleContext;
use super::what_if::{DurationChange, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText, NOISE_SHARE};
use crate::findings::significant_ranks;
use crate::segment::Segment;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "pickled_messages",
    name: "pickled messages",
    help: "The methods of mpi4py with a small letter (send, recv, sendrecv, bcast) pickle and unpickle Python objects, number by number. Those \
           with a capital letter send the memory of an array as it is.",
    basis: "the run replayed without the computation that samples found at that line of Python",
    find,
    describe,
};

/// A collective with the size of another one has at most this many bytes.
const SIZE_BYTES: u64 = 8;

/// Files of Python's library that pickle and unpickle.
const PICKLE_FILES: [&str; 2] = ["pickle.py", "copyreg.py"];

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let sites = context.calls(|_| true).filter(|(site, _)| is_python(context, *site));
    sites.filter(|(site, calls)| is_of_unknown_size(context, *site, calls)).filter_map(|(site, _)| candidate(context, site)).collect()
}

fn is_python(context: &RuleContext, site: u32) -> bool {
    context.source_location(site).file.is_some_and(|file| file.ends_with(".py"))
}

/// Whether the receivers learn the size of what they get from another call at the same line of Python, which makes several.
fn is_of_unknown_size(context: &RuleContext, site: u32, calls: &SiteCalls) -> bool {
    let Some(totals) = calls.ranks.keys().next().and_then(|rank| context.recording.totals(*rank).ok()) else { return false };
    let here = || totals.iter().filter(|(descriptor, _)| context.inputs.sites.representative(descriptor.site) == site);
    if here().any(|(descriptor, _)| descriptor.function.role() == FunctionRole::MatchedReceive) {
        return true;
    }
    let collectives = here().filter(|(descriptor, _)| matches!(descriptor.function.role(), FunctionRole::Collective(_)));
    let sizes: BTreeSet<u64> = collectives.map(|(descriptor, _)| descriptor.sent.max(descriptor.received)).collect();
    sizes.first().is_some_and(|least| *least <= SIZE_BYTES) && sizes.last().is_some_and(|most| *most > SIZE_BYTES)
}

/// Whether a frame is in Python code that takes no part in pickling.
fn is_other_python(file: Option<&str>) -> bool {
    file.is_some_and(|file| {
        let is_pickle = PICKLE_FILES.contains(&file.rsplit('/').next().unwrap_or(file));
        file.ends_with(".py") && !is_pickle && !file.contains("/mpi4py/")
    })
}

fn candidate(context: &RuleContext, site: u32) -> Option<AdviceCandidate> {
    let frames = context.recording.stack_frames().ok()?;
    let line = context.source_location(site);
    let at_line: BTreeSet<u32> =
        (0..).zip(frames).filter(|(_, frame)| frame.line == line.line && frame.file == line.file).map(|(index, _)| index).collect();
    // What the line calls itself, besides mpi4py, is no pickling: in `comm.bcast(solve())` that is all of `solve`.
    let is_pickling = |frame: u32| {
        let mut called = std::iter::successors(Some(frame), |frame| frames[*frame as usize].caller);
        let other = called.find(|frame| at_line.contains(frame) || is_other_python(frames[*frame as usize].file.as_deref()));
        other.is_some_and(|frame| at_line.contains(&frame))
    };
    let mut pickled: BTreeMap<(Segment, u32), i64> = BTreeMap::new();
    for (stack, ns) in context.findings.samples.iter().filter(|(stack, _)| stack.activity != SampleActivity::Mpi) {
        if let Some(segment) = stack.segment.filter(|_| is_pickling(stack.frame)) {
            *pickled.entry((context.inputs.sites.representative_segment(segment), stack.rank)).or_default() += *ns as i64;
        }
    }
    let mut ranks: BTreeMap<u32, i64> = BTreeMap::new();
    pickled.iter().for_each(|((_, rank), ns)| *ranks.entry(*rank).or_default() += ns);
    let most = ranks.values().copied().max().filter(|most| *most > context.run_ns() / NOISE_SHARE)?;
    let rest = |((segment, rank), ns): (&(Segment, u32), &i64)| {
        let all = context.load(*segment, *rank)?.ns().max(1);
        Some(((*segment, *rank), DurationChange::Scale(1.0 - (*ns).min(all) as f64 / all as f64)))
    };
    let change = WhatIfChange::Computation(pickled.iter().filter_map(rest).collect());
    Some(AdviceCandidate::at_call(site, significant_ranks(&ranks), change, most))
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let calls = &context.inputs.calls[&candidate.site()];
    let (messages, bytes) = (calls.sum(|totals| totals.calls), calls.sum(|totals| totals.bytes));
    AdviceText {
        what: format!(
            "{} {} Python objects to send and receive them at {}.",
            format_ranks(&candidate.ranks),
            choose_verb(candidate.ranks.len(), "pickles", "pickle"),
            context.source_location(candidate.site())
        ),
        evidence: format!(
            "{messages} messages of {} on average there; {} on the rank that pickles longest ({}).",
            format_bytes(bytes / messages.max(1)),
            format_ns(candidate.max_saving_ns),
            format_share(candidate.max_saving_ns, context.run_ns())
        ),
        try_this:
            "Keep numbers in arrays (array, NumPy) and send those with the methods that have a capital letter: comm.Sendrecv, comm.Send, \
                   comm.Recv, comm.Bcast."
                .into(),
    }
}
