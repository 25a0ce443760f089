//! Messages under way, and how sends and receives find each other.
//!
//! MPI matches in order: the first receive that a rank begins for a source, communicator and tag gets the first message sent there. So a
//! channel is a queue of those that still lack their other end, and a [`Letter`] is where the two ends leave word for each other.

use sintonia_recording::QuickMap;

/// A letter, by place.
pub type LetterId = u32;

/// No letter, no waiter.
pub const NONE: u32 = u32::MAX;

/// Somebody who waits: a line, or an errand if the highest bit is set.
pub type Waiter = u32;

/// Moments are seconds since MPI was started; this one is not known yet.
pub const UNKNOWN: f64 = f64::INFINITY;

/// A moment in the replay, and the same one in the recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// In the replay.
    pub now: f64,
    /// In the recording.
    pub recorded: f64,
}

impl Moment {
    /// Not known yet.
    pub const UNKNOWN: Moment = Moment { now: UNKNOWN, recorded: UNKNOWN };

    /// Whether it is known.
    #[inline]
    pub fn is_known(self) -> bool {
        self.now < UNKNOWN
    }

    /// The later of two, in the replay and in the recording.
    #[inline]
    pub fn latest(self, other: Moment) -> Moment {
        Moment { now: self.now.max(other.now), recorded: self.recorded.max(other.recorded) }
    }
}

/// A message, as far as its two ends have come.
#[derive(Clone, Copy, Debug)]
pub struct Letter {
    /// When the sender was ready to let it go.
    pub sent: Moment,
    /// When the receiver was ready to take it.
    pub posted: Moment,
    /// When the sender is in MPI to let it go, and the receiver to take it.
    pub sender_ready: f64,
    /// See `sender_ready`.
    pub receiver_ready: f64,
    /// When it left.
    pub left: f64,
    /// When all of it was there.
    pub arrived: f64,
    /// What it costs, by place in the prices.
    pub price: u32,
    /// The sending line, whose way onto the network it takes.
    pub sender: u32,
    /// The rank that it goes to.
    pub to: u32,
    /// Whether it is on its way through a network that decides when it arrives.
    pub begun: bool,
    /// Who waits for it to leave, and who for it to arrive.
    pub sender_waits: Waiter,
    /// See `sender_waits`.
    pub receiver_waits: Waiter,
    /// The channel in which it waits for its other end, if that has a number.
    pub channel: u32,
    /// The next one of its channel.
    next: LetterId,
    /// How many ends still need it.
    ends: u8,
}

/// Messages that match each other in order.
#[derive(Clone, Copy, Debug)]
struct Channel {
    first: LetterId,
    last: LetterId,
    /// A line that looks for a message without taking it.
    watcher: Waiter,
}

const EMPTY: Channel = Channel { first: NONE, last: NONE, watcher: NONE };

/// Who sends to whom: rank, rank, communicator, tag.
pub type Key = (u32, u32, u32, i32);

/// All messages under way.
#[derive(Default)]
pub struct Letters {
    letters: Vec<Letter>,
    free: Vec<LetterId>,
    channels: Vec<Channel>,
    /// Who sends through each channel.
    senders: Vec<u32>,
    numbers: QuickMap<Key, u32>,
    /// Channels that are forgotten when nothing is in them: those of collective operations, of which there may be very many.
    passing: QuickMap<Key, Channel>,
}

/// Where a message is matched.
#[derive(Clone, Copy, Debug)]
pub enum Lane {
    /// A channel, by number.
    Channel(u32),
    /// One that is there as long as there is something in it.
    Passing(Key),
}

