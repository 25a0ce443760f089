//! What a platform says, by the rules of XML: comments are not elements, entities are characters.

use std::collections::BTreeMap;
use std::ops::Range;

use roxmltree::{Document, Error, Node, ParsingOptions, TextPos};

use super::SourceValue;

/// What a machine is made from.
#[derive(Debug, Default)]
pub(super) struct SimgridPlatform {
    /// Keys of SimGrid and SMPI with their values, in the order of the file.
    pub keys: Vec<(String, SourceValue)>,
    pub cluster: Option<PlatformCluster>,
    pub network: Option<PlatformNetwork>,
    /// What the platform says about hosts and links that a machine does not take.
    pub unused: Vec<String>,
}

/// The hosts of a cluster.
#[derive(Debug)]
pub(super) struct PlatformCluster {
    pub id: String,
    pub radical: String,
    pub cores: u64,
}

/// The network of a cluster, or a link.
#[derive(Debug)]
pub(super) struct PlatformNetwork {
    pub bandwidth: SourceValue,
    pub latency: SourceValue,
    /// Number of links on a route.
    pub links: f64,
}

/// Attributes of a cluster that are used, or say nothing that a machine could use.
const CLUSTER_ATTRIBUTES: [&str; 8] = ["id", "prefix", "suffix", "radical", "speed", "core", "bw", "lat"];

/// Elements that describe hosts, links and routes.
const ELEMENTS: [&str; 8] = ["host", "cabinet", "peer", "backbone", "split-duplex-link", "host_link", "route", "zoneRoute"];

/// Reads a platform; an error has a position.
pub(super) fn from_xml(text: &str) -> Result<SimgridPlatform, (Range<usize>, String)> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| syntax_error(text, &error))?;
    let all = |name: &'static str| document.descendants().filter(move |node| node.tag_name().name() == name);
    let key = |prop: Node| Some((prop.attribute("id")?.to_owned(), value(prop, "value")?));
    let clusters: Vec<Node> = all("cluster").collect();
    let links: Vec<Node> = all("link").collect();
    // A route between two nodes of a cluster has two links.
    let candidates = clusters.iter().map(|node| (node, 2.0)).chain(links.iter().map(|node| (node, 1.0)));
    let (used, network) = candidates.filter_map(|(node, links)| Some((*node, network(*node, links)?))).next().unzip();
    Ok(SimgridPlatform {
        keys: all("prop").filter_map(key).collect(),
        cluster: clusters.first().map(|node| PlatformCluster {
            id: node.attribute("id").unwrap_or("cluster").to_owned(),
            radical: node.attribute("radical").unwrap_or("0").to_owned(),
            cores: node.attribute("core").and_then(|cores| cores.trim().parse().ok()).unwrap_or(1),
        }),
        network,
        unused: unused(&document, used, &clusters, &links),
    })
}

/// Reads lines of keys, each with its value after a colon, as on the command line of SMPI or without `--cfg=`.
pub(super) fn from_lines(text: &str) -> SimgridPlatform {
    let key = |line: &str| {
        let line = line.trim();
        let (name, value) = line.strip_prefix("--cfg=").unwrap_or(line).split_once(':')?;
        let start = value.as_ptr() as usize - text.as_ptr() as usize;
        Some((name.to_owned(), SourceValue { text: value.to_owned(), span: start..start + value.len() }))
    };
    SimgridPlatform { keys: text.lines().filter_map(key).collect(), ..SimgridPlatform::default() }
}

fn network(node: Node, links: f64) -> Option<PlatformNetwork> {
    let bandwidth = value(node, "bw").or_else(|| value(node, "bandwidth"))?;
    let latency = value(node, "lat").or_else(|| value(node, "latency"))?;
    Some(PlatformNetwork { bandwidth, latency, links })
}

fn value(node: Node, name: &str) -> Option<SourceValue> {
    node.attribute_node(name).map(|attribute| SourceValue { text: attribute.value().to_owned(), span: attribute.range_value() })
}

/// What is not used, element by element: one network is taken for all pairs of nodes.
fn unused(document: &Document, used: Option<Node>, clusters: &[Node], links: &[Node]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in document.descendants().map(|node| node.tag_name().name()).filter(|name| ELEMENTS.contains(name)) {
        *counts.entry(name).or_default() += 1;
    }
    let others = counts.into_iter().map(|(name, count)| format!("{count} element{} `{name}`", if count == 1 { "" } else { "s" }));
    let rest = [clusters, links].into_iter().filter_map(|nodes| list_unused(nodes, used));
    let attributes = clusters.iter().filter(|node| Some(**node) == used).flat_map(|node| {
        let unknown = node.attributes().filter(|attribute| !CLUSTER_ATTRIBUTES.contains(&attribute.name()));
        unknown.map(|attribute| format!("`{}` of {}", attribute.name(), describe(*node))).collect::<Vec<_>>()
    });
    others.chain(rest).chain(attributes).collect()
}

/// The clusters or links that are not used, the first of them by name.
fn list_unused(nodes: &[Node], used: Option<Node>) -> Option<String> {
    const NAMED: usize = 3;
    let unused: Vec<Node> = nodes.iter().copied().filter(|node| Some(*node) != used).collect();
    let named: Vec<String> = unused.iter().take(NAMED).map(|node| describe(*node)).collect();
    let more = unused.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let only = used.map(|used| format!(", only {}", describe(used))).unwrap_or_default();
    (!unused.is_empty()).then(|| format!("{}{more}{only}", named.join(", ")))
}

fn describe(node: Node) -> String {
    format!("the {} `{}`", node.tag_name().name(), node.attribute("id").unwrap_or_default())
}

/// The position of a syntax error and what is wrong.
fn syntax_error(text: &str, error: &Error) -> (Range<usize>, String) {
    let TextPos { row, col } = error.pos();
    let line_start: usize = text.split_inclusive('\n').take(row as usize - 1).map(str::len).sum();
    let before: usize = text[line_start..].chars().take(col as usize - 1).map(char::len_utf8).sum();
    let what = error.to_string();
    let what = what.strip_suffix(&format!(" at {}", error.pos())).unwrap_or(&what);
    (line_start + before..line_start + before, what.to_owned())
}
