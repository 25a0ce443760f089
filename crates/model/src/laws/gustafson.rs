//! Gustafson's law: who has more nodes solves larger problems, and for those the serial part is no limit.

use super::{Law, NODES, Quantity, Source, derived, printed, symbol};

pub static GUSTAFSON: Law = Law {
    name: "gustafson",
    title: "Gustafson's law",
    says: "If the parallel work grows with the nodes so that the time stays the same, the speed-up grows with the nodes without limit.",
    source: Source { author: "J. L. Gustafson (1988)", work: "Reevaluating Amdahl's law" },
    symbols: &[
        symbol("TS", "s", "time of the serial part").or(&["serial"]),
        symbol("TP", "s", "time of the parallel part on N nodes").or(&["parallel"]),
        NODES,
    ],
    equations: &[
        printed(Quantity::SpeedUp, "(TS + N*TP)/(TS + TP)", "scaled speedup"),
        derived(Quantity::Time, "TS + TP", "the time that is kept"),
        derived(Quantity::TimeAlone, "TS + N*TP", "one node does the parallel work of all"),
        derived(Quantity::Efficiency, "(TS/N + TP)/(TS + TP)", "speed-up over N"),
        derived(Quantity::TimeLimit, "TS + TP", "the time that is kept"),
        derived(Quantity::EfficiencyLimit, "TP/(TS + TP)", "the efficiency for N → ∞"),
        derived(Quantity::NodesForEfficiency, "TS/max(0, E*(TS + TP) - TP)", "the efficiency solved for N; below its limit, any N has it"),
    ],
};
