//! What a recording says of the program.
//!
//! A recording lists calls. This crate turns them into statements about the program that made them: what each rank did and how long it
//! computed ([`Activity`]), which messages passed between ranks ([`Flow`]) and the [`CommunicationGraph`] they add up to; the program with
//! its loops, roles and phases ([`graph`]); and which calls of others each call depended on ([`history`]), which several processes can find
//! out together ([`company`]).

mod activity;
mod between;
mod collective;
mod communication;
pub mod company;
mod flow;
pub mod graph;
pub mod history;
mod matrix;
#[cfg(test)]
mod sample;

pub use activity::{Activity, Time};
pub use communication::{CommunicationGraph, Edge, LeftOut};
pub use flow::Flow;
pub use matrix::{Cell, CommunicationMatrix, Traffic};
