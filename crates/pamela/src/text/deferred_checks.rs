//! Checks that need the whole text: recursion, and whether an argument is a number or a computer.
//!
//! Computers need no declaration, so an undeclared name may be passed to a procedure, but only if the procedure uses it as a computer. And
//! whatever executes or receives something is a computer, which `use` may name.

use std::collections::HashSet;
use std::ops::Range;

use super::error::{DiagnosticList, ModelProblem};
use super::outline::DeclarationOutline;
use sintonia_text::suggestion::nearest_name;

/// A parameter of a procedure: the index of the procedure, and the index of the parameter.
pub(super) type ParamSlot = (usize, usize);

/// What was collected while parsing.
#[derive(Debug, Default)]
pub(super) struct DeferredChecks<'a> {
    /// The calls: caller, callee and position.
    pub(super) calls: Vec<(usize, usize, Range<usize>)>,
    /// Parameters used in formulas.
    pub(super) numeric_parameters: Vec<ParamSlot>,
    /// Parameters passed on unchanged to another procedure.
    pub(super) forwarded: Vec<(ParamSlot, ParamSlot)>,
    /// Undeclared names passed to procedures.
    pub(super) undeclared_arguments: Vec<(&'a str, ParamSlot, Range<usize>)>,
    /// Names that execute or receive something.
    pub(super) computers: HashSet<&'a str>,
    /// Undeclared names in `use`.
    pub(super) used_resources: Vec<(&'a str, Range<usize>)>,
}

impl DeferredChecks<'_> {
    pub(super) fn check(self, outline: &DeclarationOutline, mistakes: &mut DiagnosticList) {
        find_cycles(&self.calls, outline, mistakes);
        let numbers = propagate_numeric(&self.numeric_parameters, &self.forwarded, outline);
        let mut computers = self.computers;
        for (name, slot, bytes) in self.undeclared_arguments {
            if numbers.contains(&slot) {
                let hint = nearest_name(name, outline.parameters.keys().copied());
                mistakes.add(bytes, ModelProblem::UnknownSymbol(name.to_owned()), hint.map(|near| format!("did you mean `{near}`?")));
            } else {
                computers.insert(name);
            }
        }
        for (name, bytes) in self.used_resources.into_iter().filter(|(name, _)| !computers.contains(name)) {
            let near = nearest_name(name, outline.resources.keys().copied().chain(computers.iter().copied()));
            let hint = near.map_or_else(|| format!("declare it: resource {name};"), |near| format!("did you mean `{near}`?"));
            mistakes.add(bytes, ModelProblem::UnknownResource(name.to_owned()), Some(hint));
        }
    }
}

/// The parameters used in formulas, directly or in a procedure they are passed to.
fn propagate_numeric(numbers: &[ParamSlot], handed_on: &[(ParamSlot, ParamSlot)], outline: &DeclarationOutline) -> HashSet<ParamSlot> {
    let mut givers: Vec<Vec<(usize, ParamSlot)>> = vec![Vec::new(); outline.procedures.len()];
    for (from, (procedure, place)) in handed_on {
        givers[*procedure].push((*place, *from));
    }
    // Sorted by parameter, so that each entry is visited at most once per parameter.
    givers.iter_mut().for_each(|list| list.sort_unstable());
    let mut found: HashSet<ParamSlot> = numbers.iter().copied().collect();
    let mut open: Vec<ParamSlot> = found.iter().copied().collect();
    while let Some((procedure, place)) = open.pop() {
        let list = &givers[procedure];
        let begin = list.partition_point(|(given, _)| *given < place);
        let of_place = list[begin..].iter().take_while(|(given, _)| *given == place);
        open.extend(of_place.map(|(_, from)| *from).filter(|from| found.insert(*from)));
    }
    found
}

/// Depth-first search over the calls with an explicit stack, since a model may have many procedures; reports each call that closes a cycle.
fn find_cycles(calls: &[(usize, usize, Range<usize>)], outline: &DeclarationOutline, mistakes: &mut DiagnosticList) {
    let mut calls_of: Vec<Vec<(usize, &Range<usize>)>> = vec![Vec::new(); outline.procedures.len()];
    for (from, to, bytes) in calls {
        calls_of[*from].push((*to, bytes));
    }
    let mut state = vec![VisitState::Unvisited; calls_of.len()];
    for start in 0..calls_of.len() {
        let mut way = vec![(start, 0)];
        if state[start] != VisitState::Unvisited {
            continue;
        }
        state[start] = VisitState::InProgress;
        while let Some((procedure, next)) = way.last_mut() {
            let Some((to, bytes)) = calls_of[*procedure].get(*next) else {
                state[*procedure] = VisitState::Done;
                way.pop();
                continue;
            };
            *next += 1;
            match state[*to] {
                VisitState::Unvisited => {
                    state[*to] = VisitState::InProgress;
                    way.push((*to, 0));
                }
                VisitState::InProgress if !mistakes.is_full() => {
                    let circle = way.iter().map(|(procedure, _)| *procedure).skip_while(|procedure| procedure != to);
                    let names = cycle_names(&circle.collect::<Vec<_>>(), outline);
                    mistakes.add((*bytes).clone(), ModelProblem::Cycle(names), Some("use a loop for repetition: seq(i=1,n)".into()));
                }
                _ => {}
            }
        }
    }
}

/// The names on a cycle, ending with the first one; long cycles are abbreviated.
fn cycle_names(circle: &[usize], outline: &DeclarationOutline) -> Vec<String> {
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
enum VisitState {
    Unvisited,
    InProgress,
    Done,
}
