//! What a formula leaves unexplained, where that has a pattern.
//!
//! A cache that overflows or a network that fills up bends the truth away from every formula. Such errors are alike at neighbouring
//! settings, so near the measurements a prediction can be put right by the errors around it (kriging); far away it is the formula alone.

use super::design::{Axis, Design};
use serde::{Deserialize, Serialize};

/// How alike the relative errors at neighbouring settings are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Likeness {
    /// For each parameter, the correlation one step of its axis apart.
    pub along: Vec<f64>,
    /// The share of an error that neighbours do not have in common.
    pub own: f64,
}

impl Likeness {
    /// The correlation at given distances, in steps of each axis.
    fn at(&self, distances: impl Iterator<Item = f64>) -> f64 {
        self.along.iter().zip(distances).map(|(like, d)| if d < 1e-9 { 1.0 } else { like.powf(d) }).product()
    }
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
    /// The correction that follows from the relative errors at the measured points.
    pub fn new(design: &Design, points: Vec<Vec<f64>>, errors: &[f64], likeness: Likeness) -> Self {
        let all: Vec<usize> = (0..points.len()).collect();
        let shares = shares(design, errors, &all, &likeness);
        Self { likeness, steps: design.axes.iter().map(step).collect(), points, shares }
    }

    /// The factor that puts a prediction right.
    pub fn at(&self, x: &[f64]) -> f64 {
        let alike = |point: &[f64]| self.likeness.at(x.iter().zip(point).zip(&self.steps).map(|((a, b), step)| (a / b).ln().abs() / step));
        let sum: f64 = self.points.iter().zip(&self.shares).map(|(point, share)| share * alike(point)).sum();
        1.0 / (1.0 + sum)
    }
}

/// The relative errors that known ones suggest at other points.
pub fn suggested(design: &Design, errors: &[f64], known: &[usize], asked: &[usize], likeness: &Likeness) -> Vec<f64> {
    let shares = shares(design, errors, known, likeness);
    asked.iter().map(|&i| known.iter().zip(&shares).map(|(&j, s)| s * alike(design, i, j, likeness)).sum()).collect()
}

/// How much each known error counts.
fn shares(design: &Design, errors: &[f64], known: &[usize], likeness: &Likeness) -> Vec<f64> {
    let size = known.len();
    let entry = |k: usize| {
        let own = if k / size == k % size { likeness.own } else { 0.0 };
        own + alike(design, known[k / size], known[k % size], likeness)
    };
    let mut matrix: Vec<f64> = (0..size * size).map(entry).collect();
    let mut right: Vec<f64> = known.iter().map(|&i| errors[i]).collect();
    solve_symmetric(&mut matrix, size, &mut right);
    right
}

/// The logarithm of a typical step of an axis.
fn step(axis: &Axis) -> f64 {
    (-axis.ln[0] / (axis.len() - 1).max(1) as f64).max(1e-12)
}

fn alike(design: &Design, i: usize, j: usize, likeness: &Likeness) -> f64 {
    likeness.at(design.axes.iter().map(|axis| (axis.ln[axis.place[i] as usize] - axis.ln[axis.place[j] as usize]).abs() / step(axis)))
}

/// Solves a positive definite system in place (Cholesky).
fn solve_symmetric(matrix: &mut [f64], size: usize, right: &mut [f64]) {
    for j in 0..size {
        for k in 0..j {
            let factor = matrix[j * size + k];
            for i in j..size {
                matrix[i * size + j] -= matrix[i * size + k] * factor;
            }
        }
        let root = matrix[j * size + j].max(1e-12).sqrt();
        for i in j..size {
            matrix[i * size + j] /= root;
        }
    }
    for i in 0..size {
        let known: f64 = (0..i).map(|k| matrix[i * size + k] * right[k]).sum();
        right[i] = (right[i] - known) / matrix[i * size + i];
    }
    for i in (0..size).rev() {
        let known: f64 = (i + 1..size).map(|k| matrix[k * size + i] * right[k]).sum();
        right[i] = (right[i] - known) / matrix[i * size + i];
    }
}
