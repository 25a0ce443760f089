//! Rules that say how many: bytes of a message, rounds of a loop, the number that is a tag.

use std::collections::BTreeMap;
use std::fmt;

use super::grid::Spot;
use super::growth::Law;
use super::share::Share;
use super::who::{Round, When, Who, cycle};

/// A number that depends on the rank, on how many there are, and on the rounds of loops.
#[derive(Clone, Debug, PartialEq)]
pub enum Amount {
    /// Always the same.
    Constant(i64),
    /// It grows with the number of ranks.
    Grows(Law),
    /// A share of something that is divided.
    Share(Share),
    /// It is less by so much for each end of some dimensions of the grid that the rank is at, as it has fewer neighbours there.
    Neighbours {
        /// The number inside the grid.
        inside: i64,
        /// By how much it is less at each end.
        less: i64,
        /// The dimensions.
        along: Vec<bool>,
    },
    /// One number for some ranks, another one for all others.
    If(Who, Box<Amount>, Box<Amount>),
    /// These in turn, as the loop at this depth goes round.
    Turns(usize, Vec<Amount>),
    /// One number in the first round of the loop at this depth, or in the last one; another one in all others.
    Except {
        /// The depth of the loop.
        depth: usize,
        /// In which rounds the first of the two holds.
        when: When,
        /// The number in that round, and the number in all others.
        numbers: Box<[Amount; 2]>,
    },
    /// It changes by so much in each round of the loop at this depth.
    Counts {
        /// The depth of the loop.
        depth: usize,
        /// The number in the first round.
        first: i64,
        /// What is added in each.
        step: i64,
    },
    /// It doubles in each round of the loop at this depth; or halves, so that the last has the number.
    Doubles {
        /// The depth of the loop.
        depth: usize,
        /// The smallest number.
        least: i64,
        /// Whether it halves.
        halves: bool,
    },
    /// The rank itself, and so many more.
    Own(i64),
    /// The rank of the peer, and so many more.
    Peers(i64),
    /// Near a power of the number of ranks: `factor * p^exponent`.
    About {
        /// The factor.
        factor: f64,
        /// The exponent.
        exponent: f64,
    },
}

/// A number that was recorded.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Where.
    pub spot: Spot<'a>,
    /// In which rounds of the loops around the call, from the outermost on.
    pub rounds: &'a [Round],
    /// The peer of the call, if it has one.
    pub peer: Option<u32>,
    /// The number.
    pub value: i64,
}

/// The longest cycle of rounds in which each has a rule of its own.
const MOST_TURNS: u32 = 16;

impl Amount {
    /// The number in a place, with these rounds of loops.
    pub fn of(&self, spot: Spot, rounds: &[Round], peer: Option<u32>) -> i64 {
        match self {
            Amount::Constant(value) => *value,
            Amount::Grows(law) => law.of(spot),
            Amount::Share(share) => share.of(spot, peer),
            Amount::Neighbours { inside, less, along } => inside - less * ends(spot, along),
            Amount::If(who, yes, no) => if who.holds(spot, peer) { yes } else { no }.of(spot, rounds, peer),
            Amount::Turns(depth, amounts) => amounts[rounds[*depth].number as usize % amounts.len()].of(spot, rounds, peer),
            Amount::Except { depth, when, numbers } => {
                let [there, elsewhere] = &**numbers;
                if when.holds(rounds[*depth]) { there } else { elsewhere }.of(spot, rounds, peer)
            }
            Amount::Counts { depth, first, step } => first + step * i64::from(rounds[*depth].number),
            Amount::Doubles { depth, least, halves } => {
                let Round { number, of } = rounds[*depth];
                let times = if *halves { of.saturating_sub(number + 1) } else { number };
                least.saturating_mul(1i64.checked_shl(times).unwrap_or(i64::MAX))
            }
            Amount::Own(more) => i64::from(spot.rank) + more,
            Amount::Peers(more) => peer.map_or(0, i64::from) + more,
            Amount::About { factor, exponent } => (factor * f64::from(spot.ranks).powf(*exponent)).round() as i64,
        }
    }

