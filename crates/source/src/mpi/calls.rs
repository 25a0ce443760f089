//! The calls of MPI: what each gives to the process, and what others notice of it.

use sintonia_formula::Formula;
use sintonia_machine::Collective;

use super::role::Role;
use super::step::{Message, Step};
use super::value::{Group, Value};
use super::walk::{Walk, Walked};
use crate::names::spot;
use crate::place::Place;
use crate::routine::{Computation, Expression};

/// A communicator that MPI defines.
pub fn predefined_group(name: &str, role: &Role) -> Option<Group> {
    match name {
        "MPI_COMM_WORLD" => Some(Group { size: Formula::symbol("p"), rank: Some(role.rank()), grid: Vec::new() }),
        "MPI_COMM_SELF" => Some(Group { size: Formula::one(), rank: Some(Formula::zero()), grid: Vec::new() }),
        _ => None,
    }
}

/// Where the arguments of an operation of a group stand.
struct Shape {
    operation: Collective,
    /// The argument that counts elements, and the one that is their datatype.
    count: Option<(usize, usize)>,
    communicator: usize,
}

/// The operation of a group that a call is, and whether it is the nearest one rather than the same.
fn shape(name: &str) -> Option<(Shape, bool)> {
    let (operation, count, communicator, nearest) = match name {
        "Barrier" => (Collective::Barrier, None, 0, false),
        "Bcast" => (Collective::Bcast, Some((1, 2)), 4, false),
        "Reduce" => (Collective::Reduce, Some((2, 3)), 6, false),
        "Allreduce" => (Collective::Allreduce, Some((2, 3)), 5, false),
        "Scan" => (Collective::Scan, Some((2, 3)), 5, false),
        "Exscan" => (Collective::Scan, Some((2, 3)), 5, true),
        "Gather" => (Collective::Gather, Some((1, 2)), 7, false),
        "Gatherv" => (Collective::Gather, Some((1, 2)), 8, true),
        "Scatter" => (Collective::Scatter, Some((4, 5)), 7, false),
        "Scatterv" => (Collective::Scatter, Some((5, 6)), 8, true),
        "Allgather" => (Collective::Allgather, Some((1, 2)), 6, false),
        "Allgatherv" => (Collective::Allgather, Some((1, 2)), 7, true),
        "Alltoall" => (Collective::Alltoall, Some((1, 2)), 6, false),
        "Alltoallv" => (Collective::Alltoall, Some((1, 3)), 8, true),
        "Reduce_scatter_block" => (Collective::ReduceScatterBlock, Some((2, 3)), 5, false),
        "Win_fence" => (Collective::Barrier, None, 1, true),
        "Reduce_scatter" => (Collective::ReduceScatterBlock, Some((2, 3)), 5, true),
        _ => return None,
    };
    Some((Shape { operation, count, communicator }, nearest))
}

/// Calls that take no time worth counting; what they are given to write to is unknown afterwards.
const QUIET: [&str; 11] = [
    "Init",
    "Init_thread",
    "Finalize",
    "Initialized",
    "Finalized",
    "Comm_set_errhandler",
    "Errhandler_set",
    "Get_processor_name",
    "Request_free",
    "Error_string",
    "Pcontrol",
];

