//! What a platform says, by the rules of XML: comments are not elements, entities are characters.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use roxmltree::{Document, Error, Node, ParsingOptions, TextPos};

use super::SourceValue;
use super::cluster::{ClusterShape, ClusterTopology, duplex, radicals};
use super::zones::{LinkId, Path, PointId, PointLinks, Routing, ZoneRoute, Zones};

/// What a machine is made from.
#[derive(Debug, Default)]
pub(super) struct SimgridPlatform {
    /// Keys of SimGrid and SMPI with their values, in the order of the file.
    pub keys: Vec<(String, SourceValue)>,
    pub nodes: Vec<PlatformNodes>,
    pub links: Vec<PlatformLink>,
    /// Ways from one node to another; they may differ.
    pub routes: Vec<PlatformRoute>,
    /// The way of messages within a node, if the platform has one.
    pub loopback: Option<PlatformRoute>,
    /// How the nodes are connected, if they are one cluster.
    pub topology: Option<ClusterTopology>,
    /// What the platform says about hosts and links that a machine does not take.
    pub unused: Vec<String>,
}

/// Hosts of one kind.
#[derive(Debug)]
pub(super) struct PlatformNodes {
    pub kind: String,
    pub count: u64,
    pub cores: u64,
    /// Operations per second; of several the first, at which hosts start.
    pub speed: Option<SourceValue>,
    /// Names of the hosts, where each has its own element.
    pub hosts: Vec<String>,
}

/// The links of a route.
#[derive(Debug, Clone)]
pub(super) struct PlatformRoute {
    /// What it is called in notes.
    pub name: String,
    pub path: Path,
}

#[derive(Debug, Clone)]
pub(super) struct PlatformLink {
    pub bandwidth: SourceValue,
    /// None of a peer, whose latency follows from its coordinates.
    pub latency: Option<SourceValue>,
}

/// Why a platform cannot be read, and where.
type PlatformError = (Range<usize>, String);

/// Attributes of a cluster that are used, or say nothing that a machine could use.
const CLUSTER_ATTRIBUTES: [&str; 17] = [
    "id",
    "prefix",
    "suffix",
    "radical",
    "speed",
    "core",
    "bw",
    "lat",
    "bb_bw",
    "bb_lat",
    "bb_sharing_policy",
    "loopback_bw",
    "loopback_lat",
    "router_id",
    "sharing_policy",
    "topology",
    "topo_parameters",
];

/// Routes are compared between this many hosts.
const MOST_HOSTS: usize = 256;

/// Reads a platform; an error has a position.
pub(super) fn from_xml(text: &str) -> Result<SimgridPlatform, PlatformError> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| syntax_error(text, &error))?;
    let key = |prop: Node| Some((prop.attribute("id")?.to_owned(), value(prop, "value")?));
    let keys = elements(&document, "prop").filter_map(key).collect();
    let mut reader = PlatformReader::default();
    document.descendants().for_each(|element| reader.add_element(element));
    document.descendants().try_for_each(|element| reader.add_routes(element))?;
    reader.add_paths();
    reader.note_unused_links(&document);
    reader.platform.unused.extend(unused_details(&document));
    let topology = reader.topology.take().filter(|_| reader.platform.nodes.len() == 1);
    Ok(SimgridPlatform { keys, topology, ..reader.platform })
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

/// A platform while it is read.
#[derive(Default)]
struct PlatformReader {
    platform: SimgridPlatform,
    zones: Zones,
    /// The zone that an element is, by the number of the element.
    zone_of: BTreeMap<usize, PointId>,
    link_ids: BTreeMap<String, LinkId>,
    used: BTreeSet<LinkId>,
    /// Hosts between which routes are compared, with their names. Those of a cluster are alike, so a few of them count.
    hosts: Vec<(PointId, String)>,
    topology: Option<ClusterTopology>,
    /// The first cluster: if it has only one node, its links are those that another one would have.
    first_cluster: Option<PlatformRoute>,
}

