//! A thread of a rank as the replay goes along it.

use std::collections::HashMap;
use std::rc::Rc;

use super::code::{Code, Own};
use super::letters::{LetterId, NONE};
use super::meetings::SeatId;
use super::rare::Rare;
use crate::schedule::{Action, LineId, Request, Row, Stretches};

/// What a call does, with everything looked up that is the same each time; `own` is a place in [`Line::own`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// It takes as long as it took.
    Local,
    /// It takes no time.
    Poll,
    /// MPI starts.
    Init,
    /// MPI ends.
    Finalize,
    /// A blocking send, or one that makes a request.
    Send { own: u32, request: bool },
    /// A blocking receive, or one that makes a request. Without a channel it has to be asked what it got.
    Receive { own: u32, request: bool, anyone: bool },
    /// A blocking send and receive at the same time; both are places in [`Line::own`].
    SendReceive { out: u32, inward: u32 },
    /// Waits for a message.
    Probe { own: u32 },
    /// Waits for requests, by place in the list.
    Complete { first: u32, count: u32 },
    /// Starts persistent requests.
    Start { first: u32, count: u32 },
    /// Gives requests up.
    Forget { first: u32, count: u32 },
    /// Describes a persistent request, by place among the actions.
    Define { action: u32 },
    /// Makes a request of nothing: its message is for nobody.
    Nothing,
    /// Takes part in an operation of a group.
    Join { own: u32, join: u32 },
    /// Anything else, by place among the actions.
    Other { action: u32 },
}

/// A call as a line keeps it: small, since thousands of lines are gone along side by side.
#[derive(Clone, Copy, Debug)]
pub struct Beat {
    /// Nanoseconds of computation before it; less than none if the line only waited.
    before_ns: f32,
    /// Nanoseconds that it took.
    took_ns: f32,
    /// What it did, by place in its code.
    pub action: u32,
}

impl Beat {
    /// Seconds of computation before it.
    #[inline]
    pub fn computed(&self) -> f64 {
        f64::from(self.before_ns.max(0.0)) * 1e-9
    }

    /// Seconds since the call before, computation or not.
    #[inline]
    pub fn before(&self) -> f64 {
        f64::from(self.before_ns.abs()) * 1e-9
    }

    /// Whether the line has only waited since the call before.
    #[inline]
    pub fn only_waited(&self) -> bool {
        self.before_ns < 0.0
    }

    /// Seconds that it took.
    #[inline]
    pub fn took(&self) -> f64 {
        f64::from(self.took_ns) * 1e-9
    }

    /// Changes the computation before this call with that before another.
    pub fn swap_computation(&mut self, other: &mut Beat) {
        std::mem::swap(&mut self.before_ns, &mut other.before_ns);
    }
}

impl From<&Row> for Beat {
    #[inline]
    fn from(row: &Row) -> Beat {
        let idle = row.computed_ns == 0 && row.idle_ns > 0;
        let before_ns = if idle { -(row.idle_ns as f32) } else { row.computed_ns as f32 };
        Beat { before_ns, took_ns: row.took_ns as f32, action: row.action }
    }
}

/// A request that a call names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Listed {
    /// Which one.
    pub request: Request,
    /// Whether it received something, if it is a receive; else it was given up.
    pub received: bool,
}

/// What is known of an op besides what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct About {
    /// Where its times are added up.
    pub tally: u32,
    /// The call site.
    pub site: u32,
    /// How the computation before it is changed: a place in the changes, or [`NONE`].
    pub segment: u32,
}

/// What a request stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slot {
    /// Nothing, or nothing any more.
    Empty,
    /// A send that is over at this moment.
    Sent { until: f64 },
    /// A send that leaves when it is received.
    Leaving(LetterId),
    /// A receive.
    Coming(LetterId),
    /// A send and a receive under one request.
    Both(LetterId, LetterId),
    /// An operation of a group.
    Errand(u32),
    /// An access to a window that is over at this moment.
    Accessed { until: f64 },
}

/// Requests of a line by number.
#[derive(Default)]
pub struct Requests {
    slots: std::collections::VecDeque<Slot>,
    /// The number of the first of them.
    base: u64,
    lasting: Rare<Lasting>,
}

/// Requests that do not come and go with each round.
#[derive(Default)]
struct Lasting {
    /// Persistent ones that were started, and others that stayed open for very long.
    kept: HashMap<u64, Slot>,
    /// What persistent requests do when they are started, by their number.
    defined: HashMap<u64, Defined>,
}

/// What a persistent request does each time it is started.
#[derive(Clone, Debug)]
pub struct Defined {
    /// It.
    pub action: Action,
    /// The seat, for an operation of a group.
    pub seat: SeatId,
    /// Whether it was started and has not completed.
    pub active: bool,
}

/// More open requests than this are kept elsewhere: they are hardly waited for any more.
const MOST_OPEN: usize = 1 << 16;

impl Requests {
    /// The number of the next request.
    pub fn next(&self) -> u64 {
        self.base + self.slots.len() as u64
    }

    /// Lets the next request have this number.
    pub fn set_next(&mut self, number: u64) {
        if number == self.next() {
            return;
        }
        for (slot, number) in self.slots.drain(..).zip(self.base..).filter(|(slot, _)| *slot != Slot::Empty) {
            self.lasting.make().kept.insert(number, slot);
        }
        self.base = number;
    }

