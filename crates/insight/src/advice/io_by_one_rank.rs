//! File I/O by a single rank while the others wait.

use std::collections::BTreeMap;

use sintonia_mpi::FunctionRole;

use super::inputs::SiteCalls;
use super::phrases::{format_bytes, format_ns, format_ranks, format_share};
use super::rule_context::{RuleContext, key_of_max};
use super::what_if::{CallOverride, DurationChange, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText};
use crate::segment::Segment;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "io_by_one_rank",
    name: "file I/O by one rank",
    help: "One rank does all the file I/O while the others wait for it. Parallel file systems are designed for many concurrent accesses.",
    basis: "the run replayed with the file I/O, or what is computed between its calls if that is more, shared evenly by all ranks",
    find,
    describe,
};

fn is_file_role(role: FunctionRole) -> bool {
    matches!(
        role,
        FunctionRole::FileOpen | FunctionRole::FileClose | FunctionRole::FileRead | FunctionRole::FileWrite | FunctionRole::FileOther
    )
}

/// The file I/O of one rank.
struct SerialMpiIo<'a> {
    /// The sites at which it does nearly all of it.
    calls: BTreeMap<u32, &'a SiteCalls>,
    /// What it computes between two of these calls, in nanoseconds: it prepares the next piece.
    between: BTreeMap<Segment, i64>,
}

impl SerialMpiIo<'_> {
    fn calls_ns(&self) -> i64 {
        self.calls.values().map(|calls| calls.sum(|totals| totals.own_ns)).sum()
    }

    fn between_ns(&self) -> i64 {
        self.between.values().sum()
    }

    /// The site of most of the time.
    fn main_site(&self) -> Option<u32> {
        let mut sites: BTreeMap<u32, i64> = self.calls.iter().map(|(site, calls)| (*site, calls.sum(|totals| totals.own_ns))).collect();
        self.between.iter().for_each(|(segment, ns)| *sites.entry(segment.to).or_default() += ns);
        key_of_max(&sites)
    }
}

/// The rank that has nearly all of this time.
fn only_rank(ranks: &BTreeMap<u32, i64>) -> Option<u32> {
    key_of_max(ranks).filter(|rank| 10 * ranks[rank] >= 9 * ranks.values().sum::<i64>())
}

/// The file I/O that one rank does nearly alone, by that rank.
fn serial_io<'a>(context: &RuleContext<'a>) -> BTreeMap<u32, SerialMpiIo<'a>> {
    let mut ranks: BTreeMap<u32, SerialMpiIo> = BTreeMap::new();
    for (site, calls) in context.calls(is_file_role) {
        let own = calls.ranks.iter().map(|(rank, totals)| (*rank, totals.own_ns)).collect();
        if let Some(rank) = only_rank(&own) {
            ranks.entry(rank).or_insert_with(|| SerialMpiIo { calls: BTreeMap::new(), between: BTreeMap::new() }).calls.insert(site, calls);
        }
    }
    for segment in context.segments() {
        let loads = context.loads(segment).into_iter().map(|(rank, load)| (rank, load.ns())).collect();
        let io = only_rank(&loads).and_then(|rank| Some((loads[&rank], ranks.get_mut(&rank)?)));
        if let Some((ns, io)) = io.filter(|(_, io)| io.calls.contains_key(&segment.from) && io.calls.contains_key(&segment.to)) {
            io.between.insert(segment, ns);
        }
    }
    ranks
}

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let size = context.size() as i64;
    let candidate = |(rank, io): (u32, SerialMpiIo)| {
        let shared = DurationChange::Scale(1.0 / size as f64);
        let (change, all) = if io.between_ns() > io.calls_ns() {
            (WhatIfChange::Computation(io.between.keys().map(|segment| ((*segment, rank), shared)).collect()), io.between_ns())
        } else {
            (WhatIfChange::Calls(io.calls.keys().copied().collect(), CallOverride::SharedByRanks), io.calls_ns())
        };
        Some(AdviceCandidate::at_call(io.main_site()?, vec![rank], change, all - all / size))
    };
    serial_io(context).into_iter().filter_map(candidate).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let rank = candidate.ranks.first().copied().unwrap_or(0);
    let io = serial_io(context).remove(&rank);
    let (own, between) = io.as_ref().map_or((0, 0), |io| (io.calls_ns(), io.between_ns()));
    let moved: u64 = io.iter().flat_map(|io| io.calls.values()).map(|calls| calls.sum(|totals| totals.bytes)).sum();
    let waited: i64 = context.findings.waits.iter().filter_map(|waits| waits.causes.get(&rank)).sum();
    let name = context.inputs.calls.get(&candidate.site()).map_or("its files", |calls| calls.operation.name());
    AdviceText {
        what: format!(
            "Only {} accesses the file ({name} at {}), and the others wait for it.",
            format_ranks(&[rank]),
            context.source_location(candidate.site())
        ),
        evidence: format!(
            "{} in file operations and {} between them on {} ({}), {} moved; the others wait {} for it in total.",
            format_ns(own),
            format_ns(between),
            format_ranks(&[rank]),
            format_share(own + between, context.run_ns()),
            format_bytes(moved),
            format_ns(waited)
        ),
        try_this: "Open the file on all ranks and let each access its own part with a collective call (MPI_File_write_at_all, \
                   MPI_File_read_at_all); or write from one rank without making the others wait (MPI_File_iwrite_at)."
            .into(),
    }
}
