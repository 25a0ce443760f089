//! What one member of a collective needs beyond the semantics of MPI, in one word: there is one for each call.

use bytemuck::{Pod, Zeroable};

/// What one member of a collective needs beyond the semantics of MPI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct MemberNeeds(u32);

impl MemberNeeds {
    const BY_ALGORITHM: u32 = 1 << 31;

    /// Whether it needs what the algorithm requires, and another member by communicator rank.
    pub(super) fn new(by_algorithm: bool, other: Option<u32>) -> MemberNeeds {
        let other = other.filter(|rank| *rank < MemberNeeds::BY_ALGORITHM - 1).map_or(0, |rank| rank + 1);
        MemberNeeds(other | if by_algorithm { MemberNeeds::BY_ALGORITHM } else { 0 })
    }

    pub(super) fn is_by_algorithm(self) -> bool {
        self.0 & MemberNeeds::BY_ALGORITHM != 0
    }

    pub(super) fn other(self) -> Option<u32> {
        (self.0 & !MemberNeeds::BY_ALGORITHM).checked_sub(1)
    }
}
