//! Network models against hand-computed times.

use std::path::Path;

use sintonia_machine::Machine;

use super::*;

/// A machine with that topology.
fn machine(topology: &str) -> Machine {
    let text = format!("format = 1\nmachine = {{ name = \"test\" }}\n[topology]\n{topology}\n");
    Machine::parse(&text, Path::new("test.toml")).unwrap_or_else(|error| panic!("{error}"))
}

fn message(from: u32, to: u32, bytes: f64) -> NetworkTransfer {
    NetworkTransfer { from, to, bytes, latency_s: 0.0, min_s_per_byte: 0.0 }
}

/// Arrival time of each message.
pub(super) fn arrivals_in(network: &mut dyn NetworkModel, messages: &[(f64, NetworkTransfer)]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..messages.len()).collect();
    order.sort_by(|a, b| messages[*a].0.total_cmp(&messages[*b].0));
    let mut found = vec![f64::NAN; messages.len()];
    let mut advance = |network: &mut dyn NetworkModel| {
        let (at, mut arrived) = (network.next_time().unwrap(), Vec::new());
        network.advance(&mut arrived);
        arrived.iter().for_each(|id| found[*id as usize] = at);
    };
    for index in order {
        let (at, transfer) = messages[index];
        while network.next_time().is_some_and(|next| next < at) {
            advance(network);
        }
        network.begin(at, index as TransferId, transfer);
    }
    while network.next_time().is_some() {
        advance(network);
    }
    found
}

fn arrivals(topology: &str, messages: &[(f64, NetworkTransfer)]) -> Vec<f64> {
    arrivals_in(&mut *build(&machine(topology), IntervalBound::Middle.into()).unwrap(), messages)
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64]) {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs().max(1e-9);
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(close), "found {found:?}, expected {expected:?}");
}

#[test]
fn a_message_alone_takes_latency_and_bytes() {
    let star = "kind = \"star\"\nnodes = 4\nbandwidth_bytes_per_s = 100\nlatency_s = 0.25";
    let transfer = NetworkTransfer { latency_s: 1.0, ..message(0, 1, 200.0) };
    assert_close(&arrivals(star, &[(3.0, transfer)]), &[3.0 + 1.0 + 0.5 + 2.0]);
}

#[test]
fn an_empty_message_takes_its_latency() {
    let star = "kind = \"star\"\nnodes = 4\nbandwidth_bytes_per_s = 100\nlatency_s = 0.25";
    assert_close(&arrivals(star, &[(0.0, message(0, 1, 0.0))]), &[0.5]);
}

#[test]
fn within_a_node_only_its_own_pace_counts() {
    let star = "kind = \"star\"\nnodes = 4\nbandwidth_bytes_per_s = 100\nlatency_s = 0.25";
    let own = NetworkTransfer { min_s_per_byte: 0.001, latency_s: 2.0, ..message(1, 1, 1000.0) };
    assert_close(&arrivals(star, &[(0.0, own), (0.0, message(2, 2, 50.0))]), &[3.0, 0.0]);
}

#[test]
fn two_messages_on_one_link_have_half_of_it_each() {
    let star = "kind = \"star\"\nnodes = 4\nbandwidth_bytes_per_s = 100";
    let found = arrivals(star, &[(0.0, message(0, 1, 100.0)), (0.0, message(0, 2, 300.0))]);
    // Both have 50 until the first ends after 2 s; then the second has 200 left at 100.
    assert_close(&found, &[2.0, 4.0]);
}

#[test]
fn a_later_stream_gets_its_share_from_its_start() {
    let star = "kind = \"star\"\nnodes = 4\nbandwidth_bytes_per_s = 100";
    let found = arrivals(star, &[(0.0, message(0, 1, 200.0)), (1.0, message(0, 2, 100.0))]);
    assert_close(&found, &[3.0, 3.0]);
}

#[test]
fn what_a_slow_message_leaves_goes_to_the_others() {
    let star = "kind = \"star\"\nnodes = 4\nbandwidth_bytes_per_s = 100";
    let slow = NetworkTransfer { min_s_per_byte: 0.1, ..message(0, 1, 20.0) };
    assert_close(&arrivals(star, &[(0.0, slow), (0.0, message(0, 2, 180.0))]), &[2.0, 2.0]);
}

#[test]
fn one_over_two_links_and_one_over_each() {
    // A chain 0 - 1 - 2: the long message shares each link with a short one; the second link is wider.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("chain"), "0 1 100\n1 2 300\n").unwrap();
    let text = "format = 1\nmachine = { name = \"c\" }\n[topology]\nkind = \"graph\"\nfile = \"chain\"\nbandwidth_bytes_per_s = 1";
    let machine = Machine::parse(text, &folder.path().join("m.toml")).unwrap();
    let messages = [(0.0, message(0, 2, 50.0)), (0.0, message(0, 1, 50.0)), (0.0, message(1, 2, 250.0))];
    // 50 and 50 on the first link leave 250 of the second.
    assert_close(&arrivals_in(&mut *build(&machine, IntervalBound::Middle.into()).unwrap(), &messages), &[1.0, 1.0, 1.0]);
}

