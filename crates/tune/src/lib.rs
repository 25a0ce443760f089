//! Tuning a program while it runs: events come in, performance functions are evaluated, actions go out.
//!
//! A [`tunlet`] says by names of the source what it measures and what it may change ([`point`]). On each host a [`collector`] meets the
//! processes and reads their events from memory that it shares with them; a [`station`] finds the names in the program ([`bind`]), has
//! hooks put in and changes made, and turns events into names and numbers ([`talk`]). The hosts are a [`tree`]; at its root the
//! [`analyzer`] tells tunlets what happens and has the changes made that they wish.

pub mod analyzer;
mod bind;
pub mod collector;
pub mod decision;
pub mod file;
pub mod host;
mod mpi_time;
pub mod point;
pub mod role;
pub mod schedule;
pub mod station;
pub mod statistics;
pub mod talk;
pub mod tree;
pub mod tunlet;
pub mod tunlets;
