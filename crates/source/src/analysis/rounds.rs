//! Rounds: how many a loop has, and what variables are in each and after the last.
//!
//! A loop is not gone round. The course of each variable tells what it is in round `i` for every `i` at once; with that, the condition tells how many
//! rounds there are ([`super::trips`]).

use std::collections::BTreeMap;

use sintonia_formula::Formula;

use super::induction::{self, Course};
use super::ledger::Ledger;
use super::trips::Count;
use super::walk::{Changes, Exits};
use super::{Analysis, Scope, Value};
use crate::error::Error;
use crate::names::spot;
use crate::place::Place;
use crate::routine::{Action, Binary, Computation, Expression, Statement, Variable};

/// How often a loop goes round, and what is known in and after it.
#[derive(Debug, Clone)]
pub struct Rounds {
    /// The name of the index, which counts rounds from 1.
    pub index: String,
    /// How many rounds there are.
    pub count: Formula,
    /// What is known at the beginning of the round that the index names, after the condition was asked.
    pub body: Scope,
    /// What is known after the loop.
    pub after: Scope,
    /// The last round as far as the body knows: there is one at least where it is gone through.
    last: Formula,
}

/// The parts of a loop that decide about its rounds.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) condition: Option<&'a Expression>,
    pub(super) after: &'a [Expression],
    pub(super) body: &'a [Statement],
    pub(super) once_at_least: bool,
}