#[test]
fn both_directions_at_once_unless_half_duplex() {
    let star = "kind = \"star\"\nnodes = 2\nbandwidth_bytes_per_s = 100";
    let both = [(0.0, message(0, 1, 100.0)), (0.0, message(1, 0, 100.0))];
    assert_close(&arrivals(star, &both), &[1.0, 1.0]);
    assert_close(&arrivals(&format!("{star}\nduplex = \"half\""), &both), &[2.0, 2.0]);
}

#[test]
fn a_switch_with_a_limit_and_a_bus_are_shared_by_all() {
    let pairs = [(0.0, message(0, 1, 100.0)), (0.0, message(2, 3, 100.0))];
    let star = "kind = \"star\"\nnodes = 4\nbandwidth_bytes_per_s = 100";
    assert_close(&arrivals(star, &pairs), &[1.0, 1.0]);
    assert_close(&arrivals(&format!("{star}\nswitch_bandwidth_bytes_per_s = 100"), &pairs), &[2.0, 2.0]);
    assert_close(&arrivals("kind = \"bus\"\nnodes = 4\nbandwidth_bytes_per_s = 100", &pairs), &[2.0, 2.0]);
}

#[test]
fn without_sharing_there_is_no_contention() {
    let star = "kind = \"star\"\nnodes = 4\nbandwidth_bytes_per_s = 100\nsharing = \"none\"";
    let found = arrivals(star, &[(0.0, message(0, 1, 100.0)), (0.0, message(0, 2, 300.0))]);
    assert_close(&found, &[1.0, 3.0]);
}

#[test]
fn the_ends_of_the_figures_make_a_network_quick_or_slow() {
    let star = machine("kind = \"star\"\nnodes = 4\nbandwidth_bytes_per_s = [50, 100, 200]\nlatency_s = [0.25, 0.5, 1]");
    let times = [IntervalBound::Low, IntervalBound::Middle, IntervalBound::High]
        .map(|end| arrivals_in(&mut *build(&star, end.into()).unwrap(), &[(0.0, message(0, 1, 100.0))])[0]);
    assert_close(&times, &[1.0, 2.0, 4.0]);
}

#[test]
fn a_machine_without_a_topology_has_no_network() {
    let machine = Machine::parse("format = 1\nmachine = { name = \"plain\" }", Path::new("x")).unwrap();
    let error = build(&machine, IntervalBound::Middle.into()).err().unwrap().to_string();
    assert_eq!(error, "the machine `plain` has no [topology], so there is no contention");
    let large = self::machine("kind = \"torus\"\ndimensions = [60000, 60000]\nbandwidth_bytes_per_s = 1");
    assert_eq!(build(&large, IntervalBound::Middle.into()).err().unwrap(), NetworkError::TooManyLinks);
}

/// A ring of 16 with this flow control; 100 bytes per second.
fn ring(control: &str) -> String {
    format!("kind = \"torus\"\ndimensions = [16]\nbandwidth_bytes_per_s = 100\n{control}")
}

#[test]
fn alone_a_message_takes_what_the_formulas_of_flow_control_say() {
    // PT = 1000 bytes over d + 1 = 4 channels; L is the width of a channel and F its moves per second, L F = 100 bytes/s.
    let (packet, d) = (1000.0, 3.0);
    let law = |control: &str, bytes: f64, expected: f64| {
        assert_close(&arrivals(&ring(control), &[(0.0, message(0, 4, bytes))]), &[expected]);
        assert_close(&arrivals(&ring(&format!("{control}\nsharing = \"none\"")), &[(0.0, message(0, 4, bytes))]), &[expected]);
    };
    law("flow_control = \"none\"", packet, packet / 100.0);
    law("flow_control = \"store_and_forward\"", packet, packet / 100.0 * (d + 1.0));
    // (PT/L + d)/F
    law("flow_control = \"wormhole\"\nflit_bytes = 8", packet, (packet / 8.0 + d) / (100.0 / 8.0));
    // (PT + d*H)/L/F; the header is part of the packet
    law("flow_control = \"cut_through\"\nheader_bytes = 20", packet - 20.0, (packet + d * 20.0) / 100.0);
}

