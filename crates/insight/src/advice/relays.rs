//! What each rank passes on: the messages it receives, computes with, and answers or forwards.
//!
//! Pipelines, chains of exchanges, task farms, and requests with replies differ in who receives from whom before sending to whom. Only what
//! happens between two synchronisations of all ranks counts: a collective ends what came before it.

use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;
use sintonia_program::history::{CallId, Location};
use sintonia_recording::raw;

use super::site_groups::SiteGroups;
use super::what_if::call_descriptor;
use crate::segment;
use crate::wait_states::WaitInstance;

/// A rank that receives from one rank and then sends to another, or back to the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct Relay {
    /// The rank.
    pub rank: u32,
    /// The site of the call that completes the receive.
    pub receive_site: u32,
    /// The site of the call that sends.
    pub send_site: u32,
    /// The sender of the received message.
    pub from: u32,
    /// The receiver of the sent message.
    pub to: u32,
}

/// Sums over the executions of a relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct RelayTotals {
    /// Number of executions.
    pub count: u64,
    /// Nanoseconds of computation before the receive, since the last send or collective.
    pub before_ns: i64,
    /// Nanoseconds of computation between the receive and the send.
    pub between_ns: i64,
    /// Bytes sent.
    pub bytes: u64,
    /// Executions in which the receive was a wildcard receive.
    pub wildcards: u64,
    /// Nanoseconds of waiting for late senders in the receives.
    pub waited_ns: i64,
    /// When the first message was sent.
    pub first_ns: i64,
}

impl RelayTotals {
    pub(super) fn add(&mut self, other: &RelayTotals) {
        self.first_ns = if self.count == 0 { other.first_ns } else { self.first_ns.min(other.first_ns) };
        self.count += other.count;
        self.before_ns += other.before_ns;
        self.between_ns += other.between_ns;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.wildcards += other.wildcards;
        self.waited_ns += other.waited_ns;
    }

    /// Mean computation between a receive and the send, in nanoseconds.
    pub(super) fn mean_between_ns(&self) -> i64 {
        self.between_ns / self.count.max(1) as i64
    }

    /// Mean number of bytes sent.
    pub(super) fn mean_bytes(&self) -> u64 {
        self.bytes / self.count.max(1)
    }
}

/// The relays of a rank or of all ranks.
pub type Relays = BTreeMap<Relay, RelayTotals>;

/// A rank that receives more messages before it sends passes none of them on: it exchanges with many.
const MAX_RECEIVED: usize = 8;

/// A rank that passes messages on between more pairs of ranks exchanges with many: it is no stage of a pipeline. The limit also keeps what all
/// processes gather from growing with the square of the number of ranks.
const MAX_FORWARDED_PAIRS: usize = 256;

/// Receives, then computation, then sends.
#[derive(Default)]
struct RelayBlock {
    /// The received messages: site, sender, whether it was a wildcard receive, and how long it waited.
    received: Vec<(u32, u32, bool, i64)>,
    before_ns: i64,
    between_ns: i64,
    /// Computation after the first send, which belongs to the next block.
    after_ns: i64,
    has_sent: bool,
}

impl RelayBlock {
    fn compute(&mut self, ns: i64) {
        match (self.has_sent, self.received.is_empty()) {
            (true, _) => self.after_ns += ns,
            (false, true) => self.before_ns += ns,
            (false, false) => self.between_ns += ns,
        }
    }
}

/// Finds the relays of a location, given its waits.
pub(super) fn location_relays(location: &Location, waits: &[WaitInstance], sites: &SiteGroups) -> FxHashMap<Relay, RelayTotals> {
    let mut relays: FxHashMap<Relay, RelayTotals> = FxHashMap::default();
    let mut block = RelayBlock::default();
    let (mut sent, mut received, mut collectives) =
        (location.sent.iter().peekable(), location.received.iter().peekable(), location.collectives.iter().peekable());
    let mut waits = waits.iter().filter(|wait| wait.pattern.kind.starts_with("late_sender")).peekable();
    for row in 0..location.len() as u32 {
        if row > 0 {
            block.compute(segment::segment_ns(location, row as usize));
        }
        let site = || sites.representative(segment::call_site(location, row as usize));
        let mut waited_ns = 0;
        while let Some(wait) = waits.next_if(|wait| wait.row <= row) {
            waited_ns += if wait.row == row { wait.ns } else { 0 };
        }
        // One call may start several collectives.
        while collectives.next_if(|collective| collective.row <= row).is_some() {
            block = RelayBlock::default();
        }
        while let Some(message) = sent.next_if(|message| message.row <= row) {
            if message.receiver == CallId::NONE || message.receiver.rank == location.rank {
                continue;
            }
            let passed_on = if block.received.len() > MAX_RECEIVED { &[] } else { &block.received[..] };
            for (receive_site, from, is_wildcard, waited_ns) in passed_on {
                let relay =
                    Relay { rank: location.rank, receive_site: *receive_site, send_site: site(), from: *from, to: message.receiver.rank };
                relays.entry(relay).or_default().add(&RelayTotals {
                    count: 1,
                    before_ns: block.before_ns,
                    between_ns: block.between_ns,
                    bytes: message.bytes,
                    wildcards: (*is_wildcard).into(),
                    waited_ns: *waited_ns,
                    first_ns: location.calls.enter[row as usize],
                });
            }
            block.has_sent = true;
        }
        while let Some(message) = received.next_if(|message| message.row <= row) {
            if !message.consumed || message.sender == CallId::NONE || message.sender.rank == location.rank {
                continue;
            }
            if block.has_sent {
                block = RelayBlock { before_ns: block.after_ns, ..RelayBlock::default() };
            }
            let is_wildcard = call_descriptor(location, row as usize).recv_tag == raw::ANY;
            if block.received.len() > MAX_RECEIVED {
                continue;
            }
            block.received.push((site(), message.sender.rank, is_wildcard, std::mem::take(&mut waited_ns)));
        }
    }
    if relays.keys().filter(|relay| relay.from != relay.to).count() > MAX_FORWARDED_PAIRS {
        relays.retain(|relay, _| relay.from == relay.to);
    }
    relays
}
