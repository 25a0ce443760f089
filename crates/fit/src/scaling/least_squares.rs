//! Least squares for one hypothesis with given exponents, and the Gauss-Newton step towards better exponents.
//!
//! The model is linear in its coefficients but not in its exponents, so the coefficients are eliminated (variable projection): for given
//! exponents they solve a small linear problem, and the exponents follow Gauss-Newton steps on the projected residual (Kaufman's Jacobian). Both
//! solve normal equations, the cheapest method. The residual is computed at every point rather than from the normal equations, and
//! ill-conditioned problems get one step of iterative refinement, which restores the digits that normal equations lose.

use super::bounded_vec::{BoundedVec, CAPACITY};
use super::design::ExperimentDesign;
use super::hypothesis::{FreeFactor, Hypothesis};

/// The maximum number of columns, or of derivatives: one term per factor and a constant.
pub(super) const MAX_COLUMNS: usize = CAPACITY + 1;

/// The values to fit, with the square root of each point's weight.
#[derive(Debug, Clone)]
pub(super) struct RegressionTarget {
    pub values: Vec<f64>,
    pub root_weights: Vec<f64>,
}

/// Columns are collinear if less than this share of their square is orthogonal to the columns before.
const COLLINEAR_SHARE: f64 = 1e-13;
/// Below this share, the coefficients get a step of iterative refinement.
const ILL_CONDITIONED_SHARE: f64 = 1e-8;

/// Work space and last result: columns, residuals, Cholesky factor, coefficients.
#[derive(Debug)]
pub(super) struct LeastSquaresSolver<'a> {
    design: &'a ExperimentDesign,
    weighted: Vec<f64>,
    root_weights: Vec<f64>,
    columns: Vec<f64>,
    derivatives: Vec<f64>,
    residuals: Vec<f64>,
    powers: Vec<f64>,
    /// The coefficients of the last solution, the constant first if there is one.
    pub coefficients: Vec<f64>,
    /// The upper Cholesky factor of the last Gram matrix, in a square row by row.
    pub cholesky: Vec<f64>,
    /// The Gauss-Newton step of the exponents.
    pub step: Vec<f64>,
    /// The upper Cholesky factor of the exponents' information matrix, coefficients eliminated.
    pub information_root: Vec<f64>,
}

impl<'a> LeastSquaresSolver<'a> {
    pub(super) fn new(design: &'a ExperimentDesign, target: &RegressionTarget) -> Self {
        Self {
            design,
            weighted: target.values.iter().zip(&target.root_weights).map(|(y, w)| y * w).collect(),
            root_weights: target.root_weights.clone(),
            columns: Vec::new(),
            derivatives: Vec::new(),
            residuals: Vec::new(),
            powers: Vec::new(),
            coefficients: Vec::new(),
            cholesky: Vec::new(),
            step: Vec::new(),
            information_root: Vec::new(),
        }
    }

    /// The minimum residual for these exponents; keeps coefficients and Cholesky factor. Infinite if columns are collinear.
    pub(super) fn residual(&mut self, hypothesis: &Hypothesis, exponents: &[f64]) -> f64 {
        let size = hypothesis.n_columns();
        self.fill_columns(hypothesis, exponents);
        self.residuals.clear();
        self.residuals.extend_from_slice(&self.weighted);
        self.coefficients.clear();
        self.coefficients.resize(size, 0.0);
        gram_matrix(&self.columns, self.design.n_points, size, &mut self.cholesky);
        let share = cholesky_in_place(&mut self.cholesky, size);
        if share < COLLINEAR_SHARE {
            return f64::INFINITY;
        }
        self.solve();
        if share < ILL_CONDITIONED_SHARE {
            self.solve();
        }
        dot(&self.residuals, &self.residuals)
    }

    /// Projects the residuals onto the columns, and moves that part into the coefficients.
    fn solve(&mut self) {
        let n = self.design.n_points;
        let size = self.coefficients.len();
        let mut right = [0.0; MAX_COLUMNS];
        let mut found = [0.0; MAX_COLUMNS];
        self.columns.chunks_exact(n).zip(&mut right).for_each(|(column, r)| *r = dot(column, &self.residuals));
        forward_substitute(&self.cholesky, size, &mut right);
        back_substitute(&self.cholesky, size, &right, &mut found);
        for ((column, add), coefficient) in self.columns.chunks_exact(n).zip(found).zip(&mut self.coefficients) {
            *coefficient += add;
            self.residuals.iter_mut().zip(column).for_each(|(rest, value)| *rest -= add * value);
        }
    }

    /// The Gauss-Newton step of the exponents, after [`Self::residual`] with the same hypothesis.
    pub(super) fn gauss_newton_step(&mut self, hypothesis: &Hypothesis) {
        let n = self.design.n_points;
        let (size, slots) = (hypothesis.n_columns(), hypothesis.factors.len());
        self.fill_derivatives(hypothesis);
        gram_matrix(&self.derivatives, n, slots, &mut self.information_root);
        // Remove what the coefficients can absorb, but never all of it.
        let whole: BoundedVec<f64> = (0..slots).map(|k| self.information_root[k * slots + k]).collect();
        let along: BoundedVec<[f64; MAX_COLUMNS]> = self
            .derivatives
            .chunks_exact(n)
            .map(|derivative| {
                let mut along = [0.0; MAX_COLUMNS];
                self.columns.chunks_exact(n).zip(&mut along).for_each(|(column, a)| *a = dot(column, derivative));
                forward_substitute(&self.cholesky, size, &mut along);
                along
            })
            .collect();
        for i in 0..slots {
            for j in i..slots {
                self.information_root[i * slots + j] -= dot(&along[i][..size], &along[j][..size]);
            }
            self.information_root[i * slots + i] =
                self.information_root[i * slots + i].max(COLLINEAR_SHARE * whole[i]).max(f64::MIN_POSITIVE);
        }
        cholesky_in_place(&mut self.information_root, slots);
        let mut right = [0.0; MAX_COLUMNS];
        self.derivatives.chunks_exact(n).zip(&mut right).for_each(|(derivative, r)| *r = dot(derivative, &self.residuals));
        forward_substitute(&self.information_root, slots, &mut right);
        self.step.clear();
        self.step.resize(slots, 0.0);
        back_substitute(&self.information_root, slots, &right, &mut self.step);
    }