    /// Makes the next request.
    #[inline]
    pub fn make(&mut self, slot: Slot) -> u64 {
        let number = self.next();
        if self.slots.is_empty() && slot == Slot::Empty {
            self.base += 1;
            return number;
        }
        self.slots.push_back(slot);
        if self.slots.len() > MOST_OPEN {
            let slot = self.slots.pop_front().unwrap_or(Slot::Empty);
            if !matches!(slot, Slot::Empty | Slot::Sent { .. }) {
                self.lasting.make().kept.insert(self.base, slot);
            }
            self.base += 1;
        }
        number
    }

    /// What a request stands for.
    #[inline]
    pub fn get(&self, number: u64) -> Slot {
        match number.checked_sub(self.base).and_then(|place| self.slots.get(place as usize)) {
            Some(Slot::Empty) | None => self.lasting.get().and_then(|lasting| lasting.kept.get(&number)).copied().unwrap_or(Slot::Empty),
            Some(slot) => *slot,
        }
    }

    /// A request is complete.
    #[inline]
    pub fn clear(&mut self, number: u64) {
        match number.checked_sub(self.base).and_then(|place| self.slots.get_mut(place as usize)) {
            Some(slot) if *slot != Slot::Empty => {
                *slot = Slot::Empty;
                while self.slots.front() == Some(&Slot::Empty) {
                    self.slots.pop_front();
                    self.base += 1;
                }
            }
            _ => _ = self.lasting.get_mut().and_then(|lasting| lasting.kept.remove(&number)),
        }
        if let Some(defined) = self.lasting.get_mut().and_then(|lasting| lasting.defined.get_mut(&number)) {
            defined.active = false;
        }
    }

    /// Makes the next request, a persistent one.
    pub fn define(&mut self, action: Action, seat: SeatId) {
        let number = self.make(Slot::Empty);
        self.lasting.make().defined.insert(number, Defined { action, seat, active: false });
    }

    /// What a persistent request does.
    pub fn defined(&self, number: u64) -> Option<&Defined> {
        self.lasting.get()?.defined.get(&number)
    }

    /// A persistent request is started.
    pub fn start(&mut self, number: u64, slot: Slot) {
        let lasting = self.lasting.make();
        lasting.kept.insert(number, slot);
        if let Some(defined) = lasting.defined.get_mut(&number) {
            defined.active = true;
        }
    }

    /// A request is given up.
    pub fn forget(&mut self, number: u64) {
        self.clear(number);
        if let Some(lasting) = self.lasting.get_mut() {
            lasting.defined.remove(&number);
        }
    }
}

/// How far a line has come in its present call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It computes before it.
    Before,
    /// It has entered it.
    Entered,
    /// It is in a receive from anyone, and which message that gets is to be decided.
    Asks,
    /// It was decided.
    Decided,
    /// It waits for a letter, an errand or a meeting; which one depends on the call.
    Waits,
}

/// What a line has to do with windows.
#[derive(Default)]
pub struct Windows {
    /// When its accesses to them will be over, by window and rank.
    pub accesses: HashMap<(u32, u32), f64>,
    /// Those to whom its own are open, and whose it accesses.
    pub exposed: HashMap<u32, Vec<u32>>,
    /// See `exposed`.
    pub accessing: HashMap<u32, Vec<u32>>,
    /// Letters that a call on a window waits for.
    pub heard: Vec<LetterId>,
}

/// A line.
pub struct Line<'a> {
    /// Which one.
    pub id: LineId,
    pub source: Box<dyn Stretches + 'a>,
    pub rows: Vec<Beat>,
    pub row: usize,
    /// What its calls do.
    pub code: Rc<Code>,
    /// What of them is its own.
    pub own: Vec<Own>,
    /// The moment in the replay.
    pub now: f64,
    /// The same in the recording.
    pub recorded: f64,
    /// When the present call was entered.
    pub entered: f64,
    /// The same in the recording.
    pub entered_recorded: f64,
    /// Since when it only waits, in the recording: the first look whether something had happened, else when the call was entered.
    pub waits_since_recorded: f64,
    /// Seconds that its last call looked whether something had happened: its own if it goes on with something else.
    pub looked: f64,
    pub stage: Stage,
    /// How many of the requests of the present call are known to be complete.
    pub done: u32,
    /// The letters of the present call.
    pub held: [LetterId; 2],
    /// Seconds that it takes for what took one second.
    pub slowness: f64,
    /// Sends and receives that only go on while the process is in MPI, begun since it was last there.
    pub unattended: Vec<(LetterId, bool)>,
    pub windows: Rare<Windows>,
    /// How many calls it has made.
    pub calls: u64,
    /// The site of the call before.
    pub last_site: u32,
    /// When MPI was started for it.
    pub lead: f64,
    pub ended: bool,
    /// When it came to the end of MPI, or to its own.
    pub end: f64,
    /// The same in the recording.
    pub end_recorded: f64,
}

impl<'a> Line<'a> {
    /// A line at its beginning.
    pub fn new(id: LineId, source: Box<dyn Stretches + 'a>, slowness: f64) -> Line<'a> {
        Line {
            id,
            source,
            rows: Vec::new(),
            row: 0,
            code: Rc::default(),
            own: Vec::new(),
            now: 0.0,
            recorded: 0.0,
            entered: 0.0,
            entered_recorded: 0.0,
            waits_since_recorded: 0.0,
            looked: 0.0,
            stage: Stage::Before,
            done: 0,
            held: [NONE; 2],
            slowness,
            unattended: Vec::new(),
            windows: Rare::default(),
            calls: 0,
            last_site: NONE,
            lead: 0.0,
            ended: false,
            end: 0.0,
            end_recorded: 0.0,
        }
    }
}
