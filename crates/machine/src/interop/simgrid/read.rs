//! Reads the keys of SMPI and the network from a platform, or the keys alone from `key:value` lines; both are in circulation.

mod platform;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::{ENVELOPE, ExactLine, SizeSections, detached_limit, sum_sections, truncated};
use crate::interop::exact_cost;
use crate::{
    Error, Machine, MachineFileProblem, MachineMetadata, MessageMetric, NetworkCosts, NodeLayout, NodeType, OperationTiming, PairClass,
    PiecewiseCost, SourcePos, UncertainValue,
};
use platform::{PlatformNodes, PlatformRoute, SimgridPlatform};

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
        let loopback = self.platform.loopback.as_ref().map(|route| transfer(self.route_cost(route)?)).transpose()?;
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
            nodes: self.platform.nodes.iter().map(node_type).collect(),
            networks,
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
        let routes = &self.platform.routes;
        let costs = routes.iter().map(|route| self.route_cost(route)).collect::<Result<Vec<_>, _>>()?;
        let slower = |a: &LinkCost, b: &LinkCost| a.latency.total_cmp(&b.latency).then(b.rate.total_cmp(&a.rate));
        // Of equal ones the first.
        let Some((farthest, cost)) = routes.iter().zip(&costs).rev().max_by(|a, b| slower(a.1, b.1)) else { return Ok(None) };
        let others = costs.iter().filter(|other| *other != cost).count();
        if others > 0 {
            let count = routes.len();
            notes.push(format!("not used of the platform: {others} of {count} routes, which are quicker than {}", farthest.name));
        }
        Ok(Some(*cost))
    }

    /// The latency of all links of a route together, and the bandwidth of the slowest.
    fn route_cost(&self, route: &PlatformRoute) -> Result<LinkCost, Error> {
        route.links.iter().try_fold(LinkCost { latency: 0.0, rate: f64::INFINITY }, |cost, link| {
            let rate = self.parse_quantity(
                &link.bandwidth,
                &[
                    ("Bps", 1.0),
                    ("kBps", 1e3),
                    ("MBps", 1e6),
                    ("GBps", 1e9),
                    ("bps", 0.125),
                    ("kbps", 125.0),
                    ("Mbps", 125e3),
                    ("Gbps", 125e6),
                ],
            )?;
            let latency = self.parse_quantity(&link.latency, &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)])?;
            Ok(LinkCost { latency: cost.latency + latency, rate: cost.rate.min(rate) })
        })
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
                let known: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
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

/// Latency in seconds and bandwidth in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LinkCost {
    latency: f64,
    rate: f64,
}

fn node_type(nodes: &PlatformNodes) -> NodeType {
    NodeType {
        kind: nodes.kind.clone(),
        count: nodes.count,
        cores: nodes.cores,
        cpu_quota: None,
        speed: UncertainValue::ONE,
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
        let notes = [
            "not used of the platform: the speeds of the hosts, which differ",
            "not used of the platform: the link `spare`",
            "not used of the platform: 1 of 2 routes, which are quicker than the route from `a` to `c`",
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
        let two = PLATFORM.replace("</platform>", "<cluster id=\"d\" radical=\"0-1\" bw=\"1GBps\" lat=\"1us\"/></platform>");
        assert_eq!(
            parse(&two, Path::new("c.xml")).unwrap().metadata.notes,
            ["not used of the platform: the cluster `d`, only the cluster `c`"]
        );
        let torus = PLATFORM.replace("lat=", "topology=\"TORUS\" lat=");
        assert_eq!(parse(&torus, Path::new("c.xml")).unwrap().metadata.notes, ["not used of the platform: `topology` of the cluster `c`"]);
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
