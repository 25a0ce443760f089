//! Random machines with everything that a file can hold.

mod topology;

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use sintonia_formula::Formula;
use sintonia_machine::{
    CollectiveAlgorithms, CollectiveCost, CollectiveTiming, LinearCost, Machine, MachineMetadata, MeasurementSummary, MemoryLevel, Named,
    NetworkCosts, NodeLayout, NodeType, OperationCost, OperationTiming, OverlapPoint, PiecewiseCost, UncertainValue,
};

fn one<N: Named + std::fmt::Debug>() -> impl Strategy<Value = N> {
    prop::sample::select(N::ALL)
}

/// Numbers of all magnitudes that a cost can have.
fn cost() -> impl Strategy<Value = f64> {
    (-13.0..2.0f64, 1.0..10.0f64).prop_map(|(exponent, digits)| digits * 10f64.powi(exponent as i32))
}

fn figure() -> impl Strategy<Value = UncertainValue> {
    let around = |(middle, below, above): (f64, f64, f64)| UncertainValue::new(middle * below, middle, middle * above);
    prop_oneof![
        cost().prop_map(|value| UncertainValue::exact(value).unwrap()),
        (cost(), 0.0..1.0, 1.0..9.0).prop_map(move |numbers| around(numbers).unwrap()),
        Just(UncertainValue::exact(0.0).unwrap()),
    ]
}

fn above_zero() -> impl Strategy<Value = UncertainValue> {
    (cost(), 0.1..1.0, 1.0..9.0).prop_map(|(middle, below, above)| UncertainValue::new(middle * below, middle, middle * above).unwrap())
}

fn pieces() -> impl Strategy<Value = PiecewiseCost> {
    let line = || (figure(), figure()).prop_map(|(intercept, slope)| LinearCost::new(intercept, slope));
    (0..1000u32, vec((1..100_000u32, line()), 0..4), line()).prop_map(|(from, steps, last)| {
        let mut above = f64::from(from);
        let bounded = steps.into_iter().map(|(step, line)| {
            above += f64::from(step);
            (UncertainValue::new(above - 0.5, above, above * 1.5).unwrap(), line)
        });
        PiecewiseCost::new(f64::from(from), bounded.collect(), last).unwrap()
    })
}

fn timing() -> impl Strategy<Value = OperationTiming> {
    let measured = ([any::<u32>(), any::<u32>()], any::<u32>(), any::<u32>(), any::<u16>(), cost(), cost()).prop_map(|numbers| {
        let (bytes, sizes, samples, outliers, mean_error_percent, worst_error_percent) = numbers;
        let [sizes, samples, outliers] = [sizes, samples, outliers.into()].map(u64::from);
        MeasurementSummary { bytes: bytes.map(u64::from), sizes, samples, outliers, mean_error_percent, worst_error_percent }
    });
    let medians = vec((any::<u32>().prop_map(u64::from), cost()), 0..3);
    (pieces(), option::of(measured), medians).prop_map(|(pieces, measured, medians)| OperationTiming { pieces, measured, medians })
}

fn network() -> impl Strategy<Value = NetworkCosts> {
    let size = || option::of(any::<u32>().prop_map(u64::from));
    let share = (0.0..0.5, 0.5..1.0).prop_map(|(low, high)| UncertainValue::new(low, (low + high) / 2.0, high).unwrap());
    let overlap = (any::<u32>(), share).prop_map(|(bytes, share)| OverlapPoint { bytes: bytes.into(), share });
    let parts = (size(), size(), size(), btree_map(one(), timing(), 0..4), vec(overlap, 0..3));
    parts.prop_map(|(eager_bytes, unattended_bytes, detached_bytes, messages, overlap)| NetworkCosts {
        eager_bytes,
        unattended_bytes,
        detached_bytes,
        messages,
        overlap,
    })
}

