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
    pub nodes: Vec<PlatformNodes>,
    /// Ways from one node to another; they may differ.
    pub routes: Vec<PlatformRoute>,
    /// The way of messages within a node, if the platform has one.
    pub loopback: Option<PlatformRoute>,
    /// What the platform says about hosts and links that a machine does not take.
    pub unused: Vec<String>,
}

/// Hosts of one kind.
#[derive(Debug)]
pub(super) struct PlatformNodes {
    pub kind: String,
    pub count: u64,
    pub cores: u64,
    /// Names of the hosts, where each has its own element.
    pub hosts: Vec<String>,
}

/// The links of a route.
#[derive(Debug, Clone)]
pub(super) struct PlatformRoute {
    /// What it is called in notes.
    pub name: String,
    pub links: Vec<PlatformLink>,
}

#[derive(Debug, Clone)]
pub(super) struct PlatformLink {
    pub bandwidth: SourceValue,
    pub latency: SourceValue,
}

/// Why a platform cannot be read, and where.
type PlatformError = (Range<usize>, String);

/// Attributes of a cluster that are used, or say nothing that a machine could use.
const CLUSTER_ATTRIBUTES: [&str; 12] =
    ["id", "prefix", "suffix", "radical", "speed", "core", "bw", "lat", "bb_bw", "bb_lat", "loopback_bw", "loopback_lat"];

/// Elements that describe hosts, links and routes, and are never used.
const ELEMENTS: [&str; 8] = ["cabinet", "peer", "backbone", "split-duplex-link", "host_link", "zoneRoute", "ASroute", "bypassRoute"];

/// Reads a platform; an error has a position.
pub(super) fn from_xml(text: &str) -> Result<SimgridPlatform, PlatformError> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| syntax_error(text, &error))?;
    let key = |prop: Node| Some((prop.attribute("id")?.to_owned(), value(prop, "value")?));
    let keys = elements(&document, "prop").filter_map(key).collect();
    let mut platform = match elements(&document, "cluster").find(|cluster| link(*cluster).is_some()) {
        Some(cluster) => cluster_platform(&document, cluster),
        None => host_platform(&document)?,
    };
    platform.unused.splice(0..0, unused_elements(&document));
    Ok(SimgridPlatform { keys, ..platform })
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

fn elements<'a, 'input>(document: &'a Document<'input>, name: &'static str) -> impl Iterator<Item = Node<'a, 'input>> {
    document.descendants().filter(move |node| node.tag_name().name() == name)
}

/// A cluster: a route has the link of each of the two nodes, and the backbone if there is one.
fn cluster_platform(document: &Document, cluster: Node) -> SimgridPlatform {
    let nodes = PlatformNodes {
        kind: cluster.attribute("id").unwrap_or("cluster").to_owned(),
        count: radical_count(cluster.attribute("radical").unwrap_or("0")),
        cores: cores(cluster),
        hosts: Vec::new(),
    };
    let backbone = named_link(cluster, ["bb_bw"], ["bb_lat"]);
    let links = link(cluster).into_iter().flat_map(|link| [link.clone(), link]).chain(backbone).collect();
    let name = describe(cluster);
    let loopback = named_link(cluster, ["loopback_bw"], ["loopback_lat"])
        .map(|link| PlatformRoute { name: format!("the loopback of {name}"), links: vec![link] });
    let others = ["cluster", "link"].into_iter().filter_map(|element| {
        let unused: Vec<Node> = elements(document, element).filter(|node| *node != cluster).collect();
        list_nodes(&unused).map(|list| format!("{list}, only {name}"))
    });
    let counts = ["host", "route"].into_iter().filter_map(|element| count_elements(document, element));
    let attributes = cluster.attributes().filter(|attribute| !CLUSTER_ATTRIBUTES.contains(&attribute.name()));
    let attributes = attributes.map(|attribute| format!("`{}` of {name}", attribute.name()));
    let unused = counts.chain(others).chain(attributes).collect();
    SimgridPlatform { nodes: vec![nodes], routes: vec![PlatformRoute { name, links }], loopback, unused, ..SimgridPlatform::default() }
}

