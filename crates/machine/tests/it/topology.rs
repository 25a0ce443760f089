//! Topologies in machine files, and their errors.

use std::path::Path;

use sintonia_machine::topology::{ForwardingMode, LinkGraph, TopologyKind};
use sintonia_machine::{BandwidthSharing, Duplex, Error, Machine, MessageMetric, PairClass, Topology};

const HEAD: &str = "format = 1\nmachine = { name = \"x\" }\n";

fn machine(text: &str) -> Result<Machine, Error> {
    Machine::parse(&format!("{HEAD}{text}"), Path::new("m.toml"))
}

fn topology(text: &str) -> Topology {
    machine(&format!("[topology]\nbandwidth_bytes_per_s = 1e9\n{text}")).unwrap().topology.unwrap()
}

fn said(text: &str) -> String {
    machine(&format!("[topology]\nbandwidth_bytes_per_s = 1e9\n{text}")).expect_err(text).to_string()
}

#[test]
fn each_kind_says_how_many_nodes_it_connects() {
    let expected = [
        ("kind = \"bus\"\nnodes = 4", 4),
        ("kind = \"crossbar\"\nnodes = 5", 5),
        ("kind = \"star\"\nnodes = 6\nswitch_bandwidth_bytes_per_s = 4e9", 6),
        ("kind = \"mesh\"\ndimensions = [3, 4]", 12),
        ("kind = \"torus\"\ndimensions = [4, 4, 4]", 64),
        ("kind = \"hypercube\"\ndimension = 10", 1024),
        ("kind = \"fat_tree\"\nlevels = [{ down = 8 }, { down = 4, up = 2, parallel = 2 }]", 32),
        ("kind = \"dragonfly\"\ngroups = 3\nrouters_per_group = 4\nnodes_per_router = 2", 24),
    ];
    for (text, nodes) in expected {
        assert_eq!(topology(text).node_count(), nodes, "{text}");
    }
}

#[test]
fn defaults_apply() {
    let star = topology("kind = \"star\"\nnodes = 2");
    assert_eq!(
        (star.duplex, star.sharing, star.flow_control, star.link.latency.middle()),
        (Duplex::Full, BandwidthSharing::Fair, None, 0.0)
    );
    let tree = topology("kind = \"fat_tree\"\nlatency_s = 1e-6\nlevels = [{ down = 8 }, { down = 4, bandwidth_bytes_per_s = 4e9 }]");
    let TopologyKind::FatTree { levels } = tree.kind else { panic!("no tree") };
    assert_eq!(levels[0].link, None);
    assert_eq!(levels[1].link.map(|link| [link.bandwidth.middle(), link.latency.middle()]), Some([4e9, 1e-6]));
}

#[test]
fn a_switch_connects_all_nodes_by_default() {
    let node = "[[node]]\nkind = \"PC\"\ncount = 12\ncores = 4\nspeed = 1.5\n";
    let machine = machine(&format!("{node}[topology]\nkind = \"star\"\nbandwidth_bytes_per_s = 1e9")).unwrap();
    assert_eq!((machine.topology.unwrap().node_count(), machine.nodes[0].speed.middle()), (12, 1.5));
}

#[test]
fn flow_control_has_what_its_kind_needs() {
    let torus = |text: &str| topology(&format!("kind = \"torus\"\ndimensions = [4]\n{text}"));
    let control = torus("flow_control = \"wormhole\"\nflit_bytes = 8\npacket_bytes = 512\nhop_s = 1e-7").flow_control.unwrap();
    assert_eq!((control.forwarding, control.packet_bytes), (ForwardingMode::Wormhole { flit_bytes: 8 }, Some(512)));
    assert_eq!(torus("flow_control = \"none\"").flow_control, None);
}

