//! Amdahl's law: the serial part limits the speed-up.

use super::{LawQuantity, LawSource, NODES, PerformanceLaw, derived, printed, symbol};

pub(super) static AMDAHL: PerformanceLaw = PerformanceLaw {
    name: "amdahl",
    title: "Amdahl's law",
    statement: "The serial part of a program takes the same time on any number of nodes, so the speed-up stays below the total time divided by the serial time.",
    source: LawSource {
        author: "G. M. Amdahl (1967), equations as numbered by M. K. Zuffo",
        work: "Validity of the single processor approach to achieving large scale computing capabilities",
    },
    symbols: &[
        symbol("TS", "s", "time of the serial part").with_aliases(&["serial"]),
        symbol("TP", "s", "time of the parallel part on one node").with_aliases(&["parallel"]),
        NODES,
    ],
    equations: &[
        printed(LawQuantity::SerialTime, "TS + TP", "3.3"),
        printed(LawQuantity::Time, "TS + TP/N", "3.4"),
        printed(LawQuantity::SpeedUp, "N*(TS + TP)/(N*TS + TP)", "3.5"),
        printed(LawQuantity::Efficiency, "(TS + TP)/(N*TS + TP)", "3.6"),
        derived(LawQuantity::TimeLimit, "TS", "3.4 for N → ∞"),
        derived(LawQuantity::SpeedUpLimit, "(TS + TP)/TS", "3.5 for N → ∞"),
        derived(LawQuantity::EfficiencyLimit, "0", "3.6 for N → ∞, with a serial part"),
        derived(LawQuantity::NodesForEfficiency, "((TS + TP)/E - TP)/TS", "3.6 solved for N"),
    ],
};
