//! Iteration spaces: the trip count of a loop, and the values of variables in each iteration and after the last.
//!
//! Loops are not unrolled. Induction variables give the values in iteration `i` for every `i` at once; with them, the condition gives the
//! trip count ([`super::trip_count`]).

use std::collections::BTreeMap;

use sintonia_formula::Formula;

use super::induction::{self, InductionVariable};
use super::side_effects::{EarlyExits, SideEffects};
use super::term_builder::TermBuilder;
use super::trip_count::TripCount;
use super::{AbstractValue, StaticAnalyzer, VariableScope};
use crate::error::Error;
use crate::file_pos::FilePos;
use crate::ir::{BinaryOp, ExprKind, IrVariable, Statement, StatementKind, TypedExpr};
use crate::model_names::pos_name;

/// The iteration space of a loop.
#[derive(Debug, Clone)]
pub struct IterationSpace {
    /// The index, which counts iterations from 1.
    pub index: String,
    /// The number of iterations.
    pub trip_count: Formula,
    /// The scope at the beginning of the iteration of that index, after the condition was evaluated.
    pub body_scope: VariableScope,
    /// The scope after the loop.
    pub exit_scope: VariableScope,
    /// The last iteration as seen from the body, which has at least one.
    last_iteration: Formula,
}

/// The parts of a loop that determine its iterations.
#[derive(Clone, Copy)]
pub(super) struct LoopParts<'a> {
    pub(super) condition: Option<&'a TypedExpr>,
    pub(super) update: &'a [TypedExpr],
    pub(super) body: &'a [Statement],
    pub(super) is_do_while: bool,
}

