//! Transfers a model to another machine.
//!
//! The bytes per call of each operation are known as a formula. The machine file of the runs gives the cost of such a call there, and the file
//! of the other machine its cost here; the measured time changes by their difference. What the calls took beyond the cost of the bare operation
//! is waiting for other ranks, and changes like computation. Computation is multiplied by the ratio of arithmetic and memory costs; which of
//! them dominates is unknown, so the interval covers the whole range.

use std::collections::BTreeMap;

use sintonia_formula::{Formula, PiecewiseCase};
use sintonia_machine::{ArithmeticOp, CollectiveKind, Machine, MemoryAccess, MessageMetric, Named, NumberType, PairClass};

use crate::experiment::Experiment;
use crate::fitted_term::{CallScale, ComputationScale, MachineScale};
use crate::model::{CallFormulas, PerformanceModel, ReferenceMachine};
use crate::run::{MeasuredRun, RANKS_PARAMETER};
use sintonia_insight::program_part::PartKind;

/// The symbols of a machine's formulas.
const BYTES: &str = "n";
const PROCESSES: &str = "p";

/// Why a model cannot be transferred to another machine.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MachineChangeError {
    /// The machine of the runs is unknown.
    #[error(
        "the model was fitted without --machine, so the cost of communication on the measured machine is unknown: fit it again with --machine"
    )]
    NoReferenceMachine,
    /// The model has no parts.
    #[error("the model has no parts, so communication and computation cannot be separated")]
    NoParts,
    /// The machines have no cost in common.
    #[error("the machine files have no arithmetic or memory cost in common, so computation cannot be compared")]
    NoCommonCosts,
}

impl PerformanceModel {
    /// Stores what the operations cost on the machine of the runs.
    pub fn set_reference_machine(&mut self, machine: &Machine, experiment: &Experiment) {
        let ranks_per_core = ranks_per_core(machine, &experiment.runs);
        let ranks = self.fixed.get(RANKS_PARAMETER).copied();
        let mut missing: Vec<String> = Vec::new();
        for part in self.parts.iter_mut() {
            let Some(calls) = &part.calls else { continue };
            part.reference_cost = placed_call_cost(machine, ranks_per_core, calls).map(|cost| in_model_parameters(cost, ranks));
            if part.reference_cost.is_none() {
                missing.push(part.name.clone());
            }
        }
        if let Some(working_set) = &mut self.host_effects.working_set {
            working_set.set_machine(machine);
        }
        self.reference_machine = Some(ReferenceMachine {
            name: machine.metadata.name.clone(),
            costs: node_costs(machine),
            disturbance: machine.metadata.disturbance.unwrap_or(0.0),
            ranks_per_core,
        });
        if !missing.is_empty() {
            self.notes.push(format!("the machine file has no costs for {}: their time is the same on any machine", missing.join(", ")));
        }
    }

    /// The model on another machine.
    pub fn on_machine(&self, machine: &Machine) -> Result<PerformanceModel, MachineChangeError> {
        let home = self.reference_machine.as_ref().ok_or(MachineChangeError::NoReferenceMachine)?;
        if self.parts.is_empty() {
            return Err(MachineChangeError::NoParts);
        }
        let [least, middle, most] = cost_ratios(&home.costs, &node_costs(machine)).ok_or(MachineChangeError::NoCommonCosts)?;
        let widening = (1.0 + home.disturbance) * (1.0 + machine.metadata.disturbance.unwrap_or(0.0));
        let ranks = self.fixed.get(RANKS_PARAMETER).map_or_else(|| Formula::symbol(RANKS_PARAMETER), |ranks| Formula::decimal(*ranks));
        let computation = ComputationScale {
            cost_ratio: [least / widening, middle, most * widening],
            processor_share: processor_share(machine, home.ranks_per_core, &ranks),
        };
        let constant_ranks = self.fixed.get(RANKS_PARAMETER).copied();
        let mut model = self.clone();
        for part in &mut model.parts {
            let known = part.reference_cost.clone().zip(part.calls.as_ref()).and_then(|(here, calls)| {
                let there = in_model_parameters(placed_call_cost(machine, home.ranks_per_core, calls)?, constant_ranks);
                let calling = &ranks - Formula::integer(calls.idle_ranks as i64);
                Some(CallScale { here, there, calls: &calls.count / calling, computation: computation.clone(), widening })
            });
            part.term.scale = match (part.kind, known) {
                (PartKind::Communication, Some(scale)) => Some(MachineScale::Calls(scale)),
                (PartKind::Communication, None) => None,
                _ => Some(MachineScale::Computation(computation.clone())),
            };
        }
        model.limits.iter_mut().for_each(|limit| limit.term.scale = Some(MachineScale::Computation(computation.clone())));
        if let Some(working_set) = &mut model.host_effects.working_set {
            working_set.set_other_machine(machine);
        }
        model.name = format!("{} on {}", self.name, machine.metadata.name);
        let factor = computation.cost_ratio.map(|factor| format!("{factor:.2}"));
        model.notes.push(format!(
            "measured on {}; computation takes {} [{}, {}] times as long on {}, according to arithmetic and memory costs",
            home.name, factor[1], factor[0], factor[2], machine.metadata.name
        ));
        if let Some(quota) = machine.nodes.first().and_then(|node| node.cpu_quota) {
            model.notes.push(format!(
                "a limit leaves the ranks of a node {quota} processors there: computation takes longer by that, and intervals allow for ranks that use up their share while they wait"
            ));
        }
        Ok(model)
    }
}

