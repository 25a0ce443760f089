//! Tasks and what they cost in communication: Stone's granularity, and Zuffo's analysis of all tasks reporting to one node.
//!
//! The speed-up of simple nodes (3.15) compares with one node that also communicates, which is 3.14 at N = 1, and not with 3.12, by which one
//! node alone communicates nothing. Composite nodes compare with 3.12.

use super::{Law, NODES, Quantity, Symbol, ZUFFO_AFTER_STONE, derived, printed, symbol};

const SYMBOLS: &[Symbol] = &[
    symbol("RM", "s", "time to compute one task").or(&["R"]),
    symbol("CM", "s", "communication that one task costs").or(&["C"]),
    symbol("M", "", "tasks"),
    symbol("G", "", "granularity, RM/CM"),
    NODES,
];

pub static SIMPLE_NODE: Law = Law {
    name: "all-to-one-simple",
    title: "All to one, simple nodes",
    says: "Tasks are shared by the nodes but all report to one, and a node cannot compute while it communicates: the speed-up stays below G + 1.",
    source: ZUFFO_AFTER_STONE,
    symbols: SYMBOLS,
    equations: &[
        printed(Quantity::Granularity, "RM/CM", "3.7"),
        printed(Quantity::TasksPerNode, "M/N", "3.9"),
        printed(Quantity::Time, "RM*M/N + CM*M", "3.14"),
        printed(Quantity::SpeedUp, "(G + 1)*N/(G + N)", "3.15"),
        printed(Quantity::Efficiency, "(G + 1)/(G + N)", "3.16"),
        printed(Quantity::SpeedUpLimit, "G + 1", "3.17"),
        printed(Quantity::EfficiencyLimit, "0", "3.18"),
        derived(Quantity::TimeAlone, "RM*M + CM*M", "3.14 at N = 1"),
        derived(Quantity::TimeLimit, "CM*M", "3.14 for N → ∞"),
        derived(Quantity::NodesForEfficiency, "(G + 1)/E - G", "3.16 solved for N"),
        derived(Quantity::BestNodes, "M", "3.14 falls with N, and a task cannot be divided"),
    ],
};

pub static COMPOSITE_NODE: Law = Law {
    name: "all-to-one-composite",
    title: "All to one, composite nodes",
    says: "With a second processor for communication, nodes lose nothing until there are as many as the granularity; more nodes gain nothing.",
    source: ZUFFO_AFTER_STONE,
    symbols: SYMBOLS,
    equations: &[
        printed(Quantity::Granularity, "RM/CM", "3.7"),
        printed(Quantity::TasksPerNode, "M/N", "3.9"),
        printed(Quantity::TimeAlone, "RM*M", "3.12"),
        printed(Quantity::Time, "max(RM*M/N, CM*M)", "3.19"),
        printed(Quantity::SpeedUp, "min(N, G)", "3.20, 3.21"),
        printed(Quantity::Efficiency, "min(1, G/N)", "3.20, 3.21"),
        printed(Quantity::SpeedUpLimit, "G", "3.22"),
        printed(Quantity::EfficiencyLimit, "0", "3.22"),
        derived(Quantity::TimeLimit, "CM*M", "3.19 for N → ∞"),
        derived(Quantity::NodesForEfficiency, "G/E", "3.21 solved for N: with so many or fewer, the efficiency is at least E"),
        derived(Quantity::BestNodes, "min(M, ceil(G))", "both terms of 3.19 are equal at N = G, and a task cannot be divided"),
    ],
};
