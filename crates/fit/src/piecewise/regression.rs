//! Weighted linear regression over points that arrive one at a time.
//!
//! Plain sums of x, x², xy lose all precision when sizes range from bytes to megabytes and times from microseconds to seconds: the residual is a
//! small difference of huge sums. These sums are centred on running means (West 1979), which costs as little and keeps the digits.

/// Centred sums of the points added so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RegressionSums {
    pub count: usize,
    weight: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

/// A weighted least squares line.
#[derive(Debug, Clone, Copy)]
pub(super) struct RegressionLine {
    pub intercept: f64,
    pub slope: f64,
    /// The weighted residual sum of squares.
    pub residual: f64,
    /// Variances and covariance of intercept and slope for unit (weighted) error variance.
    pub spread: LineCovariance,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct LineCovariance {
    pub intercept: f64,
    pub slope: f64,
    pub intercept_slope: f64,
}

impl RegressionSums {
    pub(super) fn add(&mut self, x: f64, y: f64, weight: f64) {
        self.count += 1;
        self.weight += weight;
        let share = weight / self.weight;
        let (from_x, from_y) = (x - self.x, y - self.y);
        self.x += share * from_x;
        self.y += share * from_y;
        self.xx += weight * from_x * (x - self.x);
        self.xy += weight * from_x * (y - self.y);
        self.yy += weight * from_y * (y - self.y);
    }

    /// The weighted residual sum of squares of the best line.
    pub(super) fn residual(&self) -> f64 {
        if self.xx > 0.0 { (self.yy - self.xy * self.xy / self.xx).max(0.0) } else { self.yy }
    }

    pub(super) fn line(&self) -> RegressionLine {
        let slope = if self.xx > 0.0 { self.xy / self.xx } else { 0.0 };
        let slope_variance = if self.xx > 0.0 { 1.0 / self.xx } else { 0.0 };
        RegressionLine {
            intercept: self.y - slope * self.x,
            slope,
            residual: self.residual(),
            spread: LineCovariance {
                intercept: 1.0 / self.weight + self.x * self.x * slope_variance,
                slope: slope_variance,
                intercept_slope: -self.x * slope_variance,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_residuals_survive_large_values() {
        let mut moments = RegressionSums::default();
        for i in 0..100 {
            let x = 1e9 + f64::from(i);
            let wiggle = if i % 2 == 0 { 1e-3 } else { -1e-3 };
            moments.add(x, 3.0 * (x - 1e9) + 5.0 + wiggle, 1.0);
        }
        let line = moments.line();
        assert!((line.slope - 3.0).abs() < 1e-5);
        assert!((line.residual / 1e-4 - 1.0).abs() < 0.01, "{}", line.residual);
    }
}
