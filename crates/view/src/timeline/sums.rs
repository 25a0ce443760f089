//! Query `sums`: what a selection of time and ranks took, by activity, call site, wait state and rank.
//!
//! All sums are exact, whatever the selection: they are differences of prefix sums ([`crate::index::prefix_sums`]).

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;
use sintonia_insight::wait_states::WAIT_PATTERNS;
use sintonia_insight::{ActiveThread, Efficiency};
use sintonia_mpi::FunctionRole;

use super::{TimelineContext, params};
use crate::analysis::{TimelineAnalysis, WaitKey};
use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::cache_file::Error;
use crate::index::prefix_sums::RecordSums;
use crate::index::{ActivityKind, KIND_COUNT, SiteFunction, ThreadIndex, ThreadPainter};

#[derive(Serialize)]
struct SumsJson<'a> {
    from: i64,
    to: i64,
    /// The part of the window between the first end of MPI_Init and the last start of MPI_Finalize of these ranks.
    elapsed_ns: i64,
    /// Efficiencies over that time; `None` if no rank computed.
    efficiency: Option<Efficiency>,
    kinds: [&'static str; KIND_COUNT],
    /// Nanoseconds of each kind, over all threads that call MPI. Those that are not the first of their rank are absent without counting as that.
    activity: [u64; KIND_COUNT],
    operations: Vec<&'a str>,
    per_rank: RankColumns,
    sites: SiteColumns,
    /// `None` until wait states are known.
    waits: Option<WaitColumns<'a>>,
}

/// Columns of equal length, one entry for each rank; times in nanoseconds.
#[derive(Default, Serialize)]
struct RankColumns {
    rank: Vec<u32>,
    calls: Vec<u64>,
    computing: Vec<u64>,
    mpi: Vec<u64>,
    /// Parts of `mpi`.
    init: Vec<u64>,
    finalize: Vec<u64>,
    /// Empty until wait states are known.
    waiting: Vec<u64>,
}

/// Call sites, most time first.
#[derive(Default, Serialize)]
struct SiteColumns {
    site: Vec<u32>,
    /// Index into `operations`.
    operation: Vec<usize>,
    calls: Vec<u64>,
    ns: Vec<u64>,
    bytes: Vec<u64>,
}

/// Wait states by kind and call site, longest first.
#[derive(Default, Serialize)]
struct WaitColumns<'a> {
    /// Identifier and name of each kind.
    kinds: Vec<(&'a str, &'a str)>,
    kind: Vec<u64>,
    site: Vec<u32>,
    operation: Vec<usize>,
    count: Vec<u64>,
    ns: Vec<u64>,
    /// The ranks that waited.
    ranks: Vec<Vec<u32>>,
}

/// The sums of a rank.
struct RankSums {
    rank: u32,
    /// The part of the window between MPI_Init and MPI_Finalize.
    span: Option<(i64, i64)>,
    /// For how long its first thread is in that part.
    first_active_ns: u64,
    threads: Vec<ThreadSums>,
    sites: FxHashMap<SiteFunction, RecordSums>,
    waits: Vec<(WaitKey, RecordSums)>,
}

/// The activities of a thread in the window.
struct ThreadSums {
    active_ns: u64,
    activity: [u64; KIND_COUNT],
}

/// Answers the query.
pub(super) fn answer(context: TimelineContext, query: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let (from, to) = params::time_range(context, query)?;
    let ranks = params::selected_ranks(context, query)?;
    let sums = ranks.par_iter().map_init(|| context.painter(), |painter, rank| sums_of_rank(context, painter, *rank, from, to));
    let sums: Vec<RankSums> = sums.collect::<Result<_, Error>>()?;
    let mut operations = Operations::default();
    let (elapsed_ns, efficiency) = efficiency_of(&sums);
    let mut activity = [0; KIND_COUNT];
    for rank in &sums {
        rank.threads.iter().for_each(|thread| add_activity(&mut activity, &thread.activity));
        activity[ActivityKind::Absent as usize] += from.abs_diff(to) - rank.first_active_ns;
    }
    Ok(QueryAnswer::json(&SumsJson {
        from,
        to,
        elapsed_ns,
        efficiency,
        kinds: ActivityKind::NAMES,
        activity,
        per_rank: RankColumns::new(&sums, context.analysis.is_some()),
        sites: SiteColumns::new(&sums, &mut operations),
        waits: context.analysis.map(|analysis| WaitColumns::new(&sums, analysis, &mut operations)),
        operations: operations.names,
    }))
}