    /// Whether it is the same in all rounds of the loop at a depth.
    pub fn is_steady(&self, depth: usize) -> bool {
        match self {
            Amount::Turns(own, amounts) => *own != depth && amounts.iter().all(|amount| amount.is_steady(depth)),
            Amount::Counts { depth: own, .. } | Amount::Doubles { depth: own, .. } => *own != depth,
            Amount::If(_, yes, no) => yes.is_steady(depth) && no.is_steady(depth),
            Amount::Except { depth: own, numbers, .. } => *own != depth && numbers.iter().all(|number| number.is_steady(depth)),
            _ => true,
        }
    }

    /// The rule that gives exactly these numbers, if there is one.
    pub fn explaining(seen: &[Seen]) -> Option<Amount> {
        let Some(first) = seen.first() else { return Some(Amount::Constant(0)) };
        let fits = |amount: &Amount| seen.iter().all(|one| amount.of(one.spot, one.rounds, one.peer) == one.value);
        steady(seen)
            .or_else(|| split(seen))
            .or_else(|| neighbours(seen))
            .or_else(|| (0..first.rounds.len()).rev().find_map(|depth| in_rounds(seen, depth)))
            .filter(fits)
    }

    /// A rule that gives about these numbers: what the mean of each run grows like.
    pub fn about(seen: &[Seen]) -> Amount {
        let mut means: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for one in seen {
            let (sum, count) = means.entry(one.spot.ranks).or_default();
            (*sum, *count) = (*sum + one.value as f64, *count + 1.0);
        }
        let points: Vec<(f64, f64)> =
            means.iter().map(|(ranks, (sum, count))| (f64::from(*ranks).ln(), (sum / count).max(1e-9).ln())).collect();
        let many = points.len() as f64;
        let (x, y) = (points.iter().map(|p| p.0).sum::<f64>() / many, points.iter().map(|p| p.1).sum::<f64>() / many);
        let across: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
        let exponent = if across > 0.0 { points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / across } else { 0.0 };
        Amount::About { factor: (y - exponent * x).exp(), exponent }
    }
}

/// A rule in which rounds do not matter and all ranks are alike.
fn steady(seen: &[Seen]) -> Option<Amount> {
    let first = seen.first()?;
    let same = |of: fn(&Seen) -> Option<i64>| {
        let value = of(first)?;
        seen.iter().all(|one| of(one) == Some(value)).then_some(value)
    };
    if let Some(value) = same(|one| Some(one.value)) {
        return Some(Amount::Constant(value));
    }
    if let Some(law) = Law::explaining(&seen.iter().map(|one| (one.spot, one.value)).collect::<Vec<_>>()) {
        return Some(Amount::Grows(law));
    }
    if let Some(more) = same(|one| Some(one.value - i64::from(one.spot.rank))) {
        return Some(Amount::Own(more));
    }
    if let Some(more) = same(|one| Some(one.value - i64::from(one.peer?))) {
        return Some(Amount::Peers(more));
    }
    Share::explaining(seen).map(Amount::Share)
}

/// How many ends of these dimensions a rank is at.
fn ends(spot: Spot, along: &[bool]) -> i64 {
    let at = |d: usize| i64::from(spot.coordinate(d) == 0) + i64::from(spot.coordinate(d) + 1 == spot.grid.side(d));
    (0..along.len()).filter(|d| along[*d]).map(at).sum()
}

/// Less for each neighbour that a rank does not have.
fn neighbours(seen: &[Seen]) -> Option<Amount> {
    let dimensions = seen.first()?.spot.grid.dimensions();
    (1..1u32 << dimensions).rev().find_map(|bits| {
        let along: Vec<bool> = (0..dimensions).map(|d| bits & 1 << d != 0).collect();
        let by_ends: BTreeMap<i64, i64> = seen.iter().map(|one| (ends(one.spot, &along), one.value)).collect();
        let ((few, more), (many, fewer)) = (by_ends.first_key_value()?, by_ends.last_key_value()?);
        let less = (more - fewer).checked_div(many - few)?;
        let amount = Amount::Neighbours { inside: more + less * few, less, along };
        seen.iter().all(|one| amount.of(one.spot, one.rounds, one.peer) == one.value).then_some(amount)
    })
}

