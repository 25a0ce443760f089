//! Branch shares from a recording.
//!
//! A recording does not contain conditions, but MPI calls with their source lines. A branch that always calls MPI was taken as often as
//! that line was executed; how often its condition was evaluated follows from the other branch, or from a call next to the condition.

use std::collections::BTreeMap;

use sintonia_formula::Formula;
use sintonia_pamela::model::{ModelTerm, PamelaModel};
use sintonia_recording::Recording;

use crate::analysis::side_effects::EarlyExits;
use crate::compiled_model::CompileNote;
use crate::file_pos::FilePos;
use crate::ir::{ExprKind, IrProgram, Statement, StatementKind, TypedExpr};

/// The number of MPI calls on each source line, per rank: file name without directories, and line.
pub type LineCallCounts = BTreeMap<(String, usize), Vec<u64>>;

/// The number of MPI calls of each rank on each line.
pub fn calls_by_line(recording: &Recording) -> Result<LineCallCounts, sintonia_recording::Error> {
    let ranks: Vec<u32> = recording.header.ranks.iter().map(|rank| rank.rank).collect();
    let mut calls = LineCallCounts::new();
    for (place, rank) in ranks.iter().enumerate() {
        for (shape, totals) in recording.totals(*rank)? {
            let Some(frame) = recording.site(shape.site).frames.first() else { continue };
            let (Some(file), Some(line)) = (&frame.file, frame.line) else { continue };
            let file = file.rsplit('/').next().unwrap_or(file).to_owned();
            calls.entry((file, line as usize)).or_insert_with(|| vec![0; ranks.len()])[place] += totals.calls;
        }
    }
    Ok(calls)
}

/// Sets the recorded shares of conditions that have none; returns notes about them.
pub fn apply_recorded_shares(model: &mut PamelaModel, program: &IrProgram, calls: &LineCallCounts) -> Vec<CompileNote> {
    let found = ShareSearch::in_program(program, calls);
    let mut notes = Vec::new();
    for (place, [least, most]) in found {
        let share = if least == most { Formula::decimal(least) } else { Formula::interval(least, most) };
        let name = place.file_and_line();
        let given = model.procedures.iter_mut().map(|procedure| apply_share(&mut procedure.body, &name, &share)).sum::<usize>();
        if given > 0 {
            notes.push(CompileNote { pos: place, text: format!("this condition held in {share} of the recorded cases") });
        }
    }
    notes
}

/// Sets the share of conditions with that label; returns how many there are.
fn apply_share(term: &mut ModelTerm, name: &str, share: &Formula) -> usize {
    match term {
        ModelTerm::If { position: place, share: known, then, otherwise } => {
            let is_it = known.is_none() && place.as_deref() == Some(name);
            if is_it {
                *known = Some(share.clone());
            }
            usize::from(is_it) + apply_share(then, name, share) + apply_share(otherwise, name, share)
        }
        ModelTerm::Sequence(terms) | ModelTerm::Parallel(terms) => terms.iter_mut().map(|term| apply_share(term, name, share)).sum(),
        ModelTerm::Loop { body, .. } | ModelTerm::Tasks { body, .. } | ModelTerm::Use { body, .. } => apply_share(body, name, share),
        _ => 0,
    }
}

/// Finds the conditions whose share follows from a recording, with the minimum and maximum over the ranks.
struct ShareSearch<'a> {
    calls: &'a LineCallCounts,
    /// The number of MPI calls on each line: several cannot be distinguished.
    calls_on_line: BTreeMap<(String, usize), usize>,
    found: Vec<(FilePos, [f64; 2])>,
}

impl<'a> ShareSearch<'a> {
    fn in_program(program: &IrProgram, calls: &'a LineCallCounts) -> Vec<(FilePos, [f64; 2])> {
        let mut search = ShareSearch { calls, calls_on_line: BTreeMap::new(), found: Vec::new() };
        let mut all = Vec::new();
        program.routines.iter().for_each(|routine| collect_mpi_calls(&routine.body, &mut all));
        all.into_iter().for_each(|call| *search.calls_on_line.entry(line_key(call)).or_default() += 1);
        program.routines.iter().for_each(|routine| search.block(&routine.body));
        search.found
    }

