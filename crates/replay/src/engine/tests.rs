//! Small programs with hand-computed times.

use std::path::Path;

use sintonia_collective::{CollectiveAlgorithm, TreeShape as Tree};
use sintonia_machine::Machine;
use sintonia_mpi::{CollectiveOp, FunctionId};
use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::comm_event::{CollectiveGroup, GroupOp};

use super::{RecordedNetwork, ReplayCosts, ReplayResult, replay};
use crate::Error;
use crate::changes::{CollectiveModel, DurationChange, ReplayChanges, SegmentChange};
use crate::platform::{IntervalBound, Platform, RankPlacement};
use crate::schedule::{
    CallChunk, CallCompletion, CallReader, ChunkStatus, CollectiveAction, DescribedAction, LocationId, NeighbourRanks, PeerEnvelope,
    ReceiveAction, ReplayAction, Request, Schedule, ScheduledCall, SendAction, SendMode, WildcardMatch as Got, WindowSync,
};

/// Actions per rank, each with the nanoseconds of computation before it.
struct Program(Vec<Vec<(i64, ReplayAction)>>);

struct Reader<'a> {
    calls: &'a [(i64, ReplayAction)],
    read: bool,
}

impl Schedule for Program {
    fn ranks(&self) -> u32 {
        self.0.len() as u32
    }

    fn locations(&self) -> Result<Vec<LocationId>, Error> {
        Ok((0..self.ranks()).map(|rank| LocationId { rank, thread: 0 }).collect())
    }

    fn open(&self, location: LocationId) -> Result<Box<dyn CallReader + '_>, Error> {
        Ok(Box::new(Reader { calls: &self.0[location.rank as usize], read: false }))
    }

    fn members(&self, _: u32) -> Vec<u32> {
        (0..self.ranks()).collect()
    }

    fn object_communicator(&self, _: u32) -> Option<u32> {
        Some(0)
    }

    /// A star around rank 0, which sends to the others.
    fn neighbours(&self, _: u32, rank: u32) -> NeighbourRanks {
        match rank {
            0 => NeighbourRanks { sources: Vec::new(), destinations: (1..self.ranks()).collect() },
            _ => NeighbourRanks { sources: vec![0], destinations: Vec::new() },
        }
    }

    fn site_count(&self) -> u32 {
        100
    }

    fn site_name(&self, site: u32) -> String {
        format!("program.c:{site}")
    }
}

/// A program whose waits complete cancelled receives.
struct GivenUp(Program);

impl Schedule for GivenUp {
    fn ranks(&self) -> u32 {
        self.0.ranks()
    }

    fn locations(&self) -> Result<Vec<LocationId>, Error> {
        self.0.locations()
    }

    fn open(&self, location: LocationId) -> Result<Box<dyn CallReader + '_>, Error> {
        Ok(Box::new(Empty(self.0.open(location)?)))
    }

    fn members(&self, communicator: u32) -> Vec<u32> {
        self.0.members(communicator)
    }

    fn site_count(&self) -> u32 {
        self.0.site_count()
    }

    fn site_name(&self, site: u32) -> String {
        self.0.site_name(site)
    }
}

struct Empty<'a>(Box<dyn CallReader + 'a>);

impl CallReader for Empty<'_> {
    fn read_chunk(&mut self, chunk: &mut CallChunk) -> Result<ChunkStatus, Error> {
        let next = self.0.read_chunk(chunk)?;
        for described in &mut chunk.actions {
            if let ReplayAction::Complete(requests) = &described.action {
                let nothing = |request: &Request| ListedRequest { request: *request, is_receive: false, peer: -1, tag: -1, received: 0 };
                described.call.requests = requests.iter().map(nothing).collect();
            }
        }
        Ok(next)
    }
}

/// A program whose polls take this long; shorter gaps after them than `idle_below_ns` are idle.
struct Looking {
    program: Program,
    took_ns: i64,
    idle_below_ns: i64,
}

impl Schedule for Looking {
    fn ranks(&self) -> u32 {
        self.program.ranks()
    }

    fn locations(&self) -> Result<Vec<LocationId>, Error> {
        self.program.locations()
    }

