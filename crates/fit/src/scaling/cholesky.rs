//! Cholesky factors of small matrices.

/// The lower Cholesky factor of a symmetric matrix. Systems can be solved if its diagonal is positive.
#[derive(Debug, Clone)]
pub(super) struct CholeskyFactor {
    size: usize,
    root: Vec<f64>,
}

impl CholeskyFactor {
    /// That of the matrix with these elements, of which only the lower half is asked for; zero where no variance is left.
    pub(super) fn new(size: usize, element: impl Fn(usize, usize) -> f64) -> Self {
        Self::with_least_variance(size, 0.0, element)
    }

    /// The same, where at least this variance is left by the rows before.
    pub(super) fn with_least_variance(size: usize, least: f64, element: impl Fn(usize, usize) -> f64) -> Self {
        let mut root = vec![0.0; size * size];
        for i in 0..size {
            let (before, row) = root.split_at_mut(i * size);
            for j in 0..=i {
                let other = if i == j { &row[..j] } else { &before[j * size..j * size + j] };
                let rest = element(i, j) - row[..j].iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
                row[j] = match before.get(j * size + j).copied() {
                    None => rest.max(least).sqrt(),
                    Some(0.0) => 0.0,
                    Some(diagonal) => rest / diagonal,
                };
            }
        }
        Self { size, root }
    }

    /// The logarithm of the product of its diagonal.
    pub(super) fn log_determinant(&self) -> f64 {
        (0..self.size).map(|i| self.at(i, i).ln()).sum()
    }

    /// An element.
    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        self.root[row * self.size + column]
    }

    /// Solves `L y = values` in place.
    pub(super) fn whiten(&self, values: &mut [f64]) {
        self.whiten_from(0, values);
    }

    /// The same for values that are zero before the first of these rows.
    fn whiten_from(&self, first: usize, values: &mut [f64]) {
        for i in first..self.size {
            let row = &self.root[i * self.size + first..i * self.size + i];
            let known: f64 = row.iter().zip(&values[first..]).map(|(a, b)| a * b).sum();
            values[i] = (values[i] - known) / self.at(i, i);
        }
    }

    /// The factor times a vector.
    pub(super) fn multiply(&self, values: &[f64]) -> Vec<f64> {
        (0..self.size).map(|i| (0..=i).map(|j| self.at(i, j) * values[j]).sum()).collect()
    }

    /// A diagonal element of the inverse of the matrix.
    pub(super) fn inverse_diagonal(&self, index: usize) -> f64 {
        let mut column = vec![0.0; self.size];
        column[index] = 1.0;
        self.whiten_from(index, &mut column);
        column.iter().map(|v| v * v).sum()
    }

    /// The solution of `L y = values`.
    pub(super) fn solve_lower(&self, values: &[f64]) -> Vec<f64> {
        let mut solved = values.to_vec();
        self.whiten(&mut solved);
        solved
    }

    /// The solution of `Lᵀ y = values`.
    pub(super) fn solve_upper(&self, values: &[f64]) -> Vec<f64> {
        let mut solved = values.to_vec();
        for i in (0..self.size).rev() {
            let known: f64 = (i + 1..self.size).map(|k| self.at(k, i) * solved[k]).sum();
            solved[i] = (solved[i] - known) / self.at(i, i);
        }
        solved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_solves_a_system() {
        let matrix = [[4.0, 2.0, 0.4], [2.0, 5.0, 1.0], [0.4, 1.0, 3.0]];
        let factor = CholeskyFactor::new(3, |i, j| matrix[i][j]);
        let solved = factor.solve_upper(&factor.solve_lower(&[1.0, 2.0, 3.0]));
        for (row, expected) in matrix.iter().zip([1.0, 2.0, 3.0]) {
            let product: f64 = row.iter().zip(&solved).map(|(a, b)| a * b).sum();
            assert!((product - expected).abs() < 1e-12, "{product} is not {expected}");
        }
        let product = factor.multiply(&[1.0, 0.0, 0.0]);
        assert_eq!(product, [2.0, 1.0, 0.2]);
        // The inverse has the cofactor of the first element over the determinant in its corner.
        assert!((factor.inverse_diagonal(0) - 14.0 / 44.8).abs() < 1e-12);
        // The determinant is 4 (15 - 1) - 2 (6 - 0.4) + 0.4 (2 - 2).
        assert!((2.0 * factor.log_determinant() - 44.8_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn rows_without_variance_are_zero() {
        let factor = CholeskyFactor::new(2, |_, _| 1.0);
        assert_eq!(factor.multiply(&[3.0, 5.0]), [3.0, 3.0]);
    }
}
