//! One process of the program: what was asked of it, what of that is in place, and what its events mean.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sintonia_link::order::{Order, Outcome, Shape, Side};
use sintonia_link::ring::{Event, Moment as EventMoment, OF_MPI};
use sintonia_mpi::{FUNCTIONS, Operation};
use sintonia_symbols::{Files, Program};

use super::calls::{Calls, Took};
use crate::bind::{BindError, Hook, Knob, Listener, Timing, mpi_listener};
use crate::collector::Process;
use crate::mpi_time::takes_time;
use crate::point::{Actor, Join, MeasurePoint, Moment, Needs, Part, Target, TuningPoint};
use crate::talk::{Change, Told};
use crate::tunlet::Happening;

/// Whether a change is one for before MPI begins.
pub fn is_before_mpi(point: &TuningPoint) -> bool {
    point.moment == Moment::BeforeMpi
}

/// The clock of a process is looked at so long after it came.
const FIRST_TIME: Duration = Duration::from_secs(1);

/// What was sent to the process and is not answered yet.
pub enum Sent {
    /// Leave to begin MPI.
    Begin,
    /// Leave to go on.
    GoOn,
    /// A hook of the function at this place.
    Hook(usize),
    /// A function of MPI to be watched.
    Watch(Operation),
    /// To forget the change that this order arranged.
    Cancel(u64),
    /// Something whose answer nobody waits for.
    Other,
    /// A change.
    Change {
        /// Its number.
        number: u64,
        /// What it is about.
        key: Key,
        /// How the answer is read.
        knob: Arc<Knob>,
    },
}

/// Orders that arranged an earlier change of a point, by number; orders that make a new one; and what they are about.
type Orders = (Vec<u64>, Vec<Order>, Arc<Knob>);

/// A tunlet and one of its points.
type Key = (usize, usize);

/// A function with a hook.
struct Placed {
    hook: Hook,
    /// The numbers of its hooks, one for each copy of the function.
    numbers: Vec<u32>,
    /// Whether the process has yet to be asked for what it is to read now.
    is_new: bool,
    /// Whether an actor is known by calling it.
    tells_role: bool,
    /// Whether changes are made there.
    is_moment: bool,
}

/// A process of the program.
pub struct Bound {
    process: Process,
    part: Option<Part>,
    is_there: bool,
    has_begun: bool,
    is_bound: bool,
    went_on: bool,
    finished: bool,
    /// Files of code that were read for other processes.
    files: Arc<Mutex<Files>>,
    program: Option<Arc<Program>>,
    placed: Vec<Placed>,
    by_number: HashMap<u32, usize>,
    watched: HashMap<u16, Vec<Listener>>,
    knobs: HashMap<Key, Arc<Knob>>,
    /// Points that were looked up, whether they were found or not.
    known: HashSet<(Key, bool)>,
    sent: HashMap<u64, Sent>,
    orders: u64,
    /// Hooks that were asked for, and not answered yet.
    expected: usize,
    /// Orders by which changes are made at a moment that has not come yet, or at every one.
    arranged: HashMap<Key, Vec<u64>>,
    /// Hooks of functions that are replaced.
    replaced: HashMap<Key, u32>,
    calls: Calls,
    /// Changes that wait until all hooks are in place, and until an earlier one of the same point is answered.
    waiting: Vec<Change>,
    /// When it came, and how long after that its clock is looked at next.
    since: Instant,
    next_time: Duration,
}

impl Bound {
    /// A process that has come to the door.
    pub fn new(process: Process, files: Arc<Mutex<Files>>) -> Bound {
        Bound {
            process,
            files,
            part: None,
            is_there: true,
            has_begun: false,
            is_bound: false,
            went_on: false,
            finished: false,
            program: None,
            placed: Vec::new(),
            by_number: HashMap::new(),
            watched: HashMap::new(),
            knobs: HashMap::new(),
            known: HashSet::new(),
            sent: HashMap::new(),
            orders: 0,
            expected: 0,
            arranged: HashMap::new(),
            replaced: HashMap::new(),
            calls: Calls::default(),
            waiting: Vec::new(),
            since: Instant::now(),
            next_time: FIRST_TIME,
        }
    }