impl<'a> Analysis<'a> {
    /// How often a loop goes round from here. What it does before the first round is done to the scope.
    pub fn rounds(&mut self, statement: &'a Statement, scope: &mut Scope) -> Result<Option<Rounds>, Error> {
        match &statement.what {
            Action::Loop { before, condition, after, body, once_at_least } => {
                self.statements(before, scope, &mut Ledger::default())?;
                let parts = Parts { condition: condition.as_ref(), after, body, once_at_least: *once_at_least };
                self.plan(parts, &statement.place, scope).map(Some)
            }
            Action::ForEach { variable, of, body } => {
                let array = self.value(of, scope)?;
                self.plan_elements(variable, &array, body, &statement.place, scope).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Enters a loop: what is known of its index decides conditions in its body.
    pub fn open(&mut self, rounds: &Rounds) {
        self.facts.open(&rounds.index, rounds.last.clone());
    }

    /// Leaves the loop that was entered last.
    pub fn close(&mut self) {
        if let Some(index) = self.facts.close() {
            self.symbols.remove(&index);
        }
    }

    pub(super) fn plan(&mut self, parts: Parts<'a>, place: &Place, scope: &Scope) -> Result<Rounds, Error> {
        let courses = self.courses(parts, scope)?;
        let name = self.index_name(parts, &courses);
        let index = self.fresh(&name);
        let head = self.head(&courses, parts, scope, &Formula::symbol(&index))?;
        let count = match parts.condition {
            Some(condition) if parts.once_at_least => self.count_afterwards(condition, &head, &index, &courses)?,
            Some(condition) => self.count(condition, &head, &index, &courses)?,
            None => Count::Unknown("it has no condition".to_owned()),
        };
        let exits = Exits::of(parts.body);
        let (count, last, exact) = self.settled(count, exits, place);
        let mut body = head.clone();
        if let Some(condition) = parts.condition.filter(|_| !parts.once_at_least) {
            self.value(condition, &mut body)?;
        }
        let after = self.afterwards(&head, parts, &index, &count, exact)?;
        Ok(Rounds { index, count, body, after, last })
    }

    /// The index is called as the variable that counts, if there is one.
    fn index_name(&self, parts: Parts<'a>, courses: &BTreeMap<&'a str, Course>) -> String {
        let stepped = parts.after.iter().find_map(|expression| match &expression.what {
            Computation::Assign { target, .. } => match &target.what {
                Computation::Variable(name) => Some(name.clone()),
                _ => None,
            },
            _ => None,
        });
        stepped.or_else(|| courses.keys().next().map(|name| (*name).to_owned())).unwrap_or_else(|| "round".to_owned())
    }

    /// The variables that change once in each round in a way that can be followed.
    fn courses(&mut self, parts: Parts<'a>, scope: &Scope) -> Result<BTreeMap<&'a str, Course>, Error> {
        let changes = all_changes(parts);
        let mut unsure = scope.clone();
        unsure.forget(changes.list.iter().map(|change| change.variable));
        if changes.calls {
            self.forget_globals(&mut unsure);
        }
        // What stands behind a `continue` is not done in each round.
        let reached = parts.body.iter().position(|statement| Exits::of_one(statement).cuts).unwrap_or(parts.body.len());
        let skipped: Vec<&str> = Changes::of(&parts.body[reached..]).list.iter().map(|change| change.variable).collect();
        let mut courses = BTreeMap::new();
        for change in &changes.list {
            let alone = changes.list.iter().filter(|other| other.variable == change.variable).count() == 1;
            let (Some(value), Some(Value::Known(start))) = (change.value, scope.get(change.variable)) else { continue };
            if !alone || !change.certain || skipped.contains(&change.variable) {
                continue;
            }
            let Some((operation, by)) = induction::by_what(change.variable, change.with, value) else { continue };
            let Value::Known(amount) = self.value(by, &mut unsure.clone())? else { continue };
            // Division rounds to zero, and is followed only where that is down.
            let rounds_up = operation == Binary::Divide && !self.facts.is_nonnegative(start);
            if let Some(step) = induction::step(operation, amount, change.of, &self.facts).filter(|_| !rounds_up) {
                courses.insert(change.variable, Course { start: start.clone(), step });
            }
        }
        Ok(courses)
    }

    /// What is known at the beginning of a round, before the condition is asked.
    fn head(&mut self, courses: &BTreeMap<&'a str, Course>, parts: Parts<'a>, scope: &Scope, round: &Formula) -> Result<Scope, Error> {
        let changes = all_changes(parts);
        let mut head = scope.clone();
        for change in &changes.list {
            if head.has(change.variable) && !courses.contains_key(change.variable) {
                let value = self.drift(change.variable, &changes, scope, round)?;
                head.set(change.variable, value);
            }
        }
        for (name, course) in courses {
            head.set(name, Value::Known(course.at(round, &self.facts)));
        }
        if changes.calls {
            self.forget_globals(&mut head);
        }
        Ok(head)
    }

    /// What is known of a variable that is only ever added to: it is not below what it was at first.
    fn drift(&mut self, variable: &str, changes: &Changes<'a>, scope: &Scope, round: &Formula) -> Result<Value, Error> {
        let start = scope.get(variable).cloned().unwrap_or_else(Value::unknown);
        let mut most = Some(Formula::zero());
        for change in changes.list.iter().filter(|change| change.variable == variable) {
            let by = match (change.with, change.value) {
                (Some(Binary::Add), Some(value)) => self.value(value, &mut Scope::new())?,
                _ => return Ok(Value::unknown()),
            };
            if !by.is_nonnegative(&self.facts) {
                return Ok(Value::unknown());
            }
            most = most.zip(by.bounds().1.filter(|_| !change.often)).map(|(so_far, by)| so_far + by);
        }
        let (low, high) = start.bounds();
        let grown = most.map(|most| most * (round - &Formula::one()));
        Ok(Value::Between { low, high: high.zip(grown).map(|(high, grown)| high + grown) })
    }

    /// The rounds of a loop whose condition is asked after each: one at least. All conditions that are counted fail for good once they
    /// fail, so it makes no difference whether they are asked before the first, unless they change what they ask: then that is still as it was
    /// in the round, and what the body changes is as in the next.
    fn count_afterwards(
        &mut self,
        condition: &'a Expression,
        head: &Scope,
        index: &str,
        courses: &BTreeMap<&'a str, Course>,
    ) -> Result<Count, Error> {
        let mut changes = Changes::default();
        changes.expression(condition);
        if changes.list.is_empty() {
            let count = self.count(condition, head, index, courses)?;
            return Ok(count.map(|count| self.facts.at_least_one(&count)));
        }
        let next = Formula::symbol(index) + Formula::one();
        let mut asked = head.clone();
        for (name, course) in courses.iter().filter(|(name, _)| changes.list.iter().all(|change| change.variable != **name)) {
            asked.set(name, Value::Known(course.at(&next, &self.facts)));
        }
        let count = self.count(condition, &asked, index, &BTreeMap::new())?;
        Ok(count.map(|count| count + Formula::one()))
    }

    /// The number of rounds, with parameters for what is not known; the last round as the body sees it; and whether that is exact.
    fn settled(&mut self, count: Count, exits: Exits, place: &Place) -> (Formula, Formula, bool) {
        match count {
            Count::Exactly(count) if !exits.leaves => (count.clone(), count, true),
            Count::Exactly(most) => {
                let part = self.part_parameter(place, "it may be left earlier");
                let one = Formula::one();
                let first = if self.facts.is_positive(&most) { one.clone() } else { Formula::min_of([most.clone(), one.clone()]) };
                let more = self.facts.at_least_zero(&most - &one);
                (first + part * more, most, false)
            }
            Count::AtMost(most) => {
                let part = self.part_parameter(place, "a part of its condition cannot be followed");
                (part * most.clone(), most, false)
            }
            Count::Unknown(why) => {
                let name = format!("trips_{}", spot(place));
                self.note(place, format!("the number of rounds of this loop cannot be derived, because {why}: give it with -p {name}=…"));
                let trips = self.parameter(&name, None, format!("rounds of the loop at {}", place.short()));
                (trips.clone(), trips, false)
            }
        }
    }

    fn part_parameter(&mut self, place: &Place, why: &str) -> Formula {
        let name = format!("part_{}", spot(place));
        self.note(place, format!("how many of its rounds this loop does is not derived, because {why}: give their share with -p {name}=…"));
        self.parameter(&name, Some(Formula::between(0.0, 1.0)), format!("the share of its rounds that the loop at {} does", place.short()))
    }

    /// What is known after the last round.
    fn afterwards(&mut self, head: &Scope, parts: Parts<'a>, index: &str, count: &Formula, exact: bool) -> Result<Scope, Error> {
        let mut after = Scope::new();
        let end = count + &Formula::one();
        for (name, value) in head.iter() {
            let value = match value {
                _ if !value.depends_on(index) => value.clone(),
                _ if exact => value.map(|formula| formula.substitute(index, &end)),
                _ => Value::unknown(),
            };
            after.set(name, value);
        }
        if let Some(condition) = parts.condition.filter(|_| exact && !parts.once_at_least) {
            self.value(condition, &mut after)?;
        }
        Ok(after)
    }

    pub(super) fn plan_elements(
        &mut self,
        variable: &'a Variable,
        array: &Value,
        body: &'a [Statement],
        place: &Place,
        scope: &Scope,
    ) -> Result<Rounds, Error> {
        let count = match array {
            Value::Array(lengths) => lengths.first().cloned().flatten(),
            _ => None,
        };
        let parts = Parts { condition: None, after: &[], body, once_at_least: false };
        let courses = self.courses(parts, scope)?;
        let index = self.fresh(&variable.name);
        let mut head = self.head(&courses, parts, scope, &Formula::symbol(&index))?;
        let count = count.map_or_else(|| Count::Unknown("the number of elements is not known".to_owned()), Count::Exactly);
        let (count, last, exact) = self.settled(count, Exits::of(body), place);
        let after = self.afterwards(&head, parts, &index, &count, exact)?;
        let element = match array {
            Value::Array(lengths) if lengths.len() > 1 => Value::Array(lengths[1..].to_vec()),
            _ => Value::unknown(),
        };
        head.set(&variable.name, element);
        Ok(Rounds { index, count, body: head, after, last })
    }
}

fn all_changes<'a>(parts: Parts<'a>) -> Changes<'a> {
    let mut changes = Changes::of(parts.body);
    parts.condition.into_iter().chain(parts.after).for_each(|expression| changes.expression(expression));
    changes
}
