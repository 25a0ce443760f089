//! What the rules may look at, and the questions that several of them ask.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_mpi::Role;
use sintonia_recording::Recording;

use super::clues::{Calls, Clues, Load};
use super::replay::{Change, Takes};
use crate::Place;
use crate::findings::Findings;
use crate::segment::Segment;

/// What a rule may look at.
pub struct Evidence<'a> {
    pub recording: &'a Recording,
    pub findings: &'a Findings,
}

/// The waits of some kinds at a site.
#[derive(Default)]
pub struct Waiting {
    /// Nanoseconds that each rank waited.
    pub ranks: BTreeMap<u32, i64>,
    /// Nanoseconds that each rank was waited for.
    pub causes: BTreeMap<u32, i64>,
}

impl Waiting {
    pub fn ns(&self) -> i64 {
        self.ranks.values().sum()
    }

    /// The longest that any rank waited.
    pub fn most_ns(&self) -> i64 {
        self.ranks.values().copied().max().unwrap_or(0)
    }

    /// The rank that was waited for most.
    pub fn main_cause(&self) -> Option<u32> {
        largest(&self.causes)
    }
}

/// The rank, or the site, with the most of something; of equals the first.
pub fn largest(ranks: &BTreeMap<u32, i64>) -> Option<u32> {
    ranks.iter().max_by_key(|(rank, ns)| (**ns, std::cmp::Reverse(**rank))).map(|(rank, _)| *rank)
}

/// The ranks that count: those with more than a tenth of the mean of all that have something.
pub fn main_ranks(ranks: &BTreeMap<u32, i64>) -> Vec<u32> {
    let worth = ranks.values().sum::<i64>() / (10 * ranks.len().max(1) as i64);
    ranks.iter().filter(|(_, ns)| **ns > worth).map(|(rank, _)| *rank).collect()
}

impl<'a> Evidence<'a> {
    pub fn new(recording: &'a Recording, findings: &'a Findings) -> Evidence<'a> {
        Evidence { recording, findings }
    }

    pub fn clues(&self) -> &'a Clues {
        &self.findings.clues
    }

    pub fn run_ns(&self) -> i64 {
        self.clues().run_ns
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.recording.header.size
    }

    pub fn place(&self, site: u32) -> Place {
        Place::of(self.recording.site(site))
    }

    /// Where a segment is, in words.
    pub fn between(&self, segment: Segment) -> String {
        let (from, to) = (self.place(segment.from), self.place(segment.to));
        if from == to { format!("between one call at {to} and the next") } else { format!("between {from} and {to}") }
    }

    /// How long each rank computed in a segment, as far as that is known.
    pub fn loads(&self, segment: Segment) -> BTreeMap<u32, Load> {
        let all = self.clues().loads.get(&segment).into_iter().flatten();
        all.filter(|(rank, _)| !self.findings.gaps.patchy.contains(rank)).map(|(rank, load)| (*rank, *load)).collect()
    }

    /// The segments in which any rank computed.
    pub fn segments(&self) -> impl Iterator<Item = Segment> {
        self.clues().loads.keys().copied()
    }

    /// Nanoseconds of a segment on the critical path.
    pub fn on_path(&self, segment: Segment) -> i64 {
        let path = self.findings.path.segments.iter();
        path.filter(|(part, _)| self.clues().sites.of_segment(**part) == segment).map(|(_, ns)| *ns).sum()
    }

    /// What the segments of a rank made others wait, in nanoseconds.
    pub fn costs(&self, rank: u32) -> BTreeMap<Segment, i64> {
        let mut costs = BTreeMap::new();
        for ((segment, _), cost) in self.findings.costs.iter().filter(|((_, late), _)| *late == rank) {
            *costs.entry(self.clues().sites.of_segment(*segment)).or_default() += cost.direct_ns + cost.passed_on_ns;
        }
        costs
    }

    /// Waits of some kinds by site.
    pub fn waits(&self, kinds: &[&str]) -> BTreeMap<u32, Waiting> {
        let mut all: BTreeMap<u32, Waiting> = BTreeMap::new();
        for waits in self.findings.waits.iter().filter(|waits| kinds.contains(&waits.pattern.kind)) {
            let waiting = all.entry(self.clues().sites.of(waits.site)).or_default();
            waits.ranks.iter().for_each(|(rank, waited)| *waiting.ranks.entry(*rank).or_default() += waited.ns);
            waits.causes.iter().for_each(|(rank, ns)| *waiting.causes.entry(*rank).or_default() += ns);
        }
        all
    }

    /// The host of each rank; none of the known ones for a rank that left nothing.
    pub fn hosts_by_rank(&self) -> Vec<u32> {
        hosts(self.recording)
    }

    /// The ranks on each host.
    pub fn ranks_by_host(&self) -> BTreeMap<u32, Vec<u32>> {
        let mut hosts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        self.recording.header.ranks.iter().for_each(|rank| hosts.entry(rank.host).or_default().push(rank.rank));
        hosts
    }

    pub fn host_name(&self, host: u32) -> String {
        self.recording.header.hosts.get(host as usize).cloned().unwrap_or_else(|| "an unknown host".into())
    }

    /// The hosts of some ranks.
    pub fn host_names(&self, ranks: &[u32]) -> Vec<String> {
        let hosts: BTreeSet<u32> = ranks.iter().filter_map(|rank| Some(self.recording.header.rank(*rank)?.host)).collect();
        hosts.into_iter().map(|host| self.host_name(host)).collect()
    }

    /// The calls by site whose function has such a role.
    pub fn calls(&self, role: impl Fn(Role) -> bool) -> impl Iterator<Item = (u32, &'a Calls)> {
        self.clues().calls.iter().filter(move |(_, calls)| role(calls.operation.role())).map(|(site, calls)| (*site, calls))
    }

    /// These segments at their mean on such ranks.
    pub fn evened(&self, segments: impl Iterator<Item = Segment>, on: impl Fn(u32) -> bool) -> Change {
        let mut changed = BTreeMap::new();
        for segment in segments {
            let loads = self.loads(segment);
            let mean = mean(&loads);
            let takes = |load: &Load| match load.ns() {
                0 => Takes::Each(mean as f64 * 1e-9 / load.visits.max(1) as f64),
                own => Takes::Times(mean as f64 / own as f64),
            };
            changed.extend(loads.iter().filter(|(rank, _)| on(**rank)).map(|(rank, load)| ((segment, *rank), takes(load))));
        }
        Change::Computes(changed)
    }
}

/// The mean over the ranks that were there, in nanoseconds.
pub fn mean(loads: &BTreeMap<u32, Load>) -> i64 {
    loads.values().map(Load::ns).sum::<i64>() / loads.len().max(1) as i64
}

/// The rank that computed longest, and how long.
pub fn busiest(loads: &BTreeMap<u32, Load>) -> Option<(u32, i64)> {
    let sums: BTreeMap<u32, i64> = loads.iter().map(|(rank, load)| (*rank, load.ns())).collect();
    largest(&sums).map(|rank| (rank, sums[&rank]))
}

/// The host of each rank of a recording; none of the known ones for a rank that left nothing.
pub fn hosts(recording: &Recording) -> Vec<u32> {
    let mut hosts = vec![u32::MAX; recording.header.size];
    for rank in &recording.header.ranks {
        if let Some(host) = hosts.get_mut(rank.rank as usize) {
            *host = rank.host;
        }
    }
    hosts
}
