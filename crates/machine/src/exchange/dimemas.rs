//! Configurations of Dimemas: a latency and a bandwidth inside nodes, another between them, and how many messages there may be at once.
//!
//! Dimemas draws one line where a machine has pieces: the latency is the time of an empty message, the bandwidth that of the longest ones.
//! Its megabytes have 2^20 bytes. The eager limit is no part of its files but an option of its command (`-S`); it is kept in a comment.

use std::collections::BTreeMap;
use std::path::Path;

use super::{FASTEST, Lacking, bandwidth, lacking, needed, plain, widest};
use crate::topology::{Kind, Limits, Link};
use crate::{
    About, Duplex, Error, Figure, Layout, Machine, Message, Network, Node, PairClass, Pieces, Place, Problem, Sharing, Timing, Topology,
};

const MEGABYTE: f64 = (1u64 << 20) as f64;
const EAGER: &str = "eager limit, for the option -S of Dimemas:";

/// The machine as a configuration.
pub fn text(machine: &Machine) -> Result<String, Lacking> {
    let (class, between) = widest(machine)?;
    let inside = machine.network(PairClass::SameNode).unwrap_or(between);
    let inside_class = machine.networks.range(PairClass::SameNode..).next().map_or(class, |(class, _)| *class);
    let [[latency, rate], [inner_latency, inner_rate]] =
        [line(needed(machine, class, between, Message::Transfer)?), line(needed(machine, inside_class, inside, Message::Transfer)?)];
    let node = machine.nodes.first().ok_or_else(|| lacking(machine, "has no node".into()))?;
    let count: u64 = machine.nodes.iter().map(|node| node.count).sum();
    let (name, kind) = (word(&machine.about.name), word(&node.kind));
    let limits = machine.topology.as_ref().map_or(Limits { buses: 0, links_out: 1, links_in: 1 }, |topology| topology.limits);
    let Limits { buses, links_out, links_in } = limits;
    let eager = between.eager_bytes.map_or(String::new(), |bytes| format!("{EAGER} {bytes}\n"));
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

/// Latency and rate, as Dimemas reads numbers: never without a point.
fn line(timing: &Timing) -> [String; 2] {
    let latency = timing.pieces.at(timing.pieces.from_bytes())[1] - timing.pieces.from_bytes() / bandwidth(timing.pieces.last());
    [format!("{:.9}", latency.max(0.0)), format!("{:.3}", bandwidth(timing.pieces.last()) / MEGABYTE)]
}

/// A name that ends no field.
fn word(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_graphic() && !"\",{}*".contains(c) || c == ' ' { c } else { '_' }).collect()
}

/// Reads a configuration; `path` is for messages.
pub fn parse(text: &str, path: &Path) -> Result<Machine, Error> {
    let file = File { plain: without_comments(text), text, path };
    let environment = file.record("environment information", 7)?;
    let nodes = match file.record("multi node information", 14) {
        Ok(fields) => fields,
        // The older record is for one node, so the number of nodes is that of the environment.
        Err(error) => match file.record("node information", 13) {
            Ok(mut fields) => {
                fields.insert(1, environment[3].clone());
                fields
            }
            Err(_) => return Err(error),
        },
    };
    let inside = file.network(&nodes[5], &nodes[6])?;
    let mut between = file.network(&nodes[10], &environment[4])?;
    between.eager_bytes = eager(text);
    let node = Node {
        kind: nodes[2].text.clone(),
        count: file.whole(&nodes[1])?,
        cores: file.whole(&nodes[3])?,
        speed: file.speed(&nodes[4])?,
        layout: Layout::default(),
        compute: BTreeMap::new(),
        java: BTreeMap::new(),
        memory: Vec::new(),
    };
    let limits = Limits { buses: file.whole(&environment[5])?, links_in: file.whole(&nodes[11])?, links_out: file.whole(&nodes[12])? };
    let topology = topology(node.count, file.number(&environment[4])?, limits);
    Ok(Machine {
        about: About { name: environment[0].text.clone(), source: Some("a configuration of Dimemas".into()), ..About::default() },
        nodes: vec![node],
        networks: BTreeMap::from([(PairClass::SameNode, inside), (PairClass::OtherNode, between)]),
        topology,
        ..Machine::default()
    })
}

/// Nodes that are limited in how many messages there are, and in nothing else; none if there is no limit.
fn topology(nodes: u64, rate: f64, limits: Limits) -> Option<Topology> {
    let rate = if rate > 0.0 { rate * MEGABYTE } else { FASTEST };
    let link = Link { bandwidth: Figure::exact(rate).ok()?, latency: Figure::ZERO };
    let kind = Kind::Crossbar { nodes: nodes.try_into().ok().filter(|nodes| *nodes > 0)? };
    let topology = Topology { kind, link, duplex: Duplex::Full, sharing: Sharing::None, flow_control: None, limits };
    (limits != Limits::default()).then_some(topology)
}

/// The same text with blanks for comments, so that places stay.
fn without_comments(text: &str) -> String {
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

fn eager(text: &str) -> Option<u64> {
    text.split_once(EAGER)?.1.split_whitespace().next()?.parse().ok()
}

struct File<'a> {
    plain: String,
    text: &'a str,
    path: &'a Path,
}

/// A field of a record, and where it is.
#[derive(Clone)]
struct Field {
    text: String,
    at: std::ops::Range<usize>,
}

