//! Exchanging the machine: what a program that was measured on one machine takes on another.
//!
//! Of each operation it is known how many bytes a call moves, as a formula. So the machine file of the runs says what such a call costs
//! there, and that of another machine what it costs there; the measured time is multiplied with the ratio of both. What the program adds
//! to the bare operation, as waiting for cores or copying, stays in the measured time. Computation is multiplied with the ratio of what
//! arithmetic and memory cost on both machines: nobody knows which of them the program does most, so the whole range is the interval.

use std::collections::BTreeMap;

use sintonia_formula::Formula;
use sintonia_machine::{Access, Arithmetic, Collective, Machine, Message, Named, NumberType, PairClass};

use crate::experiment::Experiment;
use crate::model::{Calls, Model};
use crate::part::Kind;
use crate::run::RANKS;
use crate::term::Scale;

/// The symbols of a machine's formulas.
const BYTES: &str = "n";
const PROCESSES: &str = "p";

/// What is known of the machine that the runs were made on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Home {
    /// What it is called.
    pub name: String,
    /// Seconds that arithmetic and memory cost there, by name.
    pub costs: BTreeMap<String, f64>,
}

/// Why a machine cannot be exchanged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoExchange {
    /// It is not known what the runs were made on.
    #[error(
        "the model was fitted without --machine, so it is not known what its communication cost where it was measured: fit it again with --machine"
    )]
    NoHome,
    /// There are no parts.
    #[error("the model has no parts, so it is not known what is communication and what is computation")]
    NoParts,
    /// The machines have no cost in common.
    #[error("neither arithmetic nor memory is in both machine files: computation cannot be compared")]
    NothingInCommon,
}

impl Model {
    /// Remembers what the operations cost on the machine that the runs were made on.
    pub fn at_home(&mut self, machine: &Machine, experiment: &Experiment) {
        let near = if experiment.runs.iter().any(|run| run.hosts > 1) { PairClass::OtherNode } else { PairClass::SameNode };
        let ranks = self.fixed.get(RANKS).copied();
        let mut missing: Vec<String> = Vec::new();
        for part in self.parts.iter_mut() {
            let Some(calls) = &part.calls else { continue };
            part.home_cost = cost(machine, near, calls).map(|cost| of_model(cost, ranks));
            if part.home_cost.is_none() {
                missing.push(part.name.clone());
            }
        }
        self.home = Some(Home { name: machine.about.name.clone(), costs: costs(machine) });
        if !missing.is_empty() {
            self.notes.push(format!("the machine file says nothing of {}: that time stays as it is on any machine", missing.join(", ")));
        }
    }

    /// The same program on another machine.
    pub fn on(&self, machine: &Machine) -> Result<Model, NoExchange> {
        let home = self.home.as_ref().ok_or(NoExchange::NoHome)?;
        if self.parts.is_empty() {
            return Err(NoExchange::NoParts);
        }
        let computation = ratio(&home.costs, &costs(machine)).ok_or(NoExchange::NothingInCommon)?;
        let ranks = self.fixed.get(RANKS).copied();
        let mut model = self.clone();
        for part in &mut model.parts {
            let cost = part.calls.as_ref().and_then(|calls| nearest(machine, calls)).map(|cost| of_model(cost, ranks));
            part.term.scale = match (part.kind, &part.home_cost, cost) {
                (Kind::Communication, Some(here), Some(there)) => Some(Scale::Formulas { here: here.clone(), there }),
                (Kind::Communication, ..) => None,
                _ => Some(Scale::Constant(computation)),
            };
        }
        model.limits.iter_mut().for_each(|limit| limit.term.scale = Some(Scale::Constant(computation)));
        model.name = format!("{} on {}", self.name, machine.about.name);
        let factor = computation.map(|factor| format!("{factor:.2}"));
        model.notes.push(format!(
            "measured on {}; computation takes {} [{}, {}] times as long on {}, by what arithmetic and memory cost",
            home.name, factor[1], factor[0], factor[2], machine.about.name
        ));
        Ok(model)
    }
}

/// What one call costs on a machine, in its bytes and the number of processes, between processes that are so near.
fn cost(machine: &Machine, near: PairClass, calls: &Calls) -> Option<Cost> {
    let formula = match operation(&calls.operation)? {
        Operation::Message(message) => {
            let network = machine.network(near)?;
            let timing = network.messages.get(&message).or_else(|| network.messages.get(&Message::Transfer))?;
            timing.formula()
        }
        Operation::Collective(collective) => machine.group(collective)?.formula(),
    };
    Some(Cost { formula, calls: calls.clone() })
}

/// What one call costs on a machine where processes share a node while they fit on it.
fn nearest(machine: &Machine, calls: &Calls) -> Option<Cost> {
    let cores = machine.nodes.iter().map(|node| node.cores).max();
    let far = cost(machine, PairClass::OtherNode, calls)?;
    match (cores, cost(machine, PairClass::SameNode, calls)) {
        (Some(cores), Some(near)) if machine.networks.len() > 1 => {
            let pieces = [
                sintonia_formula::Piece::up_to(Formula::integer(cores as i64), near.formula),
                sintonia_formula::Piece { up_to: None, formula: far.formula },
            ];
            Some(Cost { formula: Formula::pieces(&Formula::symbol(PROCESSES), pieces), calls: far.calls })
        }
        _ => Some(far),
    }
}

