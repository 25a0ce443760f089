//! A weighted straight line through points that come one at a time.
//!
//! The usual sums of x, x², xy lose all digits when sizes run from bytes to megabytes and times from microseconds to seconds: the residual
//! is a small difference of huge sums. Here the means move with the points and only sums around the means are kept (West 1979), which
//! costs as little and keeps the digits.

/// Sums around the means of the points added so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moments {
    pub count: usize,
    weight: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

/// What the points say of their line.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    pub intercept: f64,
    pub slope: f64,
    /// The weighted sum of squares that the line leaves.
    pub residual: f64,
    /// Variances and covariance of intercept and slope for an error of one (weighted) unit.
    pub spread: Spread,
}

#[derive(Debug, Clone, Copy)]
pub struct Spread {
    pub intercept: f64,
    pub slope: f64,
    pub both: f64,
}

impl Moments {
    pub fn add(&mut self, x: f64, y: f64, weight: f64) {
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

    /// The weighted sum of squares that the best line leaves.
    pub fn residual(&self) -> f64 {
        if self.xx > 0.0 { (self.yy - self.xy * self.xy / self.xx).max(0.0) } else { self.yy }
    }

    pub fn line(&self) -> Line {
        let slope = if self.xx > 0.0 { self.xy / self.xx } else { 0.0 };
        let slope_variance = if self.xx > 0.0 { 1.0 / self.xx } else { 0.0 };
        Line {
            intercept: self.y - slope * self.x,
            slope,
            residual: self.residual(),
            spread: Spread {
                intercept: 1.0 / self.weight + self.x * self.x * slope_variance,
                slope: slope_variance,
                both: -self.x * slope_variance,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tiny_error_on_huge_values_is_not_lost() {
        let mut moments = Moments::default();
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
