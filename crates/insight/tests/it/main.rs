//! Findings, advice and summaries of small recordings.

mod advice;
mod communication_advice;
mod cores;
mod findings;
mod found;
mod one_sided;
mod play;
mod regions;
mod sampled_advice;
mod scaling;
mod summary;
mod threads;
mod workloads;
