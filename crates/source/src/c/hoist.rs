//! What does not change in a loop is computed before it, as every compiler of C does it: a model that counts it in each round would be of a program
//! that nobody runs.
//!
//! Arrays of different names are taken to be different arrays, as a compiler knows them to be where it sees how they are made. What is done only under a
//! condition, and loops that call functions, stay as they are.

use std::collections::HashSet;

use crate::analysis::walk::{Exits, declared};
use crate::routine::{Action, Binary, Computation, Expression, Program, Routine, Statement, Type, Unary, Variable};

/// Moves what does not change out of all loops of a program.
pub fn hoist(program: &mut Program) {
    let globals: HashSet<String> = program.globals.iter().map(|variable| variable.name.clone()).collect();
    for routine in &mut program.routines {
        let mut globals = globals.clone();
        let own = own_names(routine);
        globals.retain(|name| !own.contains(&name.as_str()));
        Hoist { globals, names: HashSet::new() }.statements(&mut routine.body);
    }
}

fn own_names(routine: &Routine) -> Vec<&str> {
    let mut names: Vec<&str> = routine.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    declared(&routine.body, &mut names);
    names
}

struct Hoist {
    /// Variables that stand in memory, of those that the routine sees.
    globals: HashSet<String>,
    /// Names that were given to what was moved.
    names: HashSet<String>,
}

/// What a loop changes.
#[derive(Default)]
struct Changed<'p> {
    variables: HashSet<&'p str>,
    /// Elements and fields, by the name they are found from and their type: compilers know numbers of other types to be elsewhere.
    elements: Vec<(&'p str, &'p Type)>,
    /// Whether something changes of which not even the name is known.
    anything: bool,
}

impl<'p> Changed<'p> {
    fn statements(&mut self, list: &'p [Statement]) {
        for statement in list {
            if let Action::Declare(variable) | Action::ForEach { variable, .. } = &statement.what {
                self.variables.insert(&variable.name);
            }
            statement.expressions().into_iter().for_each(|expression| self.expression(expression));
            statement.blocks().into_iter().for_each(|block| self.statements(block));
        }
    }

    fn expression(&mut self, expression: &'p Expression) {
        match &expression.what {
            Computation::Assign { target, .. } => match (&target.what, base(target)) {
                (Computation::Variable(name), _) => self.variables.extend([name.as_str()]),
                (_, Some(name)) if self.elements.contains(&(name, &target.of)) => {}
                (_, Some(name)) => self.elements.push((name, &target.of)),
                (_, None) => self.anything = true,
            },
            Computation::AddressOf(of) => self.variables.extend(base(of)),
            Computation::Call(name, _) => self.anything |= !name.starts_with("Math."),
            _ => {}
        }
        expression.parts().into_iter().for_each(|part| self.expression(part));
    }
}

/// The variable that an element or a field is found from.
fn base(expression: &Expression) -> Option<&str> {
    match &expression.what {
        Computation::Variable(name) => Some(name),
        Computation::Element(of, _) | Computation::Field(of, _) | Computation::Convert(of) => base(of),
        Computation::Binary(Binary::Add | Binary::Subtract, one, two) => {
            if matches!(one.of, Type::Array(_)) {
                base(one)
            } else {
                base(two)
            }
        }
        _ => None,
    }
}

impl Hoist {
    fn statements(&mut self, list: &mut [Statement]) {
        for statement in list {
            match &mut statement.what {
                Action::Block(list) | Action::ForEach { body: list, .. } => self.statements(list),
                Action::If { then, otherwise, .. } => {
                    self.statements(then);
                    self.statements(otherwise);
                }
                Action::Switch { cases, .. } => cases.iter_mut().for_each(|case| self.statements(case)),
                Action::Loop { before, condition, after, body, .. } => {
                    self.statements(body);
                    self.of_loop(before, condition.as_mut(), after, body);
                }
                _ => {}
            }
        }
    }

    fn of_loop(
        &mut self,
        before: &mut Vec<Statement>,
        condition: Option<&mut Expression>,
        after: &mut [Expression],
        body: &mut [Statement],
    ) {
        let (old_condition, old_after, old_body) = (condition.as_deref().cloned(), after.to_vec(), body.to_vec());
        let mut changed = Changed::default();
        old_condition.iter().chain(&old_after).for_each(|expression| changed.expression(expression));
        changed.statements(&old_body);
        if changed.anything {
            return;
        }
        condition.into_iter().chain(after).for_each(|expression| self.within(expression, &changed, before));
        self.certain(body, &changed, before);
    }

    /// Goes through what is done in every round; whether what follows is, too.
    fn certain(&mut self, list: &mut [Statement], changed: &Changed, before: &mut Vec<Statement>) -> bool {
        for statement in list {
            let exits = Exits::of_one(statement);
            let goes_on = match &mut statement.what {
                Action::Declare(Variable { value: Some(expression), .. })
                | Action::Compute(expression)
                | Action::If { condition: expression, .. }
                | Action::Switch { of: expression, .. } => {
                    self.within(expression, changed, before);
                    true
                }
                Action::Block(list) | Action::Loop { before: list, .. } => self.certain(list, changed, before),
                _ => true,
            };
            if !goes_on || exits.leaves || exits.cuts {
                return false;
            }
        }
        true
    }

