//! A trace of a simulator as a schedule: its steps as calls of MPI.
//!
//! Such a trace has no times but those of computation, and names a request by its message instead of a number. Loops do the same again
//! and again, so a step is first held against what followed the last one before.

use std::collections::{HashMap, VecDeque};

use sintonia_formats::script::{End, Envelope as Message, Pattern, Step};
use sintonia_mpi::Operation;
use sintonia_recording::deed::{Group, Purpose};
use sintonia_recording::raw::part;
use sintonia_recording::table::{ListedRequest, Shape};

use super::{Action, Described, Envelope, How, Join, Next, Receive, Request, Row, Send, SendMode, Stretch, Stretches};
use crate::Error;

/// How many calls are read at a time.
const ROWS: usize = 256;

/// So many actions are kept; then it is begun anew.
const MOST_ACTIONS: usize = 1024;

const NS_PER_S: f64 = 1e9;

/// A thread of such a trace, with what reads its steps.
pub struct Script<S> {
    steps: S,
    /// Nanoseconds of computation that no call has followed yet.
    computed: f64,
    /// Nanoseconds of computation before the last call that was read, and before all those before it.
    clock: i64,
    requests: Requests,
    /// What was done so far.
    known: Vec<Described>,
    /// What followed each action the last time.
    followers: Vec<u32>,
    last: u32,
    ended: bool,
}

impl<S> Script<S> {
    /// A thread that does these steps.
    pub fn of(steps: S) -> Script<S> {
        Script {
            steps,
            computed: 0.0,
            clock: 0,
            requests: Requests::default(),
            known: Vec::new(),
            followers: Vec::new(),
            last: 0,
            ended: false,
        }
    }

    fn row(&mut self, stretch: &mut Stretch, described: Described) {
        let computed_ns = self.computed.floor();
        self.computed -= computed_ns;
        self.clock = self.clock.saturating_add(computed_ns as i64);
        let action = self.place(described);
        stretch.rows.push(Row { computed_ns: computed_ns as i64, action, ..Row::default() });
    }

    /// The place of an action among those known, where it is put if it is new.
    fn place(&mut self, described: Described) -> u32 {
        let actions = &mut self.known;
        let expected = self.followers.get(self.last as usize).copied().filter(|place| actions.get(*place as usize) == Some(&described));
        let place = expected.or_else(|| actions.iter().position(|known| *known == described).map(|place| place as u32));
        let place = place.unwrap_or_else(|| {
            actions.push(described);
            self.followers.push(0);
            actions.len() as u32 - 1
        });
        if let Some(follower) = self.followers.get_mut(self.last as usize) {
            *follower = place;
        }
        self.last = place;
        place
    }

    fn step(&mut self, stretch: &mut Stretch, step: Step) {
        match step {
            Step::Compute { seconds } => self.computed += seconds * NS_PER_S,
            Step::Send { to, bytes, synchronous, end } => self.send(stretch, to, bytes, synchronous, end),
            Step::Receive { from, bytes, end } => {
                let how = self.requests.begin(Pending { sent: false, message: from, bytes }, end);
                let receive = Receive { from: Some(envelope(from)), anyone: false, how };
                let name = if how == How::Blocking { "MPI_Recv" } else { "MPI_Irecv" };
                let shape = Shape { received: bytes, ..message_shape(name, from, how, part::RECEIVED) };
                self.row(stretch, Described { action: Action::Receive(receive), shape });
            }
            Step::Wait { sent, message } => {
                let listed = self.requests.end(sent, message);
                self.complete(stretch, listed.into_iter().collect(), "MPI_Wait");
            }
            Step::WaitAll { sent } => {
                let listed = self.requests.end_all(sent);
                self.complete(stretch, listed, "MPI_Waitall");
            }
            Step::Poll => self.row(stretch, Described { action: Action::Poll, shape: shape("MPI_Test") }),
            Step::Collective { pattern, communicator, root, sent, received } => {
                let join = Join {
                    group: Group::Communicator(communicator),
                    purpose: Purpose::Collective(pattern),
                    root,
                    sent,
                    received,
                    how: How::Blocking,
                };
                self.row(stretch, Described { action: Action::Join(join), shape: join_shape(pattern, &join, communicator) });
            }
            Step::Init => self.row(stretch, Described { action: Action::Init, shape: shape("MPI_Init") }),
            Step::Finalize => self.row(stretch, Described { action: Action::Finalize, shape: shape("MPI_Finalize") }),
        }
    }

