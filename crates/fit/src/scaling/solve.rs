//! Least squares for one form with its exponents given, and the step towards better exponents.
//!
//! The model is linear in its coefficients and not in its exponents, so coefficients are eliminated (variable projection): for given
//! exponents they are the solution of a small linear problem, and the exponents move by Gauss and Newton on what is left of the residual
//! (Kaufman's form of the Jacobian). Columns are made orthogonal one after the other, which keeps the digits that normal equations lose.

use super::design::Design;
use super::family::{Family, Slot};

/// The largest number of columns of a form, derivatives included.
const MOST_COLUMNS: usize = 40;

/// The values to be fitted, with the square root of each point's weight; weight 0 leaves a point out.
#[derive(Debug, Clone)]
pub struct Target {
    pub values: Vec<f64>,
    pub root_weights: Vec<f64>,
}

impl Target {
    /// How many points count.
    pub fn points(&self) -> usize {
        self.root_weights.iter().filter(|w| **w > 0.0).count()
    }
}

/// Space for fitting and the last result: the columns made orthogonal, their triangle, the coefficients.
#[derive(Debug)]
pub struct Solver<'a> {
    design: &'a Design,
    weighted: Vec<f64>,
    root_weights: Vec<f64>,
    raw: Vec<f64>,
    orthogonal: Vec<f64>,
    derivatives: Vec<f64>,
    rest: Vec<f64>,
    powers: Vec<f64>,
    /// The coefficients of the last solution: the constant first, if there is one.
    pub coefficients: Vec<f64>,
    /// The upper triangle of the last solution, row by row in a square.
    pub triangle: Vec<f64>,
    /// The Gauss-Newton step of the exponents.
    pub step: Vec<f64>,
    /// The upper triangle of the exponents, coefficients eliminated: their information is its square.
    pub bend: Vec<f64>,
}

impl<'a> Solver<'a> {
    pub fn new(design: &'a Design, target: &Target) -> Self {
        Self {
            design,
            weighted: target.values.iter().zip(&target.root_weights).map(|(y, w)| y * w).collect(),
            root_weights: target.root_weights.clone(),
            raw: Vec::new(),
            orthogonal: Vec::new(),
            derivatives: Vec::new(),
            rest: Vec::new(),
            powers: Vec::new(),
            coefficients: Vec::new(),
            triangle: Vec::new(),
            step: Vec::new(),
            bend: Vec::new(),
        }
    }

    /// The least residual with these exponents; coefficients and triangle are kept. Infinite if columns depend on each other.
    pub fn residual(&mut self, family: &Family, exponents: &[f64]) -> f64 {
        let n = self.design.points;
        let columns = family.columns();
        self.fill(family, exponents);
        self.orthogonal.clear();
        self.orthogonal.extend_from_slice(&self.raw);
        self.rest.clear();
        self.rest.extend_from_slice(&self.weighted);
        self.triangle.clear();
        self.triangle.resize(columns * columns, 0.0);
        let mut projections = [0.0; MOST_COLUMNS];
        for j in 0..columns {
            let (done, after) = self.orthogonal.split_at_mut((j + 1) * n);
            let column = &mut done[j * n..];
            let before = norm(&self.raw[j * n..(j + 1) * n]);
            let length = normalise(column);
            if length.is_nan() || length <= 1e-9 * before || length < 1e-150 {
                return f64::INFINITY;
            }
            self.triangle[j * columns + j] = length;
            for (l, other) in after.chunks_exact_mut(n).enumerate() {
                self.triangle[j * columns + j + 1 + l] = take_away(other, column);
            }
            projections[j] = take_away(&mut self.rest, column);
        }
        self.coefficients.clear();
        self.coefficients.resize(columns, 0.0);
        back_substitute(&self.triangle, columns, &projections[..columns], &mut self.coefficients);
        self.rest.iter().map(|v| v * v).sum()
    }

