//! A network in which messages share links as water does: first their latency passes, then their bytes flow over all links of the route at once.
//!
//! The rates are the max-min fair ones: no message could get more without another one, that has no more than it, getting less. Everything of
//! one moment is done together, and only what it changes is computed again (`share`).

mod share;
#[cfg(test)]
mod tests;

use super::events::Events;
use super::slots::Slots;
use super::topology::{LinkId, Routes};
use super::{Flow, Network, Transfer, same_moment};
use share::Share;

/// Messages under way, and the links they share.
#[derive(Debug)]
pub struct Fluid {
    routes: Routes,
    links: Vec<Link>,
    streams: Slots<Stream>,
    /// When the latency of a stream has passed.
    begins: Events,
    /// When its last byte has flown.
    ends: Events,
    share: Share,
    route: Vec<LinkId>,
}

/// A link, and who flows over it.
#[derive(Debug)]
struct Link {
    capacity: f64,
    /// What those on it would take if each was alone.
    demand: f64,
    /// Whether they could ever want more than it has; else it is in nobody's way.
    tight: bool,
    streams: Vec<u32>,
    /// The last round of sharing that it was looked at in, and its number there.
    seen: u64,
    number: u32,
}

/// A message under way.
#[derive(Debug, Default)]
struct Stream {
    flow: Flow,
    /// The last round of sharing that it was a member of.
    seen: u64,
    /// Bytes that had not flown at `since_s`, and per second since then.
    left: f64,
    rate: f64,
    since_s: f64,
    /// When it ends at that rate, and when that is looked at, which may be before but is never after.
    ends_s: f64,
    due_s: f64,
    /// The rate that it cannot exceed even alone.
    most: f64,
    /// The rate that is being found for it, and where it is told which tight links it goes over.
    next: f64,
    ways: [u32; 2],
    /// What keeps it from flowing faster.
    hindrance: Hindrance,
    hops: Vec<Hop>,
}

/// A link of a route, and the place of the stream among those on it.
#[derive(Clone, Copy, Debug)]
struct Hop {
    link: LinkId,
    place: u32,
}

/// What keeps a stream from flowing faster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Hindrance {
    /// It could not, even alone.
    #[default]
    Itself,
    /// A link that is full, on which nobody has more.
    Link(LinkId),
}

impl Link {
    /// Those on it want so much.
    fn demand(&mut self, demand: f64) {
        self.demand = demand;
        self.tight = demand > self.capacity * (1.0 + share::CLOSE);
    }
}

impl Fluid {
    pub fn new(routes: Routes) -> Fluid {
        let link = |bytes_per_s: f64| Link { capacity: bytes_per_s, demand: 0.0, tight: false, streams: Vec::new(), seen: 0, number: 0 };
        let links = routes.speeds().iter().map(|speed| link(speed.bytes_per_s)).collect();
        Fluid {
            routes,
            links,
            streams: Slots::default(),
            begins: Events::default(),
            ends: Events::default(),
            share: Share::default(),
            route: Vec::new(),
        }
    }

    fn join(&mut self, slot: u32, now: f64) {
        let stream = &mut self.streams[slot];
        (stream.since_s, stream.rate) = (now, 0.0);
        (stream.ends_s, stream.due_s) = (f64::INFINITY, f64::INFINITY);
        for hop in &mut stream.hops {
            let link = &mut self.links[hop.link as usize];
            hop.place = link.streams.len() as u32;
            link.streams.push(slot);
            link.demand(link.demand + stream.most);
        }
        self.share.came(slot);
    }

    fn leave(&mut self, slot: u32) {
        let hops = std::mem::take(&mut self.streams[slot].hops);
        for hop in &hops {
            let most = self.streams[slot].most;
            let link = &mut self.links[hop.link as usize];
            if link.tight {
                self.share.relieve(hop.link);
            }
            link.streams.swap_remove(hop.place as usize);
            // Sums that go up and down lose digits, so an empty link begins anew.
            link.demand(if link.streams.is_empty() { 0.0 } else { link.demand - most });
            if let Some(&moved) = link.streams.get(hop.place as usize) {
                let place = self.streams[moved].hops.iter_mut().find(|other| other.link == hop.link);
                place.into_iter().for_each(|other| other.place = hop.place);
            }
        }
        self.streams[slot].hops = hops;
        self.streams.free(slot);
    }

    /// Gives every stream the rate that was found, and the end that follows from it.
    fn apply(&mut self, now: f64) {
        for &slot in self.share.members() {
            let stream = &mut self.streams[slot];
            // What rounding alone has changed is left as it is, and its end with it.
            if (stream.next - stream.rate).abs() <= stream.rate * share::CLOSE * 1e-3 {
                continue;
            }
            stream.left = (stream.left - stream.rate * (now - stream.since_s)).max(0.0);
            (stream.since_s, stream.rate) = (now, stream.next);
            stream.ends_s = now + stream.left / stream.rate;
            // What is put off is often brought forward again before it would have come, so only the latter is told at once.
            if stream.ends_s < stream.due_s {
                stream.due_s = stream.ends_s;
                self.ends.set(slot, stream.ends_s);
            }
        }
    }

    /// Puts off what comes first as long as that has been put off.
    fn put_off(&mut self) {
        while let Some((at_s, slot)) = self.ends.first() {
            let stream = &mut self.streams[slot];
            if stream.ends_s <= at_s {
                break;
            }
            stream.due_s = stream.ends_s;
            self.ends.set(slot, stream.ends_s);
        }
    }
}

impl Network for Fluid {
    fn begin(&mut self, at_s: f64, flow: Flow, transfer: Transfer) {
        self.routes.find(transfer.from, transfer.to, &mut self.route);
        let slot = self.streams.take();
        let stream = &mut self.streams[slot];
        (stream.flow, stream.left) = (flow, transfer.bytes);
        (stream.most, stream.hindrance) = (1.0 / transfer.least_s_per_byte, Hindrance::Itself);
        stream.hops.clear();
        let mut latency_s = transfer.latency_s;
        for &link in &self.route {
            let speed = self.routes.speeds()[link as usize];
            latency_s += speed.latency_s;
            stream.most = stream.most.min(speed.bytes_per_s);
            stream.hops.push(Hop { link, place: 0 });
        }
        if transfer.bytes > 0.0 {
            self.begins.set(slot, at_s + latency_s);
        } else {
            stream.hops.clear();
            stream.ends_s = at_s + latency_s;
            self.ends.set(slot, stream.ends_s);
        }
    }

    fn next(&self) -> Option<f64> {
        match (self.begins.next(), self.ends.next()) {
            (Some(begins), Some(ends)) => Some(begins.min(ends)),
            (begins, ends) => begins.or(ends),
        }
    }

    fn advance(&mut self, arrived: &mut Vec<Flow>) {
        let Some(now) = self.next() else { return };
        while let Some(slot) = self.ends.pop_until(same_moment(now)) {
            arrived.push(self.streams[slot].flow);
            self.leave(slot);
            self.put_off();
        }
        while let Some(slot) = self.begins.pop_until(same_moment(now)) {
            self.join(slot, now);
        }
        self.share.find(&mut self.streams, &mut self.links);
        self.apply(now);
        self.put_off();
    }
}
