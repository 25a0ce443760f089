//! Assembles a machine from the measurements of several launches: medians, pieces, intervals.
//!
//! Repetitions within a launch share its placement and memory, so their spread does not predict the next launch. Every interval therefore
//! includes the variation between launches.

mod disturbance;
mod left_out;
mod levels;
mod shared_link;
mod timing;

use std::collections::{BTreeMap, BTreeSet};

use sintonia_fit::sample::{DEFAULT_CONFIDENCE, bootstrap_median, median};

use super::binding::is_oversubscribed;
use super::collective_growth::growth;
use super::core_wait::LIMITED_SHARE;
use super::protocol_threshold::{ProtocolThresholds, SizeLimit};
use super::{BenchQuantity, BenchRecord, BenchSample, CostMode, HostUse, ProcessBinding};
use crate::{
    ArithmeticCosts, ArithmeticOp, CollectiveCost, CollectiveKind, CollectiveTiming, Machine, MachineMetadata, MemoryAccess, MessageMetric,
    Named, NetworkCosts, NodeLayout, NodeType, OperationCost, OperationTiming, OverlapPoint, PairClass, UncertainValue,
};
use disturbance::{DisturbanceEvidence, without_contradictions};
use timing::{SamplesBySize, fit_timing};

/// What one launch measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LaunchMeasurements {
    library: Option<String>,
    bindings: Vec<ProcessBinding>,
    samples: BTreeMap<(BenchQuantity, u64), BenchSample>,
    left_out: BTreeSet<(BenchQuantity, u64)>,
    thresholds: BTreeMap<PairClass, ProtocolThresholds>,
    host_use: Vec<HostUse>,
    complete: bool,
}

impl LaunchMeasurements {
    /// Adds one record of the launch.
    pub fn add_record(&mut self, line: BenchRecord) {
        match line {
            BenchRecord::Hello { library, places: bindings } => (self.library, self.bindings) = (library, bindings),
            BenchRecord::Sample(sample) => {
                self.samples.insert((sample.quantity, sample.bytes), sample);
            }
            BenchRecord::LeftOut(quantity, bytes) => {
                self.left_out.insert((quantity, bytes));
            }
            BenchRecord::ProcessorShares(shares) => {
                let bindings = self.bindings.iter_mut().zip(shares);
                bindings.for_each(|(binding, share)| binding.processor_share = binding.processor_share.max(share));
            }
            BenchRecord::HostUse(used) => self.host_use.push(used),
            BenchRecord::Thresholds(class, thresholds) => {
                self.thresholds.insert(class, thresholds);
            }
            BenchRecord::Done(_) | BenchRecord::Alone => {}
            BenchRecord::End => self.complete = true,
        }
    }

    /// Whether the launch has reported anything.
    pub fn has_data(&self) -> bool {
        !self.bindings.is_empty()
    }

    /// Whether messages between processes have been measured.
    pub fn has_messages(&self) -> bool {
        self.samples.keys().any(|(quantity, _)| matches!(quantity, BenchQuantity::Message { .. }))
    }

    /// Whether the launch ran to its end.
    pub fn is_complete(&self) -> bool {
        self.complete
    }
}

/// No launch reported anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nothing was measured")]
pub struct NothingMeasured;

