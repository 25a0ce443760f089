//! Placement of ranks on cores and hosts.
//!
//! The input is the communication graph of a recorded run ([`RankGraph`]) and the available hosts from a machine file or a list
//! ([`Cluster`]). Slots are the leaves of a tree ([`SlotHierarchy`]): ranks are partitioned among its domains from the top down to minimise
//! the traffic between them, and then swapped as long as that improves the objective.

#![forbid(unsafe_code)]

pub mod cluster;
pub mod edge_weights;
pub mod external_partitioner;
pub mod fabric;
pub mod gain;
pub mod graph;
pub mod hierarchy;
pub mod launcher;
pub mod machine;
pub mod mapping;
pub mod objective;
pub mod paired_runs;
pub mod partition;
pub mod refine;
pub mod replay_time;
pub mod search;

pub use cluster::{Cluster, Host, HostSlot, Placement, SlotDistances};
pub use graph::{ExchangeEdge, RankArc, RankGraph};
pub use hierarchy::{HierarchyLevel, SlotHierarchy};
