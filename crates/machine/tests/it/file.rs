//! Machine files: round trips, and errors with their position.

use std::path::Path;

use proptest::prelude::*;
use sintonia_machine::{ArithmeticOp, CollectiveKind, Error, Machine, MessageMetric, NumberType, PairClass};

use crate::random;

const LAINE: &str = include_str!("../../data/laine2003.machine.toml");

fn read(text: &str) -> Result<Machine, Error> {
    Machine::parse(text, Path::new("m.toml"))
}

/// The error for a text in which `what`, which must occur, was replaced.
fn error_message(what: &str, with: &str) -> String {
    assert!(GOOD.contains(what), "{what} is not there");
    let text = GOOD.replace(what, with);
    read(&text).expect_err(&text).to_string()
}

const GOOD: &str = r#"format = 1
[machine]
name = "by hand"
[[node]]
kind = "PC"
count = 2
cores = 4
[node.compute.float64]
add = { latency_s = [1e-9, 2e-9, 3e-9], throughput_s = 5e-10 }
[[node.memory]]
level = "L1"
size_bytes = 32768
latency_s = 1e-9
[network.other_node]
eager_bytes = 65536
overlap = [{ bytes = 4096, share = [0.1, 0.2, 0.3] }]
[network.other_node.send]
pieces = [
    { up_to_bytes = [32768, 65536, 65536], intercept_s = 1e-5, slope_s_per_byte = [8e-9, 9e-9, 1e-8] },
    { from_bytes = 65536, intercept_s = 2e-5, slope_s_per_byte = 8e-9 },
]
[group.bcast]
growth = "log2(p)"
[[group.bcast.at]]
processes = 2
pieces = [{ intercept_s = 1e-5, slope_s_per_byte = 0 }]
"#;

#[test]
fn a_file_written_by_hand_is_read() {
    let machine = read(GOOD).unwrap();
    assert_eq!((machine.metadata.name.as_str(), machine.nodes[0].cores), ("by hand", 4));
    let add = machine.nodes[0].compute[&NumberType::Float64][&ArithmeticOp::Add];
    assert_eq!((add.latency.low(), add.latency.high(), add.throughput.middle()), (1e-9, 3e-9, 5e-10));
    let send = &machine.networks[&PairClass::OtherNode].messages[&MessageMetric::Send];
    assert!((send.pieces.at(65_536.0)[1] - (1e-5 + 9e-9 * 65_536.0)).abs() < 1e-15);
    assert!((send.pieces.at(65_537.0)[1] - (2e-5 + 8e-9 * 65_537.0)).abs() < 1e-15);
    assert_eq!(machine.collective_cost(CollectiveKind::Bcast).unwrap().timings[0].processes, 2);
}

#[test]
fn sizes_may_be_hexadecimal() {
    let machine = read(&GOOD.replace("[32768, 65536, 65536]", "0x1_0000")).unwrap();
    assert_eq!(machine.networks[&PairClass::OtherNode].messages[&MessageMetric::Send].pieces.bounded()[0].0.middle(), 65_536.0);
}

#[test]
fn a_missing_network_is_replaced_by_the_next() {
    let machine = read(GOOD).unwrap();
    assert_eq!(machine.network(PairClass::SameNode), machine.networks.get(&PairClass::OtherNode));
    assert_eq!(read("format = 1\nmachine = { name = \"x\" }").unwrap().network(PairClass::SameNode), None);
}

#[test]
fn the_cluster_of_the_paper_is_a_machine() {
    let machine = read(LAINE).unwrap();
    let send = &machine.network(PairClass::OtherNode).unwrap().messages[&MessageMetric::Send];
    // Rows of Table 1, in microseconds, within the errors that the file states.
    for (bytes, microseconds) in [(65_536.0, 5726.130), (131_072.0, 13_198.730), (5_592_404.0, 477_389.344)] {
        let error = send.pieces.at(bytes)[1] * 1e6 / microseconds - 1.0;
        assert!(error.abs() * 100.0 <= send.measured.unwrap().worst_error_percent, "{bytes}: {error}");
    }
}

