//! Fluid network model: after its latency, a message flows over all links of its route at once.
//!
//! Rates are max-min fair: no message can get more without taking from one that has no more than it. All events of one time are processed
//! together, and only affected rates are recomputed (`max_min`).

mod link;
mod max_min;
mod stream;
#[cfg(test)]
mod tests;

use super::event_heap::EventHeap;
use super::slot_arena::SlotArena;
use super::topology::{LinkId, NetworkRoutes};
use super::{NetworkModel, NetworkTransfer, TransferId, latest_simultaneous};
use link::{FluidLinks, RATE_TOLERANCE};
use max_min::MaxMinSolver;
use stream::{FluidStream, RouteEnds, RouteHop, StreamRate};

/// Streams in flight and the links they share.
#[derive(Debug)]
pub(super) struct FluidNetwork {
    routes: NetworkRoutes,
    links: FluidLinks,
    streams: SlotArena<FluidStream>,
    /// By stream slot.
    rates: Vec<StreamRate>,
    /// When the latency of a stream has passed.
    begins: EventHeap,
    /// When a stream ends.
    ends: EventHeap,
    solver: MaxMinSolver,
    /// By link: whether it can never limit a rate.
    never_limiting: Vec<bool>,
    route: Vec<LinkId>,
}

impl FluidNetwork {
    pub(super) fn new(routes: NetworkRoutes) -> FluidNetwork {
        let links = FluidLinks::new(routes.speeds().iter().map(|speed| speed.bytes_per_s));
        FluidNetwork {
            never_limiting: routes.never_limiting(),
            routes,
            links,
            streams: SlotArena::default(),
            rates: Vec::new(),
            begins: EventHeap::default(),
            ends: EventHeap::default(),
            solver: MaxMinSolver::default(),
            route: Vec::new(),
        }
    }

    fn start_stream(&mut self, slot: u32, now: f64) {
        self.rates[slot as usize].since_s = now;
        let stream = &mut self.streams[slot];
        for hop in stream.hops.iter_mut() {
            hop.index = self.links.add_stream(hop.link, slot, stream.ends, stream.max_rate);
        }
        self.solver.add_started(slot);
    }

    fn end_stream(&mut self, slot: u32) {
        for index in 0..self.streams[slot].hops.len() {
            let hop = self.streams[slot].hops[index];
            if self.links.is_tight(hop.link) {
                self.solver.relieve(hop.link);
            }
            if let Some(moved) = self.links.remove_stream(hop.link, hop.index, &self.streams) {
                let other = self.streams[moved].hops.iter_mut().find(|other| other.link == hop.link);
                other.into_iter().for_each(|other| other.index = hop.index);
            }
        }
        self.streams.free(slot);
    }

    /// Updates the end of every stream whose rate changed.
    fn apply_rates(&mut self, now: f64) {
        for &slot in self.solver.members() {
            let stream_rate = &mut self.rates[slot as usize];
            stream_rate.end_membership();
            // Ignores changes by rounding errors.
            if (stream_rate.rate - stream_rate.previous_rate).abs() <= stream_rate.previous_rate * RATE_TOLERANCE * 1e-3 {
                stream_rate.rate = stream_rate.previous_rate;
                continue;
            }
            stream_rate.remaining_bytes = (stream_rate.remaining_bytes - stream_rate.previous_rate * (now - stream_rate.since_s)).max(0.0);
            stream_rate.since_s = now;
            stream_rate.end_s = now + stream_rate.remaining_bytes / stream_rate.rate;
            // Delayed ends are often moved forward again, so only earlier ends are rescheduled at once.
            if stream_rate.end_s < stream_rate.scheduled_end_s {
                stream_rate.scheduled_end_s = stream_rate.end_s;
                self.ends.schedule(slot, stream_rate.end_s);
            }
        }
    }

    /// Reschedules the first end while it is delayed.
    fn reschedule_delayed(&mut self) {
        while let Some((at_s, slot)) = self.ends.peek() {
            let stream_rate = &mut self.rates[slot as usize];
            if stream_rate.end_s <= at_s {
                break;
            }
            stream_rate.scheduled_end_s = stream_rate.end_s;
            self.ends.schedule(slot, stream_rate.end_s);
        }
    }
}

impl NetworkModel for FluidNetwork {
    fn begin(&mut self, at_s: f64, id: TransferId, transfer: NetworkTransfer) {
        self.routes.find_route(transfer.from, transfer.to, &mut self.route);
        let slot = self.streams.allocate();
        if self.rates.len() <= slot as usize {
            self.rates.resize(slot as usize + 1, StreamRate::new(0.0));
        }
        let stream_rate = &mut self.rates[slot as usize];
        *stream_rate = StreamRate::new(transfer.bytes);
        let stream = &mut self.streams[slot];
        (stream.transfer, stream.max_rate) = (id, 1.0 / transfer.min_s_per_byte);
        if let [first, ..] = self.route[..] {
            stream.ends = RouteEnds { first, last: self.route[self.route.len() - 1] };
        }
        stream.hops.clear();
        let mut latency_s = transfer.latency_s;
        for &link in &self.route {
            let speed = self.routes.speeds()[link as usize];
            latency_s += speed.latency_s;
            stream.max_rate = stream.max_rate.min(speed.bytes_per_s);
            if !self.never_limiting[link as usize] {
                stream.hops.push(RouteHop { link, index: 0 });
            }
        }
        if transfer.bytes > 0.0 {
            self.begins.schedule(slot, at_s + latency_s);
        } else {
            stream.hops.clear();
            stream_rate.end_s = at_s + latency_s;
            self.ends.schedule(slot, stream_rate.end_s);
        }
    }

    fn next_time(&self) -> Option<f64> {
        match (self.begins.next_time(), self.ends.next_time()) {
            (Some(begins), Some(ends)) => Some(begins.min(ends)),
            (begins, ends) => begins.or(ends),
        }
    }

    fn advance(&mut self, arrived: &mut Vec<TransferId>) {
        let Some(now) = self.next_time() else { return };
        while let Some(slot) = self.ends.pop_until(latest_simultaneous(now)) {
            arrived.push(self.streams[slot].transfer);
            self.end_stream(slot);
            self.reschedule_delayed();
        }
        while let Some(slot) = self.begins.pop_until(latest_simultaneous(now)) {
            self.start_stream(slot, now);
        }
        self.solver.solve(&self.streams, &mut self.rates, &mut self.links);
        self.apply_rates(now);
        self.reschedule_delayed();
    }
}
