//! Placement of ranks on cores and hosts.
//!
//! The input is the communication graph of a recorded run ([`RankGraph`]) and the available hosts from a machine file or a list
//! ([`Cluster`]). Slots are the leaves of a tree ([`SlotHierarchy`]): ranks are partitioned among its domains from the top down to minimise
//! the traffic between them, and then swapped as long as that improves the objective. The result is judged against the current placement
//! ([`ProposalSearch`](proposal::ProposalSearch)), by replay if there is a machine.

#![forbid(unsafe_code)]

pub mod available_hosts;
pub mod cluster;
pub mod edge_weights;
mod error;
pub mod external_partitioner;
pub mod fabric;
pub mod gain;
pub mod graph;
pub mod hierarchy;
pub mod input;
pub mod launcher;
pub mod launcher_file;
pub mod link_names;
pub mod machine;
pub mod mapping;
pub mod objective;
pub mod paired_runs;
pub mod partition;
pub mod proposal;
pub mod refine;
pub mod replay_time;
pub mod report;
pub mod search;

pub use cluster::{Cluster, Host, HostSlot, Placement, SlotDistances};
pub use error::Error;
pub use graph::{ExchangeEdge, RankArc, RankGraph};
pub use hierarchy::{HierarchyLevel, SlotHierarchy};
