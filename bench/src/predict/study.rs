//! What is predicted from what.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

/// A program with the runs that are fitted and those that are predicted.
pub(super) struct PredictionStudy {
    pub name: &'static str,
    /// Its source, in the folder `apps`.
    pub source: &'static str,
    /// What follows the size on its command line.
    pub then: &'static [&'static str],
    pub known: &'static [RunSetting],
    pub asked: &'static [RunSetting],
}

/// The size and the number of processes of a run.
#[derive(Clone, Copy, Serialize)]
pub(super) struct RunSetting {
    pub n: u32,
    pub p: u32,
}

impl Display for RunSetting {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "n = {}, p = {}", self.n, self.p)
    }
}

const fn at(n: u32, p: u32) -> RunSetting {
    RunSetting { n, p }
}

impl PredictionStudy {
    /// Whether some of its runs have more processes than the smallest machine has cores: then none is bound to one.
    pub(super) fn is_crowded(&self) -> bool {
        self.known.iter().chain(self.asked).any(|setting| setting.p > 2)
    }
}

/// Sizes stay within one level of the caches: what the next one costs, no run in a smaller one can tell.
pub(super) const STUDIES: &[PredictionStudy] = &[
    PredictionStudy {
        name: "matmul, size",
        source: "matmul.c",
        then: &[],
        known: &[at(400, 2), at(500, 2), at(600, 2), at(700, 2), at(800, 2)],
        asked: &[at(3200, 2)],
    },
    PredictionStudy {
        name: "stencil, size",
        source: "stencil.c",
        then: &["200"],
        known: &[at(400, 2), at(500, 2), at(600, 2), at(700, 2), at(800, 2)],
        asked: &[at(3200, 2), at(4000, 2)],
    },
    PredictionStudy {
        name: "conjugate, size",
        source: "conjugate.f90",
        then: &["10"],
        known: &[at(2000, 2), at(2400, 2), at(2800, 2), at(3200, 2), at(3600, 2)],
        asked: &[at(14_400, 2)],
    },
    PredictionStudy {
        name: "matmul, processes",
        source: "matmul.c",
        then: &[],
        known: &[at(800, 3), at(800, 4), at(800, 5), at(800, 6), at(800, 8)],
        asked: &[at(800, 32)],
    },
    PredictionStudy {
        name: "stencil, processes",
        source: "stencil.c",
        then: &["50"],
        known: &[at(1600, 2), at(1600, 3), at(1600, 4), at(1600, 6), at(1600, 8)],
        asked: &[at(1600, 32)],
    },
    PredictionStudy {
        name: "conjugate, processes",
        source: "conjugate.f90",
        then: &["50"],
        known: &[at(1600, 2), at(1600, 3), at(1600, 4), at(1600, 6), at(1600, 8)],
        asked: &[at(1600, 32)],
    },
];
