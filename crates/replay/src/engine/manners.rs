//! Calls that are made in another way than they were recorded.

use sintonia_mpi::Role;

use super::letters::Moment;
use super::line::{Beat, Line};
use super::world::World;
use crate::manners::{self, CallNumber, Exchange, Manner, Manners};
use crate::schedule::{Described, SendMode};

/// What has to be kept in mind while calls are made in other ways.
pub struct Mannered<'a> {
    manners: &'a Manners,
    ranks: f64,
    /// How far each line has come.
    lines: Vec<Progress>,
}

#[derive(Default)]
struct Progress {
    /// How each of the present actions is done.
    actions: Vec<Done>,
    /// What the call before did, and how long it took.
    last: Option<(Exchange, f64)>,
    /// When the next call can be entered: something goes on beside the computation before it.
    ready: f64,
    /// What calls need besides what they needed before: it was put off to them.
    owed: Vec<(CallNumber, Moment)>,
}

/// How an action is done.
#[derive(Clone, Copy)]
struct Done {
    /// In which manner: bits by [`Manner`].
    manner: u8,
    sends: bool,
    /// The small message that it handles, if it does.
    small: Option<Exchange>,
}

impl<'a> Mannered<'a> {
    /// Nothing has been called yet.
    pub fn new(manners: &'a Manners, ranks: u32, lines: usize) -> Mannered<'a> {
        Mannered { manners, ranks: f64::from(ranks.max(1)), lines: (0..lines).map(|_| Progress::default()).collect() }
    }

    /// The next calls of a line do these things.
    pub fn compile(&mut self, place: u32, actions: &[Described]) {
        let done = |described: &Described| Done {
            manner: self.manners.at(described.shape.site),
            sends: described.shape.operation.role() == Role::Send,
            small: manners::small_message(&described.shape),
        };
        let actions = actions.iter().map(done).collect();
        self.lines[place as usize].actions = actions;
    }
}

impl Progress {
    /// Whether a call handles a small message right after one of the same kind to or from the same rank.
    fn follows(&self, done: Done, row: &Beat) -> bool {
        let (Some(this), Some((last, took))) = (done.small, self.last) else { return false };
        this == last && row.before() <= took.max(manners::READIES_S)
    }

    /// What was put off to a call.
    fn due(&mut self, call: CallNumber) -> Option<Moment> {
        let due = self.owed.iter().filter(|(later, _)| *later <= call).map(|(_, moment)| *moment).reduce(Moment::latest);
        self.owed.retain(|(later, _)| *later > call);
        due
    }
}

impl World<'_> {
    /// When a line can enter its next call, if something still goes on beside its computation.
    pub fn ready(&self, line: &Line) -> f64 {
        let place = self.place_of(line);
        self.mannered.as_ref().map_or(line.now, |mannered| mannered.lines[place].ready.max(line.now))
    }

    /// A line has left a call.
    pub fn note_left(&mut self, line: &Line, row: &Beat) {
        let place = self.place_of(line);
        if let Some(mannered) = &mut self.mannered {
            let progress = &mut mannered.lines[place];
            progress.last = progress.actions[row.action as usize].small.map(|exchange| (exchange, row.took()));
        }
    }

    /// Whether ranks are elsewhere.
    pub fn moves(&self) -> bool {
        self.changes.manners.as_ref().is_some_and(|manners| manners.moved.is_some())
    }

    /// Whether a message from a line comes from nearer than it did.
    pub fn comes_nearer(&self, sender: u32, receiver: &Line) -> bool {
        let moved = self.changes.manners.as_ref().and_then(|manners| manners.moved.as_ref());
        moved.is_some_and(|moved| moved.comes_nearer(self.ranks[sender as usize], receiver.id.rank))
    }

    /// Whether the present call of a line was seen to wait for its receive.
    pub fn waited(&self, line: &Line) -> bool {
        self.changes.manners.as_ref().is_some_and(|manners| manners.waited(line.id, line.calls))
    }

    /// The price of a message that is sent in the same way, but leaves only when its receive has begun.
    pub fn synchronous(&mut self, line: &Line, price: u32, to: u32) -> u32 {
        let bytes = self.prices[price as usize].bytes as u64;
        self.price(line.id.rank, to, bytes, SendMode::Synchronous)
    }

    fn place_of(&self, line: &Line) -> usize {
        self.places.get(&(line.id.rank, line.id.thread)).map_or(0, |place| *place as usize)
    }

    /// When a call is left that may be made in another way; `nearer` if what it receives comes from nearer than it did.
    pub fn in_its_manner(&mut self, line: &Line, row: &Beat, needed: Option<Moment>, times: f64, nearer: bool) -> f64 {
        let place = self.place_of(line);
        let Some(mannered) = &mut self.mannered else { return line.now };
        let progress = &mut mannered.lines[place];
        let done = progress.actions[row.action as usize];
        let is = |manner: Manner| manner.is_in(done.manner);
        if is(Manner::Skipped) {
            return line.entered;
        }
        let left = line.entered_recorded + row.took();
        // What it took after what it needed was there; less than nothing if it did not need it after all.
        let own = left - needed.map_or(line.entered_recorded, |needed| needed.recorded.max(line.waits_since_recorded));
        let (mut needed, mut own) = (needed, if own > 0.0 { own * times } else { own });
        if is(Manner::Free) || is(Manner::Merged) && progress.follows(done, row) {
            own = own.min(0.0);
        }
        if is(Manner::Shared) && own > 0.0 {
            own /= mannered.ranks;
        }
        if let Some(moved) = mannered.manners.moved.as_ref().filter(|_| nearer && own > 0.0) {
            own *= moved.times;
        }
        if is(Manner::InOrder)
            && let Some(later) = mannered.manners.put_off_to(line.id, line.calls)
        {
            progress.owed.extend(needed.take().map(|moment| (later, moment)));
        }
        if is(Manner::Unwaiting) {
            needed = None;
        }
        if !progress.owed.is_empty() {
            needed = [needed, progress.due(line.calls)].into_iter().flatten().reduce(Moment::latest);
        }
        let from = needed.map_or(line.entered, |needed| needed.now.max(line.entered));
        let leaves = (from + own).max(line.entered);
        if !is(Manner::Overlapped) {
            return leaves;
        }
        progress.ready = leaves;
        if done.sends { line.entered } else { from.min(leaves) }
    }
}
