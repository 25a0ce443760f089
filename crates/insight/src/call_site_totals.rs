//! Call sites: their calls over all ranks, and how these differ from rank to rank.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::Serialize;
use sintonia_mpi::FunctionId;

use crate::SourceLocation;
use crate::seconds::seconds;
use crate::tally::{CallTally, RankSiteCalls};

/// All calls of one MPI function at one source location.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallSiteTotals {
    /// The function.
    pub operation: &'static str,
    /// The source location.
    #[serde(flatten)]
    pub source: SourceLocation,
    /// Number of calls.
    pub calls: u64,
    /// Seconds in them.
    pub seconds: f64,
    /// Bytes they sent and received.
    pub bytes: u64,
    /// Seconds of one call.
    pub call_s: CallSpread,
    /// Seconds of one rank.
    pub rank_s: SiteRankSpread,
}

/// Distribution of the durations of calls, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CallSpread {
    /// The shortest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The longest.
    pub max: f64,
}

/// Distribution of the time at a call site over the ranks that call there, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SiteRankSpread {
    /// Number of ranks that call there.
    pub ranks: u64,
    /// The least time of a rank.
    pub min: f64,
    /// The rank with the least time; the first of several.
    pub min_rank: u32,
    /// The mean.
    pub mean: f64,
    /// The most time of a rank.
    pub max: f64,
    /// The rank with the most time; the first of several.
    pub max_rank: u32,
}

/// The sums of a call site, and of each of its ranks.
#[derive(Default)]
struct SiteTallies {
    calls: u64,
    nanoseconds: u64,
    bytes: u64,
    ranks: BTreeMap<u32, RankSiteCalls>,
}

/// The call sites of a run, most time first.
pub(crate) fn call_sites(tally: &CallTally, source: impl Fn(u32) -> SourceLocation) -> Vec<CallSiteTotals> {
    let mut sources: FxHashMap<u32, SourceLocation> = FxHashMap::default();
    tally.sites.keys().for_each(|(_, site)| _ = sources.entry(*site).or_insert_with(|| source(*site)));
    // Several addresses can belong to one source line.
    let mut sites: BTreeMap<(FunctionId, &SourceLocation), SiteTallies> = BTreeMap::new();
    for ((operation, site), sum) in &tally.sites {
        let calls = sites.entry((FunctionId(*operation), &sources[site])).or_default();
        calls.calls += sum.calls;
        calls.nanoseconds += sum.nanoseconds;
        calls.bytes = calls.bytes.saturating_add(sum.bytes);
    }
    for own in &tally.by_rank {
        if let Some(calls) = sites.get_mut(&(FunctionId(own.operation), &sources[&own.site])) {
            calls.ranks.entry(own.rank).and_modify(|sum| sum.add(own)).or_insert(*own);
        }
    }
    let mut sites: Vec<_> = sites.into_iter().collect();
    sites.sort_by(|(a_key, a), (b_key, b)| b.nanoseconds.cmp(&a.nanoseconds).then_with(|| a_key.cmp(b_key)));
    sites.into_iter().map(|((operation, source), calls)| CallSiteTotals::new(operation, source.clone(), &calls)).collect()
}

impl CallSiteTotals {
    fn new(operation: FunctionId, source: SourceLocation, site: &SiteTallies) -> CallSiteTotals {
        CallSiteTotals {
            operation: operation.name(),
            source,
            calls: site.calls,
            seconds: seconds(site.nanoseconds),
            bytes: site.bytes,
            call_s: site.call_spread(),
            rank_s: site.rank_spread(),
        }
    }
}

impl SiteTallies {
    fn call_spread(&self) -> CallSpread {
        let called = || self.ranks.values().filter(|rank| rank.calls > 0);
        CallSpread {
            min: seconds(called().map(|rank| rank.min_ns).min().unwrap_or(0)),
            mean: seconds(self.nanoseconds) / self.calls.max(1) as f64,
            max: seconds(called().map(|rank| rank.max_ns).max().unwrap_or(0)),
        }
    }

    fn rank_spread(&self) -> SiteRankSpread {
        let least = self.ranks.values().min_by_key(|rank| (rank.nanoseconds, rank.rank));
        let most = self.ranks.values().min_by_key(|rank| (std::cmp::Reverse(rank.nanoseconds), rank.rank));
        let Some((least, most)) = least.zip(most) else { return SiteRankSpread::default() };
        SiteRankSpread {
            ranks: self.ranks.len() as u64,
            min: seconds(least.nanoseconds),
            min_rank: least.rank,
            mean: seconds(self.nanoseconds) / self.ranks.len() as f64,
            max: seconds(most.nanoseconds),
            max_rank: most.rank,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::CallSum;

    #[test]
    fn a_call_site_knows_the_ranks_with_the_least_and_the_most_time() {
        let barrier = FunctionId::from_name("MPI_Barrier").unwrap().0;
        let rank = |rank, site, calls, nanoseconds, min_ns, max_ns| RankSiteCalls {
            rank,
            operation: barrier,
            site,
            calls,
            nanoseconds,
            min_ns,
            max_ns,
        };
        // Rank 1 calls at two addresses of one line.
        let mut tally = CallTally {
            by_rank: vec![rank(0, 1, 2, 50, 20, 30), rank(1, 1, 1, 40, 40, 40), rank(1, 2, 1, 60, 60, 60), rank(2, 1, 1, 30, 30, 30)],
            ..CallTally::default()
        };
        tally.sites.insert((barrier, 1), CallSum { calls: 4, nanoseconds: 120, bytes: 0 });
        tally.sites.insert((barrier, 2), CallSum { calls: 1, nanoseconds: 60, bytes: 0 });
        let sites = call_sites(&tally, |_| SourceLocation::default());
        let [site] = &sites[..] else { panic!("one call site: {sites:?}") };
        assert_eq!((site.calls, site.seconds, site.call_s.min, site.call_s.max), (5, 180e-9, 20e-9, 60e-9));
        let spread = SiteRankSpread { ranks: 3, min: 30e-9, min_rank: 2, mean: 180e-9 / 3.0, max: 100e-9, max_rank: 1 };
        assert_eq!(site.rank_s, spread);
        assert_eq!(site.call_s.mean, 180e-9 / 5.0);
    }
}