    /// The Gauss-Newton step of the exponents from the last call of [`Self::residual`] with the same arguments.
    pub fn improve(&mut self, family: &Family) {
        let n = self.design.points;
        let (columns, slots) = (family.columns(), family.slots.len());
        self.derive(family);
        self.bend.clear();
        self.bend.resize(slots * slots, 0.0);
        self.step.clear();
        self.step.resize(slots, 0.0);
        let mut projections = [0.0; MOST_COLUMNS];
        for j in 0..slots {
            let (done, after) = self.derivatives.split_at_mut((j + 1) * n);
            let column = &mut done[j * n..];
            if j == 0 {
                for basis in self.orthogonal[..columns * n].chunks_exact(n) {
                    take_away(column, basis);
                    after.chunks_exact_mut(n).for_each(|other| {
                        take_away(other, basis);
                    });
                }
            }
            self.bend[j * slots + j] = normalise(column).max(1e-100);
            for (l, other) in after.chunks_exact_mut(n).enumerate() {
                self.bend[j * slots + j + 1 + l] = take_away(other, column);
            }
            projections[j] = take_away(&mut self.rest, column);
        }
        back_substitute(&self.bend, slots, &projections[..slots], &mut self.step);
    }

    /// Whether a coefficient of the last solution is negative, the constant apart.
    pub fn has_negative_term(&self, family: &Family) -> bool {
        self.coefficients[usize::from(family.constant)..].iter().any(|c| *c < 0.0)
    }

    /// The weighted columns.
    fn fill(&mut self, family: &Family, exponents: &[f64]) {
        let n = self.design.points;
        self.powers.clear();
        for (slot, &exponent) in family.slots.iter().zip(exponents) {
            self.push_powers(slot, exponent);
        }
        self.raw.clear();
        if family.constant {
            self.raw.extend_from_slice(&self.root_weights);
        }
        for term in family.terms.iter() {
            let first = self.raw.len();
            self.raw.extend_from_slice(&self.root_weights);
            for index in term.slots() {
                let begin: usize = family.slots[..index].iter().map(|s| self.design.axes[s.axis()].len()).sum();
                let axis = &self.design.axes[family.slots[index].axis()];
                let powers = &self.powers[begin..begin + axis.len()];
                for (value, &place) in self.raw[first..first + n].iter_mut().zip(&axis.place) {
                    *value *= powers[place as usize];
                }
            }
        }
    }

    fn push_powers(&mut self, slot: &Slot, exponent: f64) {
        let axis = &self.design.axes[slot.axis()];
        self.powers.extend((0..axis.len()).map(|place| axis.factor(place, exponent, slot.log)));
    }

    /// The derivative of the fitted values by each exponent.
    fn derive(&mut self, family: &Family) {
        let n = self.design.points;
        self.derivatives.clear();
        self.derivatives.resize(family.slots.len() * n, 0.0);
        let first = usize::from(family.constant);
        for (t, term) in family.terms.iter().enumerate() {
            let coefficient = self.coefficients[first + t];
            let column = &self.raw[(first + t) * n..(first + t + 1) * n];
            for index in term.slots() {
                let axis = &self.design.axes[family.slots[index].axis()];
                let out = &mut self.derivatives[index * n..(index + 1) * n];
                for ((value, &raw), &place) in out.iter_mut().zip(column).zip(&axis.place) {
                    *value += coefficient * raw * axis.ln[place as usize];
                }
            }
        }
    }
}

fn norm(values: &[f64]) -> f64 {
    dot(values, values).sqrt()
}

/// Four sums at a time, so that the processor need not wait for each addition.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a4, b4) = (a.chunks_exact(4), b.chunks_exact(4));
    let tail: f64 = a4.remainder().iter().zip(b4.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a4.zip(b4) {
        for i in 0..4 {
            sums[i] += x[i] * y[i];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail
}

/// Makes a vector one long and says how long it was; a vector of no length stays as it is.
pub fn normalise(values: &mut [f64]) -> f64 {
    let length = norm(values);
    let factor = if length > 0.0 { 1.0 / length } else { 1.0 };
    values.iter_mut().for_each(|v| *v *= factor);
    length
}

/// Takes the part along a unit vector away and says how long it was.
pub fn take_away(values: &mut [f64], unit: &[f64]) -> f64 {
    let along = dot(values, unit);
    values.iter_mut().zip(unit).for_each(|(v, u)| *v -= along * u);
    along
}

/// Solves an upper triangle.
pub fn back_substitute(triangle: &[f64], size: usize, right: &[f64], out: &mut [f64]) {
    for i in (0..size).rev() {
        let known: f64 = (i + 1..size).map(|j| triangle[i * size + j] * out[j]).sum();
        out[i] = (right[i] - known) / triangle[i * size + i];
    }
}
