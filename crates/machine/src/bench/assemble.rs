//! From what several launches measured to a machine: medians, pieces, intervals.
//!
//! Repetitions within a launch share its placement and memory, so their spread says nothing of the next launch. What differs from launch to
//! launch is part of every interval.

mod levels;
mod timing;

use std::collections::BTreeMap;

use sintonia_fit::sample::{CONFIDENCE, median, over_launches};

use super::growth::growth;
use super::place::is_oversubscribed;
use super::threshold::Thresholds;
use super::{Line, Manner, Place, Quantity, Sample};
use crate::{
    About, Access, Arithmetic, AtProcesses, Collective, Cost, Costs, Figure, Group, Layout, Machine, Message, Named, Network, Node,
    Overlap, PairClass, Timing,
};
use timing::{Points, timing};

/// What one launch measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Launch {
    library: Option<String>,
    places: Vec<Place>,
    samples: Vec<Sample>,
    thresholds: BTreeMap<PairClass, Thresholds>,
    complete: bool,
}

impl Launch {
    /// Takes one more line of what a launch says.
    pub fn hear(&mut self, line: Line) {
        match line {
            Line::Hello { library, places } => (self.library, self.places) = (library, places),
            Line::Sample(sample) => self.samples.push(sample),
            Line::Thresholds(class, thresholds) => {
                self.thresholds.insert(class, thresholds);
            }
            Line::Done(_) | Line::Alone => {}
            Line::End => self.complete = true,
        }
    }

    /// Whether anything was heard at all.
    pub fn has_begun(&self) -> bool {
        !self.places.is_empty()
    }

    /// Whether it was heard to its end.
    pub fn is_complete(&self) -> bool {
        self.complete
    }
}

/// There is nothing to make a machine of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nothing was measured")]
pub struct NothingMeasured;

/// Makes a machine of what launches measured; `about` says what they cannot know.
pub fn assemble(launches: &[Launch], about: About) -> Result<Machine, NothingMeasured> {
    let first = launches.first().filter(|launch| launch.has_begun()).ok_or(NothingMeasured)?;
    let heap = Heap::of(launches);
    let mut notes = about.notes.clone();
    if cfg!(debug_assertions) {
        notes.push("measured by a build that is not optimised: what computation costs means nothing".into());
    }
    let nodes = nodes(&first.places, &heap, &mut notes);
    notes.extend(nodes.iter().filter_map(|node| implausible(&node.kind, &node.compute)));
    let networks = networks(launches, &heap, &mut notes);
    let about = About {
        mpi: first.library.clone(),
        processes: Some(first.places.len() as u64),
        launches: Some(launches.len() as u64),
        oversubscribed: is_oversubscribed(&first.places),
        confidence: Some(CONFIDENCE),
        notes,
        ..about
    };
    Ok(Machine { about, nodes, networks, groups: groups(&heap), ..Machine::default() })
}

/// All samples, those of the same thing at the same size together.
struct Heap<'a>(BTreeMap<Quantity, BTreeMap<u64, Vec<&'a Sample>>>);

