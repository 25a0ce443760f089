//! Replay state of a location (a thread of a rank).

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::collectives::MemberId;
use super::compiled::{CompiledChunk, LocalOperand};
use super::lazy_box::LazyBox;
use super::messages::{MessageId, NONE};
use crate::core_waits::LocationCoreWaits;
use crate::schedule::{CallReader, LocationId, ReplayAction, ScheduledCall};

/// A recorded call in compact form, since thousands of locations are replayed at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallRecord {
    /// Computation before the call in nanoseconds; negative if the gap was only polling.
    gap_ns: f32,
    /// Additional time before the call in which the location waited for a core, in nanoseconds.
    core_wait_ns: f32,
    /// Recorded duration in nanoseconds.
    duration_ns: f32,
    /// Index of the action in the compiled chunk.
    pub action: u32,
}

impl CallRecord {
    /// Time on a core since the previous call in seconds, computation or polling.
    #[inline]
    pub(super) fn busy_time(&self) -> f64 {
        f64::from(self.gap_ns.abs()) * 1e-9
    }

    /// Time since the previous call in seconds, computation or not.
    #[inline]
    pub(super) fn gap_time(&self) -> f64 {
        f64::from(self.gap_ns.abs() + self.core_wait_ns) * 1e-9
    }

    /// Time before the call in which the location waited for a core, in seconds.
    #[inline]
    pub(super) fn core_wait_time(&self) -> f64 {
        f64::from(self.core_wait_ns) * 1e-9
    }

    /// Whether the location only polled since the previous call.
    #[inline]
    pub(super) fn is_idle_gap(&self) -> bool {
        self.gap_ns < 0.0
    }

    /// Recorded duration in seconds.
    #[inline]
    pub(super) fn duration(&self) -> f64 {
        f64::from(self.duration_ns) * 1e-9
    }

    /// Swaps the computation before two calls.
    pub(super) fn swap_computation(&mut self, other: &mut CallRecord) {
        std::mem::swap(&mut self.gap_ns, &mut other.gap_ns);
        std::mem::swap(&mut self.core_wait_ns, &mut other.core_wait_ns);
    }
}

impl From<&ScheduledCall> for CallRecord {
    #[inline]
    fn from(call: &ScheduledCall) -> CallRecord {
        let idle = call.compute_ns == 0 && call.idle_ns > 0;
        let before_ns = if idle { -(call.idle_ns as f32) } else { call.compute_ns as f32 };
        let core_wait_ns = call.core_wait_ns as f32;
        CallRecord { gap_ns: before_ns, core_wait_ns, duration_ns: call.duration_ns as f32, action: call.action }
    }
}

/// State of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RequestSlot {
    /// Unused or complete.
    Empty,
    /// A send that completes at this time.
    Sent { end_time: f64 },
    /// A send that completes when it is received.
    PendingSend(MessageId),
    /// A receive.
    PendingReceive(MessageId),
    /// A send and a receive with one request.
    PendingSendReceive(MessageId, MessageId),
    /// A collective.
    Collective(u32),
    /// An RMA access that completes at this time.
    RmaAccess { end_time: f64 },
}

/// Requests of a location, by number.
#[derive(Default)]
pub(super) struct RequestSlots {
    slots: std::collections::VecDeque<RequestSlot>,
    /// Number of the first slot.
    base: u64,
    long_lived: LazyBox<LongLivedRequests>,
}

/// Requests that outlive an iteration.
#[derive(Default)]
struct LongLivedRequests {
    /// Started persistent requests, and others that stayed open for long.
    retained: FxHashMap<u64, RequestSlot>,
    /// Persistent operations by request number.
    persistent: FxHashMap<u64, PersistentOperation>,
}

/// A persistent operation.
#[derive(Clone, Debug)]
pub(super) struct PersistentOperation {
    /// The operation.
    pub action: ReplayAction,
    /// Member id, for a collective.
    pub member: MemberId,
    /// Whether it is started and not complete.
    pub active: bool,
}

/// More open requests than this are moved to a map: they are hardly ever completed.
const MAX_OPEN: usize = 1 << 16;

impl RequestSlots {
    /// The number of the next request.
    pub(super) fn next_number(&self) -> u64 {
        self.base + self.slots.len() as u64
    }

    /// Sets the number of the next request.
    pub(super) fn set_next(&mut self, number: u64) {
        if number == self.next_number() {
            return;
        }
        for (slot, number) in self.slots.drain(..).zip(self.base..).filter(|(slot, _)| *slot != RequestSlot::Empty) {
            self.long_lived.get_or_default().retained.insert(number, slot);
        }
        self.base = number;
    }

    /// Creates the next request.
    #[inline]
    pub(super) fn push(&mut self, slot: RequestSlot) -> u64 {
        let number = self.next_number();
        if self.slots.is_empty() && slot == RequestSlot::Empty {
            self.base += 1;
            return number;
        }
        self.slots.push_back(slot);
        if self.slots.len() > MAX_OPEN {
            let slot = self.slots.pop_front().unwrap_or(RequestSlot::Empty);
            if !matches!(slot, RequestSlot::Empty | RequestSlot::Sent { .. }) {
                self.long_lived.get_or_default().retained.insert(self.base, slot);
            }
            self.base += 1;
        }
        number
    }

    /// State of a request.
    #[inline]
    pub(super) fn get(&self, number: u64) -> RequestSlot {
        match number.checked_sub(self.base).and_then(|index| self.slots.get(index as usize)) {
            Some(RequestSlot::Empty) | None => {
                self.long_lived.get().and_then(|lasting| lasting.retained.get(&number)).copied().unwrap_or(RequestSlot::Empty)
            }
            Some(slot) => *slot,
        }
    }