    fn open(&self, location: LocationId) -> Result<Box<dyn CallReader + '_>, Error> {
        Ok(Box::new(Look { stretches: self.program.open(location)?, took_ns: self.took_ns, idle_below_ns: self.idle_below_ns }))
    }

    fn members(&self, communicator: u32) -> Vec<u32> {
        self.program.members(communicator)
    }

    fn site_count(&self) -> u32 {
        self.program.site_count()
    }

    fn site_name(&self, site: u32) -> String {
        self.program.site_name(site)
    }
}

struct Look<'a> {
    stretches: Box<dyn CallReader + 'a>,
    took_ns: i64,
    idle_below_ns: i64,
}

impl CallReader for Look<'_> {
    fn read_chunk(&mut self, chunk: &mut CallChunk) -> Result<ChunkStatus, Error> {
        let next = self.stretches.read_chunk(chunk)?;
        let mut poll = false;
        for call in &mut chunk.calls {
            if poll && call.compute_ns < self.idle_below_ns {
                (call.compute_ns, call.idle_ns) = (0, call.compute_ns as u32);
            }
            poll = chunk.actions[call.action as usize].action == ReplayAction::Poll;
            call.duration_ns = if poll { self.took_ns } else { call.duration_ns };
        }
        Ok(next)
    }
}

impl CallReader for Reader<'_> {
    fn read_chunk(&mut self, chunk: &mut CallChunk) -> Result<ChunkStatus, Error> {
        if self.read {
            return Ok(ChunkStatus::End);
        }
        self.read = true;
        let operation = FunctionId::from_name("MPI_Send").unwrap();
        let describe = |(site, (_, action)): (u32, &(i64, ReplayAction))| DescribedAction {
            action: action.clone(),
            call: CallDescriptor { site, ..CallDescriptor::new(operation) },
        };
        chunk.actions = (0..).zip(self.calls).map(describe).collect();
        let call = |(action, (computed_ns, _)): (u32, &(i64, ReplayAction))| ScheduledCall {
            compute_ns: *computed_ns,
            action,
            ..ScheduledCall::default()
        };
        chunk.calls = (0..).zip(self.calls).map(call).collect();
        chunk.enter_ns = self.calls.first().map_or(0, |(computed_ns, _)| *computed_ns);
        Ok(ChunkStatus::NewActions)
    }

    fn next_wildcard_match(&mut self) -> Result<Got, Error> {
        Ok(Got::Received(PeerEnvelope { peer: 1, communicator: 0, tag: 7 }))
    }
}

fn envelope(peer: u32) -> PeerEnvelope {
    PeerEnvelope { peer, communicator: 0, tag: 7 }
}

fn sends(to: u32, bytes: u64, completion: CallCompletion) -> ReplayAction {
    ReplayAction::Send(SendAction { to: envelope(to), bytes, mode: SendMode::Standard, completion })
}

fn send(to: u32, bytes: u64) -> ReplayAction {
    sends(to, bytes, CallCompletion::Blocking)
}

fn receive(from: u32) -> ReplayAction {
    ReplayAction::Receive(ReceiveAction { from: Some(envelope(from)), any_source: false, completion: CallCompletion::Blocking })
}

fn begin_receive(from: u32) -> ReplayAction {
    ReplayAction::Receive(ReceiveAction { from: Some(envelope(from)), any_source: false, completion: CallCompletion::Nonblocking })
}

fn wait(ago: &[u64]) -> ReplayAction {
    ReplayAction::Complete(ago.iter().map(|ago| Request::Relative(*ago)).collect())
}

fn collective(pattern: CollectiveOp, root: Option<u32>, bytes: u64, completion: CallCompletion) -> ReplayAction {
    let group = CollectiveGroup::Communicator(0);
    ReplayAction::Collective(CollectiveAction { group, op: GroupOp::Collective(pattern), root, sent: bytes, received: bytes, completion })
}

/// Send 1 us, receive 2 us, message 10 us + 1 ns per byte; eager up to 1000 bytes.
const MACHINE: &str = r#"
format = 1
[machine]
name = "by hand"
[network.other_node]
eager_bytes = 1000
send.pieces = [{ intercept_s = 1e-6, slope_s_per_byte = 0.0 }]
start_send.pieces = [{ intercept_s = 1e-6, slope_s_per_byte = 0.0 }]
receive.pieces = [{ intercept_s = 2e-6, slope_s_per_byte = 0.0 }]
transfer.pieces = [{ intercept_s = 10e-6, slope_s_per_byte = 1e-9 }]
"#;