fn sums_of_rank(context: TimelineContext, painter: &mut ThreadPainter, rank: u32, from: i64, to: i64) -> Result<RankSums, Error> {
    let mut sums = RankSums { rank, span: None, first_active_ns: 0, threads: Vec::new(), sites: FxHashMap::default(), waits: Vec::new() };
    for (index, thread) in context.index.threads_of(rank).iter().enumerate() {
        let calls = painter.call_sums(thread, from, to)?;
        for (key, calls) in thread.sums.keys.iter().zip(&calls) {
            if *calls != RecordSums::default() {
                sums.sites.entry(*key).or_default().add(*calls);
            }
        }
        let (begin, end) = (from.max(thread.active.0), to.min(thread.active.1));
        if begin < end {
            let calls = if (begin, end) == (from, to) { calls } else { painter.call_sums(thread, begin, end)? };
            let active_ns = begin.abs_diff(end);
            sums.threads.push(ThreadSums { active_ns, activity: activity_of(thread, &calls, begin, end) });
            sums.first_active_ns += if index == 0 { active_ns } else { 0 };
            let (first, last) = sums.span.unwrap_or((begin, end));
            sums.span = Some((first.min(begin), last.max(end)));
        }
        if let Some(analysis) = context.analysis {
            sums.waits.extend(analysis.wait_sums(rank, thread.thread, from, to)?);
        }
    }
    Ok(sums)
}

/// Nanoseconds of each kind of activity of a thread in a time range in which it is active.
fn activity_of(thread: &ThreadIndex, calls: &[RecordSums], from: i64, to: i64) -> [u64; KIND_COUNT] {
    let mut activity = [0; KIND_COUNT];
    for (key, calls) in thread.sums.keys.iter().zip(calls) {
        let role = key.function().map_or(FunctionRole::Other, |function| function.role());
        activity[ActivityKind::from_role(role) as usize] += calls.ns;
    }
    activity[ActivityKind::Absent as usize] += thread.lost_ns(from, to);
    activity[ActivityKind::Computing as usize] = from.abs_diff(to).saturating_sub(activity.iter().sum());
    activity
}

fn add_activity(sums: &mut [u64; KIND_COUNT], other: &[u64; KIND_COUNT]) {
    sums.iter_mut().zip(other).for_each(|(sum, ns)| *sum += ns);
}

