//! Assigns parallel lines to tracks: each gets the first track without overlap.

/// The track of each line, given its first and last row; short lines come first.
pub(super) fn assign_tracks(lines: &[(usize, usize)]) -> Vec<usize> {
    let mut by_length: Vec<usize> = (0..lines.len()).collect();
    by_length.sort_by_key(|line| (lines[*line].0.abs_diff(lines[*line].1), *line));
    let mut taken: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut tracks = vec![0; lines.len()];
    for line in by_length {
        let (first, last) = (lines[line].0.min(lines[line].1), lines[line].0.max(lines[line].1));
        let free = |track: &Vec<(usize, usize)>| track.iter().all(|(begin, end)| last < *begin || *end < first);
        let track = taken.iter().position(free).unwrap_or(taken.len());
        if track == taken.len() {
            taken.push(Vec::new());
        }
        taken[track].push((first, last));
        tracks[line] = track;
    }
    tracks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_meet_lie_on_different_tracks_and_short_ones_inside() {
        assert_eq!(assign_tracks(&[(0, 9), (3, 2), (4, 6), (5, 5)]), [2, 0, 1, 0]);
        assert!(assign_tracks(&[]).is_empty());
    }
}
