//! Shares of time in bins at several widths, for painting wide columns.

use serde::{Deserialize, Serialize};

use super::canvas::{ActivityCanvas, TIME_RANGE, TimeWindow};
use crate::cache_file::is_in_bounds;

/// Maximum number of bins, because a corrupt header can claim any number of calls.
const MAX_BINS: u64 = 1 << 20;
/// With fewer bins, painting would need the single activities anyway.
const MIN_BINS: usize = 1 << 10;
/// Bins of a level that make one bin of the next.
const FOLD_FACTOR: usize = 4;
/// Minimum number of bins per column if there are narrow enough ones, because the position inside a bin is unknown.
const MIN_BINS_PER_COLUMN: i64 = 2;

/// Bins of one width: one byte per bin and lane, with the share of the bin's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BinLevel {
    /// Offset in the file.
    pub at: u64,
    /// Start of the first bin.
    from: i64,
    /// Width of a bin in nanoseconds.
    width: i64,
    /// Number of bins.
    bins: u32,
}

/// Number of activities to put into bins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActivityDensity {
    pub count: u64,
    /// Minimum mean number per bin: with fewer, reading single activities is as fast.
    pub min_per_bin: u64,
}

/// The narrowest worthwhile bins for a time span.
pub(crate) fn finest_window(span: (i64, i64), density: ActivityDensity) -> TimeWindow {
    let bins = (density.count / density.min_per_bin + 1).min(MAX_BINS).next_power_of_two() as i64 / 2;
    let width = (span.1 - span.0) / bins.max(1) + 1;
    TimeWindow::new(span.0, span.0.saturating_add(width.saturating_mul(bins)).min(*TIME_RANGE.end()), bins as usize)
}

/// Writes the bins of a canvas as shares, repeatedly merged into wider bins. Writes none if there are too few activities.
pub(crate) fn write_levels<const N: usize>(
    canvas: &ActivityCanvas<N>,
    density: ActivityDensity,
    lanes: &[u8],
    bytes: &mut Vec<u8>,
) -> Vec<BinLevel> {
    let (from, mut width) = (canvas.window().from(), canvas.window().width(0));
    let (mut bins, mut levels) = (canvas.cells.clone(), Vec::new());
    while bins.len() as u64 * density.min_per_bin > density.count && bins.len() >= MIN_BINS {
        (bins, width) = (fold(&bins, 2), width * 2);
    }
    while bins.len() >= MIN_BINS {
        let at = bytes.len() as u64;
        let share = |bin: &[f32; N], lane: u8| (255.0 * bin[usize::from(lane)] / width as f32).round() as u8;
        bytes.extend(bins.iter().flat_map(|bin| lanes.iter().map(move |lane| share(bin, *lane))));
        levels.push(BinLevel { at, from, width, bins: bins.len() as u32 });
        (bins, width) = (fold(&bins, FOLD_FACTOR), width * FOLD_FACTOR as i64);
    }
    levels
}

fn fold<const N: usize>(bins: &[[f32; N]], by: usize) -> Vec<[f32; N]> {
    let sum = |bins: &[[f32; N]]| std::array::from_fn(|lane| bins.iter().map(|bin| bin[lane]).sum());
    bins.chunks(by).map(sum).collect()
}

/// The widest bins that are narrow enough for the columns of a window. For the narrowest bins, one per column is enough: its content may be
/// painted in the adjacent column, but reading all calls of such a wide window would be slow.
pub(crate) fn coarsest_fitting<'a>(levels: &'a [BinLevel], window: &TimeWindow) -> Option<&'a BinLevel> {
    let fits_column = |level: &&BinLevel, bins: i64| level.width.saturating_mul(bins) <= window.column_ns();
    let fine_enough = levels.iter().rev().find(|level| fits_column(level, MIN_BINS_PER_COLUMN));
    fine_enough.or_else(|| levels.first().filter(|level| fits_column(level, 1)))
}

impl BinLevel {
    /// Whether the bins lie within a file of this length.
    pub(crate) fn is_valid(&self, lanes: usize, length: u64) -> bool {
        let (bins, width) = (i64::from(self.bins), self.width);
        let is_in_range =
            TIME_RANGE.contains(&self.from) && width > 0 && width.checked_mul(bins).is_some_and(|all| TIME_RANGE.contains(&all));
        is_in_range && is_in_bounds(self.at, u64::from(self.bins) * lanes as u64, length)
    }

    /// The bins inside the clip range of a canvas: index of the first, its offset in the file, and their length in bytes.
    pub(crate) fn bins_to_paint<const N: usize>(&self, lanes: usize, canvas: &ActivityCanvas<N>) -> (i64, u64, usize) {
        let (from, to) = canvas.clip_range();
        let bin = |time: i64| ((time - self.from) / self.width).clamp(0, self.bins.into());
        let (first, last) = (bin(from), (bin(to) + 1).min(self.bins.into()));
        (first, self.at + first as u64 * lanes as u64, (last - first).max(0) as usize * lanes)
    }

    /// Paints consecutive bins.
    pub(crate) fn paint<const N: usize>(&self, first: i64, bytes: &[u8], lanes: &[u8], canvas: &mut ActivityCanvas<N>) {
        for (shares, bin) in bytes.chunks_exact(lanes.len().max(1)).zip(first..) {
            let begin = self.from + bin * self.width;
            let shares = lanes.iter().zip(shares).map(|(lane, share)| (usize::from(*lane), f32::from(*share) * (1.0 / 255.0)));
            canvas.paint_shares(begin, begin + self.width, shares);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_at_least_two_bins_if_possible() {
        let levels = [8, 32].map(|width| BinLevel { at: 0, from: 0, width, bins: 1 << 10 });
        let fitting_for = |column: i64| coarsest_fitting(&levels, &TimeWindow::new(0, 100 * column, 100)).map(|level| level.width);
        assert_eq!([7, 8, 16, 63, 64].map(fitting_for), [None, Some(8), Some(8), Some(8), Some(32)]);
    }
}