/// That machine with more in its file.
pub(crate) fn machine(more: &str) -> Machine {
    Machine::parse(&format!("{MACHINE}{more}"), Path::new("test.machine.toml")).unwrap()
}

fn on(program: &dyn Schedule, machine: &Machine, changes: &ReplayChanges) -> Result<ReplayResult, Error> {
    let platform = Platform::new(machine, program.ranks(), &RankPlacement::Block, IntervalBound::Middle)?;
    replay(program, &ReplayCosts::Machine(Box::new(platform)), changes, None)
}

/// End time of each rank in microseconds.
fn ends(calls: Vec<Vec<(i64, ReplayAction)>>) -> Vec<f64> {
    ends_with(calls, "", &ReplayChanges::default())
}

fn ends_with(calls: Vec<Vec<(i64, ReplayAction)>>, more: &str, changes: &ReplayChanges) -> Vec<f64> {
    let outcome = on(&Program(calls), &machine(more), changes).unwrap();
    outcome.ranks.iter().map(|rank| (rank.replayed_s * 1e9).round() / 1e3).collect()
}

#[test]
fn a_message_takes_what_half_a_round_trip_was_measured_to() {
    assert_eq!(ends(vec![vec![(0, send(1, 500))], vec![(0, receive(0))]]), [1.0, 10.5]);
    let there_and_back = vec![vec![(0, send(1, 500)), (0, receive(1))], vec![(0, receive(0)), (0, send(0, 500))]];
    assert_eq!(ends(there_and_back), [21.0, 11.5]);
}

#[test]
fn a_late_receive_only_takes_its_own_time() {
    assert_eq!(ends(vec![vec![(0, send(1, 0))], vec![(50_000, receive(0))]]), [1.0, 52.0]);
}

#[test]
fn a_large_message_waits_for_its_receive() {
    assert_eq!(ends(vec![vec![(0, send(1, 2000))], vec![(50_000, receive(0))]]), [51.0, 62.0]);
    assert_eq!(ends(vec![vec![(0, send(1, 1000))], vec![(50_000, receive(0))]]), [1.0, 52.0]);
}

#[test]
fn messages_of_one_channel_match_in_posting_order_whichever_is_waited_for_first() {
    let receiver = vec![(0, begin_receive(0)), (0, begin_receive(0)), (0, wait(&[0])), (0, wait(&[1]))];
    let sender = vec![(0, send(1, 100)), (20_000, send(1, 200))];
    // The second receive gets the second message, sent at 21 µs.
    assert_eq!(ends(vec![sender, receiver]), [22.0, 33.2]);
}

#[test]
fn a_waitall_receives_messages_in_arrival_order() {
    let receiver = vec![(0, begin_receive(1)), (0, begin_receive(2)), (0, wait(&[1, 0]))];
    // The second one arrives at 8 us, the first at 38 us; each takes 2 us.
    assert_eq!(ends(vec![receiver, vec![(30_000, send(0, 0))], vec![(0, send(0, 0))]])[0], 40.0);
}

#[test]
fn messages_of_one_injection_port_are_serialised() {
    // 1000 bytes occupy the port for 1 us, but a send takes no time.
    let quick = "\n[network.same_node]\n";
    let burst = vec![vec![(0, sends(1, 1000, CallCompletion::Nonblocking)); 3], vec![(0, receive(0)); 3]];
    assert_eq!(ends_with(burst, quick, &ReplayChanges::default()), [3.0, 15.0]);
}

#[test]
fn ranks_that_send_to_each_other_first_deadlock_where_messages_wait() {
    let both = |bytes| Program(vec![vec![(0, send(1, bytes)), (0, receive(1))], vec![(0, send(0, bytes)), (0, receive(0))]]);
    assert!(on(&both(1000), &machine(""), &ReplayChanges::default()).is_ok());
    let Err(Error::Deadlock(standstill)) = on(&both(2000), &machine(""), &ReplayChanges::default()) else { panic!("no deadlock") };
    assert_eq!(standstill.cycle, [0, 1]);
    assert_eq!(standstill.blocked[0].waits_for, [1]);
    assert!(standstill.to_string().contains("rank 1 in MPI_Send at program.c:0 waits for rank 0"), "{standstill}");
}