fn group() -> impl Strategy<Value = CollectiveCost> {
    let growth = (1..100u32, 1..100u32)
        .prop_map(|(low, more)| Formula::interval(f64::from(low) / 100.0, f64::from(low + more) / 100.0) * Formula::symbol("p").log2());
    (growth, btree_map(2..100u64, timing(), 1..3)).prop_map(|(growth, at)| CollectiveCost {
        growth,
        timings: at.into_iter().map(|(processes, timing)| CollectiveTiming { processes, timing }).collect(),
    })
}

fn collectives() -> impl Strategy<Value = CollectiveAlgorithms> {
    (option::of(text()), btree_map(one(), text(), 0..4)).prop_map(|(library, algorithms)| CollectiveAlgorithms { library, algorithms })
}

/// Number of nodes, cores per node, and layout.
fn layout() -> impl Strategy<Value = (u64, u64, NodeLayout)> {
    let parts = || option::of(1..5u64);
    let hosts = option::of((any::<u64>(), 1..4u64));
    (1..u16::MAX, 1..u16::MAX, parts(), parts(), hosts).prop_map(|(count, cores, sockets, within, hosts)| {
        let complexes = within.map(|within| within * sockets.unwrap_or(1));
        let cores = u64::from(cores) * complexes.or(sockets).unwrap_or(1);
        let count = hosts.map_or(count.into(), |(_, count)| count);
        let hosts = hosts.into_iter().flat_map(|(name, count)| (0..count).map(move |host| format!("h{name}-{host}"))).collect();
        (count, cores, NodeLayout { hosts, sockets, complexes })
    })
}

fn node() -> impl Strategy<Value = NodeType> {
    let cost = || (figure(), figure()).prop_map(|(latency, throughput)| OperationCost { latency, throughput });
    let costs = || btree_map(one(), btree_map(one(), cost(), 1..4), 0..3);
    let level = (text(), option::of(any::<u32>().prop_map(u64::from)), btree_map(one(), figure(), 0..4));
    let level = level.prop_map(|(name, size_bytes, access)| MemoryLevel { name, size_bytes, access });
    let speed = || prop_oneof![Just(UncertainValue::ONE), above_zero()];
    let quota = option::of((1..4096_u32).prop_map(|quarters| f64::from(quarters) / 4.0));
    (text(), layout(), quota, speed(), costs(), costs(), vec(level, 0..3)).prop_map(
        |(kind, (count, cores, layout), cpu_quota, speed, compute, java, memory)| NodeType {
            kind,
            count,
            cores,
            cpu_quota,
            layout,
            speed,
            compute,
            java,
            memory,
        },
    )
}

/// Text of any characters, including those special to TOML.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z .\"\\\\\n\t#'=]{0,20}", "\\PC{0,10}", "\\p{Cc}{0,4}"]
}

fn about() -> impl Strategy<Value = MachineMetadata> {
    let texts = (text(), option::of(text()), option::of(text()), option::of(text()), vec(text(), 0..4), vec(text(), 0..3));
    let shares = (option::of(0.0..1.0f64), option::of(0.0..9.0f64));
    let numbers = (option::of(0..99u64), option::of(0..9u64), option::of(0..i64::MAX as u64), any::<bool>(), shares);
    (texts, numbers).prop_map(|(texts, numbers)| {
        let (name, date, source, mpi, launcher, notes) = texts;
        let (processes, launches, seed, oversubscribed, (confidence, disturbance)) = numbers;
        MachineMetadata { name, date, source, mpi, launcher, processes, launches, seed, oversubscribed, confidence, disturbance, notes }
    })
}

/// A random machine.
pub(crate) fn machine() -> impl Strategy<Value = Machine> {
    let ways = (collectives(), option::of(topology::topology()));
    let parts = (about(), vec(node(), 0..3), btree_map(one(), network(), 0..3), btree_map(one(), group(), 0..3), ways);
    parts.prop_map(|(about, nodes, networks, groups, (collectives, topology)): (_, Vec<NodeType>, BTreeMap<_, _>, BTreeMap<_, _>, _)| {
        let count: u64 = nodes.iter().map(|node| node.count).sum();
        let topology = topology.filter(|topology| count <= topology.node_count().into());
        Machine { metadata: about, nodes, networks, collective_costs: groups, collective_algorithms: collectives, topology }
    })
}
