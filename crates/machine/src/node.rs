//! Costs of a node: arithmetic and memory.

use std::collections::BTreeMap;

use crate::{ArithmeticOp, MemoryAccess, NumberType, UncertainValue};

/// Seconds per operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperationCost {
    /// When the next operation needs the result.
    pub latency: UncertainValue,
    /// When operations are independent.
    pub throughput: UncertainValue,
}

/// Costs of arithmetic, by number type and operation.
pub type ArithmeticCosts = BTreeMap<NumberType, BTreeMap<ArithmeticOp, OperationCost>>;

/// A level of the memory hierarchy, nearest first.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryLevel {
    /// `L1`, `L2`, …, `main`.
    pub name: String,
    /// Its size; none for main memory.
    pub size_bytes: Option<u64>,
    /// Seconds per access ([`MemoryAccess::Latency`]) or per byte (the others).
    pub access: BTreeMap<MemoryAccess, UncertainValue>,
}

/// Nodes with the same hardware.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeType {
    /// Name of the type.
    pub kind: String,
    /// Number of nodes.
    pub count: u64,
    /// Cores per node.
    pub cores: u64,
    /// Processors' worth of time that a limit leaves to the processes of a node, if there is one.
    pub cpu_quota: Option<f64>,
    /// Speed relative to the nodes of a recording.
    pub speed: UncertainValue,
    /// Host names, and grouping of the cores.
    pub layout: NodeLayout,
    /// Costs of arithmetic in native code.
    pub compute: ArithmeticCosts,
    /// Costs of arithmetic in a Java virtual machine.
    pub java: ArithmeticCosts,
    /// Costs of memory access.
    pub memory: Vec<MemoryLevel>,
}

/// Host names of the nodes, and grouping of their cores; needed for placement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeLayout {
    /// Host names; empty, or one for each node.
    pub hosts: Vec<String>,
    /// Sockets per node, if known; cores are divided evenly.
    pub sockets: Option<u64>,
    /// Groups of cores that share a cache, per node, if known; divided evenly among the sockets.
    pub complexes: Option<u64>,
}
