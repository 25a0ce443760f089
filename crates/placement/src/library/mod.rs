//! Placements by other programs, where they are installed: METIS and Scotch.
//!
//! They are used as programs and not linked: what is installed differs in the size of its integers and in its version, and a process of its own
//! can be ended when it takes too long and cannot take this one with it. Neither of them keeps to one rank on each slot. What is too much in
//! one place is moved where that costs least, so that a placement from here is always one to one.

mod apart;
mod exact;
mod metis;
mod program;
mod scotch;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use program::Error;
use program::Folder;

use crate::cluster::Placement;
use crate::graph::Graph;
use crate::hierarchy::Hierarchy;

/// No more time is given to a placement: a candidate is not worth a long wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a program may take to say what it is.
const ANSWER: Duration = Duration::from_secs(5);

/// A library that partitions graphs, by the program that comes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Library {
    /// METIS: `gpmetis`.
    Metis,
    /// Scotch: `gmap`, which Debian calls `scotch_gmap`.
    Scotch,
}

impl Library {
    /// Those whose programs are there.
    pub fn find() -> Vec<Library> {
        [Library::Metis, Library::Scotch].into_iter().filter(|library| library.program().is_ok()).collect()
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Library::Metis => "METIS",
            Library::Scotch => "Scotch",
        }
    }

    /// Places ranks on slots, so that what is exchanged has not far to go; compute weights are not looked at.
    pub fn place(self, graph: &Graph, hierarchy: &Hierarchy) -> Result<Placement, Error> {
        let (ranks, slots) = (graph.ranks(), hierarchy.slots());
        if ranks > slots as usize {
            return Err(Error::TooManyRanks { ranks, slots });
        }
        let folder = Folder::new(self.program()?, Instant::now() + PATIENCE)?;
        // Slots that stay empty are ranks without neighbours, so that both count the same.
        let graph = graph.clone().padded(slots as usize);
        let mut placed = match self {
            Library::Metis => metis::place(&graph, hierarchy, &folder)?,
            Library::Scotch => scotch::place(&graph, hierarchy, &folder)?,
        };
        placed.truncate(ranks);
        Ok(Placement(placed))
    }

    /// Where its program is.
    fn program(self) -> Result<PathBuf, Error> {
        match self {
            Library::Metis => program::find("gpmetis").ok_or(Error::NotThere("gpmetis")),
            Library::Scotch => {
                let by_its_own_name = || program::find("gmap").filter(|path| is_of_scotch(path));
                program::find("scotch_gmap").or_else(by_its_own_name).ok_or(Error::NotThere("scotch_gmap"))
            }
        }
    }
}

/// Whether a `gmap` is Scotch's: there is one for genomes, too.
fn is_of_scotch(path: &Path) -> bool {
    let answer = Folder::new(path.to_owned(), Instant::now() + ANSWER).and_then(|folder| folder.run(&["-V"]));
    answer.is_ok_and(|said| said.starts_with("gmap/gpart"))
}