/// Assembles a machine from launches; `metadata` holds what they cannot know.
pub fn assemble(launches: &[LaunchMeasurements], metadata: MachineMetadata) -> Result<Machine, NothingMeasured> {
    let first = launches.first().filter(|launch| launch.has_data()).ok_or(NothingMeasured)?;
    let sample_set = SampleSet::from_launches(launches);
    let mut notes = metadata.notes.clone();
    if cfg!(debug_assertions) {
        notes.push("measured by an unoptimised build: costs of computation are meaningless".into());
    }
    let mut nodes = nodes(&first.bindings, &sample_set, &mut notes);
    nodes.iter_mut().for_each(|node| node.cpu_quota = cpu_quota(launches, node, &mut notes));
    notes.extend(nodes.iter().filter_map(|node| implausible(&node.kind, &node.compute)));
    let mut evidence = DisturbanceEvidence::default();
    let networks = networks(launches, &sample_set, &mut evidence, &mut notes);
    let collective_costs = collective_costs(&sample_set);
    let topology = shared_link::topology(&sample_set, nodes.iter().map(|node| node.count).sum(), &mut notes);
    notes.extend(left_out::notes(launches));
    evidence.add_samples(launches.iter().flat_map(|launch| launch.samples.values()));
    evidence.add_hosts(launches.iter().flat_map(|launch| &launch.host_use));
    notes.extend(evidence.notes());
    let metadata = MachineMetadata {
        mpi: first.library.clone(),
        processes: Some(first.bindings.len() as u64),
        launches: Some(launches.len() as u64),
        oversubscribed: is_oversubscribed(&first.bindings),
        confidence: Some(DEFAULT_CONFIDENCE),
        disturbance: Some(evidence.relative()),
        notes,
        ..metadata
    };
    Ok(Machine { metadata, nodes, networks, collective_costs, topology, ..Machine::default() })
}

/// Samples grouped by quantity and size.
struct SampleSet<'a>(BTreeMap<BenchQuantity, BTreeMap<u64, Vec<&'a BenchSample>>>);

