//! Loops in symbolic execution: executed once, with the values of variables as functions of the iteration.

use sintonia_formula::Formula;

use super::executor::{ExecutionResult, StatementCompletion, SymbolicExecutor};
use super::loop_counter::{LoopCounter, find_counter};
use super::process_step::ProcessStep;
use super::value::SymbolicValue;
use crate::file_pos::FilePos;
use crate::ir::{Statement, TypedExpr};
use crate::model_names;
use crate::model_names::pos_name;

/// Loops up to this trip count are unrolled.
const MAX_UNROLLED: i64 = 3;

/// The symbol of the iteration while counting, which is no C identifier.
const ITERATION: &str = "this iteration";

/// How many passes are made to find what a loop changes.
const MAX_PASSES: usize = 8;

impl<'p> SymbolicExecutor<'_, 'p> {
    pub(super) fn loop_statement(
        &mut self,
        before: &'p [Statement],
        condition: Option<&'p TypedExpr>,
        after: &'p [TypedExpr],
        body: &'p [Statement],
        once_at_least: bool,
        place: &FilePos,
    ) -> ExecutionResult<StatementCompletion> {
        for statement in before {
            self.statement(statement)?;
        }
        let counter = condition.and_then(|condition| find_counter(condition, after, body));
        if let Some(flow) = self.unroll_loop(counter.as_ref(), (condition, after, body), once_at_least, place)? {
            return Ok(flow);
        }
        let start = counter.as_ref().and_then(|counter| Some((self.lookup(&counter.name)?, counter)));
        let start = start.and_then(|(address, counter)| Some((self.store.get(&address).number()?.clone(), address, counter.step)));
        self.invalidate_loop_writes(condition, after, body)?;
        let index = self.fresh_index(counter.as_ref().map_or("round", |counter| counter.name.as_str()));
        if let Some((start, address, step)) = &start {
            let round = Formula::symbol(&index) - Formula::one();
            self.store.set(address, SymbolicValue::Number(start + &(Formula::integer(*step) * round)));
        }
        let rounds = self.loop_trip_count(condition, &index, start.is_some(), once_at_least, place)?;
        if rounds.is_zero() {
            return Ok(StatementCompletion::Normal);
        }
        self.loops.push((index.clone(), rounds.clone()));
        self.assumptions.enter_loop(&index, rounds.clone());
        let entered = self.store.clone();
        let outer = std::mem::take(&mut self.steps);
        let result = self.loop_iteration(condition, after, body, place);
        self.assumptions.exit_loop();
        self.loops.pop();
        let inner = std::mem::replace(&mut self.steps, outer);
        let flow = result?;
        self.emit(ProcessStep::Loop { index, from: Formula::one(), to: rounds.clone(), body: inner });
        self.store = entered.join(&self.store, None);
        if let Some((start, address, step)) = start {
            let end = if once_at_least { None } else { Some(start + Formula::integer(step) * rounds) };
            self.store.set(&address, end.map_or(SymbolicValue::Unknown, SymbolicValue::Number));
        }
        Ok(if matches!(flow, StatementCompletion::Return(_)) { flow } else { StatementCompletion::Normal })
    }

    /// Unrolls a loop of very few iterations, such as over the dimensions of a grid: more is known in each of them.
    fn unroll_loop(
        &mut self,
        counter: Option<&LoopCounter>,
        (condition, after, body): (Option<&'p TypedExpr>, &'p [TypedExpr], &'p [Statement]),
        once_at_least: bool,
        place: &FilePos,
    ) -> ExecutionResult<Option<StatementCompletion>> {
        let Some((counter, condition)) = counter.zip(condition).filter(|_| !once_at_least) else { return Ok(None) };
        let Some(address) = self.lookup(&counter.name) else { return Ok(None) };
        let before = self.store.get(&address);
        let Some(start) = before.number().filter(|start| start.as_exact().is_some()).cloned() else { return Ok(None) };
        let round = Formula::symbol(ITERATION) - Formula::one();
        self.store.set(&address, SymbolicValue::Number(start + Formula::integer(counter.step) * round));
        let rounds = self.trip_count_of(condition, ITERATION)?.and_then(|rounds| rounds.as_exact()?.to_i64());
        self.store.set(&address, before);
        let Some(rounds) = rounds.filter(|rounds| (1..=MAX_UNROLLED).contains(rounds)) else { return Ok(None) };
        for _ in 0..rounds {
            let flow = self.loop_iteration(Some(condition), after, body, place)?;
            if matches!(flow, StatementCompletion::Return(_) | StatementCompletion::Terminated) {
                return Ok(Some(flow));
            }
        }
        Ok(Some(StatementCompletion::Normal))
    }

    fn loop_iteration(
        &mut self,
        condition: Option<&'p TypedExpr>,
        after: &'p [TypedExpr],
        body: &'p [Statement],
        place: &FilePos,
    ) -> ExecutionResult<StatementCompletion> {
        let flow = self.block(body)?;
        self.defer_expressions(condition.into_iter().chain(after), place);
        self.silent_depth += 1;
        let result = after.iter().try_for_each(|expression| self.evaluate(expression).map(drop));
        self.silent_depth -= 1;
        result?;
        Ok(flow)
    }

    /// Makes everything unknown that changes from iteration to iteration (fixpoint iteration).
    fn invalidate_loop_writes(
        &mut self,
        condition: Option<&'p TypedExpr>,
        after: &'p [TypedExpr],
        body: &'p [Statement],
    ) -> ExecutionResult<()> {
        self.silent_depth += 1;
        let mut result = Ok(());
        for _ in 0..MAX_PASSES {
            let before = self.store.clone();
            result = condition.map_or(Ok(()), |condition| self.evaluate(condition).map(drop));
            result = result.and_then(|()| self.block(body).map(drop));
            result = result.and_then(|()| after.iter().try_for_each(|expression| self.evaluate(expression).map(drop)));
            self.store = before.join(&self.store, None);
            if result.is_err() || self.store == before {
                break;
            }
        }
        self.silent_depth -= 1;
        result
    }

    /// The trip count from the condition, or else a parameter.
    fn loop_trip_count(
        &mut self,
        condition: Option<&'p TypedExpr>,
        index: &str,
        is_counted: bool,
        once_at_least: bool,
        place: &FilePos,
    ) -> ExecutionResult<Formula> {
        let counted = match condition {
            Some(condition) if is_counted => self.trip_count_of(condition, index)?,
            _ => None,
        };
        if let Some(rounds) = counted {
            return Ok(if once_at_least { self.assumptions.max_with_one(&rounds) } else { self.assumptions.max_with_zero(rounds) });
        }
        if self.silent_depth > 0 {
            return Ok(Formula::symbol("unknown iterations"));
        }
        let name = format!("trips_{}", pos_name(place));
        let rounds = self.parameter(&name, None, format!("trip count of the loop at {}", place.file_and_line()));
        self.note(place, format!("the trip count of this loop cannot be derived: set it with -p {rounds}=…"));
        Ok(rounds)
    }

    fn fresh_index(&mut self, name: &str) -> String {
        let base = model_names::to_model_name(&name.replace('_', ""));
        let taken = |name: &str, walk: &Self| {
            let is_around = walk.loops.iter().any(|(index, _)| index == name);
            is_around || walk.shared.reserved_names.contains(name) || walk.shared.parameters.iter().any(|known| known.name == name)
        };
        let mut name = base.clone();
        let mut number = 1;
        while taken(&name, self) {
            name = format!("{base}{number}");
            number += 1;
        }
        name
    }
}
