//! The variable that counts the rounds of a loop.

use crate::routine::{Action, Binary, Computation, Expression, Statement};

/// A variable that grows by the same number in every round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counter {
    /// Its name.
    pub name: String,
    /// By how much it grows.
    pub step: i64,
}

/// The counter that a loop's condition compares, if it changes exactly once in each round, by a number.
pub fn counter(condition: &Expression, after: &[Expression], body: &[Statement]) -> Option<Counter> {
    compared(condition).into_iter().find_map(|name| {
        let mut changes = Vec::new();
        after.iter().for_each(|expression| in_expression(expression, &name, true, &mut changes));
        in_statements(body, &name, true, &mut changes);
        match changes.as_slice() {
            [Some(step)] => Some(Counter { step: *step, name }),
            _ => None,
        }
    })
}

/// The variables that stand on a side of the comparison.
fn compared(condition: &Expression) -> Vec<String> {
    match &condition.what {
        Computation::Binary(Binary::And, a, b) => compared(a).into_iter().chain(compared(b)).collect(),
        Computation::Binary(_, a, b) => [a, b].into_iter().filter_map(|side| variable(side)).collect(),
        _ => Vec::new(),
    }
}

fn variable(expression: &Expression) -> Option<String> {
    match &expression.what {
        Computation::Variable(name) => Some(name.clone()),
        Computation::Convert(inner) => variable(inner),
        _ => None,
    }
}

/// Adds the changes of a variable: by how much, or nothing where that is not certain.
fn in_expression(expression: &Expression, name: &str, certain: bool, changes: &mut Vec<Option<i64>>) {
    if let Computation::Assign { target, with, value } = &expression.what
        && variable(target).as_deref() == Some(name)
    {
        changes.push(if certain { step_of(*with, value, name) } else { None });
        return;
    }
    if let Computation::AddressOf(of) = &expression.what
        && variable(of).as_deref() == Some(name)
    {
        changes.push(None);
        return;
    }
    match &expression.what {
        Computation::Choice(condition, a, b) => {
            in_expression(condition, name, certain, changes);
            [a, b].into_iter().for_each(|part| in_expression(part, name, false, changes));
        }
        Computation::Binary(Binary::And | Binary::Or, a, b) => {
            in_expression(a, name, certain, changes);
            in_expression(b, name, false, changes);
        }
        // What is sent stays as it is.
        Computation::Call(call, arguments) if call.starts_with("MPI_") && call.to_lowercase().contains("send") => {
            arguments.iter().skip(1).for_each(|argument| in_expression(argument, name, certain, changes));
        }
        _ => expression.parts().into_iter().for_each(|part| in_expression(part, name, certain, changes)),
    }
}

fn step_of(with: Option<Binary>, value: &Expression, name: &str) -> Option<i64> {
    let number = |expression: &Expression| match &expression.what {
        Computation::Number(text) => text.parse::<i64>().ok(),
        _ => None,
    };
    match (with, &value.what) {
        (Some(Binary::Add), _) => number(value),
        (Some(Binary::Subtract), _) => number(value)?.checked_neg(),
        (None, Computation::Binary(Binary::Add, a, b)) if variable(a).as_deref() == Some(name) => number(b),
        (None, Computation::Binary(Binary::Add, a, b)) if variable(b).as_deref() == Some(name) => number(a),
        (None, Computation::Binary(Binary::Subtract, a, b)) if variable(a).as_deref() == Some(name) => number(b)?.checked_neg(),
        _ => None,
    }
}

fn in_statements(list: &[Statement], name: &str, certain: bool, changes: &mut Vec<Option<i64>>) {
    for statement in list {
        match &statement.what {
            Action::Declare(variable) => variable.value.iter().for_each(|value| in_expression(value, name, certain, changes)),
            Action::Compute(expression) | Action::Return(Some(expression)) | Action::Leave(Some(expression)) => {
                in_expression(expression, name, certain, changes);
            }
            Action::Block(list) => in_statements(list, name, certain, changes),
            Action::If { condition, then, otherwise } => {
                in_expression(condition, name, certain, changes);
                in_statements(then, name, false, changes);
                in_statements(otherwise, name, false, changes);
            }
            Action::Loop { before, condition, after, body, .. } => {
                in_statements(before, name, false, changes);
                condition.iter().chain(after).for_each(|expression| in_expression(expression, name, false, changes));
                in_statements(body, name, false, changes);
            }
            Action::ForEach { of, body, .. } => {
                in_expression(of, name, false, changes);
                in_statements(body, name, false, changes);
            }
            Action::Switch { of, cases } => {
                in_expression(of, name, certain, changes);
                cases.iter().for_each(|case| in_statements(case, name, false, changes));
            }
            Action::Return(None) | Action::Leave(None) | Action::Break | Action::Continue => {}
        }
    }
}

/// Whether something in an expression satisfies a condition.
pub fn any(expression: &Expression, holds: &impl Fn(&Expression) -> bool) -> bool {
    holds(expression) || expression.parts().into_iter().any(|part| any(part, holds))
}
