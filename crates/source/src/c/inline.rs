//! Short functions are computed where they are called, as compilers of C do it: one that only gives an expression costs no call, and what does not
//! change in it leaves the loops around like everything else.

use std::collections::HashMap;

use super::constant::weight;
use crate::mpi::follow::change_expressions;
use crate::routine::{Action, Computation, Expression, Program, Routine};

/// How many parts the expression of a short function may have.
const LONGEST: usize = 24;

/// A function that is nothing but an expression.
struct Short {
    parameters: Vec<String>,
    gives: Expression,
}

/// Puts the expressions of short functions in the place of calls.
pub fn inline(program: &mut Program) {
    let short: HashMap<String, Short> =
        program.routines.iter().filter_map(|routine| Some((routine.name.clone(), short(routine)?))).collect();
    for statement in program.routines.iter_mut().flat_map(|routine| &mut routine.body) {
        change_expressions(statement, &mut |expression| {
            if let Some(instead) = instead_of(expression, &short) {
                *expression = instead;
            }
        });
    }
}

fn short(routine: &Routine) -> Option<Short> {
    let [only] = routine.body.as_slice() else { return None };
    let Action::Return(Some(gives)) = &only.what else { return None };
    let parameters: Vec<String> = routine.parameters.iter().map(|parameter| parameter.name.clone()).collect();
    let is_own = |part: &Expression| match &part.what {
        Computation::Variable(name) => parameters.contains(name),
        Computation::Number(_) => true,
        _ => is_pure(part),
    };
    (weight(gives, LONGEST) < LONGEST && all(gives, &is_own)).then(|| Short { parameters: parameters.clone(), gives: gives.clone() })
}

fn is_pure(part: &Expression) -> bool {
    matches!(
        part.what,
        Computation::Element(..) | Computation::Field(..) | Computation::Unary(..) | Computation::Binary(..) | Computation::Convert(_)
    )
}

fn all(expression: &Expression, holds: &impl Fn(&Expression) -> bool) -> bool {
    holds(expression) && expression.parts().into_iter().all(|part| all(part, holds))
}

/// The expression that a call gives, if it is one of a short function with plain arguments.
fn instead_of(call: &Expression, short: &HashMap<String, Short>) -> Option<Expression> {
    let Computation::Call(name, arguments) = &call.what else { return None };
    let Short { parameters, gives } = short.get(name)?;
    let is_plain = |argument: &Expression| matches!(argument.what, Computation::Variable(_) | Computation::Number(_));
    if arguments.len() != parameters.len() || !arguments.iter().all(is_plain) {
        return None;
    }
    let mut gives = gives.clone();
    put(&mut gives, &|name| parameters.iter().position(|parameter| parameter == name).map(|at| &arguments[at]));
    if gives.of == call.of {
        return Some(Expression { place: call.place.clone(), ..gives });
    }
    Some(Expression { what: Computation::Convert(Box::new(gives)), of: call.of.clone(), place: call.place.clone() })
}

/// Puts arguments in the place of parameters; only what is pure is met here.
fn put<'e>(expression: &mut Expression, argument: &impl Fn(&str) -> Option<&'e Expression>) {
    match &mut expression.what {
        Computation::Variable(name) => {
            if let Some(given) = argument(name) {
                expression.what = given.what.clone();
            }
        }
        Computation::Element(one, two) | Computation::Binary(_, one, two) => {
            put(one, argument);
            put(two, argument);
        }
        Computation::Field(of, _) | Computation::Unary(_, of) | Computation::Convert(of) => put(of, argument),
        _ => {}
    }
}
