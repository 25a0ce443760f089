//! Amdahl's law: what stays serial limits what parallel work can gain.

use super::{Law, NODES, Quantity, Source, derived, printed, symbol};

pub static AMDAHL: Law = Law {
    name: "amdahl",
    title: "Amdahl's law",
    says: "The serial part of a program takes its time on any number of nodes, so the speed-up stays below the whole time over that of the serial part.",
    source: Source {
        author: "G. M. Amdahl (1967), equations as numbered by M. K. Zuffo",
        work: "Validity of the single processor approach to achieving large scale computing capabilities",
    },
    symbols: &[
        symbol("TS", "s", "time of the serial part").or(&["serial"]),
        symbol("TP", "s", "time of the parallel part on one node").or(&["parallel"]),
        NODES,
    ],
    equations: &[
        printed(Quantity::TimeAlone, "TS + TP", "3.3"),
        printed(Quantity::Time, "TS + TP/N", "3.4"),
        printed(Quantity::SpeedUp, "N*(TS + TP)/(N*TS + TP)", "3.5"),
        printed(Quantity::Efficiency, "(TS + TP)/(N*TS + TP)", "3.6"),
        derived(Quantity::TimeLimit, "TS", "3.4 for N → ∞"),
        derived(Quantity::SpeedUpLimit, "(TS + TP)/TS", "3.5 for N → ∞"),
        derived(Quantity::EfficiencyLimit, "0", "3.6 for N → ∞, with a serial part"),
        derived(Quantity::NodesForEfficiency, "((TS + TP)/E - TP)/TS", "3.6 solved for N"),
    ],
};
