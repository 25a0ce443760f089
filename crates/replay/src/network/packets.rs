//! A network that forwards packets, in which a link carries one message at a time, and others wait their turn.
//!
//! With store and forward and virtual cut-through a message asks for a link when its head gets there, and nodes have room for what waits: links
//! are held one after another. With wormhole routing there is no room, so a message leaves when its head will find every link of its way free,
//! and holds each of them until its tail has passed: first come, first served. (A head that would stop on the way and block the links behind it
//! could wait in a circle for itself; real networks have virtual channels against that.)

use sintonia_machine::topology::FlowControl;

use super::events::Events;
use super::slots::Slots;
use super::topology::{LinkId, Routes, Speed};
use super::train::{Passage, Train, Trains};
use super::{Figures, Flow, Network, Transfer, same_moment};

/// Links that carry one message at a time.
#[derive(Debug)]
pub struct Packets {
    routes: Routes,
    trains: Trains,
    keeps_the_way: bool,
    /// By link: when the message on it has left it.
    free_s: Vec<f64>,
    messages: Slots<Message>,
    events: Events,
}

#[derive(Debug, Default)]
struct Message {
    flow: Flow,
    train: Train,
    route: Vec<LinkId>,
    /// How many links it has been given.
    given: usize,
    /// When it is on the last of them.
    last: Option<Passage>,
    stage: Stage,
}

/// What happens to a message next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// It needs links.
    #[default]
    Goes,
    /// It arrives.
    Arrives,
}

impl Packets {
    pub fn new(routes: Routes, control: &FlowControl, bound: Figures) -> Packets {
        Packets {
            free_s: vec![0.0; routes.speeds().len()],
            trains: Trains::new(Some(control), bound),
            keeps_the_way: Trains::keep_the_way(control),
            routes,
            messages: Slots::default(),
            events: Events::default(),
        }
    }

    /// The head is at the next link, or at the end of its way.
    fn go_on(&mut self, slot: u32, now: f64) {
        if self.keeps_the_way {
            self.give_the_way(slot, now);
        }
        let message = &mut self.messages[slot];
        let mut head_s = now;
        if message.given < message.route.len() {
            head_s = message.give_next(&mut self.free_s, self.routes.speeds(), now);
        }
        if message.given == message.route.len() {
            message.stage = Stage::Arrives;
            head_s = message.last.map_or_else(|| message.train.stay(now), |last| last.there_s);
        }
        self.events.set(slot, head_s);
    }

    /// Gives it the whole way, as soon as the head finds each link free when it gets there.
    fn give_the_way(&mut self, slot: u32, now: f64) {
        let message = &mut self.messages[slot];
        let speeds = self.routes.speeds();
        let (mut begins_s, mut head_s) = (now, 0.0);
        for &link in &message.route {
            begins_s = begins_s.max(self.free_s[link as usize] - head_s);
            head_s = message.train.pass(speeds[link as usize], head_s, None).next_s;
        }
        while message.given < message.route.len() {
            begins_s = message.give_next(&mut self.free_s, speeds, begins_s);
        }
    }
}

impl Message {
    /// Gives it the next link; says when it is at the one after.
    fn give_next(&mut self, free_s: &mut [f64], speeds: &[Speed], at_s: f64) -> f64 {
        let link = self.route[self.given] as usize;
        let passage = self.train.pass(speeds[link], at_s.max(free_s[link]), self.last);
        free_s[link] = passage.frees_s;
        self.given += 1;
        self.last = Some(passage);
        passage.next_s
    }
}

impl Network for Packets {
    fn begin(&mut self, at_s: f64, flow: Flow, transfer: Transfer) {
        let slot = self.messages.take();
        let message = &mut self.messages[slot];
        self.routes.find(transfer.from, transfer.to, &mut message.route);
        (message.flow, message.train) = (flow, self.trains.train(&transfer));
        (message.given, message.last, message.stage) = (0, None, Stage::Goes);
        self.events.set(slot, at_s + transfer.latency_s);
    }

    fn next(&self) -> Option<f64> {
        self.events.next()
    }

    fn advance(&mut self, arrived: &mut Vec<Flow>) {
        let Some(now) = self.next() else { return };
        while let Some(slot) = self.events.pop_until(same_moment(now)) {
            if self.messages[slot].stage == Stage::Arrives {
                arrived.push(self.messages[slot].flow);
                self.messages.free(slot);
            } else {
                self.go_on(slot, now);
            }
        }
    }
}