impl PlatformReader {
    /// Adds a zone, a host or a link. Zones come before what is in them.
    fn add_element(&mut self, element: Node) {
        let id = element.attribute("id").unwrap_or_default();
        let zone = element.parent().and_then(|parent| self.zone_of.get(&parent.id().get_usize()).copied());
        match element.tag_name().name() {
            "platform" => self.add_zone(element, None),
            "zone" | "AS" => self.add_zone(element, zone),
            "cluster" => self.add_cluster(element, zone),
            "cabinet" => self.add_cabinet(element, zone),
            "host" => {
                let links = PointLinks { coordinates: coordinates(element), ..PointLinks::default() };
                self.add_host(element, zone, links);
            }
            "peer" => {
                let up =
                    value(element, "bw_out").map(|bandwidth| self.add_link(PlatformLink { bandwidth, latency: value(element, "lat") }));
                let down =
                    value(element, "bw_in").map(|bandwidth| self.add_link(PlatformLink { bandwidth, latency: value(element, "lat") }));
                self.add_host(element, zone, PointLinks { up, down, coordinates: coordinates(element) });
            }
            "router" => {
                let links = PointLinks { coordinates: coordinates(element), ..PointLinks::default() };
                self.zones.add_point(id, zone, links);
            }
            "link" | "split-duplex-link" => {
                if let Some(link) = link(element) {
                    let link = self.add_link(link);
                    self.link_ids.entry(id.to_owned()).or_insert(link);
                }
            }
            "backbone" => {
                if let (Some(zone), Some(link)) = (zone, link(element)) {
                    let link = self.add_link(link);
                    self.zones.set_backbone(zone, link);
                }
            }
            _ => {}
        }
    }

    fn add_zone(&mut self, element: Node, parent: Option<PointId>) {
        let routing = match element.attribute("routing").unwrap_or("Full") {
            "Floyd" | "Dijkstra" | "DijkstraCache" => Routing::ShortestPath,
            "Cluster" | "Vivaldi" | "Star" => Routing::Star { backbone: None, longest: None },
            "Full" | "None" | "none" => Routing::Explicit,
            other => {
                self.platform.unused.push(format!("the routing `{other}` of {}", describe(element)));
                Routing::Explicit
            }
        };
        let name = element.attribute("id").unwrap_or_default();
        self.zone_of.insert(element.id().get_usize(), self.zones.add_zone(name, parent, routing));
    }

    fn add_link(&mut self, link: PlatformLink) -> LinkId {
        self.platform.links.push(link);
        self.platform.links.len() - 1
    }

    fn add_host(&mut self, element: Node, zone: Option<PointId>, links: PointLinks) {
        let name = element.attribute("id").unwrap_or_default();
        let (cores, speed) = (cores(element), first_speed(element));
        let text = speed.as_ref().map_or("", |speed| speed.text.as_str());
        let kind = format!("{} of {text}", element.tag_name().name());
        match self.platform.nodes.iter_mut().find(|nodes| nodes.kind == kind && nodes.cores == cores) {
            Some(nodes) => {
                nodes.count += 1;
                nodes.hosts.push(name.to_owned());
            }
            None => self.platform.nodes.push(PlatformNodes { kind, count: 1, cores, speed, hosts: vec![name.to_owned()] }),
        }
        let point = self.zones.add_point(name, zone, links);
        self.hosts.push((point, name.to_owned()));
    }

