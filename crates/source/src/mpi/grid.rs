//! Grids of processes: their shape, and who is next to whom.

use sintonia_formula::{Formula, Piece};

use super::calls::Call;
use super::truth;
use super::value::{Group, Value};
use super::walk::Walk;
use crate::routine::Computation;

/// Up to how many processes the shape that `MPI_Dims_create` gives is written down.
const MOST_SHAPES: i64 = 64;

impl Walk<'_, '_> {
    fn elements(&self, value: Option<&Value>, count: usize) -> Vec<Value> {
        let Some(Value::Address(first)) = value else { return vec![Value::Unknown; count] };
        (0..count)
            .map(|at| i64::try_from(at).ok().and_then(|at| first.moved(at)).map_or(Value::Unknown, |address| self.store.get(&address)))
            .collect()
    }

    fn count_of(call: &Call, argument: usize) -> Option<usize> {
        let count = call.values.get(argument)?.number()?.as_exact()?.to_i64()?;
        usize::try_from(count).ok().filter(|count| (1..=8).contains(count))
    }

    /// The grid that a call makes.
    pub(super) fn grid(&self, call: &Call) -> Option<Group> {
        let count = Self::count_of(call, 1)?;
        let Some(Value::Group(parent)) = call.values.first() else { return None };
        let lengths = self.elements(call.values.get(2), count);
        let around = self.elements(call.values.get(3), count);
        let grid: Option<Vec<(Formula, bool)>> =
            lengths.iter().zip(&around).map(|(length, around)| Some((length.number()?.clone(), !around.number()?.is_zero()))).collect();
        Some(Group { grid: grid?, ..parent.clone() })
    }

    /// The part of a grid in which this process stands, of some of its dimensions.
    pub(super) fn rows_of_grid(&self, call: &Call, parent: Group) -> Option<Group> {
        let kept = self.elements(call.values.get(1), parent.grid.len());
        let kept: Option<Vec<bool>> = kept.iter().map(|kept| Some(!kept.number()?.as_exact()?.is_zero())).collect();
        let kept = kept.filter(|kept| !kept.is_empty())?;
        let place = Self::place_in(&parent.grid, &parent.rank?);
        let mut part = Group { size: Formula::one(), rank: None, grid: Vec::new() };
        let mut rank = Formula::zero();
        for (dimension, place) in parent.grid.iter().zip(place).zip(kept).filter(|(_, is_kept)| *is_kept).map(|(dimension, _)| dimension) {
            rank = rank * dimension.0.clone() + place;
            part.size = part.size * dimension.0.clone();
            part.grid.push(dimension.clone());
        }
        Some(Group { rank: Some(rank), ..part })
    }

