//! Placements by external partitioners, if installed: METIS and Scotch.
//!
//! They run as separate programs: installations differ in integer size and version, and a process can be killed on timeout and cannot crash
//! this one. Neither guarantees one rank per slot; surplus ranks are moved at the least cost, so the result is always one to one.

mod exact_sizes;
mod metis;
mod scotch;
mod separate;
mod subprocess;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use subprocess::Error;
use subprocess::PartitionerRun;

use crate::cluster::Placement;
use crate::graph::RankGraph;
use crate::hierarchy::SlotHierarchy;

/// Time limit of a placement: one candidate is not worth a longer wait.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Time limit for printing the version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);

/// A graph partitioner, by its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExternalPartitioner {
    /// METIS: `gpmetis`.
    Metis,
    /// Scotch: `gmap`, which Debian calls `scotch_gmap`.
    Scotch,
}

impl ExternalPartitioner {
    /// The installed ones.
    pub fn installed() -> Vec<ExternalPartitioner> {
        [ExternalPartitioner::Metis, ExternalPartitioner::Scotch].into_iter().filter(|library| library.program().is_ok()).collect()
    }

    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            ExternalPartitioner::Metis => "METIS",
            ExternalPartitioner::Scotch => "Scotch",
        }
    }

    /// Maps ranks to slots to minimise bytes times distance; computation is ignored.
    pub fn place(self, graph: &RankGraph, hierarchy: &SlotHierarchy) -> Result<Placement, Error> {
        let (ranks, slots) = (graph.rank_count(), hierarchy.slot_count());
        if ranks > slots as usize {
            return Err(Error::TooManyRanks { ranks, slots });
        }
        let folder = PartitionerRun::new(self.program()?, Instant::now() + TIMEOUT)?;
        // Empty slots become isolated ranks, so that there are as many ranks as slots.
        let graph = graph.clone().padded(slots as usize);
        let mut placed = match self {
            ExternalPartitioner::Metis => metis::place(&graph, hierarchy, &folder)?,
            ExternalPartitioner::Scotch => scotch::place(&graph, hierarchy, &folder)?,
        };
        placed.truncate(ranks);
        Ok(Placement(placed))
    }

    /// The path of its program.
    fn program(self) -> Result<PathBuf, Error> {
        match self {
            ExternalPartitioner::Metis => subprocess::find_in_path("gpmetis").ok_or(Error::NotInstalled("gpmetis")),
            ExternalPartitioner::Scotch => {
                let by_its_own_name = || subprocess::find_in_path("gmap").filter(|path| is_scotch(path));
                subprocess::find_in_path("scotch_gmap").or_else(by_its_own_name).ok_or(Error::NotInstalled("scotch_gmap"))
            }
        }
    }
}

/// Whether a `gmap` is Scotch's: there is a genome mapper with the same name.
fn is_scotch(path: &Path) -> bool {
    let answer = PartitionerRun::new(path.to_owned(), Instant::now() + VERSION_TIMEOUT).and_then(|folder| folder.run(&["-V"]));
    answer.is_ok_and(|said| said.starts_with("gmap/gpart"))
}
