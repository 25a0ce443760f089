//! The context in which rules are evaluated, with queries shared by several rules.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_mpi::FunctionRole;
use sintonia_program::samples::SampleActivity;
use sintonia_recording::Recording;

use super::inputs::{AdviceInputs, SegmentLoad, SiteCalls};
use super::phrases::{format_ns, format_share};
use super::what_if::{DurationChange, WhatIfChange};
use crate::SourceLocation;
use crate::findings::RunFindings;
use crate::segment::Segment;

/// A rank that gets more than this multiple of its work does not execute it where it executed what it had.
const MAX_SCALE: i64 = 8;

/// Everything a rule can query.
pub(crate) struct RuleContext<'a> {
    pub recording: &'a Recording,
    pub findings: &'a RunFindings,
    pub inputs: &'a AdviceInputs,
    /// Nanoseconds of computation in each segment on the critical path.
    critical_path: BTreeMap<Segment, i64>,
    /// Delay costs of the computation in the segments of each rank, in nanoseconds.
    delay_costs: BTreeMap<u32, BTreeMap<Segment, i64>>,
}

/// The waits of some patterns at a site.
#[derive(Default)]
pub(crate) struct CombinedWaits {
    /// Wait time of each rank in nanoseconds.
    pub ranks: BTreeMap<u32, i64>,
    /// Time each rank was waited for, in nanoseconds.
    pub causes: BTreeMap<u32, i64>,
    /// The longest wait of each rank, summed up.
    pub longest_ns: i64,
}

impl CombinedWaits {
    pub(crate) fn ns(&self) -> i64 {
        self.ranks.values().sum()
    }

    /// The longest wait time of any rank.
    pub(crate) fn max_ns(&self) -> i64 {
        self.ranks.values().copied().max().unwrap_or(0)
    }

    /// Whether most of it is a single wait of each rank.
    pub(crate) fn happens_once(&self) -> bool {
        2 * self.longest_ns > self.ns()
    }

    /// The rank that was waited for most.
    pub(crate) fn main_cause(&self) -> Option<u32> {
        key_of_max(&self.causes)
    }
}

/// The key with the largest value; the first on a tie.
pub(crate) fn key_of_max(ranks: &BTreeMap<u32, i64>) -> Option<u32> {
    ranks.iter().max_by_key(|(rank, ns)| (**ns, std::cmp::Reverse(**rank))).map(|(rank, _)| *rank)
}

