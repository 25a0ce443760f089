//! Where a rank is in the loops of the program, as it goes from call to call.
//!
//! What stands further back in program order than the call before belongs to the next round. That holds as well for ranks that pass by
//! the call with which others begin a round.

use super::error::Unrecognised;
use super::family::Family;

/// Hears of loops that are entered, go round and are left.
pub trait Hears {
    /// A loop is entered.
    fn enter(&mut self);
    /// A round of the innermost loop ends.
    fn end_round(&mut self);
    /// The innermost loop, by number, is left after so many rounds.
    fn leave(&mut self, number: usize, rounds: u32);
}

/// A loop that a rank is in.
struct Level {
    number: usize,
    rounds: u32,
    /// What comes next must stand behind this to be of the same round.
    reached: Option<usize>,
}

/// The loops that a rank is in.
#[derive(Default)]
pub struct Nest {
    levels: Vec<Level>,
    reached: Option<usize>,
}

impl Nest {
    /// Leaves and enters loops on the way to a node, and says whether the innermost one has gone round before.
    pub fn come_to(&mut self, node: usize, family: &Family, hears: &mut impl Hears) -> Result<bool, Unrecognised> {
        let around = &family.around[node];
        while self.levels.last().is_some_and(|level| !around.contains(&level.number)) {
            self.leave(hears);
        }
        loop {
            let inner = around.get(self.levels.len()).copied();
            let place = inner.map_or(node, |inner| family.loops[inner].first);
            let until = inner.map_or(node, |inner| family.loops[inner].last);
            let goes_back = |reached: Option<usize>| reached.is_some_and(|reached| place <= reached);
            match self.levels.last_mut() {
                None if goes_back(self.reached) => return Err(Unrecognised::Irregular { site: family.site(node) }),
                None => self.reached = Some(until),
                Some(level) => {
                    if goes_back(level.reached) {
                        level.rounds += 1;
                        hears.end_round();
                    }
                    level.reached = Some(until);
                }
            }
            let Some(inner) = inner else { return Ok(self.levels.last().is_some_and(|level| level.rounds > 0)) };
            self.levels.push(Level { number: inner, rounds: 0, reached: None });
            hears.enter();
        }
    }

    /// Leaves all loops.
    pub fn end(&mut self, hears: &mut impl Hears) {
        while !self.levels.is_empty() {
            self.leave(hears);
        }
    }

    fn leave(&mut self, hears: &mut impl Hears) {
        if let Some(level) = self.levels.pop() {
            hears.end_round();
            hears.leave(level.number, level.rounds + 1);
        }
    }
}

/// Finds out which loops are some.
///
/// Ranks that pass by different calls of one loop seem to make loops of the parts that they have in common. But no rank ever goes round
/// such a part again and again within one round of the loop, and then on to the next.
pub struct Judge<'f> {
    family: &'f Family<'f>,
    /// For each loop whether it ever went round.
    went_round: Vec<bool>,
    /// For each loop whether it did while the one around it went round as well.
    within: Vec<bool>,
    /// For each loop that a rank is in, those inside it that went round.
    inside: Vec<Vec<usize>>,
}

impl<'f> Judge<'f> {
    /// Nothing is known yet.
    pub fn new(family: &'f Family<'f>) -> Judge<'f> {
        let loops = family.loops.len();
        Judge { family, went_round: vec![false; loops], within: vec![false; loops], inside: Vec::new() }
    }

    /// For each loop whether it is one; of loops inside each other only the outermost that is none is told.
    pub fn keep(&self) -> Vec<bool> {
        let is_one = |number: usize| match self.family.loops[number].parent {
            None => self.went_round[number],
            Some(_) => self.within[number],
        };
        let mut keep = vec![true; self.went_round.len()];
        for number in 0..keep.len() {
            let mut parent = self.family.loops[number].parent;
            let mut around = true;
            while let Some(outer) = parent {
                around &= keep[outer];
                parent = self.family.loops[outer].parent;
            }
            keep[number] = !around || is_one(number);
        }
        keep
    }
}

impl Hears for Judge<'_> {
    fn enter(&mut self) {
        self.inside.push(Vec::new());
    }

    fn end_round(&mut self) {}

    fn leave(&mut self, number: usize, rounds: u32) {
        let inside = self.inside.pop().unwrap_or_default();
        if rounds > 1 {
            self.went_round[number] = true;
            inside.into_iter().for_each(|inner| self.within[inner] = true);
            if let Some(outer) = self.inside.last_mut() {
                outer.push(number);
            }
        }
    }
}