    /// How many processes the program has, as its launcher says.
    pub fn size(&self) -> Option<u32> {
        self.process.place.map(|(_, size)| size)
    }

    /// Whether it was let into `MPI_Init`.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether its rank is known, and nobody has looked for anything in it.
    pub fn is_to_be_bound(&self) -> bool {
        self.part.is_some() && !self.is_bound
    }

    /// MPI has begun, and it knows its rank.
    pub fn ranked(&mut self, rank: u32, clock: (u64, u64)) {
        self.process.set_clock(clock);
        self.part = Some(Part { rank, called: Vec::new() });
    }

    /// Its clock shows something: the longer since the first time, the better its rate is known.
    pub fn showed(&mut self, clock: (u64, u64)) {
        self.process.set_clock(clock);
    }

    /// Asks what its clock shows, a few times in its life, each time after twice as long.
    pub fn ask_for_time(&mut self, told: &mut Vec<Told>) {
        if self.went_on && self.is_there && self.since.elapsed() > self.next_time {
            self.next_time *= 2;
            self.send(Order::Clock, Sent::Other, told);
        }
    }

    /// It has said good-bye.
    pub fn leaves(&mut self) {
        self.finished = true;
    }

    /// It is gone.
    pub fn goes(&mut self) -> Option<Told> {
        self.is_there = false;
        let rank = self.part.as_ref()?.rank;
        Some(Told::Gone { rank, finished: self.finished })
    }

    /// How many of its events were dropped.
    pub fn dropped(&self) -> u64 {
        self.process.dropped()
    }

    /// Gives every new event to `each`, with the number of its thread's ring and its time in nanoseconds of the host's clock.
    pub fn drain(&mut self, each: impl FnMut(usize, f64, Event)) {
        if self.part.is_some() {
            // A ring that cannot be read any more has nothing more to tell.
            let _ = self.process.drain(each);
        }
    }

    fn rank(&self) -> Option<u32> {
        self.part.as_ref().map(|part| part.rank).or(self.process.place.map(|(rank, _)| rank))
    }

    fn problem(&self, what: impl std::fmt::Display) -> Told {
        match self.rank() {
            Some(rank) => Told::Problem(format!("rank {rank}: {what}")),
            None => Told::Problem(format!("process {}: {what}", self.process.in_system)),
        }
    }

    /// Sends an order.
    pub fn send(&mut self, order: Order, sent: Sent, told: &mut Vec<Told>) {
        if !self.is_there {
            return;
        }
        self.orders += 1;
        match sent {
            Sent::Begin => self.has_begun = true,
            Sent::GoOn => self.went_on = true,
            Sent::Hook(_) | Sent::Watch(_) => self.expected += 1,
            Sent::Other | Sent::Cancel(_) | Sent::Change { .. } => {}
        }
        match self.process.order(self.orders, order) {
            Ok(()) => drop(self.sent.insert(self.orders, sent)),
            Err(problem) => {
                self.is_there = false;
                told.push(self.problem(format!("cannot be reached any more: {problem}")));
            }
        }
    }

    /// Finds what the tunlets need that is not found yet, and asks for its hooks.
    /// Then come the changes that were asked for before.
    pub fn bind(&mut self, needs: &[Needs], changes: &[Change], told: &mut Vec<Told>) {
        self.is_bound = true;
        self.waiting.extend(changes);
        for (tunlet, needs) in needs.iter().enumerate() {
            for (place, point) in needs.measures.iter().enumerate() {
                self.listen(tunlet, place, point, told);
            }
            for (place, point) in needs.tunes.iter().enumerate() {
                self.prepare(tunlet, place, point, told);
            }
        }
        self.ask_for_hooks(told);
        self.go_on_if_ready(needs, told);
    }