#[test]
fn errors_have_a_position() {
    let expected = [
        ("kind = \"ring\"", "m.toml:5:8: `kind` cannot be \"ring\"; allowed: bus, crossbar, star"),
        ("kind = \"bus\"", "m.toml:3:1: `nodes` is missing in [topology]"),
        ("kind = \"bus\"\nnodes = 0", "m.toml:6:9: `nodes` must be a positive integer"),
        ("kind = \"bus\"\nnodes = 2\nlatency_us = 1", "m.toml:7:1: `latency_us` has no known unit: write `latency_s`"),
        ("kind = \"bus\"\nnodes = 2\nduplex = \"both\"", "m.toml:7:10: `duplex` cannot be \"both\"; allowed: full, half"),
        ("kind = \"bus\"\nnodes = 2\nflit_bytes = 8", "m.toml:7:1: `flit_bytes` is unknown in [topology]"),
        ("kind = \"mesh\"\ndimensions = []", "m.toml:6:14: this topology has no nodes"),
        ("kind = \"mesh\"\ndimensions = [4, 0]", "m.toml:6:18: `dimensions` must be a positive integer"),
        ("kind = \"mesh\"\ndimensions = [100000, 100000]", "m.toml:3:1: this topology has 10000000000 nodes"),
        ("kind = \"hypercube\"\ndimension = 999", "m.toml:3:1: this topology has "),
        ("kind = \"bus\"\nnodes = 2\nflow_control = \"wormhole\"", "m.toml:3:1: `flit_bytes` is missing in [topology]"),
        (
            "kind = \"bus\"\nnodes = 2\nflow_control = \"cut_through\"\nheader_bytes = 64\npacket_bytes = 64",
            "m.toml:9:16: a packet of 64 bytes has no space for data after its header of 64 bytes",
        ),
        ("kind = \"graph\"\nfile = \"no-such.graph\"", "no-such.graph: No such file"),
    ];
    for (text, message) in expected {
        let said = said(text);
        assert!(said.starts_with(message), "{text:?}\nsaid:     {said}\nexpected: {message}");
    }
    let slow = machine("[topology]\nkind = \"bus\"\nnodes = 2\nbandwidth_bytes_per_s = 0").unwrap_err().to_string();
    assert!(slow.starts_with("m.toml:6:25: `bandwidth_bytes_per_s` must be positive, not 0"), "{slow}");
    let rate = machine("[topology]\nkind = \"bus\"\nnodes = 2\nbandwidth_mbps = 1").unwrap_err().to_string();
    assert!(rate.contains("write `bandwidth_bytes_per_s`, in bytes per second"), "{rate}");
}

#[test]
fn a_topology_with_too_few_nodes_is_an_error() {
    let text = "[[node]]\nkind = \"PC\"\ncount = 9\ncores = 4\n[topology]\nkind = \"mesh\"\ndimensions = [2, 4]\nbandwidth_bytes_per_s = 1";
    let said = machine(text).unwrap_err().to_string();
    assert!(said.starts_with("m.toml:7:1: this topology has 8 nodes, and the machine has 9"), "{said}");
}

#[test]
fn a_graph_file_is_next_to_the_machine_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.machine.toml");
    std::fs::write(folder.path().join("links.txt"), "# two racks\n0 left\n1 left 2e9\n2 right\nleft right 1e10 5e-6\n").unwrap();
    let text = format!("{HEAD}[topology]\nkind = \"graph\"\nfile = \"links.txt\"\nbandwidth_bytes_per_s = 1e9");
    let machine = Machine::parse(&text, &path).unwrap();
    let topology = machine.topology.as_ref().unwrap();
    let TopologyKind::Graph(graph) = &topology.kind else { panic!("no graph") };
    assert_eq!((graph.node_count(), graph.vertex_count(), graph.edges().len()), (3, 5, 4));
    assert_eq!(graph.edges()[3].ends, [3, 4]);
    assert_eq!(graph.edges()[1].bandwidth.map(|rate| rate.middle()), Some(2e9));
    assert_eq!(Machine::parse(&machine.to_text(), &path).unwrap(), machine);
}

#[test]
fn graph_errors_have_a_position() {
    let said = |text: &str| LinkGraph::parse(text, "g", Path::new("g")).expect_err(text).to_string();
    assert!(said("").starts_with("g:1:1: this topology has no nodes"));
    assert!(said("a b").starts_with("g:1:1: this topology has no nodes"));
    assert!(said("0 1\n2 3").starts_with("g:1:1: this graph is not connected: there is no path from `0` to `2`"));
    assert!(said("0 1\na b").contains("there is no path from `0` to `a`"));
    assert!(said("0 2").starts_with("g:1:1: there is a node 2 but no node 1"));
    assert!(said("0 1\n0").starts_with("g:2:1: a line is a link"));
    assert!(said("0 1 fast").starts_with("g:1:5: `fast` is not a non-negative number"));
    assert!(said("0 1 0").starts_with("g:1:5: `bandwidth` must be positive"));
    assert!(said("0 99999999999").starts_with("g:1:3: `99999999999` is too large for the number of a node"));
}

#[test]
fn collectives_and_the_gap_are_kept() {
    let text = "[network.other_node.gap]\npieces = [{ intercept_s = 1e-6, slope_s_per_byte = 0 }]\n[collectives]\nlibrary = \"openmpi\"\nbcast = \"binomial\"\n";
    let machine = machine(text).unwrap();
    assert_eq!(machine.networks[&PairClass::OtherNode].messages[&MessageMetric::Gap].pieces.at(0.0)[1], 1e-6);
    assert_eq!(machine.collective_algorithms.library.as_deref(), Some("openmpi"));
    assert_eq!(machine.collective_algorithms.algorithms.values().collect::<Vec<_>>(), ["binomial"]);
    let said = self::machine("[collectives]\nbroadcast = \"ring\"").unwrap_err().to_string();
    assert!(said.starts_with("m.toml:4:1: `broadcast` is unknown in [collectives]"), "{said}");
}
