//! Communicators created by the program: their size, and the rank of this process.

use sintonia_formula::Formula;

use super::calls::MpiCall;
use super::executor::SymbolicExecutor;
use super::value::{CommunicatorValue, SymbolicValue};
use crate::file_pos::FilePos;
use crate::ir::{BinaryOp, DataType, ExprKind, ScalarType, TypedExpr};
use crate::model_names::pos_name;

/// Up to which constant divisor a split by division of ranks is recognised.
const MAX_GROUP_WIDTH: i64 = 64;

impl SymbolicExecutor<'_, '_> {
    /// A call that creates a communicator.
    pub(super) fn communicator_call(&mut self, call: &MpiCall) -> bool {
        let made_at = match call.name {
            "Comm_dup" | "Comm_idup" => 1,
            "Comm_dup_with_info" | "Cart_sub" | "Comm_create" | "Intercomm_merge" => 2,
            "Comm_split" | "Comm_create_group" => 3,
            "Comm_split_type" => 4,
            "Cart_create" | "Graph_create" | "Intercomm_create" => 5,
            "Dist_graph_create" => 8,
            "Dist_graph_create_adjacent" => 9,
            _ => return false,
        };
        let parent = match call.values.first() {
            Some(SymbolicValue::Communicator(group)) => Some(group.clone()),
            _ => None,
        };
        let made = match call.name {
            "Comm_dup" | "Comm_idup" | "Comm_dup_with_info" => parent,
            "Cart_create" => self.cartesian_grid(call),
            "Cart_sub" => parent.and_then(|parent| self.sub_grid(call, parent)),
            "Comm_split" => parent.and_then(|parent| self.split_communicator(call, parent)),
            _ => None,
        };
        let made = match made {
            Some(group) => group,
            None => CommunicatorValue { size: self.communicator_size(call, made_at), rank: None, grid: Vec::new() },
        };
        self.write_argument(call, made_at, SymbolicValue::Communicator(made));
        true
    }

    /// The processes of the same colour: all, a contiguous block, or a strided set.
    fn split_communicator(&self, call: &MpiCall, parent: CommunicatorValue) -> Option<CommunicatorValue> {
        let (color, key) = (call.values.get(1)?.number()?, call.values.get(2)?.number()?);
        let rank = parent.rank.clone()?;
        if *key != rank && key.as_exact().is_none() {
            return None;
        }
        if color.as_exact().is_some_and(|color| !color.is_negative()) {
            return Some(CommunicatorValue { grid: Vec::new(), ..parent });
        }
        let numbers = self.known_numbers().into_values().chain((2..=MAX_GROUP_WIDTH).map(Formula::integer));
        let (one, size) = (Formula::one(), &parent.size);
        numbers.into_iter().find_map(|beside| {
            let number = |operation| {
                self.apply_binary(operation, &SymbolicValue::Number(rank.clone()), &SymbolicValue::Number(beside.clone()), &INT)
            };
            let (SymbolicValue::Number(over), SymbolicValue::Number(rest)) = (number(BinaryOp::Divide), number(BinaryOp::Remainder)) else {
                return None;
            };
            let (size, rank) = if *color == over {
                (Formula::min_of([beside.clone(), size - &(&beside * &over)]), rest)
            } else if *color == rest {
                (((size - &one - rest) / beside).floor() + one.clone(), over)
            } else {
                return None;
            };
            Some(CommunicatorValue { size, rank: Some(rank), grid: Vec::new() })
        })
    }

    /// A parameter for the unknown size of a communicator, named after its variable; all processes by default.
    pub(super) fn communicator_size(&mut self, call: &MpiCall, argument: usize) -> Formula {
        if self.is_silent() {
            return Formula::symbol("p");
        }
        let name =
            format!("processes_{}", call.arguments.get(argument).map_or_else(|| pos_name(call.pos), |of| variable_name(of, call.pos)));
        self.note(call.pos, format!("the number of processes cannot be derived, and defaults to all: set it with -p {name}=…"));
        self.parameter(&name, Some(Formula::symbol("p")), format!("processes of MPI_{} at {}", call.name, call.pos.file_and_line()))
    }
}

const INT: DataType = DataType::Scalar(ScalarType::Int);

/// The name of a variable, or a name from the position of something else.
fn variable_name(of: &TypedExpr, place: &FilePos) -> String {
    match &of.kind {
        ExprKind::Variable(name) | ExprKind::Field(_, name) => name.clone(),
        ExprKind::AddressOf(of) => variable_name(of, place),
        _ => pos_name(place),
    }
}
