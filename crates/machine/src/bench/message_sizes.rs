//! Message sizes to measure.

/// Sizes from 0 to `most`: powers of two, one between each two, and (unless `quick`) a little below and above each, where alignment and
/// protocols matter, as in NetPIPE. More sizes around each of `around`.
pub(super) fn message_sizes(most: u64, quick: bool, around: &[u64]) -> Vec<u64> {
    const PERTURBATION: u64 = 3;
    let mut sizes = vec![0, most];
    for power in (0..63).map(|exponent| 1u64 << exponent).take_while(|power| *power <= most) {
        sizes.extend([power, power + power / 2]);
        if !quick && power >= 32 {
            sizes.extend([power - PERTURBATION, power + PERTURBATION]);
        }
    }
    for &threshold in around {
        let step = (threshold / 16).max(2);
        sizes.extend((0..3).map(|i| threshold.saturating_sub(i * step)));
        sizes.extend((0..3).map(|i| threshold + 1 + i * step));
    }
    sizes.retain(|size| *size <= most);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// At most `most` sizes to add: the middle of the gaps beside points that linear interpolation misses by more than 10 %, worst first.
pub(super) fn refinement_sizes(points: &[(u64, f64)], most: usize) -> Vec<u64> {
    const TOLERANCE: f64 = 0.1;
    let mut missed: Vec<(f64, [u64; 2])> = Vec::new();
    for three in points.windows(3) {
        let [(a, before), (b, value), (c, after)] = [three[0], three[1], three[2]];
        let share = (b - a) as f64 / (c - a).max(1) as f64;
        let miss = (before + share * (after - before) - value).abs() / value;
        if miss > TOLERANCE {
            missed.push((miss, [a + (b - a) / 2, b + (c - b) / 2]));
        }
    }
    missed.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut added: Vec<u64> = Vec::new();
    for size in missed.into_iter().flat_map(|(_, sizes)| sizes) {
        if added.len() < most && !added.contains(&size) && points.iter().all(|(known, _)| *known != size) {
            added.push(size);
        }
    }
    added
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two_and_what_is_between_and_beside() {
        assert_eq!(message_sizes(16, true, &[]), [0, 1, 2, 3, 4, 6, 8, 12, 16]);
        assert_eq!(message_sizes(70, false, &[]), [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 29, 32, 35, 48, 61, 64, 67, 70]);
        let around = message_sizes(100_000, true, &[4040]);
        assert!([4040, 4041, 3788, 4293].iter().all(|size| around.contains(size)), "{around:?}");
        assert_eq!(message_sizes(0, true, &[]), [0]);
    }

    #[test]
    fn sizes_are_added_where_a_line_between_neighbours_misses() {
        let step: Vec<(u64, f64)> = [(0, 1.0), (100, 1.0), (200, 1.0), (300, 3.0), (400, 3.0), (500, 3.0)].to_vec();
        let added = refinement_sizes(&step, 8);
        assert!(added.contains(&250) && !added.contains(&50), "{added:?}");
        assert_eq!(refinement_sizes(&step, 1).len(), 1);
        let straight: Vec<(u64, f64)> = (0..9).map(|i| (i * 10, 1.0 + i as f64)).collect();
        assert!(refinement_sizes(&straight, 8).is_empty());
    }
}
