//! Loop counters.

use crate::ir::{BinaryOp, ExprKind, Statement, StatementKind, TypedExpr};

/// A variable with a constant increment per iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoopCounter {
    /// Its name.
    pub name: String,
    /// The increment.
    pub step: i64,
}

/// The counter in a loop's condition, if it changes exactly once per iteration by a constant.
pub(super) fn find_counter(condition: &TypedExpr, after: &[TypedExpr], body: &[Statement]) -> Option<LoopCounter> {
    compared_variables(condition).into_iter().find_map(|name| {
        let mut changes = Vec::new();
        after.iter().for_each(|expression| collect_expr_steps(expression, &name, true, &mut changes));
        collect_statement_steps(body, &name, true, &mut changes);
        match changes.as_slice() {
            [Some(step)] => Some(LoopCounter { step: *step, name }),
            _ => None,
        }
    })
}

/// The variables that are an operand of the comparison.
fn compared_variables(condition: &TypedExpr) -> Vec<String> {
    match &condition.kind {
        ExprKind::Binary(BinaryOp::And, a, b) => compared_variables(a).into_iter().chain(compared_variables(b)).collect(),
        ExprKind::Binary(_, a, b) => [a, b].into_iter().filter_map(|side| variable(side)).collect(),
        _ => Vec::new(),
    }
}

fn variable(expression: &TypedExpr) -> Option<String> {
    match &expression.kind {
        ExprKind::Variable(name) => Some(name.clone()),
        ExprKind::Cast(inner) => variable(inner),
        _ => None,
    }
}

/// Adds the increments of a variable; `None` where they are uncertain.
fn collect_expr_steps(expression: &TypedExpr, name: &str, certain: bool, changes: &mut Vec<Option<i64>>) {
    if let ExprKind::Assign { target, operator: with, value } = &expression.kind
        && variable(target).as_deref() == Some(name)
    {
        changes.push(if certain { step_of(*with, value, name) } else { None });
        return;
    }
    if let ExprKind::AddressOf(of) = &expression.kind
        && variable(of).as_deref() == Some(name)
    {
        changes.push(None);
        return;
    }
    match &expression.kind {
        ExprKind::Conditional(condition, a, b) => {
            collect_expr_steps(condition, name, certain, changes);
            [a, b].into_iter().for_each(|part| collect_expr_steps(part, name, false, changes));
        }
        ExprKind::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
            collect_expr_steps(a, name, certain, changes);
            collect_expr_steps(b, name, false, changes);
        }
        // Send buffers are not modified.
        ExprKind::Call(call, arguments) if call.starts_with("MPI_") && call.to_lowercase().contains("send") => {
            arguments.iter().skip(1).for_each(|argument| collect_expr_steps(argument, name, certain, changes));
        }
        _ => expression.children().into_iter().for_each(|part| collect_expr_steps(part, name, certain, changes)),
    }
}

fn step_of(with: Option<BinaryOp>, value: &TypedExpr, name: &str) -> Option<i64> {
    let number = |expression: &TypedExpr| match &expression.kind {
        ExprKind::Number(text) => text.parse::<i64>().ok(),
        _ => None,
    };
    match (with, &value.kind) {
        (Some(BinaryOp::Add), _) => number(value),
        (Some(BinaryOp::Subtract), _) => number(value)?.checked_neg(),
        (None, ExprKind::Binary(BinaryOp::Add, a, b)) if variable(a).as_deref() == Some(name) => number(b),
        (None, ExprKind::Binary(BinaryOp::Add, a, b)) if variable(b).as_deref() == Some(name) => number(a),
        (None, ExprKind::Binary(BinaryOp::Subtract, a, b)) if variable(a).as_deref() == Some(name) => number(b)?.checked_neg(),
        _ => None,
    }
}

fn collect_statement_steps(list: &[Statement], name: &str, certain: bool, changes: &mut Vec<Option<i64>>) {
    for statement in list {
        match &statement.kind {
            StatementKind::Declare(variable) => {
                variable.initializer.iter().for_each(|value| collect_expr_steps(value, name, certain, changes))
            }
            StatementKind::Evaluate(expression) | StatementKind::Return(Some(expression)) | StatementKind::Terminate(Some(expression)) => {
                collect_expr_steps(expression, name, certain, changes);
            }
            StatementKind::Block(list) => collect_statement_steps(list, name, certain, changes),
            StatementKind::If { condition, then, otherwise } => {
                collect_expr_steps(condition, name, certain, changes);
                collect_statement_steps(then, name, false, changes);
                collect_statement_steps(otherwise, name, false, changes);
            }
            StatementKind::Loop { init: before, condition, update: after, body, .. } => {
                collect_statement_steps(before, name, false, changes);
                condition.iter().chain(after).for_each(|expression| collect_expr_steps(expression, name, false, changes));
                collect_statement_steps(body, name, false, changes);
            }
            StatementKind::ForEach { array: of, body, .. } => {
                collect_expr_steps(of, name, false, changes);
                collect_statement_steps(body, name, false, changes);
            }
            StatementKind::Switch { selector: of, cases } => {
                collect_expr_steps(of, name, certain, changes);
                cases.iter().for_each(|case| collect_statement_steps(case, name, false, changes));
            }
            StatementKind::Return(None) | StatementKind::Terminate(None) | StatementKind::Break | StatementKind::Continue => {}
        }
    }
}

/// Whether a subexpression satisfies a predicate.
pub(super) fn any_subexpr(expression: &TypedExpr, holds: &impl Fn(&TypedExpr) -> bool) -> bool {
    holds(expression) || expression.children().into_iter().any(|part| any_subexpr(part, holds))
}