impl<'a> RuleContext<'a> {
    pub(crate) fn new(recording: &'a Recording, findings: &'a RunFindings, inputs: &'a AdviceInputs) -> RuleContext<'a> {
        let mut critical_path = BTreeMap::new();
        for (segment, ns) in &findings.critical_path.segments {
            let no_core_ns = findings.critical_path.no_core.segments.get(segment).unwrap_or(&0);
            *critical_path.entry(inputs.sites.representative_segment(*segment)).or_default() += ns - no_core_ns;
        }
        let mut delay_costs: BTreeMap<u32, BTreeMap<Segment, i64>> = BTreeMap::new();
        for ((segment, late), cost) in &findings.delay_costs {
            let costs = delay_costs.entry(*late).or_default();
            *costs.entry(inputs.sites.representative_segment(*segment)).or_default() += cost.computation_ns();
        }
        RuleContext { recording, findings, inputs, critical_path, delay_costs }
    }

    pub(crate) fn run_ns(&self) -> i64 {
        self.inputs.run_ns
    }

    /// Number of ranks.
    pub(crate) fn size(&self) -> usize {
        self.recording.header.size
    }

    pub(crate) fn source_location(&self, site: u32) -> SourceLocation {
        SourceLocation::of(self.recording, site)
    }

    /// Describes the source range of a segment.
    pub(crate) fn describe_segment(&self, segment: Segment) -> String {
        let (from, to) = (self.source_location(segment.from), self.source_location(segment.to));
        if from == to { format!("between one call at {to} and the next") } else { format!("between {from} and {to}") }
    }

    /// Computation of each rank in a segment, without ranks with missing calls.
    pub(crate) fn loads(&self, segment: Segment) -> BTreeMap<u32, SegmentLoad> {
        let all = self.inputs.loads.get(&segment).into_iter().flatten();
        all.filter(|(rank, _)| !self.findings.gaps.missing_calls.contains(rank)).map(|(rank, load)| (*rank, *load)).collect()
    }

    /// Computation of one rank in a segment; `None` if it did not execute it, or if calls of it are missing.
    pub(crate) fn load(&self, segment: Segment, rank: u32) -> Option<&SegmentLoad> {
        self.inputs.loads.get(&segment)?.get(&rank).filter(|_| !self.findings.gaps.missing_calls.contains(&rank))
    }

    /// Nanoseconds on a processor that samples found in a segment of a rank; `None` if the rank was not sampled.
    pub(crate) fn sampled_ns(&self, segment: Segment, rank: u32) -> Option<i64> {
        self.recording.header.rank(rank)?.sampling?;
        let is_here = |own: Option<Segment>| own.map(|own| self.inputs.sites.representative_segment(own)) == Some(segment);
        let samples = self.findings.samples.iter();
        let here = samples.filter(|(stack, _)| stack.rank == rank && stack.activity != SampleActivity::Mpi && is_here(stack.segment));
        Some(here.map(|(_, ns)| *ns as i64).sum())
    }

    /// The segments in which any rank computed.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Segment> {
        self.inputs.loads.keys().copied()
    }

    /// Nanoseconds of computation in a segment on the critical path.
    pub(crate) fn critical_path_ns(&self, segment: Segment) -> i64 {
        self.critical_path.get(&segment).copied().unwrap_or(0)
    }

    /// Delay costs of the computation in the segments of a rank, in nanoseconds.
    pub(crate) fn delay_costs(&self, rank: u32) -> impl Iterator<Item = (Segment, i64)> {
        self.delay_costs.get(&rank).into_iter().flatten().map(|(segment, ns)| (*segment, *ns))
    }

    /// The segment of a rank with the largest delay costs, and those; the last of equal ones. By rank, where there are any.
    pub(crate) fn main_delays(&self) -> BTreeMap<u32, (Segment, i64)> {
        let main = |rank: &u32| Some((*rank, self.delay_costs(*rank).max_by_key(|(segment, ns)| (*ns, *segment))?));
        self.delay_costs.keys().filter_map(main).collect()
    }

    /// Waits of some patterns by site.
    pub(crate) fn waits(&self, kinds: &[&str]) -> BTreeMap<u32, CombinedWaits> {
        let mut all: BTreeMap<u32, CombinedWaits> = BTreeMap::new();
        for waits in self.findings.waits.iter().filter(|waits| kinds.contains(&waits.pattern.kind)) {
            let waiting = all.entry(self.inputs.sites.representative(waits.site)).or_default();
            waits.ranks.iter().for_each(|(rank, waited)| *waiting.ranks.entry(*rank).or_default() += waited.ns);
            waits.causes.iter().for_each(|(rank, ns)| *waiting.causes.entry(*rank).or_default() += ns);
            waiting.longest_ns += waits.ranks.values().map(|waited| waited.longest_ns).sum::<i64>();
        }
        all
    }

    /// How long is waited for something: in total, and on the rank that waits most.
    pub(crate) fn describe_waiting(&self, waiting: &CombinedWaits, awaited: &str) -> String {
        let (all, most) = (waiting.ns(), waiting.max_ns());
        let share = format_share(most, self.run_ns());
        format!("{} of waiting {awaited}, {} on the rank that waits most ({share}).", format_ns(all), format_ns(most))
    }

    /// The host of each rank; `u32::MAX` for a rank without data.
    pub(crate) fn host_by_rank(&self) -> Vec<u32> {
        host_by_rank(self.recording)
    }

