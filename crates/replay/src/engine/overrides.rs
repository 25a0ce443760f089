//! Call overrides during a replay.

use sintonia_mpi::FunctionRole;

use super::core_waits::Dependency;
use super::location::{CallRecord, LocationState};
use super::messages::TimePair;
use super::state::ReplayState;
use crate::call_overrides::{self, CallIndex, CallOverride, CallOverrides, CallSignature, RepetitionTracker};
use crate::schedule::{DescribedAction, SendMode};

/// State of the call overrides.
pub(super) struct OverrideState<'a> {
    overrides: &'a CallOverrides,
    rank_count: f64,
    /// How far each line has come.
    locations: Vec<LocationOverrides>,
}

#[derive(Default)]
struct LocationOverrides {
    /// Override of each action of the current chunk.
    actions: Vec<ActionOverride>,
    /// The previous calls that could be merged.
    repetitions: RepetitionTracker,
    /// When the next call can be entered: an overlapped call may still be running.
    ready_time: f64,
    /// Dependencies deferred to later calls.
    deferred_needs: Vec<(CallIndex, TimePair)>,
}

/// Override of an action.
#[derive(Clone, Copy)]
struct ActionOverride {
    /// Bit set of [`CallOverride`].
    mask: u16,
    sends: bool,
    /// Its signature if it could be merged with others.
    mergeable: Option<CallSignature>,
    /// Bytes that it moves.
    bytes: u64,
    /// Seconds by which what it receives is there earlier.
    earlier_s: f64,
    /// Factor on its own time.
    factor: f64,
}

impl<'a> OverrideState<'a> {
    pub(super) fn new(overrides: &'a CallOverrides, ranks: u32, locations: usize) -> OverrideState<'a> {
        OverrideState {
            overrides,
            rank_count: f64::from(ranks.max(1)),
            locations: (0..locations).map(|_| LocationOverrides::default()).collect(),
        }
    }

    /// Sets the actions of a location's next calls.
    pub(super) fn compile(&mut self, index: u32, actions: &[DescribedAction]) {
        let action_override = |described: &DescribedAction| ActionOverride {
            mask: self.overrides.mask_at(described.call.site),
            sends: described.call.function.role() == FunctionRole::Send,
            mergeable: call_overrides::mergeable_call(&described.call),
            bytes: described.call.bytes_sent().max(described.call.bytes_received()),
            earlier_s: self.overrides.earlier_s_at(described.call.site),
            factor: self.overrides.factor_at(described.call.site),
        };
        let actions = actions.iter().map(action_override).collect();
        self.locations[index as usize].actions = actions;
    }
}

impl LocationOverrides {
    /// Takes the dependencies deferred to a call.
    fn take_due(&mut self, call: CallIndex) -> Option<TimePair> {
        let due = self.deferred_needs.iter().filter(|(later, _)| *later <= call).map(|(_, time)| *time).reduce(TimePair::max);
        self.deferred_needs.retain(|(later, _)| *later > call);
        due
    }
}

impl ReplayState<'_> {
    /// When a location can enter its next call, if an overlapped one is still running.
    pub(super) fn ready_time(&self, location: &LocationState) -> f64 {
        let index = self.location_index(location);
        self.overrides.as_ref().map_or(location.now, |overrides| overrides.locations[index].ready_time.max(location.now))
    }

    /// Notes that a location has left a call.
    pub(super) fn note_exit(&mut self, location: &LocationState, record: &CallRecord) {
        let index = self.location_index(location);
        if let Some(overrides) = &mut self.overrides {
            let progress = &mut overrides.locations[index];
            let signature = progress.actions[record.action as usize].mergeable;
            progress.repetitions.note(signature, record.gap_time(), record.duration());
        }
    }

    /// Whether ranks are relocated.
    pub(super) fn moves_ranks(&self) -> bool {
        self.changes.call_overrides.as_ref().is_some_and(|overrides| overrides.relocation.is_some())
    }

    /// Whether a message becomes node-local through relocation.
    pub(super) fn becomes_local(&self, sender: u32, receiver: &LocationState) -> bool {
        let relocation = self.changes.call_overrides.as_ref().and_then(|overrides| overrides.relocation.as_ref());
        relocation.is_some_and(|relocation| relocation.becomes_local(self.location_ranks[sender as usize], receiver.id.rank))
    }

    /// Whether the current send was recorded to wait for its receive.
    pub(super) fn send_waited(&self, location: &LocationState) -> bool {
        self.changes.call_overrides.as_ref().is_some_and(|overrides| overrides.send_waited(location.id, location.n_calls))
    }

    /// Cost of the same message as a synchronous send.
    pub(super) fn synchronous_cost_id(&mut self, location: &LocationState, cost_id: u32, to: u32) -> u32 {
        let bytes = self.message_costs[cost_id as usize].bytes as u64;
        self.message_cost_id(location.id.rank, to, bytes, SendMode::Synchronous)
    }

    fn location_index(&self, location: &LocationState) -> usize {
        self.location_ids.get(&(location.id.rank, location.id.thread)).map_or(0, |index| *index as usize)
    }

    /// Exit time of a call with its override, given its recorded time after the dependency; `nearer` if what it receives becomes node-local.
    pub(super) fn exit_time_with_override(
        &mut self,
        location: &LocationState,
        record: &CallRecord,
        own_time: f64,
        dependency: Option<Dependency>,
        factor: f64,
        nearer: bool,
    ) -> f64 {
        let index = self.location_index(location);
        let Some(overrides) = &mut self.overrides else { return location.now };
        let progress = &mut overrides.locations[index];
        let action_override = progress.actions[record.action as usize];
        let is = |change: CallOverride| change.is_set_in(action_override.mask);
        if is(CallOverride::Skipped) {
            return location.enter_time;
        }
        // The time after the dependency is negative if it was not needed after all.
        let mut own_time = if own_time > 0.0 { own_time * factor * action_override.factor } else { own_time };
        let mut dependency = dependency.map(|dependency| dependency.time);
        if let Some(time) = &mut dependency {
            time.simulated -= action_override.earlier_s;
        }
        let is_merged = || progress.repetitions.repeats(action_override.mergeable, record.gap_time());
        if is(CallOverride::ZeroCost) {
            own_time = own_time.min(0.0);
        }
        if is(CallOverride::Merged) && is_merged() {
            own_time = overrides.overrides.merged_s(own_time, action_override.bytes);
        }
        if is(CallOverride::SharedByRanks) && own_time > 0.0 {
            own_time /= overrides.rank_count;
        }
        if let Some(relocation) = overrides.overrides.relocation.as_ref().filter(|_| nearer && own_time > 0.0) {
            own_time *= relocation.factor;
        }
        if is(CallOverride::ArrivalOrder)
            && let Some(later) = overrides.overrides.deferred_to(location.id, location.n_calls)
        {
            progress.deferred_needs.extend(dependency.take().map(|time| (later, time)));
        }
        if is(CallOverride::SentInParts) {
            dependency = dependency.map(|time| time.in_parts(overrides.overrides.parts));
        }
        if is(CallOverride::NoWait) {
            dependency = None;
        }
        if !progress.deferred_needs.is_empty() {
            dependency = [dependency, progress.take_due(location.n_calls)].into_iter().flatten().reduce(TimePair::max);
        }
        let from = dependency.map_or(location.enter_time, |dependency| dependency.simulated.max(location.enter_time));
        let leaves = (from + own_time).max(location.enter_time);
        if !is(CallOverride::Overlapped) {
            return leaves;
        }
        progress.ready_time = leaves;
        if action_override.sends { location.enter_time } else { from.min(leaves) }
    }
}