    /// Marks a request as complete.
    #[inline]
    pub(super) fn clear(&mut self, number: u64) {
        match number.checked_sub(self.base).and_then(|index| self.slots.get_mut(index as usize)) {
            Some(slot) if *slot != RequestSlot::Empty => {
                *slot = RequestSlot::Empty;
                while self.slots.front() == Some(&RequestSlot::Empty) {
                    self.slots.pop_front();
                    self.base += 1;
                }
            }
            _ => _ = self.long_lived.get_mut().and_then(|lasting| lasting.retained.remove(&number)),
        }
        if let Some(defined) = self.long_lived.get_mut().and_then(|lasting| lasting.persistent.get_mut(&number)) {
            defined.active = false;
        }
    }

    /// Creates the next request, a persistent one.
    pub(super) fn init_persistent(&mut self, action: ReplayAction, member: MemberId) {
        let number = self.push(RequestSlot::Empty);
        self.long_lived.get_or_default().persistent.insert(number, PersistentOperation { action, member, active: false });
    }

    /// The operation of a persistent request.
    pub(super) fn persistent(&self, number: u64) -> Option<&PersistentOperation> {
        self.long_lived.get()?.persistent.get(&number)
    }

    /// Starts a persistent request.
    pub(super) fn start(&mut self, number: u64, slot: RequestSlot) {
        let lasting = self.long_lived.get_or_default();
        lasting.retained.insert(number, slot);
        if let Some(defined) = lasting.persistent.get_mut(&number) {
            defined.active = true;
        }
    }

    /// Frees a request.
    pub(super) fn free(&mut self, number: u64) {
        self.clear(number);
        if let Some(lasting) = self.long_lived.get_mut() {
            lasting.persistent.remove(&number);
        }
    }
}

/// Progress of a location in its current call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallStage {
    /// Computing before the call.
    Computing,
    /// Entered the call.
    Entered,
    /// In a wildcard receive whose match is not decided yet.
    AwaitingDecision,
    /// The match is decided.
    Decided,
    /// Waiting for a message, a collective or a lock; depends on the call.
    Waiting,
}

/// RMA state of a location.
#[derive(Default)]
pub(super) struct RmaState {
    /// Completion time of its accesses, by window and rank.
    pub accesses: FxHashMap<(u32, u32), f64>,
    /// Origin ranks of the exposure epoch, by window.
    pub exposure_groups: FxHashMap<u32, Vec<u32>>,
    /// Target ranks of the access epoch, by window.
    pub access_groups: FxHashMap<u32, Vec<u32>>,
    /// Messages that a synchronisation call waits for.
    pub sync_messages: Vec<MessageId>,
}

/// State of a location.
pub(super) struct LocationState<'a> {
    pub id: LocationId,
    pub reader: Box<dyn CallReader + 'a>,
    pub records: Vec<CallRecord>,
    pub next_record: usize,
    /// The compiled calls of the current chunk.
    pub compiled: Rc<CompiledChunk>,
    /// Its own operands.
    pub operands: Vec<LocalOperand>,
    /// Simulated time.
    pub now: f64,
    /// Recorded time.
    pub recorded_now: f64,
    /// Begin of the computation before the current call.
    pub computed_from: f64,
    /// Enter time of the current call.
    pub enter_time: f64,
    /// Recorded enter time.
    pub recorded_enter_time: f64,
    /// Recorded time since which it only waits: the first unsuccessful poll, else the enter time.
    pub recorded_wait_start: f64,
    /// Time of its latest unsuccessful polls and between them; counts as work if it then does something else.
    pub poll_time: f64,
    pub stage: CallStage,
    /// How many requests of the current call are known to be complete.
    pub n_completed: u32,
    /// Messages of the current call: sent, received.
    pub held_messages: [MessageId; 2],
    /// Slowdown of computation relative to the recording.
    pub slowdown: f64,
    /// When it waited for a core, if that is removed.
    pub core_waits: Option<Box<LocationCoreWaits>>,
    /// Sends and receives started outside MPI's progress: they continue when the process is in MPI again.
    pub unprogressed: Vec<(MessageId, bool)>,
    pub rma: LazyBox<RmaState>,
    /// How many calls it has made.
    pub n_calls: u64,
    /// Site of the previous call.
    pub last_site: u32,
    /// When `MPI_Init` returned.
    pub init_time: f64,
    pub ended: bool,
    /// When it reached `MPI_Finalize` or its end.
    pub end_time: f64,
    /// Recorded end time.
    pub recorded_end_time: f64,
}

impl<'a> LocationState<'a> {
    /// A location at its start.
    pub(super) fn new(id: LocationId, reader: Box<dyn CallReader + 'a>, slowdown: f64) -> LocationState<'a> {
        LocationState {
            id,
            reader,
            records: Vec::new(),
            next_record: 0,
            compiled: Rc::default(),
            operands: Vec::new(),
            now: 0.0,
            recorded_now: 0.0,
            computed_from: 0.0,
            enter_time: 0.0,
            recorded_enter_time: 0.0,
            recorded_wait_start: 0.0,
            poll_time: 0.0,
            stage: CallStage::Computing,
            n_completed: 0,
            held_messages: [NONE; 2],
            slowdown,
            core_waits: None,
            unprogressed: Vec::new(),
            rma: LazyBox::default(),
            n_calls: 0,
            last_site: NONE,
            init_time: 0.0,
            ended: false,
            end_time: 0.0,
            recorded_end_time: 0.0,
        }
    }
}
