//! Statements.

use sintonia_formula::Formula;
use sintonia_pamela::model::{ModelTerm, SourceLanguage};

use super::term_builder::TermBuilder;
use super::{AbstractValue, BranchProbability, StaticAnalyzer, VariableScope, as_scalar};
use crate::error::Error;
use crate::ir::{DataType, ScalarType, Statement, StatementKind, TypedExpr};

/// Where control continues after some statements, from the nearest target to the farthest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StatementExit {
    /// The next statement.
    Fallthrough,
    /// The next iteration of the enclosing loop.
    Continue,
    /// Behind the enclosing loop.
    Break,
    /// The caller of the routine.
    Return,
    /// The end of the program, or an exception handler.
    Terminate,
}

/// The state at the end of a branch.
struct BranchState {
    scope: VariableScope,
    ledger: TermBuilder,
    exit: StatementExit,
}

impl<'a> StaticAnalyzer<'a> {
    /// Analyses the body of a routine; its return value is known if it has a single exit.
    pub(super) fn body(
        &mut self,
        statements: &'a [Statement],
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
        returns: &mut Option<AbstractValue>,
    ) -> Result<StatementExit, Error> {
        let next = self.statements(statements, scope, ledger)?;
        if let Some(Statement { kind: StatementKind::Return(Some(value)), .. }) = statements.last()
            && !super::side_effects::EarlyExits::from_statements(&statements[..statements.len() - 1]).exits_loop
        {
            *returns = Some(self.value(value, scope)?);
        }
        Ok(next)
    }