    /// It has called a function by which an actor is known: what is about that actor is now about it, and so are the changes that stand.
    pub fn becomes_actor(&mut self, needs: &[Needs], standing: &[Change], told: &mut Vec<Told>) {
        let Some(function) = self.part.as_ref().and_then(|part| part.called.last().cloned()) else { return };
        let is_meant = |change: &&Change| {
            let point = needs.get(change.tunlet).and_then(|needs| needs.tunes.get(change.point));
            point.is_some_and(|point| matches!(&point.actor, Actor::Callers(caller) if *caller == function))
        };
        let changes: Vec<Change> = standing.iter().filter(is_meant).copied().collect();
        self.bind(needs, &changes, told);
    }

    /// Measures at one more place.
    pub fn look(&mut self, tunlet: usize, number: usize, point: &MeasurePoint, told: &mut Vec<Told>) {
        if self.is_bound {
            self.listen(tunlet, number, point, told);
            self.ask_for_hooks(told);
        }
    }

    /// Measures there no more.
    pub fn look_away(&mut self, tunlet: usize, number: usize, told: &mut Vec<Told>) {
        let others = |listener: &Listener| (listener.tunlet, listener.point) != (tunlet, number);
        let mut take_back = Vec::new();
        self.known.remove(&((tunlet, number), true));
        // A hook through which another function is called stays for that.
        let is_free = |hook: &mut u32| !self.replaced.values().any(|replaced| replaced == hook);
        for placed in &mut self.placed {
            let before = placed.hook.listeners.len();
            placed.hook.listeners.retain(others);
            if before > 0 && placed.hook.listeners.is_empty() && !placed.tells_role && !placed.is_moment {
                take_back.extend(placed.numbers.extract_if(.., is_free).map(Order::Unhook));
            }
        }
        let counts_mpi = self.placed.iter().any(|placed| placed.hook.wants(Timing::InMpi));
        self.watched.retain(|operation, listeners| {
            listeners.retain(others);
            let stays = !listeners.is_empty() || counts_mpi;
            if !stays {
                take_back.push(Order::Unwatch(*operation));
            }
            stays
        });
        take_back.into_iter().for_each(|order| self.send(order, Sent::Other, told));
    }

    /// The functions that a function calls.
    pub fn callees(&mut self, function: &str) -> Option<Vec<String>> {
        self.program().ok()?.callees(function).ok()
    }

    /// Whether a point is about this process and was not looked up before; one known by what it calls is, once it has called.
    fn is_due(&mut self, key: Key, actor: &Actor, measures: bool, told: &mut Vec<Told>) -> bool {
        let Some(part) = &self.part else { return false };
        if self.known.contains(&(key, measures)) {
            return false;
        }
        if actor.is(part) {
            self.known.insert((key, measures));
            return true;
        }
        if let Actor::Callers(function) = actor
            && self.placed_at(function, |placed| placed.tells_role = true).is_err_and(|problem| {
                told.push(self.problem(problem));
                true
            })
        {
            self.known.insert((key, measures));
        }
        false
    }

    fn listen(&mut self, tunlet: usize, place: usize, point: &MeasurePoint, told: &mut Vec<Told>) {
        if !self.is_due((tunlet, place), &point.actor, true, told) {
            return;
        }
        let listening = match Operation::named(&point.function) {
            Some(operation) => mpi_listener(tunlet, place, point).map(|listener| {
                let is_new = !self.watched.contains_key(&operation.0);
                self.watched.entry(operation.0).or_default().push(listener);
                if is_new {
                    self.send(Order::Watch(operation.0), Sent::Watch(operation), told);
                }
            }),
            None => self.hook(tunlet, place, point).map(|in_mpi| {
                if in_mpi {
                    self.watch_all(told);
                }
            }),
        };
        if let Err(problem) = listening {
            told.push(self.problem(problem));
        }
    }

    /// Hooks a function; whether somebody wants to know how much of its time is spent in MPI.
    fn hook(&mut self, tunlet: usize, place: usize, point: &MeasurePoint) -> Result<bool, BindError> {
        let program = self.program()?;
        let at = self.placed_at(&point.function, |_| ())?;
        self.placed[at].is_new = true;
        self.placed[at].hook.listen(&program, tunlet, place, point)?;
        Ok(self.placed[at].hook.wants(Timing::InMpi))
    }

