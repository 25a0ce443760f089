//! The analyzer: binds tunlets to the processes of a program, tells them what happens there, and makes the changes they wish.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use sintonia_link::order::{Order, Outcome, Side, Word};
use sintonia_link::ring::{Event, Moment as EventMoment};
use sintonia_symbols::Program;

use crate::bind::{BindError, Hook, Knob, Listener, value_of};
use crate::collector::{Collector, News, Process};
use crate::decision::Decision;
use crate::point::{Moment, Needs};
use crate::tunlet::{Happening, Tunlet, Wish};

/// The rank that hands out work, unless told.
const MASTER: u32 = 0;
/// Events are read so often: a decision comes soon enough, and reading takes next to nothing from the program.
const PAUSE: Duration = Duration::from_micros(500);

/// What the analyzer tells whoever looks on.
#[derive(Debug, Clone, PartialEq)]
pub enum Tale {
    /// A change was made, or would have been.
    Decided(Decision),
    /// Something is not as it was asked for: why.
    Problem(String),
    /// A function is hooked in a process.
    Hooked {
        /// The function.
        function: String,
        /// The process.
        rank: u32,
    },
}

/// What came of tuning a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// The changes.
    pub decisions: Vec<Decision>,
    /// How many events were read.
    pub events: u64,
    /// How many were dropped.
    pub dropped: u64,
}

/// A process whose rank is known.
struct Bound {
    process: Process,
    rank: Option<u32>,
    is_there: bool,
    hooks: HashMap<u32, Placed>,
    knobs: HashMap<(usize, usize), Knob>,
    /// Hooks that were asked for, and not answered yet.
    expected: usize,
}

/// A hook that is in place.
struct Placed {
    function: String,
    listeners: Vec<Listener>,
}

/// An order that was sent and not yet answered.
enum Asked {
    Hook(Placed),
    Set(Decision, sintonia_symbols::Type),
    Nothing,
}

/// Watches and tunes one run.
pub struct Analyzer {
    tunlets: Vec<Box<dyn Tunlet>>,
    needs: Vec<Needs>,
    collector: Collector,
    processes: HashMap<u32, Bound>,
    asked: HashMap<u64, Asked>,
    orders: u64,
    begin: Option<f64>,
    /// Nothing is changed, only told.
    watch: bool,
    summary: Summary,
}

impl Analyzer {
    /// An analyzer of the processes that come to this collector.
    pub fn new(tunlets: Vec<Box<dyn Tunlet>>, collector: Collector, watch: bool) -> Analyzer {
        let needs = tunlets.iter().map(|_| Needs::default()).collect();
        Analyzer {
            tunlets,
            needs,
            collector,
            processes: HashMap::new(),
            asked: HashMap::new(),
            orders: 0,
            begin: None,
            watch,
            summary: Summary::default(),
        }
    }

    /// Works until told to stop.
    pub fn run(mut self, is_over: impl Fn() -> bool, mut tell: impl FnMut(&Tale)) -> Summary {
        loop {
            let over = is_over();
            let begin = Instant::now();
            let mut tales = self.hear();
            tales.extend(self.read());
            for tale in tales {
                tell(&tale);
                if let Tale::Decided(decision) = tale {
                    self.summary.decisions.push(decision);
                }
            }
            if over {
                self.summary.dropped = self.processes.values().map(|bound| bound.process.dropped()).sum();
                return self.summary;
            }
            std::thread::sleep(PAUSE.saturating_sub(begin.elapsed()));
        }
    }

    /// What the processes say.
    fn hear(&mut self) -> Vec<Tale> {
        let news: Vec<News> = self.collector.news().collect();
        news.into_iter().flat_map(|news| self.heard(news)).collect()
    }

    fn heard(&mut self, news: News) -> Vec<Tale> {
        match news {
            News::Came(process) => {
                let bound =
                    Bound { process: *process, rank: None, is_there: true, hooks: HashMap::new(), knobs: HashMap::new(), expected: 0 };
                self.processes.insert(bound.process.number, bound);
                Vec::new()
            }
            News::Said(process, Word::Rank { rank, size, clock }) => self.bind(process, rank, size, clock),
            News::Said(process, Word::Answer { number, outcome }) => self.answered(process, number, outcome),
            News::Said(_, Word::Here { .. } | Word::Leaving) => Vec::new(),
            News::Gone(process) => {
                if let Some(bound) = self.processes.get_mut(&process) {
                    bound.is_there = false;
                }
                Vec::new()
            }
            News::Stranger(what) => vec![Tale::Problem(format!("somebody who does not belong to this run was refused: {what}"))],
        }
    }

