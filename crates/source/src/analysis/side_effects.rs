//! Side effects and early exits of statements.

use crate::ir::{BinaryOp, DataType, ExprKind, IrVariable, Statement, StatementKind, TypedExpr};

/// A write to a variable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VariableWrite<'a> {
    /// The variable.
    pub(crate) variable: &'a str,
    /// Its type.
    pub(crate) data_type: &'a DataType,
    /// The operator of a compound assignment.
    pub(crate) operator: Option<BinaryOp>,
    /// The value; `None` if unknown.
    pub(crate) value: Option<&'a TypedExpr>,
    /// Whether it happens exactly once each time the statements are executed.
    pub(crate) is_unconditional: bool,
    /// Whether it is inside of a nested loop, or otherwise not analysable.
    pub(crate) is_repeated: bool,
}

/// All side effects of some statements.
#[derive(Debug, Default)]
pub(crate) struct SideEffects<'a> {
    pub(crate) writes: Vec<VariableWrite<'a>>,
    /// The names of assigned fields.
    pub(crate) fields: Vec<&'a str>,
    /// Whether routines are called, which may write global variables.
    pub(crate) has_calls: bool,
    /// Nesting depth of conditions; the next one that of loops.
    condition_depth: usize,
    loop_depth: usize,
}

impl<'a> SideEffects<'a> {
    /// The side effects of statements.
    pub(crate) fn from_statements(statements: &'a [Statement]) -> SideEffects<'a> {
        let mut changes = SideEffects::default();
        changes.statements(statements);
        changes
    }

    /// Adds the side effects of an expression.
    pub(crate) fn expression(&mut self, expression: &'a TypedExpr) {
        match &expression.kind {
            ExprKind::Number(_) | ExprKind::StringLiteral(_) | ExprKind::Variable(_) => {}
            ExprKind::Assign { target, operator: with, value } => {
                self.expression(value);
                match &target.kind {
                    ExprKind::Variable(name) => self.write(name, &target.data_type, *with, Some(value)),
                    ExprKind::Field(of, name) => {
                        self.fields.push(name);
                        self.expression(of);
                    }
                    _ => self.expression(target),
                }
            }
            ExprKind::AddressOf(inside) => match &inside.kind {
                ExprKind::Variable(name) => self.write(name, &inside.data_type, None, None),
                _ => self.expression(inside),
            },
            ExprKind::Binary(BinaryOp::And | BinaryOp::Or, one, two) => {
                self.expression(one);
                self.conditionally(|changes| changes.expression(two));
            }
            ExprKind::Binary(_, one, two) | ExprKind::Index(one, two) => {
                self.expression(one);
                self.expression(two);
            }
            ExprKind::Conditional(condition, one, two) => {
                self.expression(condition);
                self.conditionally(|changes| changes.expression(one));
                self.conditionally(|changes| changes.expression(two));
            }
            ExprKind::Field(inside, _) | ExprKind::Unary(_, inside) | ExprKind::Cast(inside) => self.expression(inside),
            ExprKind::Call(_, arguments) => {
                self.has_calls = true;
                arguments.iter().for_each(|argument| self.expression(argument));
            }
            ExprKind::Allocate(list) | ExprKind::InitializerList(list) => list.iter().for_each(|part| self.expression(part)),
        }
    }

    fn write(&mut self, variable: &'a str, of: &'a DataType, with: Option<BinaryOp>, value: Option<&'a TypedExpr>) {
        let (certain, often) = (self.condition_depth == 0, self.loop_depth > 0);
        self.writes.push(VariableWrite {
            variable,
            data_type: of,
            operator: with,
            value,
            is_unconditional: certain && !often,
            is_repeated: often,
        });
    }

    /// A variable that is declared inside is a new one in each iteration.
    fn declaration(&mut self, variable: &'a IrVariable) {
        self.writes.push(VariableWrite {
            variable: &variable.name,
            data_type: &variable.data_type,
            operator: None,
            value: None,
            is_unconditional: false,
            is_repeated: true,
        });
    }

    fn conditionally(&mut self, inside: impl FnOnce(&mut SideEffects<'a>)) {
        self.condition_depth += 1;
        inside(self);
        self.condition_depth -= 1;
    }

    fn statements(&mut self, statements: &'a [Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'a Statement) {
        match &statement.kind {
            StatementKind::Declare(variable) => {
                if let Some(value) = &variable.initializer {
                    self.expression(value);
                }
                self.declaration(variable);
            }
            StatementKind::Evaluate(expression) => self.expression(expression),
            StatementKind::Block(list) => self.statements(list),
            StatementKind::If { condition, then, otherwise } => {
                self.expression(condition);
                self.conditionally(|changes| changes.statements(then));
                self.conditionally(|changes| changes.statements(otherwise));
            }
            StatementKind::Loop { init: before, condition, update: after, body, .. } => {
                self.statements(before);
                self.loop_depth += 1;
                condition.iter().chain(after).for_each(|expression| self.expression(expression));
                self.statements(body);
                self.loop_depth -= 1;
            }
            StatementKind::ForEach { variable, array: of, body } => {
                self.expression(of);
                self.declaration(variable);
                self.loop_depth += 1;
                self.statements(body);
                self.loop_depth -= 1;
            }
            StatementKind::Switch { selector: of, cases } => {
                self.expression(of);
                cases.iter().for_each(|case| self.conditionally(|changes| changes.statements(case)));
            }
            StatementKind::Return(value) | StatementKind::Terminate(value) => value.iter().for_each(|value| self.expression(value)),
            StatementKind::Break | StatementKind::Continue => {}
        }
    }
}

/// How the body of a loop may end an iteration early.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EarlyExits {
    /// By `break` or `return`.
    pub(crate) exits_loop: bool,
    /// By `continue`.
    pub(crate) continues: bool,
}

impl EarlyExits {
    /// The early exits of statements in the body of a loop.
    pub(crate) fn from_statements(statements: &[Statement]) -> EarlyExits {
        statements.iter().fold(EarlyExits::default(), |so_far, statement| so_far.union(EarlyExits::from_statement(statement)))
    }

