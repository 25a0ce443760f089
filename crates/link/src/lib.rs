//! Communication between the running program and the command, and its authentication.
//!
//! - [`RendezvousServer`]: are all processes recorded? Processes on several hosts compare their clocks through MPI. That is safe only if
//!   every process is recorded: one without the probe would never answer, and the others would hang. So each asks `sintonia record`
//!   first, which gives all the same answer.
//! - Tuning: events are passed through shared memory ([`ring`]); commands ([`probe_protocol`]) are sent in an authenticated session that
//!   only holders of the run's shared secret can join ([`session`], [`mac`], [`random`]). Commands name values by the way to them
//!   ([`value_location`]), and say how the work of a master is cut ([`chunking`], [`pieces`]).

#![forbid(unsafe_code)]

mod addresses;
pub mod call_sums;
pub mod chunking;
pub mod mac;
pub mod pieces;
pub mod probe_protocol;
pub mod random;
mod rendezvous;
pub mod ring;
pub mod session;
pub mod value_location;

pub use addresses::{host_name, local_addresses};
pub use rendezvous::{HelloMessage, RendezvousServer, ask_all_recorded};
