//! What a formula leaves unexplained, where that has a pattern.
//!
//! A cache that overflows or a network that fills up bends the truth away from every formula. Such errors are alike at neighbouring
//! settings, so near the measurements a prediction can be put right by the errors around it (kriging), and just beyond them by how the
//! errors went on at last; far away the formula's own growth stands alone.

use super::design::{Axis, Design};
use serde::{Deserialize, Serialize};

/// How alike the relative errors at neighbouring settings are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Likeness {
    /// For each parameter, the correlation one step of its axis apart.
    pub along: Vec<f64>,
    /// For each parameter, whether errors go on growing beyond its largest value as they did up to it.
    pub goes_on: Vec<bool>,
    /// The share of an error that neighbours do not have in common.
    pub own: f64,
}

/// The correlation at a distance in steps, given that one step apart.
fn after(like: f64, distance: f64) -> f64 {
    if distance < 1e-9 { 1.0 } else { like.powf(distance) }
}

/// A relative correction of a formula near the measured points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Correction {
    /// How alike neighbouring errors are.
    pub likeness: Likeness,
    /// For each parameter, the logarithm of a typical step between measured values.
    pub steps: Vec<f64>,
    /// The measured points.
    pub points: Vec<Vec<f64>>,
    /// How much each point's error counts.
    pub shares: Vec<f64>,
}

impl Correction {
    /// The correction that follows from the errors at the measured points, which are logarithms of ratios.
    pub fn new(design: &Design, points: Vec<Vec<f64>>, errors: &[f64], likeness: Likeness) -> Self {
        let all: Vec<usize> = (0..points.len()).collect();
        let shares = Kriging::new(design, &all, &likeness).shares(errors);
        Self { likeness, steps: design.axes.iter().map(step).collect(), points, shares }
    }

    /// The factor that puts a prediction right.
    pub fn at(&self, x: &[f64]) -> f64 {
        let places: Vec<f64> = x.iter().zip(&self.steps).map(|(x, step)| x.ln() / step).collect();
        let known: Vec<Vec<f64>> =
            self.points.iter().map(|point| point.iter().zip(&self.steps).map(|(x, step)| x.ln() / step).collect()).collect();
        (-self.likeness.suggested(&known, &self.shares, &places)).exp()
    }
}

impl Likeness {
    /// The error that known ones suggest at a place; places are logarithms in steps of each axis.
    fn suggested(&self, known: &[Vec<f64>], shares: &[f64], place: &[f64]) -> f64 {
        let near = |place: &[f64]| {
            let alike =
                |known: &[f64]| self.along.iter().zip(known).zip(place).map(|((like, k), p)| after(*like, (k - p).abs())).product::<f64>();
            known.iter().zip(shares).map(|(known, share)| share * alike(known)).sum::<f64>()
        };
        let mut inside = place.to_vec();
        let mut ahead: Vec<(usize, f64)> = Vec::new();
        for axis in (0..place.len()).filter(|axis| self.goes_on[*axis]) {
            let last = known.iter().map(|k| k[axis]).fold(f64::NEG_INFINITY, f64::max);
            if place[axis] > last {
                inside[axis] = last;
                ahead.push((axis, place[axis] - last));
            }
        }
        let at_edge = near(&inside);
        let gone_on = |(axis, distance): &(usize, f64)| {
            let mut before = inside.clone();
            before[*axis] -= 1.0;
            (at_edge - near(&before)) * fading(*distance)
        };
        at_edge + ahead.iter().map(gone_on).sum::<f64>()
    }
}

/// How many steps of growth are left of so many, if each counts half of the one before.
fn fading(distance: f64) -> f64 {
    2.0 * (1.0 - 0.5f64.powf(distance))
}

/// The errors that known ones suggest at other points.
pub fn suggested(design: &Design, errors: &[f64], known: &[usize], asked: &[usize], likeness: &Likeness) -> Vec<f64> {
    let shares = Kriging::new(design, known, likeness).shares(errors);
    let place = |i: usize| design.axes.iter().map(|axis| axis.ln[axis.place[i] as usize] / step(axis)).collect::<Vec<f64>>();
    let places: Vec<Vec<f64>> = known.iter().map(|i| place(*i)).collect();
    asked.iter().map(|&i| likeness.suggested(&places, &shares, &place(i))).collect()
}

