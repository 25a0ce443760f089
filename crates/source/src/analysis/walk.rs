//! What a piece of program may change, and how it may be left, without going through it.

use crate::routine::{Action, Binary, Computation, Expression, Statement, Type, Variable};

/// An assignment to a variable, and how certainly it happens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change<'a> {
    /// The variable.
    pub(crate) variable: &'a str,
    /// Its type.
    pub(crate) of: &'a Type,
    /// What it is computed with, for `+=` and the like.
    pub(crate) with: Option<Binary>,
    /// The value; none if nobody knows what is written.
    pub(crate) value: Option<&'a Expression>,
    /// Whether it happens exactly once whenever the piece is gone through.
    pub(crate) certain: bool,
    /// Whether it stands in a loop inside of the piece, or is not followed for another reason.
    pub(crate) often: bool,
}

/// Everything that changes in a piece of program.
#[derive(Debug, Default)]
pub(crate) struct Changes<'a> {
    pub(crate) list: Vec<Change<'a>>,
    /// The fields of objects that are assigned to, by their names alone.
    pub(crate) fields: Vec<&'a str>,
    /// The routines that are called: they may change variables outside of routines.
    pub(crate) calls: bool,
    /// How many conditions and loops are around.
    unsure: usize,
    often: usize,
}

impl<'a> Changes<'a> {
    /// What changes in these statements.
    pub(crate) fn of(statements: &'a [Statement]) -> Changes<'a> {
        let mut changes = Changes::default();
        changes.statements(statements);
        changes
    }

    /// Adds what changes in an expression.
    pub(crate) fn expression(&mut self, expression: &'a Expression) {
        match &expression.what {
            Computation::Number(_) | Computation::Text(_) | Computation::Variable(_) => {}
            Computation::Assign { target, with, value } => {
                self.expression(value);
                match &target.what {
                    Computation::Variable(name) => self.change(name, &target.of, *with, Some(value)),
                    Computation::Field(of, name) => {
                        self.fields.push(name);
                        self.expression(of);
                    }
                    _ => self.expression(target),
                }
            }
            Computation::AddressOf(inside) => match &inside.what {
                Computation::Variable(name) => self.change(name, &inside.of, None, None),
                _ => self.expression(inside),
            },
            Computation::Binary(Binary::And | Binary::Or, one, two) => {
                self.expression(one);
                self.maybe(|changes| changes.expression(two));
            }
            Computation::Binary(_, one, two) | Computation::Element(one, two) => {
                self.expression(one);
                self.expression(two);
            }
            Computation::Choice(condition, one, two) => {
                self.expression(condition);
                self.maybe(|changes| changes.expression(one));
                self.maybe(|changes| changes.expression(two));
            }
            Computation::Field(inside, _) | Computation::Unary(_, inside) | Computation::Convert(inside) => self.expression(inside),
            Computation::Call(_, arguments) => {
                self.calls = true;
                arguments.iter().for_each(|argument| self.expression(argument));
            }
            Computation::New(list) | Computation::List(list) => list.iter().for_each(|part| self.expression(part)),
        }
    }

    fn change(&mut self, variable: &'a str, of: &'a Type, with: Option<Binary>, value: Option<&'a Expression>) {
        let (certain, often) = (self.unsure == 0, self.often > 0);
        self.list.push(Change { variable, of, with, value, certain: certain && !often, often });
    }

    /// A variable that is declared inside is another one in each round.
    fn declares(&mut self, variable: &'a Variable) {
        self.list.push(Change { variable: &variable.name, of: &variable.of, with: None, value: None, certain: false, often: true });
    }

    fn maybe(&mut self, inside: impl FnOnce(&mut Changes<'a>)) {
        self.unsure += 1;
        inside(self);
        self.unsure -= 1;
    }

    fn statements(&mut self, statements: &'a [Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'a Statement) {
        match &statement.what {
            Action::Declare(variable) => {
                if let Some(value) = &variable.value {
                    self.expression(value);
                }
                self.declares(variable);
            }
            Action::Compute(expression) => self.expression(expression),
            Action::Block(list) => self.statements(list),
            Action::If { condition, then, otherwise } => {
                self.expression(condition);
                self.maybe(|changes| changes.statements(then));
                self.maybe(|changes| changes.statements(otherwise));
            }
            Action::Loop { before, condition, after, body, .. } => {
                self.statements(before);
                self.often += 1;
                condition.iter().chain(after).for_each(|expression| self.expression(expression));
                self.statements(body);
                self.often -= 1;
            }
            Action::ForEach { variable, of, body } => {
                self.expression(of);
                self.declares(variable);
                self.often += 1;
                self.statements(body);
                self.often -= 1;
            }
            Action::Switch { of, cases } => {
                self.expression(of);
                cases.iter().for_each(|case| self.maybe(|changes| changes.statements(case)));
            }
            Action::Return(value) | Action::Leave(value) => value.iter().for_each(|value| self.expression(value)),
            Action::Break | Action::Continue => {}
        }
    }
}

/// How a loop may be left or cut short from within its body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Exits {
    /// By `break` or `return`.
    pub(crate) leaves: bool,
    /// By `continue`.
    pub(crate) cuts: bool,
}

impl Exits {
    /// How these statements, the body of a loop or a part of it, may leave it.
    pub(crate) fn of(statements: &[Statement]) -> Exits {
        statements.iter().fold(Exits::default(), |so_far, statement| so_far.or(Exits::of_one(statement)))
    }

    fn or(self, other: Exits) -> Exits {
        Exits { leaves: self.leaves || other.leaves, cuts: self.cuts || other.cuts }
    }

    pub(crate) fn of_one(statement: &Statement) -> Exits {
        match &statement.what {
            Action::Break | Action::Return(_) => Exits { leaves: true, cuts: false },
            Action::Continue => Exits { leaves: false, cuts: true },
            Action::Block(list) => Exits::of(list),
            Action::If { then, otherwise, .. } => Exits::of(then).or(Exits::of(otherwise)),
            Action::Loop { body, .. } | Action::ForEach { body, .. } => Exits { leaves: returns(body), cuts: false },
            Action::Switch { cases, .. } => {
                Exits { leaves: cases.iter().any(|case| returns(case)), cuts: cases.iter().any(|case| Exits::of(case).cuts) }
            }
            Action::Declare(_) | Action::Compute(_) | Action::Leave(_) => Exits::default(),
        }
    }
}

/// Whether these statements may leave the routine.
fn returns(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| match &statement.what {
        Action::Return(_) => true,
        Action::Block(list) => returns(list),
        Action::If { then, otherwise, .. } => returns(then) || returns(otherwise),
        Action::Loop { body, .. } | Action::ForEach { body, .. } => returns(body),
        Action::Switch { cases, .. } => cases.iter().any(|case| returns(case)),
        _ => false,
    })
}

/// The names of all variables that are declared in these statements.
pub(crate) fn declared<'a>(statements: &'a [Statement], names: &mut Vec<&'a str>) {
    for statement in statements {
        match &statement.what {
            Action::Declare(variable) => names.push(&variable.name),
            Action::Block(list) => declared(list, names),
            Action::If { then, otherwise, .. } => {
                declared(then, names);
                declared(otherwise, names);
            }
            Action::Loop { before, body, .. } => {
                declared(before, names);
                declared(body, names);
            }
            Action::ForEach { variable, body, .. } => {
                names.push(&variable.name);
                declared(body, names);
            }
            Action::Switch { cases, .. } => cases.iter().for_each(|case| declared(case, names)),
            _ => {}
        }
    }
}
