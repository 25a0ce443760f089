//! Requests whose reply is waited for at once: one rank computes while the other waits, in turns.

use std::collections::BTreeMap;

use super::phrases::{choose_verb, format_ns, format_ranks, format_share};
use super::relays::RelayTotals;
use super::rule_context::RuleContext;
use super::what_if::{CallOverride, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText, NOISE_SHARE};

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "missing_prefetch",
    name: "data requested only when it is needed",
    help: "A rank requests data, waits for it, and computes with it, while the rank that provides it waits for the next request. Requested \
           one step ahead, the data is prepared while the rank computes.",
    basis: "the run replayed with the replies available when they are received",
    find,
    describe,
};

/// Fewer requests are no loop.
const MIN_REQUESTS: u64 = 3;

/// A rank that computes less than one part in this many of the other one has nothing to overlap.
const MIN_WORK_SHARE: i64 = 10;

/// A request is at most one part in this many of the reply.
const MIN_REPLY_RATIO: u64 = 2;

/// A rank that requests, and the one that replies.
struct RequestPair {
    requester: u32,
    /// The site at which the reply is received.
    site: u32,
    provider: u32,
    /// Computation with a reply, and for it, in nanoseconds.
    uses_ns: i64,
    prepares_ns: i64,
}

/// All pairs of ranks that request and reply.
fn request_pairs(context: &RuleContext) -> Vec<RequestPair> {
    let mut turns: BTreeMap<(u32, u32), (u32, RelayTotals)> = BTreeMap::new();
    for (relay, totals) in context.inputs.relays.iter().filter(|(relay, _)| relay.from == relay.to) {
        let turn = turns.entry((relay.rank, relay.from)).or_insert((relay.receive_site, RelayTotals::default()));
        turn.1.add(totals);
    }
    let pair = |((requester, provider), (site, uses)): (&(u32, u32), &(u32, RelayTotals))| {
        let (_, prepares) = turns.get(&(*provider, *requester))?;
        let (uses_ns, prepares_ns) = (uses.mean_between_ns(), prepares.mean_between_ns());
        // The first message is a request.
        let asks = prepares.first_ns < uses.first_ns && prepares.mean_bytes() >= MIN_REPLY_RATIO * uses.mean_bytes();
        let both = uses_ns.min(prepares_ns) * MIN_WORK_SHARE > uses_ns.max(prepares_ns);
        let found = asks && both && uses.count >= MIN_REQUESTS;
        found.then_some(RequestPair { requester: *requester, site: *site, provider: *provider, uses_ns, prepares_ns })
    };
    turns.iter().filter_map(pair).collect()
}

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let mut sites: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    request_pairs(context).iter().for_each(|pair| sites.entry(pair.site).or_default().push(pair.requester));
    let waits = context.waits(&["late_sender"]);
    let candidate = |(site, mut ranks): (u32, Vec<u32>)| {
        ranks.dedup();
        let waited = ranks.iter().filter_map(|rank| waits.get(&site)?.ranks.get(rank)).copied().max().unwrap_or(0);
        let change = WhatIfChange::Calls(vec![site], CallOverride::NoWait);
        (waited > context.run_ns() / NOISE_SHARE).then(|| AdviceCandidate::at_call(site, ranks, change, waited))
    };
    sites.into_iter().filter_map(candidate).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let pairs: Vec<RequestPair> = request_pairs(context).into_iter().filter(|pair| pair.site == candidate.site()).collect();
    let mut providers: Vec<u32> = pairs.iter().map(|pair| pair.provider).collect();
    providers.sort_unstable();
    providers.dedup();
    let mean = |of: fn(&RequestPair) -> i64| pairs.iter().map(of).sum::<i64>() / pairs.len().max(1) as i64;
    AdviceText {
        what: format!(
            "{} {} data from {} and {} for it at {} at once, instead of computing meanwhile.",
            format_ranks(&candidate.ranks),
            choose_verb(candidate.ranks.len(), "requests", "request"),
            format_ranks(&providers),
            choose_verb(candidate.ranks.len(), "waits", "wait"),
            context.source_location(candidate.site())
        ),
        evidence: format!(
            "{} to prepare a reply, {} to compute with it, in turns; the rank that waits most waits {} ({}).",
            format_ns(mean(|pair| pair.prepares_ns)),
            format_ns(mean(|pair| pair.uses_ns)),
            format_ns(candidate.max_saving_ns),
            format_share(candidate.max_saving_ns, context.run_ns())
        ),
        try_this: "Request the next data before computing with the current one: post MPI_Irecv into a second buffer, send the request, \
                   compute, and call MPI_Wait after that."
            .into(),
    }
}
