//! Loops: what they cost.
//!
//! It is counted as the paper of APET counts it: the initialisation and the first comparison before the rounds, and in each round the
//! step, a comparison and the body.

use sintonia_formula::Formula;
use sintonia_pamela::model::{Order, Term};

use super::condition::is_comparison;
use super::induction::plain;
use super::ledger::Ledger;
use super::rounds::{Parts, Rounds};
use super::{Analysis, Scope, common};
use crate::error::Error;
use crate::routine::{Action, Computation, Expression, Scalar, Statement, Type, Variable};

impl<'a> Analysis<'a> {
    /// The term of a loop.
    pub(super) fn looping(&mut self, statement: &'a Statement, scope: &mut Scope, ledger: &mut Ledger) -> Result<(), Error> {
        match &statement.what {
            Action::Loop { before, condition, after, body, once_at_least } => {
                let own = before.iter().filter_map(|statement| match &statement.what {
                    Action::Declare(variable) => Some(variable.name.as_str()),
                    _ => None,
                });
                let own: Vec<&str> = own.collect();
                if !before.is_empty() {
                    ledger.push(Term::Note("initialisation".to_owned()));
                }
                self.statements(before, scope, ledger)?;
                let parts = Parts { condition: condition.as_ref(), after, body, once_at_least: *once_at_least };
                let rounds = self.plan(parts, &statement.place, scope)?;
                self.loop_term(parts, rounds, scope, ledger)?;
                own.into_iter().for_each(|name| drop(scope.remove(name)));
                Ok(())
            }
            Action::ForEach { variable, of, body } => {
                let array = self.expression(of, scope, ledger)?;
                let rounds = self.plan_elements(variable, &array, body, &statement.place, scope)?;
                self.elements_term(variable, body, rounds, scope, ledger)
            }
            _ => Ok(()),
        }
    }

    fn loop_term(&mut self, parts: Parts<'a>, rounds: Rounds, scope: &mut Scope, ledger: &mut Ledger) -> Result<(), Error> {
        let mut inside = Ledger::default();
        if let Some(condition) = parts.condition.filter(|_| !parts.once_at_least) {
            ledger.push(Term::Note("first comparison".to_owned()));
            self.asking(condition, true, &mut scope.clone(), ledger)?;
        }
        self.open(&rounds);
        let mut body = rounds.body.clone();
        if !parts.after.is_empty() {
            inside.push(Term::Note("next round".to_owned()));
        }
        let mut later = rounds.body.clone();
        for expression in parts.after {
            self.expression(expression, &mut later, &mut inside)?;
        }
        if let Some(condition) = parts.condition {
            self.asking(condition, false, &mut later, &mut inside)?;
        }
        if !parts.after.is_empty() {
            inside.push(Term::Note("body".to_owned()));
        }
        let result = self.block(parts.body, &mut body, &mut inside);
        self.close();
        result?;
        *scope = rounds.after;
        ledger.push(Term::Loop {
            order: Order::Sequential,
            index: rounds.index,
            from: Formula::one(),
            to: rounds.count,
            body: Box::new(inside.into_term()),
        });
        Ok(())
    }

    /// The cost of a loop's condition. The first time its variable is read; after that it is still at hand from the step before.
    fn asking(&mut self, condition: &'a Expression, first: bool, scope: &mut Scope, ledger: &mut Ledger) -> Result<(), Error> {
        match &condition.what {
            Computation::Binary(operation, one, two) if is_comparison(*operation) => {
                let of = common(&one.of, &two.of);
                let is_plain = |side: &Expression| matches!(&plain(side).what, Computation::Variable(name) if !self.is_global(name));
                let sides = [(one, is_plain(one)), (two, is_plain(two))];
                if first && sides.iter().any(|(_, is_plain)| *is_plain) {
                    ledger.add(self.operation("access", of), Formula::one());
                }
                for (side, _) in sides.into_iter().filter(|(_, is_plain)| !is_plain) {
                    self.expression(side, scope, ledger)?;
                }
                ledger.add(self.operation("compare", of), Formula::one());
                Ok(())
            }
            _ => self.expression(condition, scope, ledger).map(|_| ()),
        }
    }

    /// The hidden counter of a loop over elements costs what a written one does.
    fn elements_term(
        &mut self,
        variable: &Variable,
        body: &'a [Statement],
        rounds: Rounds,
        scope: &mut Scope,
        ledger: &mut Ledger,
    ) -> Result<(), Error> {
        let int = Type::Scalar(Scalar::Int);
        for name in ["assign", "access", "compare"] {
            self.add(name, &int, ledger);
        }
        self.open(&rounds);
        let mut inside = Ledger::default();
        for name in ["assign", "access", "sum", "compare"] {
            self.add(name, &int, &mut inside);
        }
        self.add("load", &variable.of, &mut inside);
        self.add("assign", &variable.of, &mut inside);
        let mut round = rounds.body.clone();
        let result = self.block(body, &mut round, &mut inside);
        self.close();
        result?;
        *scope = rounds.after;
        let to = rounds.count;
        ledger.push(Term::Loop {
            order: Order::Sequential,
            index: rounds.index,
            from: Formula::one(),
            to,
            body: Box::new(inside.into_term()),
        });
        Ok(())
    }
}
