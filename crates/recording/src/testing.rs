//! Recordings written by hand, for the tests of all crates that read recordings.
//!
//! A test that knows the time of every call gives the calls to [`record_calls`], or to a [`RecordingBuilder`] if the header matters too:
//!
//! ```text
//! use sintonia_recording::testing::{receive, record_calls, send};
//!
//! let recording = record_calls([[send(1).line(2).at_ms(70, 71)], [receive(0).line(3).at_ms(20, 72)]]);
//! assert_eq!(recording.header.ranks[1].end_ns, 72_000_000);
//! ```
//!
//! A test that needs a program with any number of ranks gives it to [`record_program`]. [`sample`] is a recording in which every number is known.
//! A [`Workload`] is a program that is hard to analyse, of any length.

mod builder;
mod calls;
mod process;
pub mod sample;
mod workload;

pub use self::{
    builder::{RecordingBuilder, TestRecording, record_calls, ring_topology, single_rank_groups},
    calls::{
        MS, TAG, TestCall, call, call_table, collective, completed_receive, descriptor_totals, finalize, init, irecv, isend, message,
        on_window, put, receive, send, wait, win_lock, win_unlock, with_group,
    },
    process::{TestProcess, record_program},
    workload::Workload,
};
