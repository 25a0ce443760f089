//! Loops on the way of a process: gone through once, with what their variables are in every round.

use sintonia_formula::Formula;

use super::counter::{Counter, counter};
use super::step::Step;
use super::value::Value;
use super::walk::{Flow, Walk, Walked};
use crate::names;
use crate::names::spot;
use crate::place::Place;
use crate::routine::{Expression, Statement};

/// Loops of so few rounds are gone through round by round.
const MOST_UNROLLED: i64 = 3;

/// What a round is called while they are counted, which is no name of C.
const ROUND: &str = "this round";

/// How often a loop is gone through to find what it changes.
const MOST_PASSES: usize = 8;

impl<'p> Walk<'_, 'p> {
    pub(super) fn repeat(
        &mut self,
        before: &'p [Statement],
        condition: Option<&'p Expression>,
        after: &'p [Expression],
        body: &'p [Statement],
        once_at_least: bool,
        place: &Place,
    ) -> Walked<Flow> {
        for statement in before {
            self.statement(statement)?;
        }
        let counter = condition.and_then(|condition| counter(condition, after, body));
        if let Some(flow) = self.unrolled(counter.as_ref(), (condition, after, body), once_at_least, place)? {
            return Ok(flow);
        }
        let start = counter.as_ref().and_then(|counter| Some((self.lookup(&counter.name)?, counter)));
        let start = start.and_then(|(address, counter)| Some((self.store.get(&address).number()?.clone(), address, counter.step)));
        self.forget_changed(condition, after, body)?;
        let index = self.fresh_index(counter.as_ref().map_or("round", |counter| counter.name.as_str()));
        if let Some((start, address, step)) = &start {
            let round = Formula::symbol(&index) - Formula::one();
            self.store.set(address, Value::Number(start + &(Formula::integer(*step) * round)));
        }
        let rounds = self.rounds(condition, &index, start.is_some(), once_at_least, place)?;
        if rounds.is_zero() {
            return Ok(Flow::On);
        }
        self.loops.push((index.clone(), rounds.clone()));
        self.facts.open(&index, rounds.clone());
        let entered = self.store.clone();
        let outer = std::mem::take(&mut self.steps);
        let result = self.round(condition, after, body, place);
        self.facts.close();
        self.loops.pop();
        let inner = std::mem::replace(&mut self.steps, outer);
        let flow = result?;
        self.emit(Step::Loop { index, from: Formula::one(), to: rounds.clone(), body: inner });
        self.store = entered.either(&self.store, None);
        if let Some((start, address, step)) = start {
            let end = if once_at_least { None } else { Some(start + Formula::integer(step) * rounds) };
            self.store.set(&address, end.map_or(Value::Unknown, Value::Number));
        }
        Ok(if matches!(flow, Flow::Left(_)) { flow } else { Flow::On })
    }

    /// A loop of very few rounds, as over the dimensions of a grid, one round after the other: more is known in each of them.
    fn unrolled(
        &mut self,
        counter: Option<&Counter>,
        (condition, after, body): (Option<&'p Expression>, &'p [Expression], &'p [Statement]),
        once_at_least: bool,
        place: &Place,
    ) -> Walked<Option<Flow>> {
        let Some((counter, condition)) = counter.zip(condition).filter(|_| !once_at_least) else { return Ok(None) };
        let Some(address) = self.lookup(&counter.name) else { return Ok(None) };
        let before = self.store.get(&address);
        let Some(start) = before.number().filter(|start| start.as_exact().is_some()).cloned() else { return Ok(None) };
        let round = Formula::symbol(ROUND) - Formula::one();
        self.store.set(&address, Value::Number(start + Formula::integer(counter.step) * round));
        let rounds = self.rounds_of(condition, ROUND)?.and_then(|rounds| rounds.as_exact()?.to_i64());
        self.store.set(&address, before);
        let Some(rounds) = rounds.filter(|rounds| (1..=MOST_UNROLLED).contains(rounds)) else { return Ok(None) };
        for _ in 0..rounds {
            let flow = self.round(Some(condition), after, body, place)?;
            if matches!(flow, Flow::Left(_) | Flow::Ended) {
                return Ok(Some(flow));
            }
        }
        Ok(Some(Flow::On))
    }

    fn round(&mut self, condition: Option<&'p Expression>, after: &'p [Expression], body: &'p [Statement], place: &Place) -> Walked<Flow> {
        let flow = self.block(body)?;
        self.charge_expressions(condition.into_iter().chain(after), place);
        self.silent += 1;
        let result = after.iter().try_for_each(|expression| self.evaluate(expression).map(drop));
        self.silent -= 1;
        result?;
        Ok(flow)
    }

    /// Forgets what changes from round to round: the loop is gone through until nothing more does.
    fn forget_changed(&mut self, condition: Option<&'p Expression>, after: &'p [Expression], body: &'p [Statement]) -> Walked<()> {
        self.silent += 1;
        let mut result = Ok(());
        for _ in 0..MOST_PASSES {
            let before = self.store.clone();
            result = condition.map_or(Ok(()), |condition| self.evaluate(condition).map(drop));
            result = result.and_then(|()| self.block(body).map(drop));
            result = result.and_then(|()| after.iter().try_for_each(|expression| self.evaluate(expression).map(drop)));
            self.store = before.either(&self.store, None);
            if result.is_err() || self.store == before {
                break;
            }
        }
        self.silent -= 1;
        result
    }

    /// The rounds of a loop whose condition is known in each, or else a number that the user gives.
    fn rounds(
        &mut self,
        condition: Option<&'p Expression>,
        index: &str,
        is_counted: bool,
        once_at_least: bool,
        place: &Place,
    ) -> Walked<Formula> {
        let counted = match condition {
            Some(condition) if is_counted => self.rounds_of(condition, index)?,
            _ => None,
        };
        if let Some(rounds) = counted {
            return Ok(if once_at_least { self.facts.at_least_one(&rounds) } else { self.facts.at_least_zero(rounds) });
        }
        if self.silent > 0 {
            return Ok(Formula::symbol("unknown rounds"));
        }
        let name = format!("trips_{}", spot(place));
        let rounds = self.parameter(&name, None, format!("rounds of the loop at {}", place.short()));
        self.note(place, format!("how often this loop goes round cannot be derived: give it with -p {rounds}=…"));
        Ok(rounds)
    }

    fn fresh_index(&mut self, name: &str) -> String {
        let base = names::for_model(&name.replace('_', ""));
        let taken = |name: &str, walk: &Self| {
            let is_around = walk.loops.iter().any(|(index, _)| index == name);
            is_around || walk.shared.taken.contains(name) || walk.shared.parameters.iter().any(|known| known.name == name)
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
