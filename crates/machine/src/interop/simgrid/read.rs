//! Reads the keys of SMPI and the network from a platform, or the keys alone from `key:value` lines; both are in circulation.

mod cluster;
mod platform;
mod zones;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use super::{ENVELOPE, ExactLine, SizeSections, detached_limit, sum_sections, truncated};
use crate::interop::exact_cost;
use crate::topology::{ConcurrencyLimits, DragonflyParameters, LinkParameters, TopologyKind};
use crate::{
    BandwidthSharing, Error, Machine, MachineFileProblem, MachineMetadata, MessageMetric, NetworkCosts, NodeLayout, NodeType,
    OperationTiming, PairClass, PiecewiseCost, SourcePos, Topology, UncertainValue,
};
use cluster::{ClusterShape, ClusterTopology};
use platform::{PlatformNodes, SimgridPlatform};
use zones::Path as LinkPath;

/// Parses a platform of SimGrid, or lines of keys; `path` is for messages.
pub fn parse(text: &str, path: &Path) -> Result<Machine, Error> {
    let source = SimgridSource { text, path };
    let platform = if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') {
        platform::from_xml(text).map_err(|(at, problem)| source.error(at, MachineFileProblem::Syntax(problem)))?
    } else {
        platform::from_lines(text)
    };
    SimgridFile { source, platform }.to_machine()
}

/// Removes the leading zero that [`super::with_free_empty_message`] adds.
fn without_leading_zero(sections: &SizeSections) -> SizeSections {
    match sections.as_slice() {
        [(0, ExactLine { intercept: 0.0, slope: 0.0 }), (1, line), rest @ ..] => {
            [(0, *line)].into_iter().chain(rest.iter().copied()).collect()
        }
        _ => sections.clone(),
    }
}

/// The file that is read.
#[derive(Clone, Copy)]
struct SimgridSource<'a> {
    text: &'a str,
    path: &'a Path,
}

impl SimgridSource<'_> {
    fn error(&self, at: Range<usize>, problem: MachineFileProblem) -> Error {
        Error::Invalid { place: SourcePos::from_span(self.path, self.text, at), problem: Box::new(problem) }
    }
}

/// A value and where it is written.
#[derive(Clone, Debug, PartialEq)]
struct SourceValue {
    text: String,
    span: Range<usize>,
}

impl SourceValue {
    /// Where a part of the text is written; all of it if the text has entities.
    fn span_of(&self, part: &str) -> Range<usize> {
        let offset = part.as_ptr() as usize - self.text.as_ptr() as usize;
        if self.span.len() == self.text.len() { self.span.start + offset..self.span.start + offset + part.len() } else { self.span.clone() }
    }
}

struct SimgridFile<'a> {
    source: SimgridSource<'a>,
    platform: SimgridPlatform,
}

/// Values that apply above a size.
type SizedValues = Vec<(u64, Vec<f64>)>;

