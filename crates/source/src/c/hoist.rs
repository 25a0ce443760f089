//! Loop-invariant code motion, as every C compiler does it; otherwise the model would count what the program never executes.
//!
//! Arrays of different names are assumed not to alias, as a compiler knows where it sees their allocation. Conditional code and loops that
//! call functions are left alone.

use std::collections::HashSet;

use crate::analysis::side_effects::{EarlyExits, declared_names};
use crate::ir::{BinaryOp, DataType, ExprKind, IrProgram, IrRoutine, IrVariable, Statement, StatementKind, TypedExpr, UnaryOp};

/// Hoists invariant expressions out of all loops of a program.
pub(super) fn hoist_invariants(program: &mut IrProgram) {
    let globals: HashSet<String> = program.globals.iter().map(|variable| variable.name.clone()).collect();
    for routine in &mut program.routines {
        let mut globals = globals.clone();
        let own = own_names(routine);
        globals.retain(|name| !own.contains(&name.as_str()));
        InvariantHoister { globals, names: HashSet::new() }.statements(&mut routine.body);
    }
}

fn own_names(routine: &IrRoutine) -> Vec<&str> {
    let mut names: Vec<&str> = routine.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    declared_names(&routine.body, &mut names);
    names
}

struct InvariantHoister {
    /// Global variables that are visible in the routine.
    globals: HashSet<String>,
    /// The names of hoisted temporaries.
    names: HashSet<String>,
}

/// What a loop writes.
#[derive(Default)]
struct LoopWrites<'p> {
    variables: HashSet<&'p str>,
    /// Elements and fields, by base variable and type (type-based alias analysis).
    elements: Vec<(&'p str, &'p DataType)>,
    /// Whether there is a write to an unknown target.
    is_unknown: bool,
}

impl<'p> LoopWrites<'p> {
    fn statements(&mut self, list: &'p [Statement]) {
        for statement in list {
            if let StatementKind::Declare(variable) | StatementKind::ForEach { variable, .. } = &statement.kind {
                self.variables.insert(&variable.name);
            }
            statement.expressions().into_iter().for_each(|expression| self.expression(expression));
            statement.blocks().into_iter().for_each(|block| self.statements(block));
        }
    }

    fn expression(&mut self, expression: &'p TypedExpr) {
        match &expression.kind {
            ExprKind::Assign { target, .. } => match (&target.kind, base_variable(target)) {
                (ExprKind::Variable(name), _) => self.variables.extend([name.as_str()]),
                (_, Some(name)) if self.elements.contains(&(name, &target.data_type)) => {}
                (_, Some(name)) => self.elements.push((name, &target.data_type)),
                (_, None) => self.is_unknown = true,
            },
            ExprKind::AddressOf(of) => self.variables.extend(base_variable(of)),
            ExprKind::Call(name, _) => self.is_unknown |= !name.starts_with("Math."),
            _ => {}
        }
        expression.children().into_iter().for_each(|part| self.expression(part));
    }
}

/// The base variable of an element or a field.
fn base_variable(expression: &TypedExpr) -> Option<&str> {
    match &expression.kind {
        ExprKind::Variable(name) => Some(name),
        ExprKind::Index(of, _) | ExprKind::Field(of, _) | ExprKind::Cast(of) => base_variable(of),
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Subtract, one, two) => {
            if matches!(one.data_type, DataType::Array(_)) {
                base_variable(one)
            } else {
                base_variable(two)
            }
        }
        _ => None,
    }
}

impl InvariantHoister {
    fn statements(&mut self, list: &mut [Statement]) {
        for statement in list {
            match &mut statement.kind {
                StatementKind::Block(list) | StatementKind::ForEach { body: list, .. } => self.statements(list),
                StatementKind::If { then, otherwise, .. } => {
                    self.statements(then);
                    self.statements(otherwise);
                }
                StatementKind::Switch { cases, .. } => cases.iter_mut().for_each(|case| self.statements(case)),
                StatementKind::Loop { init: before, condition, update: after, body, .. } => {
                    self.statements(body);
                    self.hoist_from_loop(before, condition.as_mut(), after, body);
                }
                _ => {}
            }
        }
    }

    fn hoist_from_loop(
        &mut self,
        before: &mut Vec<Statement>,
        condition: Option<&mut TypedExpr>,
        after: &mut [TypedExpr],
        body: &mut [Statement],
    ) {
        let (old_condition, old_after, old_body) = (condition.as_deref().cloned(), after.to_vec(), body.to_vec());
        let mut changed = LoopWrites::default();
        old_condition.iter().chain(&old_after).for_each(|expression| changed.expression(expression));
        changed.statements(&old_body);
        if changed.is_unknown {
            return;
        }
        condition.into_iter().chain(after).for_each(|expression| self.hoist_expr(expression, &changed, before));
        self.visit_unconditional(body, &changed, before);
    }

    /// Visits what is executed in every iteration; returns whether what follows is, too.
    fn visit_unconditional(&mut self, list: &mut [Statement], changed: &LoopWrites, before: &mut Vec<Statement>) -> bool {
        for statement in list {
            let exits = EarlyExits::from_statement(statement);
            let goes_on = match &mut statement.kind {
                StatementKind::Declare(IrVariable { initializer: Some(expression), .. })
                | StatementKind::Evaluate(expression)
                | StatementKind::If { condition: expression, .. }
                | StatementKind::Switch { selector: expression, .. } => {
                    self.hoist_expr(expression, changed, before);
                    true
                }
                StatementKind::Block(list) | StatementKind::Loop { init: list, .. } => self.visit_unconditional(list, changed, before),
                _ => true,
            };
            if !goes_on || exits.exits_loop || exits.continues {
                return false;
            }
        }
        true
    }