impl<'a> SampleSet<'a> {
    fn from_launches(launches: &'a [LaunchMeasurements]) -> SampleSet<'a> {
        SampleSet::from_samples(launches.iter().flat_map(|launch| launch.samples.values()))
    }

    fn from_samples(samples: impl Iterator<Item = &'a BenchSample>) -> SampleSet<'a> {
        let mut sample_set: BTreeMap<BenchQuantity, BTreeMap<u64, Vec<&BenchSample>>> = BTreeMap::new();
        for sample in samples {
            sample_set.entry(sample.quantity).or_default().entry(sample.bytes).or_default().push(sample);
        }
        SampleSet(sample_set)
    }

    fn points(&self, quantity: BenchQuantity) -> Option<&SamplesBySize<'a>> {
        self.0.get(&quantity)
    }

    /// One value for each size; a single one where the quantity has no size.
    fn figures(&self, quantity: BenchQuantity) -> Vec<(u64, UncertainValue)> {
        let points = self.0.get(&quantity).into_iter().flatten();
        points.filter_map(|(bytes, samples)| Some((*bytes, median_over_launches(samples)?))).collect()
    }
}

/// Median over launches, with its interval.
fn median_over_launches(samples: &[&BenchSample]) -> Option<UncertainValue> {
    let kept: Vec<Vec<f64>> = samples.iter().map(|sample| sample.kept.clone()).collect();
    let (middle, range) = bootstrap_median(&kept, DEFAULT_CONFIDENCE).ok()?;
    // A single launch knows only its own interval; with too few samples for that, the range of all samples.
    let own = || samples.iter().find_map(|sample| sample.interval).or_else(|| Some([*kept.first()?.first()?, *kept.first()?.last()?]));
    let [low, high] = range.map(|range| [range.low, range.high]).or_else(own)?;
    // The bootstrap extrapolates from few launches, beyond what is possible.
    Some(UncertainValue::from_measurement(low, middle, high).ok()?.clamped(0.0, f64::MAX))
}

fn nodes(bindings: &[ProcessBinding], sample_set: &SampleSet, notes: &mut Vec<String>) -> Vec<NodeType> {
    let mut kinds: Vec<&ProcessBinding> = Vec::new();
    for binding in bindings {
        if kinds.iter().all(|known| known.node_type() != binding.node_type()) {
            kinds.push(binding);
        }
    }
    let node = |(index, place): (usize, &&ProcessBinding)| {
        let hosts = hosts_of_type(bindings, place);
        let access =
            MemoryAccess::ALL.iter().map(|access| (*access, sample_set.figures(BenchQuantity::Memory { node: index, access: *access })));
        let memory = levels::memory_levels(&place.caches, &access.collect(), notes);
        if hosts.is_empty() {
            notes.push(format!("{}: cores of different types share this host, and only those of the first process count", place.host));
            return None;
        }
        Some(NodeType {
            kind: place.processor.clone(),
            count: hosts.len() as u64,
            cores: place.cores as u64,
            cpu_quota: None,
            speed: UncertainValue::ONE,
            layout: NodeLayout { hosts: hosts.into_iter().map(str::to_owned).collect(), ..NodeLayout::default() },
            compute: arithmetic_costs(index, sample_set),
            java: ArithmeticCosts::new(),
            memory,
        })
    };
    kinds.iter().enumerate().filter_map(node).collect()
}

/// The processors' worth of time that the processes of a node had, if it was less than they could use, nothing else used the processors,
/// and no host of the type had more.
fn cpu_quota(launches: &[LaunchMeasurements], node: &NodeType, notes: &mut Vec<String>) -> Option<f64> {
    let hosts = || node.layout.hosts.iter().filter_map(|host| Some((host, host_share(launches, host)?)));
    let quota = hosts().filter(|(_, share)| share.is_limited).map(|(_, share)| share.processors).max_by(f64::total_cmp)?;
    let beyond = hosts().find(|(_, share)| !share.is_limited && share.processors > quota);
    if let Some((host, share)) = beyond {
        let had = share.processors;
        notes.push(format!("{}: a CPU quota of {quota} is not that of the type, since {host} had {had} processors", node.kind));
        return None;
    }
    Some(quota)
}

/// What the processes of a host had while all were busy.
struct HostShare {
    processors: f64,
    /// Whether it was less than they could use.
    is_limited: bool,
}

/// The share of the least disturbed launch, of those that can tell: what else used the host is known at the end of a launch.
fn host_share(launches: &[LaunchMeasurements], host: &str) -> Option<HostShare> {
    let is_shared = |launch: &&LaunchMeasurements| {
        is_oversubscribed(&launch.bindings) || launch.host_use.iter().any(|used| used.others > disturbance::MUCH_USE)
    };
    let of_launch = |launch: &LaunchMeasurements| {
        let shares: Vec<f64> = launch.bindings.iter().filter(|place| place.host == host).map(|place| place.processor_share).collect();
        let processors = (shares.iter().sum::<f64>() * 1e3).round() / 1e3;
        HostShare { processors, is_limited: processors < LIMITED_SHARE * shares.len() as f64 }
    };
    let shares = launches.iter().filter(|launch| launch.is_complete() && !is_shared(launch)).map(of_launch);
    shares.filter(|share| share.processors > 0.0).max_by(|a, b| a.processors.total_cmp(&b.processors))
}

/// The hosts of a node type, each once. A host with cores of several types belongs to that of its first process.
fn hosts_of_type<'a>(bindings: &'a [ProcessBinding], kind: &ProcessBinding) -> Vec<&'a str> {
    let mut first_of_host: BTreeMap<&str, &ProcessBinding> = BTreeMap::new();
    for binding in bindings {
        first_of_host.entry(&binding.host).or_insert(binding);
    }
    first_of_host.into_iter().filter(|(_, first)| first.node_type() == kind.node_type()).map(|(host, _)| host).collect()
}

/// Costs of arithmetic, as far as measured. Local variables are free: optimised code keeps them in registers.
fn arithmetic_costs(node: usize, sample_set: &SampleSet) -> ArithmeticCosts {
    let mut costs = ArithmeticCosts::new();
    for &of in Named::ALL {
        for &what in Named::ALL {
            let one = |manner| Some(sample_set.figures(BenchQuantity::Compute { node, of, what, manner }).first()?.1);
            if let (Some(latency), Some(throughput)) = (one(CostMode::Latency), one(CostMode::Throughput)) {
                costs.entry(of).or_default().insert(what, OperationCost { latency, throughput });
            }
        }
    }
    let free = OperationCost { latency: UncertainValue::ZERO, throughput: UncertainValue::ZERO };
    costs.values_mut().for_each(|costs| costs.extend([(ArithmeticOp::Assign, free), (ArithmeticOp::Access, free)]));
    costs
}

