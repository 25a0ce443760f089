//! What is placed: the ranks of a recording, or the vertices of a METIS file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sintonia_formats::metis;
use sintonia_insight::path::Path as CriticalPath;
use sintonia_insight::wait;
use sintonia_machine::Machine;
use sintonia_placement::weigh::{self, Weights};
use sintonia_placement::{Edge, Graph};
use sintonia_program::CommunicationGraph;
use sintonia_program::company::Alone;
use sintonia_program::history::History;
use sintonia_recording::Recording;

use crate::Error;
use crate::progress::Progress;

/// Ranks, and what they exchange.
pub struct Subject {
    /// The recording or file.
    pub name: String,
    /// Where the recording is that stays.
    pub path: Option<PathBuf>,
    /// The recording, if it is one.
    pub recording: Option<Recording>,
    /// What they exchange, in bytes.
    pub bytes: Graph,
    /// The mean size of a message.
    pub mean_bytes: f64,
    /// The share of the time that ranks are in MPI, from 0 to 1.
    pub share_in_mpi: f64,
    /// What the graph leaves out, one sentence each.
    pub notes: Vec<String>,
    communication: Option<CommunicationGraph>,
}

impl Subject {
    /// The ranks of a recording.
    pub fn of_recording(path: &Path) -> Result<Subject, Error> {
        let recording = Recording::open(path)?;
        let progress = Progress::new("reading ranks", recording.header.ranks.len());
        let communication = CommunicationGraph::of(&recording, true, || progress.step())?;
        drop(progress);
        let recorded: i64 = recording.header.ranks.iter().map(|rank| (rank.end_ns - rank.begin_ns).max(0)).sum();
        let computed: u64 = communication.compute_us.iter().sum();
        Ok(Subject {
            name: path.display().to_string(),
            path: Some(path.to_owned()),
            bytes: weigh::bytes(&communication),
            mean_bytes: weigh::mean_bytes(&communication),
            share_in_mpi: (1.0 - computed as f64 * 1e3 / (recorded as f64).max(1.0)).clamp(0.0, 1.0),
            notes: communication.left_out.sentences().map(str::to_owned).collect(),
            recording: Some(recording),
            communication: Some(communication),
        })
    }

    /// The vertices of a METIS file, whose edges are taken to be bytes, half of them each way.
    pub fn of_graph(path: &Path) -> Result<Subject, Error> {
        let text = std::fs::read(path).map_err(|error| Error::Other(format!("cannot read {}: {error}", path.display())))?;
        let graph = metis::read(&text).map_err(|problem| Error::Other(format!("{}, {problem}", path.display())))?;
        let edge = |edge: &sintonia_formats::Edge| Edge { ranks: edge.ends, there: edge.weight.div_ceil(2), back: edge.weight / 2 };
        let bytes = Graph::new(graph.vertices, &graph.edges.iter().map(edge).collect::<Vec<_>>());
        let name = path.display().to_string();
        Ok(Subject { name, path: None, recording: None, bytes, mean_bytes: 0.0, share_in_mpi: 1.0, notes: Vec::new(), communication: None })
    }

    /// An error if nothing is exchanged.
    pub fn is_connected(&self) -> Result<(), Error> {
        match self.bytes.edges() {
            0 => Err(Error::Other(format!("{}: no two ranks exchange anything, so it does not matter where they are", self.name))),
            _ => Ok(()),
        }
    }

    /// Whether every rank exchanges as much with every other.
    pub fn is_everyone_with_everyone(&self) -> bool {
        let ranks = self.bytes.ranks();
        let weights = || (0..self.ranks()).flat_map(|rank| self.bytes.arcs(rank)).map(|arc| arc.weight);
        let (least, most) = (weights().min().unwrap_or(0), weights().max().unwrap_or(0));
        self.bytes.edges() >= ranks * ranks.saturating_sub(1) / 2 && most <= least + least / 10
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.bytes.ranks() as u32
    }

    /// What they exchange, with all that counts besides bytes: what a message costs, and what is on the critical path.
    pub fn weighed(&self, machine: Option<&Machine>) -> Result<Graph, Error> {
        let Some(communication) = &self.communication else { return Ok(self.bytes.clone()) };
        let bytes_per_message = weigh::bytes_per_message(machine, self.mean_bytes);
        Ok(weigh::weighed(communication, &Weights { bytes_per_message, mpi_us: self.mpi_us(), critical: self.critical()? }))
    }

    /// How long a rank is in MPI, on average.
    fn mpi_us(&self) -> u64 {
        let compute = self.bytes.compute().iter().sum::<u64>() as f64 / f64::from(self.ranks()).max(1.0);
        (compute * self.share_in_mpi / (1.0 - self.share_in_mpi).max(1e-6)) as u64
    }

    /// How many messages on the critical path go from one rank to another; a recording without calls does not tell.
    fn critical(&self) -> Result<BTreeMap<(u32, u32), u64>, Error> {
        let Some(recording) = self.recording.as_ref().filter(|recording| !recording.header.profile) else { return Ok(BTreeMap::new()) };
        let progress = Progress::new("following the critical path", recording.header.ranks.len());
        let history = History::read(recording, &Alone, &|| progress.step())?;
        Ok(CriticalPath::of(&history, &wait::find(&history), &Alone).pairs)
    }
}
