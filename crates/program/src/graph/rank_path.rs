//! The path of one rank through the program: the operations it called, its computation in between, and its communication.
//!
//! Calls are streamed and only sums are kept, so memory depends on the program, not on the length of the run.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use sintonia_mpi::FunctionRole as Does;
use sintonia_recording::call_table::{CallDescriptor, RecordedCall, RequestId};
use sintonia_recording::comm_event::{CollectiveGroup, CommEvent, RequestTracker};
use sintonia_recording::off_cpu::ThreadOffCpu;
use sintonia_recording::raw::{self, part};
use sintonia_recording::{Error, Recording};

use super::DurationStats;
use super::call_points::IdMap;
use super::node_context::PathFragment;
use super::transitions::{PathPosition, TransitionTable};

/// The path of one rank, in sums.
#[derive(Default, Serialize, Deserialize)]
pub struct RankPath {
    /// The rank.
    pub rank: u32,
    /// The paths of its threads.
    pub threads: Vec<ThreadPath>,
    /// The ranks it sent messages to.
    pub sent_to: BTreeSet<u32>,
    /// The ranks it received messages from.
    pub received_from: BTreeSet<u32>,
    /// The collectives it participated in.
    pub collectives: Vec<InstanceRange>,
    /// How often a call at the second node completed a request of the first.
    pub completions: FxHashMap<(usize, usize), u64>,
}

/// The path of one thread.
#[derive(Default, Serialize, Deserialize)]
pub struct ThreadPath {
    /// The thread.
    pub thread: u16,
    /// The node of its first call.
    pub first_node: usize,
    /// Its calls at each node, by node id.
    pub visits: Vec<NodeVisits>,
    /// Its computation between two calls.
    pub segments: FxHashMap<(usize, usize), DurationStats>,
    /// The part of it in which it had no core, in nanoseconds; only where there is any.
    pub preempted_ns: FxHashMap<(usize, usize), u64>,
    /// The node of its last call, and when that was left.
    pub last_call: Option<(usize, i64)>,
    /// Its position on the path.
    pub position: PathPosition,
}

/// The calls of one thread or role at one node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeVisits {
    /// Number of calls and their durations.
    pub calls: DurationStats,
    /// Unsuccessful tests and probes.
    pub unsuccessful: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Calls with a peer of `MPI_PROC_NULL`.
    pub proc_null: u64,
    /// Effects of the calls.
    pub effects: NodeEffects,
    /// Nanoseconds in the calls without a core.
    pub no_core_ns: u64,
    /// When the first call was entered.
    pub first_ns: i64,
    /// When the last call was left.
    pub last_ns: i64,
}

/// Effects of the calls at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeEffects {
    /// A message was sent, or a send completed.
    pub sends: bool,
    /// A message was received, or a receive posted.
    pub receives: bool,
    /// A collective was joined or completed.
    pub joins: bool,
    /// Something was started that a later call completes.
    pub begins: bool,
    /// Something was completed that an earlier call started.
    pub completes: bool,
}

/// The collectives of a group that a rank called at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceRange {
    /// The group.
    pub group: CollectiveGroup,
    /// The node.
    pub node: usize,
    /// Number of the first instance.
    pub first: u64,
    /// Number of the last instance.
    pub last: u64,
}

impl NodeVisits {
    /// Adds the calls of another thread or rank at the same node.
    pub fn merge(&mut self, other: &NodeVisits) {
        if other.calls.count == 0 {
            return;
        }
        self.first_ns = if self.calls.count == 0 { other.first_ns } else { self.first_ns.min(other.first_ns) };
        self.last_ns = if self.calls.count == 0 { other.last_ns } else { self.last_ns.max(other.last_ns) };
        self.calls.merge(&other.calls);
        self.unsuccessful += other.unsuccessful;
        self.sent = self.sent.saturating_add(other.sent);
        self.received = self.received.saturating_add(other.received);
        self.proc_null += other.proc_null;
        self.no_core_ns += other.no_core_ns;
        self.effects.merge(other.effects);
    }
}

impl NodeEffects {
    /// Adds the effects of other calls.
    pub fn merge(&mut self, other: NodeEffects) {
        self.sends |= other.sends;
        self.receives |= other.receives;
        self.joins |= other.joins;
        self.begins |= other.begins;
        self.completes |= other.completes;
    }

