//! How often conditions held in a run, as its recording tells.
//!
//! A recording has no conditions, but it has the calls of MPI, each with the line it stands on. A branch that always calls MPI was taken as often
//! as that line was; how often its condition was asked, the other branch tells, or a call beside the condition.

use std::collections::BTreeMap;

use sintonia_formula::Formula;
use sintonia_pamela::model::{Model, Term};

use crate::analysis::walk::Exits;
use crate::compile::Note;
use crate::place::Place;
use crate::routine::{Action, Computation, Expression, Program, Statement};

/// How often MPI was called on each line, by every rank: the file without its folders, and the line.
pub type Calls = BTreeMap<(String, usize), Vec<u64>>;

/// Gives conditions of a model that have no share the one they had in a run, and tells which these are.
pub fn give_shares(model: &mut Model, program: &Program, calls: &Calls) -> Vec<Note> {
    let found = Search::in_program(program, calls);
    let mut notes = Vec::new();
    for (place, [least, most]) in found {
        let share = if least == most { Formula::decimal(least) } else { Formula::between(least, most) };
        let name = place.short();
        let given = model.procedures.iter_mut().map(|procedure| give(&mut procedure.body, &name, &share)).sum::<usize>();
        if given > 0 {
            notes.push(Note { place, text: format!("this condition held in {share} of the cases that were recorded") });
        }
    }
    notes
}

/// Gives the share to conditions of that name, and tells to how many.
fn give(term: &mut Term, name: &str, share: &Formula) -> usize {
    match term {
        Term::If { place, share: known, then, otherwise } => {
            let is_it = known.is_none() && place.as_deref() == Some(name);
            if is_it {
                *known = Some(share.clone());
            }
            usize::from(is_it) + give(then, name, share) + give(otherwise, name, share)
        }
        Term::Sequence(terms) | Term::Parallel(terms) => terms.iter_mut().map(|term| give(term, name, share)).sum(),
        Term::Loop { body, .. } | Term::Tasks { body, .. } | Term::Use { body, .. } => give(body, name, share),
        _ => 0,
    }
}

/// The conditions of a program of which a run tells how often they held, from least to most over the ranks.
struct Search<'a> {
    calls: &'a Calls,
    /// How many calls of MPI stand on a line: those of several are not told apart.
    on_line: BTreeMap<(String, usize), usize>,
    found: Vec<(Place, [f64; 2])>,
}

impl<'a> Search<'a> {
    fn in_program(program: &Program, calls: &'a Calls) -> Vec<(Place, [f64; 2])> {
        let mut search = Search { calls, on_line: BTreeMap::new(), found: Vec::new() };
        let mut all = Vec::new();
        program.routines.iter().for_each(|routine| all_calls(&routine.body, &mut all));
        all.into_iter().for_each(|call| *search.on_line.entry(line(call)).or_default() += 1);
        program.routines.iter().for_each(|routine| search.block(&routine.body));
        search.found
    }

    /// Looks at the conditions of a block, and inside.
    fn block(&mut self, statements: &[Statement]) {
        let beside = if may_be_left(statements) { None } else { self.counted(statements) };
        for statement in statements {
            if let Action::If { condition, then, otherwise } = &statement.what {
                self.condition(&condition.place, then, otherwise, beside.as_deref());
            }
            statement.blocks().into_iter().for_each(|block| self.block(block));
        }
    }

    fn condition(&mut self, place: &Place, then: &[Statement], otherwise: &[Statement], beside: Option<&[u64]>) {
        let (held, failed) = (self.counted(then), self.counted(otherwise));
        let shares: Vec<f64> = match (held, failed, beside) {
            (Some(held), Some(failed), _) => held.iter().zip(&failed).map(|(held, failed)| part(*held, held + failed)).collect(),
            (Some(held), None, Some(asked)) => held.iter().zip(asked).map(|(held, asked)| part(*held, *asked)).collect(),
            (None, Some(failed), Some(asked)) => failed.iter().zip(asked).map(|(failed, asked)| 1.0 - part(*failed, *asked)).collect(),
            _ => return,
        };
        let known: Vec<f64> = shares.into_iter().filter(|share| (0.0..=1.0).contains(share)).collect();
        let (least, most) = (known.iter().copied().fold(f64::INFINITY, f64::min), known.iter().copied().fold(0.0, f64::max));
        if least <= most {
            self.found.push((place.clone(), [least, most]));
        }
    }

    /// How often statements were gone through by each rank, if they call MPI once whenever they are.
    fn counted(&self, statements: &[Statement]) -> Option<Vec<u64>> {
        let mut sure = statements.iter().take_while(|statement| Exits::of_one(statement) == Exits::default());
        sure.find_map(|statement| match &statement.what {
            Action::Compute(expression) => self.counted_in(expression),
            Action::Declare(variable) => variable.value.as_ref().and_then(|value| self.counted_in(value)),
            Action::Block(body) => self.counted(body),
            _ => None,
        })
    }

    fn counted_in(&self, expression: &Expression) -> Option<Vec<u64>> {
        let calls = calls_in(expression);
        let alone = calls.iter().map(|call| line(call)).find(|line| self.on_line.get(line) == Some(&1));
        // A line that nobody came to is in no recording.
        let ranks = self.calls.values().next()?.len();
        alone.map(|line| self.calls.get(&line).cloned().unwrap_or_else(|| vec![0; ranks]))
    }
}

/// Whether a block may be left before its end.
fn may_be_left(statements: &[Statement]) -> bool {
    let before_the_end = match statements {
        [before @ .., Statement { what: Action::Return(_), .. }] => before,
        all => all,
    };
    Exits::of(before_the_end) != Exits::default()
}

/// A share; none where nothing was asked.
fn part(of: u64, all: u64) -> f64 {
    if all == 0 { f64::NAN } else { of as f64 / all as f64 }
}

fn line(call: &Expression) -> (String, usize) {
    let file = call.place.file.rsplit('/').next().unwrap_or(&call.place.file).to_owned();
    (file, call.place.line)
}

/// The calls of MPI in an expression that are made whenever it is computed.
fn calls_in(expression: &Expression) -> Vec<&Expression> {
    match &expression.what {
        Computation::Call(name, _) if name.starts_with("MPI_") => vec![expression],
        Computation::Assign { value, .. } | Computation::Convert(value) => calls_in(value),
        _ => Vec::new(),
    }
}

/// All calls of MPI in statements, however deep.
fn all_calls<'p>(statements: &'p [Statement], calls: &mut Vec<&'p Expression>) {
    for statement in statements {
        let mut left = statement.expressions();
        while let Some(expression) = left.pop() {
            if matches!(&expression.what, Computation::Call(name, _) if name.starts_with("MPI_")) {
                calls.push(expression);
            }
            left.extend(expression.parts());
        }
        statement.blocks().into_iter().for_each(|block| all_calls(block, calls));
    }
}
