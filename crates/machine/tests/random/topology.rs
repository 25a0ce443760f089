//! Topologies made at random, all but those of a graph, which have a file of their own.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use sintonia_machine::Topology;
use sintonia_machine::topology::{Dragonfly, FlowControl, Forwarding, Kind, Level, Limits, Link};

use super::{above_zero, figure, one};

fn link() -> impl Strategy<Value = Link> {
    (above_zero(), figure()).prop_map(|(bandwidth, latency)| Link { bandwidth, latency })
}

fn kind() -> impl Strategy<Value = Kind> {
    let nodes = || 1..100_000u32;
    let dimensions = || vec(1..50u32, 1..5);
    let level = (1..30u32, 1..5u32, 1..3u32, option::of(link()));
    let level = level.prop_map(|(down, up, parallel, link)| Level { down, up, parallel, link });
    let dragonfly = (1..90u32, 1..20u32, 1..20u32, option::of(link()), option::of(link()));
    prop_oneof![
        nodes().prop_map(|nodes| Kind::Bus { nodes }),
        nodes().prop_map(|nodes| Kind::Crossbar { nodes }),
        (nodes(), option::of(above_zero())).prop_map(|(nodes, switch)| Kind::Star { nodes, switch }),
        dimensions().prop_map(|dimensions| Kind::Mesh { dimensions }),
        dimensions().prop_map(|dimensions| Kind::Torus { dimensions }),
        (1..32u32).prop_map(|dimension| Kind::Hypercube { dimension }),
        vec(level, 1..4).prop_map(|levels| Kind::FatTree { levels }),
        dragonfly.prop_map(|(groups, routers, nodes, local, global)| Kind::Dragonfly(Dragonfly { groups, routers, nodes, local, global })),
    ]
}

fn flow_control() -> impl Strategy<Value = FlowControl> {
    let forwarding = prop_oneof![
        Just(Forwarding::StoreAndForward),
        (1..100u64).prop_map(|flit_bytes| Forwarding::Wormhole { flit_bytes }),
        Just(Forwarding::CutThrough),
    ];
    (forwarding, option::of(101..100_000u64), 0..100u64, figure()).prop_map(|(forwarding, packet_bytes, header_bytes, hop)| FlowControl {
        forwarding,
        packet_bytes,
        header_bytes,
        hop,
    })
}

/// Any topology but a graph.
pub fn topology() -> impl Strategy<Value = Topology> {
    let limits = (0..3u64, 0..3u64, 0..3u64).prop_map(|(buses, links_out, links_in)| Limits { buses, links_out, links_in });
    let parts = (kind(), link(), one(), one(), option::of(flow_control()), limits);
    parts.prop_map(|(kind, link, duplex, sharing, flow_control, limits)| Topology { kind, link, duplex, sharing, flow_control, limits })
}
