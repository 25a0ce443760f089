//! Zones of a platform: hosts, routers and further zones, and the links between two of them.
//!
//! A route between two zones leads through a gateway of each: from the host to the gateway of its zone, over the links of the zone route,
//! and from the other gateway to the other host.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

/// The number of a link of the platform.
pub(super) type LinkId = usize;
/// The number of a host, a router or a zone.
pub(super) type PointId = usize;

/// How a zone finds the way between two of its points.
#[derive(Debug)]
pub(super) enum Routing {
    /// By a route for each pair.
    Explicit,
    /// Over the fewest links of routes one after another.
    ShortestPath,
    /// Over the links of both points, and a backbone between them.
    Star {
        backbone: Option<LinkId>,
        /// The longest way between two hosts, where it is not that.
        longest: Option<Vec<LinkId>>,
    },
}

/// The links of a point of a star, and where it is.
#[derive(Debug, Clone, Default)]
pub(super) struct PointLinks {
    pub up: Option<LinkId>,
    pub down: Option<LinkId>,
    /// Milliseconds to others: distance in the plane, and height above it.
    pub coordinates: Option<[f64; 3]>,
}

/// The way from one point to another.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Path {
    pub links: Vec<LinkId>,
    /// Latency that belongs to no link.
    pub distance_s: f64,
}

/// A way between two points of a zone, and where it begins and ends if these are zones.
#[derive(Debug, Clone)]
pub(super) struct ZoneRoute {
    pub path: Path,
    pub gateways: Option<[PointId; 2]>,
}

impl ZoneRoute {
    fn reversed(&self) -> ZoneRoute {
        let links = self.path.links.iter().rev().copied().collect();
        ZoneRoute { path: Path { links, ..self.path }, gateways: self.gateways.map(|[first, last]| [last, first]) }
    }
}

#[derive(Debug)]
struct Point {
    zone: Option<PointId>,
    links: PointLinks,
}

#[derive(Debug)]
struct Zone {
    routing: Routing,
    routes: BTreeMap<[PointId; 2], ZoneRoute>,
    /// Routes that come before those that the routing finds.
    bypasses: BTreeMap<[PointId; 2], ZoneRoute>,
}

/// The point before each one that can be reached from another.
type Predecessors = BTreeMap<PointId, PointId>;

/// All zones of a platform.
#[derive(Debug, Default)]
pub(super) struct Zones {
    points: Vec<Point>,
    names: BTreeMap<String, PointId>,
    zones: BTreeMap<PointId, Zone>,
    shortest: RefCell<BTreeMap<[PointId; 2], Rc<Predecessors>>>,
}

impl Zones {
    /// Adds a host or a router; the first of a name counts.
    pub(super) fn add_point(&mut self, name: &str, zone: Option<PointId>, links: PointLinks) -> PointId {
        let point = self.points.len();
        self.points.push(Point { zone, links });
        self.names.entry(name.to_owned()).or_insert(point);
        point
    }

    pub(super) fn add_zone(&mut self, name: &str, parent: Option<PointId>, routing: Routing) -> PointId {
        let point = self.add_point(name, parent, PointLinks::default());
        self.zones.insert(point, Zone { routing, routes: BTreeMap::new(), bypasses: BTreeMap::new() });
        point
    }

    /// Sets the backbone of a star.
    pub(super) fn set_backbone(&mut self, zone: PointId, link: LinkId) {
        if let Some(Zone { routing: Routing::Star { backbone, .. }, .. }) = self.zones.get_mut(&zone) {
            *backbone = Some(link);
        }
    }

    pub(super) fn set_links(&mut self, point: PointId, up: LinkId, down: LinkId) {
        (self.points[point].links.up, self.points[point].links.down) = (Some(up), Some(down));
    }

    pub(super) fn point(&self, name: &str) -> Option<PointId> {
        self.names.get(name).copied()
    }

    /// Whether the gateways of a route between two zones are in these.
    pub(super) fn has_gateways_inside(&self, ends: [PointId; 2], gateways: [PointId; 2]) -> bool {
        ends.into_iter().zip(gateways).all(|(end, gateway)| end != gateway && self.ancestors(gateway).contains(&end))
    }

    /// Adds a route between two points of a zone, and unless it is one-way, the same back.
    pub(super) fn add_route(&mut self, zone: PointId, ends: [PointId; 2], route: ZoneRoute, is_symmetrical: bool, is_bypass: bool) {
        let Some(zone) = self.zones.get_mut(&zone) else { return };
        let routes = if is_bypass { &mut zone.bypasses } else { &mut zone.routes };
        if is_symmetrical {
            routes.entry([ends[1], ends[0]]).or_insert_with(|| route.reversed());
        }
        routes.insert(ends, route);
    }

