//! Swaps by chance, at first also such as make the cost greater, then less and less of them: out of the places where no single swap helps.

use super::seats::Seats;
use sintonia_fit::Random;

/// Which worsening is still likely at the end, as a part of what swaps change on average.
const COLD: f64 = 0.008;

/// Tries so many swaps; at the beginning a worsening by such a part of what swaps change on average is still likely.
pub(crate) fn anneal(seats: &mut Seats, heat: f64, tries: usize, random: &mut Random) {
    let Some(usual) = usual_change(seats, random) else { return };
    let [first, last] = [heat * usual, COLD * usual];
    let cooling = (last / first).powf(1.0 / (tries / 256).max(1) as f64);
    let mut heat = first;
    for turn in 0..tries {
        if turn % 256 == 255 {
            heat *= cooling;
        }
        let Some([rank, other]) = proposal(seats, random) else { continue };
        let gain = seats.gain(rank, other);
        if gain >= 0.0 || random.unit() < (gain / heat).exp() {
            seats.swap(rank, other);
        }
    }
}

/// What swaps of the kind that is tried change on average.
fn usual_change(seats: &Seats, random: &mut Random) -> Option<f64> {
    let changes: Vec<f64> = (0..2000).filter_map(|_| proposal(seats, random)).map(|[a, b]| seats.gain(a, b).abs()).collect();
    let sum: f64 = changes.iter().sum();
    (sum > 0.0).then(|| sum / changes.len() as f64)
}

/// A rank, and one that is nearer to one of its neighbours; now and then any.
fn proposal(seats: &Seats, random: &mut Random) -> Option<[u32; 2]> {
    let rank = random.below(seats.net.len()) as u32;
    if random.below(32) == 0 {
        return Some([rank, random.below(seats.net.len()) as u32]);
    }
    let (towards, _) = seats.net.arc(rank, random)?;
    let levels = seats.tree.levels();
    let (from, to) = (seats.slot(rank) as usize, seats.slot(towards) as usize);
    let apart = levels.iter().position(|level| level.of[from] != level.of[to])?;
    let level = &levels[apart + random.below(levels.len() - apart)];
    let slots = level.slots(level.of[to]);
    let slot = slots.start + random.below(slots.len()) as u32;
    Some([rank, seats.rank(slot)])
}
