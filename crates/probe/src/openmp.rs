//! Parallel regions of OpenMP: when each thread of each team computes, and when it waits.
//!
//! Programs compiled by GCC call libgomp: references to its functions are replaced, and a region runs a function of the probe that calls that
//! of the program ([`gomp`], [`task_stub`]). LLVM's and Intel's runtime call a tool themselves ([`ompt`]). Both note what a thread does in
//! a slot of its [`team`]; the thread that started the region writes all of them when it ends ([`region_recorder`]). Other threads of a team
//! never call MPI in most programs: they have no state of their own, no memory and no file.

mod gomp;
mod ompt;
mod region;
mod region_recorder;
mod task_stub;
mod team;

pub(crate) use gomp::WRAPPED;
pub(crate) use region_recorder::finish;
