//! This host as a machine, or as one of the nodes of a machine.

use super::{ProcessBinding, today};
use crate::{ArithmeticCosts, Machine, MachineMetadata, NodeLayout, NodeType, UncertainValue};

/// This host is none of the nodes of a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this host (\"{here}\") is none of the machine's nodes: {kinds}")]
pub struct UnknownHost {
    here: String,
    kinds: String,
}

/// A machine with nothing but its name and cores.
pub fn local_machine(name: &str) -> Machine {
    let place = ProcessBinding::current();
    let metadata = MachineMetadata { name: name.to_owned(), date: Some(today()), ..MachineMetadata::default() };
    let (compute, java) = (ArithmeticCosts::new(), ArithmeticCosts::new());
    let node = NodeType {
        kind: place.processor,
        count: 1,
        cores: place.cores as u64,
        cpu_quota: None,
        speed: UncertainValue::ONE,
        layout: NodeLayout::default(),
        compute,
        java,
        memory: Vec::new(),
    };
    Machine { metadata, nodes: vec![node], ..Machine::default() }
}

/// Index of the node of this host: the one with its processor, or the only one.
pub fn local_node_index(machine: &Machine) -> Result<usize, UnknownHost> {
    let here = ProcessBinding::current().processor;
    match (machine.nodes.iter().position(|node| node.kind == here), machine.nodes.len()) {
        (Some(at), _) => Ok(at),
        (None, 1) => Ok(0),
        _ => {
            let kinds: Vec<&str> = machine.nodes.iter().map(|node| node.kind.as_str()).collect();
            Err(UnknownHost { here, kinds: kinds.join(", ") })
        }
    }
}
