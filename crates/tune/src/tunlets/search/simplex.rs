//! The next point to measure: Nelder and Mead's simplex on a lattice, followed by a coordinate search.
//!
//! The method is written as if every value were known. Where one is not, it stops and returns the point to measure; afterwards it is
//! repeated from the start, up to the next unknown value. That costs microseconds, and there is no state to keep consistent.

use std::collections::HashMap;

use super::space::{LatticePoint, SearchSpace};

/// Times at measured points.
pub(super) type MeasuredTimes = HashMap<LatticePoint, f64>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NextPoint {
    /// This point must be measured.
    Measure(LatticePoint),
    /// No neighbour of this point is better.
    Converged(LatticePoint),
}

/// The initial simplex spans this share of each range.
const INITIAL_SPAN: f64 = 0.3;

/// Finest step, as a share of a range.
const MIN_SPAN: f64 = 0.01;

/// Most steps of the simplex, per variable.
const MAX_STEPS: usize = 40;

/// The next point to measure, from a start point and the known times.
pub(super) fn next_point(space: &SearchSpace, start: &LatticePoint, known: &MeasuredTimes) -> NextPoint {
    let method = NelderMead { space, known };
    match method.run_simplex(start).and_then(|()| method.coordinate_search(start)) {
        Ok(best) => NextPoint::Converged(best),
        Err(unknown) => NextPoint::Measure(unknown),
    }
}

/// A position between lattice points, and its value.
type SimplexVertex = (Vec<f64>, f64);

struct NelderMead<'a> {
    space: &'a SearchSpace,
    known: &'a MeasuredTimes,
}

impl NelderMead<'_> {
    /// The value at a position, or the point that must be measured for it.
    fn value_at(&self, position: &[f64]) -> Result<f64, LatticePoint> {
        let point = self.space.round(position);
        self.known.get(&point).copied().ok_or(point)
    }

    fn vertex(&self, position: Vec<f64>) -> Result<SimplexVertex, LatticePoint> {
        let position: Vec<f64> =
            self.space.axes.iter().zip(position).map(|(axis, position)| position.clamp(0.0, axis.last_index() as f64)).collect();
        let value = self.value_at(&position)?;
        Ok((position, value))
    }

    fn run_simplex(&self, start: &LatticePoint) -> Result<(), LatticePoint> {
        let start: Vec<f64> = start.iter().map(|position| *position as f64).collect();
        let mut vertices = vec![self.vertex(start.clone())?];
        for (axis, here) in start.iter().enumerate() {
            let last = self.space.axes[axis].last_index() as f64;
            let reach = (INITIAL_SPAN * last).max(1.0);
            let mut position = start.clone();
            position[axis] = if here + reach <= last { here + reach } else { here - reach };
            vertices.push(self.vertex(position)?);
        }
        for _ in 0..MAX_STEPS * start.len() {
            vertices.sort_by(|a, b| a.1.total_cmp(&b.1));
            if self.is_small(&vertices) || !self.step(&mut vertices)? {
                break;
            }
        }
        Ok(())
    }

    /// One step; returns whether the simplex has changed.
    fn step(&self, vertices: &mut Vec<SimplexVertex>) -> Result<bool, LatticePoint> {
        let Some((worst, others)) = vertices.split_last() else { return Ok(false) };
        let dimensions = worst.0.len();
        let centre: Vec<f64> =
            (0..dimensions).map(|axis| others.iter().map(|(position, _)| position[axis]).sum::<f64>() / others.len() as f64).collect();
        let beyond =
            |factor: f64| self.vertex(centre.iter().zip(&worst.0).map(|(centre, worst)| centre + factor * (centre - worst)).collect());
        let (best, second_worst) = (others[0].1, others[others.len() - 1].1);
        let reflected = beyond(1.0)?;
        let replacement = if reflected.1 < best {
            let expanded = beyond(2.0)?;
            Some(if expanded.1 < reflected.1 { expanded } else { reflected })
        } else if reflected.1 < second_worst {
            Some(reflected)
        } else {
            let contracted = if reflected.1 < worst.1 { beyond(0.5)? } else { beyond(-0.5)? };
            Some(contracted).filter(|contracted| contracted.1 < worst.1.min(reflected.1))
        };
        if let Some(replacement) = replacement {
            vertices.pop();
            vertices.push(replacement);
            return Ok(true);
        }
        let towards = vertices[0].0.clone();
        for vertex in vertices.iter_mut().skip(1) {
            *vertex = self.vertex(vertex.0.iter().zip(&towards).map(|(position, best)| (position + best) / 2.0).collect())?;
        }
        Ok(true)
    }

    fn is_small(&self, vertices: &[SimplexVertex]) -> bool {
        self.space.axes.iter().enumerate().all(|(axis, values)| {
            let positions = || vertices.iter().map(|(position, _)| position[axis]);
            let width = positions().fold(f64::NEG_INFINITY, f64::max) - positions().fold(f64::INFINITY, f64::min);
            width <= (MIN_SPAN * values.last_index() as f64).max(0.5)
        })
    }

    /// From the best known point, ever finer steps along each axis: a simplex on a lattice may collapse beside the optimum.
    fn coordinate_search(&self, start: &LatticePoint) -> Result<LatticePoint, LatticePoint> {
        let order = |a: &(&LatticePoint, &f64), b: &(&LatticePoint, &f64)| a.1.total_cmp(b.1).then_with(|| a.0.cmp(b.0));
        let mut best = self.known.iter().min_by(order).map_or(start.clone(), |(point, _)| point.clone());
        for share in [4.0 * MIN_SPAN, 2.0 * MIN_SPAN, MIN_SPAN] {
            while let Some(better) = self.better_neighbour(&best, share)? {
                best = better;
            }
        }
        Ok(best)
    }

    /// A better point one step away along an axis.
    fn better_neighbour(&self, best: &LatticePoint, share: f64) -> Result<Option<LatticePoint>, LatticePoint> {
        for (axis, values) in self.space.axes.iter().enumerate() {
            let step = (share * values.last_index() as f64).round().max(1.0) as usize;
            let here = best[axis];
            for position in
                [here.checked_add(step), here.checked_sub(step)].into_iter().flatten().filter(|position| *position <= values.last_index())
            {
                let mut point = best.clone();
                point[axis] = position;
                let value = *self.known.get(&point).ok_or_else(|| point.clone())?;
                if value < self.known.get(best).copied().unwrap_or(f64::INFINITY) {
                    return Ok(Some(point));
                }
            }
        }
        Ok(None)
    }
}