#[test]
fn a_receive_without_a_message_is_reported() {
    let program = Program(vec![vec![(0, receive(1))], vec![]]);
    let Err(Error::Deadlock(standstill)) = on(&program, &machine(""), &ReplayChanges::default()) else { panic!("no standstill") };
    assert_eq!((standstill.cycle.len(), standstill.ended), (0, 1));
    assert_eq!(standstill.blocked[0].waits_for, [1]);
}

#[test]
fn an_unreceived_message_is_counted() {
    let outcome = on(&Program(vec![vec![(0, send(1, 1))], vec![]]), &machine(""), &ReplayChanges::default()).unwrap();
    assert_eq!((outcome.unmatched.sends, outcome.unmatched.receives), (1, 0));
    assert_eq!(outcome.unmatched.rank_pairs, [(0, 1)]);
}

#[test]
fn a_persistent_request_sends_each_time_it_is_started() {
    let start = || (0, ReplayAction::Start(vec![Request::Relative(0)]));
    let sender = vec![(0, sends(1, 0, CallCompletion::Persistent)), start(), (0, wait(&[0])), start(), (0, wait(&[0]))];
    assert_eq!(ends(vec![sender, vec![(0, receive(0)), (0, receive(0))]]), [2.0, 12.0]);
}

#[test]
fn a_wildcard_receive_matches_the_recorded_message() {
    let anyone = ReplayAction::Receive(ReceiveAction { from: None, any_source: true, completion: CallCompletion::Nonblocking });
    assert_eq!(ends(vec![vec![(0, anyone), (0, wait(&[0]))], vec![(5000, send(0, 0))]]), [15.0, 6.0]);
}

#[test]
fn a_receive_that_was_given_up_takes_no_message() {
    let given_up = || vec![(0, begin_receive(1)), (0, wait(&[0])), (0, receive(1))];
    let program = Program(vec![given_up(), vec![(0, send(0, 0))]]);
    let waits_for_ever = on(&program, &machine(""), &ReplayChanges::default());
    assert!(matches!(waits_for_ever, Err(Error::Deadlock(_))), "the first receive gets the only message");
    let outcome = on(&GivenUp(program), &machine(""), &ReplayChanges::default()).unwrap();
    assert_eq!((outcome.unmatched.sends, outcome.unmatched.receives), (0, 0));
}

#[test]
fn a_probe_waits_for_the_message_and_leaves_it_there() {
    let receiver = vec![(0, ReplayAction::Probe { message: envelope(1) }), (1000, receive(1))];
    assert_eq!(ends(vec![receiver, vec![(0, send(0, 0))]]), [11.0, 1.0]);
}

#[test]
fn a_barrier_ends_after_the_last_arrival_and_its_message_rounds() {
    let barrier = |after: i64| vec![(after, collective(CollectiveOp::Barrier, None, 0, CallCompletion::Blocking))];
    let measured = "\n[group.barrier]\ngrowth = \"1\"\n[[group.barrier.at]]\nprocesses = 4\npieces = [{ intercept_s = 7e-6, slope_s_per_byte = 0.0 }]\n";
    let all = || vec![barrier(0), barrier(1000), barrier(40_000), barrier(3000)];
    assert_eq!(ends_with(all(), measured, &ReplayChanges::default()), [47.0; 4]);
    // Not measured: two rounds of 10 us, plus 1 us for posting each.
    let by = ReplayChanges {
        default_algorithm: Some(CollectiveModel::Algorithm(CollectiveAlgorithm::Dissemination)),
        ..ReplayChanges::default()
    };
    let rounds = ends_with(all(), "", &by);
    assert!(rounds.iter().all(|end| (40.0..=62.0).contains(end)) && rounds.contains(&60.0), "{rounds:?}");
}

#[test]
fn a_broadcast_down_a_binomial_tree_takes_a_message_for_each_level() {
    let broadcast = |after: i64| vec![(after, collective(CollectiveOp::Broadcast, Some(0), 100, CallCompletion::Blocking))];
    let by = ReplayChanges {
        default_algorithm: Some(CollectiveModel::Algorithm(CollectiveAlgorithm::tree(Tree::Binomial))),
        ..ReplayChanges::default()
    };
    let found = ends_with(vec![broadcast(0); 8], "", &by);
    assert!(found[0] < 4.0, "the root hands over three messages: {found:?}");
    let last = found.iter().copied().fold(0.0, f64::max);
    assert!((3.0 * 10.1..3.0 * 11.2).contains(&last), "{found:?}");
}

