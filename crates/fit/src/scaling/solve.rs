//! Least squares for one form with its exponents given, and the step towards better exponents.
//!
//! The model is linear in its coefficients and not in its exponents, so coefficients are eliminated (variable projection): for given
//! exponents they are the solution of a small linear problem, and the exponents move by Gauss and Newton on what is left of the residual
//! (Kaufman's form of the Jacobian). Both solve normal equations, whose sums of products are the cheapest way there is; the residual is not
//! taken from them but from what is left at every point, and coefficients of delicate forms are put right once more, which gives back the
//! digits that normal equations lose.

use super::design::Design;
use super::family::{Family, Slot};
use super::short::{MOST, Short};

/// The largest number of columns of a form, or of derivatives: a term for each factor and a constant.
pub const MOST_COLUMNS: usize = MOST + 1;

/// The values to be fitted, with the square root of each point's weight.
#[derive(Debug, Clone)]
pub struct Target {
    pub values: Vec<f64>,
    pub root_weights: Vec<f64>,
}

/// Columns whose square is less than this share of what it was without the columns before depend on them.
const DEPENDENT: f64 = 1e-13;
/// With a smaller share than this, coefficients are put right once more.
const DELICATE: f64 = 1e-8;

/// Space for fitting and the last result: columns, what they leave of the values, the triangle, the coefficients.
#[derive(Debug)]
pub struct Solver<'a> {
    design: &'a Design,
    weighted: Vec<f64>,
    root_weights: Vec<f64>,
    columns: Vec<f64>,
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
            columns: Vec::new(),
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
        let size = family.columns();
        self.fill(family, exponents);
        self.rest.clear();
        self.rest.extend_from_slice(&self.weighted);
        self.coefficients.clear();
        self.coefficients.resize(size, 0.0);
        squares(&self.columns, self.design.points, size, &mut self.triangle);
        let share = triangle(&mut self.triangle, size);
        if share < DEPENDENT {
            return f64::INFINITY;
        }
        self.solve();
        if share < DELICATE {
            self.solve();
        }
        dot(&self.rest, &self.rest)
    }

    /// Adds to the coefficients what the columns explain of the rest, and takes it away from there.
    fn solve(&mut self) {
        let n = self.design.points;
        let size = self.coefficients.len();
        let mut right = [0.0; MOST_COLUMNS];
        let mut found = [0.0; MOST_COLUMNS];
        self.columns.chunks_exact(n).zip(&mut right).for_each(|(column, r)| *r = dot(column, &self.rest));
        forward_substitute(&self.triangle, size, &mut right);
        back_substitute(&self.triangle, size, &right, &mut found);
        for ((column, add), coefficient) in self.columns.chunks_exact(n).zip(found).zip(&mut self.coefficients) {
            *coefficient += add;
            self.rest.iter_mut().zip(column).for_each(|(rest, value)| *rest -= add * value);
        }
    }

    /// The Gauss-Newton step of the exponents from the last call of [`Self::residual`] with the same arguments.
    pub fn improve(&mut self, family: &Family) {
        let n = self.design.points;
        let (size, slots) = (family.columns(), family.slots.len());
        self.derive(family);
        squares(&self.derivatives, n, slots, &mut self.bend);
        // What coefficients can make up for is taken away from the derivatives' squares, but never all of it.
        let whole: Short<f64> = (0..slots).map(|k| self.bend[k * slots + k]).collect();
        let along: Short<[f64; MOST_COLUMNS]> = self
            .derivatives
            .chunks_exact(n)
            .map(|derivative| {
                let mut along = [0.0; MOST_COLUMNS];
                self.columns.chunks_exact(n).zip(&mut along).for_each(|(column, a)| *a = dot(column, derivative));
                forward_substitute(&self.triangle, size, &mut along);
                along
            })
            .collect();
        for i in 0..slots {
            for j in i..slots {
                self.bend[i * slots + j] -= dot(&along[i][..size], &along[j][..size]);
            }
            self.bend[i * slots + i] = self.bend[i * slots + i].max(DEPENDENT * whole[i]).max(f64::MIN_POSITIVE);
        }
        triangle(&mut self.bend, slots);
        let mut right = [0.0; MOST_COLUMNS];
        self.derivatives.chunks_exact(n).zip(&mut right).for_each(|(derivative, r)| *r = dot(derivative, &self.rest));
        forward_substitute(&self.bend, slots, &mut right);
        self.step.clear();
        self.step.resize(slots, 0.0);
        back_substitute(&self.bend, slots, &right, &mut self.step);
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
        self.columns.clear();
        if family.constant {
            self.columns.extend_from_slice(&self.root_weights);
        }
        for term in family.terms.iter() {
            let first = self.columns.len();
            self.columns.extend_from_slice(&self.root_weights);
            for index in term.slots() {
                let begin: usize = family.slots[..index].iter().map(|s| self.design.axes[s.axis()].len()).sum();
                let axis = &self.design.axes[family.slots[index].axis()];
                let powers = &self.powers[begin..begin + axis.len()];
                for (value, &place) in self.columns[first..first + n].iter_mut().zip(&axis.place) {
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
            let column = &self.columns[(first + t) * n..(first + t + 1) * n];
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

/// The products of columns with each other, as the upper half of a square.
fn squares(columns: &[f64], points: usize, size: usize, out: &mut Vec<f64>) {
    out.clear();
    out.resize(size * size, 0.0);
    for i in 0..size {
        for j in i..size {
            out[i * size + j] = dot(&columns[i * points..(i + 1) * points], &columns[j * points..(j + 1) * points]);
        }
    }
}

/// Turns products of columns into their upper triangle (Cholesky); gives the least share that a column has of its own.
fn triangle(square: &mut [f64], size: usize) -> f64 {
    let mut least: f64 = 1.0;
    for i in 0..size {
        let whole = square[i * size + i];
        let own = whole - (0..i).map(|k| square[k * size + i].powi(2)).sum::<f64>();
        // What is not a number, because a column overflows or vanishes, has no share of its own.
        let share = own / whole;
        least = least.min(if share > 0.0 { share } else { 0.0 });
        let root = own.max(DEPENDENT * whole).max(f64::MIN_POSITIVE).sqrt();
        square[i * size + i] = root;
        for j in i + 1..size {
            let known: f64 = (0..i).map(|k| square[k * size + i] * square[k * size + j]).sum();
            square[i * size + j] = (square[i * size + j] - known) / root;
        }
    }
    least
}

/// Solves the transpose of an upper triangle in place.
fn forward_substitute(triangle: &[f64], size: usize, right: &mut [f64]) {
    for i in 0..size {
        let known: f64 = (0..i).map(|k| triangle[k * size + i] * right[k]).sum();
        right[i] = (right[i] - known) / triangle[i * size + i];
    }
}

/// Solves an upper triangle.
pub fn back_substitute(triangle: &[f64], size: usize, right: &[f64], out: &mut [f64]) {
    for i in (0..size).rev() {
        let known: f64 = (i + 1..size).map(|j| triangle[i * size + j] * out[j]).sum();
        out[i] = (right[i] - known) / triangle[i * size + i];
    }
}