    /// A cluster is a zone in which each host has a link, and all may share a backbone.
    fn add_cluster(&mut self, cluster: Node, parent: Option<PointId>) {
        let name = describe(cluster);
        let Some(link) = link(cluster) else {
            self.platform.unused.push(format!("{name}, which has no `bw` and `lat`"));
            return;
        };
        let link = self.add_link(link);
        let backbone = named_link(cluster, ["bb_bw"], ["bb_lat"]).map(|link| self.add_link(link));
        let (count, numbers) = radicals(cluster.attribute("radical").unwrap_or("0"));
        let shape = ClusterShape::of(cluster).filter(|shape| shape.node_count().is_none_or(|nodes| nodes == count));
        let longest = shape.as_ref().filter(|shape| **shape != ClusterShape::Switch).map(|shape| vec![link; shape.diameter()]);
        let id = cluster.attribute("id").unwrap_or("cluster");
        let zone = self.zones.add_zone(id, parent, Routing::Star { backbone, longest });
        self.add_cluster_hosts(cluster, zone, link, &numbers);
        let attribute = |name: &str| cluster.attribute(name).unwrap_or_default();
        let router = format!("{}{id}_router{}", attribute("prefix"), attribute("suffix"));
        self.zones.add_point(cluster.attribute("router_id").unwrap_or(&router), Some(zone), PointLinks::default());
        self.add_cluster_nodes(cluster, count);
        self.add_loopback(cluster);
        self.note_unused_attributes(cluster, shape.is_none());
        let path = Path { links: [link, link].into_iter().chain(backbone).collect(), distance_s: 0.0 };
        self.first_cluster.get_or_insert(PlatformRoute { name, path });
        let backbone = backbone.filter(|_| attribute("bb_sharing_policy") != "FATPIPE");
        self.topology = shape.zip(duplex(cluster)).map(|(shape, duplex)| ClusterTopology { shape, link, backbone, duplex });
    }

    /// The network within a node, if a cluster says what it is; the first of a platform counts.
    fn add_loopback(&mut self, cluster: Node) {
        let Some(loopback) = named_link(cluster, ["loopback_bw"], ["loopback_lat"]).filter(|_| self.platform.loopback.is_none()) else {
            return;
        };
        let path = Path { links: vec![self.add_link(loopback)], distance_s: 0.0 };
        self.platform.loopback = Some(PlatformRoute { name: format!("the loopback of {}", describe(cluster)), path });
    }

    fn note_unused_attributes(&mut self, cluster: Node, is_topology_unknown: bool) {
        let unused = cluster.attributes().map(|attribute| attribute.name()).filter(|name| !CLUSTER_ATTRIBUTES.contains(name));
        let notes = unused.chain(is_topology_unknown.then_some("topology")).map(|name| format!("`{name}` of {}", describe(cluster)));
        self.platform.unused.extend(notes);
    }

    /// The hosts of a cluster or a cabinet, with the link that each has. Of many that are alike, three are compared: one may be a gateway.
    fn add_cluster_hosts(&mut self, element: Node, zone: PointId, link: LinkId, numbers: &[u64]) {
        let attribute = |name: &str| element.attribute(name).unwrap_or_default();
        for (index, number) in numbers.iter().enumerate() {
            let name = format!("{}{number}{}", attribute("prefix"), attribute("suffix"));
            let point = self.zones.add_point(&name, Some(zone), PointLinks { up: Some(link), down: Some(link), coordinates: None });
            if index < 2 || index + 1 == numbers.len() {
                self.hosts.push((point, name));
            }
        }
    }

    fn add_cluster_nodes(&mut self, element: Node, count: u64) {
        let kind = element.attribute("id").unwrap_or(element.tag_name().name()).to_owned();
        let (cores, speed) = (cores(element), first_speed(element));
        self.platform.nodes.push(PlatformNodes { kind, count, cores, speed, hosts: Vec::new() });
    }

    /// Hosts of the zone around them, each with a link.
    fn add_cabinet(&mut self, cabinet: Node, zone: Option<PointId>) {
        let (Some(zone), Some(link)) = (zone, link(cabinet)) else {
            self.platform.unused.push(format!("{}, which has no `bw` and `lat`", describe(cabinet)));
            return;
        };
        let link = self.add_link(link);
        let (count, numbers) = radicals(cabinet.attribute("radical").unwrap_or("0"));
        self.add_cluster_hosts(cabinet, zone, link, &numbers);
        self.add_cluster_nodes(cabinet, count);
    }

    /// Adds a route, or the links of a host, when all names are known.
    fn add_routes(&mut self, element: Node) -> Result<(), PlatformError> {
        let Some(zone) = element.parent().and_then(|parent| self.zone_of.get(&parent.id().get_usize()).copied()) else { return Ok(()) };
        match element.tag_name().name() {
            "host_link" => {
                let named = |name: &str| element.attribute(name).and_then(|id| self.link_id(id));
                let point = element.attribute("id").and_then(|id| self.zones.point(id));
                match (point, named("up"), named("down")) {
                    (Some(point), Some(up), Some(down)) => self.zones.set_links(point, up, down),
                    _ => self.platform.unused.push(format!("{}, which names no host or link", describe(element))),
                }
                Ok(())
            }
            "route" | "zoneRoute" | "ASroute" | "bypassRoute" | "bypassZoneRoute" | "bypassASroute" => self.add_route(element, zone),
            _ => Ok(()),
        }
    }

