//! Which routines are executed call by call: those that communicate, and those whose cost depends on struct arguments.

use std::collections::HashSet;

use super::executor::SymbolicExecutor;
use super::loop_counter;
use crate::ir::{DataType, ExprKind, IrProgram, IrRoutine, Statement, StatementKind, TypedExpr};

/// Whether a call is an MPI function with communication or results.
pub(crate) fn is_mpi_call(name: &str) -> bool {
    (name.starts_with("MPI_") || name.starts_with("PMPI_")) && !matches!(name, "MPI_Wtime" | "MPI_Wtick" | "PMPI_Wtime")
}

pub(crate) fn uses_mpi(program: &IrProgram) -> bool {
    let is_call = |part: &TypedExpr| matches!(&part.kind, ExprKind::Call(name, _) if is_mpi_call(name));
    program.routines.iter().flat_map(|routine| &routine.body).any(|statement| any_in_statement(statement, &is_call))
}

/// The routines that communicate, directly or indirectly.
pub(crate) fn communicating_routines(program: &IrProgram) -> HashSet<&str> {
    callers_closure(program, |_| false)
}

/// The routines that are executed call by call.
pub(crate) fn followed_routines(program: &IrProgram) -> HashSet<&str> {
    let is_structure =
        |of: &DataType| matches!(of, DataType::Named(_)) || matches!(of, DataType::Array(of) if matches!(**of, DataType::Named(_)));
    callers_closure(program, |routine| {
        routine.parameters.iter().any(|parameter| is_structure(&parameter.data_type)) && routine.body.iter().any(has_loop)
    })
}

