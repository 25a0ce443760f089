//! Communicators that a program makes: how many processes they have, and which of them this one is.

use sintonia_formula::Formula;

use super::calls::Call;
use super::value::{Group, Value};
use super::walk::Walk;
use crate::names::spot;
use crate::place::Place;
use crate::routine::{Binary, Computation, Expression, Scalar, Type};

/// Up to which number of processes side by side a division of ranks is recognised where the program has no variable for it.
const MOST_BESIDE: i64 = 64;

impl Walk<'_, '_> {
    /// A call that makes a communicator.
    pub(super) fn communicator(&mut self, call: &Call) -> bool {
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
            Some(Value::Group(group)) => Some(group.clone()),
            _ => None,
        };
        let made = match call.name {
            "Comm_dup" | "Comm_idup" | "Comm_dup_with_info" => parent,
            "Cart_create" => self.grid(call),
            "Cart_sub" => parent.and_then(|parent| self.rows_of_grid(call, parent)),
            "Comm_split" => parent.and_then(|parent| self.split(call, parent)),
            _ => None,
        };
        let made = match made {
            Some(group) => group,
            None => Group { size: self.size_of_group(call, made_at), rank: None, grid: Vec::new() },
        };
        self.give(call, made_at, Value::Group(made));
        true
    }

    /// The processes with the same colour: all, those side by side, or every so many.
    fn split(&self, call: &Call, parent: Group) -> Option<Group> {
        let (color, key) = (call.values.get(1)?.number()?, call.values.get(2)?.number()?);
        let rank = parent.rank.clone()?;
        if *key != rank && key.as_exact().is_none() {
            return None;
        }
        if color.as_exact().is_some_and(|color| !color.is_negative()) {
            return Some(Group { grid: Vec::new(), ..parent });
        }
        let numbers = self.known().into_values().chain((2..=MOST_BESIDE).map(Formula::integer));
        let (one, size) = (Formula::one(), &parent.size);
        numbers.into_iter().find_map(|beside| {
            let number = |operation| self.computed(operation, &Value::Number(rank.clone()), &Value::Number(beside.clone()), &INT);
            let (Value::Number(over), Value::Number(rest)) = (number(Binary::Divide), number(Binary::Remainder)) else { return None };
            let (size, rank) = if *color == over {
                (Formula::min_of([beside.clone(), size - &(&beside * &over)]), rest)
            } else if *color == rest {
                (((size - &one - rest) / beside).floor() + one.clone(), over)
            } else {
                return None;
            };
            Some(Group { size, rank: Some(rank), grid: Vec::new() })
        })
    }

    /// How many processes a communicator has that cannot be derived: named after its variable, and all unless told.
    pub(super) fn size_of_group(&mut self, call: &Call, argument: usize) -> Formula {
        if self.is_silent() {
            return Formula::symbol("p");
        }
        let name = format!("processes_{}", call.arguments.get(argument).map_or_else(|| spot(call.place), |of| variable(of, call.place)));
        self.note(call.place, format!("how many processes take part cannot be derived, and is taken as all: give it with -p {name}=…"));
        self.parameter(&name, Some(Formula::symbol("p")), format!("processes of MPI_{} at {}", call.name, call.place.short()))
    }
}

const INT: Type = Type::Scalar(Scalar::Int);

/// What a variable is called, or where something else stands.
fn variable(of: &Expression, place: &Place) -> String {
    match &of.what {
        Computation::Variable(name) | Computation::Field(_, name) => name.clone(),
        Computation::AddressOf(of) => variable(of, place),
        _ => spot(place),
    }
}
