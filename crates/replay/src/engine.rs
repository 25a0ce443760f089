//! The replay engine. Each location advances until it needs something that has not happened yet; whatever provides it wakes the location.
//!
//! Without contention no event queue is needed: the times of a location then only depend on its dependencies, not on the order in which
//! locations are advanced. What does depend on time order (shared links and ports, locks, wildcard matching) is a deferred event: when every
//! location is blocked, the earliest one is processed, and all its consequences are later.
//!
//! [`ReplayState`] is the state of the simulation, shared by all modules here; each adds the data and the methods of its topic, so these
//! modules know each other through it. That circle is accepted: what the simulation does next depends on all of it.

mod call_step;
mod collective_rounds;
mod collectives;
mod compile;
mod compiled;
mod core_waits;
mod deadlock;
mod deferred_events;
mod forced_progress;
mod lazy_box;
mod location;
mod messages;
mod overrides;
mod read_ahead;
mod requests;
mod result;
mod rma;
mod samples;
mod state;
#[cfg(test)]
pub(crate) mod tests;
mod undisturbed;
mod wildcard;

pub use crate::costs::{RecordedNetwork, ReplayCosts};
pub use crate::deadlock::{BlockedRank, Deadlock};
pub use crate::transfer_counts::TransferCounts;
pub use result::{RankReplayTime, RemovedCoreWaits, ReplayResult, ReplaySink, SiteReplayTime, UnmatchedSummary};

use crate::Error;
use crate::changes::ReplayChanges;
use crate::schedule::{CallChunk, ChunkStatus, LocationId, Schedule};
use call_step::CallProgress;
use location::{CallRecord, CallStage, LocationState};
use read_ahead::ReadAhead;
use state::ReplayState;

/// Tag bit: the waiter is a collective part, not a location.
const COLLECTIVE_TAG: u32 = 1 << 31;

/// Replays a schedule; a sink gets every call.
pub fn replay(
    schedule: &dyn Schedule,
    costs: &ReplayCosts,
    changes: &ReplayChanges,
    sink: Option<&mut dyn ReplaySink>,
) -> Result<ReplayResult, Error> {
    let reordered = schedule.reordered(costs)?;
    let mut engine = ReplayEngine::new(reordered.as_deref().unwrap_or(schedule), costs, changes, sink)?;
    engine.start()?;
    engine.run()?;
    engine.finish()
}

struct ReplayEngine<'a, 's> {
    schedule: &'a dyn Schedule,
    locations: Vec<LocationState<'a>>,
    state: ReplayState<'a>,
    sink: Option<&'s mut dyn ReplaySink>,
    chunk: CallChunk,
    read_ahead: ReadAhead,
}

impl<'a, 's> ReplayEngine<'a, 's> {
    fn new(
        schedule: &'a dyn Schedule,
        costs: &'a ReplayCosts,
        changes: &'a ReplayChanges,
        sink: Option<&'s mut dyn ReplaySink>,
    ) -> Result<ReplayEngine<'a, 's>, Error> {
        let ids = schedule.locations()?;
        let slowdown = |rank| match costs {
            ReplayCosts::Recorded(_) => 1.0,
            ReplayCosts::Machine(platform) => 1.0 / platform.speed(rank),
        };
        let open = |id: &LocationId| Ok(LocationState::new(*id, schedule.open(*id)?, slowdown(id.rank)));
        let mut locations = ids.iter().map(open).collect::<Result<Vec<_>, Error>>()?;
        let state = ReplayState::new(schedule, costs, changes, &ids)?;
        for (index, location) in locations.iter_mut().enumerate() {
            location.core_waits = state.core_waits.of_location(index).cloned().map(Box::new);
        }
        Ok(ReplayEngine { schedule, locations, state, sink, chunk: CallChunk::default(), read_ahead: ReadAhead::default() })
    }