    /// Finds what the tunlets need in a process, and asks for its hooks.
    fn bind(&mut self, process: u32, rank: u32, size: u32, clock: (u64, u64)) -> Vec<Tale> {
        let Some(bound) = self.processes.get_mut(&process) else { return Vec::new() };
        bound.rank = Some(rank);
        bound.process.set_clock(clock);
        self.needs = self.tunlets.iter().map(|tunlet| tunlet.needs(size)).collect();
        let mut tales = Vec::new();
        let hooks = match Program::of_process(process) {
            Ok(program) => find(&program, rank, &self.needs, &mut bound.knobs, &mut tales),
            Err(problem) => {
                tales.push(Tale::Problem(format!("rank {rank}: {problem}")));
                Vec::new()
            }
        };
        for hook in hooks {
            for order in hook.orders() {
                let asked = Asked::Hook(Placed { function: hook.name.clone(), listeners: hook.listeners.clone() });
                self.send(process, order, asked, &mut tales);
                if let Some(bound) = self.processes.get_mut(&process) {
                    bound.expected += 1;
                }
            }
        }
        self.go_on_if_ready(process, &mut tales);
        tales
    }

    /// Lets a process go on when all its hooks are in place.
    fn go_on_if_ready(&mut self, process: u32, tales: &mut Vec<Tale>) {
        if self.processes.get(&process).is_some_and(|bound| bound.expected == 0 && bound.rank.is_some()) {
            self.send(process, Order::GoOn, Asked::Nothing, tales);
        }
    }

    fn send(&mut self, process: u32, order: Order, asked: Asked, tales: &mut Vec<Tale>) {
        let Some(bound) = self.processes.get_mut(&process).filter(|bound| bound.is_there) else { return };
        self.orders += 1;
        match bound.process.order(self.orders, order) {
            Ok(()) => drop(self.asked.insert(self.orders, asked)),
            Err(problem) => {
                bound.is_there = false;
                tales.push(Tale::Problem(format!("process {process} cannot be reached any more: {problem}")));
            }
        }
    }

    fn answered(&mut self, process: u32, number: u64, outcome: Outcome) -> Vec<Tale> {
        let mut tales = Vec::new();
        let Some(asked) = self.asked.remove(&number) else { return tales };
        match (asked, outcome) {
            (Asked::Hook(placed), outcome) => {
                tales.extend(self.hooked(process, placed, outcome));
                self.go_on_if_ready(process, &mut tales);
            }
            (Asked::Set(mut decision, kind), Outcome::Done(before)) => {
                decision.old = Some(value_of(&kind, before));
                tales.push(Tale::Decided(decision));
            }
            (Asked::Set(mut decision, kind), Outcome::Performed { given }) => {
                decision.old = given.first().map(|before| value_of(&kind, *before));
                tales.push(Tale::Decided(decision));
            }
            // What is arranged is answered again when it is done.
            (asked @ Asked::Set(..), Outcome::Arranged) => drop(self.asked.insert(number, asked)),
            (Asked::Set(mut decision, _), Outcome::Refused(why)) => {
                decision.refused = Some(why);
                tales.push(Tale::Decided(decision));
            }
            _ => {}
        }
        tales
    }

    fn hooked(&mut self, process: u32, placed: Placed, outcome: Outcome) -> Option<Tale> {
        let bound = self.processes.get_mut(&process)?;
        bound.expected = bound.expected.saturating_sub(1);
        let rank = bound.rank?;
        let function = placed.function.clone();
        match outcome {
            Outcome::Hooked(hook) => {
                bound.hooks.insert(hook, placed);
                Some(Tale::Hooked { function, rank })
            }
            Outcome::Refused(why) => Some(Tale::Problem(format!("rank {rank}: `{function}` cannot be hooked: {why}"))),
            _ => None,
        }
    }

    /// Reads the events of all processes, tells the tunlets in the order of time, and does what they wish.
    fn read(&mut self) -> Vec<Tale> {
        let mut events: Vec<(f64, u32, Event)> = Vec::new();
        for bound in self.processes.values_mut() {
            let Some(rank) = bound.rank else { continue };
            let _ = bound.process.drain(|time, event| events.push((time, rank, event)));
        }
        self.summary.events += events.len() as u64;
        events.sort_by(|one, other| one.0.total_cmp(&other.0));
        let Some((first, ..)) = events.first() else { return Vec::new() };
        let begin = *self.begin.get_or_insert(*first);
        let mut tales = Vec::new();
        for (time, rank, event) in events {
            let seconds = (time - begin) / 1e9;
            for (tunlet, happening) in self.happenings(rank, seconds, &event) {
                for wish in self.tunlets[tunlet].happened(&happening) {
                    tales.extend(self.grant(tunlet, wish, seconds));
                }
            }
        }
        tales
    }

