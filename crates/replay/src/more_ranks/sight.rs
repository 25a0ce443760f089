//! What was seen of each call and each loop: on which rank of which run, in which rounds of the loops around it.

use super::error::Unrecognised;
use super::family::{Family, Part};
use super::reading::{Piece, Readings};
use super::who::Round;

/// A call that was made, or was not although its turn had come.
#[derive(Clone, Debug)]
pub struct Sight {
    /// The run, by number.
    pub run: usize,
    /// The rank.
    pub rank: u32,
    /// The rounds of the loops around it, from the outermost on.
    pub rounds: Vec<Round>,
    /// The number of the details of the call, if it was made.
    pub call: Option<u32>,
}

/// How often a loop went round.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// The run, by number.
    pub run: usize,
    /// The rank.
    pub rank: u32,
    /// The rounds of the loops around it.
    pub rounds: Vec<Round>,
    /// How often it went round; 0 if it was passed by.
    pub count: u32,
}

/// Everything that was seen.
pub struct Sights {
    /// By node.
    pub calls: Vec<Vec<Sight>>,
    /// By loop.
    pub loops: Vec<Vec<Rounds>>,
}

/// More than this is no pattern.
const MOST: usize = 40_000_000;
/// So many rounds are always looked at.
const SHORT: usize = 32;
/// How many rounds at the beginning of a loop may be different from all later ones.
const LONGEST_BEGINNING: usize = 2;

impl Sights {
    /// Looks through all readings.
    pub fn of(family: &Family, readings: &Readings) -> Result<Sights, Unrecognised> {
        let mut sights = Sights { calls: vec![Vec::new(); family.nodes.len()], loops: vec![Vec::new(); family.loops.len()] };
        let mut looker = Looker { family, readings, sights: &mut sights, room: MOST };
        for reading in &readings.list {
            looker.look(reading.run, reading.rank, &family.body, reading.body, &mut Vec::new())?;
        }
        Ok(sights)
    }
}

struct Looker<'a> {
    family: &'a Family<'a>,
    readings: &'a Readings,
    sights: &'a mut Sights,
    room: usize,
}

impl Looker<'_> {
    fn look(&mut self, run: usize, rank: u32, parts: &[Part], body: u32, rounds: &mut Vec<Round>) -> Result<(), Unrecognised> {
        let readings = self.readings;
        let mut pieces = readings.bodies.get(body).iter().peekable();
        for part in parts {
            match *part {
                Part::Call(node) => {
                    let made = pieces.next_if(|piece| matches!(piece, Piece::Call(at, _) if *at == node));
                    let call = made.and_then(|piece| if let Piece::Call(_, details) = piece { Some(*details) } else { None });
                    self.sights.calls[node].push(Sight { run, rank, rounds: rounds.clone(), call });
                }
                Part::Loop(number) => {
                    let made = pieces.next_if(|piece| matches!(piece, Piece::Loop(at, _) if *at == number));
                    let list = if let Some(Piece::Loop(_, list)) = made { list.as_slice() } else { &[] };
                    self.look_round(run, rank, number, list, rounds)?;
                }
            }
        }
        Ok(())
    }

    fn look_round(
        &mut self,
        run: usize,
        rank: u32,
        number: usize,
        list: &[(u32, u32)],
        rounds: &mut Vec<Round>,
    ) -> Result<(), Unrecognised> {
        let family = self.family;
        let of = list.iter().map(|(_, times)| *times).sum();
        self.sights.loops[number].push(Rounds { run, rank, rounds: rounds.clone(), count: of });
        let bodies: Vec<u32> = list.iter().flat_map(|(body, times)| std::iter::repeat_n(*body, *times as usize)).collect();
        for place in telling(&bodies) {
            let irregular = || Unrecognised::Irregular { site: family.site(family.loops[number].first) };
            self.room = self.room.checked_sub(family.loops[number].body.len()).ok_or_else(irregular)?;
            rounds.push(Round { number: place as u32, of });
            self.look(run, rank, &family.loops[number].body, bodies[place], rounds)?;
            rounds.pop();
        }
        Ok(())
    }
}

/// The rounds that tell everything about a loop: the beginning, two turns of what is repeated, and the end. Of a short loop, all.
fn telling(bodies: &[u32]) -> Vec<usize> {
    let length = bodies.len();
    if length <= SHORT {
        return (0..length).collect();
    }
    let beginnings = (0..=LONGEST_BEGINNING.min(length)).flat_map(|first| [length, length.saturating_sub(1)].map(|end| (first, end)));
    let repeated = beginnings.filter(|(first, end)| first <= end).map(|(first, end)| first + 2 * period(&bodies[first..end]));
    let until = repeated.min().unwrap_or(length).max(SHORT).min(length);
    (0..until).chain(until.max(length.saturating_sub(1))..length).collect()
}

/// After how many rounds the same ones come again.
fn period(bodies: &[u32]) -> usize {
    // For each place, how long an end of what stands before it is also its beginning.
    let mut borders = vec![0; bodies.len()];
    for place in 1..bodies.len() {
        let mut border: usize = borders[place - 1];
        while border > 0 && bodies[border] != bodies[place] {
            border = borders[border - 1];
        }
        borders[place] = border + usize::from(bodies[border] == bodies[place]);
    }
    bodies.len() - borders.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_loop_that_repeats_only_the_beginning_and_the_end_are_looked_at() {
        let looked_at = |bodies: &[u32]| (telling(bodies).len(), telling(bodies).last().copied());
        assert_eq!(looked_at(&[7; 1000]), (33, Some(999)));
        let now_and_then: Vec<u32> = (0..1000).map(|round| u32::from(round % 50 == 49)).collect();
        assert_eq!(looked_at(&now_and_then), (101, Some(999)));
        let mut warmed_up = now_and_then.clone();
        warmed_up[0] = 5;
        assert_eq!(looked_at(&warmed_up), (102, Some(999)));
        assert_eq!(looked_at(&[1, 2, 3, 4, 5]), (5, Some(4)));
        assert!(telling(&[]).is_empty());
    }
}