    fn union(self, other: EarlyExits) -> EarlyExits {
        EarlyExits { exits_loop: self.exits_loop || other.exits_loop, continues: self.continues || other.continues }
    }

    pub(crate) fn from_statement(statement: &Statement) -> EarlyExits {
        match &statement.kind {
            StatementKind::Break | StatementKind::Return(_) => EarlyExits { exits_loop: true, continues: false },
            StatementKind::Continue => EarlyExits { exits_loop: false, continues: true },
            StatementKind::Block(list) => EarlyExits::from_statements(list),
            StatementKind::If { then, otherwise, .. } => EarlyExits::from_statements(then).union(EarlyExits::from_statements(otherwise)),
            StatementKind::Loop { body, .. } | StatementKind::ForEach { body, .. } => {
                EarlyExits { exits_loop: contains_return(body), continues: false }
            }
            StatementKind::Switch { cases, .. } => EarlyExits {
                exits_loop: cases.iter().any(|case| contains_return(case)),
                continues: cases.iter().any(|case| EarlyExits::from_statements(case).continues),
            },
            StatementKind::Declare(_) | StatementKind::Evaluate(_) | StatementKind::Terminate(_) => EarlyExits::default(),
        }
    }
}

fn contains_return(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| match &statement.kind {
        StatementKind::Return(_) => true,
        StatementKind::Block(list) => contains_return(list),
        StatementKind::If { then, otherwise, .. } => contains_return(then) || contains_return(otherwise),
        StatementKind::Loop { body, .. } | StatementKind::ForEach { body, .. } => contains_return(body),
        StatementKind::Switch { cases, .. } => cases.iter().any(|case| contains_return(case)),
        _ => false,
    })
}

/// Collects the names of all variables declared in these statements.
pub(crate) fn declared_names<'a>(statements: &'a [Statement], names: &mut Vec<&'a str>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Declare(variable) => names.push(&variable.name),
            StatementKind::Block(list) => declared_names(list, names),
            StatementKind::If { then, otherwise, .. } => {
                declared_names(then, names);
                declared_names(otherwise, names);
            }
            StatementKind::Loop { init: before, body, .. } => {
                declared_names(before, names);
                declared_names(body, names);
            }
            StatementKind::ForEach { variable, body, .. } => {
                names.push(&variable.name);
                declared_names(body, names);
            }
            StatementKind::Switch { cases, .. } => cases.iter().for_each(|case| declared_names(case, names)),
            _ => {}
        }
    }
}