/// The time in which any rank is active, and the POP efficiencies over that time.
fn efficiency_of(sums: &[RankSums]) -> (i64, Option<Efficiency>) {
    let whole = sums.iter().filter_map(|rank| rank.span).reduce(|(begin, end), (b, e)| (begin.min(b), end.max(e)));
    let elapsed_ns = whole.map_or(0, |(begin, end)| end.saturating_sub(begin));
    let elapsed_s = seconds(elapsed_ns.unsigned_abs());
    let compute_s = |thread: &ThreadSums| seconds(thread.activity[ActivityKind::Computing as usize]);
    if sums.iter().all(|rank| rank.threads.len() <= 1) {
        let compute: Vec<f64> = sums.iter().map(|rank| rank.threads.first().map_or(0.0, compute_s)).collect();
        return (elapsed_ns, Efficiency::new(&compute, elapsed_s));
    }
    let active = |(index, thread): (usize, &ThreadSums)| {
        let active_s = if index == 0 { elapsed_s } else { seconds(thread.active_ns) };
        ActiveThread { compute_s: compute_s(thread), active_s }
    };
    let threads: Vec<ActiveThread> = sums.iter().flat_map(|rank| rank.threads.iter().enumerate().map(active)).collect();
    (elapsed_ns, Efficiency::from_threads(&threads, elapsed_s))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Names of MPI functions, by index.
#[derive(Default)]
struct Operations {
    names: Vec<&'static str>,
    indices: FxHashMap<&'static str, usize>,
}

impl Operations {
    fn index(&mut self, call: SiteFunction) -> usize {
        let name = call.function().map_or("", |function| function.name());
        *self.indices.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }
}

impl RankColumns {
    fn new(sums: &[RankSums], waits_are_known: bool) -> RankColumns {
        let mut columns = RankColumns::default();
        for rank in sums {
            let mut activity = [0; KIND_COUNT];
            rank.threads.iter().for_each(|thread| add_activity(&mut activity, &thread.activity));
            let of_role = |role: FunctionRole| -> u64 {
                let sites = rank.sites.iter().filter(|(call, _)| call.function().is_some_and(|function| function.role() == role));
                sites.map(|(_, sums)| sums.ns).sum()
            };
            columns.rank.push(rank.rank);
            columns.calls.push(rank.sites.values().map(|sums| sums.count).sum());
            columns.computing.push(activity[ActivityKind::Computing as usize]);
            columns.mpi.push(rank.sites.values().map(|sums| sums.ns).sum());
            columns.init.push(of_role(FunctionRole::Init));
            columns.finalize.push(of_role(FunctionRole::Finalize));
            if waits_are_known {
                columns.waiting.push(rank.waits.iter().map(|(_, sums)| sums.ns).sum());
            }
        }
        columns
    }
}

impl SiteColumns {
    fn new(sums: &[RankSums], operations: &mut Operations) -> SiteColumns {
        let mut all: FxHashMap<SiteFunction, RecordSums> = FxHashMap::default();
        sums.iter().flat_map(|rank| &rank.sites).for_each(|(call, sums)| all.entry(*call).or_default().add(*sums));
        let mut all: Vec<(SiteFunction, RecordSums)> = all.into_iter().collect();
        all.sort_unstable_by_key(|(call, sums)| (std::cmp::Reverse(sums.ns), *call));
        let mut columns = SiteColumns::default();
        for (call, sums) in all {
            columns.site.push(call.site);
            columns.operation.push(operations.index(call));
            columns.calls.push(sums.count);
            columns.ns.push(sums.ns);
            columns.bytes.push(sums.bytes);
        }
        columns
    }
}

impl<'a> WaitColumns<'a> {
    fn new(sums: &[RankSums], analysis: &'a TimelineAnalysis, operations: &mut Operations) -> WaitColumns<'a> {
        let mut all: BTreeMap<(u64, SiteFunction), (RecordSums, Vec<u32>)> = BTreeMap::new();
        for (rank, (key, sums)) in sums.iter().flat_map(|rank| rank.waits.iter().map(|wait| (rank.rank, wait))) {
            let (total, ranks) = all.entry((key.kind, key.call)).or_default();
            total.add(*sums);
            if ranks.last() != Some(&rank) {
                ranks.push(rank);
            }
        }
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_by_key(|(_, (sums, _))| std::cmp::Reverse(sums.ns));
        let mut columns = WaitColumns {
            kinds: analysis.wait_kinds().iter().map(|kind| (kind.as_str(), name_of_wait(kind))).collect(),
            ..WaitColumns::default()
        };
        for ((kind, call), (sums, ranks)) in all {
            columns.kind.push(kind);
            columns.site.push(call.site);
            columns.operation.push(operations.index(call));
            columns.count.push(sums.count);
            columns.ns.push(sums.ns);
            columns.ranks.push(ranks);
        }
        columns
    }
}

fn name_of_wait(kind: &str) -> &'static str {
    WAIT_PATTERNS.iter().find(|pattern| pattern.kind == kind).map_or("", |pattern| pattern.name)
}