    /// Whether a coefficient of the last solution is negative, except the constant.
    pub(super) fn has_negative_term(&self, hypothesis: &Hypothesis) -> bool {
        self.coefficients[usize::from(hypothesis.constant)..].iter().any(|c| *c < 0.0)
    }

    /// Fills in the weighted columns.
    fn fill_columns(&mut self, hypothesis: &Hypothesis, exponents: &[f64]) {
        let n = self.design.n_points;
        self.powers.clear();
        for (slot, &exponent) in hypothesis.factors.iter().zip(exponents) {
            self.push_powers(slot, exponent);
        }
        self.columns.clear();
        if hypothesis.constant {
            self.columns.extend_from_slice(&self.root_weights);
        }
        for term in hypothesis.terms.iter() {
            let first = self.columns.len();
            self.columns.extend_from_slice(&self.root_weights);
            for index in term.indices() {
                let begin: usize = hypothesis.factors[..index].iter().map(|s| self.design.axes[s.axis_index()].len()).sum();
                let axis = &self.design.axes[hypothesis.factors[index].axis_index()];
                let powers = &self.powers[begin..begin + axis.len()];
                for (value, &level) in self.columns[first..first + n].iter_mut().zip(&axis.level_index) {
                    *value *= powers[level as usize];
                }
            }
        }
    }

    fn push_powers(&mut self, slot: &FreeFactor, exponent: f64) {
        let axis = &self.design.axes[slot.axis_index()];
        self.powers.extend((0..axis.len()).map(|level| axis.factor(level, exponent, slot.log)));
    }

    /// Fills in the derivative of the fitted values with respect to each exponent.
    fn fill_derivatives(&mut self, hypothesis: &Hypothesis) {
        let n = self.design.n_points;
        self.derivatives.clear();
        self.derivatives.resize(hypothesis.factors.len() * n, 0.0);
        let first = usize::from(hypothesis.constant);
        for (t, term) in hypothesis.terms.iter().enumerate() {
            let coefficient = self.coefficients[first + t];
            let column = &self.columns[(first + t) * n..(first + t + 1) * n];
            for index in term.indices() {
                let axis = &self.design.axes[hypothesis.factors[index].axis_index()];
                let out = &mut self.derivatives[index * n..(index + 1) * n];
                for ((value, &raw), &level) in out.iter_mut().zip(column).zip(&axis.level_index) {
                    *value += coefficient * raw * axis.log_ratios[level as usize];
                }
            }
        }
    }
}

fn norm(values: &[f64]) -> f64 {
    dot(values, values).sqrt()
}

/// Four accumulators, so that additions can overlap.
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

/// Normalises a vector and returns its norm; a zero vector stays unchanged.
pub(super) fn normalise(values: &mut [f64]) -> f64 {
    let length = norm(values);
    let factor = if length > 0.0 { 1.0 / length } else { 1.0 };
    values.iter_mut().for_each(|v| *v *= factor);
    length
}

/// Removes the component along a unit vector and returns it.
pub(super) fn project_out(values: &mut [f64], unit: &[f64]) -> f64 {
    let along = dot(values, unit);
    values.iter_mut().zip(unit).for_each(|(v, u)| *v -= along * u);
    along
}

/// The Gram matrix of columns, upper half only.
fn gram_matrix(columns: &[f64], points: usize, size: usize, out: &mut Vec<f64>) {
    out.clear();
    out.resize(size * size, 0.0);
    for i in 0..size {
        for j in i..size {
            out[i * size + j] = dot(&columns[i * points..(i + 1) * points], &columns[j * points..(j + 1) * points]);
        }
    }
}

/// Upper Cholesky factor in place; returns the smallest share of a column that is orthogonal to those before.
fn cholesky_in_place(square: &mut [f64], size: usize) -> f64 {
    let mut least: f64 = 1.0;
    for i in 0..size {
        let whole = square[i * size + i];
        let own = whole - (0..i).map(|k| square[k * size + i].powi(2)).sum::<f64>();
        // NaN, from a column that overflows or vanishes, counts as no share.
        let share = own / whole;
        least = least.min(if share > 0.0 { share } else { 0.0 });
        let root = own.max(COLLINEAR_SHARE * whole).max(f64::MIN_POSITIVE).sqrt();
        square[i * size + i] = root;
        for j in i + 1..size {
            let known: f64 = (0..i).map(|k| square[k * size + i] * square[k * size + j]).sum();
            square[i * size + j] = (square[i * size + j] - known) / root;
        }
    }
    least
}

/// Solves the transposed upper triangular system in place.
fn forward_substitute(triangle: &[f64], size: usize, right: &mut [f64]) {
    for i in 0..size {
        let known: f64 = (0..i).map(|k| triangle[k * size + i] * right[k]).sum();
        right[i] = (right[i] - known) / triangle[i * size + i];
    }
}

/// Solves an upper triangular system.
pub(super) fn back_substitute(triangle: &[f64], size: usize, right: &[f64], out: &mut [f64]) {
    for i in (0..size).rev() {
        let known: f64 = (i + 1..size).map(|j| triangle[i * size + j] * out[j]).sum();
        out[i] = (right[i] - known) / triangle[i * size + i];
    }
}
