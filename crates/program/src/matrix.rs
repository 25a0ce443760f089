//! The communication matrix: messages between ranks, or between groups of ranks.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use sintonia_recording::comm_event::{CommEvent, RequestTracker};
use sintonia_recording::header::RecordedRank;
use sintonia_recording::{Error, Recording};

use crate::communication::{OmittedTraffic, rank_flows};
use crate::traffic_key::{TrafficKey, TrafficSums};
use crate::{MessageFlow, RankActivity};

/// The messages of one rank.
pub struct RankTraffic {
    activity: RankActivity,
    /// Nanoseconds in calls that sent or received messages, by (source, destination); `None` for a profile.
    pair_ns: Option<BTreeMap<(i32, i32), u64>>,
}

/// Messages between groups of ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommunicationMatrix {
    /// Pairs of groups with traffic, sorted; a group can be paired with itself.
    pub cells: BTreeMap<(u32, u32), MatrixCell>,
    /// Traffic missing because the recording lacks the details.
    pub omitted: OmittedTraffic,
}

/// Messages from one group to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatrixCell {
    /// Number of messages.
    pub messages: u64,
    /// Total bytes.
    pub bytes: u64,
    /// Nanoseconds in the calls that sent, received or completed its point-to-point messages; 0 for a profile.
    pub call_ns: u64,
}

impl RankTraffic {
    /// Reads the messages of one rank.
    pub fn read(recording: &Recording, rank: &RecordedRank) -> Result<RankTraffic, Error> {
        let ns = if recording.header.profile { None } else { Some(pair_times(recording, rank.rank)?) };
        Ok(RankTraffic { activity: RankActivity::read(recording, rank)?, pair_ns: ns })
    }

    /// The traffic of some calls of a rank, by what the matrix needs of them; the time of pairs is not known.
    pub fn from_sums(rank: u32, sums: impl IntoIterator<Item = (TrafficKey, TrafficSums)>) -> RankTraffic {
        let totals = sums.into_iter().filter_map(|(key, sums)| key.totals(sums)).collect();
        RankTraffic { activity: RankActivity { rank, totals, ..RankActivity::default() }, pair_ns: None }
    }
}

/// Time of calls that moved messages, by (source, destination). A call that moved several messages is divided evenly.
fn pair_times(recording: &Recording, rank: u32) -> Result<BTreeMap<(i32, i32), u64>, Error> {
    let mut tracker = RequestTracker::for_world(recording.world(rank));
    let mut calls = recording.calls(rank)?;
    let own_index = rank as i32;
    let (mut sends, mut pairs, mut times) = (FxHashMap::default(), Vec::new(), FxHashMap::<(i32, i32), u64>::default());
    while let Some(call) = calls.next_call() {
        pairs.clear();
        for event in tracker.track(&call) {
            match event {
                CommEvent::Send { message, request, .. } => {
                    pairs.push((own_index, message.peer));
                    sends.extend(request.map(|request| (request, message.peer)));
                }
                CommEvent::SendComplete { request, .. } => pairs.extend(sends.remove(request).map(|peer| (own_index, peer))),
                CommEvent::Receive { message, .. } => pairs.push((message.peer, own_index)),
                _ => {}
            }
        }
        let share = call.leave.abs_diff(call.enter) / pairs.len().max(1) as u64;
        pairs.iter().for_each(|pair| *times.entry(*pair).or_default() += share);
    }
    Ok(times.into_iter().collect())
}

impl CommunicationMatrix {
    /// The matrix of all ranks, with or without collectives. `group_of` maps a rank to its group; ranks beyond its end are omitted.
    pub fn from_traffic(recording: &Recording, traffic: &[RankTraffic], collectives: bool, group_of: &[u32]) -> CommunicationMatrix {
        let part = |traffic: &RankTraffic| {
            let (flows, omitted) = rank_flows(recording, &traffic.activity, collectives);
            CommunicationMatrix { cells: cells(&flows, traffic.pair_ns.as_ref(), group_of), omitted }
        };
        let mut matrix = traffic.par_iter().map(part).reduce(CommunicationMatrix::default, CommunicationMatrix::merge);
        matrix.cells.retain(|_, cell| cell.messages > 0);
        matrix
    }

    fn merge(mut self, other: CommunicationMatrix) -> CommunicationMatrix {
        other.cells.into_iter().for_each(|(pair, cell)| self.cells.entry(pair).or_default().add(cell));
        self.omitted = self.omitted.union(other.omitted);
        self
    }
}

impl MatrixCell {
    fn add(&mut self, other: MatrixCell) {
        self.messages = self.messages.saturating_add(other.messages);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.call_ns = self.call_ns.saturating_add(other.call_ns);
    }
}

/// One rank's contribution: the messages it counts, and the time of its calls.
fn cells(flows: &[MessageFlow], ns: Option<&BTreeMap<(i32, i32), u64>>, group_of: &[u32]) -> BTreeMap<(u32, u32), MatrixCell> {
    let group = |rank: i32| usize::try_from(rank).ok().and_then(|rank| group_of.get(rank).copied());
    let mut cells: BTreeMap<(u32, u32), MatrixCell> = BTreeMap::new();
    let mut add = |from: i32, to: i32, cell: MatrixCell| {
        if let Some(pair) = group(from).zip(group(to)).filter(|_| from != to) {
            cells.entry(pair).or_default().add(cell);
        }
    };
    flows.iter().for_each(|flow| add(flow.from, flow.to, MatrixCell { messages: flow.messages, bytes: flow.bytes, call_ns: 0 }));
    ns.into_iter().flatten().for_each(|((from, to), ns)| add(*from, *to, MatrixCell { call_ns: *ns, ..MatrixCell::default() }));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_what_their_ranks_have_and_nobody_sends_to_itself() {
        let flow = |from, to, bytes| MessageFlow { from, to, messages: 1, bytes };
        let flows = [flow(0, 1, 10), flow(0, 2, 5), flow(0, 0, 99), flow(0, -1, 99), flow(0, 7, 99)];
        let ns = BTreeMap::from([((0, 1), 100), ((2, 0), 30)]);
        let found = cells(&flows, Some(&ns), &[0, 0, 1]);
        let cell = |messages, bytes, ns| MatrixCell { messages, bytes, call_ns: ns };
        assert_eq!(found, BTreeMap::from([((0, 0), cell(1, 10, 100)), ((0, 1), cell(1, 5, 0)), ((1, 0), cell(0, 0, 30))]));
    }
}
