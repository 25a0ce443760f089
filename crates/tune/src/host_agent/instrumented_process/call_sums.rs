//! Measure points that need only sums: their events are not recorded, and the sums that the process keeps are read at the end of each interval.

use sintonia_link::call_sums::{CallSums, QuantitySums};
use sintonia_link::probe_protocol::{HookSide, ProbeCommand, Recorded};
use sintonia_link::ring::MPI_FUNCTION;
use sintonia_mpi::FunctionId;

use super::{InstrumentedProcess, PendingCommand};
use crate::bind::{HookListener, SummedQuantity};
use crate::collector::ProcessConnection;
use crate::protocol::AgentReport;
use crate::statistics::RunningStats;

/// What listeners need: events that some of them must see one by one, and sums.
fn needed(listeners: &[HookListener]) -> Recorded {
    let needs = |side| listeners.iter().any(|listener| listener.side == side && listener.summed().is_none());
    let sums = listeners.iter().any(|listener| listener.summed().is_some());
    Recorded { entry: needs(HookSide::Entry), exit: needs(HookSide::Exit), sums }
}

impl InstrumentedProcess {
    /// Lengths of the intervals at whose ends sums are read.
    pub(in crate::host_agent) fn sum_intervals(&self) -> &[f64] {
        &self.sum_intervals
    }

    /// What must be recorded of a hook.
    pub(super) fn needed_records(&self, at: usize) -> Recorded {
        let installed = &self.hooks[at];
        let needed = needed(&installed.hook.listeners);
        Recorded { entry: needed.entry || installed.identifies_actor, ..needed }
    }

    /// Has no more recorded of a hook than its listeners need.
    pub(super) fn select_records(&mut self, at: usize, reports: &mut Vec<AgentReport>) {
        let needed = self.needed_records(at);
        self.hooks[at].hook_ids.clone().into_iter().for_each(|hook| self.send_records(hook, needed, reports));
    }

    /// Has the events of an MPI function recorded that its listeners need.
    pub(super) fn select_mpi_records(&mut self, operation: FunctionId, reports: &mut Vec<AgentReport>) {
        self.summed_mpi.insert(operation.0);
        let needed = needed(self.watched.get(&operation.0).map_or(&[], Vec::as_slice));
        self.send_records(MPI_FUNCTION | u32::from(operation.0), needed, reports);
    }

    /// Starts or stops recording the calls that show the iteration.
    pub(in crate::host_agent) fn follow_iteration(&mut self, reports: &mut Vec<AgentReport>) {
        let needs_exits = self.iteration.needs_exits();
        if std::mem::replace(&mut self.iteration.has_exits, needs_exits) != needs_exits {
            self.send(ProbeCommand::FollowCalls(needs_exits), PendingCommand::Other, reports);
        }
    }

    fn send_records(&mut self, hook: u32, recorded: Recorded, reports: &mut Vec<AgentReport>) {
        let before = self.recorded.insert(hook, recorded).unwrap_or(Recorded::ALL);
        if before != recorded {
            self.send(ProbeCommand::Record { hook, recorded }, PendingCommand::Other, reports);
        }
    }

    /// Passes the sums of the calls since the last time to `each`, for every listener that needs no events: the number of calls, and the
    /// statistics of its values. Returns the number of events that were not recorded.
    pub(in crate::host_agent) fn take_sums(&mut self, mut each: impl FnMut(&HookListener, u64, &[RunningStats])) -> u64 {
        if self.identity.is_none() {
            return 0;
        }
        // If the memory cannot be read any more, what is known of it is all there is.
        let _ = self.process.find_threads();
        let mut unrecorded = 0;
        let mut called = Vec::new();
        let of_hooks = self.hooks_by_id.iter().map(|(hook, at)| (*hook, Some(*at), &self.hooks[*at].hook.listeners[..]));
        let of_mpi = self.summed_mpi.iter().map(|operation| {
            let listeners = self.watched.get(operation).map_or(&[][..], Vec::as_slice);
            (MPI_FUNCTION | u32::from(*operation), None, listeners)
        });
        for (hook, at, listeners) in of_hooks.chain(of_mpi) {
            let sums = self.process.take_sums(hook);
            if sums.is_empty() {
                continue;
            }
            let Recorded { entry, exit, .. } = self.recorded.get(&hook).copied().unwrap_or(Recorded::ALL);
            unrecorded += if entry { 0 } else { sums.entries } + if exit { 0 } else { sums.exits };
            deliver(&self.process, &sums, listeners, &mut each);
            called.extend(at.map(|at| (at, sums.entries + sums.exits)));
        }
        called.into_iter().for_each(|(at, events)| self.hooks[at].events += events);
        self.process.begin_interval();
        unrecorded
    }
}

fn deliver(
    process: &ProcessConnection,
    sums: &CallSums,
    listeners: &[HookListener],
    each: &mut impl FnMut(&HookListener, u64, &[RunningStats]),
) {
    for listener in listeners {
        let Some(quantities) = listener.summed() else { continue };
        let count = if listener.side == HookSide::Entry { sums.entries } else { sums.exits };
        if count > 0 {
            let values: Vec<RunningStats> = quantities.into_iter().map(|quantity| statistics(process, sums, quantity)).collect();
            each(listener, count, &values);
        }
    }
}

/// The statistics of a quantity over the calls that have returned.
fn statistics(process: &ProcessConnection, sums: &CallSums, quantity: SummedQuantity) -> RunningStats {
    let seconds_per_tick = process.seconds_per_tick();
    let (QuantitySums { total, squares, maximum }, unit) = match quantity {
        SummedQuantity::Seconds => (sums.duration, seconds_per_tick),
        SummedQuantity::InMpi => (sums.second, seconds_per_tick),
        SummedQuantity::Bytes => (sums.second, 1.0),
    };
    RunningStats::from_sums(sums.exits, total as f64 * unit, squares as f64 * unit * unit, maximum.unwrap_or(0) as f64 * unit)
}