    /// Watches every function of MPI that takes time.
    fn watch_all(&mut self, told: &mut Vec<Told>) {
        let operations = (0..FUNCTIONS.len() as u16).filter_map(Operation::from_number);
        for operation in operations.filter(|operation| takes_time(operation.role())) {
            if let Entry::Vacant(place) = self.watched.entry(operation.0) {
                place.insert(Vec::new());
                self.send(Order::Watch(operation.0), Sent::Watch(operation), told);
            }
        }
    }

    /// The place of the hook of a function, made if there is none yet.
    fn placed_at(&mut self, function: &str, change: impl FnOnce(&mut Placed)) -> Result<usize, BindError> {
        let at = match self.placed.iter().position(|placed| placed.hook.name == function) {
            Some(at) => at,
            None => {
                let hook = Hook::of(&*self.program()?, function)?;
                self.placed.push(Placed { hook, numbers: Vec::new(), is_new: true, tells_role: false, is_moment: false });
                self.placed.len() - 1
            }
        };
        change(&mut self.placed[at]);
        Ok(at)
    }

    /// The files of the process; read when first needed, because not every tunlet does.
    fn program(&mut self) -> Result<Arc<Program>, BindError> {
        if self.program.is_none() {
            let mut files = self.files.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            self.program = Some(Arc::new(Program::of_process(self.process.in_system, &mut files)?));
        }
        Ok(self.program.clone().expect("just set"))
    }

    fn prepare(&mut self, tunlet: usize, place: usize, point: &TuningPoint, told: &mut Vec<Told>) {
        if !self.is_due((tunlet, place), &point.actor, false, told) {
            return;
        }
        if let Err(problem) = self.try_prepare((tunlet, place), point) {
            told.push(self.problem(problem));
        }
    }

    fn try_prepare(&mut self, key: Key, point: &TuningPoint) -> Result<(), BindError> {
        if let Moment::At(function, _) = &point.moment {
            self.placed_at(function, |placed| placed.is_moment = true)?;
        }
        let knob = self.knob(&point.target)?;
        self.knobs.insert(key, Arc::new(knob));
        Ok(())
    }

    fn knob(&mut self, target: &Target) -> Result<Knob, BindError> {
        match Knob::without_symbols(target) {
            Some(knob) => Ok(knob),
            None => Knob::of(&*self.program()?, target),
        }
    }

    fn ask_for_hooks(&mut self, told: &mut Vec<Told>) {
        for at in 0..self.placed.len() {
            if std::mem::take(&mut self.placed[at].is_new) {
                for order in self.placed[at].hook.orders() {
                    self.send(order, Sent::Hook(at), told);
                }
            }
        }
    }

    /// When all hooks are in place: makes the changes that waited for that, and lets the process go on.
    fn go_on_if_ready(&mut self, needs: &[Needs], told: &mut Vec<Told>) {
        if !self.is_bound || self.expected > 0 {
            return;
        }
        std::mem::take(&mut self.waiting).iter().for_each(|change| self.make(needs, change, false, told));
        if !self.went_on {
            self.send(Order::GoOn, Sent::GoOn, told);
            told.extend(self.part.as_ref().map(|part| Told::Ready { rank: part.rank }));
        }
    }

