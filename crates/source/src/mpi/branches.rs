//! Conditions in symbolic execution: the branch taken, or the join of both.

use sintonia_formula::Formula;

use super::executor::{ExecutionAbort, ExecutionResult, StatementCompletion, SymbolicExecutor};
use super::process_step::ProcessStep;
use super::value::SymbolicStore;
use crate::file_pos::FilePos;
use crate::ir::{Statement, TypedExpr};

impl<'p> SymbolicExecutor<'_, 'p> {
    /// A conditional. `rest` is what follows; it belongs to the branch that continues if the other one exits. Then everything is done, and
    /// the completion is returned.
    pub(super) fn branch(
        &mut self,
        condition: &'p TypedExpr,
        then: &'p [Statement],
        otherwise: &'p [Statement],
        rest: &'p [Statement],
        place: &FilePos,
    ) -> ExecutionResult<Option<StatementCompletion>> {
        let matters = self.silent_depth == 0 && then.iter().chain(otherwise).any(|statement| self.is_observable(statement));
        let holds = self.truth(condition)?;
        self.defer_expressions([condition], place);
        if let Some(decided) = holds.as_ref().and_then(|holds| holds.as_exact()) {
            let flow = self.block(if decided.is_zero() { otherwise } else { then })?;
            return Ok((flow != StatementCompletion::Normal).then_some(flow));
        }
        if let Some(chosen) = self.branch_using_command_line(condition, then, otherwise) {
            let flow = self.block(chosen)?;
            return Ok((flow != StatementCompletion::Normal).then_some(flow));
        }
        if matters && let Some(at) = self.rank_division(condition)? {
            return Err(ExecutionAbort::RolesDiverge(at));
        }
        self.join_branches(holds, then, otherwise, rest, place)
    }

    fn join_branches(
        &mut self,
        holds: Option<Formula>,
        then: &'p [Statement],
        otherwise: &'p [Statement],
        rest: &'p [Statement],
        place: &FilePos,
    ) -> ExecutionResult<Option<StatementCompletion>> {
        let (before, outer) = (self.store.clone(), std::mem::take(&mut self.steps));
        let first = self.block(then)?;
        let (first_store, first_steps) = (std::mem::replace(&mut self.store, before), std::mem::take(&mut self.steps));
        let second = self.block(otherwise)?;
        let is_error = |flow: &StatementCompletion| {
            *flow == StatementCompletion::Terminated
                || (matches!(flow, StatementCompletion::Return(_)) && self.stack.len() == 1 && self.silent_depth == 0)
        };
        if is_error(&first) || is_error(&second) {
            return self.drop_terminating_branch(place, outer, (first, first_store, first_steps), second);
        }
        if first == second {
            self.merge(holds, place, outer, first_store, first_steps);
            return Ok((first != StatementCompletion::Normal).then_some(first));
        }
        if first == StatementCompletion::EndOfIteration || second == StatementCompletion::EndOfIteration {
            self.note(place, "an iteration may end early here; all iterations are counted as complete");
            self.merge(holds, place, outer, first_store, first_steps);
            return Ok(None);
        }
        // One branch leaves the routine: the rest belongs to the other.
        if first == StatementCompletion::Normal {
            let second_store = std::mem::replace(&mut self.store, first_store);
            let second_steps = std::mem::replace(&mut self.steps, first_steps);
            let first = self.statements(rest)?;
            let first_steps = std::mem::replace(&mut self.steps, second_steps);
            let first_store = std::mem::replace(&mut self.store, second_store);
            self.merge(holds.clone(), place, outer, first_store, first_steps);
            return Ok(Some(join_completions(&first, &second, holds.as_ref())));
        }
        let second = if second == StatementCompletion::Normal { self.statements(rest)? } else { second };
        self.merge(holds.clone(), place, outer, first_store, first_steps);
        Ok(Some(join_completions(&first, &second, holds.as_ref())))
    }

    /// A branch that terminates the program is assumed not to be taken.
    fn drop_terminating_branch(
        &mut self,
        place: &FilePos,
        outer: Vec<ProcessStep>,
        first: (StatementCompletion, SymbolicStore, Vec<ProcessStep>),
        second: StatementCompletion,
    ) -> ExecutionResult<Option<StatementCompletion>> {
        let (first, first_store, first_steps) = first;
        let mut flow = second.clone();
        if first == StatementCompletion::Normal || (second == StatementCompletion::Terminated && first != StatementCompletion::Terminated) {
            self.store = first_store;
            self.steps = first_steps;
            flow = first;
        }
        let inner = std::mem::replace(&mut self.steps, outer);
        if self.silent_depth == 0 {
            self.note(place, "the branch that terminates the program here is assumed not to be taken");
            self.steps.extend(inner);
        }
        Ok((flow != StatementCompletion::Normal).then_some(flow))
    }

    /// Joins two branches, the second being the current one.
    fn merge(
        &mut self,
        holds: Option<Formula>,
        place: &FilePos,
        outer: Vec<ProcessStep>,
        first_store: SymbolicStore,
        then: Vec<ProcessStep>,
    ) {
        self.store = first_store.join(&self.store, holds.as_ref());
        let otherwise = std::mem::replace(&mut self.steps, outer);
        if !(then.is_empty() && otherwise.is_empty()) {
            self.emit(ProcessStep::If { pos: place.clone(), share: holds, then, otherwise });
        }
    }

    /// A `switch`; all cases are assumed equally likely.
    pub(super) fn switch(&mut self, cases: &'p [Vec<Statement>], place: &FilePos) -> ExecutionResult<StatementCompletion> {
        let Some((last, others)) = cases.split_last() else { return Ok(StatementCompletion::Normal) };
        let (before, outer) = (self.store.clone(), std::mem::take(&mut self.steps));
        let mut ways = Vec::new();
        for case in others {
            self.block(case)?;
            ways.push((std::mem::replace(&mut self.store, before.clone()), std::mem::take(&mut self.steps)));
        }
        self.block(last)?;
        for (left, (store, steps)) in ways.into_iter().rev().enumerate() {
            self.store = store.join(&self.store, None);
            let otherwise = std::mem::take(&mut self.steps);
            let share = i64::try_from(left).map_or(Formula::zero(), |left| Formula::ratio(1, left + 2));
            if self.silent_depth == 0 && !(steps.is_empty() && otherwise.is_empty()) {
                self.steps.push(ProcessStep::If { pos: place.clone(), share: Some(share), then: steps, otherwise });
            }
        }
        let inner = std::mem::replace(&mut self.steps, outer);
        self.steps.extend(inner);
        Ok(StatementCompletion::Normal)
    }
}

fn join_completions(first: &StatementCompletion, second: &StatementCompletion, holds: Option<&Formula>) -> StatementCompletion {
    match (first, second) {
        (StatementCompletion::Return(a), StatementCompletion::Return(b)) => StatementCompletion::Return(a.join(b, holds)),
        (StatementCompletion::Return(value), _) | (_, StatementCompletion::Return(value)) => StatementCompletion::Return(value.clone()),
        _ => StatementCompletion::Normal,
    }
}
