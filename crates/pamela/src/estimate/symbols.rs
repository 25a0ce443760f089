//! Prices that are only names.

use sintonia_formula::Formula;
use sintonia_machine::{Collective, Named};

use super::EstimateError;
use super::bill::{Item, Per};
use super::planner::Tariff;
use crate::expression::cost_of;
use crate::model::{Computer, Operation};

/// A tariff for which everything has one start and one cost for each byte.
pub(super) struct Symbols;

impl Tariff for Symbols {
    fn knows(&self, _: &Operation) -> Result<(), EstimateError> {
        Ok(())
    }

    fn message(&self, from: &Computer, to: &Computer, bytes: &Formula) -> Result<Vec<(Item, Formula)>, EstimateError> {
        let between = Some((from.clone(), to.clone()));
        let item = |per: Per| Item::Message { piece: 0, per, between: between.clone() };
        Ok(vec![(item(Per::Start), Formula::one()), (item(Per::Byte), bytes.clone())])
    }

    fn group(&self, operation: Collective, bytes: &Formula, _: &Formula) -> Result<Vec<(Item, Formula)>, EstimateError> {
        let item = |per: Per| Item::Group { operation, at: 0, piece: 0, per };
        Ok(vec![(item(Per::Start), Formula::one()), (item(Per::Byte), bytes.clone())])
    }
}

/// The symbol of a price.
pub(super) fn of(item: &Item) -> Formula {
    let byte = |per: Per| if per == Per::Byte { "byte_" } else { "" };
    match item {
        Item::Operation(operation) => Formula::symbol(&cost_of(operation)),
        Item::Second => Formula::one(),
        Item::Message { per, between, .. } => {
            let between = between.as_ref().map(|(from, to)| format!("_{}_{}", from.0, to.0)).unwrap_or_default();
            Formula::symbol(&format!("t_{}send{between}", byte(*per)))
        }
        Item::Group { operation, per, .. } => Formula::symbol(&format!("t_{}{}", byte(*per), operation.name())),
    }
}