    /// Hoists an expression, or else its subexpressions.
    fn hoist_expr(&mut self, expression: &mut TypedExpr, changed: &LoopWrites, before: &mut Vec<Statement>) {
        if matches!(expression.data_type, DataType::Scalar(_)) && self.has_cost(expression) && self.is_invariant(expression, changed) {
            return self.move_out(expression, before);
        }
        match &mut expression.kind {
            ExprKind::Binary(BinaryOp::And | BinaryOp::Or, first, _) | ExprKind::Conditional(first, ..) => {
                self.hoist_expr(first, changed, before)
            }
            ExprKind::Binary(_, one, two) => [one, two].into_iter().for_each(|part| self.hoist_expr(part, changed, before)),
            ExprKind::Unary(_, of) | ExprKind::Cast(of) => self.hoist_expr(of, changed, before),
            ExprKind::Assign { target, value, .. } => {
                if let ExprKind::Index(_, index) = &mut target.kind {
                    self.subscript(index, changed, before);
                }
                self.hoist_expr(value, changed, before);
            }
            ExprKind::Index(_, index) => self.subscript(index, changed, before),
            ExprKind::Call(name, list) if name.starts_with("Math.") => {
                list.iter_mut().for_each(|part| self.hoist_expr(part, changed, before));
            }
            _ => {}
        }
    }

    /// A subscript costs nothing unless it contains a load.
    fn subscript(&mut self, index: &mut TypedExpr, changed: &LoopWrites, before: &mut Vec<Statement>) {
        if has_load(index) {
            self.hoist_expr(index, changed, before);
        }
    }

    fn move_out(&mut self, expression: &mut TypedExpr, before: &mut Vec<Statement>) {
        let mut name = source_text(expression);
        while !self.names.insert(name.clone()) {
            name.push('\'');
        }
        let (of, place) = (expression.data_type.clone(), expression.pos.clone());
        let moved = TypedExpr { kind: ExprKind::Variable(name.clone()), data_type: of.clone(), pos: place.clone() };
        let value = Some(std::mem::replace(expression, moved));
        let variable = IrVariable { name, data_type: of, initializer: value, is_constant: true, pos: place.clone() };
        before.push(Statement { kind: StatementKind::Declare(variable), pos: place });
    }

    /// Whether evaluating it costs anything. Comparisons stay where they are.
    fn has_cost(&self, expression: &TypedExpr) -> bool {
        match &expression.kind {
            ExprKind::Variable(name) => self.globals.contains(name),
            ExprKind::Index(..) | ExprKind::Field(..) => true,
            ExprKind::Unary(operation, of) => *operation != UnaryOp::Not && has_variable(of),
            ExprKind::Binary(operation, one, two) => is_arithmetic(*operation) && (has_variable(one) || has_variable(two)),
            ExprKind::Cast(of) => has_variable(of),
            _ => false,
        }
    }

    fn is_invariant(&self, expression: &TypedExpr, changed: &LoopWrites) -> bool {
        match &expression.kind {
            ExprKind::Number(_) => true,
            ExprKind::Variable(name) => !changed.variables.contains(name.as_str()),
            ExprKind::Index(..) | ExprKind::Field(..) => {
                base_variable(expression).is_some_and(|name| !changed.elements.contains(&(name, &expression.data_type)))
                    && expression.children().into_iter().all(|part| self.is_invariant(part, changed))
            }
            ExprKind::Binary(operation, one, two) => {
                is_arithmetic(*operation) && self.is_invariant(one, changed) && self.is_invariant(two, changed)
            }
            ExprKind::Unary(_, of) | ExprKind::Cast(of) => self.is_invariant(of, changed),
            _ => false,
        }
    }
}

fn is_arithmetic(operation: BinaryOp) -> bool {
    matches!(
        operation,
        BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Remainder
            | BinaryOp::Bitwise(_)
            | BinaryOp::Shift(_)
    )
}

fn has_variable(expression: &TypedExpr) -> bool {
    matches!(expression.kind, ExprKind::Variable(_)) || expression.children().into_iter().any(has_variable)
}

fn has_load(expression: &TypedExpr) -> bool {
    matches!(expression.kind, ExprKind::Index(..) | ExprKind::Field(..)) || expression.children().into_iter().any(has_load)
}

/// An expression approximately as in the source, for messages.
fn source_text(expression: &TypedExpr) -> String {
    match &expression.kind {
        ExprKind::Number(text) => text.clone(),
        // A global variable held in a register.
        ExprKind::Variable(name) => format!("{name} "),
        ExprKind::Index(of, index) => format!("{}[{}]", source_text(of).trim(), source_text(index).trim()),
        ExprKind::Field(of, name) => format!("{}.{name}", source_text(of).trim()),
        ExprKind::Cast(of) => source_text(of),
        ExprKind::Unary(_, of) => format!("-{}", source_text(of)),
        ExprKind::Binary(operation, one, two) => {
            let sign = match operation {
                BinaryOp::Add => "+",
                BinaryOp::Subtract => "-",
                BinaryOp::Multiply => "*",
                BinaryOp::Divide => "/",
                BinaryOp::Remainder => "%",
                _ => "…",
            };
            format!("{} {sign} {}", source_text(one).trim(), source_text(two).trim())
        }
        _ => "…".to_owned(),
    }
}
