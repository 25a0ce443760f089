//! A network in which messages share links as water does: first their latency passes, then their bytes flow over all links of the route at once.
//!
//! The rates are the max-min fair ones: no message could get more without another one, that has no more than it, getting less. Everything of
//! one moment is done together, and only what it changes is computed again (`share`).

mod link;
mod share;
mod stream;
#[cfg(test)]
mod tests;

use super::events::Events;
use super::slots::Slots;
use super::topology::{LinkId, Routes};
use super::{Flow, Network, Transfer, same_moment};
use link::{Ends, Links};
use share::Share;
use stream::{Hop, Pace, Stream};

/// Messages under way, and the links they share.
#[derive(Debug)]
pub struct Fluid {
    routes: Routes,
    links: Links,
    streams: Slots<Stream>,
    /// By the place of its stream.
    paces: Vec<Pace>,
    /// When the latency of a stream has passed.
    begins: Events,
    /// When its last byte has flown.
    ends: Events,
    share: Share,
    /// By link: whether it is never in anybody's way.
    spared: Vec<bool>,
    route: Vec<LinkId>,
}

impl Fluid {
    pub fn new(routes: Routes) -> Fluid {
        let links = Links::new(routes.speeds().iter().map(|speed| speed.bytes_per_s));
        Fluid {
            spared: routes.spared(),
            routes,
            links,
            streams: Slots::default(),
            paces: Vec::new(),
            begins: Events::default(),
            ends: Events::default(),
            share: Share::default(),
            route: Vec::new(),
        }
    }

    fn join(&mut self, slot: u32, now: f64) {
        self.paces[slot as usize].since_s = now;
        let stream = &mut self.streams[slot];
        for hop in stream.hops.iter_mut() {
            hop.place = self.links.join(hop.link, slot, stream.ends, stream.most);
        }
        self.share.came(slot);
    }

    fn leave(&mut self, slot: u32) {
        for place in 0..self.streams[slot].hops.len() {
            let hop = self.streams[slot].hops[place];
            if self.links.is_tight(hop.link) {
                self.share.relieve(hop.link);
            }
            if let Some(moved) = self.links.leave(hop.link, hop.place, &self.streams) {
                let other = self.streams[moved].hops.iter_mut().find(|other| other.link == hop.link);
                other.into_iter().for_each(|other| other.place = hop.place);
            }
        }
        self.streams.free(slot);
    }

    /// Gives every stream the end that follows from the rate that was found.
    fn apply(&mut self, now: f64) {
        for &slot in self.share.members() {
            let pace = &mut self.paces[slot as usize];
            pace.dismiss();
            // What rounding alone has changed is left as it is, and its end with it.
            if (pace.rate - pace.before).abs() <= pace.before * share::CLOSE * 1e-3 {
                pace.rate = pace.before;
                continue;
            }
            pace.left = (pace.left - pace.before * (now - pace.since_s)).max(0.0);
            pace.since_s = now;
            pace.ends_s = now + pace.left / pace.rate;
            // What is put off is often brought forward again before it would have come, so only the latter is told at once.
            if pace.ends_s < pace.due_s {
                pace.due_s = pace.ends_s;
                self.ends.set(slot, pace.ends_s);
            }
        }
    }

    /// Puts off what comes first as long as that has been put off.
    fn put_off(&mut self) {
        while let Some((at_s, slot)) = self.ends.first() {
            let pace = &mut self.paces[slot as usize];
            if pace.ends_s <= at_s {
                break;
            }
            pace.due_s = pace.ends_s;
            self.ends.set(slot, pace.ends_s);
        }
    }
}

impl Network for Fluid {
    fn begin(&mut self, at_s: f64, flow: Flow, transfer: Transfer) {
        self.routes.find(transfer.from, transfer.to, &mut self.route);
        let slot = self.streams.take();
        if self.paces.len() <= slot as usize {
            self.paces.resize(slot as usize + 1, Pace::standing(0.0));
        }
        let pace = &mut self.paces[slot as usize];
        *pace = Pace::standing(transfer.bytes);
        let stream = &mut self.streams[slot];
        (stream.flow, stream.most) = (flow, 1.0 / transfer.least_s_per_byte);
        if let [first, ..] = self.route[..] {
            stream.ends = Ends { first, last: self.route[self.route.len() - 1] };
        }
        stream.hops.clear();
        let mut latency_s = transfer.latency_s;
        for &link in &self.route {
            let speed = self.routes.speeds()[link as usize];
            latency_s += speed.latency_s;
            stream.most = stream.most.min(speed.bytes_per_s);
            if !self.spared[link as usize] {
                stream.hops.push(Hop { link, place: 0 });
            }
        }
        if transfer.bytes > 0.0 {
            self.begins.set(slot, at_s + latency_s);
        } else {
            stream.hops.clear();
            pace.ends_s = at_s + latency_s;
            self.ends.set(slot, pace.ends_s);
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
        self.share.find(&self.streams, &mut self.paces, &mut self.links);
        self.apply(now);
        self.put_off();
    }
}
