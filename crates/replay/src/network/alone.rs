//! A network in which nobody is in anybody's way: each message takes what it takes alone.

use super::events::Events;
use super::slots::Slots;
use super::topology::{LinkId, Routes};
use super::train::Trains;
use super::{Flow, Network, Transfer, same_moment};

/// Links that are wide enough for all.
#[derive(Debug)]
pub struct Alone {
    routes: Routes,
    trains: Trains,
    route: Vec<LinkId>,
    flows: Slots<Flow>,
    arrivals: Events,
}

impl Alone {
    pub(super) fn new(routes: Routes, trains: Trains) -> Alone {
        Alone { routes, trains, route: Vec::new(), flows: Slots::default(), arrivals: Events::default() }
    }

    /// What a message takes from leaving until all of it is there.
    pub fn seconds(&mut self, transfer: &Transfer) -> f64 {
        self.routes.find(transfer.from, transfer.to, &mut self.route);
        let train = self.trains.train(transfer);
        let (mut begins_s, mut before) = (transfer.latency_s, None);
        for &link in &self.route {
            let passage = train.pass(self.routes.speeds()[link as usize], begins_s, before);
            (begins_s, before) = (passage.next_s, Some(passage));
        }
        before.map_or_else(|| train.stay(begins_s), |last| last.there_s)
    }
}

impl Network for Alone {
    fn begin(&mut self, at_s: f64, flow: Flow, transfer: Transfer) {
        let arrives = at_s + self.seconds(&transfer);
        let slot = self.flows.take();
        self.flows[slot] = flow;
        self.arrivals.set(slot, arrives);
    }

    fn next(&self) -> Option<f64> {
        self.arrivals.next()
    }

    fn advance(&mut self, arrived: &mut Vec<Flow>) {
        let Some(now) = self.next() else { return };
        while let Some(slot) = self.arrivals.pop_until(same_moment(now)) {
            arrived.push(self.flows[slot]);
            self.flows.free(slot);
        }
    }
}
