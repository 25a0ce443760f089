//! Symbolic unit costs.

use sintonia_formula::Formula;
use sintonia_machine::{CollectiveKind, Named};

use super::EstimateError;
use super::cost_vector::{CostItem, TransferCost};
use super::planner::CostModel;
use crate::expression::cost_symbol_name;
use crate::model::{ComputeOp, Computer};

/// A cost model in which everything has one start-up cost and one cost per byte.
pub(super) struct SymbolicCosts;

impl CostModel for SymbolicCosts {
    fn check_operation(&self, _: &ComputeOp) -> Result<(), EstimateError> {
        Ok(())
    }

    fn message_items(&self, from: &Computer, to: &Computer, bytes: &Formula) -> Result<Vec<(CostItem, Formula)>, EstimateError> {
        let between = Some((from.clone(), to.clone()));
        let item = |per: TransferCost| CostItem::Message { piece: 0, part: per, between: between.clone() };
        Ok(vec![(item(TransferCost::Startup), Formula::one()), (item(TransferCost::PerByte), bytes.clone())])
    }

    fn collective_items(&self, operation: CollectiveKind, bytes: &Formula, _: &Formula) -> Result<Vec<(CostItem, Formula)>, EstimateError> {
        let item = |per: TransferCost| CostItem::Collective { operation, process_index: 0, piece: 0, part: per };
        Ok(vec![(item(TransferCost::Startup), Formula::one()), (item(TransferCost::PerByte), bytes.clone())])
    }
}

/// The symbol of a unit cost.
pub(super) fn cost_symbol(item: &CostItem) -> Formula {
    let byte = |per: TransferCost| if per == TransferCost::PerByte { "byte_" } else { "" };
    match item {
        CostItem::Operation(operation) => Formula::symbol(&cost_symbol_name(operation)),
        CostItem::Delay => Formula::one(),
        CostItem::Message { part: per, between, .. } => {
            let between = between.as_ref().map(|(from, to)| format!("_{}_{}", from.0, to.0)).unwrap_or_default();
            Formula::symbol(&format!("t_{}send{between}", byte(*per)))
        }
        CostItem::Collective { operation, part: per, .. } => Formula::symbol(&format!("t_{}{}", byte(*per), operation.name())),
    }
}