/// What a call costs, in the machine's symbols.
struct Cost {
    formula: Formula,
    calls: Calls,
}

/// A cost in the parameters of a model: with the bytes of a call as their formula, and the number of processes if it never changed.
fn of_model(cost: Cost, ranks: Option<f64>) -> Formula {
    // The machine's symbol for bytes may be a parameter of the model too.
    let bytes = if cost.calls.count.is_zero() { Formula::zero() } else { &cost.calls.bytes / &cost.calls.count };
    let free = cost.formula.substitute(BYTES, &Formula::symbol("bytes_of_a_call"));
    let free = ranks.map_or(free.clone(), |ranks| free.substitute(PROCESSES, &Formula::decimal(ranks)));
    free.substitute("bytes_of_a_call", &bytes)
}

enum Operation {
    Message(Message),
    Collective(Collective),
}

/// What a machine calls an MPI function; nothing if it does not know it.
fn operation(name: &str) -> Option<Operation> {
    let message = match name {
        "MPI_Send" => Message::Send,
        "MPI_Ssend" => Message::SynchronousSend,
        "MPI_Bsend" => Message::BufferedSend,
        "MPI_Rsend" => Message::ReadySend,
        "MPI_Isend" | "MPI_Issend" | "MPI_Ibsend" | "MPI_Irsend" | "MPI_Start" | "MPI_Startall" => Message::StartSend,
        "MPI_Recv" | "MPI_Mrecv" => Message::Receive,
        "MPI_Sendrecv" | "MPI_Sendrecv_replace" | "MPI_Wait" | "MPI_Waitall" | "MPI_Waitany" | "MPI_Waitsome" => Message::Transfer,
        _ => return collective(name).map(Operation::Collective),
    };
    Some(Operation::Message(message))
}

/// A collective whatever its form: `MPI_Iallreduce` and `MPI_Allgatherv` are allreduce and allgather.
fn collective(name: &str) -> Option<Collective> {
    let plain = name.strip_prefix("MPI_")?.to_ascii_lowercase();
    let forms = [plain.as_str(), plain.strip_prefix('i').unwrap_or(&plain)];
    let without_v = forms.iter().flat_map(|form| [*form, form.trim_end_matches(['v', 'w'])]);
    without_v
        .flat_map(|form| [form.to_owned(), form.replace("reduce_scatter", "reduce_scatter_block")])
        .find_map(|form| Collective::named(&form))
}

/// What machines are compared by: operations that programs are full of. Others take next to nothing, or are done in ever other ways.
const COMPARED: [Arithmetic; 6] =
    [Arithmetic::Add, Arithmetic::Subtract, Arithmetic::Multiply, Arithmetic::Compare, Arithmetic::Store, Arithmetic::Load];

/// What arithmetic and memory cost on the nodes of a machine, by name.
fn costs(machine: &Machine) -> BTreeMap<String, f64> {
    let mut costs = BTreeMap::new();
    let Some(node) = machine.nodes.first() else { return costs };
    for (number, arithmetic) in &node.compute {
        if !matches!(number, NumberType::Float64 | NumberType::Int64) {
            continue;
        }
        for (what, cost) in arithmetic.iter().filter(|(what, _)| COMPARED.contains(what)) {
            costs.insert(format!("{} {} latency", number.name(), what.name()), cost.latency.middle());
            costs.insert(format!("{} {} throughput", number.name(), what.name()), cost.throughput.middle());
        }
    }
    if let Some(level) = node.memory.last() {
        let kinds = level.access.iter().filter(|(what, _)| **what != Access::Latency);
        costs.extend(kinds.map(|(what, figure)| (format!("memory {}", what.name()), figure.middle())));
    }
    costs
}

/// How many times as long things take there as here: least, middle and most over all costs that both have.
fn ratio(here: &BTreeMap<String, f64>, there: &BTreeMap<String, f64>) -> Option<[f64; 3]> {
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
        let message = |name| matches!(operation(name), Some(Operation::Message(_)));
        let group = |name| match operation(name) {
            Some(Operation::Collective(collective)) => Some(collective),
            _ => None,
        };
        assert!(message("MPI_Send") && message("MPI_Waitall") && !message("MPI_Comm_split"));
        assert_eq!(group("MPI_Iallreduce"), Some(Collective::Allreduce));
        assert_eq!(group("MPI_Alltoallv"), Some(Collective::Alltoall));
        assert_eq!(group("MPI_Reduce_scatter"), Some(Collective::ReduceScatterBlock));
        assert_eq!(group("MPI_Barrier"), Some(Collective::Barrier));
        assert_eq!(group("MPI_Comm_split"), None);
    }

    #[test]
    fn computation_is_compared_by_all_costs_that_both_machines_have() {
        let costs = |list: &[(&str, f64)]| list.iter().map(|(name, cost)| (name.to_string(), *cost)).collect::<BTreeMap<_, _>>();
        let (here, there) = (costs(&[("add", 1.0), ("load", 2.0), ("copy", 1.0)]), costs(&[("add", 0.5), ("load", 4.0), ("read", 9.0)]));
        let [low, middle, high] = ratio(&here, &there).unwrap();
        assert_eq!((low, high), (0.5, 2.0));
        assert!((middle - 1.0).abs() < 1e-12);
        assert_eq!(ratio(&here, &costs(&[("read", 1.0)])), None);
    }
}