    /// Moves an expression, or else parts of it.
    fn within(&mut self, expression: &mut Expression, changed: &Changed, before: &mut Vec<Statement>) {
        if matches!(expression.of, Type::Scalar(_)) && self.costs(expression) && self.stays(expression, changed) {
            return self.take(expression, before);
        }
        match &mut expression.what {
            Computation::Binary(Binary::And | Binary::Or, first, _) | Computation::Choice(first, ..) => self.within(first, changed, before),
            Computation::Binary(_, one, two) => [one, two].into_iter().for_each(|part| self.within(part, changed, before)),
            Computation::Unary(_, of) | Computation::Convert(of) => self.within(of, changed, before),
            Computation::Assign { target, value, .. } => {
                if let Computation::Element(_, index) = &mut target.what {
                    self.subscript(index, changed, before);
                }
                self.within(value, changed, before);
            }
            Computation::Element(_, index) => self.subscript(index, changed, before),
            Computation::Call(name, list) if name.starts_with("Math.") => {
                list.iter_mut().for_each(|part| self.within(part, changed, before));
            }
            _ => {}
        }
    }

    /// Where an element is costs nothing as long as nothing must be loaded for it.
    fn subscript(&mut self, index: &mut Expression, changed: &Changed, before: &mut Vec<Statement>) {
        if has_load(index) {
            self.within(index, changed, before);
        }
    }

    fn take(&mut self, expression: &mut Expression, before: &mut Vec<Statement>) {
        let mut name = written(expression);
        while !self.names.insert(name.clone()) {
            name.push('\'');
        }
        let (of, place) = (expression.of.clone(), expression.place.clone());
        let moved = Expression { what: Computation::Variable(name.clone()), of: of.clone(), place: place.clone() };
        let value = Some(std::mem::replace(expression, moved));
        let variable = Variable { name, of, value, constant: true, place: place.clone() };
        before.push(Statement { what: Action::Declare(variable), place });
    }

    /// Whether computing it takes anything. Comparisons stay where they decide.
    fn costs(&self, expression: &Expression) -> bool {
        match &expression.what {
            Computation::Variable(name) => self.globals.contains(name),
            Computation::Element(..) | Computation::Field(..) => true,
            Computation::Unary(operation, of) => *operation != Unary::Not && has_variable(of),
            Computation::Binary(operation, one, two) => is_arithmetic(*operation) && (has_variable(one) || has_variable(two)),
            Computation::Convert(of) => has_variable(of),
            _ => false,
        }
    }

    /// Whether it is the same in every round.
    fn stays(&self, expression: &Expression, changed: &Changed) -> bool {
        match &expression.what {
            Computation::Number(_) => true,
            Computation::Variable(name) => !changed.variables.contains(name.as_str()),
            Computation::Element(..) | Computation::Field(..) => {
                base(expression).is_some_and(|name| !changed.elements.contains(&(name, &expression.of)))
                    && expression.parts().into_iter().all(|part| self.stays(part, changed))
            }
            Computation::Binary(operation, one, two) => is_arithmetic(*operation) && self.stays(one, changed) && self.stays(two, changed),
            Computation::Unary(_, of) | Computation::Convert(of) => self.stays(of, changed),
            _ => false,
        }
    }
}

fn is_arithmetic(operation: Binary) -> bool {
    matches!(
        operation,
        Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide | Binary::Remainder | Binary::Bits(_) | Binary::Shift(_)
    )
}

fn has_variable(expression: &Expression) -> bool {
    matches!(expression.what, Computation::Variable(_)) || expression.parts().into_iter().any(has_variable)
}

fn has_load(expression: &Expression) -> bool {
    matches!(expression.what, Computation::Element(..) | Computation::Field(..)) || expression.parts().into_iter().any(has_load)
}

/// An expression about as it is written, which is what messages call it.
fn written(expression: &Expression) -> String {
    match &expression.what {
        Computation::Number(text) => text.clone(),
        // A variable that stands in memory, in a register.
        Computation::Variable(name) => format!("{name} "),
        Computation::Element(of, index) => format!("{}[{}]", written(of).trim(), written(index).trim()),
        Computation::Field(of, name) => format!("{}.{name}", written(of).trim()),
        Computation::Convert(of) => written(of),
        Computation::Unary(_, of) => format!("-{}", written(of)),
        Computation::Binary(operation, one, two) => {
            let sign = match operation {
                Binary::Add => "+",
                Binary::Subtract => "-",
                Binary::Multiply => "*",
                Binary::Divide => "/",
                Binary::Remainder => "%",
                _ => "…",
            };
            format!("{} {sign} {}", written(one).trim(), written(two).trim())
        }
        _ => "…".to_owned(),
    }
}
