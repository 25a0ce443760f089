//! Packet network: a link carries one message at a time, others queue.
//!
//! With store-and-forward and virtual cut-through, a message requests a link when its head arrives, and nodes buffer it: links are held one
//! after another. With wormhole routing there are no buffers, so a message departs when its head will find every link free, and holds each
//! until its tail has passed: first come, first served. (A head that blocks links while it waits could deadlock; real networks avoid this
//! with virtual channels.)

use sintonia_machine::topology::FlowControl;

use super::event_heap::EventHeap;
use super::forwarding::{ForwardedMessage, ForwardingModel, LinkPassage};
use super::slot_arena::SlotArena;
use super::topology::{LinkId, LinkSpeed, NetworkRoutes};
use super::{FigureSelection, NetworkModel, NetworkTransfer, TransferId, latest_simultaneous};

/// Links that carry one message at a time.
#[derive(Debug)]
pub(super) struct PacketNetwork {
    routes: NetworkRoutes,
    forwarding: ForwardingModel,
    holds_route: bool,
    /// When each link is free.
    link_free_s: Vec<f64>,
    messages: SlotArena<PacketMessage>,
    events: EventHeap,
}

#[derive(Debug, Default)]
struct PacketMessage {
    transfer: TransferId,
    forwarded: ForwardedMessage,
    route: Vec<LinkId>,
    /// Number of links reserved.
    n_reserved: usize,
    /// Passage of the last reserved link.
    last_passage: Option<LinkPassage>,
    stage: MessageStage,
}

/// Next event of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MessageStage {
    /// Reserve more links.
    #[default]
    Forwarding,
    /// It arrives.
    Arriving,
}

impl PacketNetwork {
    pub(super) fn new(routes: NetworkRoutes, control: &FlowControl, bound: FigureSelection) -> PacketNetwork {
        PacketNetwork {
            link_free_s: vec![0.0; routes.speeds().len()],
            forwarding: ForwardingModel::new(Some(control), bound),
            holds_route: ForwardingModel::holds_route(control),
            routes,
            messages: SlotArena::default(),
            events: EventHeap::default(),
        }
    }

    /// The head has reached the next link or its destination.
    fn advance_message(&mut self, slot: u32, now: f64) {
        if self.holds_route {
            self.reserve_route(slot, now);
        }
        let message = &mut self.messages[slot];
        let mut head_s = now;
        if message.n_reserved < message.route.len() {
            head_s = message.reserve_next_link(&mut self.link_free_s, self.routes.speeds(), now);
        }
        if message.n_reserved == message.route.len() {
            message.stage = MessageStage::Arriving;
            head_s = message.last_passage.map_or_else(|| message.forwarded.local_arrival(now), |last| last.arrival_s);
        }
        self.events.schedule(slot, head_s);
    }

    /// Reserves the whole route from the time at which the head finds each link free.
    fn reserve_route(&mut self, slot: u32, now: f64) {
        let message = &mut self.messages[slot];
        let speeds = self.routes.speeds();
        let (mut begins_s, mut head_s) = (now, 0.0);
        for &link in &message.route {
            begins_s = begins_s.max(self.link_free_s[link as usize] - head_s);
            head_s = message.forwarded.traverse(speeds[link as usize], head_s, None).next_link_s;
        }
        while message.n_reserved < message.route.len() {
            begins_s = message.reserve_next_link(&mut self.link_free_s, speeds, begins_s);
        }
    }
}

impl PacketMessage {
    /// Reserves the next link; returns when the head reaches the one after.
    fn reserve_next_link(&mut self, free_s: &mut [f64], speeds: &[LinkSpeed], at_s: f64) -> f64 {
        let link = self.route[self.n_reserved] as usize;
        let passage = self.forwarded.traverse(speeds[link], at_s.max(free_s[link]), self.last_passage);
        free_s[link] = passage.link_free_s;
        self.n_reserved += 1;
        self.last_passage = Some(passage);
        passage.next_link_s
    }
}

impl NetworkModel for PacketNetwork {
    fn begin(&mut self, at_s: f64, id: TransferId, transfer: NetworkTransfer) {
        let slot = self.messages.allocate();
        let message = &mut self.messages[slot];
        self.routes.find_route(transfer.from, transfer.to, &mut message.route);
        (message.transfer, message.forwarded) = (id, self.forwarding.forwarded_message(&transfer));
        (message.n_reserved, message.last_passage, message.stage) = (0, None, MessageStage::Forwarding);
        self.events.schedule(slot, at_s + transfer.latency_s);
    }

    fn next_time(&self) -> Option<f64> {
        self.events.next_time()
    }

    fn advance(&mut self, arrived: &mut Vec<TransferId>) {
        let Some(now) = self.next_time() else { return };
        while let Some(slot) = self.events.pop_until(latest_simultaneous(now)) {
            if self.messages[slot].stage == MessageStage::Arriving {
                arrived.push(self.messages[slot].transfer);
                self.messages.free(slot);
            } else {
                self.advance_message(slot, now);
            }
        }
    }
}
