//! Costs of a machine as formulas: in the message size `n` and the number of processes `p` of a communicator.

use sintonia_formula::{Formula, PiecewiseCase};

use crate::{CollectiveCost, LinearCost, OperationTiming, PiecewiseCost, UncertainValue};

/// Symbol of the message size in bytes.
const BYTES: &str = "n";
/// Symbol of the number of processes.
const PROCESSES: &str = "p";

impl UncertainValue {
    /// An unknown number in the interval.
    pub fn formula(&self) -> Formula {
        if self.is_exact() { Formula::decimal(self.middle()) } else { Formula::interval(self.low(), self.high()) }
    }
}

/// Which number of an uncertain value goes into a formula.
#[derive(Clone, Copy)]
enum ValueChoice {
    Interval,
    Middle,
}

impl ValueChoice {
    fn value_formula(self, figure: &UncertainValue) -> Formula {
        match self {
            ValueChoice::Interval => figure.formula(),
            ValueChoice::Middle => Formula::decimal(figure.middle()),
        }
    }

    fn line_formula(self, line: &LinearCost) -> Formula {
        // The numbers of a formula are independent, so those of a widened line enclose more than its times.
        let [intercept, slope] = [line.intercept, line.slope].map(|value| value.widened(line.widening));
        self.value_formula(&intercept) + self.value_formula(&slope) * Formula::symbol(BYTES)
    }

    fn pieces_formula(self, pieces: &PiecewiseCost) -> Formula {
        let piece = |(bound, line): (Option<UncertainValue>, &LinearCost)| PiecewiseCase {
            up_to: bound.map(|bound| Formula::decimal(bound.middle())),
            formula: self.line_formula(line),
        };
        Formula::piecewise(&Formula::symbol(BYTES), pieces.iter().map(piece))
    }

    fn collective_formula(self, group: &CollectiveCost) -> Formula {
        let at = group.timings.iter().map(|at| {
            let processes = Formula::decimal(at.processes as f64);
            PiecewiseCase::up_to(processes, self.pieces_formula(&at.timing.pieces))
        });
        let last = group.timings.last().map_or_else(Formula::zero, |at| self.pieces_formula(&at.timing.pieces));
        let beyond = PiecewiseCase { up_to: None, formula: last * &group.growth };
        Formula::piecewise(&Formula::symbol(PROCESSES), at.chain([beyond]))
    }
}

impl PiecewiseCost {
    /// Seconds in terms of `n`; every number is its interval.
    pub fn formula(&self) -> Formula {
        ValueChoice::Interval.pieces_formula(self)
    }

    /// Seconds in terms of `n`; every number is its middle.
    pub fn middle_formula(&self) -> Formula {
        ValueChoice::Middle.pieces_formula(self)
    }
}

impl OperationTiming {
    /// Seconds in terms of `n`; every number is its interval.
    pub fn formula(&self) -> Formula {
        self.pieces.formula()
    }

    /// Seconds in terms of `n`; every number is its middle.
    pub fn middle_formula(&self) -> Formula {
        self.pieces.middle_formula()
    }
}

impl CollectiveCost {
    /// Seconds in terms of `n` and `p`; every number is its interval. Between measured numbers of processes the next larger one applies.
    pub fn formula(&self) -> Formula {
        ValueChoice::Interval.collective_formula(self)
    }

    /// The same with the middle of every number (the growth beyond the measurements stays an interval).
    pub fn middle_formula(&self) -> Formula {
        ValueChoice::Middle.collective_formula(self)
    }
}
