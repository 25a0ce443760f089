//! Statements, one after the other.

use sintonia_formula::Formula;
use sintonia_pamela::model::{Language, Term};

use super::ledger::Ledger;
use super::{Analysis, Scope, Share, Value, scalar};
use crate::error::Error;
use crate::routine::{Action, Expression, Scalar, Statement, Type};

/// Where the program goes after some statements, from the nearest place to the farthest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Next {
    /// To what follows.
    On,
    /// To the next round of the loop around.
    Round,
    /// Out of the loop around.
    Loop,
    /// Out of the routine.
    Routine,
    /// Out of the program, or to whoever catches what is thrown.
    Away,
}

/// A branch of a condition: what it does, what is known after it, and where it goes.
struct Branch {
    scope: Scope,
    ledger: Ledger,
    next: Next,
}

impl<'a> Analysis<'a> {
    /// Goes through the body of a routine; what it returns is known if it has one way to its end.
    pub(super) fn body(
        &mut self,
        statements: &'a [Statement],
        scope: &mut Scope,
        ledger: &mut Ledger,
        returns: &mut Option<Value>,
    ) -> Result<Next, Error> {
        let next = self.statements(statements, scope, ledger)?;
        if let Some(Statement { what: Action::Return(Some(value)), .. }) = statements.last()
            && !super::walk::Exits::of(&statements[..statements.len() - 1]).leaves
        {
            *returns = Some(self.value(value, scope)?);
        }
        Ok(next)
    }

    pub(super) fn statements(&mut self, statements: &'a [Statement], scope: &mut Scope, ledger: &mut Ledger) -> Result<Next, Error> {
        for (position, statement) in statements.iter().enumerate() {
            if let Action::If { condition, then, otherwise } = &statement.what {
                let rest = &statements[position + 1..];
                let ended =
                    self.deeper(&statement.place, |analysis| analysis.condition(condition, [then, otherwise], rest, scope, ledger))?;
                if let Some(next) = ended {
                    return Ok(next);
                }
                continue;
            }
            let next = self.deeper(&statement.place, |analysis| analysis.statement(statement, scope, ledger))?;
            if next != Next::On {
                return Ok(next);
            }
        }
        Ok(Next::On)
    }

    fn statement(&mut self, statement: &'a Statement, scope: &mut Scope, ledger: &mut Ledger) -> Result<Next, Error> {
        match &statement.what {
            Action::Declare(variable) => {
                let value = match &variable.value {
                    Some(value) => {
                        let known = self.expression(value, scope, ledger)?;
                        self.add("assign", &variable.of, ledger);
                        if matches!(value.what, crate::routine::Computation::List(_)) {
                            self.listed(known, &variable.of, ledger)
                        } else {
                            known
                        }
                    }
                    None => Value::unknown(),
                };
                scope.set(&variable.name, value);
                Ok(Next::On)
            }
            Action::Compute(expression) => self.expression(expression, scope, ledger).map(|_| Next::On),
            Action::Block(list) => self.block(list, scope, ledger),
            // Conditions take what follows them along, see `statements`.
            Action::If { condition, then, otherwise } => {
                Ok(self.condition(condition, [then, otherwise], &[], scope, ledger)?.unwrap_or(Next::On))
            }
            Action::Loop { .. } | Action::ForEach { .. } => self.looping(statement, scope, ledger).map(|_| Next::On),
            Action::Switch { of, cases } => self.switch(of, cases, scope, ledger),
            Action::Return(value) => {
                if let Some(value) = value {
                    self.expression(value, scope, ledger)?;
                }
                Ok(Next::Routine)
            }
            Action::Break => Ok(Next::Loop),
            Action::Continue => Ok(Next::Round),
            Action::Leave(value) => {
                if let Some(value) = value {
                    self.expression(value, scope, ledger)?;
                }
                Ok(Next::Away)
            }
        }
    }

    /// A variable of C that is an array written down element by element has its memory from there.
    fn listed(&self, known: Value, of: &Type, ledger: &mut Ledger) -> Value {
        if let (Value::Array(lengths), Type::Array(element)) = (&known, of)
            && self.language == Language::C
            && let Some(Some(length)) = lengths.first()
        {
            ledger.add(self.plain_operation("new"), length * &Formula::integer(super::bytes_of(element)));
        }
        known
    }

    /// Statements whose variables nobody knows afterwards.
    pub(super) fn block(&mut self, list: &'a [Statement], scope: &mut Scope, ledger: &mut Ledger) -> Result<Next, Error> {
        let own = list.iter().filter_map(|statement| match &statement.what {
            Action::Declare(variable) => Some(variable.name.as_str()),
            _ => None,
        });
        let own: Vec<(&str, Option<Value>)> = own.map(|name| (name, scope.remove(name))).collect();
        let next = self.statements(list, scope, ledger)?;
        for (name, before) in own {
            match before {
                Some(value) => scope.set(name, value),
                None => drop(scope.remove(name)),
            }
        }
        Ok(next)
    }

