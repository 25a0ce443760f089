//! Network model without contention.

use super::event_heap::EventHeap;
use super::forwarding::ForwardingModel;
use super::slot_arena::SlotArena;
use super::topology::{LinkId, NetworkRoutes};
use super::{NetworkModel, NetworkTransfer, TransferId, latest_simultaneous};

/// Links with unlimited capacity.
#[derive(Debug)]
pub(super) struct UncontendedNetwork {
    routes: NetworkRoutes,
    forwarding: ForwardingModel,
    route: Vec<LinkId>,
    flows: SlotArena<TransferId>,
    arrivals: EventHeap,
}

impl UncontendedNetwork {
    pub(super) fn new(routes: NetworkRoutes, forwarding: ForwardingModel) -> UncontendedNetwork {
        UncontendedNetwork { routes, forwarding, route: Vec::new(), flows: SlotArena::default(), arrivals: EventHeap::default() }
    }

    /// Transfer time of a message.
    pub(super) fn transfer_time(&mut self, transfer: &NetworkTransfer) -> f64 {
        self.routes.find_route(transfer.from, transfer.to, &mut self.route);
        let message = self.forwarding.forwarded_message(transfer);
        let (mut begins_s, mut before) = (transfer.latency_s, None);
        for &link in &self.route {
            let passage = message.traverse(self.routes.speeds()[link as usize], begins_s, before);
            (begins_s, before) = (passage.next_link_s, Some(passage));
        }
        before.map_or_else(|| message.local_arrival(begins_s), |last| last.arrival_s)
    }
}

impl NetworkModel for UncontendedNetwork {
    fn begin(&mut self, at_s: f64, id: TransferId, transfer: NetworkTransfer) {
        let arrives = at_s + self.transfer_time(&transfer);
        let slot = self.flows.allocate();
        self.flows[slot] = id;
        self.arrivals.schedule(slot, arrives);
    }

    fn next_time(&self) -> Option<f64> {
        self.arrivals.next_time()
    }

    fn advance(&mut self, arrived: &mut Vec<TransferId>) {
        let Some(now) = self.next_time() else { return };
        while let Some(slot) = self.arrivals.pop_until(latest_simultaneous(now)) {
            arrived.push(self.flows[slot]);
            self.flows.free(slot);
        }
    }
}
