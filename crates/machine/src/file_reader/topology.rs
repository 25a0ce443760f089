//! Reads the topology of a machine.

use super::figures::MachineFigures;
use super::{TomlTable, TomlValue, parse_list};
use crate::topology::{
    ConcurrencyLimits, DragonflyParameters, FatTreeLevelParameters, FlowControl, ForwardingMode, LinkGraph, LinkParameters, TopologyError,
    TopologyKind,
};
use crate::{BandwidthSharing, Duplex, Error, NodeType, Topology, UncertainValue};

const KINDS: &str = "bus, crossbar, star, mesh, torus, hypercube, fat_tree, dragonfly, graph";
const FLOW_CONTROLS: &str = "none, store_and_forward, wormhole, cut_through";

/// The topology of a machine with these nodes.
pub(super) fn parse_topology(value: TomlValue, nodes: &[NodeType]) -> Result<Topology, Error> {
    let mut table = value.table("in [topology]")?;
    let machine_nodes = nodes.iter().fold(0u64, |all, node| all.saturating_add(node.count));
    let bandwidth = table.require("bandwidth_bytes_per_s")?.above_zero()?;
    let link =
        LinkParameters { bandwidth, latency: table.take("latency_s").map_or(Ok(UncertainValue::ZERO), |value| value.non_negative())? };
    let topology = Topology {
        kind: parse_kind(&mut table, link, machine_nodes)?,
        link,
        duplex: table.take("duplex").map_or(Ok(Duplex::Full), |value| value.variant())?,
        sharing: table.take("sharing").map_or(Ok(BandwidthSharing::Fair), |value| value.variant())?,
        flow_control: parse_flow_control(&mut table)?,
        limits: ConcurrencyLimits {
            buses: table.take("buses").map_or(Ok(0), |value| value.count())?,
            links_out: table.take("links_out").map_or(Ok(0), |value| value.count())?,
            links_in: table.take("links_in").map_or(Ok(0), |value| value.count())?,
        },
    };
    table.finish()?;
    let places = topology.kind.node_count().map_err(|problem| value.error(problem))?;
    if machine_nodes > places.into() {
        return Err(value.error(TopologyError::TooSmall { places, nodes: machine_nodes }));
    }
    Ok(topology)
}

fn parse_kind(table: &mut TomlTable, link: LinkParameters, machine_nodes: u64) -> Result<TopologyKind, Error> {
    let kind = table.require("kind")?;
    let word = kind.text()?;
    Ok(match word.as_str() {
        "bus" => TopologyKind::Bus { nodes: node_count(table, machine_nodes)? },
        "crossbar" => TopologyKind::Crossbar { nodes: node_count(table, machine_nodes)? },
        "star" => TopologyKind::Star {
            nodes: node_count(table, machine_nodes)?,
            switch: table.take("switch_bandwidth_bytes_per_s").map(|value| value.above_zero()).transpose()?,
        },
        "mesh" => TopologyKind::Mesh { dimensions: parse_dimensions(table)? },
        "torus" => TopologyKind::Torus { dimensions: parse_dimensions(table)? },
        "hypercube" => TopologyKind::Hypercube { dimension: required_u32(table, "dimension")? },
        "fat_tree" => TopologyKind::FatTree { levels: parse_list(Some(table.require("levels")?), |value| parse_level(value, link))? },
        "dragonfly" => TopologyKind::Dragonfly(DragonflyParameters {
            groups: required_u32(table, "groups")?,
            routers: required_u32(table, "routers_per_group")?,
            nodes: required_u32(table, "nodes_per_router")?,
            local: table.take("local").map_or(Ok(None), |value| parse_link(value, "in `local`", link))?,
            global: table.take("global").map_or(Ok(None), |value| parse_link(value, "in `global`", link))?,
        }),
        "graph" => {
            let file = table.require("file")?;
            TopologyKind::Graph(LinkGraph::read(&file.text()?, file.file_beside()?)?)
        }
        _ => return Err(kind.unknown_word(word, KINDS)),
    })
}

