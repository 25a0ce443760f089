//! The members of a group in a circle: after the last follows the first.

use super::Party;

impl Party {
    /// The member so many places on; steps are fewer than the members.
    pub(super) const fn after(&self, place: u32, steps: u32) -> u32 {
        let left = self.size - place;
        if steps >= left { steps - left } else { place + steps }
    }

    /// The member so many places back; steps are fewer than the members.
    pub(super) const fn before(&self, place: u32, steps: u32) -> u32 {
        if steps > place { place + (self.size - steps) } else { place - steps }
    }

    /// How many places on from the root this member is.
    pub(super) const fn distance(&self) -> u32 {
        self.before(self.here, self.root)
    }

    /// The member at this distance from the root.
    pub(super) const fn at(&self, distance: u32) -> u32 {
        self.after(self.root, distance)
    }
}
