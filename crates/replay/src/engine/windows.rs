//! One-sided communication: accesses to windows, and the epochs that they lie in.
//!
//! Opening a window to others, and being done with one, are empty messages between the ranks concerned. Locks are had in the order of time.

use std::collections::VecDeque;

use sintonia_recording::QuickMap;

use super::decisions::Decision;
use super::letters::{Lane, Moment, NONE, UNKNOWN};
use super::line::{Beat, Line, Slot, Stage};
use super::step::Step;
use super::world::World;
use crate::Error;
use crate::schedule::{Action, How, Join, SendMode, Sync};

/// A window in the place of a communicator.
const WINDOW: u32 = 1 << 31;
/// The window of a rank is open.
const OPENED: i32 = i32::MIN + 1000;
/// An access is over.
const COMPLETED: i32 = i32::MIN + 1001;

/// Who holds and who wants a window of a rank.
#[derive(Default)]
struct Lock {
    exclusive: bool,
    holders: u32,
    free: f64,
    queue: VecDeque<(u32, bool)>,
}

/// All locks, by window and rank.
#[derive(Default)]
pub struct Locks {
    locks: QuickMap<(u32, u32), Lock>,
    /// What lines ask for, and when they got it.
    wanted: QuickMap<u32, Wanted>,
}

#[derive(Clone, Copy)]
struct Wanted {
    window: u32,
    target: u32,
    exclusive: bool,
    granted: f64,
}