    fn send(&mut self, stretch: &mut Stretch, to: Message, bytes: u64, synchronous: bool, end: End) {
        let how = self.requests.begin(Pending { sent: true, message: to, bytes }, end);
        let mode = if synchronous { SendMode::Synchronous } else { SendMode::Standard };
        let name = match (synchronous, how) {
            (false, How::Blocking) => "MPI_Send",
            (false, _) => "MPI_Isend",
            (true, How::Blocking) => "MPI_Ssend",
            (true, _) => "MPI_Issend",
        };
        let shape = Shape { sent: bytes, ..message_shape(name, to, how, part::SENT) };
        self.row(stretch, Described { action: Action::Send(Send { to: envelope(to), bytes, mode, how }), shape });
        if end == End::Nowhere {
            let newest = ListedRequest { request: Request::Ago(0), receive: false, peer: 0, tag: 0, received: 0 };
            let free = Shape { requests: vec![newest], ..self::shape("MPI_Request_free") };
            self.row(stretch, Described { action: Action::Forget(vec![Request::Ago(0)]), shape: free });
        }
    }

    /// A wait for nothing, which a test before may have left, is no call.
    fn complete(&mut self, stretch: &mut Stretch, listed: Vec<ListedRequest>, name: &str) {
        if !listed.is_empty() {
            let action = Action::Complete(listed.iter().map(|listed| listed.request).collect());
            self.row(stretch, Described { action, shape: Shape { requests: listed, ..shape(name) } });
        }
    }
}

impl<S: Iterator<Item = Result<Step, sintonia_formats::Error>>> Stretches for Script<S> {
    fn next(&mut self, stretch: &mut Stretch) -> Result<Next, Error> {
        stretch.rows.clear();
        stretch.first_request = None;
        let begin = self.clock;
        if self.known.len() > MOST_ACTIONS {
            self.known.clear();
            self.followers.clear();
        }
        let known = self.known.len();
        while stretch.rows.len() < ROWS && !self.ended {
            match self.steps.next().transpose()? {
                Some(step) => self.step(stretch, step),
                None => {
                    self.ended = true;
                    if self.computed >= 1.0 {
                        self.row(stretch, Described { action: Action::Local, shape: shape("MPI_Wtime") });
                    }
                }
            }
        }
        let Some(first) = stretch.rows.first() else { return Ok(Next::End) };
        stretch.enter_ns = begin.saturating_add(first.computed_ns);
        if known > 0 && self.known.len() == known {
            return Ok(Next::Rows);
        }
        stretch.actions.clone_from(&self.known);
        Ok(Next::Actions)
    }
}

/// A message that has been begun, and that a later step waits for.
#[derive(Clone, Copy)]
struct Pending {
    sent: bool,
    message: Message,
    bytes: u64,
}

/// Messages that nobody has waited for yet, each with the number of its request.
#[derive(Default)]
struct Requests {
    made: u64,
    pending: HashMap<(bool, Message), VecDeque<(u64, Pending)>>,
}

impl Requests {
    fn begin(&mut self, pending: Pending, end: End) -> How {
        if end == End::Here {
            return How::Blocking;
        }
        if end == End::Later {
            self.pending.entry((pending.sent, pending.message)).or_default().push_back((self.made, pending));
        }
        self.made += 1;
        How::Request
    }

    fn end(&mut self, sent: bool, message: Message) -> Option<ListedRequest> {
        let (number, pending) = self.pending.get_mut(&(sent, message))?.pop_front()?;
        Some(self.listed(number, pending))
    }