/// Hosts with routes between them; the time of a route is that of all its links.
fn host_platform(document: &Document) -> Result<SimgridPlatform, PlatformError> {
    let links: BTreeMap<&str, Node> = elements(document, "link").filter_map(|node| Some((node.attribute("id")?, node))).collect();
    let mut used: Vec<Node> = Vec::new();
    let mut platform = SimgridPlatform { nodes: host_kinds(document), ..SimgridPlatform::default() };
    for route in elements(document, "route") {
        let mut of_route = Vec::new();
        for part in route.children().filter(|part| part.tag_name().name() == "link_ctn") {
            let id = part.attribute("id").unwrap_or_default();
            // A link with a direction each way is two: `NAME_UP` and `NAME_DOWN`.
            let plain = id.strip_suffix("_UP").or_else(|| id.strip_suffix("_DOWN")).unwrap_or(id);
            let node = links.get(id).or_else(|| links.get(plain));
            let node =
                *node.ok_or_else(|| (part.range(), format!("{} uses the link `{id}`, which does not exist", describe_route(route))))?;
            used.push(node);
            of_route.extend(link(node));
        }
        let is_loop = route.attribute("src") == route.attribute("dst");
        let route = PlatformRoute { name: describe_route(route), links: of_route };
        if route.links.is_empty() {
            platform.unused.push(format!("{}, which has no links", route.name));
        } else if is_loop {
            platform.loopback = platform.loopback.or(Some(route));
        } else {
            platform.routes.push(route);
        }
    }
    for zone in ["zone", "AS"].into_iter().flat_map(|name| elements(document, name)) {
        let routing = zone.attribute("routing").unwrap_or_default();
        if ["Floyd", "Dijkstra", "DijkstraCache"].contains(&routing) {
            platform.unused.push(format!("routes over other hosts of {}, which has the routing `{routing}`", describe(zone)));
        }
    }
    if platform.nodes.iter().any(|node| node.kind != platform.nodes[0].kind) {
        platform.unused.push("the speeds of the hosts, which differ".into());
    }
    let unused = |used: &[Node]| elements(document, "link").filter(|node| !used.contains(node)).collect::<Vec<_>>();
    if platform.routes.is_empty() {
        // Without a route SimGrid has no way between hosts; a link is the best that is known.
        let only = elements(document, "link").find_map(|node| Some((node, link(node)?)));
        if let Some((node, link)) = only {
            let list = list_nodes(&unused(&[node]))
                .map(|list| format!("{list}, only {}, since no route says which links messages take", describe(node)));
            platform.unused.extend(list);
            platform.routes.push(PlatformRoute { name: describe(node), links: vec![link] });
        }
    } else {
        platform.unused.extend(list_nodes(&unused(&used)));
    }
    Ok(platform)
}

fn describe_route(route: Node) -> String {
    format!("the route from `{}` to `{}`", route.attribute("src").unwrap_or_default(), route.attribute("dst").unwrap_or_default())
}

/// Hosts with the same number of cores and the same speed.
fn host_kinds(document: &Document) -> Vec<PlatformNodes> {
    let mut kinds: Vec<(PlatformNodes, &str)> = Vec::new();
    for host in elements(document, "host") {
        let (cores, speed) = (cores(host), host.attribute("speed").unwrap_or_default());
        let name = host.attribute("id").unwrap_or_default().to_owned();
        match kinds.iter_mut().find(|(kind, of)| kind.cores == cores && *of == speed) {
            Some((kind, _)) => {
                kind.count += 1;
                kind.hosts.push(name);
            }
            None => kinds.push((PlatformNodes { kind: format!("host of {speed}"), count: 1, cores, hosts: vec![name] }, speed)),
        }
    }
    kinds.into_iter().map(|(kind, _)| kind).collect()
}

fn cores(node: Node) -> u64 {
    node.attribute("core").and_then(|cores| cores.trim().parse().ok()).filter(|cores| *cores > 0).unwrap_or(1)
}

/// The number of nodes of a list of ranges: `0-3,8`.
fn radical_count(radical: &str) -> u64 {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(last.trim().parse::<u64>().ok()?.checked_sub(first.trim().parse().ok()?)?.saturating_add(1))
    };
    radical.split(',').filter_map(count).fold(0, u64::saturating_add).max(1)
}

/// The bandwidth and latency of a link, or of the links of a cluster.
fn link(node: Node) -> Option<PlatformLink> {
    named_link(node, ["bw", "bandwidth"], ["lat", "latency"])
}

fn named_link<const N: usize>(node: Node, bandwidth: [&str; N], latency: [&str; N]) -> Option<PlatformLink> {
    let first = |names: [&str; N]| names.into_iter().find_map(|name| value(node, name));
    Some(PlatformLink { bandwidth: first(bandwidth)?, latency: first(latency)? })
}

fn value(node: Node, name: &str) -> Option<SourceValue> {
    node.attribute_node(name).map(|attribute| SourceValue { text: attribute.value().to_owned(), span: attribute.range_value() })
}

/// Elements that are never used, by name.
fn unused_elements(document: &Document) -> Vec<String> {
    ELEMENTS.into_iter().filter_map(|name| count_elements(document, name)).collect()
}

fn count_elements(document: &Document, name: &'static str) -> Option<String> {
    let count = elements(document, name).count();
    (count > 0).then(|| format!("{count} element{} `{name}`", if count == 1 { "" } else { "s" }))
}

/// Clusters or links, the first of them by name.
fn list_nodes(nodes: &[Node]) -> Option<String> {
    const NAMED: usize = 3;
    let named: Vec<String> = nodes.iter().take(NAMED).map(|node| describe(*node)).collect();
    let more = nodes.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!nodes.is_empty()).then(|| format!("{}{more}", named.join(", ")))
}

fn describe(node: Node) -> String {
    format!("the {} `{}`", node.tag_name().name(), node.attribute("id").unwrap_or_default())
}

/// The position of a syntax error and what is wrong.
fn syntax_error(text: &str, error: &Error) -> PlatformError {
    let TextPos { row, col } = error.pos();
    let line_start: usize = text.split_inclusive('\n').take(row as usize - 1).map(str::len).sum();
    let before: usize = text[line_start..].chars().take(col as usize - 1).map(char::len_utf8).sum();
    let what = error.to_string();
    let what = what.strip_suffix(&format!(" at {}", error.pos())).unwrap_or(&what);
    (line_start + before..line_start + before, what.to_owned())
}