/// Two rules, one for some ranks and one for the others.
fn split(seen: &[Seen]) -> Option<Amount> {
    let dimensions = seen.first()?.spot.grid.dimensions();
    Who::all(dimensions).into_iter().skip(1).find_map(|who| {
        let (yes, no): (Vec<Seen>, Vec<Seen>) = seen.iter().copied().partition(|one| who.holds(one.spot, one.peer));
        if yes.is_empty() || no.is_empty() {
            return None;
        }
        Some(Amount::If(who, Box::new(steady(&yes)?), Box::new(steady(&no)?)))
    })
}

/// A rule in which the rounds of the loop at a depth matter.
fn in_rounds(seen: &[Seen], depth: usize) -> Option<Amount> {
    let by_round: Vec<(Round, i64)> = seen.iter().map(|one| (one.rounds[depth], one.value)).collect();
    let fits = |amount: &Amount| seen.iter().all(|one| amount.of(one.spot, one.rounds, one.peer) == one.value);
    let first = by_round.iter().find(|(round, _)| round.number == 0).map(|(_, value)| *value);
    let next = by_round.iter().find(|(round, _)| round.number == 1).map(|(_, value)| *value);
    let counts = first.zip(next).map(|(first, next)| Amount::Counts { depth, first, step: next - first });
    let least = by_round.iter().map(|(_, value)| *value).min().unwrap_or(0);
    let doubles = [false, true].map(|halves| Amount::Doubles { depth, least, halves });
    if let Some(found) = counts.into_iter().chain(doubles).find(fits) {
        return Some(found);
    }
    for when in [When::FirstRound(true), When::LastRound(true)] {
        let (there, elsewhere): (Vec<Seen>, Vec<Seen>) = seen.iter().copied().partition(|one| when.holds(one.rounds[depth]));
        let number = |seen: &[Seen]| steady(seen).or_else(|| split(seen));
        if let Some(numbers) = number(&there).zip(number(&elsewhere)) {
            return Some(Amount::Except { depth, when, numbers: Box::new([numbers.0, numbers.1]) });
        }
    }
    if let Some(values) = cycle(&by_round) {
        return Some(Amount::Turns(depth, values.into_iter().map(Amount::Constant).collect()));
    }
    let shortest = by_round.iter().map(|(round, _)| round.of).min()?;
    let longest = by_round.iter().map(|(round, _)| round.of).max()?;
    (2..=shortest.min(MOST_TURNS)).filter(|length| length * 2 <= shortest || *length == longest).find_map(|length| {
        let turn = |number: u32| seen.iter().copied().filter(|one| one.rounds[depth].number % length == number).collect::<Vec<_>>();
        let amounts: Option<Vec<Amount>> = (0..length).map(|number| steady(&turn(number)).or_else(|| split(&turn(number)))).collect();
        amounts.map(|amounts| Amount::Turns(depth, amounts)).filter(|amount| fits(amount))
    })
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Constant(value) => write!(f, "{value}"),
            Amount::Grows(law) => write!(f, "{law}"),
            Amount::Share(share) => write!(f, "{share}"),
            Amount::Except { when, numbers, .. } => write!(f, "{} {when}, else {}", numbers[0], numbers[1]),
            Amount::Neighbours { inside, less, .. } => write!(f, "{inside}, less {less} for each neighbour that there is not,"),
            Amount::If(who, yes, no) => write!(f, "{yes} for {who}, else {no}"),
            Amount::Turns(_, amounts) if amounts.len() > 4 => write!(f, "{} numbers in turn", amounts.len()),
            Amount::Turns(_, amounts) => write!(f, "in turn {}", amounts.iter().map(Amount::to_string).collect::<Vec<_>>().join("; ")),
            Amount::Counts { first, step, .. } => write!(f, "{first}, {}, {} ..", first + step, first + 2 * step),
            Amount::Doubles { least, halves: false, .. } => write!(f, "{least}, {}, {} ..", least * 2, least * 4),
            Amount::Doubles { least, halves: true, .. } => write!(f, ".. {}, {}, {least}", least * 4, least * 2),
            Amount::Own(more) => write!(f, "rank {more:+}"),
            Amount::Peers(more) => write!(f, "peer {more:+}"),
            Amount::About { factor, exponent } => write!(f, "about {:.4} p^{:.2}", factor, exponent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::more_ranks::grid::{Grid, GridRule};

    fn grids() -> Vec<Grid> {
        [4, 8, 16].map(|ranks| GridRule::Even(vec![0, 1]).grid(ranks).unwrap()).into()
    }

    fn found(grids: &[Grid], rounds: impl Fn(u32) -> Vec<Round>, value: impl Fn(Spot, &[Round]) -> i64) -> Option<Amount> {
        let spots = grids.iter().zip([4, 8, 16]).flat_map(|(grid, ranks)| (0..ranks).map(move |rank| Spot { rank, ranks, grid }));
        let places: Vec<(Spot, Vec<Round>)> =
            spots.flat_map(|spot| rounds(spot.ranks).into_iter().map(move |round| (spot, vec![round]))).collect();
        let seen: Vec<Seen> =
            places.iter().map(|(spot, rounds)| Seen { spot: *spot, rounds, peer: None, value: value(*spot, rounds) }).collect();
        Amount::explaining(&seen)
    }

    fn once(_: u32) -> Vec<Round> {
        vec![Round { number: 0, of: 1 }]
    }

    #[test]
    fn uneven_shares_of_a_dimension_are_recognised_and_go_on() {
        let grids = grids();
        let share = |n: i64, spot: Spot| {
            let (place, parts) = (i64::from(spot.coordinate(1)), i64::from(spot.grid.side(1)));
            8 * (n / parts + i64::from(place < n % parts))
        };
        let rule = found(&grids, once, |spot, _| share(101, spot)).unwrap();
        let larger = GridRule::Even(vec![0, 1]).grid(64).unwrap();
        for rank in 0..64 {
            let spot = Spot { rank, ranks: 64, grid: &larger };
            assert_eq!(rule.of(spot, &[], None), share(101, spot));
        }
    }

    #[test]
    fn what_doubles_from_round_to_round_is_recognised() {
        let rounds = |ranks: u32| (0..ranks.ilog2()).map(|number| Round { number, of: ranks.ilog2() }).collect();
        let rule = found(&grids(), rounds, |_, rounds| 8 << rounds[0].number);
        assert_eq!(rule, Some(Amount::Doubles { depth: 0, least: 8, halves: false }));
        let rule = found(&grids(), rounds, |spot, rounds| i64::from(8 * spot.ranks) >> (rounds[0].number + 1));
        assert_eq!(rule, Some(Amount::Doubles { depth: 0, least: 8, halves: true }));
    }

    #[test]
    fn the_root_may_have_more_than_the_others() {
        let rule = found(&grids(), once, |spot, _| if spot.rank == 0 { 8 * i64::from(spot.ranks) } else { 0 }).unwrap();
        assert_eq!(rule.to_string(), "8 p for rank 0, else 0");
    }

    #[test]
    fn numbers_without_a_law_are_not_explained_exactly_but_about() {
        let grids = grids();
        let value = |spot: Spot, _: &[Round]| 1000 + i64::from(spot.rank * 7919 % 31);
        assert_eq!(found(&grids, once, value), None);
        let spots: Vec<Spot> = (0..16).map(|rank| Spot { rank, ranks: 16, grid: &grids[2] }).collect();
        let seen: Vec<Seen> = spots.iter().map(|spot| Seen { spot: *spot, rounds: &[], peer: None, value: value(*spot, &[]) }).collect();
        let about = Amount::about(&seen).of(spots[0], &[], None);
        assert!((1000..1031).contains(&about));
    }
}
