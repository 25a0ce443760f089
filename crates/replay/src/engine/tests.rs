//! Small programs whose times can be told by hand.

use std::path::Path;

use sintonia_machine::Machine;
use sintonia_mpi::{Operation, Pattern};
use sintonia_recording::deed::{Group, Purpose};
use sintonia_recording::table::{ListedRequest, Shape};

use super::{Costs, Outcome, RecordedNetwork, replay};
use crate::Error;
use crate::changes::{Built, Changes, SegmentChange, Takes};
use crate::collective::{Algorithm, Shape as Tree};
use crate::platform::{End, Placement, Platform};
use crate::schedule::{
    Action, Described, Envelope, How, Join, LineId, Next, Outcome as Got, Receive, Request, Row, Schedule, Send, SendMode, Stretch,
    Stretches, Sync,
};

/// A program: for each rank what it does, each after so many nanoseconds of computation.
struct Program(Vec<Vec<(i64, Action)>>);

struct Reader<'a> {
    calls: &'a [(i64, Action)],
    read: bool,
}

impl Schedule for Program {
    fn ranks(&self) -> u32 {
        self.0.len() as u32
    }

    fn lines(&self) -> Result<Vec<LineId>, Error> {
        Ok((0..self.ranks()).map(|rank| LineId { rank, thread: 0 }).collect())
    }

    fn open(&self, line: LineId) -> Result<Box<dyn Stretches + '_>, Error> {
        Ok(Box::new(Reader { calls: &self.0[line.rank as usize], read: false }))
    }

    fn members(&self, _: u32) -> Vec<u32> {
        (0..self.ranks()).collect()
    }

    fn object(&self, _: u32) -> Option<u32> {
        Some(0)
    }

    fn sites(&self) -> u32 {
        100
    }

    fn site(&self, site: u32) -> String {
        format!("program.c:{site}")
    }
}

/// A program whose waits got nothing.
struct GivenUp(Program);

impl Schedule for GivenUp {
    fn ranks(&self) -> u32 {
        self.0.ranks()
    }

    fn lines(&self) -> Result<Vec<LineId>, Error> {
        self.0.lines()
    }

    fn open(&self, line: LineId) -> Result<Box<dyn Stretches + '_>, Error> {
        Ok(Box::new(Empty(self.0.open(line)?)))
    }

    fn members(&self, communicator: u32) -> Vec<u32> {
        self.0.members(communicator)
    }

    fn sites(&self) -> u32 {
        self.0.sites()
    }

    fn site(&self, site: u32) -> String {
        self.0.site(site)
    }
}

struct Empty<'a>(Box<dyn Stretches + 'a>);

impl Stretches for Empty<'_> {
    fn next(&mut self, stretch: &mut Stretch) -> Result<Next, Error> {
        let next = self.0.next(stretch)?;
        for described in &mut stretch.actions {
            if let Action::Complete(requests) = &described.action {
                let nothing = |request: &Request| ListedRequest { request: *request, receive: false, peer: -1, tag: -1, received: 0 };
                described.shape.requests = requests.iter().map(nothing).collect();
            }
        }
        Ok(next)
    }
}

/// A program whose looks whether something has happened take so long; `waits` if nothing is done after them but waiting.
struct Looking {
    program: Program,
    took_ns: i64,
    waits: bool,
}

impl Schedule for Looking {
    fn ranks(&self) -> u32 {
        self.program.ranks()
    }

    fn lines(&self) -> Result<Vec<LineId>, Error> {
        self.program.lines()
    }

    fn open(&self, line: LineId) -> Result<Box<dyn Stretches + '_>, Error> {
        Ok(Box::new(Look { stretches: self.program.open(line)?, took_ns: self.took_ns, waits: self.waits }))
    }

    fn members(&self, communicator: u32) -> Vec<u32> {
        self.program.members(communicator)
    }

    fn sites(&self) -> u32 {
        self.program.sites()
    }

    fn site(&self, site: u32) -> String {
        self.program.site(site)
    }
}

struct Look<'a> {
    stretches: Box<dyn Stretches + 'a>,
    took_ns: i64,
    waits: bool,
}

