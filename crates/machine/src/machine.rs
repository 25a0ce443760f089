//! A machine: everything that its file says.

use std::collections::BTreeMap;
use std::path::Path;

use sintonia_formula::Formula;

use crate::{Collective, Error, Figure, Message, Node, PairClass, Pieces, Topology, read, write};

/// A machine: what computing and communicating cost on it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Machine {
    /// Where the figures come from.
    pub about: About,
    /// Its nodes, those that are alike together.
    pub nodes: Vec<Node>,
    /// What messages cost, by how near the two processes are.
    pub networks: BTreeMap<PairClass, Network>,
    /// What operations of groups cost.
    pub groups: BTreeMap<Collective, Group>,
    /// How they are done.
    pub collectives: Collectives,
    /// How the nodes are connected, if messages can be in each other's way.
    pub topology: Option<Topology>,
}

/// How operations of groups are done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Collectives {
    /// The MPI library whose choice is made where none is told here.
    pub library: Option<String>,
    /// The algorithm of each operation that has one of its own, by name.
    pub algorithms: BTreeMap<Collective, String>,
}

/// Where the figures come from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct About {
    /// What the machine is called.
    pub name: String,
    /// The day it was measured.
    pub date: Option<String>,
    /// Who says so, if it was not measured with Sintonia.
    pub source: Option<String>,
    /// The MPI library.
    pub mpi: Option<String>,
    /// The words of the launcher.
    pub launcher: Vec<String>,
    /// How many processes it started.
    pub processes: Option<u64>,
    /// How many times it was started.
    pub launches: Option<u64>,
    /// What the order of the measurements was drawn from.
    pub seed: Option<u64>,
    /// Whether processes shared cores, so that times are those of a scheduler too.
    pub oversubscribed: bool,
    /// How often the intervals hold the true value.
    pub confidence: Option<f64>,
    /// What else one should know.
    pub notes: Vec<String>,
}

/// How a timing was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The least and the greatest size.
    pub bytes: [u64; 2],
    /// How many sizes.
    pub sizes: u64,
    /// How many measurements in all.
    pub samples: u64,
    /// How many of them lie far outside; they are counted in all the same.
    pub outliers: u64,
    /// The mean relative distance of the lines from the medians.
    pub mean_error_percent: f64,
    /// The greatest.
    pub worst_error_percent: f64,
}

/// What one operation costs against its size.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// The time by size.
    pub pieces: Pieces,
    /// How it was measured, if it was.
    pub measured: Option<Measured>,
    /// What was measured: sizes in ascending order, and the median of the seconds that each took. Empty if that was not kept.
    pub medians: Vec<(u64, f64)>,
}

/// How much of a transfer computation hides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overlap {
    /// The size of the message.
    pub bytes: u64,
    /// The share of it that is hidden, from 0 to 1.
    pub share: Figure,
}

/// What messages between two processes cost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Network {
    /// The largest message that `MPI_Send` gets rid of though nobody receives it yet.
    pub eager_bytes: Option<u64>,
    /// The same while the receiver does not even call MPI.
    pub unattended_bytes: Option<u64>,
    /// The largest message that `MPI_Isend` has copied when it returns.
    pub detached_bytes: Option<u64>,
    /// What each operation costs.
    pub messages: BTreeMap<Message, Timing>,
    /// How much computation hides of a transfer.
    pub overlap: Vec<Overlap>,
}

/// What an operation of so many processes costs.
#[derive(Debug, Clone, PartialEq)]
pub struct AtProcesses {
    /// How many there are.
    pub processes: u64,
    /// What it costs.
    pub timing: Timing,
}

/// What an operation of a group costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// How it grows with the number of processes `p`, beyond those measured; only ratios of it matter.
    pub growth: Formula,
    /// What was measured, by number of processes, growing; at least one.
    pub at: Vec<AtProcesses>,
}

impl Machine {
    /// Reads a machine file.
    pub fn read(path: &Path) -> Result<Machine, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
        Machine::parse(&text, path)
    }

    /// Reads the text of a machine file; `path` is for messages, and a graph of nodes is looked for beside it.
    pub fn parse(text: &str, path: &Path) -> Result<Machine, Error> {
        read::machine(text, path)
    }

    /// The text of its file, with comments.
    pub fn to_text(&self) -> String {
        write::text(self)
    }

    /// The network between processes that are so near; where that is not known, the next one farther off, else the next one nearer.
    pub fn network(&self, class: PairClass) -> Option<&Network> {
        let farther = self.networks.range(class..).next();
        farther.or_else(|| self.networks.range(..class).next_back()).map(|(_, network)| network)
    }

    /// An operation of a group.
    pub fn group(&self, what: Collective) -> Option<&Group> {
        self.groups.get(&what)
    }
}
