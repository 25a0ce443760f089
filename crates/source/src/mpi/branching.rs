//! Conditions on the way of a process: which way it takes, or what both ways leave behind.

use sintonia_formula::Formula;

use super::step::Step;
use super::value::Store;
use super::walk::{Flow, Stop, Walk, Walked};
use crate::place::Place;
use crate::routine::{Expression, Statement};

impl<'p> Walk<'_, 'p> {
    /// One of two ways. `rest` is what follows, which belongs to the one way that goes on if the other leaves; then all is done, and the flow is given.
    pub(super) fn branch(
        &mut self,
        condition: &'p Expression,
        then: &'p [Statement],
        otherwise: &'p [Statement],
        rest: &'p [Statement],
        place: &Place,
    ) -> Walked<Option<Flow>> {
        let matters = self.silent == 0 && then.iter().chain(otherwise).any(|statement| self.is_noticed(statement));
        let holds = self.truth(condition)?;
        self.charge_expressions([condition], place);
        if let Some(decided) = holds.as_ref().and_then(|holds| holds.as_exact()) {
            let flow = self.block(if decided.is_zero() { otherwise } else { then })?;
            return Ok((flow != Flow::On).then_some(flow));
        }
        if let Some(chosen) = self.asks_for_arguments(condition, then, otherwise) {
            let flow = self.block(chosen)?;
            return Ok((flow != Flow::On).then_some(flow));
        }
        if matters && let Some(at) = self.division(condition)? {
            return Err(Stop::Divided(at));
        }
        self.both_ways(holds, then, otherwise, rest, place)
    }

    fn both_ways(
        &mut self,
        holds: Option<Formula>,
        then: &'p [Statement],
        otherwise: &'p [Statement],
        rest: &'p [Statement],
        place: &Place,
    ) -> Walked<Option<Flow>> {
        let (before, outer) = (self.store.clone(), std::mem::take(&mut self.steps));
        let first = self.block(then)?;
        let (first_store, first_steps) = (std::mem::replace(&mut self.store, before), std::mem::take(&mut self.steps));
        let second = self.block(otherwise)?;
        let is_error = |flow: &Flow| *flow == Flow::Ended || (matches!(flow, Flow::Left(_)) && self.stack.len() == 1 && self.silent == 0);
        if is_error(&first) || is_error(&second) {
            return self.leave_out(place, outer, (first, first_store, first_steps), second);
        }
        if first == second {
            self.merge(holds, place, outer, first_store, first_steps);
            return Ok((first != Flow::On).then_some(first));
        }
        if first == Flow::Round || second == Flow::Round {
            self.note(place, "a loop is left or goes on early here; its rounds are counted as whole ones");
            self.merge(holds, place, outer, first_store, first_steps);
            return Ok(None);
        }
        // One way leaves the routine: what follows belongs to the other.
        if first == Flow::On {
            let second_store = std::mem::replace(&mut self.store, first_store);
            let second_steps = std::mem::replace(&mut self.steps, first_steps);
            let first = self.statements(rest)?;
            let first_steps = std::mem::replace(&mut self.steps, second_steps);
            let first_store = std::mem::replace(&mut self.store, second_store);
            self.merge(holds.clone(), place, outer, first_store, first_steps);
            return Ok(Some(either_flow(&first, &second, holds.as_ref())));
        }
        let second = if second == Flow::On { self.statements(rest)? } else { second };
        self.merge(holds.clone(), place, outer, first_store, first_steps);
        Ok(Some(either_flow(&first, &second, holds.as_ref())))
    }

    /// A way that ends the program is one that is not meant to be taken.
    fn leave_out(&mut self, place: &Place, outer: Vec<Step>, first: (Flow, Store, Vec<Step>), second: Flow) -> Walked<Option<Flow>> {
        let (first, first_store, first_steps) = first;
        let mut flow = second.clone();
        if first == Flow::On || (second == Flow::Ended && first != Flow::Ended) {
            self.store = first_store;
            self.steps = first_steps;
            flow = first;
        }
        let inner = std::mem::replace(&mut self.steps, outer);
        if self.silent == 0 {
            self.note(place, "the way that ends the program here is taken not to happen");
            self.steps.extend(inner);
        }
        Ok((flow != Flow::On).then_some(flow))
    }

    /// Puts two ways together, the second being the present one.
    fn merge(&mut self, holds: Option<Formula>, place: &Place, outer: Vec<Step>, first_store: Store, then: Vec<Step>) {
        self.store = first_store.either(&self.store, holds.as_ref());
        let otherwise = std::mem::replace(&mut self.steps, outer);
        if !(then.is_empty() && otherwise.is_empty()) {
            self.emit(Step::If { place: place.clone(), share: holds, then, otherwise });
        }
    }

    /// One case of many, each as likely as the others.
    pub(super) fn switch(&mut self, cases: &'p [Vec<Statement>], place: &Place) -> Walked<Flow> {
        let Some((last, others)) = cases.split_last() else { return Ok(Flow::On) };
        let (before, outer) = (self.store.clone(), std::mem::take(&mut self.steps));
        let mut ways = Vec::new();
        for case in others {
            self.block(case)?;
            ways.push((std::mem::replace(&mut self.store, before.clone()), std::mem::take(&mut self.steps)));
        }
        self.block(last)?;
        for (left, (store, steps)) in ways.into_iter().rev().enumerate() {
            self.store = store.either(&self.store, None);
            let otherwise = std::mem::take(&mut self.steps);
            let share = i64::try_from(left).map_or(Formula::zero(), |left| Formula::ratio(1, left + 2));
            if self.silent == 0 && !(steps.is_empty() && otherwise.is_empty()) {
                self.steps.push(Step::If { place: place.clone(), share: Some(share), then: steps, otherwise });
            }
        }
        let inner = std::mem::replace(&mut self.steps, outer);
        self.steps.extend(inner);
        Ok(Flow::On)
    }
}

fn either_flow(first: &Flow, second: &Flow, holds: Option<&Formula>) -> Flow {
    match (first, second) {
        (Flow::Left(a), Flow::Left(b)) => Flow::Left(a.either(b, holds)),
        (Flow::Left(value), _) | (_, Flow::Left(value)) => Flow::Left(value.clone()),
        _ => Flow::On,
    }
}
