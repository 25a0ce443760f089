//! Gustafson's law: with more nodes one solves larger problems, for which the serial part is no limit.

use super::{LawQuantity, LawSource, NODES, PerformanceLaw, derived, printed, symbol};

pub(super) static GUSTAFSON: PerformanceLaw = PerformanceLaw {
    name: "gustafson",
    title: "Gustafson's law",
    statement: "If the parallel work grows with the nodes so that the time stays the same, the speed-up grows with the nodes without limit.",
    source: LawSource { author: "J. L. Gustafson (1988)", work: "Reevaluating Amdahl's law" },
    symbols: &[
        symbol("TS", "s", "time of the serial part").with_aliases(&["serial"]),
        symbol("TP", "s", "time of the parallel part on N nodes").with_aliases(&["parallel"]),
        NODES,
    ],
    equations: &[
        printed(LawQuantity::SpeedUp, "(TS + N*TP)/(TS + TP)", "scaled speedup"),
        derived(LawQuantity::Time, "TS + TP", "the constant time"),
        derived(LawQuantity::SerialTime, "TS + N*TP", "one node does the parallel work of all"),
        derived(LawQuantity::Efficiency, "(TS/N + TP)/(TS + TP)", "speed-up over N"),
        derived(LawQuantity::TimeLimit, "TS + TP", "the constant time"),
        derived(LawQuantity::EfficiencyLimit, "TP/(TS + TP)", "the efficiency for N → ∞"),
        derived(
            LawQuantity::NodesForEfficiency,
            "TS/max(0, E*(TS + TP) - TP)",
            "the efficiency solved for N; below its limit, any N satisfies it",
        ),
    ],
};