#[test]
fn neighbours_share_the_bytes_of_a_neighbourhood_collective() {
    let gather = |bytes| vec![(0, collective(CollectiveOp::NeighborAllgather, None, bytes, CallCompletion::Blocking))];
    // Two messages of 200 bytes, the second posted 1 us later.
    assert_eq!(ends(vec![gather(400), gather(0), gather(0)]), [2.0, 10.2, 11.2]);
}

#[test]
fn a_nonblocking_collective_overlaps_with_computation() {
    let calls = |work: i64| vec![(0, collective(CollectiveOp::Barrier, None, 0, CallCompletion::Nonblocking)), (work, wait(&[0]))];
    let by = ReplayChanges {
        default_algorithm: Some(CollectiveModel::Algorithm(CollectiveAlgorithm::Dissemination)),
        ..ReplayChanges::default()
    };
    assert_eq!(ends_with(vec![calls(100_000), calls(50_000)], "", &by)[0], 100.0);
}

#[test]
fn a_window_is_accessed_when_it_is_open_and_closed_when_all_are_done() {
    let sync = |sync| ReplayAction::WindowSync { window: 0, sync };
    let put = ReplayAction::RmaAccess { window: 0, target: 1, put: 1000, get: 0, completion: CallCompletion::Blocking };
    let origin = vec![(0, sync(WindowSync::Start(vec![1]))), (0, put), (0, sync(WindowSync::Complete))];
    let target = vec![(20_000, sync(WindowSync::Post(vec![0]))), (0, sync(WindowSync::Wait))];
    let found = ends(vec![origin, target]);
    // Exposure is signalled at 30 us, the data arrives 9 us later, completion is signalled 10 us after that.
    assert_eq!(found, [39.0, 49.0]);
}

#[test]
fn an_exclusive_lock_is_had_by_one_after_the_other_in_the_order_of_asking() {
    let sync = |sync| ReplayAction::WindowSync { window: 0, sync };
    let holds = |after: i64| {
        let lock = sync(WindowSync::Lock { target: Some(2), exclusive: true });
        vec![(after, lock), (100_000, sync(WindowSync::Unlock { target: Some(2) }))]
    };
    let found = ends(vec![holds(5000), holds(1000), vec![]]);
    assert_eq!(found, [209.0, 109.0, 0.0]);
}

#[test]
fn computation_before_a_call_site_can_take_another_time() {
    let changes = |duration| ReplayChanges {
        segments: vec![SegmentChange { from: None, to: Some([1].into_iter().collect()), duration }],
        ..ReplayChanges::default()
    };
    let program = || vec![vec![(10_000, ReplayAction::Poll), (10_000, ReplayAction::Poll), (10_000, ReplayAction::Poll)]];
    assert_eq!(ends_with(program(), "", &changes(DurationChange::Scale(0.5))), [25.0]);
    assert_eq!(ends_with(program(), "", &changes(DurationChange::Fixed(1e-6))), [21.0]);
}

#[test]
fn the_network_as_recorded_gives_back_what_was_recorded_and_an_ideal_one_only_what_depends_on_others() {
    let program = Program(vec![vec![(30_000, send(1, 0))], vec![(0, receive(0))]]);
    let costs =
        |times| ReplayCosts::Recorded(RecordedNetwork { latency_factor: times, per_byte_factor: times, ..RecordedNetwork::default() });
    let end = |times| replay(&program, &costs(times), &ReplayChanges::default(), None).unwrap().replayed_s;
    assert_eq!((end(0.0) * 1e9).round(), 30_000.0);
}