impl Stretches for Look<'_> {
    fn next(&mut self, stretch: &mut Stretch) -> Result<Next, Error> {
        let next = self.stretches.next(stretch)?;
        let mut looked = false;
        for row in &mut stretch.rows {
            if looked && self.waits {
                (row.computed_ns, row.idle_ns) = (0, row.computed_ns as u32);
            }
            looked = stretch.actions[row.action as usize].action == Action::Poll;
            row.took_ns = if looked { self.took_ns } else { row.took_ns };
        }
        Ok(next)
    }
}

impl Stretches for Reader<'_> {
    fn next(&mut self, stretch: &mut Stretch) -> Result<Next, Error> {
        if self.read {
            return Ok(Next::End);
        }
        self.read = true;
        let operation = Operation::named("MPI_Send").unwrap();
        let describe = |(site, (_, action)): (u32, &(i64, Action))| Described {
            action: action.clone(),
            shape: Shape { site, ..Shape::of(operation) },
        };
        stretch.actions = (0..).zip(self.calls).map(describe).collect();
        let row = |(action, (computed_ns, _)): (u32, &(i64, Action))| Row { computed_ns: *computed_ns, action, ..Row::default() };
        stretch.rows = (0..).zip(self.calls).map(row).collect();
        stretch.enter_ns = self.calls.first().map_or(0, |(computed_ns, _)| *computed_ns);
        Ok(Next::Actions)
    }

    fn outcome(&mut self) -> Result<Got, Error> {
        Ok(Got::Received(Envelope { peer: 1, communicator: 0, tag: 7 }))
    }
}

fn envelope(peer: u32) -> Envelope {
    Envelope { peer, communicator: 0, tag: 7 }
}

fn sends(to: u32, bytes: u64, how: How) -> Action {
    Action::Send(Send { to: envelope(to), bytes, mode: SendMode::Standard, how })
}

fn send(to: u32, bytes: u64) -> Action {
    sends(to, bytes, How::Blocking)
}

fn receive(from: u32) -> Action {
    Action::Receive(Receive { from: Some(envelope(from)), anyone: false, how: How::Blocking })
}

fn begin_receive(from: u32) -> Action {
    Action::Receive(Receive { from: Some(envelope(from)), anyone: false, how: How::Request })
}

fn wait(ago: &[u64]) -> Action {
    Action::Complete(ago.iter().map(|ago| Request::Ago(*ago)).collect())
}

fn collective(pattern: Pattern, root: Option<u32>, bytes: u64, how: How) -> Action {
    let group = Group::Communicator(0);
    Action::Join(Join { group, purpose: Purpose::Collective(pattern), root, sent: bytes, received: bytes, how })
}

/// A send takes 1 µs, a receive 2 µs, a message 10 µs and 1 ns for each byte in all; up to 1000 bytes leave at once.
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

/// That machine, with more in its file.
pub(crate) fn machine(more: &str) -> Machine {
    Machine::parse(&format!("{MACHINE}{more}"), Path::new("test.machine.toml")).unwrap()
}

fn on(program: &dyn Schedule, machine: &Machine, changes: &Changes) -> Result<Outcome, Error> {
    let platform = Platform::new(machine, program.ranks(), &Placement::Block, End::Middle)?;
    replay(program, &Costs::Machine(Box::new(platform)), changes, None)
}

/// Microseconds until each rank ends.
fn ends(calls: Vec<Vec<(i64, Action)>>) -> Vec<f64> {
    ends_with(calls, "", &Changes::default())
}

