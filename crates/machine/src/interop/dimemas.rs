//! Configurations of Dimemas: latency and bandwidth inside and between nodes, and limits of concurrent messages.
//!
//! Dimemas has one line where a machine has pieces: the latency is the time of an empty message, the bandwidth that of the longest ones.
//! Its megabytes have 2^20 bytes. The eager limit is not part of its files but an option of its command (`-S`); it is kept in a comment.

use std::collections::BTreeMap;
use std::path::Path;

use super::{IncompleteMachine, MAX_BANDWIDTH, bandwidth, exact_cost, incomplete, outermost_network, required_timing};
use crate::topology::{ConcurrencyLimits, LinkParameters, TopologyKind};
use crate::{
    BandwidthSharing, Duplex, Error, Machine, MachineFileProblem, MachineMetadata, MessageMetric, NetworkCosts, NodeLayout, NodeType,
    OperationTiming, PairClass, PiecewiseCost, SourcePos, Topology, UncertainValue,
};

const MEGABYTE: f64 = (1u64 << 20) as f64;
const EAGER_COMMENT: &str = "eager limit, for the option -S of Dimemas:";

/// The machine as a configuration.
pub fn to_config(machine: &Machine) -> Result<String, IncompleteMachine> {
    let (class, between) = outermost_network(machine)?;
    let inside = machine.network(PairClass::SameNode).unwrap_or(between);
    let inside_class = machine.networks.range(PairClass::SameNode..).next().map_or(class, |(class, _)| *class);
    let [[latency, rate], [inner_latency, inner_rate]] = [
        latency_and_rate(required_timing(machine, class, between, MessageMetric::Transfer)?),
        latency_and_rate(required_timing(machine, inside_class, inside, MessageMetric::Transfer)?),
    ];
    let node = machine.nodes.first().ok_or_else(|| incomplete(machine, "has no node".into()))?;
    let count: u64 = machine.nodes.iter().map(|node| node.count).sum();
    let (name, kind) = (sanitize(&machine.metadata.name), sanitize(&node.kind));
    let limits = machine.topology.as_ref().map_or(ConcurrencyLimits { buses: 0, links_out: 1, links_in: 1 }, |topology| topology.limits);
    let ConcurrencyLimits { buses, links_out, links_in } = limits;
    let eager = between.eager_bytes.map_or(String::new(), |bytes| format!("{EAGER_COMMENT} {bytes}\n"));
    Ok(format!(
        "#DIMEMAS_CONFIGURATION\n\n\
         /* The machine {name}, written by Sintonia. Latencies in seconds, rates in MBps of 2^20 bytes.\n{eager}*/\n\n\
         \"wide area network information\" {{\"\", 1, 0, 4, 0.0, 0.0, 1}};;\n\n\
         \"environment information\" {{\"{name}\", 0, \"\", {count}, {rate}, {buses}, 3}};;\n\n\
         \"multi node information\" {{0, {count}, \"{kind}\", {}, {:?}, {inner_latency}, {inner_rate}, 0, 1, 1, {latency}, {links_in}, {links_out}, 0.0}};;\n\n\
         \"predefined mapping information\" {{\"FILL_NODES\"}};;\n\n\
         \"configuration files\" {{\"\", \"\", \"\", \"\"}};;\n\n\
         \"file system parameters\" {{0.0, 0.0, 8.0, 0, 1.0}};;\n",
        node.cores,
        node.speed.middle()
    ))
}

/// Latency and rate; Dimemas requires a decimal point.
fn latency_and_rate(timing: &OperationTiming) -> [String; 2] {
    let latency = timing.pieces.at(timing.pieces.from_bytes())[1] - timing.pieces.from_bytes() / bandwidth(timing.pieces.last());
    [format!("{:.9}", latency.max(0.0)), format!("{:.3}", bandwidth(timing.pieces.last()) / MEGABYTE)]
}

/// Replaces characters that would end a field.
fn sanitize(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_graphic() && !"\",{}*".contains(c) || c == ' ' { c } else { '_' }).collect()
}

