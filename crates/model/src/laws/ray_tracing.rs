//! The example of Zuffo's paper: an image computed in tiles by a manager with workers.

use super::{LawQuantity, NODES, PerformanceLaw, ZUFFO_AFTER_STONE, derived, printed, symbol};

pub(super) static RAY_TRACING: PerformanceLaw = PerformanceLaw {
    name: "ray-tracing",
    title: "Ray tracing in tiles",
    statement: "An image is computed in tiles that are all sent to one node, one byte per pixel: the larger the tiles, the less latency matters.",
    source: ZUFFO_AFTER_STONE,
    symbols: &[
        symbol("R", "s", "time to compute one tile"),
        symbol("X", "", "rows of the image"),
        symbol("Y", "", "columns of the image"),
        symbol("a", "", "rows of a tile"),
        symbol("b", "", "columns of a tile"),
        symbol("Lc", "s", "latency of a message").with_aliases(&["latency"]),
        symbol("F", "B/s", "rate").with_aliases(&["rate"]),
        symbol("M", "", "tiles, X*Y/(a*b)"),
        symbol("G", "", "granularity, R/CM"),
        NODES,
    ],
    equations: &[
        printed(LawQuantity::Tasks, "X*Y/(a*b)", "4.1"),
        printed(LawQuantity::MessageSize, "a*b", "4.2, the first of two with this number"),
        printed(LawQuantity::Time, "R*M/N + X*Y*(Lc/(a*b) + 1/F)", "4.2, the second"),
        derived(LawQuantity::Overhead, "Lc + a*b/F", "2.1 with a message of one tile"),
        derived(LawQuantity::Granularity, "R/(Lc + a*b/F)", "3.7"),
        derived(LawQuantity::SpeedUp, "(G + 1)*N/(G + N)", "3.15"),
        derived(LawQuantity::Efficiency, "(G + 1)/(G + N)", "3.16"),
        derived(LawQuantity::SerialTime, "R*M + X*Y*(Lc/(a*b) + 1/F)", "4.2 at N = 1"),
        derived(LawQuantity::TimeLimit, "X*Y*(Lc/(a*b) + 1/F)", "4.2 for N → ∞"),
        derived(LawQuantity::SpeedUpLimit, "G + 1", "3.17"),
        derived(LawQuantity::EfficiencyLimit, "0", "3.18"),
        derived(LawQuantity::NodesForEfficiency, "(G + 1)/E - G", "3.16 solved for N"),
        derived(LawQuantity::BestNodes, "M", "4.2 falls with N, and a tile cannot be divided"),
    ],
};