fn required_u32(table: &mut TomlTable, key: &'static str) -> Result<u32, Error> {
    table.require(key)?.nonzero_u32()
}

/// The number given, else the number of nodes of the machine.
fn node_count(table: &mut TomlTable, machine_nodes: u64) -> Result<u32, Error> {
    match table.take("nodes") {
        Some(value) => value.nonzero_u32(),
        None if machine_nodes == 0 => table.require("nodes")?.nonzero_u32(),
        None => machine_nodes.try_into().map_err(|_| table.error(TopologyError::TooLarge { nodes: machine_nodes.into() })),
    }
}

fn parse_dimensions(table: &mut TomlTable) -> Result<Vec<u32>, Error> {
    let list = table.require("dimensions")?;
    let dimensions = list.list()?.iter().map(TomlValue::nonzero_u32).collect::<Result<Vec<_>, _>>()?;
    if dimensions.is_empty() { Err(list.error(TopologyError::NoNodes)) } else { Ok(dimensions) }
}

fn parse_level(value: TomlValue, link: LinkParameters) -> Result<FatTreeLevelParameters, Error> {
    let mut table = value.table("in this level")?;
    let level = FatTreeLevelParameters {
        down: required_u32(&mut table, "down")?,
        up: table.take("up").map_or(Ok(1), |value| value.nonzero_u32())?,
        parallel: table.take("parallel").map_or(Ok(1), |value| value.nonzero_u32())?,
        link: link_override(&mut table, link)?,
    };
    table.finish().map(|()| level)
}

fn parse_link(value: TomlValue, name: &str, link: LinkParameters) -> Result<Option<LinkParameters>, Error> {
    let mut table = value.table(name)?;
    let other = link_override(&mut table, link)?;
    table.finish().map(|()| other)
}

/// Parameters given for a link here; the rest is that of all links.
fn link_override(table: &mut TomlTable, link: LinkParameters) -> Result<Option<LinkParameters>, Error> {
    let bandwidth = table.take("bandwidth_bytes_per_s").map(|value| value.above_zero()).transpose()?;
    let latency = table.take("latency_s").map(|value| value.non_negative()).transpose()?;
    let own = LinkParameters { bandwidth: bandwidth.unwrap_or(link.bandwidth), latency: latency.unwrap_or(link.latency) };
    Ok((bandwidth.is_some() || latency.is_some()).then_some(own))
}

fn parse_flow_control(table: &mut TomlTable) -> Result<Option<FlowControl>, Error> {
    let Some(value) = table.take("flow_control") else { return Ok(None) };
    let word = value.text()?;
    let forwarding = match word.as_str() {
        "none" => return Ok(None),
        "store_and_forward" => ForwardingMode::StoreAndForward,
        "wormhole" => ForwardingMode::Wormhole { flit_bytes: table.require("flit_bytes")?.nonzero_count()? },
        "cut_through" => ForwardingMode::CutThrough,
        _ => return Err(value.unknown_word(word, FLOW_CONTROLS)),
    };
    let packet = table.take("packet_bytes");
    let control = FlowControl {
        forwarding,
        packet_bytes: packet.map(|value| value.nonzero_count()).transpose()?,
        header_bytes: match forwarding {
            ForwardingMode::CutThrough => table.require("header_bytes")?.count()?,
            _ => table.take("header_bytes").map_or(Ok(0), |value| value.count())?,
        },
        hop_latency: table.take("hop_s").map_or(Ok(UncertainValue::ZERO), |value| value.non_negative())?,
    };
    match (control.packet_bytes, packet) {
        (Some(size), Some(packet)) if size <= control.header_bytes => {
            Err(packet.error(TopologyError::HeaderFillsPacket { packet: size, header: control.header_bytes }))
        }
        _ => Ok(Some(control)),
    }
}