    fn end_all(&mut self, sends_too: bool) -> Vec<ListedRequest> {
        let ended = self.pending.iter_mut().filter(|((sent, _), _)| sends_too || !sent);
        let mut ended: Vec<(u64, Pending)> = ended.flat_map(|(_, pending)| pending.drain(..)).collect();
        ended.sort_unstable_by_key(|(number, _)| *number);
        self.pending.retain(|_, pending| !pending.is_empty());
        ended.into_iter().map(|(number, pending)| self.listed(number, pending)).collect()
    }

    fn listed(&self, number: u64, Pending { sent, message, bytes }: Pending) -> ListedRequest {
        let received = if sent { 0 } else { bytes };
        ListedRequest {
            request: Request::Ago(self.made - 1 - number),
            receive: !sent,
            peer: message.peer as i32,
            tag: message.tag,
            received,
        }
    }
}

fn envelope(message: Message) -> Envelope {
    Envelope { peer: message.peer, communicator: message.communicator, tag: message.tag }
}

/// The shape of a call of which only the name is known.
fn shape(name: &str) -> Shape {
    Shape::of(operation(name))
}

fn message_shape(name: &str, message: Message, how: How, bytes: u16) -> Shape {
    let request = if how == How::Blocking { 0 } else { part::REQUEST };
    let parts = part::OBJECT | part::TAG | bytes | request;
    Shape { parts, object: message.communicator, peer: message.peer as i32, tag: message.tag, ..shape(name) }
}

fn join_shape(pattern: Pattern, join: &Join, communicator: u32) -> Shape {
    let parts = part::OBJECT | part::SENT | part::RECEIVED;
    let peer = join.root.map_or(sintonia_recording::raw::NONE, |root| root as i32);
    Shape { parts, object: communicator, peer, sent: join.sent, received: join.received, ..shape(name_of(pattern)) }
}

/// The function of this name; all names here are in the list, as a test says.
fn operation(name: &str) -> Operation {
    Operation::named(name).unwrap_or(Operation(0))
}

fn name_of(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::Barrier => "MPI_Barrier",
        Pattern::Broadcast => "MPI_Bcast",
        Pattern::Reduce => "MPI_Reduce",
        Pattern::Allreduce => "MPI_Allreduce",
        Pattern::Gather => "MPI_Gather",
        Pattern::Gatherv => "MPI_Gatherv",
        Pattern::Scatter => "MPI_Scatter",
        Pattern::Scatterv => "MPI_Scatterv",
        Pattern::Allgather => "MPI_Allgather",
        Pattern::Allgatherv => "MPI_Allgatherv",
        Pattern::Alltoall => "MPI_Alltoall",
        Pattern::Alltoallv => "MPI_Alltoallv",
        Pattern::Alltoallw => "MPI_Alltoallw",
        Pattern::ReduceScatter => "MPI_Reduce_scatter",
        Pattern::ReduceScatterBlock => "MPI_Reduce_scatter_block",
        Pattern::Scan => "MPI_Scan",
        Pattern::Exscan => "MPI_Exscan",
        Pattern::NeighborAllgather => "MPI_Neighbor_allgather",
        Pattern::NeighborAllgatherv => "MPI_Neighbor_allgatherv",
        Pattern::NeighborAlltoall => "MPI_Neighbor_alltoall",
        Pattern::NeighborAlltoallv => "MPI_Neighbor_alltoallv",
        Pattern::NeighborAlltoallw => "MPI_Neighbor_alltoallw",
    }
}

#[cfg(test)]
mod tests {
    use sintonia_mpi::Role;

    use super::*;

    fn read(steps: Vec<Step>) -> (Vec<Described>, Vec<Row>) {
        let mut script = Script::of(steps.into_iter().map(Ok));
        let (mut stretch, mut rows) = (Stretch::default(), Vec::new());
        while script.next(&mut stretch).unwrap() != Next::End {
            rows.extend(&stretch.rows);
        }
        (stretch.actions, rows)
    }

    fn message(tag: i32) -> Message {
        Message { peer: 1, tag, communicator: 0 }
    }

