//! Loops: how many rounds, what variables are in each, and what a round costs.
//!
//! The cost is counted as the paper of APET counts it: the initialisation and the first comparison before the rounds, and in each round the
//! step, a comparison and the body.

use std::collections::BTreeMap;

use sintonia_formula::Formula;
use sintonia_pamela::model::{Order, Term};

use super::condition::is_comparison;
use super::counting::{self, While};
use super::induction::{self, Course, Step, plain};
use super::ledger::Ledger;
use super::walk::{Changes, Exits};
use super::{Analysis, Scope, Share, Value, common};
use crate::error::Error;
use crate::names::spot;
use crate::place::Place;
use crate::routine::{Action, Binary, Computation, Expression, Scalar, Statement, Type, Unary, Variable};

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

/// What a condition says of the number of rounds.
enum Count {
    Exactly(Formula),
    /// At most so many, and possibly fewer for reasons that cannot be followed.
    AtMost(Formula),
    /// Why nothing can be said.
    Unknown(String),
}

/// The parts of a loop that decide about its rounds.
#[derive(Clone, Copy)]
struct Parts<'a> {
    condition: Option<&'a Expression>,
    after: &'a [Expression],
    body: &'a [Statement],
    once_at_least: bool,
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

    fn plan(&mut self, parts: Parts<'a>, place: &Place, scope: &Scope) -> Result<Rounds, Error> {
        let courses = self.courses(parts, scope)?;
        let name = self.index_name(parts, &courses);
        let index = self.fresh(&name);
        let head = self.head(&courses, parts, scope, &Formula::symbol(&index))?;
        let count = match parts.condition {
            Some(condition) => self.count(condition, &head, &index, &courses)?,
            None => Count::Unknown("it has no condition".to_owned()),
        };
        let count = if parts.once_at_least { self.once_at_least(count) } else { count };
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
            let step = induction::step(operation, amount, change.of, &self.facts);
            if let Some(step) = step {
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

    /// How many rounds a condition allows.
    fn count(&mut self, condition: &'a Expression, head: &Scope, index: &str, courses: &BTreeMap<&'a str, Course>) -> Result<Count, Error> {
        match &condition.what {
            Computation::Binary(Binary::And, one, two) => {
                let (one, two) = (self.count(one, head, index, courses)?, self.count(two, head, index, courses)?);
                Ok(match (one, two) {
                    (Count::Exactly(one), Count::Exactly(two)) => Count::Exactly(Formula::min_of([one, two])),
                    (Count::Exactly(one) | Count::AtMost(one), Count::AtMost(two)) | (Count::AtMost(one), Count::Exactly(two)) => {
                        Count::AtMost(Formula::min_of([one, two]))
                    }
                    (Count::Exactly(most) | Count::AtMost(most), Count::Unknown(_))
                    | (Count::Unknown(_), Count::Exactly(most) | Count::AtMost(most)) => Count::AtMost(most),
                    (Count::Unknown(why), Count::Unknown(_)) => Count::Unknown(why),
                })
            }
            Computation::Binary(operation, one, two) if is_comparison(*operation) => {
                self.count_comparison(*operation, [one, two], head, index, courses)
            }
            Computation::Unary(Unary::Not, of) => match &of.what {
                Computation::Binary(operation, one, two) if is_comparison(*operation) => {
                    self.count_comparison(negated(*operation), [one, two], head, index, courses)
                }
                _ => Ok(Count::Unknown("its condition is no comparison of numbers".to_owned())),
            },
            _ if self.share(condition, head)? == Share::Never => Ok(Count::Exactly(Formula::zero())),
            Computation::Number(_) => Ok(Count::Unknown("it goes on until something inside leaves it".to_owned())),
            _ => Ok(Count::Unknown("its condition is no comparison of numbers".to_owned())),
        }
    }

    fn count_comparison(
        &mut self,
        operation: Binary,
        [one, two]: [&'a Expression; 2],
        head: &Scope,
        index: &str,
        courses: &BTreeMap<&'a str, Course>,
    ) -> Result<Count, Error> {
        let mut scope = head.clone();
        let (left, right) = (self.value(one, &mut scope)?, self.value(two, &mut scope)?);
        if let Some(count) = self.count_powers(operation, one, &right, index, courses) {
            return Ok(Count::Exactly(count));
        }
        if let Some(count) = self.count_powers(mirrored(operation), two, &left, index, courses) {
            return Ok(Count::Exactly(count));
        }
        let (difference, goes_on) = match operation {
            Binary::Less => (left.add(&right.negative()), While::Below),
            Binary::LessOrEqual => (left.add(&right.negative()), While::NotAbove),
            Binary::Greater => (right.add(&left.negative()), While::Below),
            Binary::GreaterOrEqual => (right.add(&left.negative()), While::NotAbove),
            Binary::NotEqual => (left.add(&right.negative()), While::NotZero),
            _ => return Ok(Count::Unknown("it goes on while two numbers are equal".to_owned())),
        };
        let facts = &self.facts;
        let rounds = |of: &Formula| counting::rounds(of, index, goes_on, facts).map(|count| facts.at_least_zero(count));
        let count = match difference.bounds() {
            _ if matches!(difference, Value::Drawn { .. }) => None,
            (Some(low), Some(high)) if low == high => rounds(&low),
            // The larger the difference, the sooner the loop ends.
            (Some(low), Some(high)) => {
                rounds(&high).zip(rounds(&low)).map(|(least, most)| &least + &(Formula::between(0.0, 1.0) * (most - least.clone())))
            }
            (Some(low), None) => return Ok(rounds(&low).map_or_else(|| self.why_unknown(one, two, head), Count::AtMost)),
            _ => None,
        };
        Ok(count.map_or_else(|| self.why_unknown(one, two, head), Count::Exactly))
    }

    /// The first variable of a comparison that is not known, for the note.
    fn why_unknown(&self, one: &Expression, two: &Expression, head: &Scope) -> Count {
        let unknown = [one, two].into_iter().find_map(|side| unknown_part(side, head));
        Count::Unknown(match unknown {
            Some(what) => format!("the value of {what} cannot be followed"),
            None => "the two sides of its condition do not come together in a way that can be followed".to_owned(),
        })
    }

    /// The rounds of a variable that is multiplied or divided in each, up to a bound that does not change.
    fn count_powers(
        &self,
        operation: Binary,
        side: &Expression,
        bound: &Value,
        index: &str,
        courses: &BTreeMap<&'a str, Course>,
    ) -> Option<Formula> {
        let Computation::Variable(name) = &plain(side).what else { return None };
        let course = courses.get(name.as_str())?;
        let bound = bound.formula().filter(|bound| !bound.symbols().contains(index))?;
        let facts = &self.facts;
        let one = Formula::one();
        match (&course.step, operation) {
            (Step::Multiply(by), Binary::Less) if facts.is_positive(&course.start) => {
                Some(counting::rounds_growing(&course.start, by, bound, While::Below))
            }
            (Step::Multiply(by), Binary::LessOrEqual) if facts.is_positive(&course.start) => {
                Some(counting::rounds_growing(&course.start, by, bound, While::NotAbove))
            }
            (Step::Divide(by), Binary::Greater) if facts.is_nonnegative(bound) && facts.is_nonnegative(&course.start) => {
                Some(counting::rounds_shrinking(&course.start, by, &(bound + &one)))
            }
            (Step::Divide(by), Binary::GreaterOrEqual) if facts.is_positive(bound) && facts.is_nonnegative(&course.start) => {
                Some(counting::rounds_shrinking(&course.start, by, bound))
            }
            (Step::Divide(by), Binary::NotEqual) if bound.is_zero() && facts.is_nonnegative(&course.start) => {
                Some(counting::rounds_shrinking(&course.start, by, &one))
            }
            _ => None,
        }
    }

    /// A loop whose condition is asked after each round has one round at least. All conditions that are counted fail for good once they
    /// fail, so it makes no difference whether they are asked before the first.
    fn once_at_least(&self, count: Count) -> Count {
        match count {
            Count::Exactly(count) => Count::Exactly(self.facts.at_least_one(&count)),
            Count::AtMost(count) => Count::AtMost(self.facts.at_least_one(&count)),
            unknown => unknown,
        }
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

    fn plan_elements(
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

fn all_changes<'a>(parts: Parts<'a>) -> Changes<'a> {
    let mut changes = Changes::of(parts.body);
    parts.condition.into_iter().chain(parts.after).for_each(|expression| changes.expression(expression));
    changes
}

fn negated(operation: Binary) -> Binary {
    match operation {
        Binary::Less => Binary::GreaterOrEqual,
        Binary::LessOrEqual => Binary::Greater,
        Binary::Greater => Binary::LessOrEqual,
        Binary::GreaterOrEqual => Binary::Less,
        Binary::Equal => Binary::NotEqual,
        Binary::NotEqual => Binary::Equal,
        other => other,
    }
}

/// The comparison with its sides exchanged.
fn mirrored(operation: Binary) -> Binary {
    match operation {
        Binary::Less => Binary::Greater,
        Binary::LessOrEqual => Binary::GreaterOrEqual,
        Binary::Greater => Binary::Less,
        Binary::GreaterOrEqual => Binary::LessOrEqual,
        other => other,
    }
}

/// A variable or a call in an expression of which nothing is known.
fn unknown_part(expression: &Expression, scope: &Scope) -> Option<String> {
    match &expression.what {
        Computation::Variable(name) => (scope.get(name).and_then(Value::formula).is_none()).then(|| format!("`{name}`")),
        Computation::Call(name, _) => Some(format!("`{name}(…)`")),
        Computation::Element(..) => Some("an element of an array".to_owned()),
        Computation::Field(_, name) => Some(format!("`.{name}`")),
        Computation::Binary(_, one, two) => unknown_part(one, scope).or_else(|| unknown_part(two, scope)),
        Computation::Unary(_, of) | Computation::Convert(of) => unknown_part(of, scope),
        _ => None,
    }
}
