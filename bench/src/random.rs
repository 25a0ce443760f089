//! An order that favours nobody.

/// A source of numbers, the same in every run, so that a measurement can be repeated as it was.
pub(crate) struct Random(fastrand::Rng);

impl Random {
    /// The source.
    pub(crate) fn new() -> Random {
        Random(fastrand::Rng::with_seed(1))
    }

    /// The numbers below `count` in some order.
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        self.0.shuffle(&mut order);
        order
    }

    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0.usize(..limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_names_everyone_once() {
        let mut order = Random::new().order(10);
        order.sort_unstable();
        assert_eq!(order, (0..10).collect::<Vec<_>>());
    }
}
