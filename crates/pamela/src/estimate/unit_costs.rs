//! Unit costs of a machine.
//!
//! Messages and collectives have piecewise linear timings. Each segment has two unit costs, the start-up and the cost per byte; their
//! counts are formulas that are zero for sizes in other segments. So a machine file is a list of unit costs, and a time is a sum of unit
//! costs times counts.

use std::collections::BTreeMap;

use sintonia_formula::{Formula, PiecewiseCase};
use sintonia_machine::{CollectiveKind, Machine, MessageMetric, Named, OperationCost, PairClass, PiecewiseCost};

use super::cost_vector::{CostItem, TransferCost};
use super::planner::CostModel;
use super::{EstimateError, Seconds, to_formula};
use crate::model::{ComputeOp, Computer, SourceLanguage};
use crate::vocabulary;

/// The unit costs of a machine for programs of a language.
pub(crate) struct UnitCosts<'a> {
    machine: &'a Machine,
    language: SourceLanguage,
}

/// The unit costs with messages of a class.
pub(crate) struct MachineCostModel<'a> {
    prices: &'a UnitCosts<'a>,
    class: PairClass,
}

impl<'a> UnitCosts<'a> {
    pub(crate) fn new(machine: &'a Machine, language: SourceLanguage) -> UnitCosts<'a> {
        UnitCosts { machine, language }
    }

    pub(crate) fn machine(&self) -> &'a Machine {
        self.machine
    }

    pub(crate) fn cost_model(&self, class: PairClass) -> MachineCostModel<'_> {
        MachineCostModel { prices: self, class }
    }

    /// The unit cost of an item on a kind of node; messages and collectives cost the same everywhere.
    pub(crate) fn unit_cost(&self, item: &CostItem, kind: usize, class: PairClass) -> Seconds {
        let price = match item {
            CostItem::Delay => Some([1.0; 3]),
            CostItem::Operation(operation) => self.cost(operation, kind).map(cost_range),
            CostItem::Message { piece, part: per, .. } => self.pieces(class).and_then(|pieces| segment_cost(pieces, *piece, *per)),
            CostItem::Collective { operation, process_index: at, piece, part: per } => {
                let group = self.machine.collective_cost(*operation).and_then(|group| group.timings.get(*at));
                group.and_then(|at| segment_cost(&at.timing.pieces, *piece, *per))
            }
        };
        // The cost model has already rejected items without a cost.
        price.unwrap_or_default()
    }

    fn cost(&self, operation: &ComputeOp, kind: usize) -> Option<&OperationCost> {
        let (of, arithmetic) = vocabulary::arithmetic(&operation.name, operation.data_type.as_deref())?;
        vocabulary::costs(self.machine.nodes.get(kind)?, self.language).get(&of)?.get(&arithmetic)
    }

    /// The timing of messages: in Java that of a task; in C the transfer between processes, or else the send.
    fn pieces(&self, class: PairClass) -> Option<&PiecewiseCost> {
        let messages = &self.machine.network(class)?.messages;
        let first: &[MessageMetric] = if self.language == SourceLanguage::Java { &[MessageMetric::Task] } else { &[] };
        let known = first.iter().chain(&[MessageMetric::Transfer, MessageMetric::Send]).find_map(|message| messages.get(message));
        known.map(|timing| &timing.pieces)
    }
}

/// Between the throughput and the latency of an operation.
fn cost_range(cost: &OperationCost) -> Seconds {
    let (fast, slow) = (&cost.throughput, &cost.latency);
    let (low, high) = (fast.low().min(slow.low()), slow.high().max(fast.high()));
    [low, (fast.middle() + slow.middle()) / 2.0, high]
}

fn segment_cost(pieces: &PiecewiseCost, piece: usize, per: TransferCost) -> Option<Seconds> {
    let (_, line) = pieces.iter().nth(piece)?;
    Some(line.bounds().map(|(intercept, slope)| if per == TransferCost::Startup { intercept } else { slope }))
}

