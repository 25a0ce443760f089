//! Rules that say which ranks do something, and in which rounds of a loop.

use std::collections::BTreeSet;
use std::fmt;

use super::grid::Spot;

/// Which ranks do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// All.
    Everyone,
    /// The first rank; or all others.
    First(bool),
    /// The last rank; or all others.
    Last(bool),
    /// Even ranks; or odd ones.
    Even(bool),
    /// The lower half of the ranks; or the upper one.
    Lower(bool),
    /// Those whose peer is above them; or below.
    PeerAbove(bool),
    /// Those that are their own peer, as the root of an operation is; or all others.
    OwnPeer(bool),
    /// Those at the beginning of a dimension; or all others.
    Beginning(usize, bool),
    /// Those at the end of a dimension; or all others.
    End(usize, bool),
    /// Those with an even coordinate; or an odd one.
    EvenCoordinate(usize, bool),
    /// Those with an even sum of coordinates, like the black squares of a chessboard; or an odd one.
    Black(bool),
}

impl Who {
    /// All of them in a grid of so many dimensions, simple ones first.
    pub fn all(dimensions: usize) -> Vec<Who> {
        let both = |who: fn(bool) -> Who| [who(true), who(false)];
        let mut all = vec![Who::Everyone];
        all.extend([Who::OwnPeer, Who::First, Who::Last, Who::Even, Who::PeerAbove, Who::Lower].into_iter().flat_map(both));
        for d in (0..dimensions).filter(|_| dimensions > 1) {
            all.extend([Who::Beginning, Who::End, Who::EvenCoordinate].into_iter().flat_map(|who| [who(d, true), who(d, false)]));
        }
        if dimensions > 1 {
            all.extend(both(Who::Black));
        }
        all
    }

    /// Whether a rank does it, with its peer if it has one.
    pub fn holds(self, spot: Spot, peer: Option<u32>) -> bool {
        match self {
            Who::Everyone => true,
            Who::First(yes) => (spot.rank == 0) == yes,
            Who::Last(yes) => (spot.rank + 1 == spot.ranks) == yes,
            Who::Even(yes) => spot.rank.is_multiple_of(2) == yes,
            Who::Lower(yes) => (spot.rank < spot.ranks.div_ceil(2)) == yes,
            Who::PeerAbove(yes) => peer.is_some_and(|peer| if yes { peer > spot.rank } else { peer < spot.rank }),
            Who::OwnPeer(yes) => peer.is_some_and(|peer| (peer == spot.rank) == yes),
            Who::Beginning(d, yes) => (spot.coordinate(d) == 0) == yes,
            Who::End(d, yes) => (spot.coordinate(d) + 1 == spot.grid.side(d)) == yes,
            Who::EvenCoordinate(d, yes) => spot.coordinate(d).is_multiple_of(2) == yes,
            Who::Black(yes) => (0..spot.grid.dimensions()).map(|d| spot.coordinate(d)).sum::<u32>().is_multiple_of(2) == yes,
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = |yes: &bool| if *yes { "" } else { "not " };
        match self {
            Who::Everyone => write!(f, "all ranks"),
            Who::First(true) => write!(f, "rank 0"),
            Who::First(false) => write!(f, "all ranks but 0"),
            Who::Last(true) => write!(f, "the last rank"),
            Who::Last(false) => write!(f, "all ranks but the last"),
            Who::Even(yes) => write!(f, "{} ranks", if *yes { "even" } else { "odd" }),
            Who::Lower(yes) => write!(f, "the {} half of the ranks", if *yes { "lower" } else { "upper" }),
            Who::PeerAbove(yes) => write!(f, "ranks with a {} partner", if *yes { "higher" } else { "lower" }),
            Who::OwnPeer(true) => write!(f, "ranks that are the root"),
            Who::OwnPeer(false) => write!(f, "ranks that are not the root"),
            Who::Beginning(d, yes) => write!(f, "ranks {}at the beginning of dimension {}", not(yes), d + 1),
            Who::End(d, yes) => write!(f, "ranks {}at the end of dimension {}", not(yes), d + 1),
            Who::EvenCoordinate(d, yes) => write!(f, "ranks with an {} place in dimension {}", if *yes { "even" } else { "odd" }, d + 1),
            Who::Black(yes) => write!(f, "ranks with an {} sum of coordinates", if *yes { "even" } else { "odd" }),
        }
    }
}

/// A round of a loop: which one, of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Round {
    /// Its number, from 0.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

/// In which rounds of a loop something is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// In all.
    Always,
    /// In the first; or in all others.
    FirstRound(bool),
    /// In the last; or in all others.
    LastRound(bool),
    /// Again and again in those for which it holds.
    Cycle(Vec<bool>),
}

