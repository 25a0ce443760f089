//! Tuning a program while it runs: events come in, performance functions are evaluated, actions go out.
//!
//! A [`tunlet`] says by names of the source what it measures and what it may change ([`point`]). The [`collector`] meets the processes of a
//! host and reads their events from memory that it shares with them; the [`analyzer`] finds the names in the program ([`bind`]), asks for
//! hooks, tells tunlets what happens, and makes the changes they wish.

pub mod analyzer;
mod bind;
pub mod collector;
pub mod decision;
pub mod factoring;
pub mod point;
pub mod schedule;
pub mod statistics;
pub mod tunlet;
pub mod workers;
