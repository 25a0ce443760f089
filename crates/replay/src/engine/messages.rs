//! Pending messages and message matching.
//!
//! MPI matches in order: the first receive posted for a source, communicator and tag gets the first message sent there. A channel is
//! therefore a queue of unmatched sends or receives, and a [`PendingMessage`] holds what its two ends know so far.

use rustc_hash::FxHashMap;

/// Index of a message.
pub(super) type MessageId = u32;

/// No message, no waiter.
pub(super) const NONE: u32 = u32::MAX;

/// A waiting location, or a collective part if the highest bit is set.
pub(super) type Waiter = u32;

/// Times are seconds since MPI_Init; this one is not known yet.
pub(super) const UNKNOWN_TIME: f64 = f64::INFINITY;

/// A simulated time and the corresponding recorded time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimePair {
    /// Simulated.
    pub simulated: f64,
    /// Recorded.
    pub recorded: f64,
    /// Simulated begin of the computation before it.
    pub computed_from: f64,
}

impl TimePair {
    /// Not known yet.
    pub(super) const UNKNOWN: TimePair = TimePair { simulated: UNKNOWN_TIME, recorded: UNKNOWN_TIME, computed_from: UNKNOWN_TIME };

    /// Whether it is known.
    #[inline]
    pub(super) fn is_known(self) -> bool {
        self.simulated < UNKNOWN_TIME
    }

    /// The later simulated time, and the later recorded time.
    #[inline]
    pub(super) fn max(self, other: TimePair) -> TimePair {
        let later = if other.simulated > self.simulated { other } else { self };
        TimePair { recorded: self.recorded.max(other.recorded), ..later }
    }

    /// The same if the computation before it provides its result in this number of parts, and the receiver can continue with the first.
    pub(super) fn in_parts(self, parts: f64) -> TimePair {
        TimePair { simulated: self.computed_from + (self.simulated - self.computed_from) / parts, ..self }
    }
}

/// A message whose ends may not both be known.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingMessage {
    /// When the send was posted.
    pub sent: TimePair,
    /// When the receive was posted.
    pub posted: TimePair,
    /// When the sender is in MPI to make progress on it.
    pub sender_ready_time: f64,
    /// When the receiver is in MPI to make progress on it.
    pub receiver_ready_time: f64,
    /// When it left the sender.
    pub departure_time: f64,
    /// When it arrived completely.
    pub arrival_time: f64,
    /// Index into the message costs.
    pub cost_id: u32,
    /// The sending location, whose injection port it occupies.
    pub sender: u32,
    /// Destination rank.
    pub destination: u32,
    /// Whether the network model determines its arrival.
    pub in_network: bool,
    /// Who waits for it to leave.
    pub send_waiter: Waiter,
    /// Who waits for it to arrive.
    pub receive_waiter: Waiter,
    /// The indexed channel in which it is queued, if any.
    pub channel: u32,
    /// Next one in its channel.
    next: MessageId,
    /// How many ends still refer to it.
    open_ends: u8,
}

/// Matching queue of a channel.
#[derive(Clone, Copy, Debug)]
struct MatchingQueue {
    first: MessageId,
    last: MessageId,
    /// A location waiting in a probe.
    prober: Waiter,
}

const EMPTY_QUEUE: MatchingQueue = MatchingQueue { first: NONE, last: NONE, prober: NONE };

/// Matching key: source rank, destination rank, communicator, tag.
pub(super) type MatchKey = (u32, u32, u32, i32);

/// All pending messages and matching queues.
#[derive(Default)]
pub(super) struct MatchingQueues {
    messages: Vec<PendingMessage>,
    free: Vec<MessageId>,
    channels: Vec<MatchingQueue>,
    /// Source rank of each channel.
    senders: Vec<u32>,
    channel_ids: FxHashMap<MatchKey, u32>,
    /// Channels that exist only while non-empty: those of collectives, which can be very many.
    transient: FxHashMap<MatchKey, MatchingQueue>,
}

/// The channel in which a message is matched.
#[derive(Clone, Copy, Debug)]
pub(super) enum ChannelKey {
    /// A permanent channel, by index.
    Indexed(u32),
    /// A channel that exists only while non-empty.
    Transient(MatchKey),
}

impl MatchingQueues {
    /// Index of a channel, created on first use.
    pub(super) fn channel_id(&mut self, key: MatchKey) -> u32 {
        let next = self.channels.len() as u32;
        let channel_id = *self.channel_ids.entry(key).or_insert(next);
        if channel_id == next {
            self.channels.push(EMPTY_QUEUE);
            self.senders.push(key.0);
        }
        channel_id
    }

    /// Source rank of a channel.
    pub(super) fn sender(&self, channel: u32) -> u32 {
        self.senders[channel as usize]
    }

    /// Source rank of each channel.
    pub(super) fn senders(&self) -> Vec<u32> {
        let mut senders = vec![NONE; self.channels.len()];
        self.channel_ids.iter().for_each(|((from, ..), channel_id)| senders[*channel_id as usize] = *from);
        senders
    }