    /// The ranks on each host.
    pub(crate) fn ranks_by_host(&self) -> BTreeMap<u32, Vec<u32>> {
        let mut hosts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        self.recording.header.ranks.iter().for_each(|rank| hosts.entry(rank.host).or_default().push(rank.rank));
        hosts
    }

    pub(crate) fn host_name(&self, host: u32) -> String {
        self.recording.header.hosts.get(host as usize).cloned().unwrap_or_else(|| "an unknown host".into())
    }

    /// The hosts of some ranks.
    pub(crate) fn host_names(&self, ranks: &[u32]) -> Vec<String> {
        let hosts: BTreeSet<u32> = ranks.iter().filter_map(|rank| Some(self.recording.header.rank(*rank)?.host)).collect();
        hosts.into_iter().map(|host| self.host_name(host)).collect()
    }

    /// The calls by site whose function has a matching role.
    pub(crate) fn calls(&self, role: impl Fn(FunctionRole) -> bool) -> impl Iterator<Item = (u32, &'a SiteCalls)> {
        self.inputs.calls.iter().filter(move |(_, calls)| role(calls.operation.role())).map(|(site, calls)| (*site, calls))
    }

    /// A change that sets these segments to their mean on matching ranks.
    pub(crate) fn balanced(&self, segments: impl Iterator<Item = Segment>, on: impl Fn(u32) -> bool) -> WhatIfChange {
        let mut changed = BTreeMap::new();
        for segment in segments {
            let loads = self.loads(segment);
            let mean = mean_load(&loads);
            // A rank that gets nearly all of its work from others executes it like them, not in proportion to what little it had.
            let takes = |load: &SegmentLoad| match load.ns() {
                own if MAX_SCALE * own < mean => DurationChange::Fixed(mean as f64 * 1e-9 / load.visits.max(1) as f64),
                own => DurationChange::Scale(mean as f64 / own.max(1) as f64),
            };
            changed.extend(loads.iter().filter(|(rank, _)| on(**rank)).map(|(rank, load)| ((segment, *rank), takes(load))));
        }
        WhatIfChange::Computation(changed)
    }

    /// A change by which every execution of these segments takes equally long, on all ranks; each rank executes them as often as before.
    pub(crate) fn evened(&self, segments: impl Iterator<Item = Segment>) -> WhatIfChange {
        let mut changed = BTreeMap::new();
        for segment in segments {
            let loads = self.loads(segment);
            let mean_s = mean_load(&loads) as f64 * 1e-9;
            let fixed = |load: &SegmentLoad| DurationChange::Fixed(mean_s / load.visits.max(1) as f64);
            changed.extend(loads.iter().map(|(rank, load)| ((segment, *rank), fixed(load))));
        }
        WhatIfChange::Computation(changed)
    }
}

/// The mean over the ranks that executed it, in nanoseconds.
pub(crate) fn mean_load(loads: &BTreeMap<u32, SegmentLoad>) -> i64 {
    loads.values().map(SegmentLoad::ns).sum::<i64>() / loads.len().max(1) as i64
}

/// The rank that computed longest, and its time.
pub(crate) fn busiest_rank(loads: &BTreeMap<u32, SegmentLoad>) -> Option<(u32, i64)> {
    let sums: BTreeMap<u32, i64> = loads.iter().map(|(rank, load)| (*rank, load.ns())).collect();
    key_of_max(&sums).map(|rank| (rank, sums[&rank]))
}

/// The host of each rank of a recording; `u32::MAX` for a rank without data.
pub(crate) fn host_by_rank(recording: &Recording) -> Vec<u32> {
    let mut hosts = vec![u32::MAX; recording.header.size];
    for rank in &recording.header.ranks {
        if let Some(host) = hosts.get_mut(rank.rank as usize) {
            *host = rank.host;
        }
    }
    hosts
}
