//! MPI calls: their results and their communication.

use sintonia_formula::Formula;
use sintonia_machine::CollectiveKind;

use super::executor::{ExecutionResult, SymbolicExecutor};
use super::process_step::{MessageEnd, ProcessStep};
use super::role::ProcessRole;
use super::value::{CommunicatorValue, SymbolicValue};
use crate::file_pos::FilePos;
use crate::ir::{ExprKind, TypedExpr};
use crate::model_names::pos_name;

/// A predefined communicator.
pub(super) fn predefined_communicator(name: &str, role: &ProcessRole) -> Option<CommunicatorValue> {
    match name {
        "MPI_COMM_WORLD" => Some(CommunicatorValue { size: Formula::symbol("p"), rank: Some(role.rank()), grid: Vec::new() }),
        "MPI_COMM_SELF" => Some(CommunicatorValue { size: Formula::one(), rank: Some(Formula::zero()), grid: Vec::new() }),
        _ => None,
    }
}

/// The argument positions of a collective.
struct CollectiveSignature {
    operation: CollectiveKind,
    /// The count argument and the datatype argument.
    count: Option<(usize, usize)>,
    communicator: usize,
}

/// The collective of a call, and whether it is only an approximation.
fn collective_signature(name: &str) -> Option<(CollectiveSignature, bool)> {
    let (operation, count, communicator, nearest) = match name {
        "Barrier" => (CollectiveKind::Barrier, None, 0, false),
        "Bcast" => (CollectiveKind::Bcast, Some((1, 2)), 4, false),
        "Reduce" => (CollectiveKind::Reduce, Some((2, 3)), 6, false),
        "Allreduce" => (CollectiveKind::Allreduce, Some((2, 3)), 5, false),
        "Scan" => (CollectiveKind::Scan, Some((2, 3)), 5, false),
        "Exscan" => (CollectiveKind::Scan, Some((2, 3)), 5, true),
        "Gather" => (CollectiveKind::Gather, Some((1, 2)), 7, false),
        "Gatherv" => (CollectiveKind::Gather, Some((1, 2)), 8, true),
        "Scatter" => (CollectiveKind::Scatter, Some((4, 5)), 7, false),
        "Scatterv" => (CollectiveKind::Scatter, Some((5, 6)), 8, true),
        "Allgather" => (CollectiveKind::Allgather, Some((1, 2)), 6, false),
        "Allgatherv" => (CollectiveKind::Allgather, Some((1, 2)), 7, true),
        "Alltoall" => (CollectiveKind::Alltoall, Some((1, 2)), 6, false),
        "Alltoallv" => (CollectiveKind::Alltoall, Some((1, 3)), 8, true),
        "Reduce_scatter_block" => (CollectiveKind::ReduceScatterBlock, Some((2, 3)), 5, false),
        "Win_fence" => (CollectiveKind::Barrier, None, 1, true),
        "Reduce_scatter" => (CollectiveKind::ReduceScatterBlock, Some((2, 3)), 5, true),
        _ => return None,
    };
    Some((CollectiveSignature { operation, count, communicator }, nearest))
}

