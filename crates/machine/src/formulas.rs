//! The costs of a machine as formulas: in the bytes `n` of a message, and the number of processes `p` of a group.

use sintonia_formula::{Formula, Piece};

use crate::{Figure, Group, Line, Pieces, Timing};

/// The symbol that stands for the bytes of a message.
const BYTES: &str = "n";
/// The symbol that stands for the number of processes of a group.
const PROCESSES: &str = "p";

impl Figure {
    /// An unknown number in the interval.
    pub fn formula(&self) -> Formula {
        if self.is_exact() { Formula::decimal(self.middle()) } else { Formula::between(self.low(), self.high()) }
    }
}

/// Which number of a figure goes into a formula.
#[derive(Clone, Copy)]
enum Reading {
    Interval,
    Middle,
}

impl Reading {
    fn of(self, figure: &Figure) -> Formula {
        match self {
            Reading::Interval => figure.formula(),
            Reading::Middle => Formula::decimal(figure.middle()),
        }
    }

    fn line(self, line: &Line) -> Formula {
        self.of(&line.intercept) + self.of(&line.slope) * Formula::symbol(BYTES)
    }

    fn pieces(self, pieces: &Pieces) -> Formula {
        let piece = |(bound, line): (Option<Figure>, &Line)| Piece {
            up_to: bound.map(|bound| Formula::decimal(bound.middle())),
            formula: self.line(line),
        };
        Formula::pieces(&Formula::symbol(BYTES), pieces.iter().map(piece))
    }

    fn group(self, group: &Group) -> Formula {
        let at = group.at.iter().map(|at| {
            let processes = Formula::decimal(at.processes as f64);
            Piece::up_to(processes, self.pieces(&at.timing.pieces))
        });
        let last = group.at.last().map_or_else(Formula::zero, |at| self.pieces(&at.timing.pieces));
        let beyond = Piece { up_to: None, formula: last * &group.growth };
        Formula::pieces(&Formula::symbol(PROCESSES), at.chain([beyond]))
    }
}

impl Pieces {
    /// The seconds, in bytes `n`: each figure an unknown number of its interval.
    pub fn formula(&self) -> Formula {
        Reading::Interval.pieces(self)
    }

    /// The seconds, in bytes `n`, with the middle of each figure.
    pub fn middle_formula(&self) -> Formula {
        Reading::Middle.pieces(self)
    }
}

impl Timing {
    /// The seconds, in bytes `n`: each figure an unknown number of its interval.
    pub fn formula(&self) -> Formula {
        self.pieces.formula()
    }

    /// The seconds, in bytes `n`, with the middle of each figure.
    pub fn middle_formula(&self) -> Formula {
        self.pieces.middle_formula()
    }
}

impl Group {
    /// The seconds, in bytes `n` and processes `p`: each figure an unknown number of its interval. Between measured numbers of
    /// processes the next greater one holds.
    pub fn formula(&self) -> Formula {
        Reading::Interval.group(self)
    }

    /// The same with the middle of each figure (the growth beyond what was measured stays an interval).
    pub fn middle_formula(&self) -> Formula {
        Reading::Middle.group(self)
    }
}