    /// Visits the conditions of a block and of nested ones.
    fn block(&mut self, statements: &[Statement]) {
        let beside = if may_exit_early(statements) { None } else { self.execution_counts(statements) };
        for statement in statements {
            if let StatementKind::If { condition, then, otherwise } = &statement.kind {
                self.condition(&condition.pos, then, otherwise, beside.as_deref());
            }
            statement.blocks().into_iter().for_each(|block| self.block(block));
        }
    }

    fn condition(&mut self, place: &FilePos, then: &[Statement], otherwise: &[Statement], beside: Option<&[u64]>) {
        let (held, failed) = (self.execution_counts(then), self.execution_counts(otherwise));
        let shares: Vec<f64> = match (held, failed, beside) {
            (Some(held), Some(failed), _) => held.iter().zip(&failed).map(|(held, failed)| fraction(*held, held + failed)).collect(),
            (Some(held), None, Some(asked)) => held.iter().zip(asked).map(|(held, asked)| fraction(*held, *asked)).collect(),
            (None, Some(failed), Some(asked)) => failed.iter().zip(asked).map(|(failed, asked)| 1.0 - fraction(*failed, *asked)).collect(),
            _ => return,
        };
        let known: Vec<f64> = shares.into_iter().filter(|share| (0.0..=1.0).contains(share)).collect();
        let (least, most) = (known.iter().copied().fold(f64::INFINITY, f64::min), known.iter().copied().fold(0.0, f64::max));
        if least <= most {
            self.found.push((place.clone(), [least, most]));
        }
    }

    /// How often each rank executed statements, if they always call MPI exactly once.
    fn execution_counts(&self, statements: &[Statement]) -> Option<Vec<u64>> {
        let mut sure = statements.iter().take_while(|statement| EarlyExits::from_statement(statement) == EarlyExits::default());
        sure.find_map(|statement| match &statement.kind {
            StatementKind::Evaluate(expression) => self.call_counts(expression),
            StatementKind::Declare(variable) => variable.initializer.as_ref().and_then(|value| self.call_counts(value)),
            StatementKind::Block(body) => self.execution_counts(body),
            _ => None,
        })
    }

    fn call_counts(&self, expression: &TypedExpr) -> Option<Vec<u64>> {
        let calls = unconditional_mpi_calls(expression);
        let alone = calls.iter().map(|call| line_key(call)).find(|line| self.calls_on_line.get(line) == Some(&1));
        // A line that was never executed is not in the recording.
        let ranks = self.calls.values().next()?.len();
        alone.map(|line| self.calls.get(&line).cloned().unwrap_or_else(|| vec![0; ranks]))
    }
}

fn may_exit_early(statements: &[Statement]) -> bool {
    let before_the_end = match statements {
        [before @ .., Statement { kind: StatementKind::Return(_), .. }] => before,
        all => all,
    };
    EarlyExits::from_statements(before_the_end) != EarlyExits::default()
}

/// The fraction; NaN for an empty total.
fn fraction(of: u64, all: u64) -> f64 {
    if all == 0 { f64::NAN } else { of as f64 / all as f64 }
}

fn line_key(call: &TypedExpr) -> (String, usize) {
    let file = call.pos.file.rsplit('/').next().unwrap_or(&call.pos.file).to_owned();
    (file, call.pos.line)
}

/// The MPI calls in an expression that are made unconditionally.
fn unconditional_mpi_calls(expression: &TypedExpr) -> Vec<&TypedExpr> {
    match &expression.kind {
        ExprKind::Call(name, _) if name.starts_with("MPI_") => vec![expression],
        ExprKind::Assign { value, .. } | ExprKind::Cast(value) => unconditional_mpi_calls(value),
        _ => Vec::new(),
    }
}

/// Collects all MPI calls in statements, at any depth.
fn collect_mpi_calls<'p>(statements: &'p [Statement], calls: &mut Vec<&'p TypedExpr>) {
    for statement in statements {
        let mut left = statement.expressions();
        while let Some(expression) = left.pop() {
            if matches!(&expression.kind, ExprKind::Call(name, _) if name.starts_with("MPI_")) {
                calls.push(expression);
            }
            left.extend(expression.children());
        }
        statement.blocks().into_iter().for_each(|block| collect_mpi_calls(block, calls));
    }
}