#[test]
fn unsuccessful_polls_only_cost_time_if_the_program_does_other_work() {
    let end = |calls: &[(i64, ReplayAction)], times: f64| {
        let program = Looking { program: Program(vec![calls.to_vec()]), took_ns: 40_000, idle_below_ns: 2000 };
        let network = RecordedNetwork { latency_factor: times, per_byte_factor: times, ..RecordedNetwork::default() };
        (replay(&program, &ReplayCosts::Recorded(network), &ReplayChanges::default(), None).unwrap().replayed_s * 1e9).round()
    };
    let (poll, finalize) = (ReplayAction::Poll, ReplayAction::Finalize);
    let once = [(10_000, poll.clone()), (5000, finalize.clone())];
    assert_eq!(end(&once, 1.0), 55_000.0);
    assert_eq!(end(&once, 0.0), 15_000.0);
    let twice = [(10_000, poll.clone()), (1000, poll.clone()), (5000, finalize.clone())];
    assert_eq!(end(&twice, 1.0), 96_000.0);
    assert_eq!(end(&twice, 0.0), 15_000.0);
    let then_calls_something_else = [(10_000, poll.clone()), (1000, finalize.clone())];
    assert_eq!(end(&then_calls_something_else, 1.0), 51_000.0);
    let then_completes = [(10_000, poll), (1000, ReplayAction::Complete(vec![])), (0, finalize)];
    assert_eq!(end(&then_completes, 1.0), 10_000.0);
}

#[test]
fn more_ranks_than_cores_do_not_fit() {
    let small = "\n[[node]]\nkind = \"PC\"\ncount = 1\ncores = 1\n";
    let program = Program(vec![vec![], vec![]]);
    assert!(matches!(on(&program, &machine(small), &ReplayChanges::default()), Err(Error::MachineTooSmall { ranks: 2, cores: 1 })));
}

/// A master with wildcard receives that answers each worker; answers have tags of their own.
fn master_and_two(first: i64, second: i64) -> Vec<Vec<(i64, ReplayAction)>> {
    let anyone =
        |from| ReplayAction::Receive(ReceiveAction { from: Some(envelope(from)), any_source: true, completion: CallCompletion::Blocking });
    let master = vec![(0, anyone(1)), (0, send(1, 0)), (0, anyone(2)), (0, send(2, 0)), (0, ReplayAction::Finalize)];
    vec![master, vec![(first, send(0, 0)), (0, receive(0))], vec![(second, send(0, 0)), (0, receive(0))]]
}

#[test]
fn wildcard_receives_keep_their_order_unless_matched_again() {
    let again = ReplayChanges { wildcards_by_arrival: true, ..ReplayChanges::default() };
    // Recorded in the order 1, 2, but here rank 2 is fast and rank 1 slow.
    let recorded = ends_with(master_and_two(100_000, 0), "", &ReplayChanges::default());
    let decided = ends_with(master_and_two(100_000, 0), "", &again);
    assert!(recorded[2] > 100.0, "rank 2 waits for rank 1: {recorded:?}");
    assert!(decided[2] < 30.0, "rank 2 is answered at once: {decided:?}");
    let mut last = master_and_two(0, 0);
    last[0].pop();
    assert!(ends_with(last, "", &again)[2] > 0.0, "where nothing can be moved, nothing is asked");
    assert_eq!(ends_with(master_and_two(0, 100_000), "", &ReplayChanges::default()), ends_with(master_and_two(0, 100_000), "", &again));
}

#[test]
fn less_latency_and_more_bandwidth_never_take_longer() {
    let below_zero = "\n[network.same_node]\ntransfer.pieces = [{ up_to_bytes = 1000, intercept_s = 1e-5, slope_s_per_byte = 0.0 }, { from_bytes = 1000, intercept_s = -1e-4, slope_s_per_byte = 1.1e-7 }]\n[[node]]\nkind = \"PC\"\ncount = 1\ncores = 2\n";
    let program = Program(vec![vec![(0, send(1, 10)), (0, send(1, 5000))], vec![(0, receive(0)), (0, receive(0))]]);
    let time = |latency: f64, per_byte: f64| {
        let mut platform = Platform::new(&machine(below_zero), 2, &RankPlacement::Block, IntervalBound::Middle).unwrap();
        (platform.adjustment.latency_factor, platform.adjustment.per_byte_factor) = (latency, per_byte);
        replay(&program, &ReplayCosts::Machine(Box::new(platform)), &ReplayChanges::default(), None).unwrap().replayed_s
    };
    for factor in [0.0, 0.1, 0.5, 0.9] {
        assert!(time(factor, 1.0) <= time(1.0, 1.0) && time(1.0, factor) <= time(1.0, 1.0), "{factor}");
    }
}
