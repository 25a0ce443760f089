//! Which routines must be followed call by call: those that communicate, and those whose costs depend on structures they are given.

use std::collections::HashSet;

use super::counter;
use super::walk::Walk;
use crate::routine::{Action, Computation, Expression, Program, Routine, Statement, Type};

/// Whether a call is one of MPI that others may notice, or that gives something.
pub fn is_mpi(name: &str) -> bool {
    (name.starts_with("MPI_") || name.starts_with("PMPI_")) && !matches!(name, "MPI_Wtime" | "MPI_Wtick" | "PMPI_Wtime")
}

/// Whether a program calls MPI at all.
pub fn uses_mpi(program: &Program) -> bool {
    let is_call = |part: &Expression| matches!(&part.what, Computation::Call(name, _) if is_mpi(name));
    program.routines.iter().flat_map(|routine| &routine.body).any(|statement| any_in_statement(statement, &is_call))
}

/// The routines that communicate, themselves or by those they call.
pub fn communicating(program: &Program) -> HashSet<&str> {
    closure(program, |_| false)
}

/// The routines that must be followed.
pub fn followed(program: &Program) -> HashSet<&str> {
    let is_structure = |of: &Type| matches!(of, Type::Other(_)) || matches!(of, Type::Array(of) if matches!(**of, Type::Other(_)));
    closure(program, |routine| routine.parameters.iter().any(|parameter| is_structure(&parameter.of)) && routine.body.iter().any(has_loop))
}

/// The routines that call MPI or satisfy a condition, and those that call them.
fn closure(program: &Program, holds: impl Fn(&Routine) -> bool) -> HashSet<&str> {
    let mut found: HashSet<&str> = HashSet::new();
    loop {
        let before = found.len();
        for routine in &program.routines {
            let calls =
                |part: &Expression| matches!(&part.what, Computation::Call(name, _) if is_mpi(name) || found.contains(name.as_str()));
            if !found.contains(routine.name.as_str())
                && (holds(routine) || routine.body.iter().any(|statement| any_in_statement(statement, &calls)))
            {
                found.insert(&routine.name);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

fn has_loop(statement: &Statement) -> bool {
    match &statement.what {
        Action::Loop { .. } | Action::ForEach { .. } => true,
        Action::Block(list) => list.iter().any(has_loop),
        Action::If { then, otherwise, .. } => then.iter().chain(otherwise).any(has_loop),
        Action::Switch { cases, .. } => cases.iter().flatten().any(has_loop),
        _ => false,
    }
}

/// Whether an expression in a statement, at any depth, satisfies a condition.
pub fn any_in_statement(statement: &Statement, holds: &impl Fn(&Expression) -> bool) -> bool {
    let any = |expression: &Expression| counter::any(expression, holds);
    let in_list = |list: &[Statement]| list.iter().any(|statement| any_in_statement(statement, holds));
    match &statement.what {
        Action::Declare(variable) => variable.value.as_ref().is_some_and(any),
        Action::Compute(expression) => any(expression),
        Action::Block(list) => in_list(list),
        Action::If { condition, then, otherwise } => any(condition) || in_list(then) || in_list(otherwise),
        Action::Loop { before, condition, after, body, .. } => in_list(before) || condition.iter().chain(after).any(any) || in_list(body),
        Action::ForEach { of, body, .. } => any(of) || in_list(body),
        Action::Switch { of, cases } => any(of) || cases.iter().any(|case| in_list(case)),
        Action::Return(value) | Action::Leave(value) => value.as_ref().is_some_and(any),
        Action::Break | Action::Continue => false,
    }
}

/// Changes the expressions of a statement, the outer ones first; what is assigned to stays as it is.
pub fn change_expressions(statement: &mut Statement, change: &mut impl FnMut(&mut Expression)) {
    match &mut statement.what {
        Action::Declare(variable) => variable.value.iter_mut().for_each(|value| in_expression(value, change)),
        Action::Compute(expression) => in_expression(expression, change),
        Action::Block(list) => in_list(list, change),
        Action::If { condition, then, otherwise } => {
            in_expression(condition, change);
            in_list(then, change);
            in_list(otherwise, change);
        }
        Action::Loop { before, condition, after, body, .. } => {
            in_list(before, change);
            condition.iter_mut().chain(after).for_each(|expression| in_expression(expression, change));
            in_list(body, change);
        }
        Action::ForEach { of, body, .. } => {
            in_expression(of, change);
            in_list(body, change);
        }
        Action::Switch { of, cases } => {
            in_expression(of, change);
            cases.iter_mut().for_each(|case| in_list(case, change));
        }
        Action::Return(value) | Action::Leave(value) => value.iter_mut().for_each(|value| in_expression(value, change)),
        Action::Break | Action::Continue => {}
    }
}

fn in_list(list: &mut [Statement], change: &mut impl FnMut(&mut Expression)) {
    list.iter_mut().for_each(|statement| change_expressions(statement, change));
}

fn in_expression(expression: &mut Expression, change: &mut impl FnMut(&mut Expression)) {
    change(expression);
    match &mut expression.what {
        Computation::Number(_) | Computation::Text(_) | Computation::Variable(_) => {}
        Computation::Element(a, b) | Computation::Binary(_, a, b) => {
            in_expression(a, change);
            in_expression(b, change);
        }
        Computation::Assign { target, value, .. } => {
            if let Computation::Element(array, index) = &mut target.what {
                in_expression(array, change);
                in_expression(index, change);
            }
            in_expression(value, change);
        }
        Computation::AddressOf(_) => {}
        Computation::Field(a, _) | Computation::Unary(_, a) | Computation::Convert(a) => in_expression(a, change),
        Computation::Choice(a, b, c) => [a, b, c].into_iter().for_each(|part| in_expression(part, change)),
        Computation::Call(_, list) | Computation::New(list) | Computation::List(list) => {
            list.iter_mut().for_each(|part| in_expression(part, change));
        }
    }
}

impl Walk<'_, '_> {
    /// Whether a statement must be gone through here, since others notice it or since it may be the last.
    pub(super) fn is_followed(&self, statement: &Statement) -> bool {
        match &statement.what {
            Action::Return(_) | Action::Leave(_) => true,
            Action::If { then, otherwise, .. } if then.iter().chain(otherwise).any(|inner| self.is_followed(inner)) => true,
            Action::Block(list) if list.iter().any(|inner| self.is_followed(inner)) => true,
            _ => any_in_statement(statement, &|part| self.is_call_followed(part)),
        }
    }

    /// Whether others notice a statement, or notice that it is the last.
    pub(super) fn is_noticed(&self, statement: &Statement) -> bool {
        let communicates = |part: &Expression| match &part.what {
            Computation::Call(name, _) => is_mpi(name) && name != "MPI_Abort" || self.shared.communicating.contains(name.as_str()),
            _ => false,
        };
        match &statement.what {
            Action::Return(_) => true,
            Action::Leave(_) => false,
            Action::If { condition, then, otherwise } => {
                counter::any(condition, &communicates) || then.iter().chain(otherwise).any(|inner| self.is_noticed(inner))
            }
            Action::Block(list) => list.iter().any(|inner| self.is_noticed(inner)),
            _ => any_in_statement(statement, &communicates),
        }
    }

    pub(super) fn is_followed_expression(&self, expression: &Expression) -> bool {
        counter::any(expression, &|part| self.is_call_followed(part))
    }

    fn is_call_followed(&self, part: &Expression) -> bool {
        matches!(&part.what, Computation::Call(name, _) if is_mpi(name) || self.shared.followed.contains(name.as_str()))
    }
}
