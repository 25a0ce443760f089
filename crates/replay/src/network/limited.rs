//! Concurrency limits as in Dimemas: a message holds a bus, an output port and an input port until it arrives. First come, first served; a
//! message waiting for one resource does not block others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sintonia_machine::topology::ConcurrencyLimits;

use super::event_heap::EventHeap;
use super::slot_arena::SlotArena;
use super::{NetworkModel, NetworkTransfer, TransferId, latest_simultaneous};

/// A network with a limited number of concurrent messages.
pub(super) struct LimitedNetwork {
    inner: Box<dyn NetworkModel>,
    nodes: u32,
    /// Buses, then output ports, then input ports of each node.
    resources: Vec<CountedResource>,
    messages: SlotArena<(TransferId, NetworkTransfer)>,
    /// Messages before their latency has passed.
    leaving: EventHeap,
    /// Number of messages that have left.
    n_departed: u64,
    scratch: Vec<TransferId>,
}

/// A counted resource.
#[derive(Clone, Debug, Default)]
struct CountedResource {
    free: u64,
    /// Waiting messages in order of departure.
    waiting: BinaryHeap<Reverse<(u64, u32)>>,
}

impl LimitedNetwork {
    pub(super) fn new(inner: Box<dyn NetworkModel>, limits: ConcurrencyLimits, nodes: u32) -> LimitedNetwork {
        let resource = |limit: u64| CountedResource { free: if limit == 0 { u64::MAX } else { limit }, waiting: BinaryHeap::new() };
        let each = |limit: u64| std::iter::repeat_n(resource(limit), nodes as usize);
        let resources = [resource(limits.buses)].into_iter().chain(each(limits.links_out)).chain(each(limits.links_in)).collect();
        let (messages, leaving) = (SlotArena::default(), EventHeap::default());
        LimitedNetwork { inner, nodes, resources, messages, leaving, n_departed: 0, scratch: Vec::new() }
    }

    /// Resources of a message between nodes; none within a node.
    fn required_resources(&self, slot: u32) -> impl Iterator<Item = usize> + use<> {
        let NetworkTransfer { from, to, .. } = self.messages[slot].1;
        let needed = [0, 1 + from as usize, 1 + self.nodes as usize + to as usize];
        needed.into_iter().filter(move |_| from != to)
    }

    /// Starts a message if all resources are free; otherwise it waits for the first missing one.
    fn acquire_or_wait(&mut self, now: f64, order: u64, slot: u32) {
        let lacking = self.required_resources(slot).find(|need| self.resources[*need].free == 0);
        if let Some(lacking) = lacking {
            return self.resources[lacking].waiting.push(Reverse((order, slot)));
        }
        self.required_resources(slot).for_each(|need| self.resources[need].free -= 1);
        let (_, transfer) = self.messages[slot];
        self.inner.begin(now, slot, NetworkTransfer { latency_s: 0.0, ..transfer });
    }

    /// Releases the resources and starts waiting messages.
    fn release(&mut self, now: f64, slot: u32) {
        self.required_resources(slot).for_each(|need| self.resources[need].free += 1);
        for need in self.required_resources(slot) {
            while self.resources[need].free > 0 {
                let Some(Reverse((order, next))) = self.resources[need].waiting.pop() else { break };
                self.acquire_or_wait(now, order, next);
            }
        }
    }
}

impl NetworkModel for LimitedNetwork {
    fn begin(&mut self, at_s: f64, id: TransferId, transfer: NetworkTransfer) {
        let slot = self.messages.allocate();
        self.messages[slot] = (id, transfer);
        self.leaving.schedule(slot, at_s + transfer.latency_s);
    }

    fn next_time(&self) -> Option<f64> {
        match (self.leaving.next_time(), self.inner.next_time()) {
            (Some(own), Some(inside)) => Some(own.min(inside)),
            (own, inside) => own.or(inside),
        }
    }

    fn advance(&mut self, arrived: &mut Vec<TransferId>) {
        let Some(mut now) = self.next_time() else { return };
        if let Some(at_s) = self.inner.next_time().filter(|at_s| *at_s <= latest_simultaneous(now)) {
            now = now.max(at_s);
            let mut inside = std::mem::take(&mut self.scratch);
            self.inner.advance(&mut inside);
            for slot in inside.drain(..) {
                arrived.push(self.messages[slot].0);
                self.release(now, slot);
                self.messages.free(slot);
            }
            self.scratch = inside;
        }
        while let Some(slot) = self.leaving.pop_until(latest_simultaneous(now)) {
            self.n_departed += 1;
            self.acquire_or_wait(now, self.n_departed, slot);
        }
    }
}