    pub(super) fn statements(
        &mut self,
        statements: &'a [Statement],
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<StatementExit, Error> {
        for (position, statement) in statements.iter().enumerate() {
            if let StatementKind::If { condition, then, otherwise } = &statement.kind {
                let rest = &statements[position + 1..];
                let ended =
                    self.nested(&statement.pos, |analysis| analysis.condition(condition, [then, otherwise], rest, scope, ledger))?;
                if let Some(next) = ended {
                    return Ok(next);
                }
                continue;
            }
            let next = self.nested(&statement.pos, |analysis| analysis.statement(statement, scope, ledger))?;
            if next != StatementExit::Fallthrough {
                return Ok(next);
            }
        }
        Ok(StatementExit::Fallthrough)
    }

    fn statement(&mut self, statement: &'a Statement, scope: &mut VariableScope, ledger: &mut TermBuilder) -> Result<StatementExit, Error> {
        match &statement.kind {
            StatementKind::Declare(variable) => {
                let value = match &variable.initializer {
                    Some(value) => {
                        let known = self.expression(value, scope, ledger)?;
                        self.add_operation("assign", &variable.data_type, ledger);
                        if matches!(value.kind, crate::ir::ExprKind::InitializerList(_)) {
                            self.initialized_array(known, &variable.data_type, ledger)
                        } else {
                            known
                        }
                    }
                    None => AbstractValue::unknown(),
                };
                scope.set(&variable.name, value);
                Ok(StatementExit::Fallthrough)
            }
            StatementKind::Evaluate(expression) => self.expression(expression, scope, ledger).map(|_| StatementExit::Fallthrough),
            StatementKind::Block(list) => self.block(list, scope, ledger),
            // Conditions include what follows them, see `statements`.
            StatementKind::If { condition, then, otherwise } => {
                Ok(self.condition(condition, [then, otherwise], &[], scope, ledger)?.unwrap_or(StatementExit::Fallthrough))
            }
            StatementKind::Loop { .. } | StatementKind::ForEach { .. } => {
                self.loop_statement(statement, scope, ledger).map(|_| StatementExit::Fallthrough)
            }
            StatementKind::Switch { selector: of, cases } => self.switch(of, cases, scope, ledger),
            StatementKind::Return(value) => {
                if let Some(value) = value {
                    self.expression(value, scope, ledger)?;
                }
                Ok(StatementExit::Return)
            }
            StatementKind::Break => Ok(StatementExit::Break),
            StatementKind::Continue => Ok(StatementExit::Continue),
            StatementKind::Terminate(value) => {
                if let Some(value) = value {
                    self.expression(value, scope, ledger)?;
                }
                Ok(StatementExit::Terminate)
            }
        }
    }

    /// A local array of C with an initializer list is allocated there.
    fn initialized_array(&self, known: AbstractValue, of: &DataType, ledger: &mut TermBuilder) -> AbstractValue {
        if let (AbstractValue::Array(lengths), DataType::Array(element)) = (&known, of)
            && self.language == SourceLanguage::C
            && let Some(Some(length)) = lengths.first()
        {
            ledger.add(self.plain_operation("new"), length * &Formula::integer(super::size_of_type(element)));
        }
        known
    }

    /// Statements in a scope of their own.
    pub(super) fn block(
        &mut self,
        list: &'a [Statement],
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<StatementExit, Error> {
        let own = list.iter().filter_map(|statement| match &statement.kind {
            StatementKind::Declare(variable) => Some(variable.name.as_str()),
            _ => None,
        });
        let own: Vec<(&str, Option<AbstractValue>)> = own.map(|name| (name, scope.remove(name))).collect();
        let next = self.statements(list, scope, ledger)?;
        for (name, before) in own {
            match before {
                Some(value) => scope.set(name, value),
                None => drop(scope.remove(name)),
            }
        }
        Ok(next)
    }

    /// A conditional statement. If one branch exits, the rest belongs to the other one: then it is analysed as well, and its exit is
    /// returned.
    fn condition(
        &mut self,
        condition: &'a TypedExpr,
        branches: [&'a [Statement]; 2],
        rest: &'a [Statement],
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<Option<StatementExit>, Error> {
        // The condition gets its label before the conditions inside of it.
        self.condition_label(&condition.pos);
        let share = self.branch_probability(condition, scope)?;
        let asked = scope.clone();
        self.expression(condition, scope, ledger)?;
        let certain = match share {
            BranchProbability::Always => Some(branches[0]),
            BranchProbability::Never => Some(branches[1]),
            _ => None,
        };
        if let Some(branch) = certain {
            let next = self.block(branch, scope, ledger)?;
            return Ok((next != StatementExit::Fallthrough).then_some(next));
        }
        let mut then = self.branch(branches[0], scope)?;
        let mut otherwise = self.branch(branches[1], scope)?;
        let leaves = [then.exit, otherwise.exit];
        let ended = match leaves {
            [StatementExit::Fallthrough, StatementExit::Fallthrough] => {
                *scope = self.join_branches(condition, &asked, &then.scope, &otherwise.scope)?;
                None
            }
            [_, StatementExit::Fallthrough] => Some(self.continue_branch(&mut otherwise, rest, scope)?),
            [StatementExit::Fallthrough, _] => Some(self.continue_branch(&mut then, rest, scope)?),
            [one, two] => Some(one.min(two)),
        };
        let share = self.exit_probability(share, leaves);
        self.push_if(&condition.pos, &share, then.ledger.into_term(), otherwise.ledger.into_term(), ledger);
        Ok(ended)
    }

    fn branch(&mut self, list: &'a [Statement], scope: &VariableScope) -> Result<BranchState, Error> {
        let mut branch = BranchState { scope: scope.clone(), ledger: TermBuilder::default(), exit: StatementExit::Fallthrough };
        branch.exit = self.block(list, &mut branch.scope, &mut branch.ledger)?;
        Ok(branch)
    }

    /// Continues with the rest in the branch that does not exit.
    fn continue_branch(
        &mut self,
        branch: &mut BranchState,
        rest: &'a [Statement],
        scope: &mut VariableScope,
    ) -> Result<StatementExit, Error> {
        let next = self.statements(rest, &mut branch.scope, &mut branch.ledger)?;
        *scope = branch.scope.clone();
        Ok(next)
    }

    /// A loop is exited at most once, and exceptions are assumed not to happen.
    fn exit_probability(&self, share: BranchProbability, leaves: [StatementExit; 2]) -> BranchProbability {
        let leaves_loop = |next: StatementExit| matches!(next, StatementExit::Break | StatementExit::Return);
        match (share, self.assumptions.last_iteration(), leaves) {
            (BranchProbability::Unknown, _, [StatementExit::Terminate, other]) if other != StatementExit::Terminate => {
                BranchProbability::Fraction(Formula::zero())
            }
            (BranchProbability::Unknown, _, [other, StatementExit::Terminate]) if other != StatementExit::Terminate => {
                BranchProbability::Fraction(Formula::one())
            }
            (BranchProbability::Unknown, Some(rounds), [then, otherwise]) if leaves_loop(then) != leaves_loop(otherwise) => {
                let once = Formula::interval(0.0, 1.0) * self.assumptions.max_with_one(rounds).power(-1);
                BranchProbability::Fraction(if leaves_loop(then) { once } else { Formula::one() - once })
            }
            (share, ..) => share,
        }
    }

    /// The scope after both branches; `if (a < b) a = b` makes `a` the maximum.
    fn join_branches(
        &mut self,
        condition: &'a TypedExpr,
        asked: &VariableScope,
        then: &VariableScope,
        otherwise: &VariableScope,
    ) -> Result<VariableScope, Error> {
        let mut result = then.join(otherwise, &self.assumptions);
        for (name, value) in then.iter() {
            if let Some(other) = otherwise.get(name)
                && value != other
            {
                let value = self.selected_value(condition, asked, value, other)?;
                result.set(name, value);
            }
        }
        Ok(result)
    }

    /// A `switch`; all cases are assumed equally likely.
    fn switch(
        &mut self,
        of: &'a TypedExpr,
        cases: &'a [Vec<Statement>],
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<StatementExit, Error> {
        self.expression(of, scope, ledger)?;
        let mut branches = Vec::new();
        for case in cases {
            branches.push(self.branch(case, scope)?);
        }
        let ends = branches.iter().map(|branch| if branch.exit == StatementExit::Break { StatementExit::Fallthrough } else { branch.exit });
        let next = ends.min().unwrap_or(StatementExit::Fallthrough);
        let goes_on = branches.iter().filter(|branch| matches!(branch.exit, StatementExit::Fallthrough | StatementExit::Break));
        *scope = goes_on.fold(scope.clone(), |so_far, branch| so_far.join(&branch.scope, &self.assumptions));
        let compare = self.operation("compare", as_scalar(&of.data_type).unwrap_or(ScalarType::Int));
        let count = i64::try_from(branches.len()).unwrap_or(i64::MAX);
        let mut term = ModelTerm::Sequence(Vec::new());
        for (branch, left) in branches.into_iter().rev().zip(1..=count) {
            let then = Box::new(branch.ledger.into_term());
            let asked = ModelTerm::Operation { operation: compare.clone(), times: Formula::one() };
            let one = if left == 1 {
                *then
            } else {
                ModelTerm::If { position: None, share: Some(Formula::ratio(1, left)), then, otherwise: Box::new(term) }
            };
            term = ModelTerm::Sequence(vec![asked, one]);
        }
        ledger.push(term);
        Ok(next)
    }
}
