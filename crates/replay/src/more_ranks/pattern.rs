//! The pattern of a program: its loops and calls as rules, and what it computes in between.

use std::collections::BTreeMap;

use super::Options;
use super::amount::Amount;
use super::error::Impossible;
use super::extrapolated::Extrapolated;
use super::family::{Loop, Part as Piece};
use super::grid::{Grid, GridRule, Spot};
use super::list::List;
use super::open::Open;
use super::part::Part;
use super::peer::Peer;
use super::place::Place;
use super::step::{Handles, Step, Target};
use super::times::Laws;
use super::who::{Round, Who};
use crate::platform::End;

/// A program as rules that hold for any number of ranks.
#[derive(Clone, Debug)]
pub struct Program {
    /// How ranks stand side by side.
    pub grid: GridRule,
    /// Who belongs to the communicators of each kind; the first is the world.
    pub kinds: Vec<Part>,
    /// Whom members of communicators of each kind receive from and send to in operations among neighbours.
    pub neighbours: Vec<[Vec<Peer>; 2]>,
    /// The calls, in program order.
    pub steps: Vec<Step>,
    /// How often each loop goes round.
    pub counts: Vec<Count>,
    /// The loops.
    pub loops: Vec<Loop>,
    /// For each call the loops around it, from the outermost on.
    pub around: Vec<Vec<usize>>,
    /// What stands outside all loops.
    pub body: Vec<Piece>,
    /// The places of calls.
    pub places: Vec<Place>,
}

/// How often a loop goes round.
#[derive(Clone, Debug)]
pub enum Count {
    /// So often.
    Amount(Amount),
    /// For some ranks, so many times for each peer of a list; for others not at all.
    List {
        /// For which ranks.
        who: Who,
        /// The peers.
        list: List,
        /// How many times.
        times: u32,
    },
    /// Once for each request that there is.
    Requests(Handles),
}

impl Count {
    /// How often it goes round for a rank, in these rounds of the loops around it and with these requests.
    pub fn of(&self, spot: Spot, rounds: &[Round], open: &Open) -> u32 {
        match self {
            Count::Amount(amount) => u32::try_from(amount.of(spot, rounds, None).max(0)).unwrap_or(u32::MAX),
            Count::List { who, list, times } => {
                if who.holds(spot, None) {
                    times.saturating_mul(list.length(spot))
                } else {
                    0
                }
            }
            Count::Requests(handles) => handles.count(&open.list),
        }
    }

    /// Whether it is the same in all rounds of the loop at a depth.
    pub fn is_steady(&self, depth: usize) -> bool {
        match self {
            Count::Amount(amount) => amount.is_steady(depth),
            Count::List { .. } | Count::Requests(_) => true,
        }
    }
}

impl Program {
    /// Where a call is made, as people know it.
    pub fn site(&self, step: &Step) -> &str {
        self.places.get(step.shape.site as usize).map_or("?", |place| &place.name)
    }

    /// Which calls a rank ever makes: ranks for which it is the same are alike.
    pub fn behaviour(&self, spot: Spot) -> Vec<bool> {
        self.steps.iter().map(|step| step.is_ever_made_by(spot)).collect()
    }

    /// Whether a rank goes round the loops around a call.
    fn is_reached(&self, node: usize, spot: Spot) -> bool {
        let goes = |number: &usize| match &self.counts[*number] {
            Count::Requests(_) => true,
            count => count.of(spot, &[Round { number: 0, of: 1 }; DEEPEST], &Open::default()) > 0,
        };
        self.around[node].iter().all(goes)
    }

    /// Whether all rounds of a loop are the same.
    pub fn is_steady(&self, number: usize) -> bool {
        let depth = self.loops[number].depth;
        self.is_steady_body(&self.loops[number].body, depth)
    }

    fn is_steady_body(&self, body: &[Piece], depth: usize) -> bool {
        body.iter().all(|piece| match piece {
            Piece::Call(node) => self.steps[*node].is_steady(depth),
            Piece::Loop(inner) => self.counts[*inner].is_steady(depth) && self.is_steady_body(&self.loops[*inner].body, depth),
        })
    }
}

/// How many ranks and rounds are looked at to see whether two rules differ.
const FEW: usize = 16;
/// Deeper than loops are.
const DEEPEST: usize = 32;

