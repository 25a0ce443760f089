//! Which rank goes to which core of which host.
//!
//! A recorded run says who exchanges how much with whom ([`Graph`]), a machine file or a list of hosts where there is room ([`Cluster`]). Slots
//! are the leaves of a tree ([`Hierarchy`]): ranks are divided among its domains from the top down, so that little is exchanged between them,
//! and then swapped as long as that makes the chosen objective better.

pub mod cluster;
pub mod fabric;
pub mod gain;
pub mod graph;
pub mod hierarchy;
pub mod launcher;
pub mod library;
pub mod machine;
pub mod mapping;
pub mod measured;
pub mod objective;
pub mod partition;
pub mod refine;
pub mod search;
pub mod time;
pub mod weigh;

pub use cluster::{Cluster, Distances, Host, Placement, Slot};
pub use graph::{Arc, Edge, Graph};
pub use hierarchy::{Hierarchy, Level};
