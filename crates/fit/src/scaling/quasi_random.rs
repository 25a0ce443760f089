//! Roberts's additive sequence: points that fill a cube evenly. It takes the place of random numbers, so the same measurements give the same
//! model.

/// The sequence in a cube of some dimensions.
pub(super) struct AdditiveSequence {
    /// The generalised golden ratio: the root of x^(d+1) = x + 1 for d dimensions.
    root: f64,
}

impl AdditiveSequence {
    pub(super) fn new(dimensions: usize) -> Self {
        Self { root: (0..40).fold(2.0_f64, |root, _| (1.0 + root).powf(1.0 / (dimensions as f64 + 1.0))) }
    }

    /// By how much a coordinate, from 0, differs between neighbours.
    pub(super) fn step(&self, coordinate: usize) -> f64 {
        self.root.powi(-(coordinate as i32 + 1))
    }

    /// A coordinate, from 0, of a point; strictly between 0 and 1.
    pub(super) fn coordinate(&self, point: usize, coordinate: usize) -> f64 {
        inside((0.5 + self.step(coordinate) * point as f64).fract())
    }
}

/// A share that has a finite normal quantile.
pub(super) fn inside(share: f64) -> f64 {
    share.clamp(1e-6, 1.0 - 1e-6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tenth_of_each_side_of_a_cube_has_a_tenth_of_the_points() {
        let sequence = AdditiveSequence::new(2);
        for coordinate in 0..2 {
            let count = |tenth: usize| (0..1000).filter(|point| (10.0 * sequence.coordinate(*point, coordinate)) as usize == tenth).count();
            assert!((0..10).map(count).all(|count| (95..=105).contains(&count)), "{coordinate}");
        }
    }
}