impl<'a> StaticAnalyzer<'a> {
    /// The iteration space of a loop statement. Its initialisation is applied to the scope.
    pub fn iteration_space(&mut self, statement: &'a Statement, scope: &mut VariableScope) -> Result<Option<IterationSpace>, Error> {
        match &statement.kind {
            StatementKind::Loop { init: before, condition, update: after, body, is_do_while: once_at_least } => {
                self.statements(before, scope, &mut TermBuilder::default())?;
                let parts = LoopParts { condition: condition.as_ref(), update: after, body, is_do_while: *once_at_least };
                self.loop_iteration_space(parts, &statement.pos, scope).map(Some)
            }
            StatementKind::ForEach { variable, array: of, body } => {
                let array = self.value(of, scope)?;
                self.for_each_iteration_space(variable, &array, body, &statement.pos, scope).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Enters a loop: the range of its index is assumed in its body.
    pub fn enter_loop(&mut self, rounds: &IterationSpace) {
        self.assumptions.enter_loop(&rounds.index, rounds.last_iteration.clone());
    }

    /// Leaves the innermost loop.
    pub fn exit_loop(&mut self) {
        if let Some(index) = self.assumptions.exit_loop() {
            self.symbols.remove(&index);
        }
    }

    pub(super) fn loop_iteration_space(
        &mut self,
        parts: LoopParts<'a>,
        place: &FilePos,
        scope: &VariableScope,
    ) -> Result<IterationSpace, Error> {
        let courses = self.induction_variables(parts, scope)?;
        let name = self.index_name(parts, &courses);
        let index = self.fresh_symbol(&name);
        let head = self.header_scope(&courses, parts, scope, &Formula::symbol(&index))?;
        let count = match parts.condition {
            Some(condition) if parts.is_do_while => self.do_while_trip_count(condition, &head, &index, &courses)?,
            Some(condition) => self.trip_count(condition, &head, &index, &courses)?,
            None => TripCount::Unknown("it has no condition".to_owned()),
        };
        let exits = EarlyExits::from_statements(parts.body);
        let (count, last, exact) = self.resolve_trip_count(count, exits, place);
        let mut body = head.clone();
        if let Some(condition) = parts.condition.filter(|_| !parts.is_do_while) {
            self.value(condition, &mut body)?;
        }
        let after = self.scope_after_loop(&head, parts, &index, &count, exact)?;
        Ok(IterationSpace { index, trip_count: count, body_scope: body, exit_scope: after, last_iteration: last })
    }

    /// The index is named after the loop counter, if there is one.
    fn index_name(&self, parts: LoopParts<'a>, courses: &BTreeMap<&'a str, InductionVariable>) -> String {
        let stepped = parts.update.iter().find_map(|expression| match &expression.kind {
            ExprKind::Assign { target, .. } => match &target.kind {
                ExprKind::Variable(name) => Some(name.clone()),
                _ => None,
            },
            _ => None,
        });
        stepped.or_else(|| courses.keys().next().map(|name| (*name).to_owned())).unwrap_or_else(|| "round".to_owned())
    }

    /// The induction variables of a loop.
    fn induction_variables(&mut self, parts: LoopParts<'a>, scope: &VariableScope) -> Result<BTreeMap<&'a str, InductionVariable>, Error> {
        let changes = loop_side_effects(parts);
        let mut unsure = scope.clone();
        unsure.invalidate(changes.writes.iter().map(|change| change.variable));
        if changes.has_calls {
            self.invalidate_globals(&mut unsure);
        }
        // Statements behind a `continue` are not executed in each iteration.
        let reached = parts.body.iter().position(|statement| EarlyExits::from_statement(statement).continues).unwrap_or(parts.body.len());
        let skipped: Vec<&str> = SideEffects::from_statements(&parts.body[reached..]).writes.iter().map(|change| change.variable).collect();
        let mut courses = BTreeMap::new();
        for change in &changes.writes {
            let alone = changes.writes.iter().filter(|other| other.variable == change.variable).count() == 1;
            let (Some(value), Some(AbstractValue::Exact(start))) = (change.value, scope.get(change.variable)) else { continue };
            if !alone || !change.is_unconditional || skipped.contains(&change.variable) {
                continue;
            }
            let Some((operation, by)) = induction::update_of(change.variable, change.operator, value) else { continue };
            let AbstractValue::Exact(amount) = self.value(by, &mut unsure.clone())? else { continue };
            // Division rounds to zero, which is only supported if that is down.
            let rounds_up = operation == BinaryOp::Divide && !self.assumptions.is_nonnegative(start);
            if let Some(step) = induction::induction_step(operation, amount, change.data_type, &self.assumptions).filter(|_| !rounds_up) {
                courses.insert(change.variable, InductionVariable { start: start.clone(), step });
            }
        }
        Ok(courses)
    }

    /// The scope at the beginning of an iteration, before the condition is evaluated.
    fn header_scope(
        &mut self,
        courses: &BTreeMap<&'a str, InductionVariable>,
        parts: LoopParts<'a>,
        scope: &VariableScope,
        round: &Formula,
    ) -> Result<VariableScope, Error> {
        let changes = loop_side_effects(parts);
        let mut head = scope.clone();
        for change in &changes.writes {
            if head.has(change.variable) && !courses.contains_key(change.variable) {
                let value = self.monotone_bounds(change.variable, &changes, scope, round)?;
                head.set(change.variable, value);
            }
        }
        for (name, course) in courses {
            head.set(name, AbstractValue::Exact(course.at(round, &self.assumptions)));
        }
        if changes.has_calls {
            self.invalidate_globals(&mut head);
        }
        Ok(head)
    }

    /// The bounds of a variable that is only ever increased: it is at least its initial value.
    fn monotone_bounds(
        &mut self,
        variable: &str,
        changes: &SideEffects<'a>,
        scope: &VariableScope,
        round: &Formula,
    ) -> Result<AbstractValue, Error> {
        let start = scope.get(variable).cloned().unwrap_or_else(AbstractValue::unknown);
        let mut most = Some(Formula::zero());
        for change in changes.writes.iter().filter(|change| change.variable == variable) {
            let by = match (change.operator, change.value) {
                (Some(BinaryOp::Add), Some(value)) => self.value(value, &mut VariableScope::new())?,
                _ => return Ok(AbstractValue::unknown()),
            };
            if !by.is_nonnegative(&self.assumptions) {
                return Ok(AbstractValue::unknown());
            }
            most = most.zip(by.bounds().1.filter(|_| !change.is_repeated)).map(|(so_far, by)| so_far + by);
        }
        let (low, high) = start.bounds();
        let grown = most.map(|most| most * (round - &Formula::one()));
        Ok(AbstractValue::Bounded { low, high: high.zip(grown).map(|(high, grown)| high + grown) })
    }

    /// The trip count of a `do` loop: at least one. All supported conditions stay false once they are false, so it does not matter whether
    /// they are evaluated before the first iteration, unless they have side effects: then those are still as in this iteration, and what
    /// the body changes is as in the next.
    fn do_while_trip_count(
        &mut self,
        condition: &'a TypedExpr,
        head: &VariableScope,
        index: &str,
        courses: &BTreeMap<&'a str, InductionVariable>,
    ) -> Result<TripCount, Error> {
        let mut changes = SideEffects::default();
        changes.expression(condition);
        if changes.writes.is_empty() {
            let count = self.trip_count(condition, head, index, courses)?;
            return Ok(count.map(|count| self.assumptions.max_with_one(&count)));
        }
        let next = Formula::symbol(index) + Formula::one();
        let mut asked = head.clone();
        for (name, course) in courses.iter().filter(|(name, _)| changes.writes.iter().all(|change| change.variable != **name)) {
            asked.set(name, AbstractValue::Exact(course.at(&next, &self.assumptions)));
        }
        let count = self.trip_count(condition, &asked, index, &BTreeMap::new())?;
        Ok(count.map(|count| count + Formula::one()))
    }

    /// The trip count with parameters for what is unknown, the last iteration as seen from the body, and whether that is exact.
    fn resolve_trip_count(&mut self, count: TripCount, exits: EarlyExits, place: &FilePos) -> (Formula, Formula, bool) {
        match count {
            TripCount::Exact(count) if !exits.exits_loop => (count.clone(), count, true),
            TripCount::Exact(most) => {
                let part = self.fraction_parameter(place, "it may exit early");
                let one = Formula::one();
                let first = if self.assumptions.is_positive(&most) { one.clone() } else { Formula::min_of([most.clone(), one.clone()]) };
                let more = self.assumptions.max_with_zero(&most - &one);
                (first + part * more, most, false)
            }
            TripCount::AtMost(most) => {
                let part = self.fraction_parameter(place, "part of its condition cannot be analysed");
                (part * most.clone(), most, false)
            }
            TripCount::Unknown(why) => {
                let name = format!("trips_{}", pos_name(place));
                self.note(place, format!("the trip count of this loop cannot be derived, because {why}: set it with -p {name}=…"));
                let trips = self.parameter(&name, None, format!("trip count of the loop at {}", place.file_and_line()));
                (trips.clone(), trips, false)
            }
        }
    }

    fn fraction_parameter(&mut self, place: &FilePos, why: &str) -> Formula {
        let name = format!("part_{}", pos_name(place));
        self.note(
            place,
            format!("the fraction of its iterations that this loop executes cannot be derived, because {why}: set it with -p {name}=…"),
        );
        self.parameter(
            &name,
            Some(Formula::interval(0.0, 1.0)),
            format!("fraction of its iterations that the loop at {} executes", place.file_and_line()),
        )
    }

    /// The scope after the last iteration.
    fn scope_after_loop(
        &mut self,
        head: &VariableScope,
        parts: LoopParts<'a>,
        index: &str,
        count: &Formula,
        exact: bool,
    ) -> Result<VariableScope, Error> {
        let mut after = VariableScope::new();
        let end = count + &Formula::one();
        for (name, value) in head.iter() {
            let value = match value {
                _ if !value.depends_on(index) => value.clone(),
                _ if exact => value.map(|formula| formula.substitute(index, &end)),
                _ => AbstractValue::unknown(),
            };
            after.set(name, value);
        }
        if let Some(condition) = parts.condition.filter(|_| exact && !parts.is_do_while) {
            self.value(condition, &mut after)?;
        }
        Ok(after)
    }

    pub(super) fn for_each_iteration_space(
        &mut self,
        variable: &'a IrVariable,
        array: &AbstractValue,
        body: &'a [Statement],
        place: &FilePos,
        scope: &VariableScope,
    ) -> Result<IterationSpace, Error> {
        let count = match array {
            AbstractValue::Array(lengths) => lengths.first().cloned().flatten(),
            _ => None,
        };
        let parts = LoopParts { condition: None, update: &[], body, is_do_while: false };
        let courses = self.induction_variables(parts, scope)?;
        let index = self.fresh_symbol(&variable.name);
        let mut head = self.header_scope(&courses, parts, scope, &Formula::symbol(&index))?;
        let count = count.map_or_else(|| TripCount::Unknown("the number of elements is not known".to_owned()), TripCount::Exact);
        let (count, last, exact) = self.resolve_trip_count(count, EarlyExits::from_statements(body), place);
        let after = self.scope_after_loop(&head, parts, &index, &count, exact)?;
        let element = match array {
            AbstractValue::Array(lengths) if lengths.len() > 1 => AbstractValue::Array(lengths[1..].to_vec()),
            _ => AbstractValue::unknown(),
        };
        head.set(&variable.name, element);
        Ok(IterationSpace { index, trip_count: count, body_scope: head, exit_scope: after, last_iteration: last })
    }
}

fn loop_side_effects<'a>(parts: LoopParts<'a>) -> SideEffects<'a> {
    let mut changes = SideEffects::from_statements(parts.body);
    parts.condition.into_iter().chain(parts.update).for_each(|expression| changes.expression(expression));
    changes
}