    /// A link by its name; one with a direction each way is two, `NAME_UP` and `NAME_DOWN`.
    fn link_id(&self, id: &str) -> Option<LinkId> {
        let plain = id.strip_suffix("_UP").or_else(|| id.strip_suffix("_DOWN")).unwrap_or(id);
        self.link_ids.get(id).or_else(|| self.link_ids.get(plain)).copied()
    }

    fn add_route(&mut self, element: Node, zone: PointId) -> Result<(), PlatformError> {
        let name = describe_route(element);
        let mut links = Vec::new();
        for part in element.children().filter(|part| part.tag_name().name() == "link_ctn") {
            let id = part.attribute("id").unwrap_or_default();
            links.push(self.link_id(id).ok_or_else(|| (part.range(), format!("{name} uses the link `{id}`, which does not exist")))?);
        }
        let pair = |names: [&str; 2]| match names.map(|name| element.attribute(name).and_then(|name| self.zones.point(name))) {
            [Some(one), Some(other)] => Some([one, other]),
            _ => None,
        };
        let (ends, gateways) = (pair(["src", "dst"]), pair(["gw_src", "gw_dst"]));
        let is_of_zones = element.has_attribute("gw_src");
        let is_bypass = element.tag_name().name().starts_with("bypass");
        match (ends, gateways) {
            _ if links.is_empty() && !is_of_zones => self.platform.unused.push(format!("{name}, which has no links")),
            (None, _) => self.platform.unused.push(format!("{name}, whose ends do not exist")),
            (Some(_), None) if is_of_zones => self.platform.unused.push(format!("{name}, whose gateways do not exist")),
            (Some(ends), Some(gateways)) if !self.zones.has_gateways_inside(ends, gateways) => {
                self.platform.unused.push(format!("{name}, whose gateways are elsewhere"));
            }
            (Some([from, to]), _) if from == to => {
                self.used.extend(&links);
                let path = Path { links, distance_s: 0.0 };
                self.platform.loopback.get_or_insert(PlatformRoute { name, path });
            }
            (Some(ends), gateways) => {
                let route = ZoneRoute { path: Path { links, distance_s: 0.0 }, gateways };
                let is_symmetrical = !element.attribute("symmetrical").is_some_and(|given| given.eq_ignore_ascii_case("no"));
                self.zones.add_route(zone, ends, route, is_symmetrical, is_bypass);
            }
        }
        Ok(())
    }

    /// The ways between all hosts.
    fn add_paths(&mut self) {
        let count = self.hosts.len();
        if count > MOST_HOSTS {
            self.platform.unused.push(format!("the routes of {} hosts, only those between the first {MOST_HOSTS}", count - MOST_HOSTS));
        }
        let hosts = &self.hosts[..count.min(MOST_HOSTS)];
        for (from, from_name) in hosts {
            for (to, to_name) in hosts.iter().filter(|(to, _)| to != from) {
                let Some(path) = self.zones.path(*from, *to).filter(|path| !path.links.is_empty()) else { continue };
                self.used.extend(&path.links);
                self.platform.routes.push(PlatformRoute { name: format!("the route from `{from_name}` to `{to_name}`"), path });
            }
        }
    }