/// Parses a configuration; `path` is for messages.
pub fn parse(text: &str, path: &Path) -> Result<Machine, Error> {
    let file = DimemasConfig { plain: blank_comments(text), text, path };
    let environment = file.record("environment information", 7)?;
    let nodes = match file.record("multi node information", 14) {
        Ok(fields) => fields,
        // The older record describes one node; their number is in the environment record.
        Err(error) => match file.record("node information", 13) {
            Ok(mut fields) => {
                fields.insert(1, environment[3].clone());
                fields
            }
            Err(_) => return Err(error),
        },
    };
    let inside = file.parse_network(&nodes[5], &nodes[6])?;
    let mut between = file.parse_network(&nodes[10], &environment[4])?;
    between.eager_bytes = eager_limit(text);
    let node = NodeType {
        kind: nodes[2].text.clone(),
        count: file.parse_integer(&nodes[1])?,
        cores: file.parse_integer(&nodes[3])?,
        cpu_quota: None,
        speed: file.parse_speed(&nodes[4])?,
        layout: NodeLayout::default(),
        compute: BTreeMap::new(),
        java: BTreeMap::new(),
        memory: Vec::new(),
    };
    let limits = ConcurrencyLimits {
        buses: file.parse_integer(&environment[5])?,
        links_in: file.parse_integer(&nodes[11])?,
        links_out: file.parse_integer(&nodes[12])?,
    };
    let topology = topology(node.count, file.parse_number(&environment[4])?, limits);
    Ok(Machine {
        metadata: MachineMetadata {
            name: environment[0].text.clone(),
            source: Some("a configuration of Dimemas".into()),
            ..MachineMetadata::default()
        },
        nodes: vec![node],
        networks: BTreeMap::from([(PairClass::SameNode, inside), (PairClass::OtherNode, between)]),
        topology,
        ..Machine::default()
    })
}

/// A topology that only limits concurrent messages; none without limits.
fn topology(nodes: u64, rate: f64, limits: ConcurrencyLimits) -> Option<Topology> {
    let rate = if rate > 0.0 { rate * MEGABYTE } else { MAX_BANDWIDTH };
    let link = LinkParameters { bandwidth: UncertainValue::exact(rate).ok()?, latency: UncertainValue::ZERO };
    let kind = TopologyKind::Crossbar { nodes: nodes.try_into().ok().filter(|nodes| *nodes > 0)? };
    let topology = Topology { kind, link, duplex: Duplex::Full, sharing: BandwidthSharing::None, flow_control: None, limits };
    (limits != ConcurrencyLimits::default()).then_some(topology)
}

/// Replaces comments with blanks, so that positions stay the same.
fn blank_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        let (inside, after) = comment.split_once("*/").unwrap_or((comment, ""));
        plain.push_str(before);
        let blank = |c: char| std::iter::repeat_n(if c == '\n' { '\n' } else { ' ' }, c.len_utf8());
        plain.extend("/*".chars().chain(inside.chars()).flat_map(blank));
        plain.push_str(if after.is_empty() && !comment.ends_with("*/") { "" } else { "  " });
        rest = after;
    }
    plain + rest
}

fn eager_limit(text: &str) -> Option<u64> {
    text.split_once(EAGER_COMMENT)?.1.split_whitespace().next()?.parse().ok()
}

struct DimemasConfig<'a> {
    plain: String,
    text: &'a str,
    path: &'a Path,
}

/// A field of a record, with its position.
#[derive(Clone)]
struct ConfigField {
    text: String,
    span: std::ops::Range<usize>,
}

