//! Writing how nodes are connected.

use std::fmt::Write;

use super::{figure, list, quoted};
use crate::topology::{Dragonfly, FlowControl, Forwarding, Kind, Level, Link};
use crate::{Duplex, Figure, Named, Sharing, Topology};

pub fn topology(out: &mut String, topology: &Topology) -> std::fmt::Result {
    writeln!(out, "\n# How nodes are connected, and what becomes of messages that meet on a link.\n[topology]")?;
    writeln!(out, "kind = \"{}\"", topology.kind.name())?;
    kind(out, &topology.kind)?;
    writeln!(out, "bandwidth_bytes_per_s = {}", figure(topology.link.bandwidth))?;
    writeln!(out, "latency_s = {}", figure(topology.link.latency))?;
    if topology.duplex != Duplex::Full {
        writeln!(out, "duplex = \"{}\"", topology.duplex.name())?;
    }
    if topology.sharing != Sharing::Fair {
        writeln!(out, "sharing = \"{}\"", topology.sharing.name())?;
    }
    if let Some(control) = &topology.flow_control {
        flow_control(out, control)?;
    }
    let limits = [("buses", topology.limits.buses), ("links_out", topology.limits.links_out), ("links_in", topology.limits.links_in)];
    limits.iter().filter(|(_, most)| *most > 0).try_for_each(|(key, most)| writeln!(out, "{key} = {most}"))
}

fn kind(out: &mut String, kind: &Kind) -> std::fmt::Result {
    match kind {
        Kind::Bus { nodes } | Kind::Crossbar { nodes } | Kind::Star { nodes, switch: None } => writeln!(out, "nodes = {nodes}"),
        Kind::Star { nodes, switch: Some(switch) } => {
            writeln!(out, "nodes = {nodes}\nswitch_bandwidth_bytes_per_s = {}", figure(*switch))
        }
        Kind::Mesh { dimensions } | Kind::Torus { dimensions } => {
            writeln!(out, "dimensions = {}", list(dimensions.iter().map(u32::to_string)))
        }
        Kind::Hypercube { dimension } => writeln!(out, "dimension = {dimension}"),
        Kind::FatTree { levels } => {
            writeln!(out, "levels = [  # from the nodes up")?;
            levels.iter().try_for_each(|one| writeln!(out, "    {{ {} }},", level(one)))?;
            writeln!(out, "]")
        }
        Kind::Dragonfly(one) => dragonfly(out, one),
        Kind::Graph(graph) => writeln!(out, "file = {}  # a link per line: a b [bandwidth [latency]]", quoted(graph.file())),
    }
}

fn level(level: &Level) -> String {
    let own = level.link.map_or(String::new(), |own| format!(", {}", link(own)));
    format!("down = {}, up = {}, parallel = {}{own}", level.down, level.up, level.parallel)
}

fn dragonfly(out: &mut String, dragonfly: &Dragonfly) -> std::fmt::Result {
    let Dragonfly { groups, routers, nodes, local, global } = dragonfly;
    writeln!(out, "groups = {groups}\nrouters_per_group = {routers}\nnodes_per_router = {nodes}")?;
    let own = [("local", local), ("global", global)].into_iter().filter_map(|(key, own)| Some((key, (*own)?)));
    own.into_iter().try_for_each(|(key, own)| writeln!(out, "{key} = {{ {} }}", link(own)))
}

fn link(link: Link) -> String {
    format!("bandwidth_bytes_per_s = {}, latency_s = {}", figure(link.bandwidth), figure(link.latency))
}

fn flow_control(out: &mut String, control: &FlowControl) -> std::fmt::Result {
    match control.forwarding {
        Forwarding::StoreAndForward => writeln!(out, "flow_control = \"store_and_forward\"")?,
        Forwarding::Wormhole { flit_bytes } => writeln!(out, "flow_control = \"wormhole\"\nflit_bytes = {flit_bytes}")?,
        Forwarding::CutThrough => writeln!(out, "flow_control = \"cut_through\"")?,
    }
    if let Some(bytes) = control.packet_bytes {
        writeln!(out, "packet_bytes = {bytes}")?;
    }
    writeln!(out, "header_bytes = {}", control.header_bytes)?;
    if control.hop != Figure::ZERO {
        writeln!(out, "hop_s = {}", figure(control.hop))?;
    }
    Ok(())
}