    /// What an event is for each tunlet that listens.
    fn happenings(&self, rank: u32, time: f64, event: &Event) -> Vec<(usize, Happening)> {
        let side = match event.moment {
            EventMoment::Entry => Side::Entry,
            EventMoment::Exit => Side::Exit,
        };
        let Some(bound) = self.processes.values().find(|bound| bound.rank == Some(rank)) else { return Vec::new() };
        let listeners =
            bound.hooks.get(&event.hook).into_iter().flat_map(|placed| &placed.listeners).filter(|listener| listener.side == side);
        listeners
            .map(|listener| {
                let values = listener.decoders.iter().map(|decoder| decoder.decode(event)).collect();
                (listener.tunlet, Happening { point: listener.point, rank, side, time, values })
            })
            .collect()
    }

    /// Makes a change in every process that it is about.
    fn grant(&mut self, tunlet: usize, wish: Wish, time: f64) -> Vec<Tale> {
        let mut tales = Vec::new();
        let Some(point) = self.needs[tunlet].tunes.get(wish.point).cloned() else { return tales };
        let decision = |rank, refused| Decision {
            time_s: time,
            tunlet: self.tunlets[tunlet].name().to_owned(),
            action: point.variable.clone(),
            rank,
            old: None,
            new: wish.value,
            why: wish.why.clone(),
            refused,
        };
        let (least, most) = point.range;
        if !(least..=most).contains(&wish.value) {
            let refused = format!("{} may be from {least} to {most}", point.variable);
            return vec![Tale::Decided(decision(MASTER, Some(refused)))];
        }
        if self.is_owned_by_another(tunlet, &point.variable) {
            return vec![Tale::Decided(decision(MASTER, Some("another tunlet, named before, sets it".into())))];
        }
        let mut orders = Vec::new();
        for (process, bound) in &self.processes {
            let Some(rank) = bound.rank.filter(|rank| point.actor.is(*rank, MASTER)) else { continue };
            let Some((knob, act)) = bound.knobs.get(&(tunlet, wish.point)).and_then(|knob| Some((knob, knob.set(wish.value)?))) else {
                continue;
            };
            if self.watch {
                tales.push(Tale::Decided(decision(rank, Some("only watched".into()))));
                continue;
            }
            let order = match &point.moment {
                Moment::AtOnce => Order::Do(act),
                Moment::At(function, side) => {
                    let Some(hook) = bound.hook_of(function) else { continue };
                    Order::Arrange { hook, side: *side, acts: vec![act], when: point.when }
                }
            };
            orders.push((*process, order, Asked::Set(decision(rank, None), knob.kind.clone())));
        }
        for (process, order, asked) in orders {
            self.send(process, order, asked, &mut tales);
        }
        tales
    }

    /// Of several tunlets that would set one variable, the one that was named first does.
    fn is_owned_by_another(&self, tunlet: usize, variable: &str) -> bool {
        self.needs[..tunlet].iter().flat_map(|needs| &needs.tunes).any(|point| point.variable == variable)
    }
}

impl Bound {
    fn hook_of(&self, function: &str) -> Option<u32> {
        self.hooks.iter().find(|(_, placed)| placed.function == function).map(|(hook, _)| *hook)
    }
}

/// The hooks that a process needs for all tunlets together; what they may change there.
fn find(program: &Program, rank: u32, needs: &[Needs], knobs: &mut HashMap<(usize, usize), Knob>, tales: &mut Vec<Tale>) -> Vec<Hook> {
    let mut hooks: Vec<Hook> = Vec::new();
    let mut problem = |what: String| tales.push(Tale::Problem(format!("rank {rank}: {what}")));
    for (tunlet, needs) in needs.iter().enumerate() {
        for (place, point) in needs.measures.iter().enumerate().filter(|(_, point)| point.actor.is(rank, MASTER)) {
            let listening = hook_at(&mut hooks, program, &point.function).and_then(|hook| hook.listen(program, tunlet, place, point));
            if let Err(why) = listening {
                problem(why.to_string());
            }
        }
        for (place, point) in needs.tunes.iter().enumerate().filter(|(_, point)| point.actor.is(rank, MASTER)) {
            if let Moment::At(function, _) = &point.moment
                && let Err(why) = hook_at(&mut hooks, program, function)
            {
                problem(why.to_string());
            }
            match Knob::of(program, point) {
                Ok(knob) => drop(knobs.insert((tunlet, place), knob)),
                Err(why) => problem(why.to_string()),
            }
        }
    }
    hooks
}

/// The hook of a function, made if there is none yet.
fn hook_at<'hooks>(hooks: &'hooks mut Vec<Hook>, program: &Program, function: &str) -> Result<&'hooks mut Hook, BindError> {
    let place = match hooks.iter().position(|hook| hook.name == function) {
        Some(place) => place,
        None => {
            hooks.push(Hook::of(program, function)?);
            hooks.len() - 1
        }
    };
    Ok(&mut hooks[place])
}
