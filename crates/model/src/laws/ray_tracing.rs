//! The example of Zuffo's paper: an image computed in tiles, by a manager with workers.

use super::{Law, NODES, Quantity, ZUFFO_AFTER_STONE, derived, printed, symbol};

pub static RAY_TRACING: Law = Law {
    name: "ray-tracing",
    title: "Ray tracing in tiles",
    says: "An image is computed in tiles that all go to one node, one byte a pixel: the larger the tiles, the less latency counts.",
    source: ZUFFO_AFTER_STONE,
    symbols: &[
        symbol("R", "s", "time to compute one tile"),
        symbol("X", "", "rows of the image"),
        symbol("Y", "", "columns of the image"),
        symbol("a", "", "rows of a tile"),
        symbol("b", "", "columns of a tile"),
        symbol("Lc", "s", "latency of a message").or(&["latency"]),
        symbol("F", "B/s", "rate").or(&["rate"]),
        symbol("M", "", "tiles, X*Y/(a*b)"),
        symbol("G", "", "granularity, R/CM"),
        NODES,
    ],
    equations: &[
        printed(Quantity::Tasks, "X*Y/(a*b)", "4.1"),
        printed(Quantity::MessageSize, "a*b", "4.2, the first of two with this number"),
        printed(Quantity::Time, "R*M/N + X*Y*(Lc/(a*b) + 1/F)", "4.2, the second"),
        derived(Quantity::Overhead, "Lc + a*b/F", "2.1 with a message of one tile"),
        derived(Quantity::Granularity, "R/(Lc + a*b/F)", "3.7"),
        derived(Quantity::SpeedUp, "(G + 1)*N/(G + N)", "3.15"),
        derived(Quantity::Efficiency, "(G + 1)/(G + N)", "3.16"),
        derived(Quantity::TimeAlone, "R*M + X*Y*(Lc/(a*b) + 1/F)", "4.2 at N = 1"),
        derived(Quantity::TimeLimit, "X*Y*(Lc/(a*b) + 1/F)", "4.2 for N → ∞"),
        derived(Quantity::SpeedUpLimit, "G + 1", "3.17"),
        derived(Quantity::EfficiencyLimit, "0", "3.18"),
        derived(Quantity::NodesForEfficiency, "(G + 1)/E - G", "3.16 solved for N"),
        derived(Quantity::BestNodes, "M", "4.2 falls with N, and a tile cannot be divided"),
    ],
};