impl<'a> Heap<'a> {
    fn of(launches: &'a [Launch]) -> Heap<'a> {
        Heap::of_samples(launches.iter().flat_map(|launch| &launch.samples))
    }

    fn of_samples(samples: impl Iterator<Item = &'a Sample>) -> Heap<'a> {
        let mut heap: BTreeMap<Quantity, BTreeMap<u64, Vec<&Sample>>> = BTreeMap::new();
        for sample in samples {
            heap.entry(sample.quantity).or_default().entry(sample.bytes).or_default().push(sample);
        }
        Heap(heap)
    }

    fn points(&self, quantity: Quantity) -> Option<&Points<'a>> {
        self.0.get(&quantity)
    }

    /// A figure that does not depend on a size, or at each size.
    fn figures(&self, quantity: Quantity) -> Vec<(u64, Figure)> {
        let points = self.0.get(&quantity).into_iter().flatten();
        points.filter_map(|(bytes, samples)| Some((*bytes, figure(samples)?))).collect()
    }
}

/// The median over launches, with its interval.
fn figure(samples: &[&Sample]) -> Option<Figure> {
    let kept: Vec<Vec<f64>> = samples.iter().map(|sample| sample.kept.clone()).collect();
    let (middle, range) = over_launches(&kept, CONFIDENCE).ok()?;
    // One launch knows only how sure it is itself; with too few measurements for that, everything it saw may be.
    let own = || samples.iter().find_map(|sample| sample.interval).or_else(|| Some([*kept.first()?.first()?, *kept.first()?.last()?]));
    let [low, high] = range.map(|range| [range.low, range.high]).or_else(own)?;
    Figure::measured(low.max(0.0), middle, high).ok()
}

fn nodes(places: &[Place], heap: &Heap, notes: &mut Vec<String>) -> Vec<Node> {
    let mut kinds: Vec<&Place> = Vec::new();
    for place in places {
        if kinds.iter().all(|known| known.kind() != place.kind()) {
            kinds.push(place);
        }
    }
    let node = |(index, place): (usize, &&Place)| {
        let mut hosts: Vec<&str> = places.iter().filter(|other| other.kind() == place.kind()).map(|place| place.host.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let access = Access::ALL.iter().map(|access| (*access, heap.figures(Quantity::Memory { node: index, access: *access })));
        let memory = levels::levels(&place.caches, &access.collect(), notes);
        Node {
            kind: place.processor.clone(),
            count: hosts.len() as u64,
            cores: place.cores as u64,
            speed: Figure::ONE,
            layout: Layout { hosts: hosts.into_iter().map(str::to_owned).collect(), ..Layout::default() },
            compute: compute(index, heap),
            java: Costs::new(),
            memory,
        }
    };
    kinds.iter().enumerate().map(node).collect()
}

/// What arithmetic costs, as far as it was measured. Local variables are free: optimised code keeps them in registers, and an operation
/// that uses one takes no longer for it.
fn compute(node: usize, heap: &Heap) -> Costs {
    let mut costs = Costs::new();
    for &of in Named::ALL {
        for &what in Named::ALL {
            let one = |manner| Some(heap.figures(Quantity::Compute { node, of, what, manner }).first()?.1);
            if let (Some(latency), Some(throughput)) = (one(Manner::Latency), one(Manner::Throughput)) {
                costs.entry(of).or_default().insert(what, Cost { latency, throughput });
            }
        }
    }
    let free = Cost { latency: Figure::ZERO, throughput: Figure::ZERO };
    costs.values_mut().for_each(|costs| costs.extend([(Arithmetic::Assign, free), (Arithmetic::Access, free)]));
    costs
}

/// What arithmetic costs, by the samples that several launches gave of it.
pub fn costs(launches: &[Vec<Sample>]) -> Costs {
    compute(0, &Heap::of_samples(launches.iter().flatten()))
}

/// What a message costs against its size, by the samples that several launches gave of it.
pub fn message(class: PairClass, what: Message, launches: &[Vec<Sample>]) -> Option<Timing> {
    timing(Heap::of_samples(launches.iter().flatten()).points(Quantity::Message { class, what })?, &[])
}

/// What cannot be: that many operations side by side take longer each than one after another. Something disturbed them.
pub fn implausible(kind: &str, costs: &Costs) -> Option<String> {
    const MUCH: f64 = 1.5;
    let costs = costs.iter().flat_map(|(of, costs)| costs.iter().map(move |(what, cost)| (of, what, cost)));
    let odd = costs.filter(|(_, _, cost)| cost.throughput.middle() > MUCH * cost.latency.middle());
    let names: Vec<String> = odd.map(|(of, what, _)| format!("{} {}", of.name(), what.name())).collect();
    let said =
        || format!("{kind}: many at a time took longer each than one after another, so something disturbed them: {}", names.join(", "));
    (!names.is_empty()).then(said)
}

fn networks(launches: &[Launch], heap: &Heap, notes: &mut Vec<String>) -> BTreeMap<PairClass, Network> {
    let mut networks = BTreeMap::new();
    for &class in PairClass::ALL {
        let found: Vec<Thresholds> = launches.iter().filter_map(|launch| launch.thresholds.get(&class).copied()).collect();
        let mut of_launches = |name: &str, of: fn(&Thresholds) -> Option<u64>| {
            agreed(&found.iter().map(of).collect::<Vec<_>>(), &format!("{}: the {name} threshold", class.name()), notes)
        };
        let eager = of_launches("eager", |found| found.eager);
        let unattended = of_launches("unattended", |found| found.unattended);
        let detached = of_launches("detached", |found| found.detached);
        let breaks: Vec<u64> = [eager, unattended].into_iter().flatten().collect();
        let mut network = Network { eager_bytes: eager, unattended_bytes: unattended, detached_bytes: detached, ..Network::default() };
        for &what in Message::ALL {
            let Some(points) = heap.points(Quantity::Message { class, what }) else { continue };
            let breaks = if follows_protocol(what) { breaks.as_slice() } else { &[] };
            network.messages.extend(timing(points, breaks).map(|timing| (what, timing)));
        }
        network.overlap = heap.figures(Quantity::Overlap { class }).into_iter().map(|(bytes, share)| Overlap { bytes, share }).collect();
        if !network.messages.is_empty() {
            networks.insert(class, network);
        }
    }
    networks
}

/// Whether the time of a message changes where its protocol does: synchronous ones always have the same.
fn follows_protocol(what: Message) -> bool {
    what != Message::SynchronousSend
}

/// A threshold that launches found: the middle one, none being above all sizes. What is not the same in all of them is noted.
fn agreed(found: &[Option<u64>], name: &str, notes: &mut Vec<String>) -> Option<u64> {
    let mut sorted: Vec<u64> = found.iter().map(|size| size.unwrap_or(u64::MAX)).collect();
    sorted.sort_unstable();
    let middle = *sorted.get(sorted.len() / 2)?;
    if sorted.first() != sorted.last() {
        let told: Vec<String> = found.iter().map(|size| size.map_or("beyond all sizes".into(), |size| size.to_string())).collect();
        notes.push(format!("{name} differed from launch to launch: {}", told.join(", ")));
    } else if middle == u64::MAX {
        notes.push(format!("{name} lies beyond all sizes that were tried"));
    }
    Some(middle).filter(|middle| *middle < u64::MAX)
}

fn groups(heap: &Heap) -> BTreeMap<Collective, Group> {
    let mut groups = BTreeMap::new();
    for &what in Collective::ALL {
        let sizes = heap.0.keys().filter_map(|quantity| match quantity {
            Quantity::Group { what: other, processes } if *other == what => Some(*processes),
            _ => None,
        });
        let of = |processes: u64| Some((processes, heap.points(Quantity::Group { what, processes })?));
        let measured: Vec<(u64, &Points)> = sizes.filter_map(of).collect();
        let at: Vec<AtProcesses> = measured
            .iter()
            .filter_map(|(processes, points)| Some(AtProcesses { processes: *processes, timing: timing(points, &[])? }))
            .collect();
        if let Some(largest) = at.last() {
            let ratios: Vec<(u64, f64)> = at.iter().filter_map(|at| Some((at.processes, ratio(&at.timing, &largest.timing)?))).collect();
            groups.insert(what, Group { growth: growth(what, &ratios), at });
        }
    }
    groups
}

/// How one timing relates to another over all sizes: the median of the ratios.
fn ratio(one: &Timing, other: &Timing) -> Option<f64> {
    let [least, most] = one.measured?.bytes;
    let sizes = std::iter::successors(Some(least.max(1)), |bytes| Some(bytes * 2)).take_while(|bytes| *bytes <= most.max(1));
    let ratios: Vec<f64> = sizes.map(|bytes| one.pieces.at(bytes as f64)[1] / other.pieces.at(bytes as f64)[1]).collect();
    median(&ratios).ok().filter(|ratio| *ratio > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_that_cannot_be_is_noted() {
        let cost = |latency: f64, throughput: f64| {
            let [latency, throughput] = [latency, throughput].map(|seconds| Figure::exact(seconds).unwrap());
            Cost { latency, throughput }
        };
        let costs = BTreeMap::from([(Arithmetic::Add, cost(1e-9, 0.2e-9)), (Arithmetic::Divide, cost(1e-9, 2e-9))]);
        let compute = BTreeMap::from([(crate::NumberType::Int32, costs)]);
        assert!(implausible("PC", &compute).is_some_and(|note| note.ends_with(": int32 divide")));
        assert_eq!(implausible("PC", &Costs::new()), None);
    }

    #[test]
    fn a_threshold_that_few_launches_found_is_not_believed() {
        let mut notes = Vec::new();
        assert_eq!(agreed(&[Some(4040), None, None], "x", &mut notes), None);
        assert_eq!(notes, ["x differed from launch to launch: 4040, beyond all sizes, beyond all sizes"]);
        assert_eq!(agreed(&[Some(4040), None, Some(4040)], "x", &mut notes), Some(4040));
        assert_eq!((agreed(&[Some(1); 3], "x", &mut notes), notes.len()), (Some(1), 2));
        assert_eq!((agreed(&[None; 3], "y", &mut notes), notes[2].as_str()), (None, "y lies beyond all sizes that were tried"));
        assert_eq!(agreed(&[], "z", &mut notes), None);
    }
}
