//! The hosts of a run as a tree: asked all at once, heard all together.
//!
//! Every node of the tree is the same: the station of its own host, and the hosts that came to its door. What these tell is passed on in
//! batches, less than a millisecond old; what tunlets allow to be joined is joined on the way, so that the root hears of a while once and
//! not once for each host. A node that has as many hosts as it may have sends more of them to those it has.

mod child;
mod clock;
mod door;
mod standing;
mod up;

use std::time::{Duration, Instant};

use crate::collector::Collector;
use crate::point::Join;
use crate::station::{Gather, Station, now_ns};
use crate::talk::{Ask, Told};

use child::Child;
pub use door::Door;
use standing::Standing;
pub use up::{Up, UpError};

/// What comes from hosts below may be this much older than what happens here.
const GRACE_S: f64 = 10e-3;
/// Clocks of hosts are compared again so often.
const COMPARE_EVERY: Duration = Duration::from_secs(2);

/// A host and those below it.
pub struct Tree {
    here: Station,
    door: Option<Door>,
    children: Vec<Child>,
    standing: Standing,
    /// What hosts below have joined, of whiles that are not over yet.
    gather: Gather,
    /// When the tuning began, in nanoseconds of this host's clock.
    begin: f64,
    compared: Instant,
    /// What was told in answer to a question at once.
    answers: Vec<Told>,
}

impl Tree {
    /// The processes that come to a collector of this host, and the hosts that come to a door; `begin` is when the tuning began, in
    /// nanoseconds of this host's clock.
    pub fn new(collector: Collector, door: Option<Door>, begin: f64) -> Tree {
        Tree {
            here: Station::new(collector, begin),
            door,
            children: Vec::new(),
            standing: Standing::default(),
            gather: Gather::default(),
            begin,
            compared: Instant::now(),
            answers: Vec::new(),
        }
    }

    /// Seconds since the beginning of the tuning.
    pub fn now(&self) -> f64 {
        (now_ns() - self.begin) / 1e9
    }

    /// Sets when the tuning began, in nanoseconds of this host's clock: known better as time goes by.
    pub fn set_begin(&mut self, begin: f64) {
        self.begin = begin;
        self.here.set_begin(begin);
    }

    /// Whether all processes have gone that had come, here and below.
    pub fn is_deserted(&self) -> bool {
        self.here.is_deserted() && self.children.is_empty()
    }

    /// Whether no process is left, here and below.
    pub fn is_empty(&self) -> bool {
        self.here.is_empty() && self.children.is_empty()
    }

    /// What the hosts have told since the last time, when nothing more is waited for: of whiles that are not over as well.
    pub fn hear_last(&mut self) -> Vec<Told> {
        let mut told = self.hear();
        told.extend(self.gather.take(f64::INFINITY).into_iter().map(|(tunlet, joined)| Told::Joined { tunlet, joined }));
        told
    }

    /// Asks all hosts.
    pub fn ask(&mut self, ask: Ask) {
        self.standing.note(&ask);
        self.children.iter_mut().for_each(|child| child.ask(&ask));
        let told = self.here.ask(ask);
        self.answers.extend(told);
    }

    /// What the hosts have told since the last time.
    pub fn hear(&mut self) -> Vec<Told> {
        let mut told = std::mem::take(&mut self.answers);
        told.extend(self.here.hear());
        self.welcome(&mut told);
        self.hear_children(&mut told);
        if self.compared.elapsed() > COMPARE_EVERY {
            self.compared = Instant::now();
            self.children.iter_mut().for_each(Child::compare_clocks);
        }
        told
    }

    fn welcome(&mut self, told: &mut Vec<Told>) {
        let Some(door) = &self.door else { return };
        for arrival in door.arrivals() {
            match arrival {
                door::Arrival::Host(mut child) => {
                    told.push(Told::Host(child.host().to_owned()));
                    // The first thing it is told is when the tuning began.
                    told.extend(child.hear(self.begin));
                    self.standing.asks().iter().for_each(|ask| child.ask(ask));
                    self.children.push(*child);
                }
                door::Arrival::Stranger(what) => told.push(Told::Problem(what)),
            }
        }
    }

    fn hear_children(&mut self, told: &mut Vec<Told>) {
        if self.children.is_empty() && self.gather.is_empty() {
            return;
        }
        let mut heard = Vec::new();
        for child in &mut self.children {
            heard.extend(child.hear(self.begin));
        }
        self.children.retain(|child| {
            if !child.is_there() {
                told.extend(child.farewell());
            }
            child.is_there()
        });
        // What this host has joined itself is joined with what those below have.
        let (joined, others): (Vec<Told>, Vec<Told>) =
            std::mem::take(told).into_iter().chain(heard).partition(|one| matches!(one, Told::Joined { .. }));
        for one in joined {
            let Told::Joined { tunlet, joined } = one else { continue };
            if let Some(Join::Over(length)) = self.standing.join_of(tunlet, joined.point) {
                self.gather.join(tunlet, length, &joined);
            }
        }
        let over = self.gather.take_after(self.now(), GRACE_S);
        told.extend(others);
        told.extend(over.into_iter().map(|(tunlet, joined)| Told::Joined { tunlet, joined }));
    }
}
