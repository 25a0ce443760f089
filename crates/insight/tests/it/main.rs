//! Findings, advice and summaries of small recordings.

mod advice;
mod cores;
mod findings;
mod found;
mod one_sided;
mod scaling;
mod summary;
mod threads;
mod workloads;
