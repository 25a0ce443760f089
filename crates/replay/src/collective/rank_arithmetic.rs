//! Rank arithmetic modulo the group size.

use super::Participant;

impl Participant {
    /// The rank `steps` further on; `steps` is less than the group size.
    pub(super) const fn after(&self, rank: u32, steps: u32) -> u32 {
        let remaining = self.size - rank;
        if steps >= remaining { steps - remaining } else { rank + steps }
    }

    /// The rank `steps` further back; `steps` is less than the group size.
    pub(super) const fn before(&self, rank: u32, steps: u32) -> u32 {
        if steps > rank { rank + (self.size - steps) } else { rank - steps }
    }

    /// Rank relative to the root.
    pub(super) const fn relative_rank(&self) -> u32 {
        self.before(self.rank, self.root)
    }

    /// Rank in the group, from a rank relative to the root.
    pub(super) const fn absolute_rank(&self, distance: u32) -> u32 {
        self.after(self.root, distance)
    }
}