impl CostModel for MachineCostModel<'_> {
    fn check_operation(&self, operation: &ComputeOp) -> Result<(), EstimateError> {
        let lacks = (0..self.prices.machine.nodes.len()).find(|kind| self.prices.cost(operation, *kind).is_none());
        let Some(kind) = lacks else { return Ok(()) };
        let node = &self.prices.machine.nodes[kind];
        Err(EstimateError::UnknownOperation {
            operation: vocabulary::operation_name(operation),
            kind: node.kind.clone(),
            table: if self.prices.language == SourceLanguage::C { "compute" } else { "java" },
            known: vocabulary::known_operations(vocabulary::costs(node, self.prices.language)),
        })
    }

    fn message_items(&self, _: &Computer, _: &Computer, bytes: &Formula) -> Result<Vec<(CostItem, Formula)>, EstimateError> {
        let pieces = self.prices.pieces(self.class).ok_or(EstimateError::NoMessages)?;
        Ok(transfer_items(pieces, bytes, |piece, per| CostItem::Message { piece, part: per, between: None }))
    }

    fn collective_items(
        &self,
        operation: CollectiveKind,
        bytes: &Formula,
        processes: &Formula,
    ) -> Result<Vec<(CostItem, Formula)>, EstimateError> {
        let known = || self.prices.machine.collective_costs.keys().map(|group| group.name()).collect::<Vec<_>>().join(", ");
        let group = self.prices.machine.collective_cost(operation);
        let group = group.ok_or_else(|| EstimateError::UnknownCollective { operation: operation.name(), known: known() })?;
        let mut items: BTreeMap<CostItem, Formula> = BTreeMap::new();
        for (place, at) in group.timings.iter().enumerate() {
            let is_last = place + 1 == group.timings.len();
            // Between measured process counts the next larger one is used; beyond the last one the growth formula.
            let below = place.checked_sub(1).map(|before| to_formula(group.timings[before].processes as f64));
            let growth = group.growth.substitute("p", processes);
            let up_to = PiecewiseCase::up_to(to_formula(at.processes as f64), Formula::one());
            let beyond = PiecewiseCase::beyond(if is_last { growth } else { Formula::zero() });
            let held = below.map(|below| PiecewiseCase::up_to(below, Formula::zero())).into_iter().chain([up_to, beyond]);
            let held = Formula::piecewise(processes, held);
            for (item, count) in transfer_items(&at.timing.pieces, bytes, |piece, per| CostItem::Collective {
                operation,
                process_index: place,
                piece,
                part: per,
            }) {
                items.insert(item, &held * count);
            }
        }
        Ok(items.into_iter().collect())
    }
}

/// The counts of start-ups and bytes per segment. Messages smaller than measured cost as much as the smallest measured.
fn transfer_items(pieces: &PiecewiseCost, bytes: &Formula, item: impl Fn(usize, TransferCost) -> CostItem) -> Vec<(CostItem, Formula)> {
    let least = to_formula(pieces.from_bytes());
    let bytes = &if least.is_zero() { bytes.clone() } else { Formula::max_of([bytes.clone(), least]) };
    let bounds: Vec<Formula> = pieces.bounded().iter().map(|(bound, _)| to_formula(bound.middle())).collect();
    let held = |piece: usize| {
        if bounds.is_empty() {
            return Formula::one();
        }
        let before = piece.checked_sub(1).map(|before| PiecewiseCase::up_to(bounds[before].clone(), Formula::zero()));
        let own = bounds.get(piece).map(|bound| PiecewiseCase::up_to(bound.clone(), Formula::one()));
        let beyond = PiecewiseCase::beyond(if own.is_some() { Formula::zero() } else { Formula::one() });
        Formula::piecewise(bytes, before.into_iter().chain(own).chain([beyond]))
    };
    let both = |piece: usize| {
        let held = held(piece);
        [(item(piece, TransferCost::Startup), held.clone()), (item(piece, TransferCost::PerByte), held * bytes)]
    };
    (0..=bounds.len()).flat_map(both).filter(|(_, count)| !count.is_zero()).collect()
}