/// The pattern of a family of recordings.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub(super) program: Program,
    /// Classes of ranks that are alike, by the calls they make.
    pub(super) classes: BTreeMap<Vec<bool>, usize>,
    pub(super) laws: Laws,
    /// For each loop whether all its rounds are the same.
    pub(super) steady: Vec<bool>,
    /// The numbers of ranks that were recorded.
    pub(super) recorded: Vec<u32>,
    pub(super) options: Options,
}

impl Pattern {
    /// The run with so many ranks, to be replayed.
    pub fn schedule(&self, ranks: u32, which: End) -> Result<Extrapolated<'_>, Impossible> {
        if ranks == 0 {
            return Err(Impossible::NoRanks);
        }
        let most = (1 << 30) / self.program.kinds.len() as u32;
        if ranks > most {
            return Err(Impossible::TooMany { ranks, most });
        }
        let grid = self.grid(ranks)?;
        let spot = Spot { rank: 0, ranks, grid: &grid };
        for step in &self.program.steps {
            let ends = [&step.peer, &step.source];
            if let Some((end, why)) = ends.into_iter().find_map(|end| Some((end, end.impossible(spot)?))) {
                let site = self.program.site(step).to_owned();
                return Err(Impossible::Rule { site, operation: step.shape.operation.name(), rule: end.to_string(), why });
            }
        }
        Ok(Extrapolated::new(self, ranks, grid, which))
    }

    /// A run with as many ranks as one that was recorded, in the grid that it had.
    pub(super) fn recorded(&self, ranks: u32, which: End) -> Option<Extrapolated<'_>> {
        Some(Extrapolated::new(self, ranks, self.program.grid.grid(ranks)?, which))
    }

    /// What is not certain among so many ranks: where other rules explain the recordings as well, but lead elsewhere.
    pub fn doubts(&self, ranks: u32) -> Vec<String> {
        let Ok(grid) = self.grid(ranks) else { return Vec::new() };
        let few = (0..ranks).step_by((ranks as usize / FEW).max(1));
        let spots: Vec<Spot> = few.map(|rank| Spot { rank, ranks, grid: &grid }).collect();
        let differs = |node: usize, step: &Step, who: &Who, other: &Target| {
            spots.iter().copied().filter(|spot| self.program.is_reached(node, *spot)).any(|spot| {
                let made = |who: &Who, target: &Target, number| {
                    let peer = target.of(spot, &[Round { number, of: ranks }; DEEPEST]);
                    peer.filter(|_| who.holds(spot, peer))
                };
                (0..FEW as u32).any(|number| made(&step.who, &step.peer, number) != made(who, other, number))
            })
        };
        let doubt = |(node, step): (usize, &Step)| {
            let (_, other) = step.others.iter().find(|(who, other)| differs(node, step, who, other))?;
            let site = self.program.site(step);
            let operation = step.shape.operation.name();
            Some(format!("{site}: {operation} is taken to go to {}, but {other} explains the recordings as well", step.peer))
        };
        self.program.steps.iter().enumerate().filter_map(doubt).collect()
    }

    fn grid(&self, ranks: u32) -> Result<Grid, Impossible> {
        let impossible = |why| Impossible::Grid { ranks, why };
        match &self.options.grid {
            Some(sides) if sides.len() != self.program.grid.dimensions() => {
                let dimensions = self.program.grid.dimensions();
                Err(impossible(format!("the recordings have {dimensions} dimensions, and {} were given", sides.len())))
            }
            Some(sides) => {
                let given = || impossible(format!("the sides {sides:?} that were given hold another number"));
                GridRule::Given(sides.clone()).grid(ranks).ok_or_else(given)
            }
            None => self.program.grid.grid(ranks).ok_or_else(|| match self.program.grid {
                GridRule::Fixed { side, .. } => impossible(format!("one side is always {side}")),
                _ => impossible("they cannot be divided".into()),
            }),
        }
    }

    /// The class of ranks that a rank is most like.
    pub(super) fn class(&self, spot: Spot) -> usize {
        let behaviour = self.program.behaviour(spot);
        let distance = |other: &Vec<bool>| other.iter().zip(&behaviour).filter(|(a, b)| a != b).count();
        let nearest = || self.classes.iter().min_by_key(|(other, _)| distance(other)).map_or(Laws::EVERYONE, |(_, class)| *class);
        self.classes.get(&behaviour).copied().unwrap_or_else(nearest)
    }
}