    /// Reads the first chunk of every location and aligns them at `MPI_Init`.
    fn start(&mut self) -> Result<(), Error> {
        for location in 0..self.locations.len() {
            self.read_chunk(location)?;
        }
        let firsts: Vec<(u32, Option<f64>, f64)> =
            self.locations.iter().map(|location| (location.id.rank, location.recorded_init_time(), location.recorded_now)).collect();
        let earliest = firsts.iter().map(|(_, _, first)| *first).fold(f64::INFINITY, f64::min);
        self.state.recorded_start = firsts.iter().filter_map(|(_, started, _)| *started).fold(f64::INFINITY, f64::min);
        if !self.state.recorded_start.is_finite() {
            self.state.recorded_start = if earliest.is_finite() { earliest } else { 0.0 };
        }
        let mut started_at = std::collections::HashMap::new();
        firsts.iter().filter_map(|(rank, started, _)| Some((*rank, (*started)?))).for_each(|(rank, at)| _ = started_at.insert(rank, at));
        let as_recorded = self.state.recorded_network().is_some_and(|network| !network.is_ideal()) && !self.state.core_waits.is_crowded;
        for location in &mut self.locations {
            if let Some(started) = location.recorded_init_time() {
                // On another network, and with a core for each rank, the start-up order is unknown.
                location.init_time = if as_recorded { started - self.state.recorded_start } else { 0.0 };
            } else {
                let from = started_at.get(&location.id.rank).copied().unwrap_or(self.state.recorded_start);
                location.now = (location.recorded_now - from).max(0.0);
            }
        }
        self.state.runnable = (0..self.locations.len() as u32).rev().collect();
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        loop {
            while let Some(waiter) = self.state.runnable.pop() {
                if waiter & COLLECTIVE_TAG != 0 {
                    self.state.run_rounds(waiter & !COLLECTIVE_TAG);
                } else {
                    self.advance(waiter as usize)?;
                }
            }
            let goes_on = self.state.process_next_event(&mut self.locations)
                || self.state.changes.force_progress && self.state.force_progress(&mut self.locations);
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Advances a location until it ends or has to wait.
    fn advance(&mut self, index: usize) -> Result<(), Error> {
        let looks_ahead = self.state.changes.wildcards_by_arrival;
        loop {
            if looks_ahead && self.locations[index].stage == CallStage::Computing && self.needs_read_ahead(index) {
                self.read_ahead(index)?;
            }
            let location = &mut self.locations[index];
            let Some(record) = location.records.get(location.next_record).copied() else {
                if location.ended || !self.read_chunk(index)? {
                    return Ok(());
                }
                continue;
            };
            if location.stage == CallStage::Computing {
                self.state.compute_and_enter(location, &record);
            }
            match self.state.step_call(index as u32, location, &record)? {
                CallProgress::Waiting => return Ok(()),
                CallProgress::Done => {
                    let attribution = location.compiled.attributions[record.action as usize];
                    self.state.exit_call(location, &record, attribution);
                    if let Some(sink) = &mut self.sink {
                        sink.call(index, record.action, location.enter_time, location.now)?;
                    }
                }
            }
        }
    }

    /// Reads the next chunk of a location; `false` at its end.
    fn read_chunk(&mut self, index: usize) -> Result<bool, Error> {
        let location = &mut self.locations[index];
        let next = match self.read_ahead.take(index, &mut self.chunk) {
            Some(read) => read,
            None => location.reader.read_chunk(&mut self.chunk)?,
        };
        if next == ChunkStatus::End {
            location.finish();
            return Ok(false);
        }
        if next == ChunkStatus::NewActions {
            self.state.compile(self.schedule, location, index as u32, &self.chunk.actions);
            if let Some(sink) = &mut self.sink {
                sink.actions(index, &self.chunk.actions)?;
            }
        }
        if let Some(first) = self.chunk.first_request {
            self.state.requests[index].set_next(first);
            if let Some(sink) = &mut self.sink {
                sink.requests(index, first)?;
            }
        }
        location.records.clear();
        location.records.extend(self.chunk.calls.iter().map(CallRecord::from));
        location.next_record = 0;
        // The start of a chunk is exact; summed durations are not.
        location.recorded_now = self.chunk.enter_ns as f64 * 1e-9 - location.records.first().map_or(0.0, CallRecord::gap_time);
        Ok(true)
    }

    fn finish(self) -> Result<ReplayResult, Error> {
        let blocked: Vec<u32> = (0..self.locations.len() as u32).filter(|location| !self.locations[*location as usize].ended).collect();
        if !blocked.is_empty() {
            return Err(Error::Deadlock(Box::new(deadlock::analyze(self.schedule, &self.locations, &self.state, &blocked))));
        }
        Ok(result::collect_result(self.schedule, self.locations, self.state))
    }
}

impl LocationState<'_> {
    /// Recorded end of `MPI_Init`, if it is among the first calls.
    fn recorded_init_time(&self) -> Option<f64> {
        let mut at = self.recorded_now;
        for record in self.records.iter().take(16) {
            at += record.gap_time() + record.duration();
            if self.compiled.ops[record.action as usize] == compiled::CallOp::Init {
                return Some(at);
            }
        }
        None
    }

    /// Marks the location as ended.
    fn finish(&mut self) {
        if !self.ended && self.recorded_end_time == 0.0 {
            (self.end_time, self.recorded_end_time) = (self.now, self.recorded_now);
        }
        self.ended = true;
    }
}
