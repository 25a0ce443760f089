//! Machine descriptions of other tools: export and import.

pub mod dimemas;
pub mod simgrid;

use crate::{LinearCost, Machine, MessageMetric, Named, NetworkCosts, OperationTiming, PairClass, UncertainValue};

/// A machine lacks data that the other tool needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the machine `{machine}` {lacks}")]
pub struct IncompleteMachine {
    machine: String,
    lacks: String,
}

/// The network between nodes, else the next nearest, with its class.
fn outermost_network(machine: &Machine) -> Result<(PairClass, &NetworkCosts), IncompleteMachine> {
    let farthest = machine.networks.iter().next_back();
    farthest.map(|(class, network)| (*class, network)).ok_or_else(|| incomplete(machine, "has no network".into()))
}

/// The timing of a metric.
fn required_timing<'a>(
    machine: &Machine,
    class: PairClass,
    network: &'a NetworkCosts,
    what: MessageMetric,
) -> Result<&'a OperationTiming, IncompleteMachine> {
    network
        .messages
        .get(&what)
        .ok_or_else(|| incomplete(machine, format!("does not say what `network.{}.{}` costs", class.name(), what.name())))
}

fn incomplete(machine: &Machine, lacks: String) -> IncompleteMachine {
    IncompleteMachine { machine: machine.metadata.name.clone(), lacks }
}

/// A line without intervals. None if a number is not finite.
fn exact_cost(intercept: f64, slope: f64) -> Option<LinearCost> {
    Some(LinearCost::new(UncertainValue::exact(intercept).ok()?, UncertainValue::exact(slope).ok()?))
}

/// Bandwidth for lines without slope, in bytes per second; faster than any memory.
const MAX_BANDWIDTH: f64 = 1e13;

/// The bandwidth of a line, in bytes per second.
fn bandwidth(line: &LinearCost) -> f64 {
    if line.slope.middle() > 1.0 / MAX_BANDWIDTH { 1.0 / line.slope.middle() } else { MAX_BANDWIDTH }
}