/// Costs of arithmetic, from the samples of several launches.
pub(super) fn costs_from_samples(launches: &[Vec<BenchSample>]) -> ArithmeticCosts {
    arithmetic_costs(0, &SampleSet::from_samples(launches.iter().flatten()))
}

/// Cost of a message by its size, from the samples of several launches.
pub(super) fn message_timing(class: PairClass, what: MessageMetric, launches: &[Vec<BenchSample>]) -> Option<OperationTiming> {
    fit_timing(SampleSet::from_samples(launches.iter().flatten()).points(BenchQuantity::Message { class, what })?, &[])
}

/// Notes throughput costs far above the latency costs, which only a disturbance can cause.
pub fn implausible(kind: &str, costs: &ArithmeticCosts) -> Option<String> {
    const MUCH: f64 = 1.5;
    let costs = costs.iter().flat_map(|(of, costs)| costs.iter().map(move |(what, cost)| (of, what, cost)));
    let odd = costs.filter(|(_, _, cost)| cost.throughput.middle() > MUCH * cost.latency.middle());
    let names: Vec<String> = odd.map(|(of, what, _)| format!("{} {}", of.name(), what.name())).collect();
    let said = || format!("{kind}: the throughput cost is above the latency cost, so the measurement was disturbed: {}", names.join(", "));
    (!names.is_empty()).then(said)
}

fn networks(
    launches: &[LaunchMeasurements],
    sample_set: &SampleSet,
    evidence: &mut DisturbanceEvidence,
    notes: &mut Vec<String>,
) -> BTreeMap<PairClass, NetworkCosts> {
    let mut networks = BTreeMap::new();
    for &class in PairClass::ALL {
        let found: Vec<ProtocolThresholds> = launches.iter().filter_map(|launch| launch.thresholds.get(&class).copied()).collect();
        let mut of_launches = |name: &str, of: fn(&ProtocolThresholds) -> SizeLimit| {
            agreed_threshold(&found.iter().map(of).collect::<Vec<_>>(), &format!("{}: the {name} threshold", class.name()), notes)
        };
        let eager = of_launches("eager", |found| found.eager);
        let unattended = of_launches("unattended", |found| found.unattended);
        let detached = of_launches("detached", |found| found.detached);
        let breaks: Vec<u64> = [eager, unattended].into_iter().flatten().collect();
        let thresholds: Vec<u64> = [eager, unattended, detached].into_iter().flatten().collect();
        let mut network =
            NetworkCosts { eager_bytes: eager, unattended_bytes: unattended, detached_bytes: detached, ..NetworkCosts::default() };
        let points =
            MessageMetric::ALL.iter().filter_map(|&what| Some((what, sample_set.points(BenchQuantity::Message { class, what })?.clone())));
        for (what, points) in without_contradictions(class, &thresholds, points.collect(), evidence) {
            let breaks = if follows_protocol(what) { breaks.as_slice() } else { &[] };
            network.messages.extend(fit_timing(&points, breaks).map(|timing| (what, timing)));
        }
        let shares = sample_set.figures(BenchQuantity::Overlap { class }).into_iter();
        network.overlap = shares.map(|(bytes, share)| OverlapPoint { bytes, share: share.clamped(0.0, 1.0) }).collect();
        if !network.messages.is_empty() {
            networks.insert(class, network);
        }
    }
    networks
}

/// Whether the time of a message changes where its protocol does; synchronous sends always use the same protocol.
fn follows_protocol(what: MessageMetric) -> bool {
    what != MessageMetric::SynchronousSend
}

