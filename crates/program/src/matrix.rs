//! The communication matrix: who sent how much to whom, for ranks one by one or in groups.

use std::collections::BTreeMap;

use rayon::prelude::*;
use sintonia_recording::deed::{Deed, Follower};
use sintonia_recording::header::Rank;
use sintonia_recording::{Error, QuickMap, Recording};

use crate::communication::{LeftOut, flows};
use crate::{Activity, Flow};

/// What one rank exchanged with others.
pub struct Traffic {
    activity: Activity,
    /// Nanoseconds in calls that sent or received messages, by the ranks that they left and reached; `None` if only sums were kept.
    ns: Option<BTreeMap<(i32, i32), u64>>,
}

/// What passed between groups of ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommunicationMatrix {
    /// Groups between which something passed, in order; a group can be its own partner.
    pub cells: BTreeMap<(u32, u32), Cell>,
    /// What is not in it because the recording does not tell enough.
    pub left_out: LeftOut,
}

/// What passed from one group to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// How many messages.
    pub messages: u64,
    /// Bytes of all of them together.
    pub bytes: u64,
    /// Nanoseconds in the calls that sent, received or completed those of them that went point to point; none if only sums were kept.
    pub ns: u64,
}

impl Traffic {
    /// Reads what one rank of a recording exchanged with others.
    pub fn read(recording: &Recording, rank: &Rank) -> Result<Traffic, Error> {
        let ns = if recording.header.profile { None } else { Some(times(recording, rank.rank)?) };
        Ok(Traffic { activity: Activity::read(recording, rank)?, ns })
    }
}

/// How long calls took that moved messages, by the ranks that these left and reached. A call that moved several is shared out among them.
fn times(recording: &Recording, rank: u32) -> Result<BTreeMap<(i32, i32), u64>, Error> {
    let mut follower = Follower::in_world(recording.world(rank));
    let mut calls = recording.calls(rank)?;
    let here = rank as i32;
    let (mut sends, mut pairs, mut times) = (QuickMap::default(), Vec::new(), QuickMap::<(i32, i32), u64>::default());
    while let Some(call) = calls.next_call() {
        pairs.clear();
        for deed in follower.follow(&call) {
            match deed {
                Deed::Send { message, request, .. } => {
                    pairs.push((here, message.peer));
                    sends.extend(request.map(|request| (request, message.peer)));
                }
                Deed::Sent { request, .. } => pairs.extend(sends.remove(request).map(|peer| (here, peer))),
                Deed::Receive { message, .. } => pairs.push((message.peer, here)),
                _ => {}
            }
        }
        let share = call.leave.abs_diff(call.enter) / pairs.len().max(1) as u64;
        pairs.iter().for_each(|pair| *times.entry(*pair).or_default() += share);
    }
    Ok(times.into_iter().collect())
}

impl CommunicationMatrix {
    /// The matrix of what ranks exchanged, with or without collectives; `group_of` says which group a rank belongs to, and those beyond it
    /// are left out.
    pub fn of(recording: &Recording, traffic: &[Traffic], collectives: bool, group_of: &[u32]) -> CommunicationMatrix {
        let part = |traffic: &Traffic| {
            let (flows, left_out) = flows(recording, &traffic.activity, collectives);
            CommunicationMatrix { cells: cells(&flows, traffic.ns.as_ref(), group_of), left_out }
        };
        let mut matrix = traffic.par_iter().map(part).reduce(CommunicationMatrix::default, CommunicationMatrix::and);
        matrix.cells.retain(|_, cell| cell.messages > 0);
        matrix
    }

    fn and(mut self, other: CommunicationMatrix) -> CommunicationMatrix {
        other.cells.into_iter().for_each(|(pair, cell)| self.cells.entry(pair).or_default().add(cell));
        self.left_out = self.left_out.and(other.left_out);
        self
    }
}

impl Cell {
    fn add(&mut self, other: Cell) {
        self.messages = self.messages.saturating_add(other.messages);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.ns = self.ns.saturating_add(other.ns);
    }
}

/// What one rank adds to the matrix: the messages that it counts, and the time of its calls.
fn cells(flows: &[Flow], ns: Option<&BTreeMap<(i32, i32), u64>>, group_of: &[u32]) -> BTreeMap<(u32, u32), Cell> {
    let group = |rank: i32| usize::try_from(rank).ok().and_then(|rank| group_of.get(rank).copied());
    let mut cells: BTreeMap<(u32, u32), Cell> = BTreeMap::new();
    let mut add = |from: i32, to: i32, cell: Cell| {
        if let Some(pair) = group(from).zip(group(to)).filter(|_| from != to) {
            cells.entry(pair).or_default().add(cell);
        }
    };
    flows.iter().for_each(|flow| add(flow.from, flow.to, Cell { messages: flow.messages, bytes: flow.bytes, ns: 0 }));
    ns.into_iter().flatten().for_each(|((from, to), ns)| add(*from, *to, Cell { ns: *ns, ..Cell::default() }));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_what_their_ranks_have_and_nobody_sends_to_itself() {
        let flow = |from, to, bytes| Flow { from, to, messages: 1, bytes };
        let flows = [flow(0, 1, 10), flow(0, 2, 5), flow(0, 0, 99), flow(0, -1, 99), flow(0, 7, 99)];
        let ns = BTreeMap::from([((0, 1), 100), ((2, 0), 30)]);
        let found = cells(&flows, Some(&ns), &[0, 0, 1]);
        let cell = |messages, bytes, ns| Cell { messages, bytes, ns };
        assert_eq!(found, BTreeMap::from([((0, 0), cell(1, 10, 100)), ((0, 1), cell(1, 5, 0)), ((1, 0), cell(0, 0, 30))]));
    }
}