impl File<'_> {
    fn error(&self, at: std::ops::Range<usize>, problem: Problem) -> Error {
        Error::Wrong { place: Place::of(self.path, self.text, at), problem: Box::new(problem) }
    }

    /// The fields of the first record of that name.
    fn record(&self, name: &str, count: usize) -> Result<Vec<Field>, Error> {
        let quoted = format!("\"{name}\"");
        let missing = || self.error(0..0, Problem::Lacking(format!("there is no record {quoted}: this is no configuration of Dimemas")));
        let begins = self.plain.find(&quoted).ok_or_else(missing)? + quoted.len();
        let opens = begins + self.plain[begins..].find('{').ok_or_else(missing)? + 1;
        let closes = opens + self.plain[opens..].find('}').ok_or_else(missing)?;
        let mut fields = Vec::new();
        let mut at = opens;
        for field in self.plain[opens..closes].split(',') {
            let begins = at + field.len() - field.trim_start().len();
            fields.push(Field { text: field.trim().trim_matches('"').to_owned(), at: begins..begins + field.trim().len() });
            at += field.len() + 1;
        }
        if fields.len() != count {
            let problem = format!("the record {quoted} has {} fields, and {count} are known", fields.len());
            return Err(self.error(opens..closes, Problem::Lacking(problem)));
        }
        Ok(fields)
    }

    fn number(&self, field: &Field) -> Result<f64, Error> {
        let number = field.text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| self.error(field.at.clone(), Problem::Syntax(format!("`{}` is no number from 0 on", field.text))))
    }

    /// How many times as fast as the recorded processor; 0 is one that takes no time, which no machine is.
    fn speed(&self, field: &Field) -> Result<Figure, Error> {
        let speed = Figure::exact(self.number(field)?).ok().filter(|speed| speed.middle() > 0.0);
        speed.ok_or_else(|| self.error(field.at.clone(), Problem::NotAboveZero { key: "speed ratio".into(), value: 0.0 }))
    }

    fn whole(&self, field: &Field) -> Result<u64, Error> {
        let number = field.text.parse().ok();
        number.ok_or_else(|| self.error(field.at.clone(), Problem::Syntax(format!("`{}` is no whole number", field.text))))
    }

    /// A line of latency and rate, of which 0 means that nothing takes time.
    fn network(&self, latency: &Field, rate: &Field) -> Result<Network, Error> {
        let rate_of = self.number(rate)?;
        let slope = if rate_of > 0.0 { 1.0 / (rate_of * MEGABYTE) } else { 0.0 };
        let line = plain(self.number(latency)?, slope);
        let pieces = line.and_then(|line| Pieces::one(line).ok());
        let pieces = pieces.ok_or_else(|| self.error(rate.at.clone(), Problem::Syntax(format!("`{}` is no rate", rate.text))))?;
        Ok(Network {
            messages: BTreeMap::from([(Message::Transfer, Timing { pieces, measured: None, medians: Vec::new() })]),
            ..Network::default()
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
        assert_eq!((machine.about.name.as_str(), machine.nodes[0].count, machine.nodes[0].cores), ("here", 16, 4));
        let transfer = |class: PairClass, bytes: f64| machine.networks[&class].messages[&Message::Transfer].pieces.at(bytes)[1];
        assert!((transfer(PairClass::OtherNode, 100.0 * MEGABYTE) - 1.00005).abs() < 1e-9);
        assert_eq!(transfer(PairClass::SameNode, 1e9), 1e-6, "a rate of 0 takes no time");
    }

    #[test]
    fn buses_links_and_speed_are_kept() {
        let limited = IDEAL.replace("100.0, 0, 1}", "100.0, 3, 1}").replace("4, 1.0,", "4, 2.5,").replace("0.00005, 1, 1", "0.00005, 4, 2");
        let machine = parse(&limited, Path::new("limited.cfg")).unwrap();
        let topology = machine.topology.as_ref().unwrap();
        assert_eq!(topology.limits, Limits { buses: 3, links_in: 4, links_out: 2 });
        assert_eq!((topology.nodes(), topology.sharing, machine.nodes[0].speed.middle()), (16, Sharing::None, 2.5));
        let again = parse(&text(&machine).unwrap(), Path::new("again.cfg")).unwrap();
        assert_eq!((again.topology.unwrap().limits, again.nodes[0].speed), (topology.limits, machine.nodes[0].speed));
        let free = IDEAL.replace("0.00005, 1, 1", "0.00005, 0, 0");
        assert_eq!(parse(&free, Path::new("free.cfg")).unwrap().topology, None, "without a limit nothing is in anyone's way");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut machine = parse(IDEAL, Path::new("ideal.cfg")).unwrap();
        machine.networks.get_mut(&PairClass::SameNode).unwrap().messages.get_mut(&Message::Transfer).unwrap().pieces =
            Pieces::one(plain(1e-6, 1e-10).unwrap()).unwrap();
        machine.networks.get_mut(&PairClass::OtherNode).unwrap().eager_bytes = Some(65_536);
        let again = parse(&text(&machine).unwrap(), Path::new("again.cfg")).unwrap();
        assert_eq!(again.networks[&PairClass::OtherNode].eager_bytes, Some(65_536));
        for (class, network) in &machine.networks {
            let [before, after] = [network, &again.networks[class]].map(|network| network.messages[&Message::Transfer].pieces.at(1e6)[1]);
            assert!((before / after - 1.0).abs() < 1e-4, "{class:?}: {before} {after}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let said = |text: &str| parse(text, Path::new("x.cfg")).unwrap_err().to_string();
        assert!(said("").contains("x.cfg:1:1: there is no record \"environment information\""));
        assert!(said(&IDEAL.replace("100.0", "fast")).starts_with("x.cfg:4:47: `fast` is no number"));
        assert!(said(&IDEAL.replace("16, 100.0,", "100.0,")).contains("has 6 fields, and 7 are known"));
        assert!(said("/* never closed \"environment information\" {").contains("no record"));
    }
}