impl DimemasConfig<'_> {
    fn error(&self, at: std::ops::Range<usize>, problem: MachineFileProblem) -> Error {
        Error::Invalid { place: SourcePos::from_span(self.path, self.text, at), problem: Box::new(problem) }
    }

    /// The fields of the first record of that name.
    fn record(&self, name: &str, count: usize) -> Result<Vec<ConfigField>, Error> {
        let quoted = format!("\"{name}\"");
        let missing = || {
            self.error(
                0..0,
                MachineFileProblem::MissingData(format!("there is no record {quoted}: this is not a configuration of Dimemas")),
            )
        };
        let begins = self.plain.find(&quoted).ok_or_else(missing)? + quoted.len();
        let opens = begins + self.plain[begins..].find('{').ok_or_else(missing)? + 1;
        let closes = opens + self.plain[opens..].find('}').ok_or_else(missing)?;
        let mut fields = Vec::new();
        let mut at = opens;
        for field in self.plain[opens..closes].split(',') {
            let begins = at + field.len() - field.trim_start().len();
            fields.push(ConfigField { text: field.trim().trim_matches('"').to_owned(), span: begins..begins + field.trim().len() });
            at += field.len() + 1;
        }
        if fields.len() != count {
            let problem = format!("the record {quoted} has {} fields instead of {count}", fields.len());
            return Err(self.error(opens..closes, MachineFileProblem::MissingData(problem)));
        }
        Ok(fields)
    }

    fn parse_number(&self, field: &ConfigField) -> Result<f64, Error> {
        let number = field.text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| {
            self.error(field.span.clone(), MachineFileProblem::Syntax(format!("`{}` is not a non-negative number", field.text)))
        })
    }

    /// Speed relative to the recorded processor; 0 means no time in Dimemas, which no machine has.
    fn parse_speed(&self, field: &ConfigField) -> Result<UncertainValue, Error> {
        let speed = UncertainValue::exact(self.parse_number(field)?).ok().filter(|speed| speed.middle() > 0.0);
        speed.ok_or_else(|| self.error(field.span.clone(), MachineFileProblem::NotAboveZero { key: "speed ratio".into(), value: 0.0 }))
    }

    fn parse_integer(&self, field: &ConfigField) -> Result<u64, Error> {
        let number = field.text.parse().ok();
        number.ok_or_else(|| self.error(field.span.clone(), MachineFileProblem::Syntax(format!("`{}` is not an integer", field.text))))
    }

    /// Latency and rate of a network; a rate of 0 means no transfer time.
    fn parse_network(&self, latency: &ConfigField, rate: &ConfigField) -> Result<NetworkCosts, Error> {
        let rate_of = self.parse_number(rate)?;
        let slope = if rate_of > 0.0 { 1.0 / (rate_of * MEGABYTE) } else { 0.0 };
        let line = exact_cost(self.parse_number(latency)?, slope);
        let pieces = line.and_then(|line| PiecewiseCost::from_line(line).ok());
        let pieces =
            pieces.ok_or_else(|| self.error(rate.span.clone(), MachineFileProblem::Syntax(format!("`{}` is not a rate", rate.text))))?;
        Ok(NetworkCosts {
            messages: BTreeMap::from([(MessageMetric::Transfer, OperationTiming { pieces, measured: None, medians: Vec::new() })]),
            ..NetworkCosts::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDEAL: &str = "#DIMEMAS_CONFIGURATION\n/* \"environment information\" {\n 1: char[] \"machine name\" };; */\n\
        \"environment information\" {\"here\", 0, \"\", 16, 100.0, 0, 1};;\n\
        \"multi node information\" {0, 16, \"node\", 4, 1.0, 0.000001, 0.0, 1, 1, 0, 0.00005, 1, 1, 0.0};;\n";

    #[test]
    fn a_configuration_becomes_a_machine() {
        let machine = parse(IDEAL, Path::new("ideal.cfg")).unwrap();
        assert_eq!((machine.metadata.name.as_str(), machine.nodes[0].count, machine.nodes[0].cores), ("here", 16, 4));
        let transfer = |class: PairClass, bytes: f64| machine.networks[&class].messages[&MessageMetric::Transfer].pieces.at(bytes)[1];
        assert!((transfer(PairClass::OtherNode, 100.0 * MEGABYTE) - 1.00005).abs() < 1e-9);
        assert_eq!(transfer(PairClass::SameNode, 1e9), 1e-6, "a rate of 0 takes no time");
    }

    #[test]
    fn buses_links_and_speed_are_kept() {
        let limited = IDEAL.replace("100.0, 0, 1}", "100.0, 3, 1}").replace("4, 1.0,", "4, 2.5,").replace("0.00005, 1, 1", "0.00005, 4, 2");
        let machine = parse(&limited, Path::new("limited.cfg")).unwrap();
        let topology = machine.topology.as_ref().unwrap();
        assert_eq!(topology.limits, ConcurrencyLimits { buses: 3, links_in: 4, links_out: 2 });
        assert_eq!((topology.node_count(), topology.sharing, machine.nodes[0].speed.middle()), (16, BandwidthSharing::None, 2.5));
        let again = parse(&to_config(&machine).unwrap(), Path::new("again.cfg")).unwrap();
        assert_eq!((again.topology.unwrap().limits, again.nodes[0].speed), (topology.limits, machine.nodes[0].speed));
        let free = IDEAL.replace("0.00005, 1, 1", "0.00005, 0, 0");
        assert_eq!(parse(&free, Path::new("free.cfg")).unwrap().topology, None, "without limits there is no contention");
    }

    #[test]
    fn export_and_import_round_trip() {
        let mut machine = parse(IDEAL, Path::new("ideal.cfg")).unwrap();
        machine.networks.get_mut(&PairClass::SameNode).unwrap().messages.get_mut(&MessageMetric::Transfer).unwrap().pieces =
            PiecewiseCost::from_line(exact_cost(1e-6, 1e-10).unwrap()).unwrap();
        machine.networks.get_mut(&PairClass::OtherNode).unwrap().eager_bytes = Some(65_536);
        let again = parse(&to_config(&machine).unwrap(), Path::new("again.cfg")).unwrap();
        assert_eq!(again.networks[&PairClass::OtherNode].eager_bytes, Some(65_536));
        for (class, network) in &machine.networks {
            let [before, after] =
                [network, &again.networks[class]].map(|network| network.messages[&MessageMetric::Transfer].pieces.at(1e6)[1]);
            assert!((before / after - 1.0).abs() < 1e-4, "{class:?}: {before} {after}");
        }
    }

    #[test]
    fn errors_have_a_position() {
        let said = |text: &str| parse(text, Path::new("x.cfg")).unwrap_err().to_string();
        assert!(said("").contains("x.cfg:1:1: there is no record \"environment information\""));
        assert!(said(&IDEAL.replace("100.0", "fast")).starts_with("x.cfg:4:47: `fast` is not a non-negative number"));
        assert!(said(&IDEAL.replace("16, 100.0,", "100.0,")).contains("has 6 fields instead of 7"));
        assert!(said("/* never closed \"environment information\" {").contains("no record"));
    }
}
