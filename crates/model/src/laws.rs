//! Named laws of parallel computing, as formulas of the same kind as fitted ones.
//!
//! A [`PerformanceLaw`] keeps an equation as published, with its source, and what follows from it: limits for many nodes, the useful number of
//! nodes, the nodes for a given efficiency. A [`LawInstance`] is a law with values for its symbols. [`task_times`] estimates those of a
//! master-worker program from its task times.

mod amdahl;
mod communication;
mod granularity;
mod gustafson;
mod law_instance;
mod law_query;
mod ray_tracing;
pub mod task_times;
#[cfg(test)]
mod tests;

pub use law_instance::{LawEvaluationError, LawInstance, LawValueError};
pub use law_query::{EFFECTIVELY_INFINITE, LawAnswer, LawQuery, LawQueryError, LawRow};

use sintonia_formula::Formula;

/// A law: its equations, symbols and source.
#[derive(Debug, PartialEq)]
pub struct PerformanceLaw {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its name in text.
    pub title: &'static str,
    /// What it says, in one sentence.
    pub statement: &'static str,
    /// Its source.
    pub source: LawSource,
    /// The symbols of its equations.
    pub symbols: &'static [LawSymbol],
    /// The equations; published ones before derived ones.
    pub equations: &'static [LawEquation],
}

/// Where a law was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LawSource {
    /// The authors.
    pub author: &'static str,
    /// The title.
    pub work: &'static str,
}

/// A symbol of a law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LawSymbol {
    /// Its name in formulas.
    pub name: &'static str,
    /// Other names on the command line.
    pub aliases: &'static [&'static str],
    /// Its unit.
    pub unit: &'static str,
    /// What it is.
    pub description: &'static str,
    /// Its maximum.
    pub max: f64,
}

/// One equation of a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LawEquation {
    /// The quantity on its left side.
    pub quantity: LawQuantity,
    /// Its right side, in formula syntax.
    pub text: &'static str,
    /// Where it comes from.
    pub origin: EquationOrigin,
}

/// Where an equation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EquationOrigin {
    /// Published in the source under this number.
    Printed(&'static str),
    /// Derived from others, in this way.
    Derived(&'static str),
}

/// What an equation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LawQuantity {
    /// Time on N nodes, or of one message.
    Time,
    /// Time on one node.
    SerialTime,
    /// Speed-up of N nodes over one.
    SpeedUp,
    /// Parallel efficiency: speed-up over nodes.
    Efficiency,
    /// The time for N → ∞.
    TimeLimit,
    /// The speed-up for N → ∞.
    SpeedUpLimit,
    /// The efficiency for N → ∞.
    EfficiencyLimit,
    /// The number of nodes at which the efficiency is E.
    NodesForEfficiency,
    /// The smallest number of nodes with minimum time.
    BestNodes,
    /// The time of a task over its communication time.
    Granularity,
    /// Tasks per node.
    TasksPerNode,
    /// The number of tasks.
    Tasks,
    /// The communication time of a task.
    Overhead,
    /// Bytes of a message.
    MessageSize,
    /// The time of a message beyond its transfer at full rate.
    Latency,
}

impl LawQuantity {
    /// The symbol on the left side.
    pub fn symbol(self) -> &'static str {
        match self {
            LawQuantity::Time => "T",
            LawQuantity::SerialTime => "T1",
            LawQuantity::SpeedUp => "S",
            LawQuantity::Efficiency => "E",
            LawQuantity::TimeLimit => "T_limit",
            LawQuantity::SpeedUpLimit => "S_limit",
            LawQuantity::EfficiencyLimit => "E_limit",
            LawQuantity::NodesForEfficiency => "N_E",
            LawQuantity::BestNodes => "N_best",
            LawQuantity::Granularity => "G",
            LawQuantity::TasksPerNode => "k",
            LawQuantity::Tasks => "M",
            LawQuantity::Overhead => "CM",
            LawQuantity::MessageSize => "MT",
            LawQuantity::Latency => "Lc",
        }
    }
}

/// All laws.
pub static LAWS: [&PerformanceLaw; 9] = [
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

impl PerformanceLaw {
    /// The law with this name.
    pub fn from_name(name: &str) -> Option<&'static PerformanceLaw> {
        LAWS.into_iter().find(|law| law.name == name)
    }

    /// The equation of a quantity.
    pub fn equation(&self, of: LawQuantity) -> Option<&LawEquation> {
        self.equations.iter().find(|equation| equation.quantity == of)
    }

    /// The formula of a quantity, as published.
    pub fn formula(&self, of: LawQuantity) -> Option<Formula> {
        self.equation(of).map(LawEquation::formula)
    }

    /// The symbol with this name or alias.
    pub fn symbol(&self, name: &str) -> Option<&'static LawSymbol> {
        self.symbols.iter().find(|symbol| symbol.name == name || symbol.aliases.contains(&name))
    }
}

impl LawEquation {
    /// Its right side.
    pub fn formula(&self) -> Formula {
        Formula::parse(self.text).expect("every text in the table is a formula: a test parses them all")
    }
}

/// The number of nodes, in every law that has nodes.
const NODES: LawSymbol = symbol("N", "", "nodes");

const fn symbol(name: &'static str, unit: &'static str, means: &'static str) -> LawSymbol {
    LawSymbol { name, aliases: &[], unit, description: means, max: f64::INFINITY }
}

impl LawSymbol {
    const fn with_aliases(self, also: &'static [&'static str]) -> LawSymbol {
        LawSymbol { aliases: also, ..self }
    }

    const fn with_max(self, most: f64) -> LawSymbol {
        LawSymbol { max: most, ..self }
    }
}

const fn printed(of: LawQuantity, text: &'static str, number: &'static str) -> LawEquation {
    LawEquation { quantity: of, text, origin: EquationOrigin::Printed(number) }
}

const fn derived(of: LawQuantity, text: &'static str, how: &'static str) -> LawEquation {
    LawEquation { quantity: of, text, origin: EquationOrigin::Derived(how) }
}

const ZUFFO: LawSource =
    LawSource { author: "M. K. Zuffo", work: "Um modelo analítico para estimativa de desempenho de multicomputadores" };

const ZUFFO_AFTER_STONE: LawSource = LawSource { author: "M. K. Zuffo, after H. S. Stone (1987)", work: ZUFFO.work };
