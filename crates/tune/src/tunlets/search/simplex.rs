//! Where to look next: a simplex after Nelder and Mead on a lattice, and steps along the axes at the end.
//!
//! The method is written as if every value were known. Where one is not, it stops and says which point must be measured; once it has been, the
//! method is gone through again from the beginning, up to the next unknown one. That costs microseconds, and there is no state to get wrong.

use std::collections::HashMap;

use super::space::{Point, Space};

/// What is known: the time at points that were measured.
pub type Known = HashMap<Point, f64>;

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// This point must be measured.
    Measure(Point),
    /// Nothing near is better than this point.
    Converged(Point),
}

/// The first simplex spans this share of each range.
const FIRST: f64 = 0.3;

/// Differences below this share of a range are not looked into.
const FINEST: f64 = 0.01;

/// Steps of the simplex, for each variable.
const MOST_STEPS: usize = 40;

/// What to measure next, from a point on and with what is known.
pub fn next(space: &Space, start: &Point, known: &Known) -> Next {
    let method = Method { space, known };
    match method.simplex(start).and_then(|()| method.along_axes(start)) {
        Ok(best) => Next::Converged(best),
        Err(unknown) => Next::Measure(unknown),
    }
}

/// A place between points, and its value.
type Vertex = (Vec<f64>, f64);

struct Method<'a> {
    space: &'a Space,
    known: &'a Known,
}

impl Method<'_> {
    /// The value at a point, or the point that must be measured for it.
    fn at(&self, place: &[f64]) -> Result<f64, Point> {
        let point = self.space.rounded(place);
        self.known.get(&point).copied().ok_or(point)
    }

    fn vertex(&self, place: Vec<f64>) -> Result<Vertex, Point> {
        let place: Vec<f64> = self.space.axes.iter().zip(place).map(|(axis, place)| place.clamp(0.0, axis.last() as f64)).collect();
        let value = self.at(&place)?;
        Ok((place, value))
    }

    fn simplex(&self, start: &Point) -> Result<(), Point> {
        let start: Vec<f64> = start.iter().map(|place| *place as f64).collect();
        let mut vertices = vec![self.vertex(start.clone())?];
        for (axis, here) in start.iter().enumerate() {
            let last = self.space.axes[axis].last() as f64;
            let reach = (FIRST * last).max(1.0);
            let mut place = start.clone();
            place[axis] = if here + reach <= last { here + reach } else { here - reach };
            vertices.push(self.vertex(place)?);
        }
        for _ in 0..MOST_STEPS * start.len() {
            vertices.sort_by(|a, b| a.1.total_cmp(&b.1));
            if self.is_small(&vertices) || !self.step(&mut vertices)? {
                break;
            }
        }
        Ok(())
    }

    /// One step; whether the worst vertex was replaced by another, or all drew nearer.
    fn step(&self, vertices: &mut Vec<Vertex>) -> Result<bool, Point> {
        let Some((worst, others)) = vertices.split_last() else { return Ok(false) };
        let dimensions = worst.0.len();
        let centre: Vec<f64> =
            (0..dimensions).map(|axis| others.iter().map(|(place, _)| place[axis]).sum::<f64>() / others.len() as f64).collect();
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
            *vertex = self.vertex(vertex.0.iter().zip(&towards).map(|(place, best)| (place + best) / 2.0).collect())?;
        }
        Ok(true)
    }

    fn is_small(&self, vertices: &[Vertex]) -> bool {
        self.space.axes.iter().enumerate().all(|(axis, values)| {
            let places = || vertices.iter().map(|(place, _)| place[axis]);
            let width = places().fold(f64::NEG_INFINITY, f64::max) - places().fold(f64::INFINITY, f64::min);
            width <= (FINEST * values.last() as f64).max(0.5)
        })
    }

    /// From the best point known, steps along each axis that become finer: a simplex on a lattice may collapse beside the best.
    fn along_axes(&self, start: &Point) -> Result<Point, Point> {
        let order = |a: &(&Point, &f64), b: &(&Point, &f64)| a.1.total_cmp(b.1).then_with(|| a.0.cmp(b.0));
        let mut best = self.known.iter().min_by(order).map_or(start.clone(), |(point, _)| point.clone());
        for share in [4.0 * FINEST, 2.0 * FINEST, FINEST] {
            while let Some(better) = self.neighbour(&best, share)? {
                best = better;
            }
        }
        Ok(best)
    }

    /// A point better than this one, a step away along an axis.
    fn neighbour(&self, best: &Point, share: f64) -> Result<Option<Point>, Point> {
        for (axis, values) in self.space.axes.iter().enumerate() {
            let step = (share * values.last() as f64).round().max(1.0) as usize;
            let here = best[axis];
            for place in [here.checked_add(step), here.checked_sub(step)].into_iter().flatten().filter(|place| *place <= values.last()) {
                let mut point = best.clone();
                point[axis] = place;
                let value = *self.known.get(&point).ok_or_else(|| point.clone())?;
                if value < self.known.get(best).copied().unwrap_or(f64::INFINITY) {
                    return Ok(Some(point));
                }
            }
        }
        Ok(None)
    }
}