    /// The process has answered.
    pub fn answered(&mut self, number: u64, outcome: Outcome, needs: &[Needs], told: &mut Vec<Told>) {
        let Some(sent) = self.sent.remove(&number) else { return };
        match sent {
            Sent::Hook(at) => self.hooked(at, outcome, told),
            Sent::Watch(operation) => {
                self.expected = self.expected.saturating_sub(1);
                if let Outcome::Refused(why) = outcome {
                    // What holds for all of them is told once.
                    let what = if why.contains(operation.name()) { why } else { format!("functions of MPI cannot be measured: {why}") };
                    told.push(self.problem(what));
                }
            }
            Sent::Change { number: change, key, knob } => {
                let Some(rank) = self.rank() else { return };
                let outcome = match outcome {
                    Outcome::Done(before) => Ok(knob.value(before)),
                    Outcome::Performed { given } => given.into_iter().next().transpose().map(|before| knob.value(before.unwrap_or(0))),
                    Outcome::Refused(why) => Err(why),
                    Outcome::Hooked(hook) => {
                        self.replaced.insert(key, hook);
                        Ok(None)
                    }
                    // What is arranged is answered again when it is done.
                    Outcome::Arranged => return drop(self.sent.insert(number, Sent::Change { number: change, key, knob })),
                };
                told.push(Told::Changed { number: change, rank, outcome });
            }
            Sent::Cancel(order) => {
                // Otherwise it was done already, which is or will be told.
                if let Outcome::Done(_) = outcome {
                    self.sent.remove(&order);
                }
            }
            Sent::Begin | Sent::GoOn | Sent::Other => {}
        }
        self.go_on_if_ready(needs, told);
    }

    fn hooked(&mut self, at: usize, outcome: Outcome, told: &mut Vec<Told>) {
        self.expected = self.expected.saturating_sub(1);
        match outcome {
            Outcome::Hooked(number) => {
                self.by_number.insert(number, at);
                let numbers = &mut self.placed[at].numbers;
                if !numbers.contains(&number) {
                    numbers.push(number);
                }
            }
            Outcome::Refused(why) => told.push(self.problem(format!("`{}` cannot be hooked: {why}", self.placed[at].hook.name))),
            _ => {}
        }
    }

    /// A hook has taken itself out.
    pub fn throttled(&mut self, hook: u32, calls: u64, seconds_per_call: f64) -> Told {
        let name = self.by_number.get(&hook).map_or("a function", |at| &self.placed[*at].hook.name);
        let often =
            format!("`{name}` was called {calls} times, {:.2} us each: too often to be followed; its hook is out", 1e6 * seconds_per_call);
        if let Some(at) = self.by_number.remove(&hook) {
            self.placed[at].numbers.retain(|number| *number != hook);
        }
        self.problem(often)
    }

    /// What an event means to each tunlet that listens; whether the process has become an actor that it was not.
    pub fn happened(&mut self, ring: usize, time: f64, event: &Event, tell: &mut impl FnMut(usize, Join, Happening)) -> bool {
        let Some(rank) = self.part.as_ref().map(|part| part.rank) else { return false };
        let side = match event.moment {
            EventMoment::Entry => Side::Entry,
            EventMoment::Exit => Side::Exit,
        };
        if event.hook & OF_MPI != 0 {
            let listeners = self.watched.get(&((event.hook & !OF_MPI) as u16));
            let seconds = self.process.seconds_between(event.words[5], event.ticks);
            if side == Side::Exit {
                self.calls.was_in_mpi(ring, seconds);
            }
            listeners.into_iter().flatten().filter(|listener| listener.side == side).for_each(|listener| {
                tell(listener.tunlet, listener.join, listener.happening(event, rank, time, Took { seconds, in_mpi: seconds }));
            });
            return false;
        }
        let Some(at) = self.by_number.get(&event.hook) else { return false };
        let placed = &self.placed[*at];
        let mut took = Took::UNKNOWN;
        if placed.hook.wants(Timing::Seconds) || placed.hook.wants(Timing::InMpi) {
            match side {
                Side::Entry => self.calls.enter(ring, event.hook, event.stack, time),
                Side::Exit => took = self.calls.leave(ring, event.hook, event.stack, time).unwrap_or(took),
            }
        }
        for listener in placed.hook.listeners.iter().filter(|listener| listener.side == side) {
            tell(listener.tunlet, listener.join, listener.happening(event, rank, time, took));
        }
        match &mut self.part {
            Some(part) if placed.tells_role && !part.called.contains(&placed.hook.name) => {
                part.called.push(placed.hook.name.clone());
                true
            }
            _ => false,
        }
    }