fn ends_with(calls: Vec<Vec<(i64, Action)>>, more: &str, changes: &Changes) -> Vec<f64> {
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
fn a_receive_that_comes_late_takes_only_its_own_time() {
    assert_eq!(ends(vec![vec![(0, send(1, 0))], vec![(50_000, receive(0))]]), [1.0, 52.0]);
}

#[test]
fn a_large_message_waits_for_its_receive() {
    assert_eq!(ends(vec![vec![(0, send(1, 2000))], vec![(50_000, receive(0))]]), [51.0, 62.0]);
    assert_eq!(ends(vec![vec![(0, send(1, 1000))], vec![(50_000, receive(0))]]), [1.0, 52.0]);
}

#[test]
fn messages_of_one_channel_are_received_in_the_order_of_posting_whoever_is_waited_for_first() {
    let receiver = vec![(0, begin_receive(0)), (0, begin_receive(0)), (0, wait(&[0])), (0, wait(&[1]))];
    let sender = vec![(0, send(1, 100)), (20_000, send(1, 200))];
    // The second receive gets the second message, sent at 21 µs.
    assert_eq!(ends(vec![sender, receiver]), [22.0, 33.2]);
}

#[test]
fn one_wait_for_many_takes_them_as_they_come() {
    let receiver = vec![(0, begin_receive(1)), (0, begin_receive(2)), (0, wait(&[1, 0]))];
    // The second one comes at 8 µs, the first at 38 µs; each takes 2 µs.
    assert_eq!(ends(vec![receiver, vec![(30_000, send(0, 0))], vec![(0, send(0, 0))]])[0], 40.0);
}

#[test]
fn messages_through_one_way_onto_the_network_follow_each_other() {
    // 1000 bytes keep it busy for 1 µs, but a send is over in no time.
    let quick = "\n[network.same_node]\n";
    let burst = vec![vec![(0, sends(1, 1000, How::Request)); 3], vec![(0, receive(0)); 3]];
    assert_eq!(ends_with(burst, quick, &Changes::default()), [3.0, 15.0]);
}

#[test]
fn ranks_that_send_to_each_other_first_deadlock_where_messages_wait() {
    let both = |bytes| Program(vec![vec![(0, send(1, bytes)), (0, receive(1))], vec![(0, send(0, bytes)), (0, receive(0))]]);
    assert!(on(&both(1000), &machine(""), &Changes::default()).is_ok());
    let Err(Error::Standstill(standstill)) = on(&both(2000), &machine(""), &Changes::default()) else { panic!("no deadlock") };
    assert_eq!(standstill.circle, [0, 1]);
    assert_eq!(standstill.blocked[0].waits_for, [1]);
    assert!(standstill.to_string().contains("rank 1 in MPI_Send at program.c:0 waits for rank 0"), "{standstill}");
}

#[test]
fn a_receive_without_a_message_is_told_as_such() {
    let program = Program(vec![vec![(0, receive(1))], vec![]]);
    let Err(Error::Standstill(standstill)) = on(&program, &machine(""), &Changes::default()) else { panic!("no standstill") };
    assert_eq!((standstill.circle.len(), standstill.ended), (0, 1));
    assert_eq!(standstill.blocked[0].waits_for, [1]);
}

#[test]
fn a_message_that_nobody_receives_is_counted() {
    let outcome = on(&Program(vec![vec![(0, send(1, 1))], vec![]]), &machine(""), &Changes::default()).unwrap();
    assert_eq!((outcome.unmatched.sends, outcome.unmatched.receives), (1, 0));
    assert_eq!(outcome.unmatched.between, [(0, 1)]);
}

#[test]
fn a_persistent_request_sends_each_time_it_is_started() {
    let start = || (0, Action::Start(vec![Request::Ago(0)]));
    let sender = vec![(0, sends(1, 0, How::Persistent)), start(), (0, wait(&[0])), start(), (0, wait(&[0]))];
    assert_eq!(ends(vec![sender, vec![(0, receive(0)), (0, receive(0))]]), [2.0, 12.0]);
}

#[test]
fn a_receive_from_anyone_gets_what_it_got() {
    let anyone = Action::Receive(Receive { from: None, anyone: true, how: How::Request });
    assert_eq!(ends(vec![vec![(0, anyone), (0, wait(&[0]))], vec![(5000, send(0, 0))]]), [15.0, 6.0]);
}

#[test]
fn a_receive_that_was_given_up_takes_no_message() {
    let given_up = || vec![(0, begin_receive(1)), (0, wait(&[0])), (0, receive(1))];
    let program = Program(vec![given_up(), vec![(0, send(0, 0))]]);
    let waits_for_ever = on(&program, &machine(""), &Changes::default());
    assert!(matches!(waits_for_ever, Err(Error::Standstill(_))), "the first receive gets the only message");
    let outcome = on(&GivenUp(program), &machine(""), &Changes::default()).unwrap();
    assert_eq!((outcome.unmatched.sends, outcome.unmatched.receives), (0, 0));
}

#[test]
fn a_probe_waits_for_the_message_and_leaves_it_there() {
    let receiver = vec![(0, Action::Probe { message: envelope(1) }), (1000, receive(1))];
    assert_eq!(ends(vec![receiver, vec![(0, send(0, 0))]]), [11.0, 1.0]);
}

#[test]
fn a_barrier_is_left_when_the_last_one_has_come_and_rounds_of_messages_have_passed() {
    let barrier = |after: i64| vec![(after, collective(Pattern::Barrier, None, 0, How::Blocking))];
    let measured = "\n[group.barrier]\ngrowth = \"1\"\n[[group.barrier.at]]\nprocesses = 4\npieces = [{ intercept_s = 7e-6, slope_s_per_byte = 0.0 }]\n";
    let all = || vec![barrier(0), barrier(1000), barrier(40_000), barrier(3000)];
    assert_eq!(ends_with(all(), measured, &Changes::default()), [47.0; 4]);
    // Without a measurement: two rounds of messages of 10 µs and 1 µs to hand each over.
    let by = Changes { all_algorithms: Some(Built::By(Algorithm::Dissemination)), ..Changes::default() };
    let rounds = ends_with(all(), "", &by);
    assert!(rounds.iter().all(|end| (40.0..=62.0).contains(end)) && rounds.contains(&60.0), "{rounds:?}");
}

#[test]
fn a_broadcast_down_a_binomial_tree_takes_a_message_for_each_level() {
    let broadcast = |after: i64| vec![(after, collective(Pattern::Broadcast, Some(0), 100, How::Blocking))];
    let by = Changes { all_algorithms: Some(Built::By(Algorithm::tree(Tree::Binomial))), ..Changes::default() };
    let found = ends_with(vec![broadcast(0); 8], "", &by);
    assert!(found[0] < 4.0, "the root hands over three messages: {found:?}");
    let last = found.iter().copied().fold(0.0, f64::max);
    assert!((3.0 * 10.1..3.0 * 11.2).contains(&last), "{found:?}");
}

#[test]
fn a_nonblocking_collective_goes_on_beside_computation() {
    let calls = |work: i64| vec![(0, collective(Pattern::Barrier, None, 0, How::Request)), (work, wait(&[0]))];
    let by = Changes { all_algorithms: Some(Built::By(Algorithm::Dissemination)), ..Changes::default() };
    assert_eq!(ends_with(vec![calls(100_000), calls(50_000)], "", &by)[0], 100.0);
}

#[test]
fn a_window_is_accessed_when_it_is_open_and_closed_when_all_are_done() {
    let sync = |sync| Action::Sync { window: 0, sync };
    let put = Action::Access { window: 0, target: 1, put: 1000, get: 0, how: How::Blocking };
    let origin = vec![(0, sync(Sync::Start(vec![1]))), (0, put), (0, sync(Sync::Complete))];
    let target = vec![(20_000, sync(Sync::Post(vec![0]))), (0, sync(Sync::Wait))];
    let found = ends(vec![origin, target]);
    // The opening is told at 30 µs, the data is there 9 µs later, the end is told 10 µs after that.
    assert_eq!(found, [39.0, 49.0]);
}

#[test]
fn an_exclusive_lock_is_had_by_one_after_the_other_in_the_order_of_asking() {
    let sync = |sync| Action::Sync { window: 0, sync };
    let holds = |after: i64| {
        let lock = sync(Sync::Lock { target: Some(2), exclusive: true });
        vec![(after, lock), (100_000, sync(Sync::Unlock { target: Some(2) }))]
    };
    let found = ends(vec![holds(5000), holds(1000), vec![]]);
    assert_eq!(found, [209.0, 109.0, 0.0]);
}

#[test]
fn computation_before_a_call_site_can_take_another_time() {
    let changes = |takes| Changes { segments: vec![SegmentChange { from: None, to: Some([1].into()), takes }], ..Changes::default() };
    let program = || vec![vec![(10_000, Action::Poll), (10_000, Action::Poll), (10_000, Action::Poll)]];
    assert_eq!(ends_with(program(), "", &changes(Takes::Times(0.5))), [25.0]);
    assert_eq!(ends_with(program(), "", &changes(Takes::Each(1e-6))), [21.0]);
}

#[test]
fn the_network_as_recorded_gives_back_what_was_recorded_and_an_ideal_one_only_what_depends_on_others() {
    let program = Program(vec![vec![(30_000, send(1, 0))], vec![(0, receive(0))]]);
    let costs = |times| Costs::Recorded(RecordedNetwork { latency_times: times, per_byte_times: times, ..RecordedNetwork::default() });
    let end = |times| replay(&program, &costs(times), &Changes::default(), None).unwrap().seconds;
    assert_eq!((end(0.0) * 1e9).round(), 30_000.0);
}

#[test]
fn a_look_that_found_nothing_takes_its_time_only_if_the_program_goes_on_with_something_else() {
    let end = |waits: bool, times: f64| {
        let program = Looking { program: Program(vec![vec![(10_000, Action::Poll), (5000, Action::Finalize)]]), took_ns: 40_000, waits };
        let network = RecordedNetwork { latency_times: times, per_byte_times: times, ..RecordedNetwork::default() };
        (replay(&program, &Costs::Recorded(network), &Changes::default(), None).unwrap().seconds * 1e9).round()
    };
    assert_eq!(end(false, 1.0), 55_000.0);
    assert_eq!(end(false, 0.0), 15_000.0);
    assert_eq!(end(true, 1.0), 10_000.0);
}

#[test]
fn more_ranks_than_cores_do_not_fit() {
    let small = "\n[[node]]\nkind = \"PC\"\ncount = 1\ncores = 1\n";
    let program = Program(vec![vec![], vec![]]);
    assert!(matches!(on(&program, &machine(small), &Changes::default()), Err(Error::TooSmall { ranks: 2, cores: 1 })));
}

/// A master that takes results from anyone and answers each; the answers have tags of their own.
fn master_and_two(first: i64, second: i64) -> Vec<Vec<(i64, Action)>> {
    let anyone = |from| Action::Receive(Receive { from: Some(envelope(from)), anyone: true, how: How::Blocking });
    let master = vec![(0, anyone(1)), (0, send(1, 0)), (0, anyone(2)), (0, send(2, 0)), (0, Action::Finalize)];
    vec![master, vec![(first, send(0, 0)), (0, receive(0))], vec![(second, send(0, 0)), (0, receive(0))]]
}

#[test]
fn receives_from_anyone_keep_their_order_unless_they_are_decided_again() {
    let again = Changes { wildcards_by_arrival: true, ..Changes::default() };
    // Recorded in the order 1, 2, but here rank 2 is quick and rank 1 slow.
    let recorded = ends_with(master_and_two(100_000, 0), "", &Changes::default());
    let decided = ends_with(master_and_two(100_000, 0), "", &again);
    assert!(recorded[2] > 100.0, "rank 2 waits for rank 1: {recorded:?}");
    assert!(decided[2] < 30.0, "rank 2 is answered at once: {decided:?}");
    let mut last = master_and_two(0, 0);
    last[0].pop();
    assert!(ends_with(last, "", &again)[2] > 0.0, "where nothing can be moved, nothing is asked");
    assert_eq!(ends_with(master_and_two(0, 100_000), "", &Changes::default()), ends_with(master_and_two(0, 100_000), "", &again));
}

#[test]
fn less_latency_and_more_bandwidth_never_take_longer() {
    let below_zero = "\n[network.same_node]\ntransfer.pieces = [{ up_to_bytes = 1000, intercept_s = 1e-5, slope_s_per_byte = 0.0 }, { from_bytes = 1000, intercept_s = -1e-4, slope_s_per_byte = 1.1e-7 }]\n[[node]]\nkind = \"PC\"\ncount = 1\ncores = 2\n";
    let program = Program(vec![vec![(0, send(1, 10)), (0, send(1, 5000))], vec![(0, receive(0)), (0, receive(0))]]);
    let time = |latency: f64, per_byte: f64| {
        let mut platform = Platform::new(&machine(below_zero), 2, &Placement::Block, End::Middle).unwrap();
        (platform.adjust.latency, platform.adjust.per_byte) = (latency, per_byte);
        replay(&program, &Costs::Machine(Box::new(platform)), &Changes::default(), None).unwrap().seconds
    };
    for factor in [0.0, 0.1, 0.5, 0.9] {
        assert!(time(factor, 1.0) <= time(1.0, 1.0) && time(1.0, factor) <= time(1.0, 1.0), "{factor}");
    }
}
