//! What things cost on a machine.
//!
//! Messages and groups cost lines by pieces of their size. Each line has two prices, one for the start and one for each byte; how often they are
//! paid is a formula that is zero for sizes of other pieces. So everything that a machine file says is a list of prices, and a time is a
//! sum of prices times counts.

use std::collections::BTreeMap;

use sintonia_formula::{Formula, Piece};
use sintonia_machine::{Collective, Cost, Figure, Line, Machine, Message, Named, PairClass, Pieces};

use super::bill::{Item, Per};
use super::planner::Tariff;
use super::{EstimateError, Seconds, number};
use crate::model::{Computer, Language, Operation};
use crate::vocabulary;

/// The prices of a machine for programs of a language.
pub(crate) struct Prices<'a> {
    machine: &'a Machine,
    language: Language,
}

/// The prices with messages of a class.
pub(crate) struct Class<'a> {
    prices: &'a Prices<'a>,
    class: PairClass,
}

impl<'a> Prices<'a> {
    pub(crate) fn new(machine: &'a Machine, language: Language) -> Prices<'a> {
        Prices { machine, language }
    }

    pub(crate) fn machine(&self) -> &'a Machine {
        self.machine
    }

    pub(crate) fn tariff(&self, class: PairClass) -> Class<'_> {
        Class { prices: self, class }
    }

    /// What an item costs on nodes of a kind; messages and groups cost the same everywhere.
    pub(crate) fn of(&self, item: &Item, kind: usize, class: PairClass) -> Seconds {
        let price = match item {
            Item::Second => Some([1.0; 3]),
            Item::Operation(operation) => self.cost(operation, kind).map(between),
            Item::Message { piece, per, .. } => self.pieces(class).and_then(|pieces| line(pieces, *piece, *per)),
            Item::Group { operation, at, piece, per } => {
                let group = self.machine.group(*operation).and_then(|group| group.at.get(*at));
                group.and_then(|at| line(&at.timing.pieces, *piece, *per))
            }
        };
        // The tariff has refused what has no price.
        price.unwrap_or_default()
    }

    fn cost(&self, operation: &Operation, kind: usize) -> Option<&Cost> {
        let (of, arithmetic) = vocabulary::arithmetic(&operation.name, operation.of.as_deref())?;
        vocabulary::costs(self.machine.nodes.get(kind)?, self.language).get(&of)?.get(&arithmetic)
    }

    /// What a message takes: in Java the way of a task, in C from one process to the other, or else at the sender.
    fn pieces(&self, class: PairClass) -> Option<&Pieces> {
        let messages = &self.machine.network(class)?.messages;
        let first: &[Message] = if self.language == Language::Java { &[Message::Task] } else { &[] };
        let known = first.iter().chain(&[Message::Transfer, Message::Send]).find_map(|message| messages.get(message));
        known.map(|timing| &timing.pieces)
    }
}

/// Between operations that follow closely and those that need each other's results.
fn between(cost: &Cost) -> Seconds {
    let (fast, slow) = (&cost.throughput, &cost.latency);
    let (low, high) = (fast.low().min(slow.low()), slow.high().max(fast.high()));
    [low, (fast.middle() + slow.middle()) / 2.0, high]
}

fn line(pieces: &Pieces, piece: usize, per: Per) -> Option<Seconds> {
    let line: &Line = pieces.iter().nth(piece)?.1;
    let figure: Figure = if per == Per::Start { line.intercept } else { line.slope };
    Some(figure.into())
}

impl Tariff for Class<'_> {
    fn knows(&self, operation: &Operation) -> Result<(), EstimateError> {
        let lacks = (0..self.prices.machine.nodes.len()).find(|kind| self.prices.cost(operation, *kind).is_none());
        let Some(kind) = lacks else { return Ok(()) };
        let node = &self.prices.machine.nodes[kind];
        Err(EstimateError::UnknownOperation {
            operation: vocabulary::called(operation),
            kind: node.kind.clone(),
            table: if self.prices.language == Language::C { "compute" } else { "java" },
            known: vocabulary::known(vocabulary::costs(node, self.prices.language)),
        })
    }

    fn message(&self, _: &Computer, _: &Computer, bytes: &Formula) -> Result<Vec<(Item, Formula)>, EstimateError> {
        let pieces = self.prices.pieces(self.class).ok_or(EstimateError::NoMessages)?;
        Ok(lines(pieces, bytes, |piece, per| Item::Message { piece, per, between: None }))
    }

    fn group(&self, operation: Collective, bytes: &Formula, processes: &Formula) -> Result<Vec<(Item, Formula)>, EstimateError> {
        let known = || self.prices.machine.groups.keys().map(|group| group.name()).collect::<Vec<_>>().join(", ");
        let group = self.prices.machine.group(operation);
        let group = group.ok_or_else(|| EstimateError::NoGroup { operation: operation.name(), known: known() })?;
        let mut items: BTreeMap<Item, Formula> = BTreeMap::new();
        for (place, at) in group.at.iter().enumerate() {
            let is_last = place + 1 == group.at.len();
            // Between measured numbers of processes the next greater one holds, beyond the last it grows.
            let below = place.checked_sub(1).map(|before| number(group.at[before].processes as f64));
            let growth = group.growth.substitute("p", processes);
            let up_to = Piece::up_to(number(at.processes as f64), Formula::one());
            let beyond = Piece::beyond(if is_last { growth } else { Formula::zero() });
            let held = below.map(|below| Piece::up_to(below, Formula::zero())).into_iter().chain([up_to, beyond]);
            let held = Formula::pieces(processes, held);
            for (item, count) in lines(&at.timing.pieces, bytes, |piece, per| Item::Group { operation, at: place, piece, per }) {
                items.insert(item, &held * count);
            }
        }
        Ok(items.into_iter().collect())
    }
}

/// How often the prices of each line are paid for so many bytes: smaller ones than were measured cost what the smallest measured do.
fn lines(pieces: &Pieces, bytes: &Formula, item: impl Fn(usize, Per) -> Item) -> Vec<(Item, Formula)> {
    let least = number(pieces.from_bytes());
    let bytes = &if least.is_zero() { bytes.clone() } else { Formula::max_of([bytes.clone(), least]) };
    let bounds: Vec<Formula> = pieces.bounded().iter().map(|(bound, _)| number(bound.middle())).collect();
    let held = |piece: usize| {
        if bounds.is_empty() {
            return Formula::one();
        }
        let before = piece.checked_sub(1).map(|before| Piece::up_to(bounds[before].clone(), Formula::zero()));
        let own = bounds.get(piece).map(|bound| Piece::up_to(bound.clone(), Formula::one()));
        let beyond = Piece::beyond(if own.is_some() { Formula::zero() } else { Formula::one() });
        Formula::pieces(bytes, before.into_iter().chain(own).chain([beyond]))
    };
    let both = |piece: usize| {
        let held = held(piece);
        [(item(piece, Per::Start), held.clone()), (item(piece, Per::Byte), held * bytes)]
    };
    (0..=bounds.len()).flat_map(both).filter(|(_, count)| !count.is_zero()).collect()
}
