//! The paper's programs and the versions of them that are run.
//!
//! The paper's 32 computers of 2005 took minutes for them. Here pi has a tenth of the points, and primes a hundred times the range: less would be
//! over before a Java virtual machine has compiled it.

use std::fmt::{self, Display, Formatter};

/// A program of the paper.
pub(super) struct JavaProgram {
    /// Its folder in `apps`.
    pub name: &'static str,
    /// Its files there, the application first.
    pub sources: &'static [&'static str],
    /// What its size is called.
    size: &'static str,
    /// The four versions of the paper: name, tasks, size.
    versions: [(char, u64, u64); 4],
    /// Where its condition stands that few numbers meet, if it has one.
    rare: Option<&'static str>,
}

/// A version on so many workers.
pub(super) struct VersionCase {
    size: &'static str,
    version: (char, u64, u64),
    workers: u64,
}

/// Those of the paper, scaled.
pub(super) const PROGRAMS: &[JavaProgram] = &[
    JavaProgram {
        name: "pi",
        sources: &["pi.pasl", "Pi.java"],
        size: "points",
        versions: [('A', 100, 100_000_000), ('B', 100, 200_000_000), ('C', 200, 100_000_000), ('D', 200, 200_000_000)],
        rare: None,
    },
    JavaProgram {
        name: "primes",
        sources: &["primes.pasl", "Primes.java"],
        size: "upto",
        versions: [('A', 100, 50_000_000), ('B', 100, 100_000_000), ('C', 200, 50_000_000), ('D', 200, 100_000_000)],
        rare: Some("Primes.java:14"),
    },
];

const WORKERS: [u64; 3] = [1, 2, 4];

impl JavaProgram {
    /// All versions on all numbers of workers.
    pub(super) fn cases(&self) -> Vec<VersionCase> {
        let of = |version| WORKERS.map(|workers| VersionCase { size: self.size, version, workers });
        self.versions.iter().flat_map(|version| of(*version)).collect()
    }

    /// What is known of its condition: the share of primes, as the paper has it.
    pub(super) fn taken(&self, case: &VersionCase) -> Option<String> {
        let size = case.version.2 as f64;
        self.rare.map(|place| format!("{place}={}", 1.0 / (size.ln() - 1.0)))
    }
}

impl VersionCase {
    /// The options of `run-tasks`.
    pub(super) fn run(&self) -> String {
        format!("--workers {} {}", self.workers, self.parameters())
    }

    /// The options of `predict`.
    pub(super) fn prediction(&self) -> String {
        format!("--procs {} {}", self.workers, self.parameters())
    }

    fn parameters(&self) -> String {
        format!("-p tasks={} -p {}={}", self.version.1, self.size, self.version.2)
    }
}

impl Display for VersionCase {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let (name, tasks, size) = self.version;
        let workers = self.workers;
        write!(f, "{name}: {tasks} tasks, {size:e} {}, {workers} worker{}", self.size, if workers == 1 { "" } else { "s" })
    }
}