    /// The links from one host or router to another.
    pub(super) fn path(&self, from: PointId, to: PointId) -> Option<Path> {
        if from == to {
            return Some(Path::default());
        }
        let [above_from, above_to] = [from, to].map(|point| self.ancestors(point));
        let common = above_from.iter().zip(&above_to).take_while(|(one, other)| one == other).count();
        let (zone, first, last) = (*above_from.get(common.checked_sub(1)?)?, *above_from.get(common)?, *above_to.get(common)?);
        let ZoneRoute { mut path, gateways } = self.zone_route(zone, [first, last])?;
        if first != from {
            path = joined(self.path(from, gateways?[0])?, path);
        }
        if last != to {
            path = joined(path, self.path(gateways?[1], to)?);
        }
        Some(path)
    }

    /// A point and the zones around it, the outermost first.
    fn ancestors(&self, point: PointId) -> Vec<PointId> {
        let mut ancestors: Vec<PointId> = std::iter::successors(Some(point), |point| self.points[*point].zone).collect();
        ancestors.reverse();
        ancestors
    }

    fn zone_route(&self, zone: PointId, ends: [PointId; 2]) -> Option<ZoneRoute> {
        let of_zone = self.zones.get(&zone)?;
        if let Some(route) = of_zone.bypasses.get(&ends) {
            return Some(route.clone());
        }
        match &of_zone.routing {
            Routing::Explicit => of_zone.routes.get(&ends).cloned(),
            Routing::ShortestPath => self.shortest_route(zone, of_zone, ends),
            Routing::Star { backbone, longest } => {
                Some(ZoneRoute { path: self.star_path(ends, *backbone, longest.as_ref()), gateways: None })
            }
        }
    }

    fn star_path(&self, ends: [PointId; 2], backbone: Option<LinkId>, longest: Option<&Vec<LinkId>>) -> Path {
        let [from, to] = ends.map(|point| &self.points[point].links);
        let links = match longest.filter(|_| from.up.is_some() && to.down.is_some()) {
            Some(links) => links.clone(),
            None => from.up.into_iter().chain(backbone).chain(to.down).collect(),
        };
        let distance_ms =
            from.coordinates.zip(to.coordinates).map_or(0.0, |(a, b)| (a[0] - b[0]).hypot(a[1] - b[1]) + a[2].abs() + b[2].abs());
        Path { links, distance_s: distance_ms / 1000.0 }
    }

    fn shortest_route(&self, zone: PointId, of_zone: &Zone, [from, to]: [PointId; 2]) -> Option<ZoneRoute> {
        let predecessors =
            Rc::clone(self.shortest.borrow_mut().entry([zone, from]).or_insert_with(|| Rc::new(shortest_paths(of_zone, from))));
        let mut whole: Option<ZoneRoute> = None;
        let mut point = to;
        while point != from {
            let before = *predecessors.get(&point)?;
            let step = of_zone.routes.get(&[before, point])?.clone();
            whole = Some(match whole {
                None => step,
                Some(rest) => self.in_sequence(step, rest)?,
            });
            point = before;
        }
        whole
    }

    /// Two zone routes one after another, with the way from the gateway where one ends to that where the other begins.
    fn in_sequence(&self, first: ZoneRoute, then: ZoneRoute) -> Option<ZoneRoute> {
        let (between, gateways) = match (first.gateways, then.gateways) {
            (Some([begin, arrival]), Some([departure, end])) => (self.path(arrival, departure)?, Some([begin, end])),
            _ => (Path::default(), None),
        };
        Some(ZoneRoute { path: joined(joined(first.path, between), then.path), gateways })
    }
}

fn joined(first: Path, then: Path) -> Path {
    Path { links: [first.links, then.links].concat(), distance_s: first.distance_s + then.distance_s }
}

/// The paths with the fewest links from a point, as SimGrid's Floyd and Dijkstra count them.
fn shortest_paths(zone: &Zone, from: PointId) -> Predecessors {
    let mut predecessors = Predecessors::new();
    let mut costs = BTreeMap::from([(from, 0)]);
    let mut open = BinaryHeap::from([Reverse((0, from))]);
    while let Some(Reverse((cost, point))) = open.pop() {
        if costs.get(&point).is_some_and(|known| *known < cost) {
            continue;
        }
        for (&[_, next], route) in zone.routes.range([point, 0]..=[point, PointId::MAX]) {
            let cost = cost + route.path.links.len();
            if costs.get(&next).is_none_or(|known| cost < *known) {
                costs.insert(next, cost);
                predecessors.insert(next, point);
                open.push(Reverse((cost, next)));
            }
        }
    }
    predecessors
}