    #[inline]
    pub(super) fn get(&self, id: MessageId) -> &PendingMessage {
        &self.messages[id as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: MessageId) -> &mut PendingMessage {
        &mut self.messages[id as usize]
    }

    /// The message for a new send: a posted receive, or a new entry.
    #[inline]
    pub(super) fn match_send(&mut self, key: ChannelKey) -> MessageId {
        self.match_or_queue(key, |message| message.posted.is_known() && !message.sent.is_known())
    }

    /// The message for a new receive: an unexpected message, or a new entry.
    #[inline]
    pub(super) fn match_receive(&mut self, key: ChannelKey) -> MessageId {
        self.match_or_queue(key, |message| message.sent.is_known() && !message.posted.is_known())
    }

    /// The first entry of a channel if it is of the other kind, else a new one at the end.
    #[inline]
    fn match_or_queue(&mut self, key: ChannelKey, has_other_end: impl Fn(&PendingMessage) -> bool) -> MessageId {
        let channel = match key {
            ChannelKey::Indexed(channel_id) => self.channels[channel_id as usize],
            ChannelKey::Transient(key) => self.transient.get(&key).copied().unwrap_or(EMPTY_QUEUE),
        };
        let first = channel.first;
        if first != NONE && has_other_end(&self.messages[first as usize]) {
            let next = self.messages[first as usize].next;
            let last = if next == NONE { NONE } else { channel.last };
            self.store_queue(key, MatchingQueue { first: next, last, ..channel });
            return first;
        }
        let new = self.allocate(if let ChannelKey::Indexed(channel_id) = key { channel_id } else { NONE });
        if channel.last != NONE {
            self.messages[channel.last as usize].next = new;
        }
        self.store_queue(key, MatchingQueue { first: if first == NONE { new } else { first }, last: new, ..channel });
        new
    }

    #[inline]
    fn store_queue(&mut self, key: ChannelKey, channel: MatchingQueue) {
        match key {
            ChannelKey::Indexed(channel_id) => self.channels[channel_id as usize] = channel,
            ChannelKey::Transient(key) if channel.first == NONE => _ = self.transient.remove(&key),
            ChannelKey::Transient(key) => _ = self.transient.insert(key, channel),
        }
    }

    #[inline]
    fn allocate(&mut self, channel: u32) -> MessageId {
        let message = PendingMessage {
            sent: TimePair::UNKNOWN,
            posted: TimePair::UNKNOWN,
            sender_ready_time: UNKNOWN_TIME,
            receiver_ready_time: UNKNOWN_TIME,
            departure_time: UNKNOWN_TIME,
            arrival_time: UNKNOWN_TIME,
            cost_id: 0,
            sender: NONE,
            destination: NONE,
            in_network: false,
            send_waiter: NONE,
            receive_waiter: NONE,
            channel,
            next: NONE,
            open_ends: 2,
        };
        match self.free.pop() {
            Some(index) => {
                self.messages[index as usize] = message;
                index
            }
            None => {
                self.messages.push(message);
                (self.messages.len() - 1) as MessageId
            }
        }
    }

    /// One end no longer needs the message.
    #[inline]
    pub(super) fn release(&mut self, id: MessageId) {
        let message = &mut self.messages[id as usize];
        message.open_ends -= 1;
        if message.open_ends == 0 {
            self.free.push(id);
        }
    }

    /// The first unexpected message of a channel.
    pub(super) fn peek(&self, channel: u32) -> Option<MessageId> {
        let first = self.channels[channel as usize].first;
        (first != NONE && self.messages[first as usize].sent.is_known()).then_some(first)
    }

    /// Sets who is woken when a message is sent into a channel.
    pub(super) fn set_prober(&mut self, channel: u32, prober: Waiter) {
        self.channels[channel as usize].prober = prober;
    }

    /// The entries of a channel in order.
    fn queue(&self, channel: u32) -> impl Iterator<Item = MessageId> {
        let first = Some(self.channels[channel as usize].first).filter(|first| *first != NONE);
        std::iter::successors(first, |message| Some(self.messages[*message as usize].next).filter(|next| *next != NONE))
    }

    /// Cancels a posted receive.
    pub(super) fn cancel_receive(&mut self, id: MessageId) {
        let channel_id = self.get(id).channel;
        if channel_id != NONE && self.queue(channel_id).any(|message| message == id) {
            let remaining: Vec<MessageId> = self.queue(channel_id).filter(|message| *message != id).collect();
            let prober = self.channels[channel_id as usize].prober;
            let (first, last) = (remaining.first().copied().unwrap_or(NONE), remaining.last().copied().unwrap_or(NONE));
            self.channels[channel_id as usize] = MatchingQueue { first, last, prober };
            for (message, next) in remaining.iter().zip(remaining.iter().skip(1).copied().chain([NONE])) {
                self.messages[*message as usize].next = next;
            }
            self.release(id);
        }
        self.release(id);
    }

    /// Takes the waiter in a probe, if any.
    #[inline]
    pub(super) fn take_prober(&mut self, key: ChannelKey) -> Waiter {
        match key {
            ChannelKey::Indexed(channel_id) => std::mem::replace(&mut self.channels[channel_id as usize].prober, NONE),
            ChannelKey::Transient(_) => NONE,
        }
    }

    /// Counts unreceived messages and unmatched receives, and returns the first few of their keys.
    pub(super) fn unmatched(&self) -> (u64, u64, Vec<MatchKey>) {
        let (mut sent, mut posted, mut keys) = (0, 0, Vec::new());
        for (key, channel_id) in &self.channel_ids {
            for (index, message) in self.queue(*channel_id).enumerate() {
                if index == 0 {
                    keys.push(*key);
                }
                if self.messages[message as usize].sent.is_known() { sent += 1 } else { posted += 1 }
            }
        }
        keys.sort_unstable();
        keys.truncate(8);
        (sent, posted, keys)
    }
}