    fn from_event(event: &CommEvent) -> NodeEffects {
        let none = NodeEffects::default();
        match event {
            CommEvent::Send { request, .. } => NodeEffects { sends: true, begins: request.is_some(), ..none },
            CommEvent::SendComplete { .. } => NodeEffects { sends: true, completes: true, ..none },
            CommEvent::ReceivePost { .. } => NodeEffects { receives: true, begins: true, ..none },
            CommEvent::Receive { request, .. } => NodeEffects { receives: true, completes: request.is_some(), ..none },
            CommEvent::ReceiveCancel { .. } => NodeEffects { completes: true, ..none },
            CommEvent::CollectiveBegin { request, .. } => NodeEffects { joins: true, begins: request.is_some(), ..none },
            CommEvent::CollectiveEnd { .. } => NodeEffects { joins: true, completes: true, ..none },
        }
    }
}

/// A node as its rank knows it, before contexts are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LocalNode {
    /// The thread.
    pub thread: u16,
    /// The fragment of its path.
    pub fragment: usize,
    /// Id of the call point.
    pub point: usize,
}

/// Builds the path of a rank.
pub(super) struct PathBuilder<'a> {
    transitions: &'a TransitionTable,
    nodes: IdMap<LocalNode>,
    tracker: RequestTracker,
    threads: FxHashMap<u16, ThreadPath>,
    exchanges: RankExchanges,
    /// When its threads were off the processor.
    off_cpu: Vec<ThreadOffCpu>,
}

impl<'a> PathBuilder<'a> {
    /// A builder for a rank of this world.
    pub(super) fn new(transitions: &'a TransitionTable, world: u32) -> PathBuilder<'a> {
        PathBuilder {
            transitions,
            nodes: IdMap::default(),
            tracker: RequestTracker::for_world(world),
            threads: FxHashMap::default(),
            exchanges: RankExchanges::default(),
            off_cpu: Vec::new(),
        }
    }

    /// The path of one rank of a recording, and its local nodes.
    pub(super) fn read_rank(
        recording: &Recording,
        rank: u32,
        transitions: &'a TransitionTable,
    ) -> Result<(RankPath, Vec<LocalNode>), Error> {
        let off_cpu = recording.off_cpu(rank)?;
        let mut builder = PathBuilder { off_cpu, ..PathBuilder::new(transitions, recording.world(rank)) };
        let mut calls = recording.calls(rank)?;
        while let Some(call) = calls.next_call() {
            builder.add_call(&call);
        }
        Ok(builder.finish(rank))
    }

    /// Adds the next call of the rank.
    pub(super) fn add_call(&mut self, call: &RecordedCall) {
        let Some(point) = self.transitions.point(call) else { return };
        let thread = self.threads.entry(call.thread).or_insert_with(|| ThreadPath { thread: call.thread, ..ThreadPath::default() });
        let node = self.nodes.get_or_insert(thread.local_node(point, self.transitions));
        if let Some(off_cpu) = self.off_cpu.iter().find(|intervals| intervals.thread == call.thread) {
            thread.add_no_core(node, call, off_cpu);
        }
        thread.visit(node, call);
        let visit = &mut thread.visits[node];
        for event in self.tracker.track(call) {
            visit.effects.merge(NodeEffects::from_event(event));
            self.exchanges.record(event, node);
        }
        if call.descriptor.function.role() == Does::RequestFree {
            call.requests().for_each(|(request, _)| _ = self.exchanges.open_requests.remove(&request));
        }
    }

    /// The path in deterministic order, and its local nodes.
    pub(super) fn finish(self, rank: u32) -> (RankPath, Vec<LocalNode>) {
        let RankExchanges { sent_to, received_from, collectives: attended, completions: completed, .. } = self.exchanges;
        let mut threads: Vec<ThreadPath> = self.threads.into_values().collect();
        threads.sort_by_key(|thread| thread.thread);
        (
            RankPath { rank, threads, sent_to, received_from, collectives: attended.into_values().collect(), completions: completed },
            self.nodes.items,
        )
    }
}

/// The communication of a rank, by node.
#[derive(Default)]
struct RankExchanges {
    /// The nodes that started the open requests.
    open_requests: FxHashMap<RequestId, usize>,
    sent_to: BTreeSet<u32>,
    received_from: BTreeSet<u32>,
    collectives: FxHashMap<(CollectiveGroup, usize), InstanceRange>,
    completions: FxHashMap<(usize, usize), u64>,
}

impl RankExchanges {
    fn record(&mut self, event: &CommEvent, node: usize) {
        match *event {
            CommEvent::Send { message, request, .. } => {
                self.sent_to.extend(u32::try_from(message.peer));
                self.begin(request, node);
            }
            CommEvent::ReceivePost { request } => self.begin(Some(request), node),
            CommEvent::Receive { message, request, .. } => {
                self.received_from.extend(u32::try_from(message.peer));
                self.complete(request, node);
            }
            CommEvent::SendComplete { request, .. } | CommEvent::CollectiveEnd { request, .. } | CommEvent::ReceiveCancel { request } => {
                self.complete(Some(request), node)
            }
            CommEvent::CollectiveBegin { collective: meeting, request, .. } => {
                let new = InstanceRange { group: meeting.group, node, first: meeting.number, last: meeting.number };
                self.collectives.entry((meeting.group, node)).or_insert(new).last = meeting.number;
                self.begin(request, node);
            }
        }
    }