    /// Names the links that no route uses; without a route, SimGrid has no way between hosts, and a link is the best that is known.
    fn note_unused_links(&mut self, document: &Document) {
        let unused = |used: &BTreeSet<LinkId>| {
            let is_unused = |node: &Node| node.attribute("id").and_then(|id| self.link_id(id)).is_some_and(|link| !used.contains(&link));
            let nodes = ["link", "split-duplex-link"].into_iter().flat_map(|name| elements(document, name)).filter(is_unused);
            list_nodes(&nodes.collect::<Vec<_>>())
        };
        if !self.platform.routes.is_empty() {
            let list = unused(&self.used);
            self.platform.unused.extend(list);
            return;
        }
        let only = elements(document, "link").find_map(|node| Some((node, self.link_id(node.attribute("id")?)?)));
        if let Some(cluster) = &self.first_cluster {
            self.platform.routes.push(cluster.clone());
        } else if let Some((node, link)) = only {
            let list = unused(&BTreeSet::from([link]));
            let list = list.map(|list| format!("{list}, only {}, since no route says which links messages take", describe(node)));
            self.platform.unused.extend(list);
            self.platform.routes.push(PlatformRoute { name: describe(node), path: Path { links: vec![link], distance_s: 0.0 } });
        }
    }
}

fn elements<'a, 'input>(document: &'a Document<'input>, name: &'static str) -> impl Iterator<Item = Node<'a, 'input>> {
    document.descendants().filter(move |node| node.tag_name().name() == name)
}

fn describe_route(route: Node) -> String {
    let [from, to] = ["src", "dst"].map(|end| route.attribute(end).unwrap_or_default());
    format!("the {} from `{from}` to `{to}`", route.tag_name().name())
}

fn cores(node: Node) -> u64 {
    node.attribute("core").and_then(|cores| cores.trim().parse().ok()).filter(|cores| *cores > 0).unwrap_or(1)
}

/// The speed of a host; of several the first.
fn first_speed(node: Node) -> Option<SourceValue> {
    let SourceValue { text, span } = value(node, "speed").or_else(|| value(node, "power"))?;
    let first = text.split(',').next().unwrap_or_default().trim().to_owned();
    Some(SourceValue { text: first, span })
}

/// Where a point is, in milliseconds.
fn coordinates(node: Node) -> Option<[f64; 3]> {
    let numbers: Vec<f64> = node.attribute("coordinates")?.split_whitespace().map_while(|number| number.parse().ok()).collect();
    numbers.try_into().ok().filter(|numbers: &[f64; 3]| numbers.iter().all(|number| number.is_finite()))
}

/// The bandwidth and latency of a link, or of the links of a cluster.
fn link(node: Node) -> Option<PlatformLink> {
    named_link(node, ["bw", "bandwidth"], ["lat", "latency"])
}

fn named_link<const N: usize>(node: Node, bandwidth: [&str; N], latency: [&str; N]) -> Option<PlatformLink> {
    let first = |names: [&str; N]| names.into_iter().find_map(|name| value(node, name));
    Some(PlatformLink { bandwidth: first(bandwidth)?, latency: Some(first(latency)?) })
}

fn value(node: Node, name: &str) -> Option<SourceValue> {
    node.attribute_node(name).map(|attribute| SourceValue { text: attribute.value().to_owned(), span: attribute.range_value() })
}

/// What changes with time, what is no network, and how links are shared: a machine can have none of it.
fn unused_details(document: &Document) -> Vec<String> {
    const ELEMENTS: [&str; 5] = ["include", "trace_connect", "storage", "disk", "wifi"];
    const ATTRIBUTES: [&str; 6] = ["bandwidth_file", "latency_file", "state_file", "speed_file", "availability_file", "sharing_policy"];
    let count = |is_it: &dyn Fn(Node) -> bool| document.descendants().filter(|node| is_it(*node)).count();
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let of_elements = ELEMENTS.iter().map(|name| (count(&|node| node.tag_name().name() == *name), format!("`{name}`")));
    let of_elements = of_elements.map(|(count, name)| (count, format!("{count} element{} {name}", plural(count))));
    let has = |node: Node, name: &str| node.tag_name().name() != "cluster" && node.has_attribute(name);
    let of_attributes = ATTRIBUTES.iter().map(|name| (count(&|node| has(node, name)), format!("`{name}`")));
    let of_attributes = of_attributes.map(|(count, name)| (count, format!("{name} of {count} element{}", plural(count))));
    of_elements.chain(of_attributes).filter(|(count, _)| *count > 0).map(|(_, note)| note).collect()
}

/// Links, the first of them by name.
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
