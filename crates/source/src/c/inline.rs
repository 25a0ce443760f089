//! Inlining of short functions, as C compilers do it: a function that only returns an expression costs no call, and its invariant parts are
//! hoisted like others.

use std::collections::HashMap;

use super::constant::expr_size;
use crate::ir::{ExprKind, IrProgram, IrRoutine, StatementKind, TypedExpr};
use crate::mpi::call_graph::rewrite_expressions;

/// The maximum size of the expression of an inlined function.
const MAX_INLINE_SIZE: usize = 24;

/// A function whose body is a single expression.
struct InlineFunction {
    parameters: Vec<String>,
    body: TypedExpr,
}

/// Inlines calls of short functions.
pub(super) fn inline_functions(program: &mut IrProgram) {
    let short: HashMap<String, InlineFunction> =
        program.routines.iter().filter_map(|routine| Some((routine.name.clone(), as_inline_function(routine)?))).collect();
    for statement in program.routines.iter_mut().flat_map(|routine| &mut routine.body) {
        rewrite_expressions(statement, &mut |expression| {
            if let Some(instead) = inlined_call(expression, &short) {
                *expression = instead;
            }
        });
    }
}

fn as_inline_function(routine: &IrRoutine) -> Option<InlineFunction> {
    let [only] = routine.body.as_slice() else { return None };
    let StatementKind::Return(Some(gives)) = &only.kind else { return None };
    let parameters: Vec<String> = routine.parameters.iter().map(|parameter| parameter.name.clone()).collect();
    let is_own = |part: &TypedExpr| match &part.kind {
        ExprKind::Variable(name) => parameters.contains(name),
        ExprKind::Number(_) => true,
        _ => is_pure(part),
    };
    (expr_size(gives, MAX_INLINE_SIZE) < MAX_INLINE_SIZE && all(gives, &is_own))
        .then(|| InlineFunction { parameters: parameters.clone(), body: gives.clone() })
}

fn is_pure(part: &TypedExpr) -> bool {
    matches!(part.kind, ExprKind::Index(..) | ExprKind::Field(..) | ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Cast(_))
}

fn all(expression: &TypedExpr, holds: &impl Fn(&TypedExpr) -> bool) -> bool {
    holds(expression) && expression.children().into_iter().all(|part| all(part, holds))
}

/// The inlined expression of a call, if its arguments are simple.
fn inlined_call(call: &TypedExpr, short: &HashMap<String, InlineFunction>) -> Option<TypedExpr> {
    let ExprKind::Call(name, arguments) = &call.kind else { return None };
    let InlineFunction { parameters, body: gives } = short.get(name)?;
    let is_plain = |argument: &TypedExpr| matches!(argument.kind, ExprKind::Variable(_) | ExprKind::Number(_));
    if arguments.len() != parameters.len() || !arguments.iter().all(is_plain) {
        return None;
    }
    let mut gives = gives.clone();
    substitute_arguments(&mut gives, &|name| parameters.iter().position(|parameter| parameter == name).map(|at| &arguments[at]));
    if gives.data_type == call.data_type {
        return Some(TypedExpr { pos: call.pos.clone(), ..gives });
    }
    Some(TypedExpr { kind: ExprKind::Cast(Box::new(gives)), data_type: call.data_type.clone(), pos: call.pos.clone() })
}

/// Substitutes arguments for parameters; the body is pure.
fn substitute_arguments<'e>(expression: &mut TypedExpr, argument: &impl Fn(&str) -> Option<&'e TypedExpr>) {
    match &mut expression.kind {
        ExprKind::Variable(name) => {
            if let Some(given) = argument(name) {
                expression.kind = given.kind.clone();
            }
        }
        ExprKind::Index(one, two) | ExprKind::Binary(_, one, two) => {
            substitute_arguments(one, argument);
            substitute_arguments(two, argument);
        }
        ExprKind::Field(of, _) | ExprKind::Unary(_, of) | ExprKind::Cast(of) => substitute_arguments(of, argument),
        _ => {}
    }
}