    fn begin(&mut self, request: Option<RequestId>, node: usize) {
        if let Some(request) = request {
            self.open_requests.insert(request, node);
        }
    }

    fn complete(&mut self, request: Option<RequestId>, node: usize) {
        if let Some(beginning) = request.and_then(|request| self.open_requests.remove(&request)) {
            *self.completions.entry((beginning, node)).or_default() += 1;
        }
    }
}

impl ThreadPath {
    /// The local node of a call at this call point.
    fn local_node(&mut self, point: usize, transitions: &TransitionTable) -> LocalNode {
        self.position.advance(point, transitions);
        LocalNode { thread: self.thread, fragment: self.position.fragment, point }
    }

    /// The fragments of its path, given the local nodes.
    pub fn fragments(&self, nodes: &[LocalNode]) -> Vec<PathFragment> {
        let mut fragments = vec![PathFragment::default(); self.position.fragment + 1];
        for (node, visit) in self.visited() {
            fragments[nodes[node].fragment].points.insert(nodes[node].point, visit.calls.count);
        }
        for (from, to) in
            self.segments.keys().map(|(from, to)| (nodes[*from], nodes[*to])).filter(|(from, to)| from.fragment == to.fragment)
        {
            fragments[from.fragment].steps.insert((from.point, to.point));
        }
        fragments
    }

    /// Adds the time without a core of the next call, at this node, and of the computation before it.
    fn add_no_core(&mut self, node: usize, call: &RecordedCall, off_cpu: &ThreadOffCpu) {
        let waiting_ns = |begin: i64, end: i64| off_cpu.within(begin, end).waiting_ns.min(elapsed_ns(begin, end));
        if let Some((before, left)) = self.last_call
            && let ns @ 1.. = waiting_ns(left, call.enter)
        {
            *self.preempted_ns.entry((before, node)).or_default() += ns;
        }
        self.visit_of(node).no_core_ns += waiting_ns(call.enter, call.leave);
    }

    /// The calls at this node.
    fn visit_of(&mut self, node: usize) -> &mut NodeVisits {
        if self.visits.len() <= node {
            self.visits.resize_with(node + 1, NodeVisits::default);
        }
        &mut self.visits[node]
    }

    /// Adds a call at this node.
    fn visit(&mut self, node: usize, call: &RecordedCall) {
        match self.last_call {
            Some((before, left)) => self.segments.entry((before, node)).or_default().add(elapsed_ns(left, call.enter)),
            None => self.first_node = node,
        }
        self.last_call = Some((node, call.leave));
        let visit = self.visit_of(node);
        if visit.calls.count == 0 {
            visit.first_ns = call.enter;
        }
        visit.last_ns = call.leave;
        visit.calls.add(elapsed_ns(call.enter, call.leave));
        visit.unsuccessful += u64::from(call.descriptor.parts & part::FLAG_FALSE != 0);
        visit.proc_null += u64::from(has_proc_null_peer(call.descriptor));
        visit.sent = visit.sent.saturating_add(call.descriptor.bytes_sent());
        visit.received = visit.received.saturating_add(call.descriptor.bytes_received());
    }

    /// Nanoseconds from its first call to its last.
    pub fn span_ns(&self) -> u64 {
        let first = self.visited().map(|(_, visit)| visit.first_ns).min();
        let last = self.visited().map(|(_, visit)| visit.last_ns).max();
        first.zip(last).map_or(0, |(first, last)| elapsed_ns(first, last))
    }

    /// The visited nodes and their calls.
    pub fn visited(&self) -> impl Iterator<Item = (usize, &NodeVisits)> {
        self.visits.iter().enumerate().filter(|(_, visit)| visit.calls.count > 0)
    }

