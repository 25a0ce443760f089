//! The cost of loops.
//!
//! It is counted as in the APET paper: the initialisation and the first comparison before the loop, and in each iteration the update, a
//! comparison and the body.

use sintonia_formula::Formula;
use sintonia_pamela::model::{LoopOrder, ModelTerm};

use super::condition::is_comparison;
use super::induction::strip_casts;
use super::iteration_space::{IterationSpace, LoopParts};
use super::term_builder::TermBuilder;
use super::{StaticAnalyzer, VariableScope, common_type};
use crate::error::Error;
use crate::ir::{DataType, ExprKind, IrVariable, ScalarType, Statement, StatementKind, TypedExpr};

impl<'a> StaticAnalyzer<'a> {
    /// Adds the term of a loop.
    pub(super) fn loop_statement(
        &mut self,
        statement: &'a Statement,
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<(), Error> {
        match &statement.kind {
            StatementKind::Loop { init: before, condition, update: after, body, is_do_while: once_at_least } => {
                let own = before.iter().filter_map(|statement| match &statement.kind {
                    StatementKind::Declare(variable) => Some(variable.name.as_str()),
                    _ => None,
                });
                let own: Vec<&str> = own.collect();
                if !before.is_empty() {
                    ledger.push(ModelTerm::Comment("initialisation".to_owned()));
                }
                self.statements(before, scope, ledger)?;
                let parts = LoopParts { condition: condition.as_ref(), update: after, body, is_do_while: *once_at_least };
                let rounds = self.loop_iteration_space(parts, &statement.pos, scope)?;
                self.loop_term(parts, rounds, scope, ledger)?;
                own.into_iter().for_each(|name| drop(scope.remove(name)));
                Ok(())
            }
            StatementKind::ForEach { variable, array: of, body } => {
                let array = self.expression(of, scope, ledger)?;
                let rounds = self.for_each_iteration_space(variable, &array, body, &statement.pos, scope)?;
                self.for_each_term(variable, body, rounds, scope, ledger)
            }
            _ => Ok(()),
        }
    }

    fn loop_term(
        &mut self,
        parts: LoopParts<'a>,
        rounds: IterationSpace,
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<(), Error> {
        let mut inside = TermBuilder::default();
        if let Some(condition) = parts.condition.filter(|_| !parts.is_do_while) {
            ledger.push(ModelTerm::Comment("first comparison".to_owned()));
            self.condition_cost(condition, true, &mut scope.clone(), ledger)?;
        }
        self.enter_loop(&rounds);
        let mut body = rounds.body_scope.clone();
        if !parts.update.is_empty() {
            inside.push(ModelTerm::Comment("next iteration".to_owned()));
        }
        let mut later = rounds.body_scope.clone();
        for expression in parts.update {
            self.expression(expression, &mut later, &mut inside)?;
        }
        if let Some(condition) = parts.condition {
            self.condition_cost(condition, false, &mut later, &mut inside)?;
        }
        if !parts.update.is_empty() {
            inside.push(ModelTerm::Comment("body".to_owned()));
        }
        let result = self.block(parts.body, &mut body, &mut inside);
        self.exit_loop();
        result?;
        *scope = rounds.exit_scope;
        ledger.push(ModelTerm::Loop {
            order: LoopOrder::Sequential,
            index: rounds.index,
            from: Formula::one(),
            to: rounds.trip_count,
            body: Box::new(inside.into_term()),
        });
        Ok(())
    }

    /// The cost of a loop's condition. Its variable is read only the first time; afterwards it is still in a register from the update.
    fn condition_cost(
        &mut self,
        condition: &'a TypedExpr,
        first: bool,
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<(), Error> {
        match &condition.kind {
            ExprKind::Binary(operation, one, two) if is_comparison(*operation) => {
                let of = common_type(&one.data_type, &two.data_type);
                let is_plain = |side: &TypedExpr| matches!(&strip_casts(side).kind, ExprKind::Variable(name) if !self.is_global(name));
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

    /// The implicit counter of a for-each loop costs as much as an explicit one.
    fn for_each_term(
        &mut self,
        variable: &IrVariable,
        body: &'a [Statement],
        rounds: IterationSpace,
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<(), Error> {
        let int = DataType::Scalar(ScalarType::Int);
        for name in ["assign", "access", "compare"] {
            self.add_operation(name, &int, ledger);
        }
        self.enter_loop(&rounds);
        let mut inside = TermBuilder::default();
        for name in ["assign", "access", "sum", "compare"] {
            self.add_operation(name, &int, &mut inside);
        }
        self.add_operation("load", &variable.data_type, &mut inside);
        self.add_operation("assign", &variable.data_type, &mut inside);
        let mut round = rounds.body_scope.clone();
        let result = self.block(body, &mut round, &mut inside);
        self.exit_loop();
        result?;
        *scope = rounds.exit_scope;
        let to = rounds.trip_count;
        ledger.push(ModelTerm::Loop {
            order: LoopOrder::Sequential,
            index: rounds.index,
            from: Formula::one(),
            to,
            body: Box::new(inside.into_term()),
        });
        Ok(())
    }
}