#[test]
fn errors_have_a_position() {
    let expected = [
        ("format = 1", "format = 2", "m.toml:1:10: this is a machine file of format 2, and only format 1 is supported"),
        ("format = 1\n", "", "m.toml:1:1: `format` is missing at the top"),
        ("name = \"by hand\"", "", "m.toml:2:1: `name` is missing in [machine]"),
        ("kind = \"PC\"", "kind = PC", "m.toml:5:8: "),
        ("cores = 4", "cores = \"four\"", "m.toml:7:9: `cores` must be an integer, not a text"),
        (
            "[1e-9, 2e-9, 3e-9]",
            "[3e-9, 2e-9, 1e-9]",
            "m.toml:9:21: `latency_s`: the interval ends before it begins: low is 0.000000003, high is 0.000000001",
        ),
        ("[1e-9, 2e-9, 3e-9]", "[1e-9, 4e-9, 3e-9]", "m.toml:9:21: `latency_s`: the middle"),
        ("[1e-9, 2e-9, 3e-9]", "[1e-9, 2e-9]", "m.toml:9:21: `latency_s` must be one number, or [low, middle, high], not a list"),
        ("[1e-9, 2e-9, 3e-9]", "nan", "m.toml:9:21: `latency_s`: NaN is not a finite number"),
        ("[1e-9, 2e-9, 3e-9]", "-1e-9", "m.toml:9:21: `latency_s` is negative"),
        ("size_bytes", "size", "m.toml:12:1: `size` has no known unit: write `size_bytes`, in bytes"),
        (
            "intercept_s = 1e-5, slope_s_per_byte = [",
            "intercept_us = 10, slope_s_per_byte = [",
            "m.toml:19:44: `intercept_us` has no known unit: write `intercept_s`, in seconds",
        ),
        ("eager_bytes", "eagre_bytes", "m.toml:15:1: `eagre_bytes` is unknown in [network.other_node]"),
        ("[network.other_node.send]", "[network.other_node.sent]", "m.toml:17:21: `sent` is unknown in [network.other_node]"),
        ("pieces = [\n", "piece = [\n", "m.toml:18:1: `piece` is unknown in [network.other_node.send] (did you mean `pieces`?)"),
        ("from_bytes = 65536, ", "from_bytes = 70000, ", "m.toml:20:5: gap: no piece covers sizes above 65536 and up to 70000 bytes"),
        (
            "from_bytes = 65536, ",
            "from_bytes = 60000, ",
            "m.toml:20:5: this piece begins at 60000 bytes, but the previous one extends to 65536",
        ),
        ("up_to_bytes = [32768, 65536, 65536], ", "", "m.toml:19:5: this piece is not the last, so it needs an upper end: `up_to_bytes`"),
        ("from_bytes = 65536, ", "up_to_bytes = 70000, ", "m.toml:20:5: the last piece covers all larger messages"),
        ("slope_s_per_byte = [8e-9, 9e-9, 1e-8]", "slope_s_per_byte = -8e-9", "m.toml:19:5: the time of 65536 bytes is negative: -0.0005"),
        ("slope_s_per_byte = 8e-9 },", "slope_s_per_byte = -1e-12 },", "m.toml:20:5: the last piece has a negative slope"),
        ("[{ intercept_s = 1e-5, slope_s_per_byte = 0 }]", "[]", "m.toml:26:10: `pieces` is empty: at least one is needed"),
        ("\"log2(p)\"", "\"log2(q)\"", "m.toml:23:10: `growth` is not a formula: it depends on `q`"),
        ("\"log2(p)\"", "\"log2(\"", "m.toml:23:10: `growth` is not a formula: "),
        ("\"log2(p)\"", "\"3 - p\"", "m.toml:23:10: `growth` is -1 at 4 processes"),
        ("\"log2(p)\"", "\"log2(p - 2)\"", "m.toml:23:10: `growth` is "),
        ("count = 2", "count = 0", "m.toml:6:9: `count` must be a positive integer, not a number"),
        ("[0.1, 0.2, 0.3]", "[0.1, 0.2, 1.3]", "m.toml:16:36: `share` must be from 0 to 1, not 1.3"),
        ("name = \"by hand\"", "name = \"by hand\"\nconfidence = nan", "m.toml:4:14: `confidence`: NaN is not a finite number"),
        ("name = \"by hand\"", "name = \"by hand\"\ndisturbance = -1", "m.toml:4:15: `disturbance` is negative: -1"),
        ("{ up_to_bytes = [32768,", "{ from_bytes = nan, up_to_bytes = [32768,", "m.toml:19:20: `from_bytes`: NaN is not a finite number"),
        ("{ up_to_bytes = [32768,", "{ from_bytes = -1, up_to_bytes = [32768,", "m.toml:19:20: `from_bytes` is negative: -1"),
        ("processes = 2", "processes = 1", "m.toml:24:1: numbers of processes must ascend from 2: 1 after 1"),
    ];
    for (what, with, message) in expected {
        let said = error_message(what, with);
        assert!(said.starts_with(message), "{what:?} -> {with:?}\nsaid:     {said}\nexpected: {message}");
    }
}