    /// Renumbers the nodes; several may be merged.
    pub fn renumber(&mut self, number: &[usize]) {
        self.first_node = number[self.first_node];
        let size = self.visited().map(|(node, _)| number[node] + 1).max().unwrap_or(0);
        let mut visits = vec![NodeVisits::default(); size];
        self.visited().for_each(|(node, visit)| visits[number[node]].merge(visit));
        self.visits = visits;
        let mut segments: FxHashMap<(usize, usize), DurationStats> = FxHashMap::default();
        for ((from, to), times) in &self.segments {
            segments.entry((number[*from], number[*to])).or_default().merge(times);
        }
        self.segments = segments;
        let mut preempted_ns: FxHashMap<(usize, usize), u64> = FxHashMap::default();
        for ((from, to), ns) in &self.preempted_ns {
            *preempted_ns.entry((number[*from], number[*to])).or_default() += ns;
        }
        self.preempted_ns = preempted_ns;
    }
}

impl RankPath {
    /// Renumbers the nodes; several may be merged.
    pub fn renumber(&mut self, number: &[usize]) {
        self.threads.iter_mut().for_each(|thread| thread.renumber(number));
        let mut attended: FxHashMap<(CollectiveGroup, usize), InstanceRange> = FxHashMap::default();
        for one in std::mem::take(&mut self.collectives) {
            let node = number[one.node];
            let sum = attended.entry((one.group, node)).or_insert(InstanceRange { node, ..one });
            (sum.first, sum.last) = (sum.first.min(one.first), sum.last.max(one.last));
        }
        self.collectives = attended.into_values().collect();
        let mut completed: FxHashMap<(usize, usize), u64> = FxHashMap::default();
        for ((from, to), count) in &self.completions {
            *completed.entry((number[*from], number[*to])).or_default() += count;
        }
        self.completions = completed;
    }
}

fn has_proc_null_peer(descriptor: &CallDescriptor) -> bool {
    match descriptor.function.role() {
        Does::Send | Does::Receive => descriptor.peer == raw::PROC_NULL,
        Does::SendReceive => descriptor.peer == raw::PROC_NULL || descriptor.source == raw::PROC_NULL,
        _ => false,
    }
}

/// Nanoseconds between two timestamps; 0 for nested calls.
fn elapsed_ns(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::transitions::RankTransitions;
    use super::*;
    use sintonia_recording::call_paths::CallPaths;
    use sintonia_recording::call_table::CallTable;
    use sintonia_recording::header::RecordingHeader;
    use sintonia_recording::raw::RequestRef;
    use sintonia_recording::testing::{call, call_table, completed_receive};

    /// The path through the calls of a table, each at the call site of its operation.
    fn walk(calls: Vec<CallDescriptor>) -> (RankPath, Vec<LocalNode>) {
        let mut table: CallTable = call_table(0, calls);
        table.descriptors.iter_mut().for_each(|descriptor| descriptor.site = u32::from(descriptor.function.0));
        let transitions = TransitionTable::from_ranks(
            &RecordingHeader::default(),
            vec![RankTransitions::from_calls(table.calls(), &CallPaths::default())],
        );
        let mut builder = PathBuilder::new(&transitions, 0);
        table.calls().for_each(|call| builder.add_call(&call));
        builder.finish(3)
    }

    #[test]
    fn what_lies_between_two_calls_is_a_segment() {
        let (walk, nodes) =
            walk(vec![call("MPI_Init"), call("MPI_Barrier"), call("MPI_Barrier"), call("MPI_Barrier"), call("MPI_Finalize")]);
        let thread = &walk.threads[0];
        assert_eq!(thread.visited().map(|(_, visit)| visit.calls.count).collect::<Vec<_>>(), [1, 3, 1]);
        let mut counts: Vec<_> = thread.segments.iter().map(|(ends, times)| (*ends, times.count)).collect();
        counts.sort_unstable();
        assert_eq!(counts, [((0, 1), 1), ((1, 1), 2), ((1, 2), 1)]);
        assert_eq!(nodes.len(), 3);
    }

    #[test]
    fn a_receive_completes_what_began_earlier() {
        let (walk, _) = walk(vec![
            call("MPI_Irecv").on(0).peer(1),
            call("MPI_Waitall").requests(vec![completed_receive(RequestRef::Relative(0), 1, 64)]),
            call("MPI_Send").on(0).peer(2).sent(5),
        ]);
        assert_eq!((walk.received_from, walk.sent_to), (BTreeSet::from([1]), BTreeSet::from([2])));
        assert_eq!(walk.completions, FxHashMap::from_iter([((0, 1), 1)]));
        assert_eq!(walk.threads[0].visits[1].effects, NodeEffects { receives: true, completes: true, ..NodeEffects::default() });
    }

    #[test]
    fn partners_that_are_nobody_are_counted() {
        let (walk, _) = walk(vec![call("MPI_Sendrecv").on(0).peer(1).source(raw::PROC_NULL), call("MPI_Sendrecv").on(0).peer(1).source(2)]);
        assert_eq!(walk.threads[0].visits[0].proc_null, 1);
    }
}
