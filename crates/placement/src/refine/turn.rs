//! Whole domains of the network that change places. A placement from the top down says which ranks are together, but not which of two halves of
//! a grid should be on the left: that depends on what is beside them.

use super::board::Exchange;
use super::search::Search;

/// With so many domains after it in the row a domain might change places.
const REACH: usize = 3;

/// How often all domains are tried at most.
const PASSES: usize = 4;

impl Search<'_> {
    /// Lets domains of whole hosts change places, the largest first, as long as that is a gain. Each host has one slot here.
    pub fn turn(&mut self) {
        for _ in 0..PASSES {
            let gains: usize = (0..self.board.fabric.row().cuts.len()).map(|level| self.turn_level(level)).sum();
            if gains == 0 {
                break;
            }
            self.rescale();
        }
    }

    /// Tries the domains of a level; how many gains.
    fn turn_level(&mut self, level: usize) -> usize {
        let row = self.board.fabric.row();
        let cuts = &row.cuts[level];
        let domain = |number: usize| cuts[number]..cuts.get(number + 1).copied().unwrap_or(row.hosts.len());
        let mut gains = 0;
        for one in 0..cuts.len() {
            for other in one + 1..cuts.len().min(one + 1 + REACH) {
                if self.work_left == 0 || domain(one).len() != domain(other).len() {
                    continue;
                }
                let pair = |place: usize, opposite: usize| -> Exchange { [row.hosts[place], row.hosts[opposite]] };
                let as_is: Vec<Exchange> = domain(one).zip(domain(other)).map(|(place, opposite)| pair(place, opposite)).collect();
                let mirrored: Vec<Exchange> = domain(one).zip(domain(other).rev()).map(|(place, opposite)| pair(place, opposite)).collect();
                gains += usize::from(self.make_together(&as_is) || self.make_together(&mirrored));
            }
        }
        gains
    }
}
