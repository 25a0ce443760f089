//! Tuning with simulated processes and real hosts.

mod leaf;
mod leaves;
mod run;
mod tree;
