//! What a node costs: arithmetic and memory.

use std::collections::BTreeMap;

use crate::{Access, Arithmetic, Figure, NumberType};

/// The seconds that one operation takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// When the next one needs its result.
    pub latency: Figure,
    /// When many that do not need each other follow closely.
    pub throughput: Figure,
}

/// What arithmetic costs, by type and operation.
pub type Costs = BTreeMap<NumberType, BTreeMap<Arithmetic, Cost>>;

/// One level of memory, the nearest first.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryLevel {
    /// `L1`, `L2`, …, `main`.
    pub name: String,
    /// How much it holds; none for what holds the rest.
    pub size_bytes: Option<u64>,
    /// Seconds per access ([`Access::Latency`]) or per byte (the others).
    pub access: BTreeMap<Access, Figure>,
}

/// Nodes that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What they are called.
    pub kind: String,
    /// How many there are.
    pub count: u64,
    /// How many cores each has.
    pub cores: u64,
    /// How many times as fast as the machine of a recording they compute what was recorded there.
    pub speed: Figure,
    /// Which ones they are, and what is inside.
    pub layout: Layout,
    /// What arithmetic costs in a program compiled to the machine's own instructions.
    pub compute: Costs,
    /// What it costs in a Java virtual machine.
    pub java: Costs,
    /// What memory costs.
    pub memory: Vec<MemoryLevel>,
}

/// Which nodes of a kind there are, and how their cores are grouped: what a placement needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// Their names, as launchers know them; none, or as many as there are nodes.
    pub hosts: Vec<String>,
    /// How many sockets each has, if that is known; its cores are divided evenly.
    pub sockets: Option<u64>,
    /// How many groups of cores that share a cache each has, if that is known; they are divided evenly among the sockets.
    pub complexes: Option<u64>,
}