    /// A condition with both its branches. Where one of them leaves, what follows belongs to the other: then that is gone through as well,
    /// and where it goes is the result.
    fn condition(
        &mut self,
        condition: &'a Expression,
        branches: [&'a [Statement]; 2],
        rest: &'a [Statement],
        scope: &mut Scope,
        ledger: &mut Ledger,
    ) -> Result<Option<Next>, Error> {
        // The condition has its line before its own parts do.
        self.condition_name(&condition.place);
        let share = self.share(condition, scope)?;
        let asked = scope.clone();
        self.expression(condition, scope, ledger)?;
        let certain = match share {
            Share::Always => Some(branches[0]),
            Share::Never => Some(branches[1]),
            _ => None,
        };
        if let Some(branch) = certain {
            let next = self.block(branch, scope, ledger)?;
            return Ok((next != Next::On).then_some(next));
        }
        let mut then = self.branch(branches[0], scope)?;
        let mut otherwise = self.branch(branches[1], scope)?;
        let leaves = [then.next, otherwise.next];
        let ended = match leaves {
            [Next::On, Next::On] => {
                *scope = self.joined(condition, &asked, &then.scope, &otherwise.scope)?;
                None
            }
            [_, Next::On] => Some(self.follow(&mut otherwise, rest, scope)?),
            [Next::On, _] => Some(self.follow(&mut then, rest, scope)?),
            [one, two] => Some(one.min(two)),
        };
        let share = self.share_of_leaving(share, leaves);
        self.push_if(&condition.place, &share, then.ledger.into_term(), otherwise.ledger.into_term(), ledger);
        Ok(ended)
    }

    fn branch(&mut self, list: &'a [Statement], scope: &Scope) -> Result<Branch, Error> {
        let mut branch = Branch { scope: scope.clone(), ledger: Ledger::default(), next: Next::On };
        branch.next = self.block(list, &mut branch.scope, &mut branch.ledger)?;
        Ok(branch)
    }

    /// Goes on after a condition in the branch that does not leave.
    fn follow(&mut self, branch: &mut Branch, rest: &'a [Statement], scope: &mut Scope) -> Result<Next, Error> {
        let next = self.statements(rest, &mut branch.scope, &mut branch.ledger)?;
        *scope = branch.scope.clone();
        Ok(next)
    }

    /// A loop is left once at most, and exceptions are taken not to happen.
    fn share_of_leaving(&self, share: Share, leaves: [Next; 2]) -> Share {
        let leaves_loop = |next: Next| matches!(next, Next::Loop | Next::Routine);
        match (share, self.facts.last_round(), leaves) {
            (Share::Unknown, _, [Next::Away, other]) if other != Next::Away => Share::Part(Formula::zero()),
            (Share::Unknown, _, [other, Next::Away]) if other != Next::Away => Share::Part(Formula::one()),
            (Share::Unknown, Some(rounds), [then, otherwise]) if leaves_loop(then) != leaves_loop(otherwise) => {
                let once = Formula::between(0.0, 1.0) * self.facts.at_least_one(rounds).power(-1);
                Share::Part(if leaves_loop(then) { once } else { Formula::one() - once })
            }
            (share, ..) => share,
        }
    }

    /// What is known after both branches, where `if (a < b) a = b` makes `a` the larger.
    fn joined(&mut self, condition: &'a Expression, asked: &Scope, then: &Scope, otherwise: &Scope) -> Result<Scope, Error> {
        let mut result = then.or(otherwise, &self.facts);
        for (name, value) in then.iter() {
            if let Some(other) = otherwise.get(name)
                && value != other
            {
                let value = self.chosen(condition, asked, value, other)?;
                result.set(name, value);
            }
        }
        Ok(result)
    }

    /// One of several cases, each taken to be as likely as any other.
    fn switch(&mut self, of: &'a Expression, cases: &'a [Vec<Statement>], scope: &mut Scope, ledger: &mut Ledger) -> Result<Next, Error> {
        self.expression(of, scope, ledger)?;
        let mut branches = Vec::new();
        for case in cases {
            branches.push(self.branch(case, scope)?);
        }
        let ends = branches.iter().map(|branch| if branch.next == Next::Loop { Next::On } else { branch.next });
        let next = ends.min().unwrap_or(Next::On);
        let goes_on = branches.iter().filter(|branch| matches!(branch.next, Next::On | Next::Loop));
        *scope = goes_on.fold(scope.clone(), |so_far, branch| so_far.or(&branch.scope, &self.facts));
        let compare = self.operation("compare", scalar(&of.of).unwrap_or(Scalar::Int));
        let count = i64::try_from(branches.len()).unwrap_or(i64::MAX);
        let mut term = Term::Sequence(Vec::new());
        for (branch, left) in branches.into_iter().rev().zip(1..=count) {
            let then = Box::new(branch.ledger.into_term());
            let asked = Term::Operation { operation: compare.clone(), times: Formula::one() };
            let one = if left == 1 {
                *then
            } else {
                Term::If { place: None, share: Some(Formula::ratio(1, left)), then, otherwise: Box::new(term) }
            };
            term = Term::Sequence(vec![asked, one]);
        }
        ledger.push(term);
        Ok(next)
    }
}
