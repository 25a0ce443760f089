//! Process grids: their dimensions and neighbours.

use sintonia_formula::{Formula, PiecewiseCase};

use super::calls::MpiCall;
use super::executor::SymbolicExecutor;
use super::indicator;
use super::value::{CommunicatorValue, SymbolicValue};
use crate::ir::ExprKind;

/// Up to how many processes the result of `MPI_Dims_create` is tabulated.
const MAX_DIMS_PROCESSES: i64 = 64;

impl SymbolicExecutor<'_, '_> {
    fn elements(&self, value: Option<&SymbolicValue>, count: usize) -> Vec<SymbolicValue> {
        let Some(SymbolicValue::Address(first)) = value else { return vec![SymbolicValue::Unknown; count] };
        (0..count)
            .map(|at| {
                i64::try_from(at).ok().and_then(|at| first.offset_by(at)).map_or(SymbolicValue::Unknown, |address| self.store.get(&address))
            })
            .collect()
    }

    fn count_of(call: &MpiCall, argument: usize) -> Option<usize> {
        let count = call.values.get(argument)?.number()?.as_exact()?.to_i64()?;
        usize::try_from(count).ok().filter(|count| (1..=8).contains(count))
    }

    /// The grid of `MPI_Cart_create`.
    pub(super) fn cartesian_grid(&self, call: &MpiCall) -> Option<CommunicatorValue> {
        let count = Self::count_of(call, 1)?;
        let Some(SymbolicValue::Communicator(parent)) = call.values.first() else { return None };
        let lengths = self.elements(call.values.get(2), count);
        let around = self.elements(call.values.get(3), count);
        let grid: Option<Vec<(Formula, bool)>> =
            lengths.iter().zip(&around).map(|(length, around)| Some((length.number()?.clone(), !around.number()?.is_zero()))).collect();
        Some(CommunicatorValue { grid: grid?, ..parent.clone() })
    }

    /// The subgrid of this process, of `MPI_Cart_sub`.
    pub(super) fn sub_grid(&self, call: &MpiCall, parent: CommunicatorValue) -> Option<CommunicatorValue> {
        let kept = self.elements(call.values.get(1), parent.grid.len());
        let kept: Option<Vec<bool>> = kept.iter().map(|kept| Some(!kept.number()?.as_exact()?.is_zero())).collect();
        let kept = kept.filter(|kept| !kept.is_empty())?;
        let place = Self::grid_coordinates(&parent.grid, &parent.rank?);
        let mut part = CommunicatorValue { size: Formula::one(), rank: None, grid: Vec::new() };
        let mut rank = Formula::zero();
        for (dimension, place) in parent.grid.iter().zip(place).zip(kept).filter(|(_, is_kept)| *is_kept).map(|(dimension, _)| dimension) {
            rank = rank * dimension.0.clone() + place;
            part.size = part.size * dimension.0.clone();
            part.grid.push(dimension.clone());
        }
        Some(CommunicatorValue { rank: Some(rank), ..part })
    }

    /// The coordinates of a rank in a grid in row-major order.
    fn grid_coordinates(grid: &[(Formula, bool)], rank: &Formula) -> Vec<Formula> {
        let mut coordinates = Vec::new();
        let mut rest = rank.clone();
        for (length, _) in grid.iter().rev() {
            let outer = (&rest / length).floor();
            coordinates.push(&rest - &(&outer * length));
            rest = outer;
        }
        if let Some(first) = coordinates.last_mut() {
            // The first dimension never wraps: there are no ranks beyond.
            *first = grid[1..].iter().fold(rank.clone(), |rank, (length, _)| rank / length.clone());
            if grid.len() > 1 {
                *first = first.floor();
            }
        }
        coordinates.reverse();
        coordinates
    }

    pub(super) fn cart_coords(&mut self, call: &MpiCall, group: Option<CommunicatorValue>) {
        let known = group.zip(call.values.get(1).and_then(SymbolicValue::number).cloned()).filter(|(group, _)| !group.grid.is_empty());
        let values: Vec<SymbolicValue> = match known {
            Some((group, rank)) => Self::grid_coordinates(&group.grid, &rank).into_iter().map(SymbolicValue::Number).collect(),
            None => vec![SymbolicValue::Unknown; Self::count_of(call, 2).unwrap_or(1)],
        };
        self.write_array_argument(call, 3, values);
    }

    fn write_array_argument(&mut self, call: &MpiCall, argument: usize, values: Vec<SymbolicValue>) {
        if let Some(SymbolicValue::Address(first)) = call.values.get(argument) {
            for (at, value) in values.into_iter().enumerate() {
                if let Some(address) = i64::try_from(at).ok().and_then(|at| first.offset_by(at)) {
                    self.store.set(&address, value);
                }
            }
        }
    }