    #[test]
    fn the_names_of_all_functions_are_known() {
        for pattern in Pattern::ALL {
            assert_eq!(operation(name_of(pattern)).role(), Role::Collective(pattern));
        }
        for name in [
            "MPI_Send",
            "MPI_Isend",
            "MPI_Ssend",
            "MPI_Issend",
            "MPI_Recv",
            "MPI_Irecv",
            "MPI_Wait",
            "MPI_Waitall",
            "MPI_Test",
            "MPI_Request_free",
        ] {
            assert_eq!(operation(name).name(), name);
        }
    }

    #[test]
    fn a_wait_names_the_oldest_request_of_its_message() {
        let begin = |tag| Step::Receive { from: message(tag), bytes: 8, end: End::Later };
        let wait = |tag| Step::Wait { sent: false, message: message(tag) };
        let (actions, rows) = read(vec![begin(1), begin(2), begin(1), wait(1), wait(2), wait(1), wait(1)]);
        let completed: Vec<&Action> = rows[3..].iter().map(|row| &actions[row.action as usize].action).collect();
        let ago = |number| Action::Complete(vec![Request::Ago(number)]);
        assert_eq!(completed, [&ago(2), &ago(1), &ago(0)]);
    }

    #[test]
    fn waiting_for_all_names_all_in_the_order_of_their_begin() {
        let send = Step::Send { to: message(5), bytes: 8, synchronous: false, end: End::Later };
        let (actions, rows) =
            read(vec![send, Step::Receive { from: message(5), bytes: 8, end: End::Later }, send, Step::WaitAll { sent: true }]);
        let expected = Action::Complete([2, 1, 0].map(Request::Ago).to_vec());
        assert_eq!(actions[rows[3].action as usize].action, expected);
    }

    #[test]
    fn a_loop_is_told_once_and_its_computation_each_time() {
        let round =
            [Step::Compute { seconds: 1.5e-9 }, Step::Send { to: message(1), bytes: 8, synchronous: false, end: End::Here }, Step::Poll];
        let (actions, rows) = read(round.repeat(1000));
        assert_eq!((actions.len(), rows.len()), (2, 2000));
        assert_eq!(rows.iter().map(|row| row.computed_ns).sum::<i64>(), 1500);
    }

    #[test]
    fn more_actions_than_are_kept_are_told_all_the_same() {
        let sends = (0..3000).map(|tag| Step::Send { to: message(tag), bytes: 8, synchronous: false, end: End::Here });
        let mut script = Script::of(sends.map(Ok));
        let (mut stretch, mut tags) = (Stretch::default(), Vec::new());
        while script.next(&mut stretch).unwrap() != Next::End {
            tags.extend(stretch.rows.iter().map(|row| stretch.actions[row.action as usize].shape.tag));
        }
        assert_eq!(tags, (0..3000).collect::<Vec<_>>());
    }

    #[test]
    fn a_stretch_is_entered_after_what_was_computed_before_its_first_call() {
        let mut script = Script::of([Step::Compute { seconds: 1e-6 }, Step::Poll].repeat(ROWS + 1).into_iter().map(Ok));
        let mut stretch = Stretch::default();
        script.next(&mut stretch).unwrap();
        assert_eq!(stretch.enter_ns, 1000);
        script.next(&mut stretch).unwrap();
        assert_eq!(stretch.enter_ns, 1000 * (ROWS as i64 + 1));
    }

    #[test]
    fn computation_at_the_end_is_not_lost() {
        let (actions, rows) = read(vec![Step::Poll, Step::Compute { seconds: 1e-6 }]);
        assert_eq!((rows.len(), rows[1].computed_ns, &actions[1].action), (2, 1000, &Action::Local));
    }

    #[test]
    fn a_send_that_nobody_waits_for_is_given_up_at_once() {
        let (actions, rows) = read(vec![Step::Send { to: message(1), bytes: 8, synchronous: false, end: End::Nowhere }]);
        assert_eq!(rows.len(), 2);
        assert_eq!(actions[1].action, Action::Forget(vec![Request::Ago(0)]));
    }
}