/// The routines that call MPI or satisfy a predicate, and all their callers.
fn callers_closure(program: &IrProgram, holds: impl Fn(&IrRoutine) -> bool) -> HashSet<&str> {
    let mut found: HashSet<&str> = HashSet::new();
    loop {
        let before = found.len();
        for routine in &program.routines {
            let calls =
                |part: &TypedExpr| matches!(&part.kind, ExprKind::Call(name, _) if is_mpi_call(name) || found.contains(name.as_str()));
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
    match &statement.kind {
        StatementKind::Loop { .. } | StatementKind::ForEach { .. } => true,
        StatementKind::Block(list) => list.iter().any(has_loop),
        StatementKind::If { then, otherwise, .. } => then.iter().chain(otherwise).any(has_loop),
        StatementKind::Switch { cases, .. } => cases.iter().flatten().any(has_loop),
        _ => false,
    }
}

/// Whether an expression in a statement, at any depth, satisfies a predicate.
pub(crate) fn any_in_statement(statement: &Statement, holds: &impl Fn(&TypedExpr) -> bool) -> bool {
    let any = |expression: &TypedExpr| loop_counter::any_subexpr(expression, holds);
    let in_list = |list: &[Statement]| list.iter().any(|statement| any_in_statement(statement, holds));
    match &statement.kind {
        StatementKind::Declare(variable) => variable.initializer.as_ref().is_some_and(any),
        StatementKind::Evaluate(expression) => any(expression),
        StatementKind::Block(list) => in_list(list),
        StatementKind::If { condition, then, otherwise } => any(condition) || in_list(then) || in_list(otherwise),
        StatementKind::Loop { init: before, condition, update: after, body, .. } => {
            in_list(before) || condition.iter().chain(after).any(any) || in_list(body)
        }
        StatementKind::ForEach { array: of, body, .. } => any(of) || in_list(body),
        StatementKind::Switch { selector: of, cases } => any(of) || cases.iter().any(|case| in_list(case)),
        StatementKind::Return(value) | StatementKind::Terminate(value) => value.as_ref().is_some_and(any),
        StatementKind::Break | StatementKind::Continue => false,
    }
}

/// Rewrites the expressions of a statement, outer ones first; assignment targets are kept.
pub(crate) fn rewrite_expressions(statement: &mut Statement, change: &mut impl FnMut(&mut TypedExpr)) {
    match &mut statement.kind {
        StatementKind::Declare(variable) => variable.initializer.iter_mut().for_each(|value| rewrite_expr(value, change)),
        StatementKind::Evaluate(expression) => rewrite_expr(expression, change),
        StatementKind::Block(list) => rewrite_statements(list, change),
        StatementKind::If { condition, then, otherwise } => {
            rewrite_expr(condition, change);
            rewrite_statements(then, change);
            rewrite_statements(otherwise, change);
        }
        StatementKind::Loop { init: before, condition, update: after, body, .. } => {
            rewrite_statements(before, change);
            condition.iter_mut().chain(after).for_each(|expression| rewrite_expr(expression, change));
            rewrite_statements(body, change);
        }
        StatementKind::ForEach { array: of, body, .. } => {
            rewrite_expr(of, change);
            rewrite_statements(body, change);
        }
        StatementKind::Switch { selector: of, cases } => {
            rewrite_expr(of, change);
            cases.iter_mut().for_each(|case| rewrite_statements(case, change));
        }
        StatementKind::Return(value) | StatementKind::Terminate(value) => value.iter_mut().for_each(|value| rewrite_expr(value, change)),
        StatementKind::Break | StatementKind::Continue => {}
    }
}

fn rewrite_statements(list: &mut [Statement], change: &mut impl FnMut(&mut TypedExpr)) {
    list.iter_mut().for_each(|statement| rewrite_expressions(statement, change));
}

fn rewrite_expr(expression: &mut TypedExpr, change: &mut impl FnMut(&mut TypedExpr)) {
    change(expression);
    match &mut expression.kind {
        ExprKind::Number(_) | ExprKind::StringLiteral(_) | ExprKind::Variable(_) => {}
        ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) => {
            rewrite_expr(a, change);
            rewrite_expr(b, change);
        }
        ExprKind::Assign { target, value, .. } => {
            if let ExprKind::Index(array, index) = &mut target.kind {
                rewrite_expr(array, change);
                rewrite_expr(index, change);
            }
            rewrite_expr(value, change);
        }
        ExprKind::AddressOf(_) => {}
        ExprKind::Field(a, _) | ExprKind::Unary(_, a) | ExprKind::Cast(a) => rewrite_expr(a, change),
        ExprKind::Conditional(a, b, c) => [a, b, c].into_iter().for_each(|part| rewrite_expr(part, change)),
        ExprKind::Call(_, list) | ExprKind::Allocate(list) | ExprKind::InitializerList(list) => {
            list.iter_mut().for_each(|part| rewrite_expr(part, change));
        }
    }
}

impl SymbolicExecutor<'_, '_> {
    /// Whether a statement must be executed here, since it communicates or may exit.
    pub(super) fn is_followed(&self, statement: &Statement) -> bool {
        match &statement.kind {
            StatementKind::Return(_) | StatementKind::Terminate(_) => true,
            StatementKind::If { then, otherwise, .. } if then.iter().chain(otherwise).any(|inner| self.is_followed(inner)) => true,
            StatementKind::Block(list) if list.iter().any(|inner| self.is_followed(inner)) => true,
            _ => any_in_statement(statement, &|part| self.is_call_followed(part)),
        }
    }

    /// Whether other processes can observe a statement, or that it exits.
    pub(super) fn is_observable(&self, statement: &Statement) -> bool {
        let communicates = |part: &TypedExpr| match &part.kind {
            ExprKind::Call(name, _) => is_mpi_call(name) && name != "MPI_Abort" || self.shared.communicating.contains(name.as_str()),
            _ => false,
        };
        match &statement.kind {
            StatementKind::Return(_) => true,
            StatementKind::Terminate(_) => false,
            StatementKind::If { condition, then, otherwise } => {
                loop_counter::any_subexpr(condition, &communicates) || then.iter().chain(otherwise).any(|inner| self.is_observable(inner))
            }
            StatementKind::Block(list) => list.iter().any(|inner| self.is_observable(inner)),
            _ => any_in_statement(statement, &communicates),
        }
    }

    pub(super) fn is_followed_expression(&self, expression: &TypedExpr) -> bool {
        loop_counter::any_subexpr(expression, &|part| self.is_call_followed(part))
    }

    fn is_call_followed(&self, part: &TypedExpr) -> bool {
        matches!(&part.kind, ExprKind::Call(name, _) if is_mpi_call(name) || self.shared.followed.contains(name.as_str()))
    }
}