impl World<'_> {
    /// A call on a window, or one that sends and receives under one request.
    pub fn window_call(&mut self, place: u32, line: &mut Line, row: &Beat, action: u32) -> Result<Step, Error> {
        let action = line.code.actions[action as usize].clone();
        match action {
            Action::Access { window, target, put, get, how } => {
                self.access(place, line, row, (window, target), (put, get), how);
                Ok(Step::Done)
            }
            Action::Sync { window, sync } => Ok(self.sync(place, line, row, window, &sync)),
            Action::SendReceive(send, receive) => self.begin_both(place, line, row, &send, &receive),
            _ => Ok(Step::Done),
        }
    }

    /// A send and a receive under one request.
    fn begin_both(
        &mut self,
        place: u32,
        line: &mut Line,
        row: &Beat,
        send: &crate::schedule::Send,
        receive: &crate::schedule::Receive,
    ) -> Result<Step, Error> {
        let at = World::moment(line);
        let known = receive.from.map_or(NONE, |from| self.letters.channel((from.peer, line.id.rank, from.communicator, from.tag)));
        let channel = self.channel_or_outcome(line, known)?;
        let inward = channel.map(|channel| self.post(Lane::Channel(channel), at, true));
        let number = self.price(line.id.rank, send.to.peer, send.bytes, send.mode);
        let out = self.letters.channel((line.id.rank, send.to.peer, send.to.communicator, send.to.tag));
        let letter = self.send(place, Lane::Channel(out), number, send.to.peer, at, true);
        let price = self.prices[number as usize];
        line.now = if self.recorded().is_some() { self.as_recorded(line, row, None, price.bytes) } else { line.now + price.start };
        let slot = match (inward, price.rendezvous) {
            (Some(inward), true) => Slot::Both(letter, inward),
            (None, true) => Slot::Leaving(letter),
            (inward, false) => {
                self.letters.release(letter);
                inward.map_or(Slot::Sent { until: line.now }, Slot::Coming)
            }
        };
        self.requests[place as usize].make(slot);
        Ok(Step::Done)
    }

    fn access(&mut self, place: u32, line: &mut Line, row: &Beat, to: (u32, u32), (put, get): (u64, u64), how: How) {
        let (window, target) = to;
        let rank = line.id.rank;
        let number = self.price(rank, target, put.max(get), SendMode::Buffered);
        let price = self.prices[number as usize];
        let left = if price.occupies > 0.0 { line.now.max(self.out_free[place as usize]) } else { line.now };
        if price.occupies > 0.0 {
            self.out_free[place as usize] = left + price.occupies;
        }
        // What comes has to be asked for first.
        let there = left + price.wire() + if get > 0 { price.latency } else { 0.0 };
        line.now = if self.recorded().is_some() { self.as_recorded(line, row, None, price.bytes) } else { line.now + price.start };
        let until = there.max(line.now);
        let known = line.windows.make().accesses.entry((window, target)).or_insert(0.0);
        *known = known.max(until);
        if how == How::Request {
            self.requests[place as usize].make(Slot::Accessed { until });
        }
    }

    /// Before a fence, what was asked for must be there.
    pub fn finish_accesses(&mut self, line: &mut Line, join: &Join) {
        if let sintonia_recording::deed::Group::Object(window) = join.group {
            self.flush(line, window, None);
        }
    }

    /// Waits for the accesses of a line to a window.
    fn flush(&mut self, line: &mut Line, window: u32, target: Option<u32>) {
        let mut until = line.now;
        line.windows.make().accesses.retain(|(of, at), over| {
            let meant = *of == window && target.is_none_or(|target| target == *at);
            if meant {
                until = until.max(*over);
            }
            !meant
        });
        if self.recorded().is_none() {
            line.now = until;
        }
    }

    fn sync(&mut self, place: u32, line: &mut Line, row: &Beat, window: u32, sync: &Sync) -> Step {
        match sync {
            Sync::Post(ranks) => {
                line.windows.make().exposed.insert(window, ranks.clone());
                self.tell(place, line, ranks, window, OPENED);
                self.takes_its_time(line, row)
            }
            Sync::Start(ranks) => {
                line.windows.make().accessing.insert(window, ranks.clone());
                self.hear(place, line, row, ranks, window, OPENED)
            }
            Sync::Complete => {
                self.flush(line, window, None);
                let ranks = line.windows.make().accessing.remove(&window).unwrap_or_default();
                self.tell(place, line, &ranks, window, COMPLETED);
                self.takes_its_time(line, row)
            }
            Sync::Wait => {
                let ranks = line.windows.make().exposed.get(&window).cloned().unwrap_or_default();
                let step = self.hear(place, line, row, &ranks, window, COMPLETED);
                if step == Step::Done {
                    line.windows.make().exposed.remove(&window);
                }
                step
            }
            Sync::Lock { target: Some(target), exclusive } => self.lock(place, line, row, window, *target, *exclusive),
            Sync::Lock { target: None, .. } => self.takes_its_time(line, row),
            Sync::Unlock { target } => {
                self.flush(line, window, *target);
                let step = self.takes_its_time(line, row);
                if let Some(target) = target {
                    self.unlock(window, *target, line.now);
                }
                step
            }
            Sync::Flush { target } => {
                self.flush(line, window, *target);
                self.takes_its_time(line, row)
            }
        }
    }

    /// A call that waits for nobody.
    fn takes_its_time(&mut self, line: &mut Line, row: &Beat) -> Step {
        line.now = self.as_recorded(line, row, None, 0.0);
        Step::Done
    }

    /// Tells ranks something about a window.
    fn tell(&mut self, place: u32, line: &Line, ranks: &[u32], window: u32, what: i32) {
        for rank in ranks {
            let price = self.price(line.id.rank, *rank, 0, SendMode::Buffered);
            let lane = Lane::Passing((line.id.rank, *rank, WINDOW | window, what));
            let letter = self.send(place, lane, price, *rank, World::moment(line), true);
            self.letters.release(letter);
        }
    }

    /// Waits until ranks have told something about a window.
    fn hear(&mut self, place: u32, line: &mut Line, row: &Beat, ranks: &[u32], window: u32, what: i32) -> Step {
        if line.stage == Stage::Entered {
            let at = World::moment(line);
            let post = |rank: &u32| self.post(Lane::Passing((*rank, line.id.rank, WINDOW | window, what)), at, true);
            line.windows.make().heard = ranks.iter().map(post).collect();
        }
        if let Some(missing) = line.windows.make().heard.iter().copied().find(|letter| self.letters.get(*letter).arrived == UNKNOWN) {
            self.letters.get_mut(missing).receiver_waits = place;
            line.stage = Stage::Waits;
            return Step::Waits;
        }
        let mut needed: Option<Moment> = None;
        let mut now = line.now;
        for letter in std::mem::take(&mut line.windows.make().heard) {
            let sent = self.letters.get(letter).sent;
            needed = Some(needed.map_or(sent, |known| known.latest(sent)));
            now = self.take(place, letter, now);
        }
        line.now = if self.recorded().is_some() { self.as_recorded(line, row, needed, 0.0) } else { now };
        Step::Done
    }

    fn lock(&mut self, place: u32, line: &mut Line, row: &Beat, window: u32, target: u32, exclusive: bool) -> Step {
        // On the recorded network everyone waited for a lock as long as it was recorded to; on an ideal one only for those who hold it.
        if self.recorded().is_some_and(|network| !network.is_ideal()) {
            return self.takes_its_time(line, row);
        }
        if line.stage == Stage::Entered {
            self.locks.wanted.insert(place, Wanted { window, target, exclusive, granted: UNKNOWN });
            let number = self.price(line.id.rank, target, 0, SendMode::Buffered);
            self.decisions.ask(line.now + self.prices[number as usize].latency, Decision::Lock(place));
            line.stage = Stage::Waits;
            return Step::Waits;
        }
        match self.locks.wanted.get(&place).map(|wanted| wanted.granted) {
            Some(granted) if granted == UNKNOWN => Step::Waits,
            granted => {
                line.now = line.now.max(granted.unwrap_or(line.now));
                self.locks.wanted.remove(&place);
                Step::Done
            }
        }
    }

    /// A line asks for a lock at this moment: it gets it, or waits for its turn.
    pub fn grant(&mut self, at: f64, line: u32) {
        let Some(wanted) = self.locks.wanted.get(&line).copied() else { return };
        let lock = self.locks.locks.entry((wanted.window, wanted.target)).or_default();
        let is_free = lock.holders == 0 || !lock.exclusive && !wanted.exclusive && lock.queue.is_empty();
        if is_free {
            lock.holders += 1;
            lock.exclusive = wanted.exclusive;
            let granted = if lock.holders == 1 { at.max(lock.free) } else { at };
            self.give(line, granted);
        } else {
            lock.queue.push_back((line, wanted.exclusive));
        }
    }

    fn give(&mut self, line: u32, at: f64) {
        if let Some(wanted) = self.locks.wanted.get_mut(&line) {
            wanted.granted = at;
        }
        self.wake(line);
    }

    fn unlock(&mut self, window: u32, target: u32, at: f64) {
        let Some(lock) = self.locks.locks.get_mut(&(window, target)) else { return };
        lock.holders = lock.holders.saturating_sub(1);
        lock.free = lock.free.max(at);
        let mut given = Vec::new();
        while let Some((line, exclusive)) = lock.queue.front().copied() {
            if lock.holders > 0 && (exclusive || lock.exclusive) {
                break;
            }
            lock.queue.pop_front();
            lock.holders += 1;
            lock.exclusive = exclusive;
            given.push((line, lock.free));
        }
        for (line, at) in given {
            self.give(line, at);
        }
    }
}
