//! Named laws of parallel computing, as formulas of the same kind as fitted ones.
//!
//! How fast a program can become was asked before any tool measured it. A [`Law`] keeps an answer as it was printed, with its source, beside
//! what follows from it: the limit for many nodes, the nodes up to which it pays to go, the nodes for a wanted efficiency. A [`Case`] is a law
//! with values for its symbols. [`tasks`] finds those of a master with workers from what they did.

mod amdahl;
mod case;
mod communication;
mod granularity;
mod gustafson;
mod ray_tracing;
pub mod tasks;
#[cfg(test)]
mod tests;

pub use case::{BadValue, Case, Unanswered};

use sintonia_formula::Formula;

/// A law: what it says, of what, and who said it.
#[derive(Debug, PartialEq)]
pub struct Law {
    /// What it is called in commands.
    pub name: &'static str,
    /// What it is called in sentences.
    pub title: &'static str,
    /// What it says, in one sentence.
    pub says: &'static str,
    /// Who said it.
    pub source: Source,
    /// What its equations speak of.
    pub symbols: &'static [Symbol],
    /// The equations, those that were printed before those that follow from them.
    pub equations: &'static [Equation],
}

/// Where a law was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Who wrote it.
    pub author: &'static str,
    /// In what.
    pub work: &'static str,
}

/// A symbol of a law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Symbol {
    /// Its name in formulas.
    pub name: &'static str,
    /// Other names by which commands know it.
    pub also: &'static [&'static str],
    /// What it counts.
    pub unit: &'static str,
    /// What it is.
    pub means: &'static str,
    /// The largest value it can have.
    pub most: f64,
}

/// One equation of a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Equation {
    /// What stands on its left side.
    pub of: Quantity,
    /// Its right side, as a formula is written.
    pub text: &'static str,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where an equation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is printed in the source under this number.
    Printed(&'static str),
    /// It follows from others, in this way.
    Derived(&'static str),
}

/// What an equation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Time on N nodes, or of one message.
    Time,
    /// Time on one node.
    TimeAlone,
    /// How many times faster N nodes are than one.
    SpeedUp,
    /// The speed-up as a share of the nodes.
    Efficiency,
    /// The time that more nodes never get below.
    TimeLimit,
    /// The speed-up that more nodes never exceed.
    SpeedUpLimit,
    /// The efficiency for ever more nodes.
    EfficiencyLimit,
    /// The number of nodes at which the efficiency is E.
    NodesForEfficiency,
    /// The smallest number of nodes that no other is faster than.
    BestNodes,
    /// The time of a task over the communication it costs.
    Granularity,
    /// Tasks that each node does.
    TasksPerNode,
    /// How many tasks there are.
    Tasks,
    /// What communication a task costs.
    Overhead,
    /// Bytes of a message.
    MessageSize,
    /// What a message takes beyond its own length.
    Latency,
}

impl Quantity {
    /// The symbol on the left side.
    pub fn symbol(self) -> &'static str {
        match self {
            Quantity::Time => "T",
            Quantity::TimeAlone => "T1",
            Quantity::SpeedUp => "S",
            Quantity::Efficiency => "E",
            Quantity::TimeLimit => "T_limit",
            Quantity::SpeedUpLimit => "S_limit",
            Quantity::EfficiencyLimit => "E_limit",
            Quantity::NodesForEfficiency => "N_E",
            Quantity::BestNodes => "N_best",
            Quantity::Granularity => "G",
            Quantity::TasksPerNode => "k",
            Quantity::Tasks => "M",
            Quantity::Overhead => "CM",
            Quantity::MessageSize => "MT",
            Quantity::Latency => "Lc",
        }
    }
}

/// All laws.
pub static LAWS: [&Law; 9] = [
    &amdahl::AMDAHL,
    &gustafson::GUSTAFSON,
    &granularity::SIMPLE_NODE,
    &granularity::COMPOSITE_NODE,
    &communication::ADJACENT,
    &communication::STORE_AND_FORWARD,
    &communication::WORMHOLE,
    &communication::VIRTUAL_CUT_THROUGH,
    &ray_tracing::RAY_TRACING,
];

impl Law {
    /// The law with this name.
    pub fn named(name: &str) -> Option<&'static Law> {
        LAWS.into_iter().find(|law| law.name == name)
    }

    /// The equation of a quantity.
    pub fn equation(&self, of: Quantity) -> Option<&Equation> {
        self.equations.iter().find(|equation| equation.of == of)
    }

    /// The formula of a quantity, as it was printed.
    pub fn formula(&self, of: Quantity) -> Option<Formula> {
        self.equation(of).map(Equation::formula)
    }

    /// The symbol with this name, or known by it.
    pub fn symbol(&self, name: &str) -> Option<&'static Symbol> {
        self.symbols.iter().find(|symbol| symbol.name == name || symbol.also.contains(&name))
    }
}

impl Equation {
    /// Its right side.
    pub fn formula(&self) -> Formula {
        Formula::parse(self.text).expect("every text in the table is a formula: a test reads them all")
    }
}

/// The nodes that a program runs on, in every law that has nodes.
const NODES: Symbol = symbol("N", "", "nodes");

const fn symbol(name: &'static str, unit: &'static str, means: &'static str) -> Symbol {
    Symbol { name, also: &[], unit, means, most: f64::INFINITY }
}

impl Symbol {
    const fn or(self, also: &'static [&'static str]) -> Symbol {
        Symbol { also, ..self }
    }

    const fn at_most(self, most: f64) -> Symbol {
        Symbol { most, ..self }
    }
}

const fn printed(of: Quantity, text: &'static str, number: &'static str) -> Equation {
    Equation { of, text, origin: Origin::Printed(number) }
}

const fn derived(of: Quantity, text: &'static str, how: &'static str) -> Equation {
    Equation { of, text, origin: Origin::Derived(how) }
}

const ZUFFO: Source = Source { author: "M. K. Zuffo", work: "Um modelo analítico para estimativa de desempenho de multicomputadores" };

const ZUFFO_AFTER_STONE: Source = Source { author: "M. K. Zuffo, after H. S. Stone (1987)", work: ZUFFO.work };
