//! The input of a placement: the ranks of a recording, or the vertices of a METIS file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sintonia_formats::metis;
use sintonia_machine::Machine;
use sintonia_program::CommunicationGraph;
use sintonia_recording::Recording;

use crate::edge_weights::{self, EdgeWeights};
use crate::{Error, ExchangeEdge, RankGraph};

/// The number of messages on the critical path between each pair of ranks.
pub type CriticalMessages = BTreeMap<(u32, u32), u64>;

/// Ranks and the traffic between them.
pub struct PlacementInput {
    /// The recording or file.
    pub name: String,
    /// The path of the recording, if it is permanent.
    pub path: Option<PathBuf>,
    /// The recording, if any.
    pub recording: Option<Recording>,
    /// The traffic in bytes.
    pub traffic: RankGraph,
    /// The mean message size.
    pub mean_bytes: f64,
    /// The share of time in MPI, from 0 to 1.
    pub share_in_mpi: f64,
    /// What the graph leaves out, one sentence each.
    pub notes: Vec<String>,
    communication: Option<CommunicationGraph>,
}

impl PlacementInput {
    /// The ranks of a recording; `progress` is called for each.
    pub fn from_recording(path: &Path, recording: Recording, progress: impl Fn() + Sync) -> Result<PlacementInput, Error> {
        let communication = CommunicationGraph::from_recording(&recording, true, progress)?;
        let recorded: i64 = recording.header.ranks.iter().map(|rank| (rank.end_ns - rank.begin_ns).max(0)).sum();
        let computed: u64 = communication.compute_us.iter().sum();
        Ok(PlacementInput {
            name: path.display().to_string(),
            path: Some(path.to_owned()),
            traffic: edge_weights::byte_graph(&communication),
            mean_bytes: edge_weights::mean_bytes(&communication),
            share_in_mpi: (1.0 - computed as f64 * 1e3 / (recorded as f64).max(1.0)).clamp(0.0, 1.0),
            notes: communication.omitted.notes().map(str::to_owned).collect(),
            recording: Some(recording),
            communication: Some(communication),
        })
    }

    /// The vertices of a METIS file; edge weights are taken as bytes, half in each direction.
    pub fn from_metis(path: &Path) -> Result<PlacementInput, Error> {
        let text = std::fs::read(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
        let graph = metis::read(&text).map_err(|problem| Error::Graph { path: path.to_owned(), problem })?;
        let edge = |edge: &sintonia_formats::WeightedEdge| ExchangeEdge {
            ranks: edge.endpoints,
            forward: edge.weight.div_ceil(2),
            backward: edge.weight / 2,
        };
        let bytes = RankGraph::new(graph.vertex_weights, &graph.edges.iter().map(edge).collect::<Vec<_>>());
        let name = path.display().to_string();
        Ok(PlacementInput {
            name,
            path: None,
            recording: None,
            traffic: bytes,
            mean_bytes: 0.0,
            share_in_mpi: 1.0,
            notes: Vec::new(),
            communication: None,
        })
    }

    /// Fails if nothing is exchanged.
    pub fn check_connected(&self) -> Result<(), Error> {
        match self.traffic.edge_count() {
            0 => Err(Error::NoTraffic(self.name.clone())),
            _ => Ok(()),
        }
    }

    /// Whether all pairs of ranks exchange about the same amount.
    pub(crate) fn is_uniform_all_to_all(&self) -> bool {
        let ranks = self.traffic.rank_count();
        let weights = || (0..self.rank_count()).flat_map(|rank| self.traffic.arcs(rank)).map(|arc| arc.weight);
        let (least, most) = (weights().min().unwrap_or(0), weights().max().unwrap_or(0));
        self.traffic.edge_count() >= ranks * ranks.saturating_sub(1) / 2 && most <= least + least / 10
    }

    /// The number of ranks.
    pub fn rank_count(&self) -> u32 {
        self.traffic.rank_count() as u32
    }

    /// The traffic weighted by message overhead and by the critical path.
    pub(crate) fn weighted_graph(&self, machine: Option<&Machine>, critical: CriticalMessages) -> RankGraph {
        let Some(communication) = &self.communication else { return self.traffic.clone() };
        let bytes_per_message = edge_weights::bytes_per_message(machine, self.mean_bytes);
        edge_weights::weighted_graph(communication, &EdgeWeights { bytes_per_message, mpi_us: self.mean_mpi_us(), critical })
    }

    /// Mean time in MPI per rank, in microseconds.
    fn mean_mpi_us(&self) -> u64 {
        let compute = self.traffic.compute().iter().sum::<u64>() as f64 / f64::from(self.rank_count()).max(1.0);
        (compute * self.share_in_mpi / (1.0 - self.share_in_mpi).max(1e-6)) as u64
    }

    /// The recording, if it has all calls and not only their totals.
    pub fn recorded_calls(&self) -> Option<&Recording> {
        self.recording.as_ref().filter(|recording| !recording.header.profile)
    }
}