    pub(super) fn cart_shift(&mut self, call: &MpiCall, group: Option<CommunicatorValue>) {
        let number = |at: usize| call.values.get(at).and_then(SymbolicValue::number).and_then(|number| number.as_exact()?.to_i64());
        let found = (|| {
            let group = group?;
            let dimension = usize::try_from(number(1)?).ok()?;
            let by = number(2)?;
            let (length, around) = group.grid.get(dimension)?.clone();
            let rank = group.rank?;
            let place = Self::grid_coordinates(&group.grid, &rank).get(dimension)?.clone();
            let stride = group.grid[dimension + 1..].iter().fold(Formula::one(), |stride, (length, _)| stride * length.clone());
            let neighbour = |by: i64| {
                let distance = Formula::integer(by.abs());
                let exists = match (around, by < 0) {
                    (true, _) => Formula::one(),
                    (false, true) => indicator::not(&indicator::less(&place, &distance)),
                    (false, false) => indicator::less(&(&place + &distance), &length),
                };
                SymbolicValue::Neighbour { rank: &rank + &(&stride * &Formula::integer(by)), exists }
            };
            Some((neighbour(-by), neighbour(by)))
        })();
        let (source, target) = found.unwrap_or((SymbolicValue::Unknown, SymbolicValue::Unknown));
        self.write_argument(call, 3, source);
        self.write_argument(call, 4, target);
    }

    /// The dimensions that `MPI_Dims_create` chooses have no simple formula, so they are tabulated for small numbers of processes.
    pub(super) fn dims_create(&mut self, call: &MpiCall) {
        let (Some(count), Some(processes)) = (Self::count_of(call, 1), call.values.first().and_then(SymbolicValue::number).cloned()) else {
            return;
        };
        let given = self.elements(call.values.get(2), count);
        if given.iter().any(|length| length.number().is_none_or(|length| !length.is_zero())) {
            return self.write_array_argument(call, 2, vec![SymbolicValue::Unknown; count]);
        }
        if count == 1 {
            return self.write_array_argument(call, 2, vec![SymbolicValue::Number(processes)]);
        }
        let name = match call.arguments.get(2).map(|argument| &argument.kind) {
            Some(ExprKind::Variable(name)) => name.clone(),
            _ => "shape".to_owned(),
        };
        let mut values = Vec::new();
        for dimension in 0..count {
            let pieces = (1..=MAX_DIMS_PROCESSES).map(|number| {
                let length = balanced_dims(number, count).get(dimension).copied().unwrap_or(1);
                PiecewiseCase::up_to(Formula::integer(number), Formula::integer(length))
            });
            let value = Formula::piecewise(&processes, pieces);
            let note = format!("result of MPI_Dims_create at {}, known up to {MAX_DIMS_PROCESSES} processes", call.pos.file_and_line());
            let symbol =
                if self.is_silent() { Formula::symbol("shape") } else { self.parameter(&format!("{name}_{dimension}"), Some(value), note) };
            values.push(SymbolicValue::Number(symbol));
        }
        self.write_array_argument(call, 2, values);
    }
}

/// The most balanced dimensions for a number of processes, the largest first.
fn balanced_dims(processes: i64, dimensions: usize) -> Vec<i64> {
    let mut best: Option<Vec<i64>> = None;
    let mut lengths = Vec::new();
    search_dims(processes, dimensions, processes, &mut lengths, &mut best);
    best.unwrap_or_else(|| vec![1; dimensions])
}

fn search_dims(left: i64, dimensions: usize, most: i64, lengths: &mut Vec<i64>, best: &mut Option<Vec<i64>>) {
    if dimensions == 0 {
        let spread = |lengths: &[i64]| lengths.first().zip(lengths.last()).map_or(0, |(most, least)| most - least);
        if left == 1 && best.as_ref().is_none_or(|best| spread(lengths) < spread(best)) {
            *best = Some(lengths.clone());
        }
        return;
    }
    for length in (1..=left.min(most)).filter(|length| left % length == 0) {
        lengths.push(length);
        search_dims(left / length, dimensions - 1, length, lengths, best);
        lengths.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_as_square_as_it_can_be() {
        assert_eq!(balanced_dims(6, 2), [3, 2]);
        assert_eq!(balanced_dims(7, 2), [7, 1]);
        assert_eq!(balanced_dims(16, 2), [4, 4]);
        assert_eq!(balanced_dims(12, 3), [3, 2, 2]);
    }

    #[test]
    fn ranks_run_along_the_last_dimension_first() {
        let grid = [(Formula::integer(3), false), (Formula::integer(4), false)];
        let at = |rank: i64| SymbolicExecutor::grid_coordinates(&grid, &Formula::integer(rank));
        assert_eq!(at(0), [Formula::zero(), Formula::zero()]);
        assert_eq!(at(7), [Formula::one(), Formula::integer(3)]);
        assert_eq!(at(11), [Formula::integer(2), Formula::integer(3)]);
    }
}