impl When {
    /// Whether it is done in a round.
    pub fn holds(&self, round: Round) -> bool {
        match self {
            When::Always => true,
            When::FirstRound(yes) => (round.number == 0) == *yes,
            When::LastRound(yes) => (round.number + 1 == round.of) == *yes,
            When::Cycle(done) => done[round.number as usize % done.len()],
        }
    }

    /// The rule that explains in which rounds something was done, if there is one.
    pub fn explaining(seen: &[(Round, bool)]) -> Option<When> {
        let simple = [When::Always, When::FirstRound(true), When::FirstRound(false), When::LastRound(true), When::LastRound(false)];
        let fits = |when: &When| seen.iter().all(|(round, done)| when.holds(*round) == *done);
        simple.into_iter().find(fits).or_else(|| cycle(seen).map(When::Cycle))
    }
}

/// The shortest cycle of values that was seen to come round again; or all of them, if every loop is equally long.
pub fn cycle<T: Clone + PartialEq>(seen: &[(Round, T)]) -> Option<Vec<T>> {
    let shortest = seen.iter().map(|(round, _)| round.of).min()?;
    let longest = seen.iter().map(|(round, _)| round.of).max()?;
    let all = (shortest == longest).then(|| of_length(seen, longest as usize, 1)).flatten();
    (1..=shortest / 2).find_map(|length| of_length(seen, length as usize, 2)).or(all)
}

/// A cycle of this length, each of whose values was seen in so many rounds.
fn of_length<T: Clone + PartialEq>(seen: &[(Round, T)], length: usize, times: usize) -> Option<Vec<T>> {
    let mut values: Vec<(Option<&T>, BTreeSet<u32>)> = vec![(None, BTreeSet::new()); length];
    for (round, value) in seen {
        let (known, rounds) = &mut values[round.number as usize % length];
        if known.is_some_and(|known| known != value) {
            return None;
        }
        *known = Some(value);
        if rounds.len() < times {
            rounds.insert(round.number);
        }
    }
    values.into_iter().map(|(value, rounds)| value.filter(|_| rounds.len() >= times).cloned()).collect()
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            When::Always => write!(f, "in every round"),
            When::FirstRound(yes) => write!(f, "in {}", if *yes { "the first round" } else { "all rounds but the first" }),
            When::LastRound(yes) => write!(f, "in {}", if *yes { "the last round" } else { "all rounds but the last" }),
            When::Cycle(done) => write!(f, "in {} of {} rounds", done.iter().filter(|done| **done).count(), done.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(of: u32, done: impl Fn(u32) -> bool) -> Vec<(Round, bool)> {
        (0..of).map(|number| (Round { number, of }, done(number))).collect()
    }

    #[test]
    fn every_tenth_round_is_a_cycle_and_the_first_and_last_are_not() {
        assert_eq!(When::explaining(&seen(40, |round| round % 10 == 9)).map(|when| when.to_string()), Some("in 1 of 10 rounds".into()));
        assert_eq!(When::explaining(&seen(40, |round| round > 0)), Some(When::FirstRound(false)));
        let both = [seen(4, |round| round == 3), seen(8, |round| round == 7)].concat();
        assert_eq!(When::explaining(&both), Some(When::LastRound(true)));
    }

    #[test]
    fn rounds_without_order_in_loops_of_different_length_are_not_explained() {
        let both = [seen(5, |round| round == 2 || round == 3), seen(7, |round| round == 2)].concat();
        assert_eq!(When::explaining(&both), None);
        assert!(When::explaining(&seen(5, |round| round == 2 || round == 3)).is_some(), "but it can be told for loops of one length");
    }
}
