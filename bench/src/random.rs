//! An order that favours nobody.

/// A source of numbers, the same in every run, so that a measurement can be repeated as it was.
pub(crate) struct Random(u64);

impl Random {
    /// The source.
    pub(crate) fn new() -> Random {
        Random(0x9e37_79b9_7f4a_7c15)
    }

    /// The numbers below `count` in some order.
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for place in (1..count).rev() {
            order.swap(place, self.below(place + 1));
        }
        order
    }

    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The high bits are the random ones.
        ((u128::from(self.0) * limit as u128) >> 64) as usize
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
