//! Tasks and their communication cost: Stone's granularity, and Zuffo's analysis of all-to-one communication.
//!
//! The speed-up of simple nodes (3.15) is relative to one node that also communicates, which is 3.14 at N = 1, and not to 3.12, where a single
//! node does not communicate. Composite nodes are relative to 3.12.

use super::{LawQuantity, LawSymbol, NODES, PerformanceLaw, ZUFFO_AFTER_STONE, derived, printed, symbol};

const SYMBOLS: &[LawSymbol] = &[
    symbol("RM", "s", "time to compute one task").with_aliases(&["R"]),
    symbol("CM", "s", "communication time of one task").with_aliases(&["C"]),
    symbol("M", "", "tasks"),
    symbol("G", "", "granularity, RM/CM"),
    NODES,
];

pub(super) static SIMPLE_NODE: PerformanceLaw = PerformanceLaw {
    name: "all-to-one-simple",
    title: "All to one, simple nodes",
    statement: "Tasks are distributed over the nodes but all report to one, and a node cannot compute while it communicates: the speed-up stays below G + 1.",
    source: ZUFFO_AFTER_STONE,
    symbols: SYMBOLS,
    equations: &[
        printed(LawQuantity::Granularity, "RM/CM", "3.7"),
        printed(LawQuantity::TasksPerNode, "M/N", "3.9"),
        printed(LawQuantity::Time, "RM*M/N + CM*M", "3.14"),
        printed(LawQuantity::SpeedUp, "(G + 1)*N/(G + N)", "3.15"),
        printed(LawQuantity::Efficiency, "(G + 1)/(G + N)", "3.16"),
        printed(LawQuantity::SpeedUpLimit, "G + 1", "3.17"),
        printed(LawQuantity::EfficiencyLimit, "0", "3.18"),
        derived(LawQuantity::SerialTime, "RM*M + CM*M", "3.14 at N = 1"),
        derived(LawQuantity::TimeLimit, "CM*M", "3.14 for N → ∞"),
        derived(LawQuantity::NodesForEfficiency, "(G + 1)/E - G", "3.16 solved for N"),
        derived(LawQuantity::BestNodes, "M", "3.14 falls with N, and a task cannot be divided"),
    ],
};

pub(super) static COMPOSITE_NODE: PerformanceLaw = PerformanceLaw {
    name: "all-to-one-composite",
    title: "All to one, composite nodes",
    statement: "With a second processor for communication, the speed-up is ideal up to as many nodes as the granularity; more nodes gain nothing.",
    source: ZUFFO_AFTER_STONE,
    symbols: SYMBOLS,
    equations: &[
        printed(LawQuantity::Granularity, "RM/CM", "3.7"),
        printed(LawQuantity::TasksPerNode, "M/N", "3.9"),
        printed(LawQuantity::SerialTime, "RM*M", "3.12"),
        printed(LawQuantity::Time, "max(RM*M/N, CM*M)", "3.19"),
        printed(LawQuantity::SpeedUp, "min(N, G)", "3.20, 3.21"),
        printed(LawQuantity::Efficiency, "min(1, G/N)", "3.20, 3.21"),
        printed(LawQuantity::SpeedUpLimit, "G", "3.22"),
        printed(LawQuantity::EfficiencyLimit, "0", "3.22"),
        derived(LawQuantity::TimeLimit, "CM*M", "3.19 for N → ∞"),
        derived(LawQuantity::NodesForEfficiency, "G/E", "3.21 solved for N: up to this many nodes, the efficiency is at least E"),
        derived(LawQuantity::BestNodes, "min(M, ceil(G))", "both terms of 3.19 are equal at N = G, and a task cannot be divided"),
    ],
};
