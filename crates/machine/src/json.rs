//! A machine as JSON.

use serde_json::{Map, Value, json};

use crate::topology::TopologyKind;
use crate::{CollectiveCost, Machine, Named, NetworkCosts, NodeType, OperationTiming, PiecewiseCost, Topology};

impl Machine {
    /// All its figures.
    pub fn to_json(&self) -> Value {
        let about = &self.metadata;
        json!({
            "name": about.name,
            "date": about.date,
            "source": about.source,
            "mpi": about.mpi,
            "launcher": about.launcher,
            "processes": about.processes,
            "launches": about.launches,
            "seed": about.seed,
            "oversubscribed": about.oversubscribed,
            "confidence": about.confidence,
            "disturbance": about.disturbance,
            "notes": about.notes,
            "nodes": self.nodes.iter().map(node).collect::<Vec<_>>(),
            "networks": named(self.networks.iter().map(|(class, one)| (class.name(), network(one)))),
            "groups": named(self.collective_costs.iter().map(|(what, one)| (what.name(), group(one)))),
            "topology": self.topology.as_ref().map(topology),
        })
    }
}

fn named<'a>(pairs: impl Iterator<Item = (&'a str, Value)>) -> Value {
    pairs.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into()
}

fn node(node: &NodeType) -> Value {
    let cost = |cost: &crate::OperationCost| json!({"latency_s": cost.latency, "throughput_s": cost.throughput});
    let costs = |costs: &crate::ArithmeticCosts| {
        named(costs.iter().map(|(of, costs)| (of.name(), named(costs.iter().map(|(what, one)| (what.name(), cost(one)))))))
    };
    let level = |level: &crate::MemoryLevel| {
        let mut value = named(level.access.iter().map(|(access, figure)| (access.key(), json!(figure))));
        (value["level"], value["size_bytes"]) = (level.name.as_str().into(), level.size_bytes.into());
        value
    };
    json!({
        "kind": node.kind,
        "count": node.count,
        "cores": node.cores,
        "cpu_quota": node.cpu_quota,
        "compute": costs(&node.compute),
        "java": costs(&node.java),
        "memory": node.memory.iter().map(level).collect::<Vec<_>>(),
    })
}

fn network(network: &NetworkCosts) -> Value {
    let overlap = |point: &crate::OverlapPoint| json!({"bytes": point.bytes, "share": point.share});
    json!({
        "eager_bytes": network.eager_bytes,
        "unattended_bytes": network.unattended_bytes,
        "detached_bytes": network.detached_bytes,
        "overlap": network.overlap.iter().map(overlap).collect::<Vec<_>>(),
        "messages": named(network.messages.iter().map(|(what, one)| (what.name(), timing(one)))),
    })
}

fn topology(topology: &Topology) -> Value {
    json!({
        "kind": topology.kind.name(),
        "nodes": topology.kind.node_count().ok(),
        "size": size(&topology.kind),
        "link": {"bytes_per_s": topology.link.bandwidth, "latency_s": topology.link.latency},
        "duplex": topology.duplex.name(),
        "sharing": topology.sharing.name(),
    })
}

/// The size of a topology, in the words of the machine file.
fn size(kind: &TopologyKind) -> String {
    let by = |sides: &[u32]| sides.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
    match kind {
        TopologyKind::Bus { nodes } | TopologyKind::Crossbar { nodes } | TopologyKind::Star { nodes, .. } => format!("{nodes} nodes"),
        TopologyKind::Mesh { dimensions } | TopologyKind::Torus { dimensions } => by(dimensions),
        TopologyKind::Hypercube { dimension } => format!("{dimension} dimensions"),
        TopologyKind::FatTree { levels } => format!("{} from the nodes up", by(&levels.iter().map(|level| level.down).collect::<Vec<_>>())),
        TopologyKind::Dragonfly(dragonfly) => {
            format!("{} groups of {} routers with {} nodes each", dragonfly.groups, dragonfly.routers, dragonfly.nodes)
        }
        TopologyKind::Graph(_) => "as given in its file".into(),
    }
}

fn group(group: &CollectiveCost) -> Value {
    let at = |at: &crate::CollectiveTiming| {
        let mut value = timing(&at.timing);
        value["processes"] = at.processes.into();
        value
    };
    json!({"growth": group.growth.to_string(), "at": group.timings.iter().map(at).collect::<Vec<_>>()})
}

fn timing(timing: &OperationTiming) -> Value {
    let measured = timing.measured.map(|of| {
        json!({
            "bytes": of.bytes,
            "sizes": of.sizes,
            "samples": of.samples,
            "outliers": of.outliers,
            "mean_error_percent": of.mean_error_percent,
            "worst_error_percent": of.worst_error_percent,
        })
    });
    json!({
        "formula": timing.middle_formula().to_string(),
        "from_bytes": timing.pieces.from_bytes(),
        "pieces": pieces(&timing.pieces),
        "measured": measured,
        "medians": timing.medians,
    })
}

fn pieces(pieces: &PiecewiseCost) -> Vec<Value> {
    let lines =
        pieces.iter().map(|(bound, line)| json!({"up_to_bytes": bound, "intercept_s": line.intercept, "slope_s_per_byte": line.slope}));
    lines.collect()
}
