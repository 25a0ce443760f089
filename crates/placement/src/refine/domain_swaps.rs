//! Swaps whole network domains. Top-down partitioning determines which ranks are together, but not the orientation of the parts, which
//! depends on their surroundings.

use super::swap_search::SwapSearch;
use super::working_placement::SlotSwap;

/// A domain is swapped with at most this many following ones.
const MAX_DOMAIN_DISTANCE: usize = 3;

/// Maximum number of passes over all domains.
const MAX_PASSES: usize = 4;

impl SwapSearch<'_> {
    /// Swaps domains of whole hosts, largest first, as long as that improves the placement. Each host has one slot here.
    pub(super) fn swap_domains(&mut self) {
        for _ in 0..MAX_PASSES {
            let gains: usize =
                (0..self.placement.fabric.host_order().domain_starts.len()).map(|level| self.swap_domains_of_level(level)).sum();
            if gains == 0 {
                break;
            }
            self.rescale();
        }
    }

    /// Tries the domains of a level; returns the number of improvements.
    fn swap_domains_of_level(&mut self, level: usize) -> usize {
        let row = self.placement.fabric.host_order();
        let cuts = &row.domain_starts[level];
        let domain = |number: usize| cuts[number]..cuts.get(number + 1).copied().unwrap_or(row.hosts.len());
        let mut gains = 0;
        for one in 0..cuts.len() {
            for other in one + 1..cuts.len().min(one + 1 + MAX_DOMAIN_DISTANCE) {
                if self.work_budget == 0 || domain(one).len() != domain(other).len() {
                    continue;
                }
                let pair = |index: usize, opposite: usize| -> SlotSwap { [row.hosts[index], row.hosts[opposite]] };
                let as_is: Vec<SlotSwap> = domain(one).zip(domain(other)).map(|(index, opposite)| pair(index, opposite)).collect();
                let mirrored: Vec<SlotSwap> = domain(one).zip(domain(other).rev()).map(|(index, opposite)| pair(index, opposite)).collect();
                gains += usize::from(self.apply_batch(&as_is) || self.apply_batch(&mirrored));
            }
        }
        gains
    }
}
