//! A reproducible random number generator for tests.

/// Linear congruential generator.
pub(crate) struct Lcg(u64);

impl Lcg {
    /// Starts from a seed.
    pub(crate) fn new(seed: u64) -> Lcg {
        Lcg(seed)
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 ^ self.0 >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd)
    }

    /// The next number, below a limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 16) % limit
    }
}
