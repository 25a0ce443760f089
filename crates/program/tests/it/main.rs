//! What small recordings say about their programs.

mod communication;
mod graph;
mod history;
mod member_dependencies;
