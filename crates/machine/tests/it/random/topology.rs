//! Random topologies, except graphs, which have a file of their own.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use sintonia_machine::Topology;
use sintonia_machine::topology::{
    ConcurrencyLimits, DragonflyParameters, FatTreeLevelParameters, FlowControl, ForwardingMode, LinkParameters, TopologyKind,
};

use super::{above_zero, figure, one};

fn link() -> impl Strategy<Value = LinkParameters> {
    (above_zero(), figure()).prop_map(|(bandwidth, latency)| LinkParameters { bandwidth, latency })
}

fn kind() -> impl Strategy<Value = TopologyKind> {
    let nodes = || 1..100_000u32;
    let dimensions = || vec(1..50u32, 1..5);
    let level = (1..30u32, 1..5u32, 1..3u32, option::of(link()));
    let level = level.prop_map(|(down, up, parallel, link)| FatTreeLevelParameters { down, up, parallel, link });
    let dragonfly = (1..90u32, 1..20u32, 1..20u32, option::of(link()), option::of(link()));
    prop_oneof![
        nodes().prop_map(|nodes| TopologyKind::Bus { nodes }),
        nodes().prop_map(|nodes| TopologyKind::Crossbar { nodes }),
        (nodes(), option::of(above_zero())).prop_map(|(nodes, switch)| TopologyKind::Star { nodes, switch }),
        dimensions().prop_map(|dimensions| TopologyKind::Mesh { dimensions }),
        dimensions().prop_map(|dimensions| TopologyKind::Torus { dimensions }),
        (1..32u32).prop_map(|dimension| TopologyKind::Hypercube { dimension }),
        vec(level, 1..4).prop_map(|levels| TopologyKind::FatTree { levels }),
        dragonfly.prop_map(|(groups, routers, nodes, local, global)| TopologyKind::Dragonfly(DragonflyParameters {
            groups,
            routers,
            nodes,
            local,
            global
        })),
    ]
}

fn flow_control() -> impl Strategy<Value = FlowControl> {
    let forwarding = prop_oneof![
        Just(ForwardingMode::StoreAndForward),
        (1..100u64).prop_map(|flit_bytes| ForwardingMode::Wormhole { flit_bytes }),
        Just(ForwardingMode::CutThrough),
    ];
    (forwarding, option::of(101..100_000u64), 0..100u64, figure()).prop_map(|(forwarding, packet_bytes, header_bytes, hop)| FlowControl {
        forwarding,
        packet_bytes,
        header_bytes,
        hop_latency: hop,
    })
}

/// A random topology, except a graph.
pub(super) fn topology() -> impl Strategy<Value = Topology> {
    let limits = (0..3u64, 0..3u64, 0..3u64).prop_map(|(buses, links_out, links_in)| ConcurrencyLimits { buses, links_out, links_in });
    let parts = (kind(), link(), one(), one(), option::of(flow_control()), limits);
    parts.prop_map(|(kind, link, duplex, sharing, flow_control, limits)| Topology { kind, link, duplex, sharing, flow_control, limits })
}