#[test]
fn an_error_shows_its_line() {
    let said = error_message("cores = 4", "cores = true");
    assert_eq!(said, "m.toml:7:9: `cores` must be an integer, not true or false\n    cores = true\n            ^^^^");
}

#[test]
fn a_missing_file_is_reported() {
    let said = Machine::read(Path::new("no/such.machine.toml")).unwrap_err().to_string();
    assert!(said.starts_with("no/such.machine.toml: No such file"), "{said}");
}

proptest! {
    #[test]
    fn writing_and_reading_round_trip(machine in random::machine()) {
        let text = machine.to_text();
        prop_assert_eq!(read(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?, machine);
    }

    #[test]
    fn any_text_is_a_machine_or_an_error(text in "(?s).{0,200}") {
        let _ = read(&text);
    }

    #[test]
    fn a_file_with_a_part_missing_is_a_machine_or_an_error(from in 0..GOOD.len(), length in 0..60usize) {
        let to = (from + length).min(GOOD.len());
        let _ = read(&format!("{}{}", &GOOD[..from], &GOOD[to..]));
    }
}

#[test]
fn a_disturbed_measurement_widens_intervals_for_predictions() {
    let text = GOOD.replace("name = \"by hand\"", "name = \"by hand\"\ndisturbance = 1");
    let machine = read(&text).unwrap();
    assert_eq!(read(&machine.to_text()).unwrap(), machine, "the file keeps what was measured");
    let widened = machine.clone().widened();
    let add = |machine: &Machine| machine.nodes[0].compute[&NumberType::Float64][&ArithmeticOp::Add].latency;
    assert_eq!(<[f64; 3]>::from(add(&widened)), [0.5e-9, 2e-9, 6e-9]);
    let send = |machine: &Machine| machine.networks[&PairClass::OtherNode].messages[&MessageMetric::Send].pieces.at(1000.0);
    let ([low, middle, high], [lower, same, higher]) = (send(&machine), send(&widened));
    assert_eq!((lower, same, higher), (low / 2.0, middle, high * 2.0));
    assert_eq!(widened.networks[&PairClass::OtherNode].overlap, machine.networks[&PairClass::OtherNode].overlap);
    assert_eq!(read(GOOD).unwrap().widened(), read(GOOD).unwrap(), "without the key nothing changes");
}

#[test]
fn nodes_have_names_and_a_layout() {
    let text = GOOD.replace("cores = 4", "cores = 4\nhosts = [\"a\", \"b\"]\nsockets = 2\ncomplexes = 4");
    let machine = read(&text).unwrap();
    let layout = &machine.nodes[0].layout;
    assert_eq!((layout.hosts.join(" "), layout.sockets, layout.complexes), ("a b".into(), Some(2), Some(4)));
    assert_eq!(read(&machine.to_text()).unwrap(), machine);
}

#[test]
fn an_invalid_layout_is_refused() {
    assert!(error_message("cores = 4", "cores = 4\nsockets = 3").contains("`sockets` = 3 does not divide 4 cores evenly"));
    assert!(
        error_message("cores = 4", "cores = 4\nsockets = 4\ncomplexes = 2").contains("`sockets` = 4 does not divide 2 complexes evenly")
    );
    assert!(error_message("cores = 4", "cores = 4\nhosts = [\"a\"]").contains("`hosts` has 1 names, but `count` is 2"));
    assert!(error_message("cores = 4", "cores = 4\nhosts = [\"a\", \"a\"]").contains("the host \"a\" occurs twice"));
}