/// The median of the thresholds that launches found. Disagreement is noted.
fn agreed_threshold(found: &[SizeLimit], name: &str, notes: &mut Vec<String>) -> Option<u64> {
    let mut sorted: Vec<SizeLimit> = found.iter().copied().filter(|limit| *limit != SizeLimit::NotFound).collect();
    sorted.sort_unstable();
    let Some(&middle) = sorted.get(sorted.len() / 2) else {
        notes.extend((!found.is_empty()).then(|| format!("{name} was not found for lack of time")));
        return None;
    };
    let text = |limit: &SizeLimit| limit.bytes().map_or("above all sizes".into(), |bytes| bytes.to_string());
    if sorted.first() != sorted.last() {
        notes.push(format!("{name} differed from launch to launch: {}", sorted.iter().map(text).collect::<Vec<_>>().join(", ")));
    } else if middle == SizeLimit::AboveAll {
        notes.push(format!("{name} is above all sizes that were tried"));
    }
    middle.bytes()
}

fn collective_costs(sample_set: &SampleSet) -> BTreeMap<CollectiveKind, CollectiveCost> {
    let mut groups = BTreeMap::new();
    for &what in CollectiveKind::ALL {
        let sizes = sample_set.0.keys().filter_map(|quantity| match quantity {
            BenchQuantity::Group { what: other, processes } if *other == what => Some(*processes),
            _ => None,
        });
        let of = |processes: u64| Some((processes, sample_set.points(BenchQuantity::Group { what, processes })?));
        let measured: Vec<(u64, &SamplesBySize)> = sizes.filter_map(of).collect();
        let at: Vec<CollectiveTiming> = measured
            .iter()
            .filter_map(|(processes, points)| Some(CollectiveTiming { processes: *processes, timing: fit_timing(points, &[])? }))
            .collect();
        if let Some(largest) = at.last() {
            let ratios: Vec<(u64, f64)> =
                at.iter().filter_map(|at| Some((at.processes, timing_ratio(&at.timing, &largest.timing)?))).collect();
            groups.insert(what, CollectiveCost { growth: growth(what, &ratios), timings: at });
        }
    }
    groups
}