/// Calls without communication or cost; their output arguments are unknown afterwards.
const LOCAL_CALLS: [&str; 11] = [
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

impl<'p> SymbolicExecutor<'_, 'p> {
    pub(super) fn mpi_call(&mut self, name: &str, arguments: &'p [TypedExpr], place: &FilePos) -> ExecutionResult<SymbolicValue> {
        // The large-count variants have the same arguments.
        let short = name.trim_start_matches("MPI_").trim_end_matches("_c");
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.evaluate(argument)?);
        }
        let call = MpiCall { name: short, arguments, values, pos: place };
        match short {
            "Wtime" | "Wtick" => return Ok(SymbolicValue::Unknown),
            "Send" | "Ssend" | "Bsend" | "Rsend" | "Isend" | "Issend" | "Ibsend" | "Irsend" => self.message(&call, true, [1, 2, 3, 5]),
            "Recv" | "Irecv" => {
                self.invalidate_receive_buffer(&call, 0);
                self.message(&call, false, [1, 2, 3, 5]);
            }
            "Sendrecv" => {
                self.message(&call, true, [1, 2, 3, 10]);
                self.invalidate_receive_buffer(&call, 5);
                self.message(&call, false, [6, 7, 8, 10]);
            }
            "Sendrecv_replace" => {
                self.message(&call, true, [1, 2, 3, 7]);
                self.invalidate_receive_buffer(&call, 0);
                self.message(&call, false, [1, 2, 5, 7]);
            }
            _ if self.collective_call(&call) || self.request_call(&call) || self.window_call(&call) => {}
            _ if self.inquiry_call(&call) || self.datatype_call(&call) || self.communicator_call(&call) => {}
            "Type_commit" | "Type_free" | "Comm_free" | "Win_free" => {}
            _ if LOCAL_CALLS.contains(&short) => self.invalidate_arguments(&call.values),
            _ => {
                self.invalidate_arguments(&call.values);
                self.note(place, format!("{name} is not modelled; its cost is taken as zero"));
            }
        }
        Ok(SymbolicValue::Number(Formula::zero()))
    }

    /// Received data is unknown.
    fn invalidate_receive_buffer(&mut self, call: &MpiCall, buffer: usize) {
        if let Some(value) = call.values.get(buffer) {
            self.invalidate_arguments(std::slice::from_ref(value));
        }
    }

    /// A message; `at` are the argument positions of count, datatype, peer and communicator.
    fn message(&mut self, call: &MpiCall, is_sent: bool, at: [usize; 4]) {
        if let Some(message) = self.message_end(call, is_sent, at) {
            self.emit(ProcessStep::Message(message));
        }
    }

    /// One end of a message, unless the peer is `MPI_PROC_NULL`. The size is that of the sender.
    pub(super) fn message_end(&mut self, call: &MpiCall, is_sent: bool, [count, datatype, peer, group]: [usize; 4]) -> Option<MessageEnd> {
        let bytes = if is_sent { self.number_at(call, count, "count") * self.size_at(call, datatype) } else { Formula::zero() };
        self.peer_message(call, is_sent, bytes, peer, group)
    }

    /// A transfer between this process and a peer; `peer` and `group` are argument positions.
    pub(super) fn peer_message(&self, call: &MpiCall, is_sent: bool, bytes: Formula, peer: usize, group: usize) -> Option<MessageEnd> {
        let (peer, exists) = match call.values.get(peer)?.as_neighbour() {
            Some((rank, exists)) => (Some(rank), exists),
            None => (None, Formula::one()),
        };
        let group = match call.values.get(group) {
            Some(SymbolicValue::Communicator(group)) => Some(group),
            _ => None,
        };
        if exists.is_zero() || group.is_some_and(|group| group.size.is_one()) {
            return None;
        }
        let is_world = |group: &CommunicatorValue| group.size == Formula::symbol("p") && group.rank == Some(self.role.rank());
        let peer = peer.filter(|_| group.is_some_and(is_world));
        Some(MessageEnd { is_sent, peer, exists, bytes, pos: call.pos.clone() })
    }

    /// A numeric argument of a call.
    pub(super) fn number_at(&mut self, call: &MpiCall, argument: usize, what: &str) -> Formula {
        match call.values.get(argument) {
            Some(SymbolicValue::Number(number)) => number.clone(),
            _ => self.unknown_argument(call, argument, what),
        }
    }

    /// The size of a datatype argument.
    pub(super) fn size_at(&mut self, call: &MpiCall, argument: usize) -> Formula {
        match call.values.get(argument) {
            Some(SymbolicValue::Datatype(size)) => size.clone(),
            _ => self.unknown_argument(call, argument, "bytes"),
        }
    }

    /// A parameter for an unknown number, named after its variable if there is one.
    fn unknown_argument(&mut self, call: &MpiCall, argument: usize, what: &str) -> Formula {
        let name = match call.arguments.get(argument).map(|argument| &argument.kind) {
            Some(ExprKind::Variable(name)) if what == "count" => name.clone(),
            Some(ExprKind::Variable(name)) => format!("{what}_{name}"),
            _ => format!("{what}_{}", pos_name(call.pos)),
        };
        if self.is_silent() {
            return Formula::symbol(&name);
        }
        let symbol = self.parameter(&name, None, format!("the {what} of MPI_{} at {}", call.name, call.pos.file_and_line()));
        self.note(call.pos, format!("the {what} of MPI_{} cannot be derived here: set it with -p {symbol}=…", call.name));
        symbol
    }

    /// A blocking or nonblocking collective.
    fn collective_call(&mut self, call: &MpiCall) -> bool {
        let blocking = call.name.strip_prefix('I').map(|rest| {
            let mut letters = rest.chars();
            letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>()).unwrap_or_default()
        });
        let known = collective_signature(call.name).or_else(|| blocking.as_deref().and_then(collective_signature));
        let Some((shape, is_nearest)) = known else { return false };
        let bytes = match shape.count {
            Some((count, datatype)) => self.number_at(call, count, "count") * self.size_at(call, datatype),
            None => Formula::zero(),
        };
        let processes = match call.values.get(shape.communicator) {
            Some(SymbolicValue::Communicator(group)) => group.size.clone(),
            _ => self.communicator_size(call, shape.communicator),
        };
        self.apply_collective_result(call, shape.operation);
        if is_nearest {
            self.note(
                call.pos,
                format!("MPI_{} is approximated by the closest measured collective, with the largest contribution", call.name),
            );
        }
        self.emit(ProcessStep::Collective { operation: shape.operation, bytes, processes, pos: call.pos.clone() });
        true
    }

    /// Updates a variable with the result of a collective: a broadcast number becomes a parameter if it is unknown.
    fn apply_collective_result(&mut self, call: &MpiCall, operation: CollectiveKind) {
        let is_alone = call.values.get(1).and_then(SymbolicValue::number).is_some_and(Formula::is_one);
        match (operation, call.values.first()) {
            (CollectiveKind::Bcast, Some(SymbolicValue::Address(address))) if is_alone => {
                let name = match call.arguments.first().map(|argument| &argument.kind) {
                    Some(ExprKind::AddressOf(of)) => match &of.kind {
                        ExprKind::Variable(name) => name.clone(),
                        _ => return,
                    },
                    _ => return,
                };
                if self.store.get(address) == SymbolicValue::Unknown && !self.is_silent() {
                    let symbol = self.parameter(&name, None, format!("broadcast at {}", call.pos.file_and_line()));
                    self.store.set(address, SymbolicValue::Number(symbol));
                }
            }
            (CollectiveKind::Bcast, _) => {}
            _ => {
                if let Some(value) = call.values.get(1) {
                    self.invalidate_arguments(std::slice::from_ref(value));
                }
            }
        }
    }

    /// Inquiry functions.
    fn inquiry_call(&mut self, call: &MpiCall) -> bool {
        let group = match call.values.first() {
            Some(SymbolicValue::Communicator(group)) => Some(group.clone()),
            _ => None,
        };
        match call.name {
            "Comm_rank" => {
                self.write_argument(call, 1, group.and_then(|group| group.rank).map_or(SymbolicValue::Unknown, SymbolicValue::Number))
            }
            "Comm_size" => self.write_argument(call, 1, group.map_or(SymbolicValue::Unknown, |group| SymbolicValue::Number(group.size))),
            "Cart_coords" => self.cart_coords(call, group),
            "Cart_rank" => self.write_argument(call, 2, SymbolicValue::Unknown),
            "Cart_shift" => self.cart_shift(call, group),
            "Dims_create" => self.dims_create(call),
            "Type_size" => {
                let size = match call.values.first() {
                    Some(SymbolicValue::Datatype(size)) => SymbolicValue::Number(size.clone()),
                    _ => SymbolicValue::Unknown,
                };
                self.write_argument(call, 1, size);
            }
            "Get_count" => self.write_argument(call, 2, SymbolicValue::Unknown),
            _ => return false,
        }
        true
    }

    pub(super) fn write_argument(&mut self, call: &MpiCall, argument: usize, value: SymbolicValue) {
        if let Some(SymbolicValue::Address(address)) = call.values.get(argument) {
            self.store.set(address, value);
        }
    }

    /// Datatype constructors.
    fn datatype_call(&mut self, call: &MpiCall) -> bool {
        let number = |at: usize| call.values.get(at).and_then(SymbolicValue::number).cloned();
        let size = |at: usize| match call.values.get(at) {
            Some(SymbolicValue::Datatype(size)) => Some(size.clone()),
            _ => None,
        };
        let datatype = |bytes: Option<Formula>| bytes.map_or(SymbolicValue::Unknown, SymbolicValue::Datatype);
        match call.name {
            "Type_contiguous" => self.write_argument(call, 2, datatype(number(0).zip(size(1)).map(|(count, size)| count * size))),
            "Type_vector" | "Type_create_hvector" | "Type_hvector" => {
                let elements = number(0).zip(number(1)).map(|(blocks, length)| blocks * length);
                self.write_argument(call, 4, datatype(elements.zip(size(3)).map(|(count, size)| count * size)));
            }
            "Type_create_resized" => self.write_argument(call, 3, datatype(size(0))),
            "Type_dup" => self.write_argument(call, 1, datatype(size(0))),
            _ => return false,
        }
        true
    }
}

/// A call and the values of its arguments.
pub(super) struct MpiCall<'c, 'p> {
    pub(super) name: &'c str,
    pub(super) arguments: &'p [TypedExpr],
    pub(super) values: Vec<SymbolicValue>,
    pub(super) pos: &'c FilePos,
}
