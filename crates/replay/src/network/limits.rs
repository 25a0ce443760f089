//! How many messages there may be at once, as Dimemas knows it: a message needs a bus, a way out of its node and a way into the other, and
//! keeps them until it has arrived. Who came first is served first; what waits for something else is no obstacle.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sintonia_machine::topology::Limits;

use super::events::Events;
use super::slots::Slots;
use super::{Flow, Network, Transfer, same_moment};

/// A network to which only so many messages are let.
pub struct Limited {
    network: Box<dyn Network>,
    nodes: u32,
    /// The buses, then the ways out of each node, then the ways in.
    resources: Vec<Resource>,
    messages: Slots<(Flow, Transfer)>,
    /// What leaves when the ends are through with it.
    leaving: Events,
    /// How many have left.
    count: u64,
    inside: Vec<Flow>,
}

/// Something of which there is a number.
#[derive(Clone, Debug, Default)]
struct Resource {
    free: u64,
    /// Who waits for it, by when it left.
    waiting: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Limited {
    pub fn new(network: Box<dyn Network>, limits: Limits, nodes: u32) -> Limited {
        let resource = |most: u64| Resource { free: if most == 0 { u64::MAX } else { most }, waiting: BinaryHeap::new() };
        let each = |most: u64| std::iter::repeat_n(resource(most), nodes as usize);
        let resources = [resource(limits.buses)].into_iter().chain(each(limits.links_out)).chain(each(limits.links_in)).collect();
        let (messages, leaving) = (Slots::default(), Events::default());
        Limited { network, nodes, resources, messages, leaving, count: 0, inside: Vec::new() }
    }

    /// What a message between two nodes needs; nothing within one.
    fn needs(&self, slot: u32) -> impl Iterator<Item = usize> + use<> {
        let Transfer { from, to, .. } = self.messages[slot].1;
        let needed = [0, 1 + from as usize, 1 + self.nodes as usize + to as usize];
        needed.into_iter().filter(move |_| from != to)
    }

    /// Lets it go if there is all that it needs; else it waits for the first that there is none of.
    fn ask(&mut self, now: f64, order: u64, slot: u32) {
        let lacking = self.needs(slot).find(|need| self.resources[*need].free == 0);
        if let Some(lacking) = lacking {
            return self.resources[lacking].waiting.push(Reverse((order, slot)));
        }
        self.needs(slot).for_each(|need| self.resources[need].free -= 1);
        let (_, transfer) = self.messages[slot];
        self.network.begin(now, slot, Transfer { latency_s: 0.0, ..transfer });
    }

    /// Gives back what it had, to those who wait for it.
    fn release(&mut self, now: f64, slot: u32) {
        self.needs(slot).for_each(|need| self.resources[need].free += 1);
        for need in self.needs(slot) {
            while self.resources[need].free > 0 {
                let Some(Reverse((order, next))) = self.resources[need].waiting.pop() else { break };
                self.ask(now, order, next);
            }
        }
    }
}

impl Network for Limited {
    fn begin(&mut self, at_s: f64, flow: Flow, transfer: Transfer) {
        let slot = self.messages.take();
        self.messages[slot] = (flow, transfer);
        self.leaving.set(slot, at_s + transfer.latency_s);
    }

    fn next(&self) -> Option<f64> {
        match (self.leaving.next(), self.network.next()) {
            (Some(own), Some(inside)) => Some(own.min(inside)),
            (own, inside) => own.or(inside),
        }
    }

    fn advance(&mut self, arrived: &mut Vec<Flow>) {
        let Some(mut now) = self.next() else { return };
        if let Some(at_s) = self.network.next().filter(|at_s| *at_s <= same_moment(now)) {
            now = now.max(at_s);
            let mut inside = std::mem::take(&mut self.inside);
            self.network.advance(&mut inside);
            for slot in inside.drain(..) {
                arrived.push(self.messages[slot].0);
                self.release(now, slot);
                self.messages.free(slot);
            }
            self.inside = inside;
        }
        while let Some(slot) = self.leaving.pop_until(same_moment(now)) {
            self.count += 1;
            self.ask(now, self.count, slot);
        }
    }
}