impl SimgridFile<'_> {
    fn to_machine(&self) -> Result<Machine, Error> {
        let [send, start, receive] =
            [self.line_sections("os", 2)?, self.line_sections("ois", 2)?, self.line_sections("or", 2)?].map(Option::unwrap_or_default);
        let mut messages = BTreeMap::new();
        for (what, sections) in [(MessageMetric::Send, &send), (MessageMetric::StartSend, &start), (MessageMetric::Receive, &receive)] {
            if !sections.is_empty() {
                messages.insert(what, self.timing(&without_leading_zero(sections))?);
            }
        }
        let thresholds = NetworkCosts {
            eager_bytes: self.threshold("async-small-thresh")?,
            detached_bytes: self.threshold("send-is-detached-thresh")?,
            ..NetworkCosts::default()
        };
        let ends = [send, receive].map(|end| truncated(end, detached_limit(&thresholds)));
        let transfer = |wire: LinkCost| -> Result<OperationTiming, Error> {
            let [send, receive] = ends.clone();
            self.timing(&sum_sections(&[self.network_sections(wire)?, send, receive]))
        };
        let mut notes: Vec<String> = self.platform.unused.iter().map(|unused| format!("not used of the platform: {unused}")).collect();
        if let Some(farthest) = self.farthest_route(&mut notes)? {
            messages.insert(MessageMetric::Transfer, transfer(farthest)?);
        }
        let loopback = self.platform.loopback.as_ref().map(|route| transfer(self.path_cost(&route.path)?)).transpose()?;
        if messages.is_empty() {
            let lacks = "it has no key of SMPI (smpi/os, smpi/or, …) and no cluster or link with bw and lat";
            return Err(self.source.error(0..0, MachineFileProblem::MissingData(lacks.into())));
        }
        let name = self.source.path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut networks = BTreeMap::from([(PairClass::OtherNode, NetworkCosts { messages, ..thresholds.clone() })]);
        if let Some(timing) = loopback {
            let messages = BTreeMap::from([(MessageMetric::Transfer, timing)]);
            networks.insert(PairClass::SameNode, NetworkCosts { messages, ..thresholds });
        }
        Ok(Machine {
            metadata: MachineMetadata { name, source: Some("a platform of SimGrid".into()), notes, ..MachineMetadata::default() },
            nodes: self.node_types()?,
            networks,
            topology: self.topology()?,
            ..Machine::default()
        })
    }

    /// The value of a key, under its SMPI name or the newer network name.
    fn key(&self, name: &str) -> Option<&SourceValue> {
        let network = match name {
            "lat-factor" => Some("network/latency-factor"),
            "bw-factor" => Some("network/bandwidth-factor"),
            _ => None,
        };
        let is_named = |key: &str| key.strip_prefix("smpi/") == Some(name) || network == Some(key);
        self.platform.keys.iter().find(|(key, _)| is_named(key)).map(|(_, value)| value)
    }

    /// Parses a list of sections with `count` values each.
    fn value_lists(&self, key: &str, count: usize) -> Result<Option<SizedValues>, Error> {
        let Some(value) = self.key(key) else { return Ok(None) };
        let mut lists = Vec::new();
        for section in value.text.split(';').map(str::trim).filter(|section| !section.is_empty()) {
            let wrong = || {
                let problem = format!("`{section}` of smpi/{key} is not `size{}`", ":number".repeat(count));
                self.source.error(value.span_of(section), MachineFileProblem::Syntax(problem))
            };
            let (size, values) = section.split_once(':').ok_or_else(wrong)?;
            let values: Vec<f64> = values
                .split(':')
                .map(|value| value.trim().parse().ok().filter(|value: &f64| value.is_finite()))
                .collect::<Option<_>>()
                .ok_or_else(wrong)?;
            let size = size.trim().parse().map_err(|_| wrong())?;
            if values.len() != count {
                return Err(wrong());
            }
            lists.push((size, values));
        }
        lists.sort_by_key(|(size, _)| *size);
        Ok((!lists.is_empty()).then_some(lists))
    }

    fn line_sections(&self, key: &str, count: usize) -> Result<Option<SizeSections>, Error> {
        let lists = self.value_lists(key, count)?;
        Ok(lists
            .map(|lists| lists.into_iter().map(|(above, values)| (above, ExactLine { intercept: values[0], slope: values[1] })).collect()))
    }

    /// The farthest of the routes; one network is taken for all pairs of nodes.
    fn farthest_route(&self, notes: &mut Vec<String>) -> Result<Option<LinkCost>, Error> {
        let links = self.link_costs(self.platform.routes.iter().map(|route| &route.path))?;
        let costs = self.platform.routes.iter().map(|route| (route, LinkCost::of_path(&route.path, &links)));
        let slower = |a: &LinkCost, b: &LinkCost| a.latency.total_cmp(&b.latency).then(b.rate.total_cmp(&a.rate));
        // Of equal ones the first.
        let Some((farthest, cost)) = costs.clone().rev().max_by(|a, b| slower(&a.1, &b.1)) else { return Ok(None) };
        if costs.clone().any(|(_, other)| other != cost) {
            notes.push(format!("not used of the platform: routes that are quicker than {}", farthest.name));
        }
        Ok(Some(cost))
    }

    /// The latency of all links of a path together, and the bandwidth of the slowest.
    fn path_cost(&self, path: &LinkPath) -> Result<LinkCost, Error> {
        Ok(LinkCost::of_path(path, &self.link_costs([path])?))
    }

    /// The costs of the links of paths.
    fn link_costs<'p>(&self, paths: impl IntoIterator<Item = &'p LinkPath>) -> Result<BTreeMap<usize, LinkCost>, Error> {
        let links: BTreeSet<usize> = paths.into_iter().flat_map(|path| path.links.iter().copied()).collect();
        links.into_iter().map(|link| Ok((link, self.link_cost(link)?))).collect()
    }

    fn link_cost(&self, link: usize) -> Result<LinkCost, Error> {
        let link = &self.platform.links[link];
        let rate = self.parse_quantity(&link.bandwidth, &BANDWIDTH_UNITS)?;
        let latency = link.latency.as_ref().map(|latency| self.parse_quantity(latency, &LATENCY_UNITS)).transpose()?;
        Ok(LinkCost { latency: latency.unwrap_or(0.0), rate })
    }

    /// The node types, with their speeds relative to the first one.
    fn node_types(&self) -> Result<Vec<NodeType>, Error> {
        let speed = |nodes: &PlatformNodes| nodes.speed.as_ref().map(|speed| self.parse_quantity(speed, &SPEED_UNITS)).transpose();
        let first = self.platform.nodes.first().map(speed).transpose()?.flatten();
        let relative = |nodes: &PlatformNodes| -> Result<Option<UncertainValue>, Error> {
            let ratio = speed(nodes)?.zip(first).map(|(speed, first)| speed / first).filter(|ratio| *ratio > 0.0);
            Ok(ratio.and_then(|ratio| UncertainValue::exact(ratio).ok()))
        };
        let node_type = |nodes| Ok(node_type(nodes, relative(nodes)?.unwrap_or(UncertainValue::ONE)));
        self.platform.nodes.iter().map(node_type).collect()
    }

    /// How the nodes of the only cluster share links. The latency of the whole route is that of the transfer.
    fn topology(&self) -> Result<Option<Topology>, Error> {
        let (Some(ClusterTopology { shape, link, backbone, duplex }), [nodes]) = (&self.platform.topology, &self.platform.nodes[..]) else {
            return Ok(None);
        };
        let rate = |link: usize| -> Result<Option<UncertainValue>, Error> {
            Ok(UncertainValue::exact(self.link_cost(link)?.rate).ok().filter(|rate| rate.low() > 0.0))
        };
        let Some(count) = u32::try_from(nodes.count).ok().filter(|count| *count > 1) else { return Ok(None) };
        let Some(bandwidth) = rate(*link)? else { return Ok(None) };
        let lanes = |lanes: u32| {
            let bandwidth = UncertainValue::exact(f64::from(lanes) * bandwidth.middle()).ok()?;
            Some(LinkParameters { bandwidth, latency: UncertainValue::ZERO })
        };
        let kind = match shape.clone() {
            ClusterShape::Switch => match backbone {
                Some(backbone) => TopologyKind::Star { nodes: count, switch: rate(*backbone)? },
                None => TopologyKind::Crossbar { nodes: count },
            },
            ClusterShape::Torus(dimensions) => TopologyKind::Torus { dimensions },
            ClusterShape::FatTree(levels) => TopologyKind::FatTree { levels },
            ClusterShape::Dragonfly { sizes: [groups, routers, nodes], local, global } => {
                TopologyKind::Dragonfly(DragonflyParameters { groups, routers, nodes, local: lanes(local), global: lanes(global) })
            }
        };
        Ok(Some(Topology {
            kind,
            link: LinkParameters { bandwidth, latency: UncertainValue::ZERO },
            duplex: *duplex,
            sharing: BandwidthSharing::Fair,
            flow_control: None,
            limits: ConcurrencyLimits::default(),
        }))
    }

    /// Network time: latency and bandwidth, times the factors.
    fn network_sections(&self, LinkCost { latency, rate }: LinkCost) -> Result<SizeSections, Error> {
        let factors = |key: &str| -> Result<Vec<(u64, f64)>, Error> {
            let lists = self.value_lists(key, 1)?.unwrap_or_default();
            Ok([(0, 1.0)]
                .into_iter()
                .filter(|_| lists.first().is_none_or(|(size, _)| *size > 0))
                .chain(lists.iter().map(|(size, values)| (*size, values[0])))
                .collect())
        };
        let (latencies, rates) = (factors("lat-factor")?, factors("bw-factor")?);
        let at =
            |factors: &[(u64, f64)], above: u64| factors.iter().rev().find(|(size, _)| *size <= above).map_or(1.0, |(_, factor)| *factor);
        let mut bounds: Vec<u64> = latencies.iter().chain(&rates).map(|(above, _)| *above).collect();
        bounds.sort_unstable();
        bounds.dedup();
        let line = |above: u64| {
            let slope = 1.0 / (rate * at(&rates, above));
            ExactLine { intercept: latency * at(&latencies, above) + ENVELOPE as f64 * slope, slope }
        };
        // Factors below the size of an envelope apply to empty messages only.
        let last_small = bounds.iter().rposition(|above| *above <= ENVELOPE).unwrap_or(0);
        Ok(bounds[last_small..].iter().map(|above| (above.saturating_sub(ENVELOPE), line(*above))).collect())
    }

    /// Parses a number with its unit.
    fn parse_quantity(&self, value: &SourceValue, units: &[(&str, f64)]) -> Result<f64, Error> {
        let text = value.text.as_str();
        let digits = text.trim().trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = &text.trim()[digits.len()..];
        let factor = units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
        let number = digits.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        match (number, factor) {
            (Some(number), Some(factor)) => Ok(number * factor),
            _ => {
                let known: Vec<&str> = units.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
                let problem = format!("`{text}` is not a number with a known unit: {}", known.join(", "));
                Err(self.source.error(value.span.clone(), MachineFileProblem::Syntax(problem)))
            }
        }
    }

    /// The largest size below a threshold.
    fn threshold(&self, key: &str) -> Result<Option<u64>, Error> {
        let Some(value) = self.key(key) else { return Ok(None) };
        let bytes: u64 = value.text.trim().parse().map_err(|_| {
            let problem = format!("`{}` of smpi/{key} is not a number of bytes", value.text);
            self.source.error(value.span.clone(), MachineFileProblem::Syntax(problem))
        })?;
        Ok(bytes.checked_sub(1))
    }

    fn timing(&self, sections: &SizeSections) -> Result<OperationTiming, Error> {
        let wrong = |problem: &dyn std::fmt::Display| {
            self.source.error(0..0, MachineFileProblem::Syntax(format!("the keys of SMPI do not form a cost: {problem}")))
        };
        let lines: Vec<_> = sections
            .iter()
            .map(|(_, line)| exact_cost(line.intercept, line.slope))
            .collect::<Option<_>>()
            .ok_or_else(|| wrong(&"a number is too large"))?;
        let bounds = sections.iter().skip(1).filter_map(|(above, _)| UncertainValue::exact(*above as f64).ok());
        let Some((last, lines)) = lines.split_last() else { return Err(wrong(&"there is no section")) };
        let from = sections.first().map_or(0.0, |(above, _)| *above as f64);
        let pieces =
            PiecewiseCost::new(from, bounds.zip(lines.iter().copied()).collect(), *last).map_err(|(_, problem)| wrong(&problem))?;
        Ok(OperationTiming { pieces, measured: None, medians: Vec::new() })
    }
}

