//! Numbers that look random and are the same in every run, for tests.

/// A sequence of numbers.
pub struct Random(u64);

impl Random {
    /// The sequence that starts from a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 ^ self.0 >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd)
    }

    /// The next number, below a limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 16) % limit
    }
}
