//! Reading how nodes are connected.

use super::each;
use super::table::{Table, Value};
use crate::topology::{Dragonfly, FlowControl, Forwarding, Graph, Kind, Level, Limits, Link, TopologyProblem};
use crate::{Duplex, Error, Figure, Node, Problem, Sharing, Topology};

const KINDS: &str = "bus, crossbar, star, mesh, torus, hypercube, fat_tree, dragonfly, graph";
const FLOW_CONTROLS: &str = "none, store_and_forward, wormhole, cut_through";

/// The topology of a machine with these nodes.
pub fn topology(value: Value, nodes: &[Node]) -> Result<Topology, Error> {
    let mut table = value.table("in [topology]".into())?;
    let machine_nodes = nodes.iter().fold(0u64, |all, node| all.saturating_add(node.count));
    let bandwidth = table.require("bandwidth_bytes_per_s")?.above_zero()?;
    let link = Link { bandwidth, latency: table.take("latency_s").map_or(Ok(Figure::ZERO), |value| value.positive())? };
    let topology = Topology {
        kind: kind(&mut table, link, machine_nodes)?,
        link,
        duplex: table.take("duplex").map_or(Ok(Duplex::Full), |value| value.named())?,
        sharing: table.take("sharing").map_or(Ok(Sharing::Fair), |value| value.named())?,
        flow_control: flow_control(&mut table)?,
        limits: Limits {
            buses: table.take("buses").map_or(Ok(0), |value| value.count())?,
            links_out: table.take("links_out").map_or(Ok(0), |value| value.count())?,
            links_in: table.take("links_in").map_or(Ok(0), |value| value.count())?,
        },
    };
    table.finish()?;
    let places = topology.kind.nodes().map_err(|problem| value.error(problem))?;
    if machine_nodes > places.into() {
        return Err(value.error(TopologyProblem::TooSmall { places, nodes: machine_nodes }));
    }
    Ok(topology)
}

fn kind(table: &mut Table, link: Link, machine_nodes: u64) -> Result<Kind, Error> {
    let kind = table.require("kind")?;
    let word = kind.text()?;
    Ok(match word.as_str() {
        "bus" => Kind::Bus { nodes: nodes(table, machine_nodes)? },
        "crossbar" => Kind::Crossbar { nodes: nodes(table, machine_nodes)? },
        "star" => Kind::Star {
            nodes: nodes(table, machine_nodes)?,
            switch: table.take("switch_bandwidth_bytes_per_s").map(|value| value.above_zero()).transpose()?,
        },
        "mesh" => Kind::Mesh { dimensions: dimensions(table)? },
        "torus" => Kind::Torus { dimensions: dimensions(table)? },
        "hypercube" => Kind::Hypercube { dimension: number(table, "dimension")? },
        "fat_tree" => Kind::FatTree { levels: each(Some(table.require("levels")?), |value| level(value, link))? },
        "dragonfly" => Kind::Dragonfly(Dragonfly {
            groups: number(table, "groups")?,
            routers: number(table, "routers_per_group")?,
            nodes: number(table, "nodes_per_router")?,
            local: table.take("local").map_or(Ok(None), |value| other_link(value, "in `local`", link))?,
            global: table.take("global").map_or(Ok(None), |value| other_link(value, "in `global`", link))?,
        }),
        "graph" => {
            let file = table.require("file")?;
            Kind::Graph(Graph::read(&file.text()?, file.file_beside()?)?)
        }
        _ => return Err(kind.error(Problem::UnknownWord { key: "kind".into(), word, known: KINDS.into() })),
    })
}

fn number(table: &mut Table, key: &'static str) -> Result<u32, Error> {
    table.require(key)?.number_of_some()
}

/// As many as told, or as many as the machine has.
fn nodes(table: &mut Table, machine_nodes: u64) -> Result<u32, Error> {
    match table.take("nodes") {
        Some(value) => value.number_of_some(),
        None if machine_nodes == 0 => table.require("nodes")?.number_of_some(),
        None => machine_nodes.try_into().map_err(|_| table.error(TopologyProblem::TooLarge { nodes: machine_nodes.into() })),
    }
}

fn dimensions(table: &mut Table) -> Result<Vec<u32>, Error> {
    let list = table.require("dimensions")?;
    let dimensions = list.list()?.iter().map(Value::number_of_some).collect::<Result<Vec<_>, _>>()?;
    if dimensions.is_empty() { Err(list.error(TopologyProblem::NoNodes)) } else { Ok(dimensions) }
}

fn level(value: Value, link: Link) -> Result<Level, Error> {
    let mut table = value.table("in this level".into())?;
    let level = Level {
        down: number(&mut table, "down")?,
        up: table.take("up").map_or(Ok(1), |value| value.number_of_some())?,
        parallel: table.take("parallel").map_or(Ok(1), |value| value.number_of_some())?,
        link: own_link(&mut table, link)?,
    };
    table.finish().map(|()| level)
}

fn other_link(value: Value, name: &str, link: Link) -> Result<Option<Link>, Error> {
    let mut table = value.table(name.into())?;
    let other = own_link(&mut table, link)?;
    table.finish().map(|()| other)
}

/// What is told of a link here, and what all have where nothing is.
fn own_link(table: &mut Table, link: Link) -> Result<Option<Link>, Error> {
    let bandwidth = table.take("bandwidth_bytes_per_s").map(|value| value.above_zero()).transpose()?;
    let latency = table.take("latency_s").map(|value| value.positive()).transpose()?;
    let own = Link { bandwidth: bandwidth.unwrap_or(link.bandwidth), latency: latency.unwrap_or(link.latency) };
    Ok((bandwidth.is_some() || latency.is_some()).then_some(own))
}

fn flow_control(table: &mut Table) -> Result<Option<FlowControl>, Error> {
    let Some(value) = table.take("flow_control") else { return Ok(None) };
    let word = value.text()?;
    let forwarding = match word.as_str() {
        "none" => return Ok(None),
        "store_and_forward" => Forwarding::StoreAndForward,
        "wormhole" => Forwarding::Wormhole { flit_bytes: table.require("flit_bytes")?.count_of_some()? },
        "cut_through" => Forwarding::CutThrough,
        _ => return Err(value.error(Problem::UnknownWord { key: "flow_control".into(), word, known: FLOW_CONTROLS.into() })),
    };
    let packet = table.take("packet_bytes");
    let control = FlowControl {
        forwarding,
        packet_bytes: packet.map(|value| value.count_of_some()).transpose()?,
        header_bytes: match forwarding {
            Forwarding::CutThrough => table.require("header_bytes")?.count()?,
            _ => table.take("header_bytes").map_or(Ok(0), |value| value.count())?,
        },
        hop: table.take("hop_s").map_or(Ok(Figure::ZERO), |value| value.positive())?,
    };
    match (control.packet_bytes, packet) {
        (Some(size), Some(packet)) if size <= control.header_bytes => {
            Err(packet.error(TopologyProblem::OnlyHeader { packet: size, header: control.header_bytes }))
        }
        _ => Ok(Some(control)),
    }
}