const BANDWIDTH_UNITS: [(&str, f64); 17] = [
    ("Bps", 1.0),
    ("kBps", 1e3),
    ("MBps", 1e6),
    ("GBps", 1e9),
    ("TBps", 1e12),
    ("KiBps", 1024.0),
    ("MiBps", 1_048_576.0),
    ("GiBps", 1_073_741_824.0),
    ("bps", 0.125),
    ("kbps", 125.0),
    ("Mbps", 125e3),
    ("Gbps", 125e6),
    ("Tbps", 125e9),
    ("Kibps", 128.0),
    ("Mibps", 131_072.0),
    ("Gibps", 134_217_728.0),
    ("", 1.0),
];
const LATENCY_UNITS: [(&str, f64); 6] = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("ps", 1e-12), ("", 1.0)];
const SPEED_UNITS: [(&str, f64); 8] =
    [("f", 1.0), ("kf", 1e3), ("Mf", 1e6), ("Gf", 1e9), ("Tf", 1e12), ("Pf", 1e15), ("Ef", 1e18), ("", 1.0)];

/// Latency in seconds and bandwidth in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LinkCost {
    latency: f64,
    rate: f64,
}

impl LinkCost {
    fn of_path(path: &LinkPath, links: &BTreeMap<usize, LinkCost>) -> LinkCost {
        let start = LinkCost { latency: path.distance_s, rate: f64::INFINITY };
        path.links
            .iter()
            .map(|link| links[link])
            .fold(start, |sum, link| LinkCost { latency: sum.latency + link.latency, rate: sum.rate.min(link.rate) })
    }
}