impl Letters {
    /// The number of a channel.
    pub fn channel(&mut self, key: Key) -> u32 {
        let next = self.channels.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.channels.push(EMPTY);
            self.senders.push(key.0);
        }
        number
    }

    /// Who sends through a channel.
    pub fn sender(&self, channel: u32) -> u32 {
        self.senders[channel as usize]
    }

    /// The sending rank of each channel.
    pub fn senders(&self) -> Vec<u32> {
        let mut senders = vec![NONE; self.channels.len()];
        self.numbers.iter().for_each(|((from, ..), number)| senders[*number as usize] = *from);
        senders
    }

    /// A letter.
    #[inline]
    pub fn get(&self, id: LetterId) -> &Letter {
        &self.letters[id as usize]
    }

    /// A letter, to be written on.
    #[inline]
    pub fn get_mut(&mut self, id: LetterId) -> &mut Letter {
        &mut self.letters[id as usize]
    }

    /// The letter that a sender puts its message in.
    #[inline]
    pub fn send(&mut self, lane: Lane) -> LetterId {
        self.meet(lane, |letter| letter.posted.is_known() && !letter.sent.is_known())
    }

    /// The letter that a receiver will get its message from.
    #[inline]
    pub fn post(&mut self, lane: Lane) -> LetterId {
        self.meet(lane, |letter| letter.sent.is_known() && !letter.posted.is_known())
    }

    /// The first letter of a channel if the other end has come, else a new one at its end.
    #[inline]
    fn meet(&mut self, lane: Lane, has_other_end: impl Fn(&Letter) -> bool) -> LetterId {
        let channel = match lane {
            Lane::Channel(number) => self.channels[number as usize],
            Lane::Passing(key) => self.passing.get(&key).copied().unwrap_or(EMPTY),
        };
        let first = channel.first;
        if first != NONE && has_other_end(&self.letters[first as usize]) {
            let next = self.letters[first as usize].next;
            let last = if next == NONE { NONE } else { channel.last };
            self.put(lane, Channel { first: next, last, ..channel });
            return first;
        }
        let new = self.make(if let Lane::Channel(number) = lane { number } else { NONE });
        if channel.last != NONE {
            self.letters[channel.last as usize].next = new;
        }
        self.put(lane, Channel { first: if first == NONE { new } else { first }, last: new, ..channel });
        new
    }

    #[inline]
    fn put(&mut self, lane: Lane, channel: Channel) {
        match lane {
            Lane::Channel(number) => self.channels[number as usize] = channel,
            Lane::Passing(key) if channel.first == NONE => _ = self.passing.remove(&key),
            Lane::Passing(key) => _ = self.passing.insert(key, channel),
        }
    }

    #[inline]
    fn make(&mut self, channel: u32) -> LetterId {
        let letter = Letter {
            sent: Moment::UNKNOWN,
            posted: Moment::UNKNOWN,
            sender_ready: UNKNOWN,
            receiver_ready: UNKNOWN,
            left: UNKNOWN,
            arrived: UNKNOWN,
            price: 0,
            sender: NONE,
            to: NONE,
            begun: false,
            sender_waits: NONE,
            receiver_waits: NONE,
            channel,
            next: NONE,
            ends: 2,
        };
        match self.free.pop() {
            Some(place) => {
                self.letters[place as usize] = letter;
                place
            }
            None => {
                self.letters.push(letter);
                (self.letters.len() - 1) as LetterId
            }
        }
    }

    /// One end has no more use for a letter.
    #[inline]
    pub fn release(&mut self, id: LetterId) {
        let letter = &mut self.letters[id as usize];
        letter.ends -= 1;
        if letter.ends == 0 {
            self.free.push(id);
        }
    }

    /// The first message that lies in a channel and has not been taken.
    pub fn peek(&self, channel: u32) -> Option<LetterId> {
        let first = self.channels[channel as usize].first;
        (first != NONE && self.letters[first as usize].sent.is_known()).then_some(first)
    }

    /// Lets somebody be woken when a message is sent into a channel.
    pub fn watch(&mut self, channel: u32, watcher: Waiter) {
        self.channels[channel as usize].watcher = watcher;
    }

    /// The letters of a channel in order.
    fn queue(&self, channel: u32) -> impl Iterator<Item = LetterId> {
        let first = Some(self.channels[channel as usize].first).filter(|first| *first != NONE);
        std::iter::successors(first, |letter| Some(self.letters[*letter as usize].next).filter(|next| *next != NONE))
    }

    /// A receive is given up: nobody gets its letter any more.
    pub fn withdraw(&mut self, id: LetterId) {
        let number = self.get(id).channel;
        if number != NONE && self.queue(number).any(|letter| letter == id) {
            let left: Vec<LetterId> = self.queue(number).filter(|letter| *letter != id).collect();
            let watcher = self.channels[number as usize].watcher;
            let (first, last) = (left.first().copied().unwrap_or(NONE), left.last().copied().unwrap_or(NONE));
            self.channels[number as usize] = Channel { first, last, watcher };
            for (letter, next) in left.iter().zip(left.iter().skip(1).copied().chain([NONE])) {
                self.letters[*letter as usize].next = next;
            }
            self.release(id);
        }
        self.release(id);
    }

    /// Who is to be woken by a message in a channel.
    #[inline]
    pub fn take_watcher(&mut self, lane: Lane) -> Waiter {
        match lane {
            Lane::Channel(number) => std::mem::replace(&mut self.channels[number as usize].watcher, NONE),
            Lane::Passing(_) => NONE,
        }
    }

    /// Messages that were sent but never received, and receives that got nothing: how many, and the channels of the first few.
    pub fn left_over(&self) -> (u64, u64, Vec<Key>) {
        let (mut sent, mut posted, mut keys) = (0, 0, Vec::new());
        for (key, number) in &self.numbers {
            for (place, letter) in self.queue(*number).enumerate() {
                if place == 0 && keys.len() < 8 {
                    keys.push(*key);
                }
                if self.letters[letter as usize].sent.is_known() { sent += 1 } else { posted += 1 }
            }
        }
        keys.sort_unstable();
        (sent, posted, keys)
    }
}