/// The share of its time for which each rank has a processor, if a limit stops it otherwise. Ranks share nodes as messages do.
fn processor_share(machine: &Machine, ranks_per_core: f64, ranks: &Formula) -> Option<Formula> {
    let node = machine.nodes.first()?;
    let quota = Formula::decimal(node.cpu_quota?);
    let on_node = if machine.networks.len() > 1 {
        Formula::min_of([ranks.clone(), Formula::integer(ranks_on_node(node.cores, ranks_per_core))])
    } else {
        ranks / Formula::integer(node.count as i64)
    };
    Some(Formula::min_of([Formula::integer(1), quota / Formula::max_of([Formula::integer(1), on_node])]))
}

/// The cost of one call, in its bytes and the number of processes, for processes at this distance.
fn call_cost(machine: &Machine, near: PairClass, calls: &CallFormulas) -> Option<CallCost> {
    let formula = match costed_operation(&calls.operation)? {
        CostedOperation::Message(message) => {
            let network = machine.network(near)?;
            let timing = network.messages.get(&message).or_else(|| network.messages.get(&MessageMetric::Transfer))?;
            timing.formula()
        }
        CostedOperation::Collective(collective) => machine.collective_cost(collective)?.formula(),
    };
    Some(CallCost { formula, calls: calls.clone() })
}

/// Up to how many ranks the runs had on a node for each of its cores. Ranks fill a node before they use another one, unless the runs did
/// otherwise: they had several hosts although one would do, or more ranks on one than it has cores.
fn ranks_per_core(machine: &Machine, runs: &[MeasuredRun]) -> f64 {
    let Some(cores) = machine.nodes.iter().map(|node| node.cores as f64).reduce(f64::max) else { return 1.0 };
    let on_host = || runs.iter().filter_map(|run| Some((run.hosts, *run.parameters.get(RANKS_PARAMETER)?)));
    let spread = on_host().filter(|(hosts, ranks)| *hosts > 1 && *ranks <= cores).map(|(hosts, ranks)| (ranks / hosts as f64).ceil());
    let crowded = on_host().filter(|(hosts, ranks)| *hosts == 1 && *ranks > cores).map(|(_, ranks)| ranks);
    spread.reduce(f64::max).or(crowded.reduce(f64::max)).unwrap_or(cores) / cores
}

/// How many ranks share a node before another one is used.
fn ranks_on_node(cores: u64, ranks_per_core: f64) -> i64 {
    (cores as f64 * ranks_per_core).round().max(1.0) as i64
}

/// The cost of one call where ranks share nodes as in the runs.
fn placed_call_cost(machine: &Machine, ranks_per_core: f64, calls: &CallFormulas) -> Option<CallCost> {
    let cores = machine.nodes.iter().map(|node| node.cores).max();
    let far = call_cost(machine, PairClass::OtherNode, calls)?;
    match (cores, call_cost(machine, PairClass::SameNode, calls)) {
        (Some(cores), Some(near)) if machine.networks.len() > 1 => {
            let pieces = [
                PiecewiseCase::up_to(Formula::integer(ranks_on_node(cores, ranks_per_core)), near.formula),
                PiecewiseCase::beyond(far.formula),
            ];
            Some(CallCost { formula: Formula::piecewise(&Formula::symbol(PROCESSES), pieces), calls: far.calls })
        }
        _ => Some(far),
    }
}

/// The cost of a call, in the machine's symbols.
struct CallCost {
    formula: Formula,
    calls: CallFormulas,
}

/// A cost in the parameters of a model: the bytes of a call as their formula, and the number of processes if it was constant.
fn in_model_parameters(cost: CallCost, ranks: Option<f64>) -> Formula {
    // The machine's symbol for bytes may also be a parameter of the model.
    let bytes = if cost.calls.count.is_zero() { Formula::zero() } else { &cost.calls.bytes / &cost.calls.count };
    let free = cost.formula.substitute(BYTES, &Formula::symbol("bytes_of_a_call"));
    let free = ranks.map_or(free.clone(), |ranks| free.substitute(PROCESSES, &Formula::decimal(ranks)));
    free.substitute("bytes_of_a_call", &bytes)
}

enum CostedOperation {
    Message(MessageMetric),
    Collective(CollectiveKind),
}

