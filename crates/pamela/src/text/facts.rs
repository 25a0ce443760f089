//! What can be judged only when the whole text is known: who calls whom, and whether a name that is handed on is a number or a computer.
//!
//! Computers need no declaration, so a name that nobody has declared may be given to a procedure, but only as something that the procedure
//! uses as a computer. And whatever does or gets something anywhere is a computer, which `use` may name.

use std::collections::HashSet;
use std::ops::Range;

use super::error::{Mistakes, Problem};
use super::outline::Outline;
use sintonia_text::near::nearest;

/// A parameter of a procedure: the place of the procedure, and its own place there.
pub(super) type Slot = (usize, usize);

/// What was seen while reading.
#[derive(Debug, Default)]
pub(super) struct Facts<'a> {
    /// The calls: from which procedure, to which, and where that stands.
    pub(super) calls: Vec<(usize, usize, Range<usize>)>,
    /// Parameters that stand in formulas.
    pub(super) numbers: Vec<Slot>,
    /// Parameters that are handed on as they are.
    pub(super) handed_on: Vec<(Slot, Slot)>,
    /// Names that nobody declares, given to procedures.
    pub(super) free: Vec<(&'a str, Slot, Range<usize>)>,
    /// What does or gets something.
    pub(super) computers: HashSet<&'a str>,
    /// What is used without being declared.
    pub(super) used: Vec<(&'a str, Range<usize>)>,
}

impl Facts<'_> {
    /// Judges them.
    pub(super) fn judge(self, outline: &Outline, mistakes: &mut Mistakes) {
        find_cycles(&self.calls, outline, mistakes);
        let numbers = spread(&self.numbers, &self.handed_on, outline);
        let mut computers = self.computers;
        for (name, slot, bytes) in self.free {
            if numbers.contains(&slot) {
                let hint = nearest(name, outline.parameters.keys().copied());
                mistakes.add(bytes, Problem::UnknownSymbol(name.to_owned()), hint.map(|near| format!("did you mean `{near}`?")));
            } else {
                computers.insert(name);
            }
        }
        for (name, bytes) in self.used.into_iter().filter(|(name, _)| !computers.contains(name)) {
            let near = nearest(name, outline.resources.keys().copied().chain(computers.iter().copied()));
            let hint = near.map_or_else(|| format!("declare it: resource {name};"), |near| format!("did you mean `{near}`?"));
            mistakes.add(bytes, Problem::UnknownResource(name.to_owned()), Some(hint));
        }
    }
}

/// The parameters that stand in formulas, there or where they are handed on to.
fn spread(numbers: &[Slot], handed_on: &[(Slot, Slot)], outline: &Outline) -> HashSet<Slot> {
    let mut givers: Vec<Vec<(usize, Slot)>> = vec![Vec::new(); outline.procedures.len()];
    for (from, (procedure, place)) in handed_on {
        givers[*procedure].push((*place, *from));
    }
    // Each procedure's givers are gone through once for each of its parameters at most, so they are ordered by parameter.
    givers.iter_mut().for_each(|list| list.sort_unstable());
    let mut found: HashSet<Slot> = numbers.iter().copied().collect();
    let mut open: Vec<Slot> = found.iter().copied().collect();
    while let Some((procedure, place)) = open.pop() {
        let list = &givers[procedure];
        let begin = list.partition_point(|(given, _)| *given < place);
        let of_place = list[begin..].iter().take_while(|(given, _)| *given == place);
        open.extend(of_place.map(|(_, from)| *from).filter(|from| found.insert(*from)));
    }
    found
}

/// Goes along the calls, without recursion since a model may have many procedures, and reports each call that closes a circle.
fn find_cycles(calls: &[(usize, usize, Range<usize>)], outline: &Outline, mistakes: &mut Mistakes) {
    let mut calls_of: Vec<Vec<(usize, &Range<usize>)>> = vec![Vec::new(); outline.procedures.len()];
    for (from, to, bytes) in calls {
        calls_of[*from].push((*to, bytes));
    }
    let mut state = vec![State::New; calls_of.len()];
    for start in 0..calls_of.len() {
        let mut way = vec![(start, 0)];
        if state[start] != State::New {
            continue;
        }
        state[start] = State::OnTheWay;
        while let Some((procedure, next)) = way.last_mut() {
            let Some((to, bytes)) = calls_of[*procedure].get(*next) else {
                state[*procedure] = State::Done;
                way.pop();
                continue;
            };
            *next += 1;
            match state[*to] {
                State::New => {
                    state[*to] = State::OnTheWay;
                    way.push((*to, 0));
                }
                State::OnTheWay if !mistakes.are_enough() => {
                    let circle = way.iter().map(|(procedure, _)| *procedure).skip_while(|procedure| procedure != to);
                    let names = names_of(&circle.collect::<Vec<_>>(), outline);
                    mistakes.add((*bytes).clone(), Problem::Cycle(names), Some("a loop does something over and over: seq(i=1,n)".into()));
                }
                _ => {}
            }
        }
    }
}

/// The names on a way round, the first again at its end; of a long way only the beginning and the end.
fn names_of(circle: &[usize], outline: &Outline) -> Vec<String> {
    const MOST: usize = 12;
    let name = |place: &usize| outline.procedures[*place].name.to_owned();
    let again = circle.first().map(name);
    if circle.len() <= MOST {
        return circle.iter().map(name).chain(again).collect();
    }
    let (begin, end) = (&circle[..MOST / 2], &circle[circle.len() - MOST / 2..]);
    begin.iter().map(name).chain(["…".to_owned()]).chain(end.iter().map(name)).chain(again).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    OnTheWay,
    Done,
}
