//! The time of each kind of activity in each column of a raster, over all its rows.

use std::sync::{Mutex, PoisonError};

/// Sums over rows, which may be added by several threads in any order.
pub(super) struct ActivitySums {
    kinds: usize,
    /// Nanoseconds, by column and kind.
    ns: Mutex<Vec<u64>>,
}

impl ActivitySums {
    pub(super) fn new(columns: usize, kinds: usize) -> ActivitySums {
        ActivitySums { kinds, ns: Mutex::new(vec![0; columns * kinds]) }
    }

    /// Adds the cells of a row.
    pub(super) fn add<const KINDS: usize>(&self, cells: &[[f32; KINDS]]) {
        let mut sums = self.ns.lock().unwrap_or_else(PoisonError::into_inner);
        for (sums, cell) in sums.chunks_exact_mut(self.kinds).zip(cells) {
            sums.iter_mut().zip(cell).for_each(|(sum, ns)| *sum += *ns as u64);
        }
    }

    /// The share of each kind in each column, from 0 to 255, column by column.
    pub(super) fn into_shares(self) -> Vec<u8> {
        let sums = self.ns.into_inner().unwrap_or_else(PoisonError::into_inner);
        let shares = sums.chunks_exact(self.kinds.max(1)).flat_map(|column| {
            let all = column.iter().sum::<u64>().max(1) as f64;
            column.iter().map(move |ns| (255.0 * *ns as f64 / all).round() as u8)
        });
        shares.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_added_by_column() {
        let sums = ActivitySums::new(2, 3);
        sums.add(&[[100.0, 0.0, 0.0], [0.0, 50.0, 50.0]]);
        sums.add(&[[0.0, 100.0, 0.0], [0.0, 100.0, 0.0]]);
        assert_eq!(sums.into_shares(), [128, 128, 0, 0, 191, 64]);
    }
}