    /// The place of a rank in a grid, the last dimension running fastest.
    fn place_in(grid: &[(Formula, bool)], rank: &Formula) -> Vec<Formula> {
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

    pub(super) fn coordinates(&mut self, call: &Call, group: Option<Group>) {
        let known = group.zip(call.values.get(1).and_then(Value::number).cloned()).filter(|(group, _)| !group.grid.is_empty());
        let values: Vec<Value> = match known {
            Some((group, rank)) => Self::place_in(&group.grid, &rank).into_iter().map(Value::Number).collect(),
            None => vec![Value::Unknown; Self::count_of(call, 2).unwrap_or(1)],
        };
        self.give_all(call, 3, values);
    }

    fn give_all(&mut self, call: &Call, argument: usize, values: Vec<Value>) {
        if let Some(Value::Address(first)) = call.values.get(argument) {
            for (at, value) in values.into_iter().enumerate() {
                if let Some(address) = i64::try_from(at).ok().and_then(|at| first.moved(at)) {
                    self.store.set(&address, value);
                }
            }
        }
    }

    pub(super) fn shift(&mut self, call: &Call, group: Option<Group>) {
        let number = |at: usize| call.values.get(at).and_then(Value::number).and_then(|number| number.as_exact()?.to_i64());
        let found = (|| {
            let group = group?;
            let dimension = usize::try_from(number(1)?).ok()?;
            let by = number(2)?;
            let (length, around) = group.grid.get(dimension)?.clone();
            let rank = group.rank?;
            let place = Self::place_in(&group.grid, &rank).get(dimension)?.clone();
            let stride = group.grid[dimension + 1..].iter().fold(Formula::one(), |stride, (length, _)| stride * length.clone());
            let neighbour = |by: i64| {
                let distance = Formula::integer(by.abs());
                let exists = match (around, by < 0) {
                    (true, _) => Formula::one(),
                    (false, true) => truth::not(&truth::less(&place, &distance)),
                    (false, false) => truth::less(&(&place + &distance), &length),
                };
                Value::Neighbour { rank: &rank + &(&stride * &Formula::integer(by)), exists }
            };
            Some((neighbour(-by), neighbour(by)))
        })();
        let (source, target) = found.unwrap_or((Value::Unknown, Value::Unknown));
        self.give(call, 3, source);
        self.give(call, 4, target);
    }

    /// The shape of a grid depends on the number of processes in a way that no short formula says: it is written down for small numbers.
    pub(super) fn dimensions(&mut self, call: &Call) {
        let (Some(count), Some(processes)) = (Self::count_of(call, 1), call.values.first().and_then(Value::number).cloned()) else {
            return;
        };
        let given = self.elements(call.values.get(2), count);
        if given.iter().any(|length| length.number().is_none_or(|length| !length.is_zero())) {
            return self.give_all(call, 2, vec![Value::Unknown; count]);
        }
        if count == 1 {
            return self.give_all(call, 2, vec![Value::Number(processes)]);
        }
        let name = match call.arguments.get(2).map(|argument| &argument.what) {
            Some(Computation::Variable(name)) => name.clone(),
            _ => "shape".to_owned(),
        };
        let mut values = Vec::new();
        for dimension in 0..count {
            let pieces = (1..=MOST_SHAPES).map(|number| {
                let length = balanced(number, count).get(dimension).copied().unwrap_or(1);
                Piece::up_to(Formula::integer(number), Formula::integer(length))
            });
            let value = Formula::pieces(&processes, pieces);
            let note = format!("what MPI_Dims_create gives at {}, known up to {MOST_SHAPES} processes", call.place.short());
            let symbol =
                if self.is_silent() { Formula::symbol("shape") } else { self.parameter(&format!("{name}_{dimension}"), Some(value), note) };
            values.push(Value::Number(symbol));
        }
        self.give_all(call, 2, values);
    }
}

/// The lengths of a grid of so many processes that are as near to each other as possible, the largest first.
fn balanced(processes: i64, dimensions: usize) -> Vec<i64> {
    let mut best: Option<Vec<i64>> = None;
    let mut lengths = Vec::new();
    split(processes, dimensions, processes, &mut lengths, &mut best);
    best.unwrap_or_else(|| vec![1; dimensions])
}

fn split(left: i64, dimensions: usize, most: i64, lengths: &mut Vec<i64>, best: &mut Option<Vec<i64>>) {
    if dimensions == 0 {
        let spread = |lengths: &[i64]| lengths.first().zip(lengths.last()).map_or(0, |(most, least)| most - least);
        if left == 1 && best.as_ref().is_none_or(|best| spread(lengths) < spread(best)) {
            *best = Some(lengths.clone());
        }
        return;
    }
    for length in (1..=left.min(most)).filter(|length| left % length == 0) {
        lengths.push(length);
        split(left / length, dimensions - 1, length, lengths, best);
        lengths.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_as_square_as_it_can_be() {
        assert_eq!(balanced(6, 2), [3, 2]);
        assert_eq!(balanced(7, 2), [7, 1]);
        assert_eq!(balanced(16, 2), [4, 4]);
        assert_eq!(balanced(12, 3), [3, 2, 2]);
    }

    #[test]
    fn ranks_run_along_the_last_dimension_first() {
        let grid = [(Formula::integer(3), false), (Formula::integer(4), false)];
        let at = |rank: i64| Walk::place_in(&grid, &Formula::integer(rank));
        assert_eq!(at(0), [Formula::zero(), Formula::zero()]);
        assert_eq!(at(7), [Formula::one(), Formula::integer(3)]);
        assert_eq!(at(11), [Formula::integer(2), Formula::integer(3)]);
    }
}
