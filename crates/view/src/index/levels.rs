//! Shares of time in bins of a run, at several widths: what wide columns are drawn from.

use serde::{Deserialize, Serialize};

use super::canvas::{Canvas, MOMENTS, Window};
use crate::store::is_inside;

/// The most bins: a damaged header can claim any number of calls.
const MOST_BINS: u64 = 1 << 20;
/// With fewer bins than these a picture would need the activities again.
const FEWEST_BINS: usize = 1 << 10;
/// How many bins of a level are one of the next.
const FOLD: usize = 4;
/// So many bins are in a column where there are narrow enough ones: what a bin holds lies somewhere in it.
const PER_COLUMN: i64 = 2;

/// Bins of one width: for each bin and lane one byte, the share of the bin's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// The first byte in the file.
    pub at: u64,
    /// When the first bin begins.
    from: i64,
    /// Nanoseconds of a bin.
    width: i64,
    /// How many bins there are.
    bins: u32,
}

/// Of what bins are made.
#[derive(Clone, Copy, Debug)]
pub struct Activities {
    /// How many there are.
    pub count: u64,
    /// So many are in a bin at least, on average: with fewer it is as quick to read them one by one.
    pub per_bin: u64,
}

/// The narrowest bins that are worth it for activities in a run between two moments.
pub fn window(span: (i64, i64), activities: Activities) -> Window {
    let bins = (activities.count / activities.per_bin + 1).min(MOST_BINS).next_power_of_two() as i64 / 2;
    let width = (span.1 - span.0) / bins.max(1) + 1;
    Window::new(span.0, span.0.saturating_add(width.saturating_mul(bins)).min(*MOMENTS.end()), bins as usize)
}

/// Writes the bins of a canvas as shares, and folded again and again; none if there are too few activities for it.
pub fn write<const N: usize>(canvas: &Canvas<N>, activities: Activities, lanes: &[u8], bytes: &mut Vec<u8>) -> Vec<Level> {
    let (from, mut width) = (canvas.window().from(), canvas.window().width(0));
    let (mut bins, mut levels) = (canvas.cells.clone(), Vec::new());
    while bins.len() as u64 * activities.per_bin > activities.count && bins.len() >= FEWEST_BINS {
        (bins, width) = (fold(&bins, 2), width * 2);
    }
    while bins.len() >= FEWEST_BINS {
        let at = bytes.len() as u64;
        let share = |bin: &[f32; N], lane: u8| (255.0 * bin[usize::from(lane)] / width as f32).round() as u8;
        bytes.extend(bins.iter().flat_map(|bin| lanes.iter().map(move |lane| share(bin, *lane))));
        levels.push(Level { at, from, width, bins: bins.len() as u32 });
        (bins, width) = (fold(&bins, FOLD), width * FOLD as i64);
    }
    levels
}

fn fold<const N: usize>(bins: &[[f32; N]], by: usize) -> Vec<[f32; N]> {
    let sum = |bins: &[[f32; N]]| std::array::from_fn(|lane| bins.iter().map(|bin| bin[lane]).sum());
    bins.chunks(by).map(sum).collect()
}

/// The widest bins that are narrow enough for the columns of a window. Of the narrowest, one in a column has to do: what it holds is drawn in
/// the right column or in the one beside it, while to read the calls of a window that wide takes long.
pub fn fitting<'a>(levels: &'a [Level], window: &Window) -> Option<&'a Level> {
    let in_a_column = |level: &&Level, bins: i64| level.width.saturating_mul(bins) <= window.column_ns();
    let narrow = levels.iter().rev().find(|level| in_a_column(level, PER_COLUMN));
    narrow.or_else(|| levels.first().filter(|level| in_a_column(level, 1)))
}

impl Level {
    /// Whether all of it lies in the first so many bytes of a file.
    pub fn fits(&self, lanes: usize, length: u64) -> bool {
        let (bins, width) = (i64::from(self.bins), self.width);
        let moments = MOMENTS.contains(&self.from) && width > 0 && width.checked_mul(bins).is_some_and(|all| MOMENTS.contains(&all));
        moments && is_inside(self.at, u64::from(self.bins) * lanes as u64, length)
    }

    /// The bins that touch a canvas where it can be painted: the first of them, the first byte in the file, and how many bytes.
    pub fn part<const N: usize>(&self, lanes: usize, canvas: &Canvas<N>) -> (i64, u64, usize) {
        let (from, to) = canvas.clipped();
        let bin = |moment: i64| ((moment - self.from) / self.width).clamp(0, self.bins.into());
        let (first, last) = (bin(from), (bin(to) + 1).min(self.bins.into()));
        (first, self.at + first as u64 * lanes as u64, (last - first).max(0) as usize * lanes)
    }

    /// Paints bins from the first on.
    pub fn paint<const N: usize>(&self, first: i64, bytes: &[u8], lanes: &[u8], canvas: &mut Canvas<N>) {
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
    fn columns_have_two_bins_or_more_and_one_only_where_there_are_no_narrower_ones() {
        let levels = [8, 32].map(|width| Level { at: 0, from: 0, width, bins: 1 << 10 });
        let fitting_for = |column: i64| fitting(&levels, &Window::new(0, 100 * column, 100)).map(|level| level.width);
        assert_eq!([7, 8, 16, 63, 64].map(fitting_for), [None, Some(8), Some(8), Some(8), Some(32)]);
    }
}