/// The machine's name of an MPI function, if it has a cost.
fn costed_operation(name: &str) -> Option<CostedOperation> {
    let message = match name {
        "MPI_Send" => MessageMetric::Send,
        "MPI_Ssend" => MessageMetric::SynchronousSend,
        "MPI_Bsend" => MessageMetric::BufferedSend,
        "MPI_Rsend" => MessageMetric::ReadySend,
        "MPI_Isend" | "MPI_Issend" | "MPI_Ibsend" | "MPI_Irsend" | "MPI_Start" | "MPI_Startall" => MessageMetric::StartSend,
        "MPI_Recv" | "MPI_Mrecv" => MessageMetric::Receive,
        "MPI_Sendrecv" | "MPI_Sendrecv_replace" | "MPI_Wait" | "MPI_Waitall" | "MPI_Waitany" | "MPI_Waitsome" => MessageMetric::Transfer,
        _ => return collective(name).map(CostedOperation::Collective),
    };
    Some(CostedOperation::Message(message))
}

/// A collective in any form: `MPI_Iallreduce` and `MPI_Allgatherv` are allreduce and allgather.
fn collective(name: &str) -> Option<CollectiveKind> {
    let plain = name.strip_prefix("MPI_")?.to_ascii_lowercase();
    let forms = [plain.as_str(), plain.strip_prefix('i').unwrap_or(&plain)];
    let without_v = forms.iter().flat_map(|form| [*form, form.trim_end_matches(['v', 'w'])]);
    without_v
        .flat_map(|form| [form.to_owned(), form.replace("reduce_scatter", "reduce_scatter_block")])
        .find_map(|form| CollectiveKind::from_name(&form))
}

/// The operations by which machines are compared: those that programs consist of. Others are negligible, or vary too much.
const COMPARED_OPERATIONS: [ArithmeticOp; 6] =
    [ArithmeticOp::Add, ArithmeticOp::Subtract, ArithmeticOp::Multiply, ArithmeticOp::Compare, ArithmeticOp::Store, ArithmeticOp::Load];

/// Arithmetic and memory costs of a machine's nodes, by name.
fn node_costs(machine: &Machine) -> BTreeMap<String, f64> {
    let mut costs = BTreeMap::new();
    let Some(node) = machine.nodes.first() else { return costs };
    for (number, arithmetic) in &node.compute {
        if !matches!(number, NumberType::Float64 | NumberType::Int64) {
            continue;
        }
        for (what, cost) in arithmetic.iter().filter(|(what, _)| COMPARED_OPERATIONS.contains(what)) {
            costs.insert(format!("{} {} latency", number.name(), what.name()), cost.latency.middle());
            costs.insert(format!("{} {} throughput", number.name(), what.name()), cost.throughput.middle());
        }
    }
    if let Some(level) = node.memory.last() {
        let kinds = level.access.iter().filter(|(what, _)| **what != MemoryAccess::Latency);
        costs.extend(kinds.map(|(what, figure)| (format!("memory {}", what.name()), figure.middle())));
    }
    costs
}

/// The ratio of costs there to costs here: minimum, geometric mean and maximum over all common costs.
fn cost_ratios(here: &BTreeMap<String, f64>, there: &BTreeMap<String, f64>) -> Option<[f64; 3]> {
    let both = here.iter().filter_map(|(name, here)| Some(there.get(name)? / here));
    let mut ratios: Vec<f64> = both.filter(|ratio| *ratio > 0.0 && ratio.is_finite()).collect();
    ratios.sort_by(f64::total_cmp);
    let middle = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64;
    Some([*ratios.first()?, middle.exp(), *ratios.last()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mpi_functions_are_known_by_what_they_do() {
        let message = |name| matches!(costed_operation(name), Some(CostedOperation::Message(_)));
        let group = |name| match costed_operation(name) {
            Some(CostedOperation::Collective(collective)) => Some(collective),
            _ => None,
        };
        assert!(message("MPI_Send") && message("MPI_Waitall") && !message("MPI_Comm_split"));
        assert_eq!(group("MPI_Iallreduce"), Some(CollectiveKind::Allreduce));
        assert_eq!(group("MPI_Alltoallv"), Some(CollectiveKind::Alltoall));
        assert_eq!(group("MPI_Reduce_scatter"), Some(CollectiveKind::ReduceScatterBlock));
        assert_eq!(group("MPI_Barrier"), Some(CollectiveKind::Barrier));
        assert_eq!(group("MPI_Comm_split"), None);
    }

    #[test]
    fn computation_is_compared_by_all_costs_that_both_machines_have() {
        let costs = |list: &[(&str, f64)]| list.iter().map(|(name, cost)| (name.to_string(), *cost)).collect::<BTreeMap<_, _>>();
        let (here, there) = (costs(&[("add", 1.0), ("load", 2.0), ("copy", 1.0)]), costs(&[("add", 0.5), ("load", 4.0), ("read", 9.0)]));
        let [low, middle, high] = cost_ratios(&here, &there).unwrap();
        assert_eq!((low, high), (0.5, 2.0));
        assert!((middle - 1.0).abs() < 1e-12);
        assert_eq!(cost_ratios(&here, &costs(&[("read", 1.0)])), None);
    }
}