impl<'p> Walk<'_, 'p> {
    /// A call of MPI.
    pub(super) fn mpi(&mut self, name: &str, arguments: &'p [Expression], place: &Place) -> Walked<Value> {
        // Calls with large counts take the same arguments.
        let short = name.trim_start_matches("MPI_").trim_end_matches("_c");
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.evaluate(argument)?);
        }
        let call = Call { name: short, arguments, values, place };
        match short {
            "Wtime" | "Wtick" => return Ok(Value::Unknown),
            "Send" | "Ssend" | "Bsend" | "Rsend" | "Isend" | "Issend" | "Ibsend" | "Irsend" => self.message(&call, true, [1, 2, 3, 5]),
            "Recv" | "Irecv" => {
                self.received(&call, 0);
                self.message(&call, false, [1, 2, 3, 5]);
            }
            "Sendrecv" => {
                self.message(&call, true, [1, 2, 3, 10]);
                self.received(&call, 5);
                self.message(&call, false, [6, 7, 8, 10]);
            }
            "Sendrecv_replace" => {
                self.message(&call, true, [1, 2, 3, 7]);
                self.received(&call, 0);
                self.message(&call, false, [1, 2, 5, 7]);
            }
            _ if self.group_call(&call) || self.request(&call) || self.window(&call) => {}
            _ if self.inquiry(&call) || self.datatype(&call) || self.communicator(&call) => {}
            "Type_commit" | "Type_free" | "Comm_free" | "Win_free" => {}
            _ if QUIET.contains(&short) => self.forget_given(&call.values),
            _ => {
                self.forget_given(&call.values);
                self.note(place, format!("{name} is not modelled and costs nothing"));
            }
        }
        Ok(Value::Number(Formula::zero()))
    }

    /// What a process receives is not known; where it is one number, it has the name of its variable.
    fn received(&mut self, call: &Call, buffer: usize) {
        if let Some(value) = call.values.get(buffer) {
            self.forget_given(std::slice::from_ref(value));
        }
    }

    /// A message; `at` are the arguments that count, are the datatype, the other end, and the communicator.
    fn message(&mut self, call: &Call, is_sent: bool, at: [usize; 4]) {
        if let Some(message) = self.envelope(call, is_sent, at) {
            self.emit(Step::Message(message));
        }
    }

    /// One end of a message, unless it goes to nobody else. How large it is, only its sender says.
    pub(super) fn envelope(&mut self, call: &Call, is_sent: bool, [count, datatype, peer, group]: [usize; 4]) -> Option<Message> {
        let bytes = if is_sent { self.number_at(call, count, "count") * self.size_at(call, datatype) } else { Formula::zero() };
        self.between(call, is_sent, bytes, peer, group)
    }

    /// What goes from this process to another or back; the arguments are the other one and who they are among.
    pub(super) fn between(&self, call: &Call, is_sent: bool, bytes: Formula, peer: usize, group: usize) -> Option<Message> {
        let (peer, exists) = match call.values.get(peer)?.as_neighbour() {
            Some((rank, exists)) => (Some(rank), exists),
            None => (None, Formula::one()),
        };
        let group = match call.values.get(group) {
            Some(Value::Group(group)) => Some(group),
            _ => None,
        };
        if exists.is_zero() || group.is_some_and(|group| group.size.is_one()) {
            return None;
        }
        let is_world = |group: &Group| group.size == Formula::symbol("p") && group.rank == Some(self.role.rank());
        let peer = peer.filter(|_| group.is_some_and(is_world));
        Some(Message { is_sent, peer, exists, bytes, place: call.place.clone() })
    }

    /// A number that is given to a call.
    pub(super) fn number_at(&mut self, call: &Call, argument: usize, what: &str) -> Formula {
        match call.values.get(argument) {
            Some(Value::Number(number)) => number.clone(),
            _ => self.unknown(call, argument, what),
        }
    }

    /// The bytes of one element of a datatype that is given to a call.
    pub(super) fn size_at(&mut self, call: &Call, argument: usize) -> Formula {
        match call.values.get(argument) {
            Some(Value::Datatype(size)) => size.clone(),
            _ => self.unknown(call, argument, "bytes"),
        }
    }

    /// A number that could not be derived: named after the variable if it is one.
    fn unknown(&mut self, call: &Call, argument: usize, what: &str) -> Formula {
        let name = match call.arguments.get(argument).map(|argument| &argument.what) {
            Some(Computation::Variable(name)) if what == "count" => name.clone(),
            Some(Computation::Variable(name)) => format!("{what}_{name}"),
            _ => format!("{what}_{}", spot(call.place)),
        };
        if self.is_silent() {
            return Formula::symbol(&name);
        }
        let symbol = self.parameter(&name, None, format!("the {what} of MPI_{} at {}", call.name, call.place.short()));
        self.note(call.place, format!("the {what} of MPI_{} cannot be derived here: give it with -p {symbol}=…", call.name));
        symbol
    }

    /// An operation of a group, nonblocking or not.
    fn group_call(&mut self, call: &Call) -> bool {
        let blocking = call.name.strip_prefix('I').map(|rest| {
            let mut letters = rest.chars();
            letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>()).unwrap_or_default()
        });
        let known = shape(call.name).or_else(|| blocking.as_deref().and_then(shape));
        let Some((shape, is_nearest)) = known else { return false };
        let bytes = match shape.count {
            Some((count, datatype)) => self.number_at(call, count, "count") * self.size_at(call, datatype),
            None => Formula::zero(),
        };
        let processes = match call.values.get(shape.communicator) {
            Some(Value::Group(group)) => group.size.clone(),
            _ => self.size_of_group(call, shape.communicator),
        };
        self.learn(call, shape.operation);
        if is_nearest {
            self.note(
                call.place,
                format!("MPI_{} is taken as the nearest operation that machines are measured by, with the largest share", call.name),
            );
        }
        self.emit(Step::Group { operation: shape.operation, bytes, processes, place: call.place.clone() });
        true
    }

    /// What a group gives to a variable: a number that all get is what it was at the root.
    fn learn(&mut self, call: &Call, operation: Collective) {
        let is_alone = call.values.get(1).and_then(Value::number).is_some_and(Formula::is_one);
        match (operation, call.values.first()) {
            (Collective::Bcast, Some(Value::Address(address))) if is_alone => {
                let name = match call.arguments.first().map(|argument| &argument.what) {
                    Some(Computation::AddressOf(of)) => match &of.what {
                        Computation::Variable(name) => name.clone(),
                        _ => return,
                    },
                    _ => return,
                };
                if self.store.get(address) == Value::Unknown && !self.is_silent() {
                    let symbol = self.parameter(&name, None, format!("what all processes get at {}", call.place.short()));
                    self.store.set(address, Value::Number(symbol));
                }
            }
            (Collective::Bcast, _) => {}
            _ => {
                if let Some(value) = call.values.get(1) {
                    self.forget_given(std::slice::from_ref(value));
                }
            }
        }
    }

    /// Calls that tell the process something.
    fn inquiry(&mut self, call: &Call) -> bool {
        let group = match call.values.first() {
            Some(Value::Group(group)) => Some(group.clone()),
            _ => None,
        };
        match call.name {
            "Comm_rank" => self.give(call, 1, group.and_then(|group| group.rank).map_or(Value::Unknown, Value::Number)),
            "Comm_size" => self.give(call, 1, group.map_or(Value::Unknown, |group| Value::Number(group.size))),
            "Cart_coords" => self.coordinates(call, group),
            "Cart_rank" => self.give(call, 2, Value::Unknown),
            "Cart_shift" => self.shift(call, group),
            "Dims_create" => self.dimensions(call),
            "Type_size" => {
                let size = match call.values.first() {
                    Some(Value::Datatype(size)) => Value::Number(size.clone()),
                    _ => Value::Unknown,
                };
                self.give(call, 1, size);
            }
            "Get_count" => self.give(call, 2, Value::Unknown),
            _ => return false,
        }
        true
    }

    pub(super) fn give(&mut self, call: &Call, argument: usize, value: Value) {
        if let Some(Value::Address(address)) = call.values.get(argument) {
            self.store.set(address, value);
        }
    }

    /// Calls that make a datatype.
    fn datatype(&mut self, call: &Call) -> bool {
        let number = |at: usize| call.values.get(at).and_then(Value::number).cloned();
        let size = |at: usize| match call.values.get(at) {
            Some(Value::Datatype(size)) => Some(size.clone()),
            _ => None,
        };
        let datatype = |bytes: Option<Formula>| bytes.map_or(Value::Unknown, Value::Datatype);
        match call.name {
            "Type_contiguous" => self.give(call, 2, datatype(number(0).zip(size(1)).map(|(count, size)| count * size))),
            "Type_vector" | "Type_create_hvector" | "Type_hvector" => {
                let elements = number(0).zip(number(1)).map(|(blocks, length)| blocks * length);
                self.give(call, 4, datatype(elements.zip(size(3)).map(|(count, size)| count * size)));
            }
            "Type_create_resized" => self.give(call, 3, datatype(size(0))),
            "Type_dup" => self.give(call, 1, datatype(size(0))),
            _ => return false,
        }
        true
    }
}

/// A call with what its arguments are.
pub(super) struct Call<'c, 'p> {
    pub(super) name: &'c str,
    pub(super) arguments: &'p [Expression],
    pub(super) values: Vec<Value>,
    pub(super) place: &'c Place,
}