/// The median ratio of two timings over all sizes.
fn timing_ratio(one: &OperationTiming, other: &OperationTiming) -> Option<f64> {
    let [least, most] = one.measured?.bytes;
    let sizes = std::iter::successors(Some(least.max(1)), |bytes| Some(bytes * 2)).take_while(|bytes| *bytes <= most.max(1));
    let ratios: Vec<f64> = sizes.map(|bytes| one.pieces.at(bytes as f64)[1] / other.pieces.at(bytes as f64)[1]).collect();
    median(&ratios).ok().filter(|ratio| *ratio > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn implausible_arithmetic_is_noted() {
        let cost = |latency: f64, throughput: f64| {
            let [latency, throughput] = [latency, throughput].map(|seconds| UncertainValue::exact(seconds).unwrap());
            OperationCost { latency, throughput }
        };
        let costs = BTreeMap::from([(ArithmeticOp::Add, cost(1e-9, 0.2e-9)), (ArithmeticOp::Divide, cost(1e-9, 2e-9))]);
        let compute = BTreeMap::from([(crate::NumberType::Int32, costs)]);
        assert!(implausible("PC", &compute).is_some_and(|note| note.ends_with(": int32 divide")));
        assert_eq!(implausible("PC", &ArithmeticCosts::new()), None);
    }

    #[test]
    fn a_threshold_found_by_few_launches_is_ignored() {
        use SizeLimit::{AboveAll, NotFound, UpTo};
        let mut notes = Vec::new();
        assert_eq!(agreed_threshold(&[UpTo(4040), AboveAll, AboveAll], "x", &mut notes), None);
        assert_eq!(notes, ["x differed from launch to launch: 4040, above all sizes, above all sizes"]);
        assert_eq!(agreed_threshold(&[UpTo(4040), AboveAll, UpTo(4040)], "x", &mut notes), Some(4040));
        assert_eq!((agreed_threshold(&[UpTo(1); 3], "x", &mut notes), notes.len()), (Some(1), 2));
        assert_eq!((agreed_threshold(&[AboveAll; 3], "y", &mut notes), notes[2].as_str()), (None, "y is above all sizes that were tried"));
        assert_eq!((agreed_threshold(&[NotFound, UpTo(7)], "z", &mut notes), notes.len()), (Some(7), 3));
        assert_eq!((agreed_threshold(&[NotFound], "z", &mut notes), notes[3].as_str()), (None, "z was not found for lack of time"));
        assert_eq!(agreed_threshold(&[], "z", &mut notes), None);
    }

    #[test]
    fn processes_that_are_stopped_have_a_quota_unless_others_use_the_processors() {
        let quota = |shares: [f64; 2], at_end: [f64; 2], others: f64| quota_of_hosts(["a", "a"], shares, at_end, others).0;
        assert_eq!(quota([0.5, 0.25], [0.5, 0.25], 0.0), Some(0.75));
        assert_eq!(quota([0.98, 0.95], [0.98, 0.95], 0.0), None, "nothing stops them");
        assert_eq!(quota([0.5, 0.25], [0.5, 0.25], 0.4), None, "other programs do");
        assert_eq!(quota([0.5, 0.25], [0.5, 0.5], 0.0), Some(1.0), "the larger share is the less disturbed one");
        assert_eq!(quota([0.5, 0.25], [1.0, 1.0], 0.0), None, "what is over at the end is no quota");
    }

    #[test]
    fn a_quota_is_that_of_all_hosts_of_a_type() {
        assert_eq!(quota_of_hosts(["a", "b"], [0.5, 0.5], [0.5, 0.6], 0.0), (Some(0.6), Vec::new()));
        let (quota, notes) = quota_of_hosts(["a", "b"], [0.5, 1.0], [0.5, 1.0], 0.0);
        assert_eq!(quota, None);
        assert!(notes[0].ends_with(": a CPU quota of 0.5 is not that of the type, since b had 1 processors"), "{notes:?}");
    }

    /// The quota of two processes on these hosts, with their shares of a processor at the beginning and at the end, and the notes.
    fn quota_of_hosts(hosts: [&str; 2], shares: [f64; 2], at_end: [f64; 2], others: f64) -> (Option<f64>, Vec<String>) {
        let place = |core: usize| ProcessBinding {
            host: hosts[core].into(),
            processor_share: shares[core],
            allowed: vec![core],
            ..ProcessBinding::current()
        };
        let mut launch = LaunchMeasurements::default();
        for record in [
            BenchRecord::Hello { library: None, places: [0, 1].map(place).into() },
            BenchRecord::ProcessorShares(at_end.into()),
            BenchRecord::HostUse(HostUse { host: "a".into(), others, stolen: 0.0 }),
            BenchRecord::End,
        ] {
            launch.add_record(record);
        }
        let mut node = crate::bench::local_machine("m").nodes.remove(0);
        node.layout.hosts = hosts.map(str::to_owned).into();
        let mut notes = Vec::new();
        (cpu_quota(&[launch.clone(), launch], &node, &mut notes), notes)
    }

    #[test]
    fn a_host_belongs_to_one_node_type() {
        let on = |host: &str, processor: &str| ProcessBinding {
            host: host.into(),
            processor: processor.into(),
            cores: 4,
            allowed: Vec::new(),
            caches: Vec::new(),
            processor_share: 1.0,
        };
        let bindings = [on("a", "fast"), on("a", "slow"), on("b", "slow")];
        let mut notes = Vec::new();
        let nodes = nodes(&bindings, &SampleSet(BTreeMap::new()), &mut notes);
        let hosts: Vec<(&str, String)> = nodes.iter().map(|node| (node.kind.as_str(), node.layout.hosts.join(" "))).collect();
        assert_eq!(hosts, [("fast", "a".into()), ("slow", "b".into())]);
    }
}