#[test]
fn packets_of_a_message_follow_each_other() {
    // Five packets of 200 bytes: the last leaves after 10 s and takes three more links.
    let control = "flow_control = \"store_and_forward\"\npacket_bytes = 200";
    assert_close(&arrivals(&ring(control), &[(0.0, message(0, 4, 1000.0))]), &[10.0 + 3.0 * 2.0]);
    // A header of 50 bytes leaves 150 for data: seven packets, 1,350 bytes on the wire.
    let control = "flow_control = \"store_and_forward\"\npacket_bytes = 200\nheader_bytes = 50";
    assert_close(&arrivals(&ring(control), &[(0.0, message(0, 4, 1000.0))]), &[13.5 + 3.0 * 2.0]);
}

#[test]
fn each_node_and_link_of_a_route_adds_its_time() {
    let control = "flow_control = \"wormhole\"\nflit_bytes = 8\nhop_s = 0.5\nlatency_s = 0.1";
    let expected = (1000.0 + 3.0 * 8.0) / 100.0 + 3.0 * 0.5 + 4.0 * 0.1;
    assert_close(&arrivals(&ring(control), &[(0.0, message(0, 4, 1000.0))]), &[expected]);
}

#[test]
fn a_message_in_packets_is_no_faster_than_its_ends() {
    let own = NetworkTransfer { min_s_per_byte: 0.1, ..message(0, 4, 1000.0) };
    for control in ["flow_control = \"wormhole\"\nflit_bytes = 1", "flow_control = \"cut_through\"\nheader_bytes = 0"] {
        let found = arrivals(&ring(control), &[(0.0, own)])[0];
        assert!((100.0..100.1).contains(&found), "{control}: {found}");
    }
}

#[test]
fn a_worm_holds_its_whole_route_and_packets_only_one_link() {
    // The first uses links 0-1 and 1-2 and meets the second at 1-2; the third only uses 0-1, a little later.
    let messages = [(0.0, message(1, 2, 1000.0)), (0.1, message(0, 2, 1000.0)), (0.2, message(0, 1, 1000.0))];
    // The worm waits for 1-2 until 10 s and leaves 0-1 idle meanwhile; the third then uses it.
    let found = arrivals(&ring("flow_control = \"wormhole\"\nflit_bytes = 8"), &messages);
    assert_close(&found, &[10.0, 20.0, 29.92]);
    // Stored at node 1, it frees the first link after 10 s.
    let found = arrivals(&ring("flow_control = \"store_and_forward\""), &messages);
    assert_close(&found, &[10.0, 20.1, 20.1]);
    let found = arrivals(&ring("flow_control = \"cut_through\"\nheader_bytes = 0"), &messages);
    assert_close(&found, &[10.0, 20.0, 20.1]);
}

#[test]
fn buses_and_links_let_so_many_through_and_the_others_wait_in_order() {
    let machine = "kind = \"crossbar\"\nnodes = 8\nbandwidth_bytes_per_s = 100\nsharing = \"none\"";
    let pairs: Vec<(f64, NetworkTransfer)> = (0..4).map(|pair| (0.0, message(2 * pair, 2 * pair + 1, 100.0))).collect();
    assert_close(&arrivals(machine, &pairs), &[1.0; 4]);
    assert_close(&arrivals(&format!("{machine}\nbuses = 1"), &pairs), &[1.0, 2.0, 3.0, 4.0]);
    let mut two = arrivals(&format!("{machine}\nbuses = 2"), &pairs);
    two.sort_by(f64::total_cmp);
    assert_close(&two, &[1.0, 1.0, 2.0, 2.0]);
    let out: Vec<(f64, NetworkTransfer)> = (1..4).map(|to| (f64::from(to) * 0.01, message(0, to, 100.0))).collect();
    assert_close(&arrivals(&format!("{machine}\nlinks_out = 1"), &out), &[1.01, 2.01, 3.01]);
    assert_close(&arrivals(&format!("{machine}\nlinks_in = 1"), &out), &[1.01, 1.02, 1.03]);
    let into: Vec<(f64, NetworkTransfer)> = (1..4).map(|from| (f64::from(from) * 0.01, message(from, 0, 100.0))).collect();
    assert_close(&arrivals(&format!("{machine}\nlinks_in = 1"), &into), &[1.01, 2.01, 3.01]);
    assert_close(&arrivals(&format!("{machine}\nlinks_in = 2"), &into), &[1.01, 1.02, 2.01]);
}

#[test]
fn latency_at_the_ends_keeps_no_bus_and_nothing_within_a_node_does() {
    let machine = "kind = \"crossbar\"\nnodes = 8\nbandwidth_bytes_per_s = 100\nsharing = \"none\"\nbuses = 1";
    let late = NetworkTransfer { latency_s: 10.0, ..message(0, 1, 100.0) };
    let inside = NetworkTransfer { min_s_per_byte: 0.01, ..message(5, 5, 100.0) };
    let found = arrivals(machine, &[(0.0, late), (0.0, message(2, 3, 100.0)), (0.0, inside)]);
    assert_close(&found, &[11.0, 1.0, 1.0]);
}