fn node_type(nodes: &PlatformNodes, speed: UncertainValue) -> NodeType {
    NodeType {
        kind: nodes.kind.clone(),
        count: nodes.count,
        cores: nodes.cores,
        cpu_quota: None,
        speed,
        layout: NodeLayout { hosts: nodes.hosts.clone(), ..NodeLayout::default() },
        compute: BTreeMap::new(),
        java: BTreeMap::new(),
        memory: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLATFORM: &str = r#"<?xml version='1.0'?>
<platform version="4.1">
  <config>
    <prop id="smpi/os" value="0:1e-6:1e-10;1000:0:0"/>
    <prop id="smpi/or" value="0:2e-6:2e-10;1000:0:0"/>
    <prop id="smpi/async-small-thresh" value="1001"/>
    <prop id="smpi/bw-factor" value="0:0.5;1000:1"/>
  </config>
  <cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" core="2" bw="1GBps" lat="5us"/>
</platform>
"#;

    fn at(machine: &Machine, what: MessageMetric, bytes: f64) -> f64 {
        machine.networks[&PairClass::OtherNode].messages[&what].pieces.at(bytes)[1]
    }

    #[test]
    fn a_platform_becomes_a_machine() {
        let machine = parse(PLATFORM, Path::new("c.xml")).unwrap();
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        assert!(close(at(&machine, MessageMetric::Send, 1000.0), 1.1e-6));
        // Two links of 5 us, 984 bytes and an envelope at half of 1 GB/s, and both ends.
        assert!(close(at(&machine, MessageMetric::Transfer, 984.0), 10e-6 + 2e-6 + 1.0984e-6 + 2.1968e-6));
        assert!(close(at(&machine, MessageMetric::Transfer, 985.0), 10e-6 + 1.001e-6 + 1.0985e-6 + 2.197e-6));
        assert!(close(at(&machine, MessageMetric::Transfer, 1e6), 10e-6 + 1.000016e-3));
        assert_eq!(machine.networks[&PairClass::OtherNode].eager_bytes, Some(1000));
        assert_eq!((machine.nodes[0].count, machine.nodes[0].cores), (4, 2));
    }

    #[test]
    fn lines_of_keys_are_read_too() {
        let machine = parse("smpi/os:0:1e-6:1e-10\n--cfg=smpi/or:0:2e-6:0;100:3e-6:5e-9\n", Path::new("keys.xml")).unwrap();
        assert_eq!((at(&machine, MessageMetric::Receive, 100.0), at(&machine, MessageMetric::Receive, 200.0)), (2e-6, 4e-6));
    }

    #[test]
    fn export_and_import_round_trip() {
        let machine = parse(PLATFORM, Path::new("c.xml")).unwrap();
        let again = parse(&super::super::to_platform(&machine).unwrap(), Path::new("c.xml")).unwrap();
        for what in [MessageMetric::Send, MessageMetric::Receive, MessageMetric::Transfer] {
            for bytes in [1.0, 500.0, 1000.0, 1001.0, 1e6] {
                let [before, after] = [&machine, &again].map(|machine| at(machine, what, bytes));
                assert!((before - after).abs() <= 1e-4 * before, "{what:?} {bytes}: {before} {after}");
            }
        }
        assert_eq!(again.networks[&PairClass::OtherNode].eager_bytes, Some(1000));
    }

    #[test]
    fn errors_have_a_position() {
        let said = |text: &str| parse(text, Path::new("c.xml")).unwrap_err().to_string();
        assert!(said("<platform/>").contains("c.xml:1:1: it has no key of SMPI"));
        let wrong = said(&PLATFORM.replace("0:2e-6:2e-10", "0:2e-6"));
        assert!(wrong.starts_with("c.xml:5:31: `0:2e-6` of smpi/or is not `size:number:number`"), "{wrong}");
        let wrong = said(&PLATFORM.replace("5us", "5 parsec"));
        assert!(wrong.starts_with("c.xml:9:") && wrong.contains("not a number with a known unit"), "{wrong}");
        assert!(said("smpi/os:0:-1:0").contains("negative"));
    }

    fn transfer_of_a_byte(text: &str) -> f64 {
        at(&parse(text, Path::new("c.xml")).unwrap(), MessageMetric::Transfer, 1.0)
    }

    #[test]
    fn what_is_commented_out_or_text_is_not_the_machine() {
        let old = r#"<cluster id="old" radical="0-7" bw="1MBps" lat="1ms"/>"#;
        for hidden in [format!("<!-- replaced:\n  {old}\n-->"), format!("<config><![CDATA[{old}]]></config>")] {
            let text = PLATFORM.replace("<config>", &format!("{hidden}\n  <config>"));
            let machine = parse(&text, Path::new("c.xml")).unwrap();
            assert_eq!((machine.nodes[0].kind.as_str(), machine.nodes[0].count), ("c", 4), "{text}");
            assert_eq!(machine.metadata.notes, <[String; 0]>::default());
            assert_eq!(transfer_of_a_byte(&text), transfer_of_a_byte(PLATFORM));
        }
    }

    #[test]
    fn a_platform_is_read_as_xml() {
        let expected = transfer_of_a_byte(PLATFORM);
        let doctype = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">";
        assert_eq!(transfer_of_a_byte(&PLATFORM.replace("<?xml version='1.0'?>", doctype)), expected);
        assert_eq!(transfer_of_a_byte(&PLATFORM.replace('"', "'")), expected);
        assert_eq!(transfer_of_a_byte(&PLATFORM.replace("\"5us\"", " = \"5&#117;s\"").replace("lat= =", "lat =")), expected);
        let named = PLATFORM.replace("id=\"c\"", "id=\"a&amp;b > &quot;c&quot;\"");
        assert_eq!(parse(&named, Path::new("c.xml")).unwrap().nodes[0].kind, "a&b > \"c\"");
    }

    #[test]
    fn all_links_of_a_route_count() {
        let text = r#"<platform version="4.1">
  <zone id="world" routing="Full">
    <host id="a" speed="1Gf" core="4"/><host id="b" speed="1Gf" core="4"/><host id="c" speed="2Gf"/>
    <link id="up" bandwidth="12.5GBps" latency="1us"/>
    <link id="wan" bandwidth="125MBps" latency="50us"/>
    <link id="spare" bandwidth="1Bps" latency="1s"/>
    <link id="self" bandwidth="50GBps" latency="100ns"/>
    <route src="a" dst="a"><link_ctn id="self"/></route>
    <route src="a" dst="b"><link_ctn id="up"/></route>
    <!-- <route src="a" dst="b"><link_ctn id="spare"/></route> -->
    <route src="a" dst="c"><link_ctn id="up"/><link_ctn id="wan" direction="UP"/><link_ctn id="up"/></route>
  </zone>
</platform>"#;
        let machine = parse(text, Path::new("r.xml")).unwrap();
        let time = |class: PairClass, bytes: f64| machine.networks[&class].messages[&MessageMetric::Transfer].pieces.at(bytes)[1];
        assert!((time(PairClass::OtherNode, 1e6) - (52e-6 + 1_000_016.0 / 125e6)).abs() < 1e-9, "the latency of three links");
        assert!((time(PairClass::SameNode, 1e6) - (100e-9 + 1_000_016.0 / 50e9)).abs() < 1e-9);
        let nodes: Vec<(u64, u64, String)> =
            machine.nodes.iter().map(|node| (node.count, node.cores, node.layout.hosts.join(" "))).collect();
        assert_eq!(nodes, [(2, 4, "a b".into()), (1, 1, "c".into())]);
        assert_eq!(machine.nodes.iter().map(|node| node.speed.middle()).collect::<Vec<_>>(), [1.0, 2.0]);
        let notes = [
            "not used of the platform: the link `spare`",
            "not used of the platform: routes that are quicker than the route from `a` to `c`",
        ];
        assert_eq!(machine.metadata.notes, notes);
        let wrong = parse(&text.replace("id=\"wan\" dir", "id=\"none\" dir"), Path::new("r.xml")).unwrap_err().to_string();
        assert!(wrong.starts_with("r.xml:11:47: the route from `a` to `c` uses the link `none`, which does not exist"), "{wrong}");
    }

    #[test]
    fn a_cluster_has_a_backbone_and_a_loopback() {
        let expected = |text: &str| parse(text, Path::new("c.xml")).unwrap();
        let more = "lat=\"5us\" bb_lat=\"7us\" bb_bw=\"2GBps\" loopback_bw=\"8GBps\" loopback_lat=\"1us\"";
        let [plain, full] = [PLATFORM.to_owned(), PLATFORM.replace("lat=\"5us\"", more)].map(|text| expected(&text));
        let transfer = |machine: &Machine| at(machine, MessageMetric::Transfer, 1e6);
        assert!((transfer(&full) - transfer(&plain) - 7e-6).abs() < 1e-9, "the backbone is quicker than the links of the nodes");
        assert!(full.networks.contains_key(&PairClass::SameNode) && full.metadata.notes.is_empty());
    }

    #[test]
    fn what_is_not_used_is_noted() {
        let text = r#"<platform version="4.1">
  <zone id="world" routing="Full">
    <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
    <link id="up&gt;down" bandwidth="12.5GBps" latency="1us"/>
    <link id="x>y" bandwidth="125MBps" latency="50us"/>
  </zone>
</platform>"#;
        let machine = parse(text, Path::new("q.xml")).unwrap();
        assert!((at(&machine, MessageMetric::Transfer, 1e9) - 0.08 - 1e-6).abs() < 1e-8, "that of the first link");
        let note = "not used of the platform: the link `x>y`, only the link `up>down`, since no route says which links messages take";
        assert_eq!((machine.metadata.notes.as_slice(), machine.nodes[0].count), ([note.to_owned()].as_slice(), 2));
        let torus = PLATFORM.replace("lat=", "topology=\"TORUS\" lat=");
        assert_eq!(parse(&torus, Path::new("c.xml")).unwrap().metadata.notes, ["not used of the platform: `topology` of the cluster `c`"]);
    }

    /// Latency and bandwidth of the network between nodes, and what is not used.
    fn network(text: &str) -> ([f64; 2], Machine) {
        let machine = parse(text, Path::new("z.xml")).unwrap_or_else(|error| panic!("{error}"));
        let line = *machine.networks[&PairClass::OtherNode].messages[&MessageMetric::Transfer].pieces.last();
        let slope = line.slope.middle();
        (rounded([line.intercept.middle() - ENVELOPE as f64 * slope, 1.0 / slope]), machine)
    }

    fn rounded(values: [f64; 2]) -> [f64; 2] {
        values.map(|value| format!("{value:.6e}").parse().unwrap())
    }

    /// A platform with two zones, whose hosts reach each other over gateways.
    const ZONES: &str = r#"<platform version="4.1">
  <zone id="world" routing="Full">
    <cluster id="c" prefix="c-" suffix="" radical="0-3" speed="1Gf" bw="1GBps" lat="1us" bb_bw="2GBps" bb_lat="2us" router_id="c-router"/>
    <cluster id="d" prefix="d-" suffix=".org" radical="0-7" speed="4Gf" core="2" bw="10GBps" lat="3us"/>
    <link id="wan" bandwidth="100MBps" latency="1ms"/>
    <zoneRoute src="c" dst="d" gw_src="c-router" gw_dst="d-d_router.org"><link_ctn id="wan"/></zoneRoute>
  </zone>
</platform>"#;

    #[test]
    fn zones_are_connected_over_their_gateways() {
        // A link of the one cluster, its backbone, the route between them, and a link of the other cluster.
        let (costs, machine) = network(ZONES);
        assert_eq!(costs, rounded([1e-6 + 2e-6 + 1e-3 + 3e-6, 1e8]));
        let nodes: Vec<(u64, u64, f64)> = machine.nodes.iter().map(|node| (node.count, node.cores, node.speed.middle())).collect();
        assert_eq!(nodes, [(4, 1, 1.0), (8, 2, 4.0)]);
        assert_eq!(machine.topology, None);
        assert_eq!(machine.metadata.notes, ["not used of the platform: routes that are quicker than the route from `c-0` to `d-0.org`"]);
        let gateway = ZONES.replace("gw_dst=\"d-d_router.org\"", "gw_dst=\"d-0.org\"");
        assert_eq!(network(&gateway).0, rounded([1e-6 + 2e-6 + 1e-3 + 6e-6, 1e8]), "a host as the gateway forwards over its own link");
        let (costs, machine) = network(&ZONES.replace("gw_src=\"c-router\"", "gw_src=\"d-0.org\""));
        assert_eq!(costs[0], 6e-6);
        let note = "not used of the platform: the zoneRoute from `c` to `d`, whose gateways are elsewhere";
        assert!(machine.metadata.notes.contains(&note.to_owned()), "{:?}", machine.metadata.notes);
        let bypass =
            "<bypassZoneRoute src=\"c\" dst=\"d\" gw_src=\"c-router\" gw_dst=\"d-d_router.org\"><link_ctn id=\"spare\"/></bypassZoneRoute>";
        let bypassed = ZONES.replace("</zone>", &format!("<link id=\"spare\" bandwidth=\"1GBps\" latency=\"10us\"/>{bypass}</zone>"));
        assert_eq!(network(&bypassed).0, rounded([16e-6, 1e9]));
    }

    #[test]
    fn routes_of_one_hop_form_the_shortest_path() {
        let text = r#"<platform version="4.1">
  <AS id="world" routing="Floyd">
    <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><router id="r"/><router id="s"/>
    <link id="1" bandwidth="1GBps" latency="1us"/><link id="2" bandwidth="1GBps" latency="2us"/>
    <link id="3" bandwidth="5GBps" latency="90us"/>
    <route src="a" dst="r"><link_ctn id="1"/></route>
    <route src="r" dst="b"><link_ctn id="2"/></route>
    <route src="a" dst="s"><link_ctn id="3"/><link_ctn id="3"/></route>
    <route src="s" dst="b"><link_ctn id="1"/></route>
  </AS>
</platform>"#;
        for routing in ["Floyd", "Dijkstra", "DijkstraCache"] {
            let (costs, machine) = network(&text.replace("Floyd", routing));
            assert_eq!(costs, rounded([3e-6, 1e9]), "{routing}");
            assert_eq!(machine.metadata.notes, ["not used of the platform: the link `3`"]);
        }
    }

    #[test]
    fn shortest_paths_of_zones_go_through_the_zones_between() {
        let cluster =
            |id: &str| format!("<cluster id=\"{id}\" prefix=\"{id}\" suffix=\"\" radical=\"0-1\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\"/>");
        let route = |from: &str, to: &str| {
            format!("<zoneRoute src=\"{from}\" dst=\"{to}\" gw_src=\"{from}0\" gw_dst=\"{to}1\"><link_ctn id=\"l\"/></zoneRoute>")
        };
        let body = ["x", "y", "z"].map(cluster).concat() + "<link id=\"l\" bandwidth=\"1GBps\" latency=\"10us\"/>";
        let text = format!("<platform><zone id=\"w\" routing=\"Dijkstra\">{body}{}{}</zone></platform>", route("x", "y"), route("y", "z"));
        // From x1 over x0, a link, y1 to y0, a link, z1 to z0.
        assert_eq!(network(&text).0, rounded([2e-6 + 10e-6 + 2e-6 + 10e-6 + 2e-6, 1e9]));
    }

    #[test]
    fn peers_and_cabinets_have_links_of_their_own() {
        let peers = r#"<platform><zone id="v" routing="Vivaldi">
  <peer id="a" coordinates="3 4 1" speed="1Gf" bw_in="2GBps" bw_out="1GBps"/>
  <peer id="b" coordinates="0 0 2" speed="1Gf" bw_in="3GBps" bw_out="4GBps"/>
</zone></platform>"#;
        let (costs, machine) = network(peers);
        assert_eq!((costs, machine.nodes[0].count), (rounded([8e-3, 1e9]), 2), "5 ms apart, 1 and 2 ms from the plane");
        let cabinets = r#"<platform><zone id="v" routing="Cluster">
  <cabinet id="one" prefix="a" suffix="" speed="1Gf" bw="1GBps" lat="1us" radical="0-9"/>
  <cabinet id="two" prefix="b" suffix="" speed="1Gf" bw="2GBps" lat="5us" radical="0-9"/>
  <backbone id="bb" bandwidth="3GBps" latency="7us"/>
</zone></platform>"#;
        assert_eq!(network(cabinets).0, rounded([17e-6, 2e9]));
        let split = ZONES.replace("<link id=\"wan\"", "<split-duplex-link id=\"wan\"").replace("id=\"wan\"/>", "id=\"wan_UP\"/>");
        assert_eq!(network(&split).0, network(ZONES).0);
    }

    #[test]
    fn a_cluster_has_a_topology() {
        let kind = |attributes: &str| {
            let text = PLATFORM.replace("radical=\"0-3\"", "radical=\"0-15\"").replace("lat=", &format!("{attributes} lat="));
            let (costs, machine) = network(&text);
            let topology = machine.topology.as_ref();
            let again = Machine::parse(&machine.to_text(), Path::new("m.toml")).unwrap();
            assert_eq!(again.topology, machine.topology);
            ((costs[0] * 1e6).round(), topology.map(|topology| (topology.kind.clone(), topology.duplex)))
        };
        use crate::Duplex::{Full, Half};
        assert_eq!(kind(""), (10.0, Some((TopologyKind::Crossbar { nodes: 16 }, Full))));
        assert_eq!(kind("sharing_policy=\"SHARED\"").1, Some((TopologyKind::Crossbar { nodes: 16 }, Half)));
        assert_eq!(kind("sharing_policy=\"FATPIPE\"").1, None);
        let (latency, star) = kind("bb_bw=\"5GBps\" bb_lat=\"1us\"");
        assert_eq!((latency, star), (11.0, Some((TopologyKind::Star { nodes: 16, switch: UncertainValue::exact(5e9).ok() }, Full))));
        let (latency, torus) = kind("topology=\"TORUS\" topo_parameters=\"4,2,2\"");
        assert_eq!((latency, torus), (20.0, Some((TopologyKind::Torus { dimensions: vec![4, 2, 2] }, Full))));
        let (latency, tree) = kind("topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,2\"");
        let Some((TopologyKind::FatTree { levels }, _)) = tree else { panic!("{tree:?}") };
        assert_eq!(
            (latency, levels.iter().map(|level| (level.down, level.up, level.parallel)).collect::<Vec<_>>()),
            (20.0, vec![(4, 1, 1), (4, 2, 2)])
        );
        let (latency, dragonfly) = kind("topology=\"DRAGONFLY\" topo_parameters=\"2,3;1,1;4,1;2\"");
        let Some((TopologyKind::Dragonfly(sizes), _)) = dragonfly else { panic!("{dragonfly:?}") };
        assert_eq!((latency, sizes.groups, sizes.routers, sizes.nodes), (25.0, 2, 4, 2));
        assert_eq!(sizes.global.map(|link| link.bandwidth.middle()), Some(3e9), "three links between two groups");
    }

    #[test]
    fn what_is_not_xml_is_an_error_with_its_line() {
        let said = |text: &str| parse(text, Path::new("c.xml")).unwrap_err().to_string();
        let wrong = said(&PLATFORM.replace("</config>", "</confg>"));
        assert!(wrong.starts_with("c.xml:8:3: expected 'config' tag, not 'confg'\n      </confg>"), "{wrong}");
        let wrong = said("<platform>\n");
        assert!(wrong.starts_with("c.xml:1:1: the root node was opened but never closed"), "{wrong}");
        let wrong = said(&PLATFORM.replace("0:2e-6:2e-10", "0:&#50;e-6"));
        assert!(wrong.starts_with("c.xml:5:31: `0:2e-6` of smpi/or is not `size:number:number`"), "{wrong}");
    }
}