/// How alike the errors at measured points are: powers are taken once for each pair of values of an axis, not of points.
struct Between<'a> {
    design: &'a Design,
    levels: Vec<Vec<f64>>,
}

impl<'a> Between<'a> {
    fn new(design: &'a Design, likeness: &Likeness) -> Self {
        let axis = |(axis, like): (&Axis, &f64)| {
            let (step, count) = (step(axis), axis.len());
            let distance = |k: usize| (axis.ln[k / count] - axis.ln[k % count]).abs() / step;
            (0..count * count).map(|k| after(*like, distance(k))).collect()
        };
        Self { design, levels: design.axes.iter().zip(&likeness.along).map(axis).collect() }
    }

    fn points(&self, i: usize, j: usize) -> f64 {
        let along = |(axis, levels): (&Axis, &Vec<f64>)| levels[axis.place[i] as usize * axis.len() + axis.place[j] as usize];
        self.design.axes.iter().zip(&self.levels).map(along).product()
    }
}

/// The mean size of what is left of each error when the others put it right.
pub fn left_alone(design: &Design, errors: &[f64], likeness: &Likeness) -> f64 {
    let all: Vec<usize> = (0..design.points).collect();
    let kriging = Kriging::new(design, &all, likeness);
    let shares = kriging.shares(errors);
    all.iter().map(|i| (shares[*i] / kriging.of_inverse(*i)).abs()).sum::<f64>() / all.len() as f64
}

/// The equations that tell how much each known error counts, ready to be solved: a lower triangle (Cholesky).
struct Kriging<'k> {
    known: &'k [usize],
    root: Vec<f64>,
}

impl<'k> Kriging<'k> {
    fn new(design: &Design, known: &'k [usize], likeness: &Likeness) -> Self {
        let between = Between::new(design, likeness);
        let size = known.len();
        let entry = |k: usize| between.points(known[k / size], known[k % size]) + if k / size == k % size { likeness.own } else { 0.0 };
        let mut root: Vec<f64> = (0..size * size).map(entry).collect();
        for i in 0..size {
            for j in 0..=i {
                let (before, row) = root.split_at_mut(i * size);
                let other = if i == j { &row[..j] } else { &before[j * size..j * size + j] };
                let rest = row[j] - row[..j].iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
                row[j] = if i == j { rest.max(1e-12).sqrt() } else { rest / before[j * size + j] };
            }
        }
        Self { known, root }
    }

    /// How much each known error counts.
    fn shares(&self, errors: &[f64]) -> Vec<f64> {
        let size = self.known.len();
        let mut right: Vec<f64> = self.known.iter().map(|&i| errors[i]).collect();
        self.forward(0, &mut right);
        for i in (0..size).rev() {
            let known: f64 = (i + 1..size).map(|k| self.root[k * size + i] * right[k]).sum();
            right[i] = (right[i] - known) / self.root[i * size + i];
        }
        right
    }

    /// The entry of the inverse that belongs to one known error alone.
    fn of_inverse(&self, index: usize) -> f64 {
        let mut column = vec![0.0; self.known.len()];
        column[index] = 1.0;
        self.forward(index, &mut column);
        column.iter().map(|v| v * v).sum()
    }

    /// Solves the lower triangle in place, from the first row that is not zero.
    fn forward(&self, first: usize, right: &mut [f64]) {
        let size = right.len();
        for i in first..size {
            let known: f64 = (first..i).map(|k| self.root[i * size + k] * right[k]).sum();
            right[i] = (right[i] - known) / self.root[i * size + i];
        }
    }
}

/// The logarithm of a typical step of an axis.
pub fn step(axis: &Axis) -> f64 {
    (-axis.ln[0] / (axis.len() - 1).max(1) as f64).max(1e-12)
}