    /// Makes a change, if it is about this process; what is asked for before all is in place waits for that.
    pub fn change(&mut self, needs: &[Needs], change: &Change, before: bool, told: &mut Vec<Told>) {
        if before || self.went_on {
            self.make(needs, change, before, told);
        } else if self.is_bound {
            self.waiting.push(*change);
        }
    }

    /// Makes a change; `before` says that MPI has not begun there.
    fn make(&mut self, needs: &[Needs], change: &Change, before: bool, told: &mut Vec<Told>) {
        let Some(point) = needs.get(change.tunlet).and_then(|needs| needs.tunes.get(change.point)) else { return };
        let Some(rank) = self.rank().filter(|rank| change.rank.is_none_or(|only| only == *rank)) else { return };
        let part = self.part.clone().unwrap_or(Part { rank, called: Vec::new() });
        if !self.is_there || !point.actor.is(&part) {
            return;
        }
        let refused = |why: String| Told::Changed { number: change.number, rank, outcome: Err(why) };
        if is_before_mpi(point) && !before {
            told.push(refused("MPI has begun there, and this is for before".into()));
            return;
        }
        let key = (change.tunlet, change.point);
        if matches!(point.target, Target::Replace { .. }) && self.is_under_way(key) {
            // Only the answer says how a function that is being replaced can be restored.
            return self.waiting.push(*change);
        }
        match self.orders_of(point, change, before) {
            Ok((take_back, orders, knob)) => {
                take_back.into_iter().for_each(|order| self.send(Order::Cancel(order), Sent::Cancel(order), told));
                for order in orders {
                    if matches!(order, Order::Arrange { .. }) {
                        self.arranged.entry(key).or_default().push(self.orders + 1);
                    }
                    self.send(order, Sent::Change { number: change.number, key, knob: knob.clone() }, told);
                }
            }
            Err(why) => told.push(refused(why)),
        }
    }

    /// Whether a change of this point was sent and is not answered.
    fn is_under_way(&self, key: Key) -> bool {
        self.sent.values().any(|sent| matches!(sent, Sent::Change { key: other, .. } if *other == key))
    }

    /// The orders that arranged an earlier change of the same point, and those that make this one.
    fn orders_of(&mut self, point: &TuningPoint, change: &Change, before: bool) -> Result<Orders, String> {
        let key = (change.tunlet, change.point);
        let knob = match self.knobs.get(&key) {
            Some(knob) => knob.clone(),
            None if before => Arc::new(self.knob(&point.target).map_err(|problem| problem.to_string())?),
            None => return Err(format!("{} was not found there", point.target)),
        };
        if let Knob::Replace { function, by } = &*knob {
            if point.moment != Moment::AtOnce {
                return Err("a function is replaced at once, at no special moment".into());
            }
            let replace = |function| Order::Hook {
                function,
                shape: Shape::Replace(*by),
                at_entry: Vec::new(),
                at_exit: Vec::new(),
                may_throttle: false,
            };
            let order = match change.value {
                0.0 => self.replaced.remove(&key).map(Order::Restore).ok_or_else(|| format!("{} is not done there", point.target))?,
                _ => replace(*function),
            };
            return Ok((Vec::new(), vec![order], knob));
        }
        let act = knob.act(change.value).ok_or_else(|| format!("{} cannot be {}", point.target, change.value))?;
        let orders = match &point.moment {
            Moment::AtOnce | Moment::BeforeMpi => vec![Order::Do(act)],
            Moment::Together => vec![Order::Together { change: change.number, act }],
            Moment::At(function, side) => {
                let hooks = self.placed.iter().find(|placed| placed.hook.name == *function).map(|placed| &placed.numbers[..]);
                let hooks = hooks.filter(|hooks| !hooks.is_empty()).ok_or_else(|| format!("`{function}` has no hook there"))?;
                let arrange = |hook: &u32| Order::Arrange { hook: *hook, side: *side, acts: vec![act.clone()], when: point.when };
                hooks.iter().map(arrange).collect()
            }
        };
        Ok((self.arranged.remove(&key).unwrap_or_default(), orders, knob))
    }
}
