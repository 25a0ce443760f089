//! Writes the topology of a machine.

use std::fmt::Write;

use super::{list_text, quoted, value_text};
use crate::topology::{DragonflyParameters, FatTreeLevelParameters, FlowControl, ForwardingMode, LinkParameters, TopologyKind};
use crate::{BandwidthSharing, Duplex, Named, Topology, UncertainValue};

pub(super) fn write_topology(out: &mut String, topology: &Topology) -> std::fmt::Result {
    writeln!(out, "\n# How nodes are connected, and how messages share links.\n[topology]")?;
    writeln!(out, "kind = \"{}\"", topology.kind.name())?;
    write_kind(out, &topology.kind)?;
    writeln!(out, "bandwidth_bytes_per_s = {}", value_text(topology.link.bandwidth))?;
    writeln!(out, "latency_s = {}", value_text(topology.link.latency))?;
    if topology.duplex != Duplex::Full {
        writeln!(out, "duplex = \"{}\"", topology.duplex.name())?;
    }
    if topology.sharing != BandwidthSharing::Fair {
        writeln!(out, "sharing = \"{}\"", topology.sharing.name())?;
    }
    if let Some(control) = &topology.flow_control {
        write_flow_control(out, control)?;
    }
    let limits = [("buses", topology.limits.buses), ("links_out", topology.limits.links_out), ("links_in", topology.limits.links_in)];
    limits.iter().filter(|(_, most)| *most > 0).try_for_each(|(key, most)| writeln!(out, "{key} = {most}"))
}

fn write_kind(out: &mut String, kind: &TopologyKind) -> std::fmt::Result {
    match kind {
        TopologyKind::Bus { nodes } | TopologyKind::Crossbar { nodes } | TopologyKind::Star { nodes, switch: None } => {
            writeln!(out, "nodes = {nodes}")
        }
        TopologyKind::Star { nodes, switch: Some(switch) } => {
            writeln!(out, "nodes = {nodes}\nswitch_bandwidth_bytes_per_s = {}", value_text(*switch))
        }
        TopologyKind::Mesh { dimensions } | TopologyKind::Torus { dimensions } => {
            writeln!(out, "dimensions = {}", list_text(dimensions.iter().map(u32::to_string)))
        }
        TopologyKind::Hypercube { dimension } => writeln!(out, "dimension = {dimension}"),
        TopologyKind::FatTree { levels } => {
            writeln!(out, "levels = [  # from the nodes up")?;
            levels.iter().try_for_each(|one| writeln!(out, "    {{ {} }},", level_text(one)))?;
            writeln!(out, "]")
        }
        TopologyKind::Dragonfly(one) => write_dragonfly(out, one),
        TopologyKind::Graph(graph) => writeln!(out, "file = {}  # a link per line: a b [bandwidth [latency]]", quoted(graph.file())),
    }
}

fn level_text(level: &FatTreeLevelParameters) -> String {
    let own = level.link.map_or(String::new(), |own| format!(", {}", link_text(own)));
    format!("down = {}, up = {}, parallel = {}{own}", level.down, level.up, level.parallel)
}

fn write_dragonfly(out: &mut String, dragonfly: &DragonflyParameters) -> std::fmt::Result {
    let DragonflyParameters { groups, routers, nodes, local, global } = dragonfly;
    writeln!(out, "groups = {groups}\nrouters_per_group = {routers}\nnodes_per_router = {nodes}")?;
    let own = [("local", local), ("global", global)].into_iter().filter_map(|(key, own)| Some((key, (*own)?)));
    own.into_iter().try_for_each(|(key, own)| writeln!(out, "{key} = {{ {} }}", link_text(own)))
}

fn link_text(link: LinkParameters) -> String {
    format!("bandwidth_bytes_per_s = {}, latency_s = {}", value_text(link.bandwidth), value_text(link.latency))
}

fn write_flow_control(out: &mut String, control: &FlowControl) -> std::fmt::Result {
    match control.forwarding {
        ForwardingMode::StoreAndForward => writeln!(out, "flow_control = \"store_and_forward\"")?,
        ForwardingMode::Wormhole { flit_bytes } => writeln!(out, "flow_control = \"wormhole\"\nflit_bytes = {flit_bytes}")?,
        ForwardingMode::CutThrough => writeln!(out, "flow_control = \"cut_through\"")?,
    }
    if let Some(bytes) = control.packet_bytes {
        writeln!(out, "packet_bytes = {bytes}")?;
    }
    writeln!(out, "header_bytes = {}", control.header_bytes)?;
    if control.hop_latency != UncertainValue::ZERO {
        writeln!(out, "hop_s = {}", value_text(control.hop_latency))?;
    }
    Ok(())
}
